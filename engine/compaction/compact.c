/*
 * compact.c - which files of a family to merge, and merging them.
 *
 * Leveled families: level 0 holds flushed and loaded files that may overlap;
 * in levels 1..7 files are disjoint and each level has ten times the target of
 * the one above.  Windowed families: files stay on level 0 and are merged only
 * with files whose newest cell lies in the same window of time, so that old
 * windows are dropped as whole files.  When there are too many of them, neighbouring
 * windows are joined.
 *
 * Invariants:
 *  - One process compacts a family at a time (the job), so between the pin and
 *    the edit others only add files (newer ones) or drop the family.
 *  - For one row, what lies in a lower level is newer than what lies in a
 *    higher one; level-0 files are taken oldest first, without gaps.
 *  - Bounds of rows may be shortened, so two neighbours of a level can look as
 *    if they overlapped.  Such files are always moved together, and outputs
 *    get rising numbers in key order: compare_files in pin.c falls back on the
 *    number.
 *  - The output may lie anywhere between the outermost bounds of the inputs,
 *    so all files of the output level within those bounds are inputs.
 *  - bottom (deletes may be forgotten) only when no file outside the job has
 *    an older entry of any row within the bounds.  Memtables have none: deletes
 *    are forgotten up to flushed_seq only, which was read before the pin.
 *  - A loaded file whose link is newer than flushed_seq is no input: replay
 *    would link it again.
 *  - A failed or interrupted compaction leaves nothing behind.
 *  - A compaction pins files only, and flushes memtables on the way: writers
 *    never wait for it.
 *
 * Locking: none held while cells are read and written.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/compaction/compact.h"
#include "engine/base/buffer.h"
#include "engine/base/injection_point.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_file.h"
#include "engine/set/catalog.h"
#include "engine/set/collect.h"
#include "engine/set/edit.h"
#include "engine/set/family.h"
#include "engine/set/file_set.h"
#include "engine/set/horizon.h"
#include "engine/set/pin.h"
#include "engine/set/snapshot.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/source_file.h"
#include "engine/compaction/flush.h"
#include "engine/compaction/garbage.h"
#include "engine/compaction/job.h"
#include "engine/compaction/level.h"
#include "engine/compaction/output.h"
#include "engine/compaction/retention.h"

typedef struct job
{
	wide_db *db;
	wide_family family;
	family_floor floors[FAMILY_FLOORS];
	uint64_t flushed_seq;
	horizon_ranges horizons;
	uint64_t horizon;	/* the oldest of them */
	uint64_t settled;	/* by this job: retention_settled */
	uint64_t unflushed; /* no memtable has an older entry, but for those > horizon */
	int64_t now;
	version_pin pin;
	family_files all;
	bool *in; /* for each of all.files */
	int nin;
	int from;
	int to;
	bool one_file;	/* do not cut the output */
	bool join;		/* nor by windows */
	bool move;		/* nothing to merge with: change the level only */
	bool drop;		/* inputs are expired as a whole */
	file_meta hull; /* bounds of all inputs, of rows and of seqs */
} job;

/* ------------------------------------------------------------------ inputs */

static bool
starts_with(const uint8_t *p, uint32_t n, const uint8_t *prefix, uint32_t len)
{
	return n >= len && memcmp(p, prefix, len) == 0;
}

static void
hull_add(file_meta *h, const file_meta *f, bool first)
{
	bool larger;

	if (first || ukey_compare(f->min_row, f->min_len, h->min_row, h->min_len) < 0)
	{
		memcpy(h->min_row, f->min_row, sizeof h->min_row);
		h->min_len = f->min_len;
	}
	/* a cut upper bound stands for everything that begins with it */
	if ((h->flags & FILE_MAX_CUT) && !first &&
		starts_with(f->max_row, f->max_len, h->max_row, h->max_len))
		larger = false;
	else if ((f->flags & FILE_MAX_CUT) &&
			 starts_with(h->max_row, h->max_len, f->max_row, f->max_len))
		larger = true;
	else
		larger = ukey_compare(f->max_row, f->max_len, h->max_row, h->max_len) > 0;
	if (first || larger)
	{
		memcpy(h->max_row, f->max_row, sizeof h->max_row);
		h->max_len = f->max_len;
		h->flags = f->flags & FILE_MAX_CUT;
	}
	if (first || f->seq_max > h->seq_max)
		h->seq_max = f->seq_max;
	if (first || f->seq_min < h->seq_min)
		h->seq_min = f->seq_min;
}

static void
input_add(job *j, int i)
{
	if (j->in[i])
		return;
	hull_add(&j->hull, &j->all.files[i], j->nin == 0);
	j->in[i] = true;
	j->nin++;
}

/* Add every file of the level within the bounds, which may widen them; returns whether there was
 * one. */
static bool
input_close(job *j, int level)
{
	bool any = false, more = true;

	while (more)
	{
		more = false;
		for (int i = j->all.level_start[level]; i < j->all.level_start[level + 1]; i++)
			if (!j->in[i] && file_meta_overlap(&j->hull, &j->all.files[i]))
			{
				input_add(j, i);
				any = more = true;
			}
	}
	return any;
}

/* ---------------------------------------------------------------- what to do */

static bool
pick_expired(job *j)
{
	for (int i = 0; i < j->all.n; i++)
		if (file_settled(&j->all.files[i], j->flushed_seq) &&
			file_expired(&j->all.files[i], &j->family.opt, j->now))
			input_add(j, i);
	j->drop = j->nin > 0;
	return j->drop;
}

/* Level 0 down to level 1, if so many files can be taken. */
static bool
pick_level0(job *j, int least)
{
	int n = 0;

	/* newest first: from the end; stop where one cannot be taken */
	for (int i = j->all.level_start[1] - 1;
		 i >= 0 && file_settled(&j->all.files[i], j->flushed_seq); i--)
		n++;
	if (n < least)
		return false;
	for (int i = j->all.level_start[1] - n; i < j->all.level_start[1]; i++)
		input_add(j, i);
	j->from = 0;
	j->to = 1;
	input_close(j, 1);
	return true;
}

static int
compare_bytes(const void *a, const void *b)
{
	const file_meta *fa = *(const file_meta *const *) a, *fb = *(const file_meta *const *) b;

	return (fa->bytes > fb->bytes) - (fa->bytes < fb->bytes);
}

/*
 * Among the files of one window: all, when the window has passed or at rest, if
 * those beside the largest are a good part of it (garbage.c; so what comes late
 * does not have its window written again and again); else the smallest ones, as
 * long as each is not much larger than those before it.
 */
static int
window_inputs(const job *j, int64_t w, const file_meta **f, int n, bool rest)
{
	int64_t window = j->family.opt.window_us;
	garbage_tally space = {0};
	uint64_t sum = 0;
	int take = 0;

	if (n < 2)
		return 0;
	for (int i = 0; i < n; i++)
		garbage_add(&space, f[i], &j->family.opt, j->floors, j->now, 0);
	if (w < j->now / window - 1 && (space.bytes[0] - space.largest0) * 4 >= space.largest0)
		return n;
	if (rest && garbage_sink(&space) >= 0)
		return n;
	qsort(f, (size_t) n, sizeof *f, compare_bytes);
	for (; take < n && (take < 2 || f[take]->bytes <= 2 * sum); take++)
		sum += f[take]->bytes;
	return take >= LEVEL0_FILES ? take : 0;
}

static int
compare_windows(const void *a, const void *b)
{
	const file_meta *fa = *(const file_meta *const *) a, *fb = *(const file_meta *const *) b;

	return (fa->ts_max > fb->ts_max) - (fa->ts_max < fb->ts_max);
}

/* Neighbours in time from f on, up to f + n, whose numbers of windows differ only in the lower
 * bits. */
static int
joined_windows(const job *j, const file_meta **f, int n, int bits)
{
	int m = 1;

	while (m < n && window_number(f[m]->ts_max, j->family.opt.window_us) >> bits ==
						window_number(f[0]->ts_max, j->family.opt.window_us) >> bits)
		m++;
	return m;
}

/*
 * There are more files than the family may have: its windows are too small for
 * the time that they cover.  So windows are taken together, two, four, or as many
 * as it takes to have half as many, and of one such group those files are merged
 * that are the cheapest for each file that there is less.  Older ones first, if
 * all are alike; what is joined is large, and waits for more of its kind.
 */
static void
pick_join(job *j, const file_meta **f, int n, int most)
{
	const file_meta **best = NULL;
	int take = 0, bits = 0, groups = n;
	double least = 0;

	qsort(f, (size_t) n, sizeof *f, compare_windows);
	while (groups > most / 2 && ++bits < 63)
	{
		groups = 0;
		for (int i = 0; i < n; i += joined_windows(j, &f[i], n - i, bits))
			groups++;
	}
	for (int i = 0, m; i < n; i += m)
	{
		double sum = (double) f[i]->bytes;

		m = joined_windows(j, &f[i], n - i, bits);
		if (m > 1)
		{
			qsort(&f[i], (size_t) m, sizeof *f, compare_bytes);
			sum = (double) f[i]->bytes;
		}
		for (int k = 1; k < m; k++)
		{
			sum += (double) f[i + k]->bytes;
			if (best != NULL && sum / k >= least)
				continue;
			least = sum / k;
			best = &f[i];
			take = k + 1;
		}
	}
	for (int k = 0; k < take; k++)
		input_add(j, (int) (best[k] - j->all.files));
	j->join = true;
}

static wide_status
pick_window(job *j, bool rest, bool *picked)
{
	int64_t window = j->family.opt.window_us;
	int n0 = j->all.level_start[1], most;
	const file_meta **group = malloc(((size_t) n0 + 1) * sizeof *group);

	*picked = false;
	if (group == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	for (int i = 0; i < n0 && !*picked; i++)
	{
		int64_t w = window_number(j->all.files[i].ts_max, window);
		int n = 0, take;

		for (int k = 0; k < n0; k++)
			if (window_number(j->all.files[k].ts_max, window) == w &&
				file_settled(&j->all.files[k], j->flushed_seq))
				group[n++] = &j->all.files[k];
		take = window_inputs(j, w, group, n, rest);
		for (int k = 0; k < take; k++)
			input_add(j, (int) (group[k] - j->all.files));
		*picked = take > 0;
	}
	if (!*picked && n0 > (most = (int) file_set_window_files_most(j->db)))
	{
		int n = 0;

		/* deletes without a timestamp are of no window */
		for (int k = 0; k < n0; k++)
			if (j->all.files[k].ts_max != WIDE_TS_MAX &&
				file_settled(&j->all.files[k], j->flushed_seq))
				group[n++] = &j->all.files[k];
		pick_join(j, group, n, most);
		*picked = j->nin > 0;
	}
	free(group);
	j->from = j->to = 0;
	j->one_file = true;
	return WIDE_OK;
}

/* The first file of the level behind the cursor, and its group of indistinguishable neighbours. */
static void
pick_round_robin(job *j, int level)
{
	family_slot *fs;
	uint8_t at[FILE_BOUND];
	uint32_t len = 0;
	int first = j->all.level_start[level];
	int i = first;

	if (segment_lock(j->db, LOCK_SET) == WIDE_OK)
	{
		if ((fs = family_find(j->db, j->family.id)) != NULL)
		{
			len = fs->cursor_len[level];
			memcpy(at, fs->cursor[level], sizeof at);
		}
		segment_unlock(j->db, LOCK_SET);
	}
	while (i < j->all.level_start[level + 1] &&
		   ukey_compare(j->all.files[i].min_row, j->all.files[i].min_len, at, len) <= 0)
		i++;
	input_add(j, i < j->all.level_start[level + 1] ? i : first);
	input_close(j, level);
}

static void
advance_cursor(const job *j)
{
	family_slot *fs;

	if (j->from == 0 || segment_lock(j->db, LOCK_SET) != WIDE_OK)
		return;
	if ((fs = family_find(j->db, j->family.id)) != NULL)
	{
		memcpy(fs->cursor[j->from], j->hull.max_row, j->hull.max_len);
		fs->cursor_len[j->from] = j->hull.max_len;
	}
	segment_unlock(j->db, LOCK_SET);
}

static bool
pick_level(job *j)
{
	for (int l = 1; l < SET_LEVELS - 1; l++)
	{
		uint64_t bytes = 0;

		for (int i = j->all.level_start[l]; i < j->all.level_start[l + 1]; i++)
			bytes += j->all.files[i].bytes;
		if (bytes <= level_target(l))
			continue;
		j->from = l;
		j->to = l + 1;
		pick_round_robin(j, l);
		j->move = !input_close(j, l + 1);
		return true;
	}
	return false;
}

/* For the sake of space: see garbage.c. */
static bool
pick_space(job *j)
{
	uint64_t settled = j->horizon < j->flushed_seq ? j->horizon : j->flushed_seq;
	bool window = j->family.opt.compaction == WIDE_COMPACT_WINDOW;
	garbage_tally space = {0};
	const file_meta *expired;
	int level;

	for (int i = 0; i < j->all.n; i++)
		if (file_settled(&j->all.files[i], j->flushed_seq))
			garbage_add(&space, &j->all.files[i], &j->family.opt, j->floors, j->now, settled);
	level = window ? -1 : garbage_sink(&space);
	expired = garbage_expired(&space);
	if (level < 0 && expired != NULL && expired->level == 0 && !window)
		level = 0;
	if (level == 0)
		return pick_level0(j, 1);
	if (level > 0)
	{
		j->from = level;
		for (j->to = level + 1; j->all.level_start[j->to] == j->all.level_start[j->to + 1];)
			j->to++;
		pick_round_robin(j, level);
		j->move = !input_close(j, j->to);
	}
	else if (expired != NULL)
	{
		j->from = j->to = expired->level;
		/* below level 0 files are in order, also in windowed families (a major compaction has
		 * put them there) */
		j->one_file = expired->level == 0;
		input_add(j, (int) (expired - j->all.files));
		if (expired->level > 0)
			input_close(j, expired->level);
	}
	return j->nin > 0;
}

/*
 * A file of deletes goes one level down and loses them on the way, as soon as
 * nothing older is left.  Never in place: what cannot be dropped would be
 * written again and again, while a file sinks seven times at most.
 */
static bool
pick_dead_weight(job *j)
{
	uint64_t settled = j->horizon < j->flushed_seq ? j->horizon : j->flushed_seq;

	for (int i = 0; i < j->all.n && !j->family.opt.keep_deleted; i++)
	{
		const file_meta *f = &j->all.files[i];

		if (f->level == SET_LEVELS - 1 || !file_dead_weight(f, settled))
			continue;
		input_add(j, i);
		input_close(j, f->level);
		j->from = f->level;
		j->to = f->level + 1;
		input_close(j, j->to);
		return true;
	}
	return false;
}

static void
pick_all(job *j)
{
	uint64_t bytes = 0;
	int deepest = 1;

	for (int i = 0; i < j->all.n; i++)
	{
		if (!file_settled(&j->all.files[i], j->flushed_seq))
			continue;
		input_add(j, i);
		bytes += j->all.files[i].bytes;
		if (j->all.files[i].level > deepest)
			deepest = j->all.files[i].level;
	}
	while (deepest < SET_LEVELS - 1 && level_target(deepest) < bytes)
		deepest++;
	j->from = 0;
	j->to = deepest;
}

static wide_status
pick(job *j, enum compact_mode mode)
{
	bool picked = false;

	if (mode == COMPACT_ALL)
	{
		pick_all(j);
		return j->nin > 0 ? WIDE_OK : WIDE_END;
	}
	if (pick_expired(j))
		picked = true;
	else if (j->family.opt.compaction == WIDE_COMPACT_WINDOW)
		TRY(pick_window(j, mode == COMPACT_REST, &picked));
	else
		picked = pick_level0(j, LEVEL0_FILES) || pick_level(j);
	picked = picked || pick_dead_weight(j) || (mode == COMPACT_REST && pick_space(j));
	return picked ? WIDE_OK : WIDE_END;
}

/* ------------------------------------------------------------------- running */

static bool
is_bottom(const job *j)
{
	for (int i = 0; i < j->all.n; i++)
	{
		const file_meta *f = &j->all.files[i];

		if (!j->in[i] && file_meta_overlap(&j->hull, f) &&
			(f->level > j->to || f->seq_min <= j->hull.seq_max))
			return false;
	}
	return true;
}

/* Up to which moment no newer entry of the rows is outside the job? */
static uint64_t
known_until(const job *j)
{
	uint64_t known = j->unflushed - 1;

	for (int i = 0; i < j->all.n; i++)
	{
		const file_meta *f = &j->all.files[i];

		if (!j->in[i] && f->seq_min > j->hull.seq_max && f->seq_min <= known &&
			file_meta_overlap(&j->hull, f))
			known = f->seq_min - 1;
	}
	return known > j->hull.seq_max ? known : j->hull.seq_max;
}

/* The oldest entry in memtables whose files are not listed yet.  Under LOCK_SET. */
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

/* Level-0 files one by one, each deeper level as a run. inputs: all inputs in list order. */
static wide_status
add_sources(job *j, merge *m, const file_meta *inputs)
{
	for (int i = 0; i < j->nin;)
	{
		source *s = NULL;
		int n = 1;

		while (inputs[i].level > 0 && i + n < j->nin && inputs[i + n].level == inputs[i].level)
			n++;
		TRY(source_file_new(j->db, &inputs[i], n, SST_NO_CACHE, &s));
		TRY(merge_add(m, s));
		i += n;
	}
	return WIDE_OK;
}

/* Writers wait for memory, not for compactions: a flush that is due goes first, here and now. */
static wide_status
flush_between(wide_db *db)
{
	bool did;
	wide_status st;

	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		uint32_t state = atomic_load_explicit(&db->seg->memtables[i].state, memory_order_relaxed);

		if (state != MEMTABLE_IMMUTABLE && state != MEMTABLE_FLUSHED)
			continue;
		if (state == MEMTABLE_IMMUTABLE)
		{
			st = flush_one(db);
			if (st != WIDE_OK && st != WIDE_END && st != WIDE_BUSY)
				return st;
		}
		return collect_garbage(db, &did);
	}
	return WIDE_OK;
}

static wide_status
run_merge(job *j, const file_meta *inputs, int slot, output *o)
{
	retention_spec spec = {.family = j->family,
						   .floors = j->floors,
						   .horizon = j->horizon,
						   .now = j->now,
						   .fresh = j->horizons.fresh,
						   .held = j->horizons.held,
						   .nheld = j->horizons.nheld};
	merge *m = NULL;
	retention *v = NULL;
	uint64_t total = 0, entries = 1, n = 0;
	wide_status st;

	spec.bottom = is_bottom(j);
	spec.known = known_until(j);
	retention_gap(&spec, j->all.files, j->all.n, j->in, &j->hull, j->hull.seq_min, j->hull.seq_max);
	spec.tombstone_seq = j->horizon < j->flushed_seq ? j->horizon : j->flushed_seq;
	for (int i = 0; i < j->nin; i++)
	{
		total += inputs[i].bytes;
		entries += inputs[i].cells + inputs[i].tombstones;
	}
	TRY_GOTO(merge_new(j->db, &m));
	TRY_GOTO(add_sources(j, m, inputs));
	TRY_GOTO(retention_new(&spec, output_emit, o, &v));
	TRY_GOTO(merge_first(m));
	while (merge_entry(m) != NULL)
	{
		if (++n % WORK_SLICE == 0)
		{
			TRY_GOTO(segment_check(j->db));
			if (host_interrupted(j->db))
			{
				st = status_fail(WIDE_INTERRUPTED, "interrupted");
				goto done;
			}
			TRY_GOTO(flush_between(j->db));
			job_progress(j->db, slot,
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
		st = sst_file_sync_dir(j->db);
	j->settled = retention_settled(v);
	job_progress(j->db, slot, total, o->bytes);
done:
	retention_free(v);
	if (m != NULL)
		merge_free(m);
	return st;
}

/* The same files under another level. */
static wide_status
run_move(const job *j, const file_meta *inputs, output *o)
{
	for (int i = 0; i < j->nin; i++)
	{
		file_meta f = inputs[i];

		f.level = (uint8_t) j->to;
		TRY(buffer_append(&o->files, &f, sizeof f));
	}
	return WIDE_OK;
}

static wide_status
run(job *j, int slot)
{
	output o = {.db = j->db,
				.family = j->family,
				.level = j->to,
				.cut = j->one_file ? UINT64_MAX / 4 : output_file_bytes,
				.whole = j->join};
	file_meta *inputs = malloc((size_t) j->nin * sizeof *inputs);
	uint64_t *numbers = malloc((size_t) j->nin * sizeof *numbers);
	version_edit edit = {.memtable = -1};
	uint64_t total = 0;
	int n = 0;
	wide_status st = WIDE_OK;

	if (inputs == NULL || numbers == NULL)
	{
		st = status_fail(WIDE_NOMEM, "out of memory");
		goto done;
	}
	for (int i = 0; i < j->all.n; i++)
		if (j->in[i])
		{
			inputs[n] = j->all.files[i];
			numbers[n++] = j->all.files[i].number;
			total += j->all.files[i].bytes;
		}
	job_plan(j->db, slot, j->from, j->to, total);
	if (j->move)
		TRY_GOTO(run_move(j, inputs, &o));
	else if (!j->drop)
		TRY_GOTO(run_merge(j, inputs, slot, &o));
	injection_point("compact-files");
	edit.add = output_files(&o);
	edit.nadd = output_count(&o);
	edit.remove = numbers;
	edit.nremove = n;
	TRY_GOTO(edit_apply(j->db, &edit));
	injection_point("compact-manifest");
	advance_cursor(j);
	counter_add(j->db, COUNTER_COMPACTIONS, 1);
	if (!j->move && !j->drop)
	{
		counter_add(j->db, COUNTER_COMPACT_READ, total);
		counter_add(j->db, COUNTER_COMPACT_WRITE, o.bytes);
	}
done:
	if (st != WIDE_OK && j->move)
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
	job j = {.db = db};
	bool all = mode == COMPACT_ALL;
	int slot;
	wide_status st;

	TRY(job_begin(db, JOB_COMPACT, family, &slot));
	j.now = snapshot_oldest_now(db);
	/* what is visible has been applied: it is in a memtable that is looked at next, or in a file
	 * that the pin has */
	TRY_GOTO(horizon_read(db, &j.horizons));
	j.horizon = j.horizons.oldest;
	TRY_GOTO(segment_lock(db, LOCK_SET));
	j.flushed_seq = db->seg->set.flushed_seq; /* before the pin */
	j.unflushed = oldest_unflushed(db);
	segment_unlock(db, LOCK_SET);
	if (!catalog_family(db, family, &j.family, j.floors))
	{
		st = WIDE_END;
		goto done;
	}
	TRY_GOTO(pin_take_files(db, &j.pin));
	TRY_GOTO(pin_files(db, &j.pin, family, &j.all));
	j.in = calloc((size_t) j.all.n + 1, sizeof *j.in);
	if (j.in == NULL)
	{
		st = status_fail(WIDE_NOMEM, "out of memory");
		goto done;
	}
	st = pick(&j, mode);
	if (st == WIDE_END && all && j.all.n == 0)
		/* nothing is stored of that time */
		j.settled = j.horizon < j.flushed_seq ? j.horizon : j.flushed_seq;
	if (st == WIDE_OK)
		st = run(&j, slot);
	if (all && (st == WIDE_OK || st == WIDE_END) && j.settled != 0)
		TRY_GOTO(catalog_retire(db, family, j.settled));
done:
	if (j.pin.serial != 0)
		pin_drop(db, &j.pin);
	free(j.in);
	horizon_free(&j.horizons);
	job_end(db, slot, st, st == WIDE_END);
	return st;
}
