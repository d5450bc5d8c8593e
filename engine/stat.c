/*
 * stat.c - statistics: sums of the processes' counters, and the state of the
 * segment at this moment.
 *
 * Every process counts in its own slot without atomic read-modify-write; a
 * slot's counters outlive its process, so the sums only rise while the segment
 * lives.  State is read without stopping anybody: numbers of one call may be
 * from slightly different moments.
 */
#include "tree.h"

uint64_t
stat_sum(wide_db *db, enum stat_counter c)
{
	uint64_t	sum = 0;
	slot	   *slots = shm_slots(db);

	for (uint32_t i = 0; i < shm_slots_used(db); i++)
		sum += atomic_load_explicit(&slots[i].counters[c], memory_order_relaxed);
	return sum;
}

static void
state_of_memtables(wide_db *db, wide_stats *out)
{
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable   *t = &db->seg->memtables[i];
		uint32_t	state = atomic_load(&t->state);

		out->memtable_limit += t->capacity;
		if (state == MEM_ACTIVE || state == MEM_IMMUTABLE)
			out->memtable_bytes += atomic_load(&t->used);
		out->memtables_waiting += state == MEM_IMMUTABLE;
	}
}

static void
state_of_files(wide_db *db, wide_stats *out)
{
	file_slot  *files = shm_files(db);

	if (shm_lock(db, LOCK_SET) != WIDE_OK)
		return;
	out->flushed_lsn = db->seg->set.flushed_seq;
	out->restart_lsn = db->seg->set.restart_lsn;
	out->reserved_files = db->seg->set.reserved_files;
	for (uint32_t i = 0; i < db->seg->config.max_files; i++)
		if (files[i].in_use && files[i].removed_version == 0)
		{
			out->files++;
			out->file_bytes += files[i].meta.bytes;
		}
	shm_unlock(db, LOCK_SET);
}

static void
state_of_catalog(wide_db *db, wide_stats *out)
{
	if (shm_lock(db, LOCK_CATALOG) != WIDE_OK)
		return;
	for (uint32_t i = 0; i < db->seg->config.max_tables; i++)
		out->tables += shm_tables(db)[i].t.id != 0;
	for (uint32_t i = 0; i < db->seg->max_families; i++)
		out->families += shm_families(db)[i].f.id != 0;
	shm_unlock(db, LOCK_CATALOG);
}

static void
state_of_process(slot *s, wide_stats *out)
{
	uint64_t	snapshot = atomic_load_explicit(&s->snapshot, memory_order_relaxed);

	out->processes += atomic_load_explicit(&s->pid, memory_order_relaxed) != 0;
	out->pins += atomic_load_explicit(&s->pin, memory_order_relaxed) != 0;
	if (snapshot == 0)
		return;
	out->snapshots++;
	if (out->oldest_snapshot == 0 || snapshot < out->oldest_snapshot)
		out->oldest_snapshot = snapshot;
}

static void
sum_counters(wide_db *db, wide_stats *out)
{
	out->commits = stat_sum(db, STAT_COMMITS);
	out->cells_written = stat_sum(db, STAT_CELLS_WRITTEN);
	out->log_bytes = stat_sum(db, STAT_LOG_BYTES);
	out->gets = stat_sum(db, STAT_GETS);
	out->scans = stat_sum(db, STAT_SCANS);
	out->rows_read = stat_sum(db, STAT_ROWS_READ);
	out->cells_read = stat_sum(db, STAT_CELLS_READ);
	out->cache_hits = stat_sum(db, STAT_CACHE_HITS);
	out->cache_misses = stat_sum(db, STAT_CACHE_MISSES);
	out->bloom_checks = stat_sum(db, STAT_BLOOM_CHECKS);
	out->bloom_skips = stat_sum(db, STAT_BLOOM_SKIPS);
	out->flushes = stat_sum(db, STAT_FLUSHES);
	out->flush_bytes = stat_sum(db, STAT_FLUSH_BYTES);
	out->compactions = stat_sum(db, STAT_COMPACTIONS);
	out->compact_read_bytes = stat_sum(db, STAT_COMPACT_READ);
	out->compact_write_bytes = stat_sum(db, STAT_COMPACT_WRITE);
	out->files_deleted = stat_sum(db, STAT_FILES_DELETED);
	out->spills = stat_sum(db, STAT_SPILLS);
	out->spilled_bytes = stat_sum(db, STAT_SPILL_BYTES);
	out->stalls = stat_sum(db, STAT_STALLS);
	out->stall_us = stat_sum(db, STAT_STALL_US);
	out->row_lock_waits = stat_sum(db, STAT_ROW_LOCK_WAITS);
}

void
wide_statistics(wide_db *db, wide_stats *out)
{
	segment    *seg = db->seg;

	memset(out, 0, sizeof(*out));
	out->visible_lsn = atomic_load(&seg->commit.visible_seq);
	out->cache_bytes = cache_used(db);
	out->cache_limit = seg->config.cache_size;
	out->segment_bytes = seg->size;
	for (uint32_t i = 0; i < seg->config.max_processes; i++)
		state_of_process(&shm_slots(db)[i], out);
	state_of_memtables(db, out);
	state_of_files(db, out);
	state_of_catalog(db, out);
	sum_counters(db, out);
	if (shm_lock(db, LOCK_COMMIT) == WIDE_OK)
	{
		out->last_ts = seg->commit.last_ts;
		out->reserved_bytes = seg->commit.reserved;
		shm_unlock(db, LOCK_COMMIT);
	}
}

int
wide_jobs(wide_db *db, wide_job_info *out, int max)
{
	uint64_t	below = UINT64_MAX;
	int			n = 0;

	if (shm_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	/* newest first: each time the largest serial below the last one */
	while (n < max)
	{
		const job_slot *best = NULL;

		for (int i = 0; i < JOB_MAX; i++)
		{
			const job_slot *j = &db->seg->jobs[i];

			if (j->used && j->serial < below && (best == NULL || j->serial > best->serial))
				best = j;
		}
		if (best == NULL)
			break;
		below = best->serial;
		out[n++] = best->info;
	}
	shm_unlock(db, LOCK_SET);
	return n;
}
