/* lock_table.h - the buckets of the table of row locks, and the way into one */
#ifndef WIDE_LOCK_TABLE_H
#define WIDE_LOCK_TABLE_H

#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/lock_bucket.h"
#include "engine/shared/segment.h"

static inline lock_bucket *
lock_table_buckets(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->locks);
}

static inline uint32_t
lock_table_index(wide_db *db, uint64_t hash)
{
	return (uint32_t) hash & (db->seg->config.lock_buckets - 1);
}

/* Takes the bucket's spin word.  v->block is not set. */
static inline wide_status
lock_table_spin(wide_db *db, uint32_t index, lock_view *v)
{
	v->bucket = &lock_table_buckets(db)[index];
	v->side = (lock_side *) (lock_table_buckets(db) + db->seg->config.lock_buckets) + index;
	v->block = NULL;
	return segment_spin(db, &v->bucket->spin);
}

static inline void
lock_table_leave(wide_db *db, const lock_view *v)
{
	segment_unspin(db, &v->bucket->spin);
}

/* With the spin word held: finds the bucket's block, which it has.  The spin word may be given up
 * meanwhile.  On failure it is not held. */
extern wide_status lock_table_find_block(wide_db *db, lock_view *v);

/*
 * Takes the bucket's spin word, with everything that belongs to the bucket mapped.
 * Errors: WIDE_NOMEM: it cannot be mapped; WIDE_POISONED.
 */
static inline wide_status
lock_table_enter(wide_db *db, uint32_t index, lock_view *v)
{
	TRY(lock_table_spin(db, index, v));
	if (__builtin_expect(atomic_load_explicit(&v->bucket->block, memory_order_relaxed) != 0, 0))
		return lock_table_find_block(db, v);
	return WIDE_OK;
}

/*
 * After the release of so many locks: others' entries that were between them are in large blocks,
 * and a few of these keep all chunks in use.  They move to small blocks, in the first chunks that
 * have room.  What fails stays as it is.  Requires: no spin word is held.
 */
extern void lock_table_shrink(wide_db *db, size_t released);

#endif /* WIDE_LOCK_TABLE_H */
