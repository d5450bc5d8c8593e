/*
 * rest.h
 *		Closing the store: its files have everything, and it needs neither WAL nor slot.
 */
#ifndef WT_REST_H
#define WT_REST_H

#include "engine/wide.h"

/*
 * Before a transaction logs its first record: the store is not closed any more.  Requires
 * wt_rest_end_commit() at the end of the transaction, also if this raises an error.
 * Errors: those of the file system and of the replication slot; cancellation.
 */
extern void wt_rest_begin_commit(void);

/* The transaction has ended.  Does nothing if it has not called wt_rest_begin_commit(). */
extern void wt_rest_end_commit(void);

/* Opens the store again for processes that write it, if it is closed.  Errors: as above. */
extern void wt_rest_wake(void);

/*
 * For the keeper: flushes the store and closes it, if no transaction is about to commit, and
 * drops the replication slot.  empty_only: only if it has no tables.
 * Returns: true if the store is closed.  Raises no error.
 */
extern bool wt_rest_close(wide_db *db, bool empty_only);

/*
 * For the keeper, about once a second.
 * Returns: true if the store has had no tables, files and snapshots for a while.
 */
extern bool wt_rest_is_due(wide_db *db);

/* For the keeper.  Returns: true if it is to look again soon, because there are no tables. */
extern bool wt_rest_may_come(wide_db *db);

/* Returns: true if the store is closed; a background process then has nothing to do. */
extern bool wt_rest_is_closed(void);

/* Returns: true if there is a store that a background process should open, or wait for. */
extern bool wt_rest_has_work(void);

/*
 * For the keeper of a store that is at rest: drops a slot that is left over, because the server
 * crashed, or another process held it, when the store was closed.  Raises no error.
 */
extern void wt_rest_drop_slot(void);

#endif /* WT_REST_H */
