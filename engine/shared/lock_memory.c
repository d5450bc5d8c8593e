/*
 * lock_memory.c - shared memory that grows, in chunks of the host; see lock_memory.h.
 *
 * A chunk is divided by the buddy method: a block of order n has LOCK_UNIT << n bytes and begins
 * at a multiple of that.  A free block is united with its buddy if that is free too.
 *
 *     chunk_head      first free block of each order
 *     state[units]    for the first unit of each block: its order, and whether it is free;
 *                     0 for other units.  This and the head are in a block themselves.
 *     blocks          a free one has a free_link
 *
 * A new chunk is as large as an eighth to a quarter of those that exist, so there are few of them,
 * and at least 1 MB.  The host's limit is checked in two ways: all chunks together have at most
 * that many bytes, and blocks in use have at most 7/8 of it, unless the caller may use the reserve.
 *
 * Invariants
 *  - A chunk that has a block in use is not given back.  So a process that sees a reference where
 *    it cannot change (under the spin word of the bucket that has it) sees the chunk's serial
 *    number, and its own mapping of the chunk is valid if it has the same number.
 *  - A chunk that is given back is first taken from the segment.  Mappings of it in other
 *    processes are not used any more, and are removed by these when they notice.
 *
 * Locking: lock_memory.spin for the members of lock_memory and lock_chunk, and for heads, states
 * and free blocks of chunks.  The host is called without it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/shared/lock_memory.h"
#include "engine/base/status.h"
#include "engine/shared/segment.h"

#define CHUNK_LEAST ((uint64_t) 64 * 1024)
#define CHUNK_USUAL ((uint64_t) 1024 * 1024) /* if the limit allows it */
#define CHUNK_MOST	((uint64_t) LOCK_UNIT << (LOCK_UNIT_BITS - 1))
#define KEPT		((uint64_t) 4 * 1024 * 1024) /* bytes of empty chunks that stay */
#define ORDERS		LOCK_UNIT_BITS

#define STATE_FREE	0x80
#define STATE_USED	0x40
#define STATE_ORDER 0x3f

typedef struct chunk_head
{
	uint32_t first[ORDERS]; /* free blocks by order: unit + 1; 0 = none */
	uint8_t state[];
} chunk_head;

typedef struct free_link
{
	uint32_t next, previous; /* unit + 1; 0 = none */
} free_link;

wide_status
lock_memory_attach(wide_db *db)
{
	db->lock_maps = calloc(1, sizeof(*db->lock_maps));
	return db->lock_maps != NULL ? WIDE_OK : status_fail(WIDE_NOMEM, "out of memory");
}

static lock_memory *
memory_of(wide_db *db)
{
	return &db->seg->lock_memory;
}

static void
add_bytes(_Atomic uint64_t *sum, uint64_t bytes)
{
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + bytes,
						  memory_order_relaxed);
}

/* ------------------------------------------------------ blocks of a chunk */

static free_link *
link_of(chunk_head *h, uint32_t unit)
{
	return (free_link *) ((uint8_t *) h + (size_t) unit * LOCK_UNIT);
}

static void
list_add(lock_chunk *c, chunk_head *h, uint32_t unit, uint32_t order)
{
	uint32_t next = h->first[order];

	*link_of(h, unit) = (free_link) {.next = next};
	if (next != 0)
		link_of(h, next - 1)->previous = unit + 1;
	h->first[order] = unit + 1;
	h->state[unit] = (uint8_t) (STATE_FREE | order);
	c->free_orders |= 1u << order;
}

static void
list_remove(lock_chunk *c, chunk_head *h, uint32_t unit, uint32_t order)
{
	free_link at = *link_of(h, unit);

	if (at.next != 0)
		link_of(h, at.next - 1)->previous = at.previous;
	if (at.previous != 0)
		link_of(h, at.previous - 1)->next = at.next;
	else
		h->first[order] = at.next;
	if (h->first[order] == 0)
		c->free_orders &= ~(1u << order);
	h->state[unit] = 0;
}

/* Returns the first unit of a new block.  Requires: there is a free block of this order or a
 * higher one. */
static uint32_t
block_take(lock_chunk *c, chunk_head *h, uint32_t order)
{
	uint32_t from = order + (uint32_t) __builtin_ctz(c->free_orders >> order);
	uint32_t unit = h->first[from] - 1;

	list_remove(c, h, unit, from);
	while (from > order)
	{
		from--;
		list_add(c, h, unit + (1u << from), from);
	}
	h->state[unit] = (uint8_t) (STATE_USED | order);
	return unit;
}

/* Returns the order of the block that was given back. */
static uint32_t
block_give_back(lock_chunk *c, chunk_head *h, uint32_t unit)
{
	uint32_t given = h->state[unit] & STATE_ORDER, order = given;

	h->state[unit] = 0;
	for (; (uint64_t) LOCK_UNIT << (order + 1) <= c->bytes; order++)
	{
		uint32_t buddy = unit ^ (1u << order);

		if (h->state[buddy] != (STATE_FREE | order))
			break;
		list_remove(c, h, buddy, order);
		unit &= ~(1u << order);
	}
	list_add(c, h, unit, order);
	return given;
}

/* Returns the least order of a block with so many bytes. */
static uint32_t
order_of(uint64_t bytes)
{
	uint32_t order = 0;

	while ((uint64_t) LOCK_UNIT << order < bytes)
		order++;
	return order;
}

/* Makes one free block of a chunk that no other process knows yet, apart from the head's. */
static void
chunk_format(lock_chunk *c, chunk_head *h)
{
	size_t head = sizeof(*h) + c->bytes / LOCK_UNIT;

	c->used = 0;
	c->free_orders = 0;
	memset(h, 0, head);
	list_add(c, h, 0, order_of(c->bytes));
	(void) block_take(c, h, order_of(head));
}

/* ---------------------------------------------------------------- mapping */

static void
unmap(wide_db *db, uint32_t c)
{
	struct lock_mappings *m = db->lock_maps;

	if (m->address[c] != NULL)
		db->host.memory_unmap(db->host.ctx, m->id[c], m->address[c]);
	m->address[c] = NULL;
	m->serial[c] = 0;
}

static wide_status
map_chunk(wide_db *db, uint32_t c)
{
	struct lock_mappings *m = db->lock_maps;
	lock_chunk *chunk = &memory_of(db)->chunk[c];
	uint64_t serial = atomic_load_explicit(&chunk->serial, memory_order_acquire);
	uint64_t id = atomic_load_explicit(&chunk->id, memory_order_acquire);
	const char *why = "not possible here";
	void *address = NULL;

	TRY(segment_check(db));
	/* not the chunk with this serial number: the caller sees another one when it looks again */
	if (atomic_load(&chunk->serial) != serial || serial == 0)
		return WIDE_OK;
	unmap(db, c);
	if (db->host.memory_map != NULL)
		address = db->host.memory_map(db->host.ctx, id, &why);
	if (address == NULL && atomic_load(&chunk->serial) == serial)
		return status_fail(WIDE_NOMEM, "could not map shared memory of row locks: %s", why);
	if (address == NULL)
		return WIDE_OK;
	m->address[c] = address;
	m->id[c] = id;
	/* if the chunk is another one now, its number differs, and the mapping is not used */
	m->serial[c] = serial;
	return WIDE_OK;
}

wide_status
lock_memory_map(wide_db *db, lock_ref ref)
{
	return map_chunk(db, (ref >> LOCK_UNIT_BITS) - 1);
}

/* ------------------------------------------------------------- new chunks */

static uint64_t
limit_of(wide_db *db)
{
	if (db->host.memory_create == NULL)
		return 0;
	return db->host.memory_limit(db->host.ctx);
}

static wide_status
fail_limit(wide_db *db, uint64_t limit)
{
	return status_fail(WIDE_LIMIT,
					   "row locks use %" PRIu64 " kB of shared memory, and may use %" PRIu64 " kB",
					   atomic_load(&memory_of(db)->used) / 1024, limit / 1024);
}

/* Returns the size of a new chunk for a block of this order, or 0 if the limit allows none. */
static uint64_t
chunk_size(const lock_memory *lm, uint32_t order, uint64_t limit)
{
	uint64_t all = atomic_load_explicit(&lm->bytes, memory_order_relaxed);
	uint64_t room = limit > all ? limit - all : 0;
	uint64_t least = CHUNK_LEAST, size = CHUNK_USUAL;

	/* half of it is for the head, at worst */
	while (least < (uint64_t) 2 * LOCK_UNIT << order)
		least *= 2;
	while (size < least || (size <= all / 8 && size < CHUNK_MOST))
		size *= 2;
	while (size > room && size > least)
		size /= 2;
	return size <= room && size <= CHUNK_MOST ? size : 0;
}

/* Reserves a chunk and its bytes.  Errors: WIDE_LIMIT, WIDE_POISONED. */
static wide_status
chunk_begin(wide_db *db, uint32_t order)
{
	lock_memory *lm = memory_of(db);
	uint64_t limit = limit_of(db), size;
	uint32_t i = 0;

	TRY(segment_spin(db, &lm->spin));
	size = chunk_size(lm, order, limit);
	while (i < LOCK_CHUNKS && lm->chunk[i].bytes != 0)
		i++;
	if (size != 0 && i < LOCK_CHUNKS)
	{
		lm->chunk[i].bytes = size;
		add_bytes(&lm->bytes, size);
		db->lock_maps->making = i + 1;
	}
	segment_unspin(db, &lm->spin);
	if (size == 0)
		return fail_limit(db, limit);
	return i < LOCK_CHUNKS ? WIDE_OK : status_fail(WIDE_LIMIT, "row locks use too many chunks");
}

/* Ends what chunk_begin has begun; address NULL: the host has not made the chunk. */
static wide_status
chunk_end(wide_db *db, uint64_t id, void *address)
{
	struct lock_mappings *m = db->lock_maps;
	lock_memory *lm = memory_of(db);
	uint32_t i = m->making - 1;
	lock_chunk *c = &lm->chunk[i];

	if (address != NULL)
		chunk_format(c, address);
	TRY(segment_spin(db, &lm->spin));
	if (address != NULL)
	{
		m->id[i] = id;
		m->address[i] = address;
		m->serial[i] = ++lm->serial;
		atomic_store_explicit(&c->id, id, memory_order_release);
		atomic_store_explicit(&c->serial, lm->serial, memory_order_release);
	}
	else
	{
		add_bytes(&lm->bytes, -c->bytes);
		c->bytes = 0;
	}
	m->making = 0;
	segment_unspin(db, &lm->spin);
	return WIDE_OK;
}

static wide_status
chunk_make(wide_db *db, uint32_t order)
{
	const char *why = "";
	uint64_t id = 0;
	uint32_t i;
	void *address;

	TRY(chunk_begin(db, order));
	i = db->lock_maps->making - 1;
	unmap(db, i);
	address = db->host.memory_create(db->host.ctx, memory_of(db)->chunk[i].bytes, &id, &why);
	TRY(chunk_end(db, id, address));
	if (address == NULL)
		return status_fail(WIDE_NOMEM, "could not get shared memory for row locks: %s", why);
	return WIDE_OK;
}

/* ------------------------------------------------------------- allocation */

/*
 * Takes a block from the first chunk that has one; *ref: 0 if none has.  If that chunk is not
 * mapped here nothing is taken, and *unmapped is its index + 1.
 */
static void
take_block(wide_db *db, uint32_t order, lock_ref *ref, uint32_t *unmapped)
{
	lock_memory *lm = memory_of(db);
	struct lock_mappings *m = db->lock_maps;

	*ref = *unmapped = 0;
	for (uint32_t i = 0; i < LOCK_CHUNKS; i++)
	{
		lock_chunk *c = &lm->chunk[i];
		uint64_t serial = atomic_load_explicit(&c->serial, memory_order_relaxed);

		if (serial == 0 || c->free_orders >> order == 0)
			continue;
		if (m->serial[i] != serial)
		{
			*unmapped = i + 1;
			return;
		}
		*ref = (i + 1) << LOCK_UNIT_BITS | block_take(c, m->address[i], order);
		c->used += (uint64_t) LOCK_UNIT << order;
		add_bytes(&lm->used, (uint64_t) LOCK_UNIT << order);
		return;
	}
}

wide_status
lock_memory_allocate(wide_db *db, uint32_t order, bool reserve, lock_ref *ref)
{
	lock_memory *lm = memory_of(db);
	uint64_t limit = limit_of(db), most = reserve ? limit : limit - limit / 8;

	if (order >= ORDERS - 1)
		return status_fail(WIDE_LIMIT, "too many rows with locks in one bucket");
	for (;;)
	{
		uint32_t unmapped = 0;
		bool room;

		*ref = 0;
		TRY(segment_spin(db, &lm->spin));
		room = atomic_load_explicit(&lm->used, memory_order_relaxed) +
				   ((uint64_t) LOCK_UNIT << order) <=
			   most;
		if (room)
			take_block(db, order, ref, &unmapped);
		segment_unspin(db, &lm->spin);
		if (*ref != 0)
			return WIDE_OK;
		if (!room)
			return fail_limit(db, limit);
		if (unmapped != 0)
			TRY(map_chunk(db, unmapped - 1));
		else
			TRY(chunk_make(db, order));
	}
}

lock_ref
lock_memory_take(wide_db *db, uint32_t order)
{
	uint32_t unmapped = 0;
	lock_ref ref = 0;

	do
	{
		if (segment_spin(db, &memory_of(db)->spin) != WIDE_OK)
			return 0;
		take_block(db, order, &ref, &unmapped);
		segment_unspin(db, &memory_of(db)->spin);
	} while (unmapped != 0 && map_chunk(db, unmapped - 1) == WIDE_OK);
	return ref;
}

void
lock_memory_free(wide_db *db, lock_ref ref)
{
	lock_memory *lm = memory_of(db);
	uint32_t i = (ref >> LOCK_UNIT_BITS) - 1;
	lock_chunk *c = &lm->chunk[i];
	uint64_t bytes;

	/* a failure means poison: locks do not matter then */
	if (segment_spin(db, &lm->spin) != WIDE_OK)
		return;
	bytes = (uint64_t) LOCK_UNIT << block_give_back(c, db->lock_maps->address[i],
													ref & ((1u << LOCK_UNIT_BITS) - 1));
	c->used -= bytes;
	add_bytes(&lm->used, -bytes);
	segment_unspin(db, &lm->spin);
	db->lock_maps->freed = true;
}

/* --------------------------------------------------------------- trimming */

/* Gives a chunk back, if no block of it is in use, and it is not one of those that are kept. */
static wide_status
chunk_drop(wide_db *db, uint32_t i)
{
	struct lock_mappings *m = db->lock_maps;
	lock_memory *lm = memory_of(db);
	lock_chunk *c = &lm->chunk[i];
	bool drop;

	TRY(segment_spin(db, &lm->spin));
	drop = m->serial[i] != 0 && m->serial[i] == atomic_load(&c->serial) && c->used == 0 &&
		   atomic_load(&lm->bytes) > KEPT;
	if (drop)
	{
		add_bytes(&lm->bytes, -c->bytes);
		c->bytes = 0;
		atomic_store(&c->serial, 0);
		atomic_fetch_add(&lm->dropped, 1);
	}
	segment_unspin(db, &lm->spin);
	if (drop)
	{
		db->host.memory_drop(db->host.ctx, m->id[i], m->address[i]);
		m->address[i] = NULL;
		m->serial[i] = 0;
	}
	return WIDE_OK;
}

void
lock_memory_trim(wide_db *db)
{
	struct lock_mappings *m = db->lock_maps;
	lock_memory *lm = memory_of(db);
	uint32_t dropped;

	if (m->freed)
	{
		m->freed = false;
		for (uint32_t i = LOCK_CHUNKS; i-- > 0 && atomic_load(&lm->bytes) > KEPT;)
			if (m->serial[i] != 0 && chunk_drop(db, i) != WIDE_OK)
				return;
	}
	dropped = atomic_load_explicit(&lm->dropped, memory_order_relaxed);
	if (m->dropped == dropped)
		return;
	m->dropped = dropped;
	for (uint32_t i = 0; i < LOCK_CHUNKS; i++)
		if (m->serial[i] != 0 && m->serial[i] != atomic_load(&lm->chunk[i].serial))
			unmap(db, i);
}

void
lock_memory_detach(wide_db *db)
{
	struct lock_mappings *m = db->lock_maps;

	if (m == NULL)
		return;
	if (m->making != 0)
		(void) chunk_end(db, 0, NULL);
	for (uint32_t i = 0; i < LOCK_CHUNKS; i++)
		unmap(db, i);
	free(m);
	db->lock_maps = NULL;
}
