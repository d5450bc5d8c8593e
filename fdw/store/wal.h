/*
 * wal.h
 *		The engine's log as records in PostgreSQL's WAL.
 */
#ifndef WT_WAL_H
#define WT_WAL_H

#include "engine/wide.h"

/*
 * Returns: the engine's log.  *db is the store that replays it, looked at only then.
 * No function of the log longjmps into the engine.
 */
extern wide_log wt_wal_log(wide_db **db);

/* Flushes WAL up to lsn.  Raises no error: after a failure WAL is not flushed. */
extern void wt_wal_flush(uint64 lsn);

/* Returns: text of the log's last failure, for errors that the engine passes on; may be "". */
extern const char *wt_wal_failure(void);

/* Returns: true if the last replay skipped missing WAL (widetable.ignore_missing_wal). */
extern bool wt_wal_skipped(void);

#endif /* WT_WAL_H */
