/*
 * row_lock.h
 *		Row locks: held in the engine's lock table, waited for by PostgreSQL's locks.
 */
#ifndef WT_ROW_LOCK_H
#define WT_ROW_LOCK_H

#include "engine/wide.h"

/*
 * Locks a row to the end of the transaction, or to the rollback of the present
 * subtransaction or one around it, unless that was begun after the row was locked.  Waits for its
 * holder as for a heap row: with deadlock detection, lock_timeout and cancellation.  The caller
 * reads the newest state of the row after that, never before. Returns: false only with nowait, if
 * another transaction holds the lock.
 */
extern bool wt_row_lock(wide_table_id table, wide_bytes key, bool nowait);

/* Returns: number of rows that the transaction holds locks of. */
extern size_t wt_row_lock_held(void);

/* Releases what the transaction holds.  left: LSN of the batch that the locks leave unpublished, or
 * 0. */
extern void wt_row_lock_reset(uint64_t left);

/* Gives memory of released row locks back to the system; after everything that others wait for. */
extern void wt_row_lock_trim(void);

/*
 * Releases the transaction's row locks before its batch, which ends at lsn, is
 * durable and published.
 * Requires: the batch and all before it are applied, and PostgreSQL regards the
 * transaction as ended.
 */
extern void wt_row_lock_release_early(uint64_t lsn);

/*
 * Returns: LSN of the newest batch that a previous holder of the transaction's row
 * locks may have left unpublished, or 0 (wide_row_locks_after).
 */
extern uint64_t wt_row_lock_newest_batch(void);

/* Installs the callback for subtransactions. */
extern void wt_row_lock_init(void);

#endif /* WT_ROW_LOCK_H */
