/*
 * garbage.c - how much of a family's files may be of no use to anybody, and what
 * to merge about it when the store is at rest.
 *
 * The limits of the levels bound the work of reads and writes, not space: level
 * 1 may hold as much as level 2, and everything in it may be the newer version
 * of what is there.  So at rest the rule is:
 *
 *  - Of the files that lie above the deepest level, or beside the largest one
 *    when all are on level 0, nothing is taken to be new.  What is live for sure is the
 *    largest level (or file of level 0), less a row for each delete that lies above it.
 *    When everything together is more than 1 + SPACE_SLACK times that, the
 *    heaviest level above the deepest goes down: level 0 as a whole, a deeper
 *    one file by file.  Each step brings bytes down for good, so it ends; and as
 *    a quarter of the bottom has to come together first, a byte is written five
 *    times at the most for it (deletes count for more than they take, up to
 *    DELETE_HIDES times).
 *  - Times are taken to be spread evenly between a file's first and last.  When
 *    so more than the same part of everything has expired, the file with the most of
 *    it is written anew where it is.  Only files in which every expired
 *    cell can go are counted, so that a file is not written again in vain.
 *
 * Levels of windowed families are not looked at: pick_window in compact.c.
 *
 * Pure functions, no locks.
 */
#include "engine/compaction/garbage.h"
#include "engine/shared/layout.h"
#include "engine/compaction/level.h"

/* measured against 1.3: filters, indexes and half-empty blocks want something, too */
#define SPACE_SLACK	 0.25
#define DELETE_HIDES 32 /* times the bytes of its level a delete is taken to hide, at most */

/* Bytes that are worth a merge: three syncs. */
static double
least(void)
{
	return (double) level_bytes / 256;
}

void
garbage_add(garbage_tally *s, const file_meta *f, const wide_family_options *o,
			const family_floor *floors, int64_t now, uint64_t settled)
{
	int64_t cut = now - o->ttl_us;
	double range = (double) f->ts_max - (double) f->ts_min;

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
	/* deletes, and what readers or former options need, may stay: then ts_min would stay, too */
	if (o->ttl_us <= 0 || o->min_versions > 0 || o->keep_deleted || f->tombstones > 0 ||
		f->seq_max > settled || f->ts_min >= cut || range <= 0)
		return;
	for (int i = 0; i < FAMILY_FLOORS; i++)
		if (floors[i].seq != 0)
			return;
	{
		double share = ((double) cut - (double) f->ts_min) / range;
		double gone = (share < 1 ? share : 1) * (double) f->bytes;

		s->expired += gone;
		if (share > SPACE_SLACK / 2 && gone > s->most_expired)
		{
			s->most_expired = gone;
			s->expired_file = f;
		}
	}
}

int
garbage_sink(const garbage_tally *s)
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

		/* they may be of single cells of long rows: then little is hidden, and much would be
		 * written for it */
		if (h > DELETE_HIDES * (double) s->bytes[l])
			h = DELETE_HIDES * (double) s->bytes[l];
		weight[l] = (double) s->bytes[l] + h;
		hidden += h;
	}
	/* the whole of it may be hidden */
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
garbage_expired(const garbage_tally *s)
{
	double total = 0;

	for (int l = 0; l < SET_LEVELS; l++)
		total += (double) s->bytes[l];
	return s->expired > SPACE_SLACK * (total - s->expired) && s->most_expired >= least()
			   ? s->expired_file
			   : NULL;
}
