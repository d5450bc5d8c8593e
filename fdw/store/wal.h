/*
 * wal.h
 *		The engine's log inside PostgreSQL's WAL.
 */
#ifndef WT_WAL_H
#define WT_WAL_H

#include "engine/wide.h"

#define WT_LOG_PREFIX "widetable" /* of our messages in WAL */

extern void wt_wal_flush(uint64 lsn); /* never raises an error */
extern const char *wt_wal_failure(void);
/* recovery has passed over missing WAL (widetable.ignore_missing_wal) */
extern bool wt_wal_skipped(void);

/* The engine's log in PostgreSQL's WAL; *db is the store that replays it, when it does. */
extern wide_log wt_wal_log(wide_db **db);

#endif /* WT_WAL_H */
