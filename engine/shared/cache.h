/* cache.h - the shared cache of uncompressed blocks */
#ifndef WIDE_CACHE_H
#define WIDE_CACHE_H

#include "engine/wide.h"

/*
 * A pinned block.  Its bytes stay in place until cache_unpin.  A process should
 * hold a few dozen pins at most.  Zero-filled: no block.
 */
typedef struct block_ref
{
	const uint8_t *data;
	uint32_t len;
	uint32_t segment; /* of the cache; UINT32_MAX: private memory, freed by cache_unpin */
} block_ref;

/* Returns the bytes of a cache for cache_size bytes of blocks, including its tables. */
extern size_t cache_bytes_needed(size_t cache_size);
/* Initialises an empty cache in memory of cache_bytes_needed() bytes. */
extern void cache_format(void *mem, size_t bytes);

/* Pins the block at this offset of the file if it is in the cache; otherwise returns false.  Takes
 * no lock. */
extern bool cache_get(wide_db *db, uint64_t file, uint64_t offset, block_ref *out);

/* A place for a block that is not in the cache yet. */
typedef struct cache_place
{
	uint8_t *to; /* the caller writes len bytes here */
	uint64_t file, offset;
	uint32_t len;
	uint32_t place; /* in the arena; UINT32_MAX: private memory */
	bool high;		/* high priority */
} cache_place;

/*
 * Reserves a place for a block of len bytes.  The caller writes the block at p->to
 * and calls cache_publish, or cache_abandon if that fails.  p->to NULL: another
 * process has inserted the block meanwhile, and *out is the block, pinned.  If the
 * cache has no room the place is private memory.  Errors: WIDE_NOMEM.
 */
extern wide_status cache_reserve(wide_db *db, uint64_t file, uint64_t offset, uint32_t len,
								 bool high, cache_place *p, block_ref *out);

/* Inserts the block into the cache and pins it in *out.  On failure the place is abandoned. */
extern wide_status cache_publish(wide_db *db, const cache_place *p, block_ref *out);
/* Gives the place up. */
extern void cache_abandon(wide_db *db, const cache_place *p);

/* Makes a block of private memory, for compactions and very large blocks.  Takes over the memory,
 * which comes from malloc. */
extern void cache_private(void *malloced, uint32_t len, block_ref *out);
/* Releases a block and clears *ref.  Does nothing if *ref is no block. */
extern void cache_unpin(wide_db *db, block_ref *ref);
/* Removes all blocks of n files that no process reads any more, in one pass through the cache.
 * files: ascending. */
extern void cache_forget_files(wide_db *db, const uint64_t *files, int n);
/* Returns the bytes of all blocks in the cache. */
extern uint64_t cache_used(wide_db *db);

/* Returns the bytes of shared memory for one process's pin counters, a multiple of 64. */
extern size_t cache_pins_bytes(size_t cache_size);
/* Errors: WIDE_NOMEM. */
extern wide_status cache_attach(wide_db *db);
/* Releases what is still pinned and reports it to the host. */
extern void cache_detach(wide_db *db);

#endif /* WIDE_CACHE_H */
