/*
 * lock_memory.h - shared memory that grows: room for the row locks that do not fit into their
 * buckets.
 *
 * The memory consists of chunks that the host makes (wide_host.memory_create) and of blocks in
 * them.  A block is known by its reference, which is the same in all processes.  A process can use
 * a block when it has mapped the block's chunk.
 */
#ifndef WIDE_LOCK_MEMORY_H
#define WIDE_LOCK_MEMORY_H

#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/shared/layout.h"

typedef uint32_t
	lock_ref; /* index of the chunk + 1, and number of the block's first unit; 0 = none */

#define LOCK_UNIT	   256 /* bytes of a block of order 0; each order has twice as many */
#define LOCK_UNIT_BITS 25  /* of a reference, for the number of the unit */

/* The chunks that a process has mapped.  Only lock_memory.c changes it. */
struct lock_mappings
{
	uint64_t serial[LOCK_CHUNKS]; /* of the chunk that is mapped; 0 = none */
	uint64_t id[LOCK_CHUNKS];
	void *address[LOCK_CHUNKS];
	uint32_t dropped; /* lock_memory.dropped when mappings were last compared */
	uint32_t making;  /* index + 1 of the chunk that this process is about to make */
	bool freed;		  /* a block was freed since the last lock_memory_trim */
};

/* Errors: WIDE_NOMEM. */
extern wide_status lock_memory_attach(wide_db *db);
/* Unmaps all chunks. */
extern void lock_memory_detach(wide_db *db);

/*
 * Returns the address of a block, or NULL if its chunk is not mapped here.
 * Requires: the block stays in use during the call and as long as the address is used.
 */
static inline void *
lock_memory_at(wide_db *db, lock_ref ref)
{
	uint32_t c = (ref >> LOCK_UNIT_BITS) - 1;
	const struct lock_mappings *m = db->lock_maps;
	uint64_t serial = atomic_load_explicit(&db->seg->lock_memory.chunk[c].serial,
										   memory_order_relaxed);

	if (__builtin_expect(m->serial[c] != serial, 0))
		return NULL;
	return (uint8_t *) m->address[c] + (size_t) (ref & ((1u << LOCK_UNIT_BITS) - 1)) * LOCK_UNIT;
}

/*
 * Maps the chunk of a block that lock_memory_at has not found.  The block may be gone meanwhile:
 * the caller looks again for what it needs.  Requires: no spin word is held.
 * Errors: WIDE_NOMEM; WIDE_POISONED.
 */
extern wide_status lock_memory_map(wide_db *db, lock_ref ref);

/*
 * Allocates a block of LOCK_UNIT << order bytes, whose contents are undefined; its chunk is mapped
 * here.  reserve: the block may be of the last eighth of what the host allows.
 * Requires: no spin word is held.
 * Errors: WIDE_LIMIT: the host allows no more; WIDE_NOMEM: the host has no more; WIDE_POISONED.
 */
extern wide_status lock_memory_allocate(wide_db *db, uint32_t order, bool reserve, lock_ref *ref);
/* As lock_memory_allocate, from the chunks that there are.  Returns 0 if they have no room. */
extern lock_ref lock_memory_take(wide_db *db, uint32_t order);
/* Frees a block.  Requires: its chunk is mapped here; no spin word is held. */
extern void lock_memory_free(wide_db *db, lock_ref ref);

/*
 * Gives chunks without blocks in use back to the host, if this process has freed blocks, and
 * unmaps those that another process has given back.
 */
extern void lock_memory_trim(wide_db *db);

#endif /* WIDE_LOCK_MEMORY_H */
