/* row_lock.h - the table of row locks in the shared segment */
#ifndef WIDE_ROW_LOCK_H
#define WIDE_ROW_LOCK_H

#include "engine/wide.h"

/* The functions for locking rows are in wide.h. */

#define ROW_LOCK_BUCKET_BYTES 104 /* bytes of shared memory for one bucket; zero-filled: empty */

/* The hash of a row, of which its entry is made. */
extern uint64_t row_lock_hash(wide_table_id table, wide_bytes row);
/* Returns true if the locks of this owner (slot index + 1) count as free. */
extern bool row_lock_is_void(wide_db *db, uint32_t owner);

/* Errors: WIDE_NOMEM. */
extern wide_status row_lock_attach(wide_db *db);
/* Releases all row locks of this process. */
extern void row_lock_detach(wide_db *db);

/*
 * Makes the owner `to` the owner of all row locks of this process, and calls fn for each.
 * Requires: there is no savepoint.
 * Errors: WIDE_LIMIT: there are too many to list; WIDE_NOMEM; those of fn.  Some may belong to the
 * other owner already.
 */
extern wide_status row_lock_give(wide_db *db, uint32_t to, void *arg,
								 wide_status (*fn)(void *arg, uint64_t hash, wide_table_id table));
/* In a recovery: locks a row for a prepared transaction.  Errors: as wide_row_lock. */
extern wide_status row_lock_restore(wide_db *db, uint32_t owner, uint64_t hash,
									wide_table_id table);
#endif /* WIDE_ROW_LOCK_H */
