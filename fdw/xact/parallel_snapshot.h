/*
 * parallel_snapshot.h
 *		The engine's snapshot for the workers of a parallel statement.
 */
#ifndef WT_PARALLEL_SNAPSHOT_H
#define WT_PARALLEL_SNAPSHOT_H

#include "engine/wide.h"

/*
 * While a parallel statement runs, its workers are told of its
 * snapshot, or (NULL) that the transaction has writes which only the
 * leader sees.  The level is for wt_parallel_snapshot_withdraw; an error withdraws too.
 */
extern void wt_parallel_snapshot_init(void);
extern int wt_parallel_snapshot_announce(const wide_snapshot *ws);
extern void wt_parallel_snapshot_withdraw(int level);

/* In a worker: a copy of what was announced; NULL: nothing.  Errors. */
extern wide_snapshot *wt_parallel_snapshot_import(void);
/* In a worker: true if the transaction has writes that only the leader sees. */
extern bool wt_parallel_snapshot_leader_wrote(void);

#endif /* WT_PARALLEL_SNAPSHOT_H */
