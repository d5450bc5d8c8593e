/* prepared_replay.h - prepared transactions in a log that is replayed */
#ifndef WIDE_PREPARED_REPLAY_H
#define WIDE_PREPARED_REPLAY_H

#include "engine/wide.h"

/* A PREPARED record.  Errors: WIDE_CORRUPT, WIDE_NOMEM. */
extern wide_status prepared_replay_record(wide_db *db, const wide_replay_event *ev);
/* The host has prepared the transaction. */
extern void prepared_replay_decided(wide_db *db, uint64_t xid);
/*
 * The log has ended: those that are prepared and not ended get their places in the segment, and
 * their row locks.
 * Errors: WIDE_FULL, WIDE_LIMIT, WIDE_NOMEM.
 */
extern wide_status prepared_replay_end(wide_db *db);

#endif /* WIDE_PREPARED_REPLAY_H */
