/*
 * lock_bucket.h - one bucket of the table of row locks: an exact set of the rows that are locked.
 *
 *     bucket, 64 bytes
 *       u32 spin      slot index + 1 of the process inside, 0 = free
 *       u32 block     block of further entries (lock_memory.h), 0 = none
 *       7 x u64 entry 48 bits of the row's hash, 16 bits slot index + 1 of the owner; 0 = free
 *
 * The tag of a row is the upper 48 bits of its hash.  The number of the bucket is made of the
 * lower bits, so up to 65536 buckets nearly all 64 bits of the hash count: 10 million rows that
 * are locked share a lock with one of 10 million others with a probability of 1 in 100,000.
 *
 * Every function requires that the bucket's spin word is held, where it does not say otherwise.
 */
#ifndef WIDE_LOCK_BUCKET_H
#define WIDE_LOCK_BUCKET_H

#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/shared/lock_memory.h"

#define LOCK_INLINE		7  /* entries in the bucket itself */
#define LOCK_OWNER_BITS 16 /* of an entry; so there are at most 65535 processes */
#define LOCK_OWNER_MASK 0xffffull

typedef struct lock_bucket
{
	_Atomic uint32_t spin;
	_Atomic lock_ref block;
	_Atomic uint64_t entry[LOCK_INLINE];
} lock_bucket;

/* Behind the table, for each bucket. */
typedef struct lock_side
{
	_Atomic uint64_t left;				 /* newest batch released before it was published */
	_Atomic uint32_t table[LOCK_INLINE]; /* of the entries */
	_Atomic uint32_t more;				 /* entries in the block */
} lock_side;

/* More entries of a bucket: a hash table with linear probing. */
typedef struct lock_block
{
	uint32_t order, capacity, used;
	uint32_t unused;
	uint64_t entry[]; /* capacity entries; behind them, their tables */
} lock_block;

_Static_assert(sizeof(lock_bucket) == 64, "one cache line");

/* A bucket with everything that belongs to it. */
typedef struct lock_view
{
	lock_bucket *bucket;
	lock_side *side;
	lock_block *block; /* NULL: none */
} lock_view;

/* The place of an entry: an index in the bucket, or LOCK_INLINE + an index in the block. */
#define LOCK_NOWHERE -1

static inline uint64_t
lock_bucket_tag(uint64_t hash)
{
	return hash >> LOCK_OWNER_BITS;
}

/*
 * Returns the place of the row's entry, or LOCK_NOWHERE; there is at most one.
 * *free_place: a free place in the bucket itself, or LOCK_NOWHERE.
 */
extern int64_t lock_bucket_find_in_block(const lock_view *v, uint64_t tag);

static inline int64_t
lock_bucket_find(const lock_view *v, uint64_t tag, int64_t *free_place)
{
	*free_place = LOCK_NOWHERE;
	/* backwards: the first free place is the next one that is used, and the last one looked at */
	for (int64_t i = LOCK_INLINE - 1; i >= 0; i--)
	{
		uint64_t e = atomic_load_explicit(&v->bucket->entry[i], memory_order_relaxed);

		if (e == 0)
			*free_place = i;
		else if (e >> LOCK_OWNER_BITS == tag)
			return i;
	}
	return __builtin_expect(v->block == NULL, 1) ? LOCK_NOWHERE : lock_bucket_find_in_block(v, tag);
}

/* Stores an entry at a free place in the bucket itself. */
static inline void
lock_bucket_put(const lock_view *v, int64_t place, uint64_t tag, uint32_t owner,
				wide_table_id table)
{
	atomic_store_explicit(&v->side->table[place], table, memory_order_relaxed);
	atomic_store_explicit(&v->bucket->entry[place], tag << LOCK_OWNER_BITS | owner,
						  memory_order_relaxed);
}

/* Returns the owner of an entry: slot index + 1. */
static inline uint32_t
lock_bucket_owner(const lock_view *v, int64_t place)
{
	uint64_t e = place < LOCK_INLINE
					 ? atomic_load_explicit(&v->bucket->entry[place], memory_order_relaxed)
					 : v->block->entry[place - LOCK_INLINE];

	return (uint32_t) (e & LOCK_OWNER_MASK);
}

extern void lock_bucket_set_owner(const lock_view *v, int64_t place, uint32_t owner,
								  wide_table_id table);

/*
 * Adds an entry to the block.  full: the block may become full; otherwise an eighth of it stays
 * free.  Returns false if there is no room: lock_bucket_exchange helps.
 * Requires: the row has no entry.
 */
extern bool lock_bucket_add(const lock_view *v, uint64_t tag, uint32_t owner, wide_table_id table,
							bool full);
/* Returns the order of a block that has more room than the bucket's present one. */
extern uint32_t lock_bucket_next_order(const lock_view *v);
/* Returns true if the bucket has a block that is four times as large as its entries need, or more;
 * *order: of a block that has room for twice as many. */
extern bool lock_bucket_may_shrink(const lock_view *v, uint32_t *order);
/*
 * Makes the block of this order at `ref` the bucket's, and moves the entries of the present one to
 * it.  Returns the present block's reference, or 0; the caller frees it.
 * Requires: the order is lock_bucket_next_order, or that of lock_bucket_may_shrink.
 */
extern lock_ref lock_bucket_exchange(lock_view *v, uint32_t order, lock_ref ref, void *block);

/*
 * Removes an entry, and the block if the bucket itself has room for all that are left.
 * Returns the block that was removed: the caller frees it; otherwise 0.
 */
extern lock_ref lock_bucket_remove_with_block(lock_view *v, int64_t place);

static inline lock_ref
lock_bucket_remove(lock_view *v, int64_t place)
{
	if (__builtin_expect(v->block != NULL, 0))
		return lock_bucket_remove_with_block(v, place);
	atomic_store_explicit(&v->bucket->entry[place], 0, memory_order_relaxed);
	return 0;
}

/* Removes all entries of an owner; *n: their number.  Returns as lock_bucket_remove. */
extern lock_ref lock_bucket_remove_all(lock_view *v, uint32_t owner, size_t *n);

/* Number of places; those at and above LOCK_INLINE are in the block. */
extern int64_t lock_bucket_places(const lock_view *v);
/* Reads the entry at a place.  Returns its owner, or 0 if it is free. */
extern uint32_t lock_bucket_get(const lock_view *v, int64_t place, uint64_t *tag,
								wide_table_id *table);

#endif /* WIDE_LOCK_BUCKET_H */
