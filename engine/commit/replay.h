/* replay.h - applies log records during recovery */
#ifndef WIDE_REPLAY_H
#define WIDE_REPLAY_H

#include "engine/wide.h"
#include "engine/commit/parked.h"

/* Begins a replay (db->replay).  WIDE_NOMEM. */
extern wide_status replay_begin(wide_db *db);

/*
 * Takes the next event of the log; a wide_replay_fn whose argument is the wide_db.
 * Errors: WIDE_CORRUPT: the log is damaged or incomplete; WIDE_INTERRUPTED; errors of a flush.
 */
extern wide_status replay_event(void *db, const wide_replay_event *ev);

/*
 * Sets *commit_ts to the commit timestamp that the end of the replay would give the batch, above
 * last: no later than the timestamp that a crash took back, if possible, so that a row that was
 * seen as of some time is then seen as of that time afterwards. Errors: WIDE_CORRUPT, WIDE_NOMEM.
 */
extern wide_status replay_timestamp(wide_db *db, const parked *p, int64_t last, int64_t *commit_ts);

/* Reports the records that were ignored since the last report to the host's log. */
extern void replay_report(wide_db *db);

/*
 * The log has ended: finishes external transactions that committed without a FINISH record, and
 * drops the others.
 */
extern wide_status replay_end(wide_db *db);

/* Frees db->replay, if there is one, and ends what it keeps of the log. */
extern void replay_free(wide_db *db);

#endif /* WIDE_REPLAY_H */
