/*
 * lock_owner.c - row locks of owners that are no processes: prepared transactions.
 *
 * No process has a list of these locks, so their release goes through all buckets.
 *
 * Locking: the spin word of each bucket.
 */
#include <stdatomic.h>
#include "engine/shared/lock_owner.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/lock_bucket.h"
#include "engine/shared/lock_memory.h"
#include "engine/shared/lock_table.h"

/*
 * Returns false if the owner has no entry in the bucket.  Nothing adds one meanwhile.  An entry may
 * move from the block to the bucket before the block is removed, hence the order of the looks.
 */
static bool
may_have_entries(wide_db *db, uint32_t index, uint32_t owner)
{
	lock_bucket *b = &lock_table_buckets(db)[index];
	bool may = atomic_load_explicit(&b->block, memory_order_acquire) != 0;

	for (int i = 0; i < LOCK_INLINE; i++)
		may |= (atomic_load_explicit(&b->entry[i], memory_order_relaxed) & LOCK_OWNER_MASK) ==
			   owner;
	return may;
}

static wide_status
remove_entries(wide_db *db, uint32_t index, uint32_t owner)
{
	lock_view v;
	lock_ref empty;
	size_t n = 0;

	TRY(lock_table_enter(db, index, &v));
	empty = lock_bucket_remove_all(&v, owner, &n);
	lock_table_leave(db, &v);
	if (empty != 0)
		lock_memory_free(db, empty);
	return WIDE_OK;
}

wide_status
lock_owner_remove(wide_db *db, uint32_t owner)
{
	wide_status failed = WIDE_OK;

	for (uint32_t i = 0; i < db->seg->config.lock_buckets && failed != WIDE_POISONED; i++)
	{
		wide_status st = may_have_entries(db, i, owner) ? remove_entries(db, i, owner) : WIDE_OK;

		if (st != WIDE_OK)
			failed = st;
	}
	return failed;
}
