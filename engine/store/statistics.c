/*
 * statistics.c - numbers about the store: counters, state, jobs, files, families.
 *
 * State is read without stopping other processes: the numbers of one call may be
 * from slightly different times.
 */
#include <stdatomic.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"

static void
state_of_memtables(wide_db *db, wide_stats *out)
{
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &db->seg->memtables[i];
		uint32_t state = atomic_load(&t->state);

		out->memtable_limit += t->capacity;
		if (state == MEMTABLE_ACTIVE || state == MEMTABLE_IMMUTABLE)
			out->memtable_bytes += atomic_load(&t->used);
		out->memtables_waiting += state == MEMTABLE_IMMUTABLE;
	}
}

static void
state_of_files(wide_db *db, wide_stats *out)
{
	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	out->flushed_lsn = db->seg->set.flushed_seq;
	out->restart_lsn = db->seg->set.restart_lsn;
	out->reserved_files = db->seg->set.reserved_files;
	out->files = db->seg->set.nfiles;
	out->file_bytes = db->seg->set.file_bytes;
	out->max_files = db->seg->set.max_files;
	out->max_tables = db->seg->config.max_tables;
	out->containers = db->seg->set.ncontainers;
	out->dead_files = db->seg->set.ndead;
	segment_unlock(db, LOCK_SET);
}

static void
state_of_catalog(wide_db *db, wide_stats *out)
{
	if (segment_lock(db, LOCK_CATALOG) != WIDE_OK)
		return;
	out->tables = catalog_count(db, CATALOG_TABLES);
	out->families = catalog_count(db, CATALOG_FAMILIES);
	segment_unlock(db, LOCK_CATALOG);
}

static void
state_of_process(process_slot *s, wide_stats *out, uint64_t *oldest_pin)
{
	uint64_t snapshot = atomic_load_explicit(&s->snapshot, memory_order_relaxed);
	uint64_t pin = atomic_load_explicit(&s->mem_pin, memory_order_relaxed);
	int pid = (int) atomic_load_explicit(&s->pid, memory_order_relaxed);

	out->processes += atomic_load_explicit(&s->pid, memory_order_relaxed) != 0;
	out->pins += atomic_load_explicit(&s->pin, memory_order_relaxed) != 0;
	out->row_lock_waiters += s->wait_table != 0;
	if (pin != 0 && (*oldest_pin == 0 || pin < *oldest_pin))
	{
		*oldest_pin = pin;
		out->memtable_holder_pid = pid;
	}
	if (snapshot == 0)
		return;
	out->snapshots++;
	if (out->oldest_snapshot == 0 || snapshot < out->oldest_snapshot)
	{
		out->oldest_snapshot = snapshot;
		out->oldest_snapshot_pid = pid;
	}
}

static void
sum_counters(wide_db *db, wide_stats *out)
{
	out->commits = counter_sum(db, COUNTER_COMMITS);
	out->cells_written = counter_sum(db, COUNTER_CELLS_WRITTEN);
	out->log_bytes = counter_sum(db, COUNTER_LOG_BYTES);
	out->gets = counter_sum(db, COUNTER_GETS);
	out->scans = counter_sum(db, COUNTER_SCANS);
	out->rows_read = counter_sum(db, COUNTER_ROWS_READ);
	out->cells_read = counter_sum(db, COUNTER_CELLS_READ);
	out->cache_hits = counter_sum(db, COUNTER_CACHE_HITS);
	out->cache_misses = counter_sum(db, COUNTER_CACHE_MISSES);
	out->bloom_checks = counter_sum(db, COUNTER_BLOOM_CHECKS);
	out->bloom_skips = counter_sum(db, COUNTER_BLOOM_SKIPS);
	out->flushes = counter_sum(db, COUNTER_FLUSHES);
	out->flush_bytes = counter_sum(db, COUNTER_FLUSH_BYTES);
	out->compactions = counter_sum(db, COUNTER_COMPACTIONS);
	out->compact_read_bytes = counter_sum(db, COUNTER_COMPACT_READ);
	out->compact_write_bytes = counter_sum(db, COUNTER_COMPACT_WRITE);
	out->files_deleted = counter_sum(db, COUNTER_FILES_DELETED);
	out->spills = counter_sum(db, COUNTER_SPILLS);
	out->spilled_bytes = counter_sum(db, COUNTER_SPILL_BYTES);
	out->stalls = counter_sum(db, COUNTER_STALLS);
	out->stall_us = counter_sum(db, COUNTER_STALL_US);
	out->row_lock_waits = counter_sum(db, COUNTER_ROW_LOCK_WAITS);
	out->row_lock_bytes = atomic_load(&db->seg->lock_memory.bytes);
}

void
wide_statistics(wide_db *db, wide_stats *out)
{
	segment *seg = db->seg;
	uint64_t oldest_pin = 0;

	memset(out, 0, sizeof(*out));
	out->newest_ts = wide_timestamp_newest(db);
	out->counters_reset = atomic_load(&seg->counters_reset);
	out->visible_lsn = atomic_load(&seg->commit.visible_seq);
	out->cache_bytes = cache_used(db);
	out->cache_limit = seg->config.cache_size;
	out->segment_bytes = seg->size;
	for (uint32_t i = 0; i < seg->config.max_processes; i++)
		state_of_process(&layout_processes(db)[i], out, &oldest_pin);
	state_of_memtables(db, out);
	state_of_files(db, out);
	state_of_catalog(db, out);
	sum_counters(db, out);
	if (segment_lock(db, LOCK_COMMIT) == WIDE_OK)
	{
		out->reserved_bytes = seg->commit.reserved;
		segment_unlock(db, LOCK_COMMIT);
	}
}

int
wide_jobs(wide_db *db, wide_job_info *out, int max)
{
	uint64_t below = UINT64_MAX;
	int n = 0;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	/* newest first: each time the largest serial below the last one */
	while (n < max)
	{
		const job_slot *best = NULL;

		for (int i = 0; i < JOB_MAX; i++)
		{
			const job_slot *j = &db->seg->jobs[i];

			if (j->serial < below && j->serial > (best != NULL ? best->serial : 0))
				best = j;
		}
		if (best == NULL)
			break;
		below = best->serial;
		out[n] = best->info;
		out[n++].pid = (int) best->pid;
	}
	segment_unlock(db, LOCK_SET);
	return n;
}

/* Decodes an encoded bound, which may be cut anywhere, into out, which has room for n bytes. */
static wide_bytes
raw_bound(const uint8_t *p, uint32_t n, uint8_t *out)
{
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		if (p[i] == 0 && (i + 1 == n || p[++i] != 0xff))
			break; /* the terminator, or a cut escape */
		out[len++] = p[i] == 0xff && i > 0 && p[i - 1] == 0 ? 0 : p[i];
	}
	return (wide_bytes) {out, len};
}

static wide_status
file_info(const file_meta *f, wide_status (*fn)(void *arg, const wide_file_info *f), void *arg)
{
	uint8_t lo[FILE_BOUND], hi[FILE_BOUND];
	wide_file_info i = {.number = f->number,
						.container = file_container(f),
						.offset = f->container != 0 ? f->offset : 0,
						.family = f->family,
						.level = f->level,
						.bytes = f->bytes,
						.raw_bytes = f->raw_bytes,
						.cells = f->cells,
						.rows = f->rows,
						.tombstones = f->tombstones,
						.ts_min = f->ts_min,
						.ts_max = f->ts_max,
						.seq_min = f->seq_min,
						.seq_max = f->seq_max};

	i.min_row = raw_bound(f->min_row, f->min_len, lo);
	i.max_row = raw_bound(f->max_row, f->max_len, hi);
	return fn(arg, &i);
}

wide_status
wide_file_each(wide_db *db, wide_family_id family,
			   wide_status (*fn)(void *arg, const wide_file_info *f), void *arg)
{
	wide_family_id id;
	uint32_t cursor = 0;
	version_pin pin = {0};
	family_files files;
	wide_status st;

	TRY(pin_take(db, &pin));
	while ((st = catalog_family_next(db, &cursor, &id)) == WIDE_OK)
	{
		if (family != 0 && id != family)
			continue;
		TRY_GOTO(pin_files(db, &pin, id, &files));
		for (int k = 0; k < files.n; k++)
			TRY_GOTO(file_info(&files.files[k], fn, arg));
	}
	st = st == WIDE_END ? WIDE_OK : st;
done:
	pin_drop(db, &pin);
	return st;
}

wide_status
wide_family_by_id(wide_db *db, wide_family_id id, wide_family *family, wide_table *table)
{
	if (!catalog_family(db, id, family, NULL))
		return status_fail(WIDE_NOTFOUND, "family %u does not exist", id);
	return wide_table_by_id(db, NULL, family->table, table);
}

#define COUNT_MAX 200000 /* most cells that memtable_cells counts one by one */

/* Returns the number of the family's cells in a memtable; above COUNT_MAX the cells of all
 * families, which is near enough. */
static uint64_t
memtable_cells(wide_db *db, uint32_t index, wide_family_id family)
{
	memtable_handle m;
	memtable_cursor c;
	uint64_t n = 0;

	memtable_at(db, index, &m);
	memtable_cursor_open(&c, &m);
	memtable_seek(&c, family, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX);
	for (; memtable_valid(&c) && c.family == family && n < COUNT_MAX; memtable_next(&c))
		n++;
	return n < COUNT_MAX ? n : atomic_load(&m.t->cells);
}

wide_status
wide_family_statistics(wide_db *db, wide_family_id family, wide_family_info *out)
{
	version_pin pin = {0};
	family_files files;
	wide_family f;
	wide_status st;

	memset(out, 0, sizeof *out);
	TRY(segment_check(db));
	if (!catalog_family(db, family, &f, NULL))
		return status_fail(WIDE_NOTFOUND, "family %u does not exist", family);
	TRY_GOTO(pin_take(db, &pin));
	TRY_GOTO(pin_files(db, &pin, family, &files));
	for (int i = 0; i < files.n; i++)
	{
		const file_meta *m = &files.files[i];

		out->files++;
		out->bytes += m->bytes;
		out->raw_bytes += m->raw_bytes;
		out->cells += m->cells;
		out->rows += m->rows;
		out->tombstones += m->tombstones;
		out->files_per_level[m->level]++;
	}
	for (int i = 0; i < pin.nmemtables; i++)
	{
		const memtable *t = &db->seg->memtables[pin.memtables[i]];
		uint64_t n = memtable_cells(db, pin.memtables[i], family), all = atomic_load(&t->cells);

		out->memtable_cells += n;
		if (all > 0)
			out->memtable_bytes += (uint64_t) ((double) atomic_load(&t->used) *
											   (n < all ? (double) n / (double) all : 1));
	}
done:
	pin_drop(db, &pin);
	return st;
}
