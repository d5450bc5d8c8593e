/*
 * pick.c - chooses the inputs of a compaction.
 *
 * Leveled families: level 0 has flushed and loaded files, which may overlap.  On levels
 * 1 to 7 files are disjoint, and the target of each level is ten times that of the one
 * above.  Windowed families: files stay on level 0 and are merged only with files whose
 * newest cell lies in the same window of time, so old windows are dropped as whole files.
 * Files of several windows are split.  When there are too many files, neighbouring windows are
 * joined.
 *
 * Invariants:
 *  - Of one row, what lies on a lower level is newer than what lies on a higher one.
 *    Files of level 0 are taken oldest first, without gaps.
 *  - Bounds of rows may be shortened, so two neighbours of a level can look as if they
 *    overlapped.  Such files are always moved together, and outputs get rising numbers
 *    in key order: compare_files in pin.c falls back on the number.
 *  - The output may lie anywhere between the outermost bounds of the inputs, so all files
 *    of the output level within those bounds are inputs.
 *  - A damaged file (engine/set/damage.h) is no input but of a drop.  It lies on level 0, and
 *    files that are newer than it pass it.
 *  - A loaded file whose link is newer than flushed_seq is no input: replay would link it
 *    again.
 *
 * Locking: the cursors of levels are read and written under LOCK_SET.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/compaction/pick.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/set/family.h"
#include "engine/set/file_set.h"
#include "engine/compaction/reclaim.h"
#include "engine/compaction/level.h"
#include "engine/compaction/output.h"

#define NEIGHBOUR_SMALL ((uint64_t) 16 << 10) /* a smaller file is written again without regret */

/* ------------------------------------------------------------------ inputs */

static bool
starts_with(const uint8_t *p, uint32_t n, const uint8_t *prefix, uint32_t len)
{
	return n >= len && memcmp(p, prefix, len) == 0;
}

/* Widens the hull by a file. */
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

/* Returns true if the file can be an input. */
static bool
can_take(const compaction *c, const file_meta *f)
{
	return file_settled(f, c->flushed_seq) && !(f->flags & FILE_DAMAGED);
}

static void
input_add(compaction *c, int i)
{
	if (c->in[i])
		return;
	hull_add(&c->hull, &c->all.files[i], c->nin == 0);
	c->in[i] = true;
	c->nin++;
}

/* Adds every file of the level within the bounds, which that may widen.  Returns true if there was
 * one. */
static bool
input_close(compaction *c, int level)
{
	bool any = false, more = true;

	while (more)
	{
		more = false;
		for (int i = c->all.level_start[level]; i < c->all.level_start[level + 1]; i++)
			if (!c->in[i] && file_meta_overlap(&c->hull, &c->all.files[i]))
			{
				input_add(c, i);
				any = more = true;
			}
	}
	return any;
}

/*
 * Adds neighbours of the inputs on the level that are at most twice as large as the inputs, or not
 * larger than `small`.  Without it, families whose keys only rise would get a file with each
 * compaction.  A byte is written again when the file that it is in has grown by half, so a level
 * has few files that are not full, and no byte is written often.
 */
static void
input_neighbours(compaction *c, int level, uint64_t small)
{
	for (bool more = true; more;)
	{
		uint64_t sum = 0;
		int below = -1, above = -1;

		more = false;
		for (int i = 0; i < c->all.n; i++)
			sum += c->in[i] ? c->all.files[i].bytes : 0;
		if (sum >= output_file_bytes)
			return;
		/* no file that is no input overlaps the inputs: input_close */
		for (int i = c->all.level_start[level]; i < c->all.level_start[level + 1]; i++)
			if (!c->in[i] && file_meta_below(&c->all.files[i], c->hull.min_row, c->hull.min_len))
				below = i;
			else if (!c->in[i] && above < 0)
				above = i;
		for (int k = 0; k < 2; k++)
		{
			int i = k == 0 ? below : above;

			if (i < 0 || c->all.files[i].bytes > (2 * sum > small ? 2 * sum : small))
				continue;
			input_add(c, i);
			input_close(c, level);
			more = true;
		}
	}
}

/* --------------------------------------------------------------- choosing inputs */

/* Drops files that have expired as a whole. */
static bool
pick_expired(compaction *c)
{
	for (int i = 0; i < c->all.n; i++)
		if (file_settled(&c->all.files[i], c->flushed_seq) &&
			file_expired(&c->all.files[i], &c->family.opt, c->now))
			input_add(c, i);
	if (c->nin == 0)
		return false;
	c->kind = COMPACTION_DROP;
	return true;
}

/* Merges level 0 into level 1 if at least that many files can be taken.  small: see
 * input_neighbours. */
static bool
pick_level0(compaction *c, int least, uint64_t small)
{
	int n = 0, first = c->all.level_start[1];

	/* newest first: files from the end, without a gap but for damaged ones */
	while (first > 0 && (can_take(c, &c->all.files[first - 1]) ||
						 (c->all.files[first - 1].flags & FILE_DAMAGED)))
		n += can_take(c, &c->all.files[--first]);
	if (n < least || n == 0)
		return false;
	for (int i = first; i < c->all.level_start[1]; i++)
		if (can_take(c, &c->all.files[i]))
			input_add(c, i);
	c->from = 0;
	c->to = 1;
	input_close(c, 1);
	input_neighbours(c, 1, small);
	return true;
}

static int
compare_bytes(const void *a, const void *b)
{
	const file_meta *fa = *(const file_meta *const *) a, *fb = *(const file_meta *const *) b;

	return (fa->bytes > fb->bytes) - (fa->bytes < fb->bytes);
}

/*
 * Chooses among the n files of window w and sorts f; returns how many of its first ones
 * to merge.  All, when the window has passed or at rest, if those beside the largest are
 * a good part of it (reclaim.c), so that late data do not have their window written again
 * and again.  Else the smallest ones, as long as each is not much larger than those
 * before it.
 */
static int
window_inputs(const compaction *c, int64_t w, const file_meta **f, int n, bool rest)
{
	int64_t window = c->family.opt.window_us;
	reclaim_tally space = {0};
	uint64_t sum = 0;
	int take = 0;

	if (n < 2)
		return 0;
	for (int i = 0; i < n; i++)
		reclaim_add(&space, f[i], &c->family.opt, c->floors, c->now, 0);
	if (w < c->now / window - 1 && (space.bytes[0] - space.largest0) * 4 >= space.largest0)
		return n;
	if (rest && reclaim_level(&space) >= 0)
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

/* Returns how many of f[0..n), which ascend in time, have window numbers that differ from that of
 * f[0] only in the lower bits. */
static int
joined_windows(const compaction *c, const file_meta **f, int n, int bits)
{
	int m = 1;

	while (m < n && window_number(f[m]->ts_max, c->family.opt.window_us) >> bits ==
						window_number(f[0]->ts_max, c->family.opt.window_us) >> bits)
		m++;
	return m;
}

/*
 * Joins windows: the n files of the family are more than the `most` that it may have,
 * because its windows are too small for the time that they cover.  Groups of two, four,
 * ... windows are formed until there are at most half as many groups as files allowed.
 * In one group those files are merged that cost least bytes for each file saved; in the
 * oldest group, if all are alike.  A joined file is large and so waits for more of its kind.
 */
static void
pick_join(compaction *c, const file_meta **f, int n, int most)
{
	const file_meta **best = NULL;
	int take = 0, bits = 0, groups = n;
	double least = 0;

	qsort(f, (size_t) n, sizeof *f, compare_windows);
	while (groups > most / 2 && ++bits < 63)
	{
		groups = 0;
		for (int i = 0; i < n; i += joined_windows(c, &f[i], n - i, bits))
			groups++;
	}
	for (int i = 0, m; i < n; i += m)
	{
		double sum = (double) f[i]->bytes;

		m = joined_windows(c, &f[i], n - i, bits);
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
		input_add(c, (int) (best[k] - c->all.files));
	c->split = SPLIT_NOT;
}

/*
 * Splits a file that has cells of several windows: a load, or a flush, of more windows than it
 * could write files for.  Only while there is room for it (file_set_split_most): with less,
 * output_emit writes one file again, and pick_join joins what was split.
 */
static bool
pick_spanning(compaction *c)
{
	uint32_t most = 0;

	for (int i = 0; i < c->all.level_start[1]; i++)
	{
		if (!can_take(c, &c->all.files[i]) ||
			!output_spans_windows(&c->all.files[i], &c->family.opt))
			continue;
		if (segment_lock(c->db, LOCK_SET) == WIDE_OK)
		{
			most = file_set_split_most(c->db);
			segment_unlock(c->db, LOCK_SET);
		}
		if (c->all.n + OUTPUT_LANES <= (int) most)
			input_add(c, i);
		return c->nin > 0;
	}
	return false;
}

/* Merges files of a window, or joins windows if there are more than `most` files. */
static wide_status
pick_window(compaction *c, bool rest, int most, bool *picked)
{
	int64_t window = c->family.opt.window_us;
	int n0 = c->all.level_start[1];
	const file_meta **group = malloc(((size_t) n0 + 1) * sizeof *group);

	c->split = SPLIT_BY_WINDOW;
	if (group == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	for (int i = 0; i < n0 && !*picked; i++)
	{
		int64_t w = window_number(c->all.files[i].ts_max, window);
		int n = 0, take;

		for (int k = 0; k < n0; k++)
			if (window_number(c->all.files[k].ts_max, window) == w && can_take(c, &c->all.files[k]))
				group[n++] = &c->all.files[k];
		take = window_inputs(c, w, group, n, rest);
		for (int k = 0; k < take; k++)
			input_add(c, (int) (group[k] - c->all.files));
		*picked = take > 0;
	}
	if (!*picked && n0 > most)
	{
		int n = 0;

		/* deletes without a timestamp are in no window */
		for (int k = 0; k < n0; k++)
			if (c->all.files[k].ts_max != WIDE_TS_MAX && can_take(c, &c->all.files[k]))
				group[n++] = &c->all.files[k];
		pick_join(c, group, n, most);
		*picked = c->nin > 0;
	}
	free(group);
	c->from = c->to = 0;
	return WIDE_OK;
}

/* Chooses the first file of the level behind the cursor, and neighbours that seem to overlap it. */
static void
pick_round_robin(compaction *c, int level)
{
	family_slot *fs;
	uint8_t at[FILE_BOUND];
	uint32_t len = 0;
	int first = c->all.level_start[level];
	int i = first;

	if (segment_lock(c->db, LOCK_SET) == WIDE_OK)
	{
		if ((fs = family_find(c->db, c->family.id)) != NULL)
		{
			len = fs->cursor_len[level];
			memcpy(at, fs->cursor[level], sizeof at);
		}
		segment_unlock(c->db, LOCK_SET);
	}
	while (i < c->all.level_start[level + 1] &&
		   ukey_compare(c->all.files[i].min_row, c->all.files[i].min_len, at, len) <= 0)
		i++;
	input_add(c, i < c->all.level_start[level + 1] ? i : first);
	input_close(c, level);
}

void
pick_advance(const compaction *c)
{
	family_slot *fs;

	if (c->from == 0 || segment_lock(c->db, LOCK_SET) != WIDE_OK)
		return;
	if ((fs = family_find(c->db, c->family.id)) != NULL)
	{
		memcpy(fs->cursor[c->from], c->hull.max_row, c->hull.max_len);
		fs->cursor_len[c->from] = c->hull.max_len;
	}
	segment_unlock(c->db, LOCK_SET);
}

/* Moves a file of the first level over its target one level down. */
static bool
pick_level(compaction *c)
{
	for (int l = 1; l < SET_LEVELS - 1; l++)
	{
		uint64_t bytes = 0;

		for (int i = c->all.level_start[l]; i < c->all.level_start[l + 1]; i++)
			bytes += c->all.files[i].bytes;
		if (bytes <= level_target(l))
			continue;
		c->from = l;
		c->to = l + 1;
		pick_round_robin(c, l);
		if (!input_close(c, l + 1))
			c->kind = COMPACTION_MOVE;
		return true;
	}
	return false;
}

/* Chooses files to reclaim space: see reclaim.c. */
static bool
pick_space(compaction *c)
{
	uint64_t settled = pick_settled(c);
	bool window = c->family.opt.compaction == WIDE_COMPACT_WINDOW;
	reclaim_tally space = {0};
	const file_meta *expired;
	int level;

	for (int i = 0; i < c->all.n; i++)
		if (can_take(c, &c->all.files[i]))
			reclaim_add(&space, &c->all.files[i], &c->family.opt, c->floors, c->now, settled);
	level = window ? -1 : reclaim_level(&space);
	expired = reclaim_expired_file(&space);
	if (level < 0 && expired != NULL && expired->level == 0 && !window)
		level = 0;
	if (level == 0)
		return pick_level0(c, 1, NEIGHBOUR_SMALL);
	if (level > 0)
	{
		c->from = level;
		for (c->to = level + 1; c->all.level_start[c->to] == c->all.level_start[c->to + 1];)
			c->to++;
		pick_round_robin(c, level);
		if (!input_close(c, c->to))
			c->kind = COMPACTION_MOVE;
	}
	else if (expired != NULL)
	{
		c->from = c->to = expired->level;
		/* below level 0 files are disjoint, also in windowed families (after a major compaction) */
		if (expired->level > 0)
			c->split = SPLIT_BY_SIZE;
		input_add(c, (int) (expired - c->all.files));
		if (expired->level > 0)
			input_close(c, expired->level);
	}
	return c->nin > 0;
}

/*
 * Moves a file that is mostly deletes one level down; it loses them on the way as soon as
 * nothing older is below.  It is never rewritten in place: deletes that cannot be dropped
 * would be written again and again, while a file goes down seven times at most.
 */
static bool
pick_dead_weight(compaction *c)
{
	uint64_t settled = pick_settled(c);

	for (int i = 0; i < c->all.n && !c->family.opt.keep_deleted; i++)
	{
		const file_meta *f = &c->all.files[i];

		if (f->level == SET_LEVELS - 1 || !file_dead_weight(f, settled))
			continue;
		input_add(c, i);
		input_close(c, f->level);
		c->from = f->level;
		c->to = f->level + 1;
		input_close(c, c->to);
		return true;
	}
	return false;
}

/* A major compaction: everything goes to one level that is large enough. */
static void
pick_all(compaction *c)
{
	uint64_t bytes = 0;
	int deepest = 1;

	for (int i = 0; i < c->all.n; i++)
	{
		if (!can_take(c, &c->all.files[i]))
			continue;
		input_add(c, i);
		bytes += c->all.files[i].bytes;
		if (c->all.files[i].level > deepest)
			deepest = c->all.files[i].level;
	}
	while (deepest < SET_LEVELS - 1 && level_target(deepest) < bytes)
		deepest++;
	c->from = 0;
	c->to = deepest;
}

/* Chooses inputs of which fewer files come: the table of files is full. */
static wide_status
pick_crowded(compaction *c)
{
	bool picked = pick_expired(c);
	uint64_t bytes = 0;

	for (int i = 0; i < c->all.n; i++)
		bytes += c->all.files[i].bytes;
	if (!picked && c->family.opt.compaction == WIDE_COMPACT_WINDOW)
		TRY(pick_window(c, true, 2, &picked));
	else if (!picked && bytes > output_file_bytes)
		picked = pick_level0(c, 1, NEIGHBOUR_SMALL);
	else if (!picked)
	{
		pick_all(c);
		picked = true;
	}
	return picked && (c->nin > 1 || c->kind == COMPACTION_DROP) ? WIDE_OK : WIDE_END;
}

wide_status
pick_inputs(compaction *c, enum compact_mode mode)
{
	bool picked = false;

	if (mode == COMPACT_CROWDED)
		return pick_crowded(c);

	if (mode == COMPACT_ALL)
	{
		pick_all(c);
		return c->nin > 0 ? WIDE_OK : WIDE_END;
	}
	if (pick_expired(c))
		picked = true;
	else if (c->family.opt.compaction == WIDE_COMPACT_WINDOW)
	{
		c->split = SPLIT_BY_WINDOW;
		picked = pick_spanning(c);
		if (!picked)
			TRY(pick_window(c, mode == COMPACT_REST, (int) file_set_window_files_most(c->db),
							&picked));
	}
	else
		picked = pick_level0(c, LEVEL0_FILES, NEIGHBOUR_SMALL) || pick_level(c);
	picked = picked || pick_dead_weight(c) || (mode == COMPACT_REST && pick_space(c));
	return picked ? WIDE_OK : WIDE_END;
}
