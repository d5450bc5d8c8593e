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

/* A store that is made from now on begins at lsn.  0: where WAL ends. */
extern void wt_wal_begin_at(XLogRecPtr lsn);

#endif /* WT_WAL_H */
