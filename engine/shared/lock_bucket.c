/*
 * lock_bucket.c - one bucket of the table of row locks; see lock_bucket.h.
 *
 * A row has its entry in the bucket, in any of its seven places, or in the bucket's block.  There
 * it is at its home place, which its tag says, or behind it, and no place between is free.
 *
 * Invariant: a row has at most one entry, and lock_bucket_find finds it.  An entry is added after a
 * search for it in the same hold of the spin word, and is moved only together with all others of
 * its block, or by remove_from_block, which keeps the rule about places.
 *
 * Locking: the caller holds the bucket's spin word.
 */
#include <string.h>
#include "engine/shared/lock_bucket.h"

static uint32_t *
block_tables(lock_block *b)
{
	return (uint32_t *) (b->entry + b->capacity);
}

static inline uint32_t
home_of(const lock_block *b, uint64_t tag)
{
	return (uint32_t) ((tag >> (48 - 32)) * b->capacity >> 32);
}

static inline uint32_t
place_after(const lock_block *b, uint32_t i)
{
	return i + 1 < b->capacity ? i + 1 : 0;
}

/* Returns how many places behind `from` place `to` is. */
static inline uint32_t
distance(const lock_block *b, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + b->capacity - from;
}

/* Returns the place of the tag, or the free place where it belongs, or capacity if there is
 * neither. */
static uint32_t
block_find(const lock_block *b, uint64_t tag)
{
	uint32_t i = home_of(b, tag);

	for (uint32_t n = 0; n < b->capacity; n++, i = place_after(b, i))
		if (b->entry[i] == 0 || b->entry[i] >> LOCK_OWNER_BITS == tag)
			return i;
	return b->capacity;
}

int64_t
lock_bucket_find_in_block(const lock_view *v, uint64_t tag)
{
	uint32_t i = block_find(v->block, tag);

	if (i == v->block->capacity || v->block->entry[i] == 0)
		return LOCK_NOWHERE;
	return LOCK_INLINE + (int64_t) i;
}

uint32_t
lock_bucket_get(const lock_view *v, int64_t place, uint64_t *tag, wide_table_id *table)
{
	uint64_t e;

	if (place < LOCK_INLINE)
	{
		e = atomic_load_explicit(&v->bucket->entry[place], memory_order_relaxed);
		*table = atomic_load_explicit(&v->side->table[place], memory_order_relaxed);
	}
	else
	{
		e = v->block->entry[place - LOCK_INLINE];
		*table = block_tables(v->block)[place - LOCK_INLINE];
	}
	*tag = e >> LOCK_OWNER_BITS;
	return (uint32_t) (e & LOCK_OWNER_MASK);
}

int64_t
lock_bucket_places(const lock_view *v)
{
	return LOCK_INLINE + (v->block != NULL ? (int64_t) v->block->capacity : 0);
}

void
lock_bucket_set_owner(const lock_view *v, int64_t place, uint32_t owner, wide_table_id table)
{
	uint64_t tag;
	wide_table_id old;

	(void) lock_bucket_get(v, place, &tag, &old);
	if (place < LOCK_INLINE)
		lock_bucket_put(v, place, tag, owner, table);
	else
	{
		v->block->entry[place - LOCK_INLINE] = tag << LOCK_OWNER_BITS | owner;
		block_tables(v->block)[place - LOCK_INLINE] = table;
	}
}

static void
put_in_block(const lock_view *v, uint64_t entry, uint32_t table)
{
	lock_block *b = v->block;
	uint32_t i = block_find(b, entry >> LOCK_OWNER_BITS);

	b->entry[i] = entry;
	block_tables(b)[i] = table;
	b->used++;
	atomic_store_explicit(&v->side->more, b->used, memory_order_relaxed);
}

bool
lock_bucket_add(const lock_view *v, uint64_t tag, uint32_t owner, wide_table_id table, bool full)
{
	lock_block *b = v->block;

	if (b == NULL || b->used >= b->capacity - (full ? 0 : b->capacity / 8))
		return false;
	put_in_block(v, tag << LOCK_OWNER_BITS | owner, table);
	return true;
}

uint32_t
lock_bucket_next_order(const lock_view *v)
{
	return v->block != NULL ? v->block->order + 1 : 0;
}

/* Returns the number of entries for which a block of this order has room. */
static uint32_t
capacity_of(uint32_t order)
{
	size_t bytes = (size_t) LOCK_UNIT << order;

	return (uint32_t) ((bytes - sizeof(lock_block)) / (sizeof(uint64_t) + sizeof(uint32_t)));
}

bool
lock_bucket_may_shrink(const lock_view *v, uint32_t *order)
{
	*order = 0;
	if (v->block == NULL)
		return false;
	while (capacity_of(*order) / 2 < v->block->used)
		++*order;
	return *order + 2 <= v->block->order;
}

lock_ref
lock_bucket_exchange(lock_view *v, uint32_t order, lock_ref ref, void *block)
{
	lock_ref old_ref = atomic_load_explicit(&v->bucket->block, memory_order_relaxed);
	lock_block *old = v->block, *b = block;

	b->order = order;
	b->capacity = capacity_of(order);
	b->used = b->unused = 0;
	memset(b->entry, 0, b->capacity * sizeof(uint64_t));
	v->block = b;
	for (uint32_t i = 0; old != NULL && i < old->capacity; i++)
		if (old->entry[i] != 0)
			put_in_block(v, old->entry[i], block_tables(old)[i]);
	atomic_store_explicit(&v->bucket->block, ref, memory_order_relaxed);
	return old_ref;
}

/*
 * Removes the entry at place i, and fills the gap: the next entry behind it whose home is not
 * behind the gap moves there, which makes another gap, until a place is free or every other entry
 * has been looked at.
 */
static void
remove_from_block(lock_block *b, uint32_t i)
{
	uint32_t *table = block_tables(b);
	uint32_t gap = i;

	for (uint32_t j = place_after(b, i); j != i && b->entry[j] != 0; j = place_after(b, j))
	{
		uint32_t home = home_of(b, b->entry[j] >> LOCK_OWNER_BITS);

		if (distance(b, home, j) < distance(b, gap, j))
			continue;
		b->entry[gap] = b->entry[j];
		table[gap] = table[j];
		gap = j;
	}
	b->entry[gap] = 0;
	b->used--;
}

/* Takes the block away. */
static lock_ref
take_block_away(lock_view *v)
{
	lock_ref ref = atomic_load_explicit(&v->bucket->block, memory_order_relaxed);

	/* after the entries that have been moved to the bucket: see may_have_entries in row_lock.c */
	atomic_store_explicit(&v->bucket->block, 0, memory_order_release);
	atomic_store_explicit(&v->side->more, 0, memory_order_relaxed);
	v->block = NULL;
	return ref;
}

/* Moves all entries of the block to the bucket itself if they fit there. */
static lock_ref
move_inline(lock_view *v)
{
	lock_block *b = v->block;
	int64_t place[LOCK_INLINE];
	uint32_t n = 0;

	if (b == NULL)
		return 0;
	atomic_store_explicit(&v->side->more, b->used, memory_order_relaxed);
	if (b->used > LOCK_INLINE)
		return 0;
	for (int64_t i = 0; i < LOCK_INLINE; i++)
		if (atomic_load_explicit(&v->bucket->entry[i], memory_order_relaxed) == 0)
			place[n++] = i;
	if (b->used > n)
		return 0;
	for (uint32_t i = 0; b->used > 0; i++)
		if (b->entry[i] != 0)
		{
			lock_bucket_put(v, place[--n], b->entry[i] >> LOCK_OWNER_BITS,
							(uint32_t) (b->entry[i] & LOCK_OWNER_MASK), block_tables(b)[i]);
			b->used--;
		}
	return take_block_away(v);
}

lock_ref
lock_bucket_remove_with_block(lock_view *v, int64_t place)
{
	if (place < LOCK_INLINE)
		atomic_store_explicit(&v->bucket->entry[place], 0, memory_order_relaxed);
	else
		remove_from_block(v->block, (uint32_t) (place - LOCK_INLINE));
	return move_inline(v);
}

lock_ref
lock_bucket_remove_all(lock_view *v, uint32_t owner, size_t *n)
{
	lock_block *b = v->block;
	uint32_t mine = 0;

	*n = 0;
	for (uint32_t i = 0; i < LOCK_INLINE; i++)
		if ((atomic_load_explicit(&v->bucket->entry[i], memory_order_relaxed) & LOCK_OWNER_MASK) ==
			owner)
		{
			atomic_store_explicit(&v->bucket->entry[i], 0, memory_order_relaxed);
			++*n;
		}
	if (b == NULL)
		return 0;
	for (uint32_t i = 0; i < b->capacity; i++)
		mine += (b->entry[i] & LOCK_OWNER_MASK) == owner;
	*n += mine;
	if (mine == b->used)
		return take_block_away(v);
	/* an entry that moves to place i comes from behind it; where that is a lower place, what was
	 * there has been looked at */
	for (uint32_t i = 0; i < b->capacity && mine > 0; i++)
		for (; (b->entry[i] & LOCK_OWNER_MASK) == owner; mine--)
			remove_from_block(b, i);
	return move_inline(v);
}
