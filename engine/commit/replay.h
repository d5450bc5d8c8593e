/* replay.h - applies log records during recovery */
#ifndef WIDE_REPLAY_H
#define WIDE_REPLAY_H

#include "engine/wide.h"

/* Begins a replay (db->replay).  WIDE_NOMEM. */
extern wide_status replay_begin(wide_db *db);

/*
 * Takes the next event of the log; a wide_replay_fn whose argument is the wide_db.
 * Errors: WIDE_CORRUPT: the log is damaged or incomplete; WIDE_INTERRUPTED; errors of a flush.
 */
extern wide_status replay_event(void *db, const wide_replay_event *ev);

/*
 * The log has ended: finishes external transactions that committed without a FINISH record, drops
 * the others, and publishes everything.
 */
extern wide_status replay_end(wide_db *db);

/* Frees db->replay, if there is one, and ends what it keeps of the log. */
extern void replay_free(wide_db *db);

#endif /* WIDE_REPLAY_H */
