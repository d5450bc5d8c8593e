/*
 * compact.c - merges files of a family, or of several small families in one job.
 *
 * pick.c chooses the inputs.
 *
 * Invariants:
 *  - A job claims the families whose files it removes (job.c), so between the pin and the edit
 *    others only add newer files or drop the family.
 *  - A compaction is at the bottom (deletes may be forgotten) only when no file outside
 *    it has an older entry of any row within its bounds.  Memtables have none, because
 *    deletes are forgotten up to flushed_seq only, which is read before the pin.
 *  - A failed or interrupted compaction leaves nothing behind.
 *  - A compaction pins files only, or holds its inputs, and flushes memtables on the way, so
 *    writers never wait for it.
 *
 * Locking: none while cells are read and written.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "engine/set/damage.h"
#include "engine/set/edit.h"
#include "engine/set/file_set.h"
#include "engine/set/horizon.h"
#include "engine/set/pin.h"
#include "engine/set/remove.h"
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
		bool did;

		if (state != MEMTABLE_IMMUTABLE && state != MEMTABLE_FLUSHED)
			continue;
		st = flush_one(db, false);
		/* WIDE_FULL: this job, or the writers, make room in the table of files */
		if (st == WIDE_OK || st == WIDE_END || st == WIDE_BUSY || st == WIDE_FULL)
			st = remove_unneeded(db, &did);
		return st;
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

/* A job: what it writes, and the edit that lists it. */
typedef struct compact_job
{
	wide_db *db;
	int slot;
	enum compact_mode mode;
	compaction common; /* what the compactions of all families share */
	output_share share;
	buffer add;				/* file_meta */
	buffer remove;			/* uint64_t */
	bool alone;				/* it is for one family */
	buffer held;			/* uint64_t: inputs that are held */
	buffer claimed;			/* wide_family_id */
	int compacted;			/* families */
	int marked;				/* files that were found to be damaged */
	char damage[300];		/* what is wrong with the files of one; empty: nothing */
	uint64_t read, written; /* bytes of merges */
} compact_job;

/* Tells the output which timestamps the inputs have. */
static void
expect_windows(const compaction *c, output *o)
{
	int64_t ts_min = INT64_MAX, ts_max = INT64_MIN;

	for (int i = 0; i < c->all.n; i++)
	{
		const file_meta *f = &c->all.files[i];

		if (!c->in[i] || f->ts_max == WIDE_TS_MAX)
			continue;
		ts_min = f->ts_min < ts_min ? f->ts_min : ts_min;
		ts_max = f->ts_max > ts_max ? f->ts_max : ts_max;
	}
	output_windows(o, ts_min, ts_max);
}

/* Merges, moves or drops the inputs of one family, for the job's edit. */
static wide_status
compact_inputs(compact_job *j, compaction *c)
{
	output o = {.db = c->db,
				.family = c->family,
				.level = c->to,
				.cut = c->split != SPLIT_BY_SIZE ? UINT64_MAX / 4 : output_cut(c->db),
				.join_windows = c->split == SPLIT_NOT,
				.share = &j->share};
	file_meta *inputs = malloc((size_t) c->nin * sizeof *inputs);
	uint64_t total = 0;
	int n = 0;
	wide_status st = WIDE_OK;

	if (inputs == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	expect_windows(c, &o);
	TRY_GOTO(buffer_reserve(&j->remove, (size_t) c->nin * sizeof(uint64_t)));
	for (int i = 0; i < c->all.n; i++)
		if (c->in[i])
		{
			inputs[n++] = c->all.files[i];
			total += c->all.files[i].bytes;
		}
	job_plan(c->db, j->slot, c->from, c->to, total);
	if (c->kind == COMPACTION_MOVE)
		TRY_GOTO(move_inputs(c, inputs, &o));
	else if (c->kind == COMPACTION_MERGE)
		TRY_GOTO(merge_inputs(c, inputs, j->slot, &o));
	TRY_GOTO(buffer_append(&j->add, o.files.data, o.files.len));
	for (int i = 0; i < n; i++)
		(void) buffer_append(&j->remove, &inputs[i].number, sizeof inputs[i].number);
	j->compacted++;
	if (c->kind == COMPACTION_MERGE)
	{
		j->read += total;
		j->written += o.bytes;
	}
	pick_advance(c);
done:
	if (st != WIDE_OK && c->kind == COMPACTION_MOVE)
		o.files.len = 0; /* they are the inputs */
	if (st != WIDE_OK)
		output_discard(&o);
	buffer_free(&o.files);
	free(inputs);
	return st;
}

/*
 * A job for one family may take minutes.  It holds its inputs instead of a pin: otherwise the files
 * that other jobs remove meanwhile would fill the table of files.
 */
static wide_status
hold_inputs(compact_job *j, compaction *c, file_meta **copy)
{
	size_t bytes = (size_t) c->all.n * sizeof(file_meta);

	*copy = malloc(bytes);
	if (*copy == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	memcpy(*copy, c->all.files, bytes);
	c->all.files = *copy;
	for (int i = 0; i < c->all.n; i++)
		if (c->in[i])
			TRY(buffer_append(&j->held, &c->all.files[i].number, sizeof(uint64_t)));
	TRY(file_set_hold(j->db, (const uint64_t *) j->held.data,
					  (int) (j->held.len / sizeof(uint64_t)), true));
	pin_drop(j->db, &j->common.pin);
	return WIDE_OK;
}

/* Ends what hold_inputs does. */
static wide_status
release_inputs(compact_job *j)
{
	int n = (int) (j->held.len / sizeof(uint64_t));

	j->held.len = 0;
	return n > 0 ? file_set_hold(j->db, (const uint64_t *) j->held.data, n, false) : WIDE_OK;
}

/*
 * The compaction of a family has failed with st.  If that is because an input is damaged, marks it:
 * the next job compacts the family without it.  This one goes on with other families, whose files
 * the mark does not change.
 */
static wide_status
set_aside(compact_job *j, compaction *c, wide_status st)
{
	const wide_damage *where = wide_error_damage();

	if ((st != WIDE_CORRUPT && st != WIDE_IO) || where == NULL)
		return st;
	for (int i = 0; i < c->all.n; i++)
		if (c->in[i] && c->all.files[i].number == where->file &&
			!(c->all.files[i].flags & FILE_DAMAGED))
		{
			/* the slot that has the mark is another one */
			TRY(release_inputs(j));
			TRY(damage_set_aside(c->db, &c->all.files[i]));
			j->marked++;
			c->settled = 0;
			return WIDE_OK;
		}
	return st;
}

/* Does one family's part.  *settled: as c->settled. */
static wide_status
compact_one(compact_job *j, wide_family_id family, uint64_t *settled)
{
	compaction c = j->common;
	file_meta *copy = NULL;
	wide_status st;

	if (!catalog_family(j->db, family, &c.family, c.floors))
		return WIDE_END;
	TRY(pin_files(j->db, &c.pin, family, &c.all));
	c.in = calloc((size_t) c.all.n + 1, sizeof *c.in);
	if (c.in == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	st = pick_inputs(&c, j->mode);
	if (st == WIDE_END && c.all.n == 0)
		/* no file has entries that floors matter to */
		c.settled = pick_settled(&c);
	if (st == WIDE_OK && j->alone && c.kind == COMPACTION_MERGE)
		st = hold_inputs(j, &c, &copy);
	if (st == WIDE_OK)
		st = set_aside(j, &c, compact_inputs(j, &c));
	free(copy);
	*settled = c.settled;
	free(c.in);
	return st;
}

/* Makes the job's outputs part of the store. */
static wide_status
compact_apply(compact_job *j)
{
	version_edit edit = {.memtable = -1};

	if (j->compacted == 0)
		return WIDE_OK;
	edit.add = (const file_meta *) j->add.data;
	edit.nadd = (int) (j->add.len / sizeof(file_meta));
	edit.remove = (const uint64_t *) j->remove.data;
	edit.nremove = (int) (j->remove.len / sizeof(uint64_t));
	TRY(output_share_finish(&j->share, (file_meta *) j->add.data, edit.nadd));
	if (j->written > 0)
		TRY(sst_file_sync_dir(j->db));
	injection_point("compact-files");
	TRY(edit_apply(j->db, &edit));
	injection_point("compact-manifest");
	counter_add(j->db, COUNTER_COMPACTIONS, (uint64_t) j->compacted);
	counter_add(j->db, COUNTER_COMPACT_READ, j->read);
	counter_add(j->db, COUNTER_COMPACT_WRITE, j->written);
	return WIDE_OK;
}

/* Unlinks what the job has written; the inputs that only move are in j->add, too. */
static void
compact_discard(compact_job *j)
{
	output o = {.db = j->db};
	const file_meta *f = (const file_meta *) j->add.data;
	const uint64_t *inputs = (const uint64_t *) j->remove.data;

	for (size_t i = 0; i < j->add.len / sizeof *f; i++)
	{
		bool moved = false;

		for (size_t k = 0; k < j->remove.len / sizeof *inputs && !moved; k++)
			moved = inputs[k] == f[i].number;
		if (!moved)
			(void) buffer_append(&o.files, &f[i], sizeof *f);
	}
	output_discard(&o);
	output_share_discard(&j->share);
}

/* Returns true if the job can go on with other families. */
static bool
is_familys_own(wide_status st)
{
	return st == WIDE_OK || st == WIDE_END || st == WIDE_BUSY || st == WIDE_CORRUPT;
}

/*
 * Claims the families.  This comes before the pin: what the pin shows of a claimed family is still
 * so when the edit is applied, because no other job has removed files of it since.
 */
static wide_status
claim_families(compact_job *j, const wide_family_id *families, int n, wide_status *results)
{
	TRY(buffer_reserve(&j->claimed, (size_t) n * sizeof *families));
	for (int i = 0; i < n; i++)
	{
		results[i] = job_claim(j->db, j->slot, families[i]);
		if (results[i] == WIDE_OK)
			TRY(buffer_append(&j->claimed, &families[i], sizeof *families));
	}
	return segment_check(j->db);
}

/* Does the parts of all families that are claimed.  *settled: of the last one. */
static wide_status
compact_all(compact_job *j, const wide_family_id *families, int n, wide_status *results,
			uint64_t *settled)
{
	for (int i = 0; i < n; i++)
	{
		if (results[i] != WIDE_OK)
			continue;
		if (i > 0)
		{
			TRY(output_check(j->db));
			TRY(flush_between(j->db));
		}
		results[i] = compact_one(j, families[i], settled);
		if (results[i] == WIDE_CORRUPT)
			snprintf(j->damage, sizeof j->damage, "%s", wide_error_text());
		if (!is_familys_own(results[i]))
			return results[i];
	}
	return WIDE_OK;
}

/* compact_families.  *marked: files that were found to be damaged; the next attempt leaves them
 * out. */
static wide_status
compact_once(wide_db *db, const wide_family_id *families, int n, enum compact_mode mode,
			 wide_status *results, int *marked)
{
	compact_job j = {
		.db = db, .mode = mode, .alone = n == 1, .common = {.db = db}, .share = {.db = db}};
	uint64_t settled = 0;
	wide_status st;

	*marked = 0;
	for (int i = 0; i < n; i++)
		results[i] = WIDE_BUSY;
	TRY(job_begin(db, JOB_COMPACT, families[0], &j.slot));
	TRY_GOTO(claim_families(&j, families, n, results));
	if (j.claimed.len == 0)
	{
		st = WIDE_END;
		goto done;
	}
	j.common.now = snapshot_oldest_now(db);
	/* whatever is visible has been applied: it is in a memtable, which oldest_unflushed finds, or
	 * in a file of the pin */
	TRY_GOTO(horizon_read(db, &j.common.horizons));
	TRY_GOTO(segment_lock(db, LOCK_SET));
	j.common.flushed_seq = db->seg->set.flushed_seq; /* before the pin */
	j.common.unflushed = oldest_unflushed(db);
	segment_unlock(db, LOCK_SET);
	TRY_GOTO(pin_take_files(db, &j.common.pin));
	TRY_GOTO(compact_all(&j, families, n, results, &settled));
	TRY_GOTO(compact_apply(&j));
	if (mode == COMPACT_ALL && (results[0] == WIDE_OK || results[0] == WIDE_END) && settled != 0)
		TRY_GOTO(catalog_retire(db, families[0], settled));
	*marked = j.marked;
	st = j.compacted > 0 || j.marked > 0 ? WIDE_OK : WIDE_END;
	j.add.len = 0;
done:
	if (st != WIDE_OK && st != WIDE_END)
		compact_discard(&j);
	output_share_free(&j.share);
	pin_drop(db, &j.common.pin);
	horizon_free(&j.common.horizons);
	(void) release_inputs(&j);
	job_release(db, j.slot, (const wide_family_id *) j.claimed.data,
				(int) (j.claimed.len / sizeof(wide_family_id)));
	buffer_free(&j.add);
	buffer_free(&j.remove);
	buffer_free(&j.claimed);
	buffer_free(&j.held);
	job_end(db, j.slot, st, st == WIDE_END);
	if (j.damage[0] != 0 && (st == WIDE_OK || st == WIDE_END))
		(void) status_fail(WIDE_CORRUPT, "%s", j.damage);
	return st;
}

wide_status
compact_families(wide_db *db, const wide_family_id *families, int n, enum compact_mode mode,
				 wide_status *results)
{
	int marked;

	return compact_once(db, families, n, mode, results, &marked);
}

wide_status
compact_family(wide_db *db, wide_family_id family, enum compact_mode mode)
{
	wide_status result, st;
	int marked;

	do
		st = compact_once(db, &family, 1, mode, &result, &marked);
	while (st == WIDE_OK && marked > 0);
	return st == WIDE_END ? result : st;
}
