/*
 * format.c - the size and layout of the shared segment, and its initial state.
 *
 * Parts, each aligned to 64 bytes, with their offsets in the head (struct segment):
 *
 *     head    process slots[max_processes]    file slots[max_files]
 *     containers[max_files]    index of files    index of containers
 *     tables[max_tables]    families[4 x max_tables]    indexes of both
 *     bindings[2 x max_tables]
 *     row locks[lock_buckets]    block cache    cache pins[max_processes]
 *     memtable regions[WIDE_MEMTABLES]
 *
 * Locking: none; no process is attached while a segment is formatted.
 */
#include <stdatomic.h>
#include <string.h>
#include "engine/store/format.h"
#include "engine/base/hash.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/row_lock.h"
#include "engine/set/memtable.h"

#define ALIGN64(n) (((uint64_t) (n) + 63) & ~(uint64_t) 63)
#define MIB		   ((size_t) 1024 * 1024)

static const wide_config config_default = {.memtable_size = 16 * MIB,
										   .cache_size = 128 * MIB,
										   .max_processes = 256,
										   .max_tables = 1000,
										   .lock_buckets = 32768};

/* Shrinking stops here.  max_processes is not shrunk: the host needs as many. */
static const wide_config config_least = {.memtable_size = 1 * MIB,
										 .cache_size = 2 * MIB,
										 .max_processes = 1,
										 .max_tables = 100,
										 .max_files = 1024,
										 .lock_buckets = 2048};

/* Returns the largest power of two <= n; n >= 1. */
static uint32_t
power_of_two_below(uint32_t n)
{
	uint32_t p = 1;

	while (p <= n / 2)
		p *= 2;
	return p;
}

static void
config_defaults(wide_config *c)
{
	if (c->memtable_size == 0)
		c->memtable_size = config_default.memtable_size;
	if (c->cache_size == 0)
		c->cache_size = config_default.cache_size;
	if (c->max_processes == 0)
		c->max_processes = config_default.max_processes;
	if (c->max_tables == 0)
		c->max_tables = config_default.max_tables;
	if (c->max_files == 0)
		c->max_files = layout_files_of_tables(c->max_tables);
	if (c->lock_buckets == 0)
		c->lock_buckets = config_default.lock_buckets;
	c->memtable_size = ALIGN64(c->memtable_size);
	c->lock_buckets = power_of_two_below(c->lock_buckets);
}

/* Returns the least b with 2^b >= n. */
static uint32_t
bits_of(uint32_t n)
{
	uint32_t bits = 1;

	while (bits < 31 && (uint32_t) 1 << bits < n)
		bits++;
	return bits;
}

/* Sets the offsets of all parts and the sizes derived from the configuration in *s; returns the
 * size of the segment. */
static uint64_t
layout(const wide_config *c, segment *s)
{
	uint64_t at = ALIGN64(sizeof(segment));

	s->max_families = c->max_tables * LAYOUT_TABLE_FAMILIES;
	s->max_bindings = c->max_tables * 2;
	s->file_bits = bits_of(c->max_files);
	s->family_bits = bits_of(s->max_families);
#define PART(field, bytes) (s->field = at, at += ALIGN64(bytes))
	PART(slots, (uint64_t) c->max_processes * sizeof(process_slot));
	PART(files, (uint64_t) c->max_files * sizeof(file_slot));
	PART(containers, (uint64_t) c->max_files * sizeof(container_slot));
	PART(file_index, sizeof(uint32_t) << s->file_bits);
	PART(container_index, sizeof(uint32_t) << s->file_bits);
	PART(tables, (uint64_t) c->max_tables * sizeof(table_slot));
	PART(families, (uint64_t) s->max_families * sizeof(family_slot));
	PART(family_index, sizeof(uint32_t) << s->family_bits);
	PART(table_index, sizeof(uint32_t) << s->family_bits);
	PART(families_of_table, sizeof(uint32_t) << s->family_bits);
	PART(bindings, (uint64_t) s->max_bindings * sizeof(binding_slot));
	PART(locks, (uint64_t) c->lock_buckets * ROW_LOCK_BUCKET_BYTES);
	PART(cache, cache_bytes_needed(c->cache_size));
	PART(cache_pins, (uint64_t) c->max_processes * cache_pins_bytes(c->cache_size));
	PART(regions, (uint64_t) c->memtable_size * WIDE_MEMTABLES);
#undef PART
	return at;
}

static uint64_t
config_bytes(const wide_config *c)
{
	segment s;

	return layout(c, &s);
}

/* Returns value * part / 65536, but at least `least`, and never more than value. */
static uint64_t
shrink(uint64_t value, uint64_t least, uint32_t part)
{
	uint64_t v = (uint64_t) ((__uint128_t) value * part / 65536);

	if (least > value)
		least = value;
	return v < least ? least : v;
}

/* keep_numbers: tables and files are not shrunk. */
static wide_config
config_shrunk(const wide_config *c, uint32_t part, bool keep_numbers)
{
	wide_config r = *c;

	r.memtable_size = shrink(c->memtable_size, config_least.memtable_size, part) & ~(size_t) 63;
	r.cache_size = shrink(c->cache_size, config_least.cache_size, part);
	r.lock_buckets = power_of_two_below(shrink(c->lock_buckets, config_least.lock_buckets, part));
	if (keep_numbers)
		return r;
	r.max_tables = shrink(c->max_tables, config_least.max_tables, part);
	r.max_files = shrink(c->max_files, config_least.max_files, part);
	return r;
}

void
wide_config_fit(wide_config *config, size_t total)
{
	uint32_t part = 65536;
	wide_config whole, least;
	bool keep_numbers;

	config_defaults(config);
	if (total == 0 || config_bytes(config) <= total)
		return;
	whole = *config;
	/* fewer tables or files than configured are a worse surprise than less memory, so they are
	 * shrunk only if nothing else helps */
	least = config_shrunk(&whole, 0, true);
	keep_numbers = config_bytes(&least) <= total;
	/* the largest part, in 1/65536, that fits; with 0 all are at their minimum, whether that fits
	 * or not */
	do
		*config = config_shrunk(&whole, --part, keep_numbers);
	while (part > 0 && config_bytes(config) > total);
}

size_t
wide_segment_size(const wide_config *config)
{
	wide_config c = *config;

	config_defaults(&c);
	return config_bytes(&c);
}

uint64_t
format_build_id(void)
{
	static const uint32_t sizes[] = {
		5, /* the version of the layout, for changes that keep all sizes */
		sizeof(segment),
		sizeof(process_slot),
		sizeof(memtable),
		sizeof(commit_state),
		sizeof(follow_state),
		sizeof(prepared_state),
		sizeof(set_state),
		sizeof(file_slot),
		sizeof(container_slot),
		sizeof(table_slot),
		sizeof(family_slot),
		sizeof(binding_slot),
		sizeof(catalog_state),
		sizeof(job_slot),
		sizeof(lock_memory),
		sizeof(pthread_mutex_t),
		sizeof(wide_config),
		COUNTER_COUNT,
		LOCK_COUNT,
		COMMIT_RING,
		EXTERNAL_RING,
		FILE_BOUND,
		offsetof(segment, lock),
		offsetof(segment, memtables)};

	_Static_assert(COUNTER_COUNT <= WIDE_COUNTERS_MAX, "WIDE_COUNTERS_MAX is too small");
	_Static_assert(COUNTER_COUNT <= sizeof(((process_slot *) 0)->counters) / sizeof(uint64_t),
				   "counters[] is too short");
	return hash_xxh3(sizes, sizeof(sizes), SEGMENT_MAGIC);
}

static wide_status
locks_init(segment *s)
{
	pthread_mutexattr_t a;
	int e;

	if ((e = pthread_mutexattr_init(&a)) != 0)
		return status_fail(WIDE_NOMEM, "could not initialize mutex attributes: %s", strerror(e));
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < LOCK_COUNT && e == 0; i++)
	{
		memset(&s->lock[i], 0, sizeof(s->lock[i]));
		e = pthread_mutex_init(&s->lock[i], &a);
	}
	pthread_mutexattr_destroy(&a);
	return e == 0 ? WIDE_OK
				  : status_fail(WIDE_NOMEM, "could not initialize a shared mutex: %s", strerror(e));
}

wide_status
wide_segment_format(void *base, const wide_config *config)
{
	segment *s = base;
	wide_config c = *config;

	config_defaults(&c);
	if (((uintptr_t) base & 63) != 0)
		return status_fail(WIDE_INVALID, "the segment is not aligned to 64 bytes");
	if (c.max_processes > 65535 - PREPARED_MAX || c.max_tables > 1000000 ||
		c.max_files > 100000000 || c.lock_buckets > 1u << 26 || c.memtable_size < 64 * 1024 ||
		c.memtable_size > (size_t) 16 << 30 || c.cache_size > (size_t) 1 << 40)
		return status_fail(WIDE_INVALID, "the segment's configuration is out of range");

	memset(s, 0, sizeof(*s));
	s->size = layout(&c, s);
	s->config = c;
	/* cache_format writes the cache's head; the memory of blocks and memtables is not touched: its
	 * pages may not exist yet */
	memset((uint8_t *) base + s->slots, 0, s->cache - s->slots);
	memset((uint8_t *) base + s->cache_pins, 0, s->regions - s->cache_pins);
	cache_format((uint8_t *) base + s->cache, cache_bytes_needed(c.cache_size));
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &s->memtables[i];

		t->region = s->regions + i * c.memtable_size;
		memtable_format(t, (uint8_t *) base + t->region, c.memtable_size);
		atomic_store(&t->state, MEMTABLE_FREE);
	}
	s->memtables[0].number = 1;
	atomic_store(&s->memtables[0].state, MEMTABLE_ACTIVE);
	s->commit.active = 0;
	s->commit.memtable_number = 1;
	TRY(locks_init(s));
	s->build = format_build_id();
	atomic_store(&s->state, WIDE_EMPTY);
	atomic_thread_fence(memory_order_release);
	s->magic = SEGMENT_MAGIC;
	return WIDE_OK;
}
