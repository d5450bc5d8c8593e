/*
 * compact.c - merges files of a family.
 *
 * pick.c chooses the inputs.
 *
 * Invariants:
 *  - One process compacts a family at a time (job.c), so between the pin and the edit
 *    others only add newer files or drop the family.
 *  - A compaction is at the bottom (deletes may be forgotten) only when no file outside
 *    it has an older entry of any row within its bounds.  Memtables have none, because
 *    deletes are forgotten up to flushed_seq only, which is read before the pin.
 *  - A failed or interrupted compaction leaves nothing behind.
 *  - A compaction pins files only, and flushes memtables on the way, so writers never wait
 *    for it.
 *
 * Locking: none while cells are read and written.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/compaction/compact.h"
#include "engine/base/buffer.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_file.h"
#include "engine/set/catalog.h"
#include "engine/set/edit.h"
#include "engine/set/horizon.h"
#include "engine/set/pin.h"
#include "engine/set/snapshot.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/source_file.h"
#include "engine/compaction/flush.h"
#include "engine/compaction/job.h"
#include "engine/compaction/output.h"
#include "engine/compaction/pick.h"
#include "engine/compaction/retention.h"

/* Sets what the files outside the compaction decide: see `known` and `bottom` of retention_spec. */
static void
look_outside(const compaction *c, retention_spec *spec)
{
	spec->bottom = true;
	spec->known = c->unflushed - 1;
	for (int i = 0; i < c->all.n; i++)
	{
		const file_meta *f = &c->all.files[i];

		if (c->in[i] || !file_meta_overlap(&c->hull, f))
			continue;
		if (f->level > c->to || f->seq_min <= c->hull.seq_max)
			spec->bottom = false;
		if (f->seq_min > c->hull.seq_max && f->seq_min <= spec->known)
			spec->known = f->seq_min - 1;
	}
	if (spec->known < c->hull.seq_max)
		spec->known = c->hull.seq_max;
}

/* Returns the seq of the oldest entry in memtables that are not flushed.  Requires: LOCK_SET. */
static uint64_t
oldest_unflushed(wide_db *db)
{
	uint64_t oldest = UINT64_MAX;

	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &db->seg->memtables[i];
		uint32_t state = atomic_load(&t->state);
		uint64_t seq = atomic_load(&t->seq_min);

		if ((state == MEMTABLE_ACTIVE || state == MEMTABLE_IMMUTABLE) && seq < oldest)
			oldest = seq;
	}
	return oldest;
}

/* Adds the files of level 0 one by one and each deeper level as a whole.  inputs: in list order. */
static wide_status
add_sources(compaction *c, merge *m, const file_meta *inputs)
{
	for (int i = 0; i < c->nin;)
	{
		source *s = NULL;
		int n = 1;

		while (inputs[i].level > 0 && i + n < c->nin && inputs[i + n].level == inputs[i].level)
			n++;
		TRY(source_file_new(c->db, &inputs[i], n, SST_NO_CACHE, &s));
		TRY(merge_add(m, s));
		i += n;
	}
	return WIDE_OK;
}

/* Flushes a memtable if one is waiting, so that writers do not wait for the compaction. */
static wide_status
flush_between(wide_db *db)
{
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		uint32_t state = atomic_load_explicit(&db->seg->memtables[i].state, memory_order_relaxed);
		wide_status st;

		if (state != MEMTABLE_IMMUTABLE && state != MEMTABLE_FLUSHED)
			continue;
		st = flush_make_room(db);
		return st == WIDE_END || st == WIDE_BUSY ? WIDE_OK : st;
	}
	return WIDE_OK;
}

/* Writes what is kept of the inputs. */
static wide_status
merge_inputs(compaction *c, const file_meta *inputs, int slot, output *o)
{
	retention_spec spec = {.family = c->family,
						   .floors = c->floors,
						   .horizon = c->horizons.oldest,
						   .now = c->now,
						   .fresh = c->horizons.fresh,
						   .held = c->horizons.held,
						   .nheld = c->horizons.nheld};
	merge *m = NULL;
	retention *v = NULL;
	uint64_t total = 0, entries = 1, n = 0;
	wide_status st;

	look_outside(c, &spec);
	retention_gap(&spec, c->all.files, c->all.n, c->in, &c->hull, c->hull.seq_min, c->hull.seq_max);
	spec.tombstone_seq = pick_settled(c);
	for (int i = 0; i < c->nin; i++)
	{
		total += inputs[i].bytes;
		entries += inputs[i].cells + inputs[i].tombstones;
	}
	TRY_GOTO(merge_new(c->db, &m));
	TRY_GOTO(add_sources(c, m, inputs));
	TRY_GOTO(retention_new(&spec, output_emit, o, &v));
	TRY_GOTO(merge_first(m));
	while (merge_entry(m) != NULL)
	{
		if (++n % OUTPUT_SLICE == 0)
		{
			TRY_GOTO(output_check(c->db));
			TRY_GOTO(flush_between(c->db));
			job_progress(c->db, slot,
						 n < entries ? (uint64_t) ((double) total * (double) n / (double) entries)
									 : total,
						 output_bytes(o));
		}
		TRY_GOTO(retention_feed(v, merge_entry(m)));
		TRY_GOTO(merge_next(m));
	}
	TRY_GOTO(retention_end(v));
	TRY_GOTO(output_finish(o));
	if (output_count(o) > 0)
		st = sst_file_sync_dir(c->db);
	c->settled = retention_settled(v);
	job_progress(c->db, slot, total, o->bytes);
done:
	retention_free(v);
	merge_free(m);
	return st;
}

/* The output is the inputs on another level. */
static wide_status
move_inputs(const compaction *c, const file_meta *inputs, output *o)
{
	for (int i = 0; i < c->nin; i++)
	{
		file_meta f = inputs[i];

		f.level = (uint8_t) c->to;
		TRY(buffer_append(&o->files, &f, sizeof f));
	}
	return WIDE_OK;
}

/* Merges, moves or drops the inputs and applies the edit. */
static wide_status
compact(compaction *c, int slot)
{
	output o = {.db = c->db,
				.family = c->family,
				.level = c->to,
				.cut = c->split != SPLIT_BY_SIZE ? UINT64_MAX / 4 : output_file_bytes,
				.join_windows = c->split == SPLIT_NOT};
	file_meta *inputs = malloc((size_t) c->nin * sizeof *inputs);
	uint64_t *numbers = malloc((size_t) c->nin * sizeof *numbers);
	version_edit edit = {.memtable = -1};
	uint64_t total = 0;
	int n = 0;
	wide_status st = WIDE_OK;

	if (inputs == NULL || numbers == NULL)
	{
		st = status_fail(WIDE_NOMEM, "out of memory");
		goto done;
	}
	for (int i = 0; i < c->all.n; i++)
		if (c->in[i])
		{
			inputs[n] = c->all.files[i];
			numbers[n++] = c->all.files[i].number;
			total += c->all.files[i].bytes;
		}
	job_plan(c->db, slot, c->from, c->to, total);
	if (c->kind == COMPACTION_MOVE)
		TRY_GOTO(move_inputs(c, inputs, &o));
	else if (c->kind == COMPACTION_MERGE)
		TRY_GOTO(merge_inputs(c, inputs, slot, &o));
	injection_point("compact-files");
	edit.add = output_files(&o);
	edit.nadd = output_count(&o);
	edit.remove = numbers;
	edit.nremove = n;
	TRY_GOTO(edit_apply(c->db, &edit));
	injection_point("compact-manifest");
	pick_advance(c);
	counter_add(c->db, COUNTER_COMPACTIONS, 1);
	if (c->kind == COMPACTION_MERGE)
	{
		counter_add(c->db, COUNTER_COMPACT_READ, total);
		counter_add(c->db, COUNTER_COMPACT_WRITE, o.bytes);
	}
done:
	if (st != WIDE_OK && c->kind == COMPACTION_MOVE)
		o.files.len = 0; /* they are the inputs */
	if (st != WIDE_OK)
		output_discard(&o);
	buffer_free(&o.files);
	free(inputs);
	free(numbers);
	return st;
}

wide_status
compact_family(wide_db *db, wide_family_id family, enum compact_mode mode)
{
	compaction c = {.db = db};
	int slot;
	wide_status st;

	TRY(job_begin(db, JOB_COMPACT, family, &slot));
	c.now = snapshot_oldest_now(db);
	/* whatever is visible has been applied: it is in a memtable, which oldest_unflushed finds, or
	 * in a file of the pin */
	TRY_GOTO(horizon_read(db, &c.horizons));
	TRY_GOTO(segment_lock(db, LOCK_SET));
	c.flushed_seq = db->seg->set.flushed_seq; /* before the pin */
	c.unflushed = oldest_unflushed(db);
	segment_unlock(db, LOCK_SET);
	if (!catalog_family(db, family, &c.family, c.floors))
	{
		st = WIDE_END;
		goto done;
	}
	TRY_GOTO(pin_take_files(db, &c.pin));
	TRY_GOTO(pin_files(db, &c.pin, family, &c.all));
	c.in = calloc((size_t) c.all.n + 1, sizeof *c.in);
	if (c.in == NULL)
	{
		st = status_fail(WIDE_NOMEM, "out of memory");
		goto done;
	}
	st = pick_inputs(&c, mode);
	if (st == WIDE_END && c.all.n == 0)
		/* no file has entries that floors matter to */
		c.settled = pick_settled(&c);
	if (st == WIDE_OK)
		st = compact(&c, slot);
	if (mode == COMPACT_ALL && (st == WIDE_OK || st == WIDE_END) && c.settled != 0)
		TRY_GOTO(catalog_retire(db, family, c.settled));
done:
	pin_drop(db, &c.pin);
	free(c.in);
	horizon_free(&c.horizons);
	job_end(db, slot, st, st == WIDE_END);
	return st;
}
