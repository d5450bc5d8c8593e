/* lock_table.c - the buckets of the table of row locks; see lock_table.h */
#include "engine/shared/lock_table.h"
#include "engine/shared/lock_memory.h"

wide_status
lock_table_find_block(wide_db *db, lock_view *v)
{
	lock_ref ref;

	while ((ref = atomic_load_explicit(&v->bucket->block, memory_order_relaxed)) != 0)
	{
		v->block = lock_memory_at(db, ref);
		if (v->block != NULL)
			break;
		lock_table_leave(db, v);
		TRY(lock_memory_map(db, ref));
		TRY(segment_spin(db, &v->bucket->spin));
	}
	return WIDE_OK;
}

/* Exchanges the bucket's block for a smaller one, if it is much too large and there is room for
 * another without a new chunk. */
static void
shrink_block(wide_db *db, uint32_t index)
{
	uint32_t order, order_now;
	lock_ref ref = 0;
	bool shrink;
	lock_view v;

	if (lock_table_enter(db, index, &v) != WIDE_OK)
		return;
	shrink = lock_bucket_may_shrink(&v, &order);
	lock_table_leave(db, &v);
	if (!shrink || (ref = lock_memory_take(db, order)) == 0)
		return;
	if (lock_table_enter(db, index, &v) == WIDE_OK)
	{
		if (lock_bucket_may_shrink(&v, &order_now) && order_now == order)
			ref = lock_bucket_exchange(&v, order, ref, lock_memory_at(db, ref));
		lock_table_leave(db, &v);
	}
	lock_memory_free(db, ref);
}

void
lock_table_shrink(wide_db *db, size_t released)
{
	uint32_t buckets = db->seg->config.lock_buckets;

	if (released < (size_t) buckets * LOCK_INLINE)
		return;
	for (uint32_t i = 0; i < buckets; i++)
		if (atomic_load_explicit(&lock_table_buckets(db)[i].block, memory_order_relaxed) != 0)
			shrink_block(db, i);
}
