/* cache.h - the shared cache of uncompressed blocks */
#ifndef WIDE_CACHE_H
#define WIDE_CACHE_H

#include "engine/wide.h"

/*
 * The shared cache of uncompressed blocks.  A pinned block stays where it is;
 * a process may hold a few dozen pins.  in_memory raises the priority.
 */
typedef struct block_ref
{
	const uint8_t *data;
	uint32_t len;
	uint32_t segment; /* cache.c's; UINT32_MAX: private memory, freed on unpin */
} block_ref;

extern size_t cache_bytes_needed(size_t cache_size); /* including its tables */
extern void cache_format(void *mem, size_t bytes);

/* true and pinned when present */
extern bool cache_get(wide_db *db, uint64_t file, uint64_t offset, block_ref *out);

/*
 * A place for a block that is not in the cache, so that it can be made there:
 * write *len bytes at *to, then cache_publish, or cache_abandon if they could not be
 * made.  *to NULL: another process has put it in meanwhile, out has it, that is all.
 * When the cache has no room the place is private memory.  WIDE_NOMEM.
 */
typedef struct cache_place
{
	uint8_t *to;
	uint64_t file, offset;
	uint32_t len;
	uint32_t place; /* cache.c's; UINT32_MAX: private memory */
	bool high;
} cache_place;

extern wide_status cache_reserve(wide_db *db, uint64_t file, uint64_t offset, uint32_t len,
								 bool high, cache_place *p, block_ref *out);

/* The block is found from now on, and pinned.  After a failure the place is given up. */
extern wide_status cache_publish(wide_db *db, const cache_place *p, block_ref *out);
extern void cache_abandon(wide_db *db, const cache_place *p);

/* A private block (never shared), e.g. for compaction and giant blocks: takes over malloc'd
 * memory. */
extern void cache_private(void *malloced, uint32_t len, block_ref *out);
extern void cache_unpin(wide_db *db, block_ref *ref); /* harmless on a zeroed ref */
extern void cache_forget_file(wide_db *db, uint64_t file);
extern uint64_t cache_used(wide_db *db);

/* Shared-memory bytes of one process's pin counters, a multiple of 64. */
extern size_t cache_pins_bytes(size_t cache_size);
extern wide_status cache_attach(wide_db *db);
extern void cache_detach(wide_db *db); /* releases what is still pinned and reports it */
extern void cache_sweep(wide_db *db, uint32_t slot_index); /* the pins of a dead process */

#endif /* WIDE_CACHE_H */
