/*
 * wal_usage.h
 *		WAL of wide writes in EXPLAIN (ANALYZE, WAL) and pg_stat_statements.
 */
#ifndef WT_WAL_USAGE_H
#define WT_WAL_USAGE_H

/* After operations were added to the transaction's batch: counts the WAL that they will take. */
extern void wt_wal_usage_charge(void);

/* Before the commit writes WAL. */
extern void wt_wal_usage_commit_begins(void);

/* At the end of a transaction, also of one that has written nothing. */
extern void wt_wal_usage_settle(void);

#endif /* WT_WAL_USAGE_H */
