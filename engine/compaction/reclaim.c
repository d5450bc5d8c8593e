/*
 * reclaim.c - how much of a family's files may be garbage, and what to merge to reclaim
 * it when the store is at rest.
 *
 * The limits of the levels bound the work of reads and writes, not space: level 1 may
 * hold as much as level 2, and all of it may be newer versions of the cells there.  So at
 * rest the rules are:
 *
 *  - Certainly live is only the largest level (or the largest file if all are on level 0),
 *    less a row for each delete above it.  Everything else may be newer versions of that.
 *    When all files together take more than 1 + SPACE_SLACK times as much, the heaviest
 *    level above the deepest one goes down: level 0 as a whole, others file by file.
 *    Each step brings bytes down for good, so it ends.  A quarter of the bottom has to
 *    come together first, so a byte is written five times at most for this.  (Deletes
 *    count for more bytes than they take, up to DELETE_HIDES times.)
 *  - Timestamps are taken as spread evenly within a file.  When more than SPACE_SLACK
 *    times what is left has expired, the file with the most expired bytes is rewritten on
 *    its level.  Only files in which every expired cell can be dropped count, so no file
 *    is rewritten in vain.
 *
 * Levels of windowed families are not judged here: see pick_window in pick.c.
 *
 * Locking: none; pure functions.
 */
#include "engine/compaction/reclaim.h"
#include "engine/shared/layout.h"
#include "engine/compaction/level.h"

/* the tested limit is 1.3 times the live bytes: filters, indexes and half-empty blocks take some */
#define SPACE_SLACK	 0.25
#define DELETE_HIDES 32 /* deletes of a level count for at most so many times its bytes */

/* Returns the bytes that are worth a merge, which costs three syncs. */
static double
least(void)
{
	return (double) level_bytes / 256;
}

void
reclaim_add(reclaim_tally *s, const file_meta *f, const wide_family_options *o,
			const family_floor *floors, int64_t now, uint64_t settled)
{
	int64_t cut = now - o->ttl_us;
	double range = (double) f->ts_max - (double) f->ts_min, share, gone;

	s->bytes[f->level] += f->bytes;
	s->deletes[f->level] += f->tombstones;
	s->rows[f->level] += f->rows;
	if (f->level == 0)
	{
		s->nfiles0++;
		if (f->bytes > s->largest0)
		{
			s->largest0 = f->bytes;
			s->largest0_rows = f->rows;
		}
	}
	/* deletes, and cells that readers or former options need, may stay, and ts_min with them */
	if (o->ttl_us <= 0 || o->min_versions > 0 || o->keep_deleted || f->tombstones > 0 ||
		f->seq_max > settled || f->ts_min >= cut || range <= 0)
		return;
	for (int i = 0; i < FAMILY_FLOORS; i++)
		if (floors[i].seq != 0)
			return;
	share = ((double) cut - (double) f->ts_min) / range;
	gone = (share < 1 ? share : 1) * (double) f->bytes;
	s->expired += gone;
	if (share > SPACE_SLACK / 2 && gone > s->most_expired)
	{
		s->most_expired = gone;
		s->expired_file = f;
	}
}

int
reclaim_level(const reclaim_tally *s)
{
	double total = 0, largest = (double) s->largest0, rows = (double) s->largest0_rows, hidden = 0,
		   heaviest = 0, weight[SET_LEVELS] = {0};
	int bottom = 0, level = -1;

	for (int l = 0; l < SET_LEVELS; l++)
	{
		total += (double) s->bytes[l];
		if (s->bytes[l] > 0)
			bottom = l;
		if (l > 0 && (double) s->bytes[l] > largest)
		{
			largest = (double) s->bytes[l];
			rows = (double) s->rows[l];
		}
	}
	for (int l = 0; l < bottom; l++)
	{
		double h = rows > 0 ? (double) s->deletes[l] * largest / rows : 0;

		/* deletes of single cells of long rows hide little, and much would be written for that */
		if (h > DELETE_HIDES * (double) s->bytes[l])
			h = DELETE_HIDES * (double) s->bytes[l];
		weight[l] = (double) s->bytes[l] + h;
		hidden += h;
	}
	/* all of it may be hidden */
	largest -= hidden < largest ? hidden : largest;
	if (total - largest <= SPACE_SLACK * largest || total - largest < least())
		return -1;
	if (bottom == 0)
		return s->nfiles0 > 1 ? 0 : -1;
	for (int l = 0; l < bottom; l++)
		if (weight[l] > heaviest)
		{
			heaviest = weight[l];
			level = l;
		}
	return level;
}

const file_meta *
reclaim_expired_file(const reclaim_tally *s)
{
	double total = 0;

	for (int l = 0; l < SET_LEVELS; l++)
		total += (double) s->bytes[l];
	return s->expired > SPACE_SLACK * (total - s->expired) && s->most_expired >= least()
			   ? s->expired_file
			   : NULL;
}
