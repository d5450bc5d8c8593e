/* lock_chunks.c - chunks of shared memory for row locks, for tests; see lock_chunks.h */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "test/host/lock_chunks.h"

#define CHUNKS 128
#define MOST   ((size_t) 64 << 20) /* bytes of address space for each */

typedef struct chunk_table
{
	_Atomic size_t bytes[CHUNKS]; /* 0 = free */
} chunk_table;

size_t lock_chunks_limit = (size_t) 1 << 30;
bool lock_chunks_fail_create, lock_chunks_fail_map;

static chunk_table *table;
static uint8_t *region;

void
lock_chunks_map(void)
{
	if (table == NULL)
	{
		table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
					 0);
		region = mmap(NULL, CHUNKS * MOST, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (table == MAP_FAILED || region == MAP_FAILED)
			abort();
	}
	memset(table, 0, sizeof(*table));
}

size_t
lock_chunks_bytes(void)
{
	size_t sum = 0;

	for (int i = 0; i < CHUNKS; i++)
		sum += atomic_load(&table->bytes[i]);
	return sum;
}

static size_t
memory_limit(void *ctx)
{
	return lock_chunks_limit;
}

static void *
memory_create(void *ctx, size_t bytes, uint64_t *id, const char **why)
{
	*why = "the test says so";
	for (int i = 0; i < CHUNKS && bytes <= MOST && !lock_chunks_fail_create; i++)
	{
		size_t none = 0;

		if (!atomic_compare_exchange_strong(&table->bytes[i], &none, bytes))
			continue;
		*id = (uint64_t) i + 1;
		return region + i * MOST;
	}
	return NULL;
}

static void *
memory_map(void *ctx, uint64_t id, const char **why)
{
	*why = "the test says so";
	if (lock_chunks_fail_map || atomic_load(&table->bytes[id - 1]) == 0)
		return NULL;
	return region + (id - 1) * MOST;
}

static void
memory_unmap(void *ctx, uint64_t id, void *address)
{
	if (address != region + (id - 1) * MOST)
		abort();
}

static void
memory_drop(void *ctx, uint64_t id, void *address)
{
	memory_unmap(ctx, id, address);
	memset(address, 0xdb, atomic_load(&table->bytes[id - 1]));
	atomic_store(&table->bytes[id - 1], 0);
}

void
lock_chunks_fill(wide_host *host)
{
	host->memory_limit = memory_limit;
	host->memory_create = memory_create;
	host->memory_map = memory_map;
	host->memory_unmap = memory_unmap;
	host->memory_drop = memory_drop;
}
