/*
 * row_lock.h
 *		Row locks: held in the engine's table, waited for in PostgreSQL's way.
 */
#ifndef WT_ROW_LOCK_H
#define WT_ROW_LOCK_H

#include "engine/wide.h"

/*
 * Lock a row for this transaction; waits for the holder as heap does
 * (deadlock detection, lock_timeout, cancel).  nowait: false instead of waiting.
 * Returns true when locked.  Statement order: lock, then read newest state.
 */
extern bool wt_row_lock(wide_table_id table, wide_bytes key, bool nowait);

extern void wt_row_lock_reset(void); /* end of transaction */

/*
 * The transaction has applied its cells and does nothing but wait for the log:
 * give its row locks back now.  PostgreSQL must regard it as ended already.
 */
extern void wt_row_lock_release_early(uint64_t lsn);
/* the newest such batch under our locks, see wide.h */
extern uint64_t wt_row_lock_newest_batch(void);

#endif /* WT_ROW_LOCK_H */
