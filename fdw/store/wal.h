/*
 * wal.h
 *		The engine's log as records in PostgreSQL's WAL.
 */
#ifndef WT_WAL_H
#define WT_WAL_H

#include "access/xlogdefs.h"

#include "engine/wide.h"

/*
 * Returns: the engine's log.  *db is the store that replays it, looked at only then.
 * No function of the log longjmps into the engine.
 */
extern wide_log wt_wal_log(wide_db **db);

/* Flushes WAL up to lsn.  Raises no error: after a failure WAL is not flushed. */
extern PGDLLEXPORT void wt_wal_flush(uint64 lsn);

/* Returns: text of the log's last failure, for errors that the engine passes on; may be "". */
extern const char *wt_wal_failure(void);

/* Returns: true if the last replay skipped missing WAL (widetable.ignore_missing_wal). */
extern bool wt_wal_skipped(void);

/* A store that is made from now on begins at lsn.  0: where WAL ends. */
extern void wt_wal_begin_at(XLogRecPtr lsn);

/* Returns: where the last replay met the beginning of another store, and failed; else 0. */
extern XLogRecPtr wt_wal_begun_again(void);

/*
 * Looks for the beginning of a store in WAL from there on, up to its end or, in recovery, to the
 * promotion.  Calls on_other once if a record of another store precedes it.
 * Returns: where the store begins; 0: none does.  May raise an error.
 */
extern XLogRecPtr wt_wal_await_beginning(XLogRecPtr from, void (*on_other)(void));

#endif /* WT_WAL_H */
