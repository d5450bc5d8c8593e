/*
 * parallel_snapshot.h
 *		Passes the leader's snapshot to the workers of a parallel statement.
 */
#ifndef WT_PARALLEL_SNAPSHOT_H
#define WT_PARALLEL_SNAPSHOT_H

#include "engine/wide.h"

/* Defines the setting that carries the snapshot, when the library is loaded. */
extern void wt_parallel_snapshot_init(void);

/*
 * In the leader, before the statement runs: its workers will read with ws, or (NULL)
 * will refuse to read, because the transaction has a batch that only the leader sees.
 * Returns: a level for wt_parallel_snapshot_withdraw().  An error withdraws, too.
 */
extern int wt_parallel_snapshot_announce(const wide_snapshot *ws);
extern void wt_parallel_snapshot_withdraw(int level);

/*
 * In a parallel worker.
 * Returns: a copy of the snapshot that was announced, or NULL.
 * Errors: those of wt_store_db() and wide_snapshot_import().
 */
extern wide_snapshot *wt_parallel_snapshot_import(void);

/* Returns: true in a parallel worker whose leader has a batch. */
extern bool wt_parallel_snapshot_leader_wrote(void);

#endif /* WT_PARALLEL_SNAPSHOT_H */
