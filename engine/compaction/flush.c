/*
 * flush.c - writes a memtable to files on level 0.
 *
 * Invariants:
 *  - Memtables are flushed oldest first, by one process at a time (job.c).  So
 *    flushed_seq, the end_lsn of the newest flushed one, is true: every batch with a
 *    sequence number up to there is in a listed file.
 *  - Nothing is written before all batches that were appended while the memtable was
 *    active are applied (applying == 0).
 *  - Files and their directory are synced before the edit that lists them, and the log is
 *    durable up to their newest sequence number (edit_apply).
 *  - The families whose cells take little share containers (output.h), so a flush writes as
 *    many files as its bytes are worth, whatever the number of families.
 *  - A flush that fails or is interrupted leaves the memtable as it was.
 *
 * Locking: none while cells are written.
 */
#include <stdatomic.h>
#include <unistd.h>
#include "engine/compaction/flush.h"
#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/entry.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/set/catalog.h"
#include "engine/set/remove.h"
#include "engine/set/edit.h"
#include "engine/set/file_set.h"
#include "engine/set/horizon.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"
#include "engine/set/snapshot.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/source_memtable.h"
#include "engine/compaction/job.h"
#include "engine/compaction/output.h"
#include "engine/compaction/retention.h"

int
flush_oldest(wide_db *db)
{
	int found = -1;

	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &db->seg->memtables[i];

		if (atomic_load(&t->state) == MEMTABLE_IMMUTABLE &&
			(found < 0 || t->number < db->seg->memtables[found].number))
			found = i;
	}
	return found;
}

/* Waits for batches that were appended before the memtable became immutable and are still being
 * applied. */
static wide_status
wait_applied(wide_db *db, memtable *t)
{
	for (int i = 0; atomic_load(&t->applying) > 0; i++)
	{
		TRY(segment_check(db));
		if (host_interrupted(db))
			return status_fail(WIDE_INTERRUPTED, "interrupted");
		host_waits(db, WIDE_WAIT_FLUSH);
		usleep(i < 20 ? 50 : 1000);
		host_waits(db, WIDE_WAIT_NONE);
	}
	return WIDE_OK;
}

/* Writes the cells of one family to files, which it appends to o->files. */
static wide_status
flush_family(wide_db *db, const memtable_handle *m, const version_pin *pin, wide_family_id id,
			 const horizon_ranges *h, int job, output *o)
{
	family_floor floors[FAMILY_FLOORS];
	retention_spec spec = {.floors = floors,
						   .horizon = h->oldest,
						   .bottom = false,
						   .now = snapshot_oldest_now(db),
						   .known = atomic_load(&m->t->seq_max),
						   .fresh = h->fresh,
						   .held = h->held,
						   .nheld = h->nheld};
	source *s = NULL;
	merge *g = NULL;
	retention *v = NULL;
	family_files files;
	uint64_t n = 0;
	wide_status st;

	if (!catalog_family(db, id, &spec.family, floors))
		return WIDE_OK; /* dropped */
	/* files of large batches that were linked while the memtable was active */
	TRY(pin_files(db, pin, id, &files));
	retention_gap(&spec, files.files, files.n, NULL, NULL, atomic_load(&m->t->seq_min),
				  atomic_load(&m->t->seq_max));
	o->family = spec.family;
	TRY_GOTO(merge_new(db, &g));
	TRY_GOTO(source_memtable_new(db, m, id, &s));
	TRY_GOTO(merge_add(g, s));
	TRY_GOTO(retention_new(&spec, output_emit, o, &v));
	TRY_GOTO(merge_first(g));
	while (merge_entry(g) != NULL)
	{
		if (++n % OUTPUT_SLICE == 0)
		{
			TRY_GOTO(output_check(db));
			job_progress(db, job, 0, output_bytes(o));
		}
		TRY_GOTO(retention_feed(v, merge_entry(g)));
		TRY_GOTO(merge_next(g));
	}
	TRY_GOTO(retention_end(v));
	st = output_finish(o);
done:
	retention_free(v);
	merge_free(g);
	return st;
}

/* Writes the memtable to files, family by family. */
static wide_status
flush_files(wide_db *db, int index, int job, output *o)
{
	horizon_ranges h;
	version_pin pin;
	memtable_handle m;
	memtable_cursor c;
	wide_status st;

	TRY(horizon_read(db, &h));
	st = pin_take_files(db, &pin);
	if (st != WIDE_OK)
	{
		horizon_free(&h);
		return st;
	}
	memtable_at(db, (uint32_t) index, &m);
	memtable_cursor_open(&c, &m);
	memtable_first(&c);
	while (memtable_valid(&c))
	{
		wide_family_id id = c.family;

		TRY_GOTO(flush_family(db, &m, &pin, id, &h, job, o));
		if (id == UINT32_MAX)
			break;
		memtable_seek(&c, id + 1, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX);
	}
	TRY_GOTO(output_share_finish(o->share, (file_meta *) o->files.data, output_count(o)));
	if (output_count(o) > 0)
		st = sst_file_sync_dir(db);
done:
	pin_drop(db, &pin);
	horizon_free(&h);
	return st;
}

/* Returns the number of families that have cells in the memtable. */
static uint32_t
count_families(wide_db *db, int index)
{
	memtable_handle m;
	memtable_cursor c;
	uint32_t n = 0;

	memtable_at(db, (uint32_t) index, &m);
	memtable_cursor_open(&c, &m);
	memtable_first(&c);
	while (memtable_valid(&c) && c.family != UINT32_MAX)
	{
		n++;
		memtable_seek(&c, c.family + 1, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX);
	}
	return n + memtable_valid(&c);
}

/* Fails if the files will not fit.  If there is little room, windows get no files of their own. */
static wide_status
check_room(wide_db *db, int index, bool all, output *o)
{
	uint64_t least = count_families(db, index) +
					 atomic_load(&db->seg->memtables[index].used) / o->cut;
	uint32_t room = file_set_room(db, all);

	o->join_windows = least * OUTPUT_LANES > room;
	return least > room ? file_set_full(db) : WIDE_OK;
}

wide_status
flush_one(wide_db *db, bool all)
{
	output_share share = {.db = db};
	output o = {.db = db, .level = 0, .cut = output_cut(db), .share = &share};
	version_edit edit = {0};
	memtable *t;
	int64_t began = clock_monotonic_us();
	int job, index;
	wide_status st;
	bool did;

	TRY(segment_check(db));
	if (flush_oldest(db) < 0)
		return WIDE_END;
	TRY(job_begin(db, JOB_FLUSH, 0, &job));
	index = flush_oldest(db);
	if (index < 0)
	{
		job_end(db, job, WIDE_END, true);
		return WIDE_END;
	}
	t = &db->seg->memtables[index];
	job_plan(db, job, 0, 0, atomic_load(&t->used));
	TRY_GOTO(wait_applied(db, t));
	TRY_GOTO(check_room(db, index, all, &o));
	TRY_GOTO(flush_files(db, index, job, &o));
	injection_point("flush-files");
	edit.add = output_files(&o);
	edit.nadd = output_count(&o);
	edit.memtable = index;
	edit.flushed_seq = t->end_lsn;
	edit.restart_lsn = horizon_restart_lsn(db, (uint32_t) index);
	TRY_GOTO(edit_apply(db, &edit));
	injection_point("flush-manifest");
	atomic_store(&db->seg->set.grown, host_now(db));
	if (atomic_load(&t->used) >= t->capacity / 4)
		atomic_store(&db->seg->commit.flush_us,
					 (uint64_t) (clock_monotonic_us() - began) * (1 << 20) / atomic_load(&t->used));
	counter_add(db, COUNTER_FLUSHES, 1);
	counter_add(db, COUNTER_FLUSH_BYTES, o.bytes);
	job_progress(db, job, atomic_load(&t->used), o.bytes);
	db->log.release(db->log.ctx, db->seg->set.restart_lsn);
	buffer_free(&o.files);
	output_share_free(&share);
done:
	job_end(db, job, st, st == WIDE_FULL && output_count(&o) == 0);
	if (st != WIDE_OK)
	{
		output_discard(&o);
		output_share_discard(&share);
		return st;
	}
	/* frees the memtable if no reader uses it; a failure is not the flush's failure */
	(void) remove_unneeded(db, &did);
	file_set_warn(db);
	host_wake_worker(db);
	return WIDE_OK;
}
