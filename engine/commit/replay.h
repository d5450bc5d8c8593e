/* replay.h - applies log records during recovery */
#ifndef WIDE_REPLAY_H
#define WIDE_REPLAY_H

#include "engine/wide.h"

/* replay.c: assembles records into batches and applies them during recovery */
extern wide_status replay_begin(wide_db *db);
extern wide_status replay_event(void *db, const wide_replay_event *ev); /* a wide_replay_fn */

/* The log's end: external transactions that committed without their finish record are finished
 * now. */
extern wide_status replay_end(wide_db *db);

/* After a failure: forget what was assembled. */
extern void replay_abandon(wide_db *db);

#endif /* WIDE_REPLAY_H */
