/*
 * time_mark.h
 *		Time marks: commit records of PostgreSQL between commits to wide tables alone.
 *
 * PostgreSQL reads the time only in commit records: recovery to a point in time stops
 * there, a delayed standby waits there, pg_last_xact_replay_timestamp() is taken from
 * there.  Commits to wide tables alone have none.  While such commits go on, one in
 * MARK_MS takes an xid, and with it a commit record; after the last one a background
 * process writes one.
 */
#ifndef WT_TIME_MARK_H
#define WT_TIME_MARK_H

#include "engine/wide.h"

/*
 * Returns: true if the transaction that is about to commit has to take an xid, because
 * no mark was written for a while.
 */
extern bool wt_time_mark_is_due(void);

/*
 * Writes a mark if there were commits to wide tables since the last one.  Raises no error.
 * Requires: a background process, no transaction.
 */
extern void wt_time_mark_write(wide_db *db);

#endif /* WT_TIME_MARK_H */
