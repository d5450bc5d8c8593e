/*
 * visibility.c - what is visible: snapshots, deletes, versions, TTL.
 *
 * Reads and compactions decide with the code in this file, so that they cannot
 * disagree.  No locks, no I/O; private memory only.
 *
 * THE RULES
 *
 * Sequence numbers are moments in time.  An entry exists for a reader at
 * snapshot S when its seq <= S and it is not excluded, or it belongs to the
 * reader's own batch; other entries count for nothing.  All operations of the
 * own batch happen at one moment, as they will when they are committed.
 *
 * Deletes.  Delete d masks put c when c.seq < d.seq and
 *     column, family delete:                  c.ts <= d.ts
 *     version, family version delete:         c.ts == d.ts
 * With keep_deleted a reader with an upper time limit disregards deletes whose
 * own timestamp is at or above the limit; that of one without is the time of
 * its commit.  (Not for the own batch's puts: what a transaction has written
 * and deleted again has never been.)
 *
 * Versions.  Of puts with the same column and timestamp the newest is the
 * version and the others are its past.  A version is born at its seq and dies
 * at the first of: a delete masks it; `versions` or more versions with newer
 * timestamps are alive (it is displaced, for good: deleting a newer one later
 * does not bring it back).  It is visible when it has not died as of S.
 *
 * Consequences that the code uses:
 *   1. What a column or family delete masks may be forgotten: whatever it has
 *      displaced is older in both ways and masked by the same delete.  So
 *      without version deletes the visible versions are simply the newest
 *      `versions` distinct timestamps that are not masked.
 *   2. If at moment m enough versions newer than timestamp t are alive,
 *      everything at or below t that was born by m is dead.  One number per
 *      column (dead_end) therefore describes all displacement, and a displaced
 *      version itself can be forgotten.
 *
 * After that, in this order: a cell whose own TTL has passed is hidden but
 * fills its place; family TTL hides what is older, except the min_versions
 * newest of the rest; then the time range applies, and to what is visible then
 * the filter (show_min, show_max): that changes no version's number.  With min_versions = 0
 * what the family TTL hides does not fill a place either (everything with an
 * older timestamp is hidden with it).
 *
 * Floors.  A change of options is a moment, too, and a floor says what was in
 * force up to it.  What was invisible stays so:
 *   - `versions` at a moment is what was in force then; a smaller number cuts at
 *     the moment of the change, not earlier: what a deleted version might have
 *     displaced under the new number, and did not under the old one, lives;
 *   - what had expired then dies at that moment: all that is alive and has a
 *     timestamp below expired_before, but for the min_versions newest of those
 *     that are alive (whose own TTL has not passed).  With
 *     min_versions = 0 they may as well never have been: what they could have
 *     displaced is older in both ways and dies with them;
 *   - deletes from before keep_deleted count for every reader.
 * Options are not part of a snapshot: changes hold for older readers as well.
 * A floor is forgotten when a compaction of everything at the bottom has made
 * it void (retention_settled).
 *
 * COMPACTION, with horizon H.  Entries with seq > H influence nothing and are
 * kept, except for what is said below; decisions on the others are final because every reader, now
 * and later, has S >= H.  The job should be contiguous in time: for each row, every entry <= H
 * outside the job is either older than all entries of the job (not when bottom) or newer than all
 * entries of the job that are <= H.  Where that is not so (a bulk file was linked while the
 * memtable was active that is flushed; windows), the seqs of the others are stated as a gap, but
 * for those that are puts only.  An unknown put may have displaced a version that counts on here;
 * that one hides no more than those that have displaced it, because a delete that ends them all
 * covers it, too, or is a version delete and so a barrier.
 *   - masked by a column or family delete: dropped (consequence 1);
 *   - displaced at a moment up to H, and up to `known` (a version delete that is
 *     newer than the job may come before a later cut to fewer versions):
 *     dropped (consequence 2), when certain.  At the bottom the job
 *     knows everything.  Elsewhere a version delete in the job may have hit a
 *     version outside that had displaced something here, so a version delete
 *     is a barrier: versions born before it do not count after it.  (Without
 *     version deletes unknown older versions can only displace more.)  The end
 *     of a floor is a barrier for the same reason, and so is every moment of a
 *     gap;
 *   - masked by a version delete only: dropped at the bottom, else kept: it may
 *     have displaced something older elsewhere;
 *   - the past of a version: dropped, except when there is a barrier between
 *     the two puts and this is not the bottom;
 *   - family TTL passed: dropped if min_versions = 0, else only displacement
 *     drops (a later version delete may bring it under protection);
 *   - own TTL passed: dropped at the bottom, when nothing of the column with an
 *     older timestamp remains here.  This is the one exception to "never changes
 *     an answer": a put with a timestamp below the dropped one that was written
 *     later (and is not in the job) finds the place free, and is displaced as
 *     long as the expired version is there.  Nothing would close it but a mark
 *     kept for ever for every expired cell, because a seq does not tell whether
 *     such a put was made before the expiry or after it;
 *   - a put with seq > H: dropped when it was displaced at a moment m, and nobody
 *     has a snapshot from its seq up to before m, nor ever will (horizon_read).
 *     Forgetting it changes nothing: all that it has displaced in that time has
 *     a lower timestamp and was born before m, so that it is dead at m, too.
 *     With one version (at all times) the birth of any version that is newer in
 *     both ways is such an m, whatever deletes there are; several have to be alive
 *     together, so there must be no delete that could have hit one.  So a counter
 *     under an old snapshot does not keep all that it has ever been;
 *   - deletes: one that another of the same reach and no lower timestamp
 *     follows is dropped; others at the bottom, when <= tombstone_seq.
 *   - keep_deleted: readers differ in the deletes that they regard, so only
 *     what holds for all of them counts: masked puts stay until displaced or
 *     expired (deletes and barriers end the certain life of what they mask),
 *     deletes until nothing is left to mask.
 * A column is passed through entry by entry; where a decision depends on what
 * follows in the column, the rest of the column is buffered.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/read/visibility.h"
#include "engine/base/array.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/read/cell_versions.h"
#include "engine/read/expiry.h"

static inline uint64_t
moment(uint64_t seq)
{
	return seq < SEQ_BATCH ? seq : SEQ_BATCH;
}

/* ----------------------------------------------------------------- track */

/* ---------------------------------------------------------------- shared */

/*
 * What the family deletes of the row do to a put: *covered when one with any
 * timestamp below masks it, and the seq of the first exact one that does.
 */
void
visibility_row_masks(const row_delete *d, int n, const entry *e, uint64_t *covered, uint64_t *exact)
{
	for (int i = 0; i < n && d[i].ts >= e->ts; i++)
	{
		if (d[i].seq <= e->seq)
			continue;
		if (d[i].type == ENTRY_DELETE_FAMILY)
		{
			if (d[i].seq < *covered)
				*covered = d[i].seq;
		}
		else if (d[i].ts == e->ts && d[i].seq < *exact)
			*exact = d[i].seq;
	}
}

/* ---------------------------------------------------------------- reader */

wide_status
visibility_init(visibility *v, const wide_family_options *opt, const family_floor *floors,
				uint64_t seq, const seq_range *excluded, int nexcluded, int64_t now, int64_t ts_min,
				int64_t ts_max, int max_versions)
{
	memset(v, 0, sizeof(*v));
	v->opt = *opt;
	v->nfloors = expiry_floors_in_order(floors, v->floors);
	v->seq = seq;
	v->excluded = excluded;
	v->nexcluded = nexcluded;
	v->now = now;
	v->expire_before = expiry_cutoff(now, opt->ttl_us);
	v->ts_min = ts_min;
	v->ts_max = ts_max;
	v->limited = ts_min != 0 || ts_max != 0;
	if (v->limited && ts_min == INT64_MIN && ts_max == INT64_MAX)
		v->limited = false;
	if (v->opt.versions < 1)
		v->opt.versions = 1;
	v->max_out = max_versions <= 0				  ? 1
				 : max_versions < v->opt.versions ? max_versions
												  : v->opt.versions;
	v->plain = v->opt.versions == 1 && v->nfloors == 0 && !v->limited;
	v->sure_deletes = visibility_sure_deletes(opt, v->floors, v->nfloors);
	cell_versions_init(&v->track, v->opt.versions, v->floors, v->nfloors, MOMENT_END);
	visibility_row(v);
	visibility_column_reset(v);
	return WIDE_OK;
}

void
visibility_filter(visibility *v, int64_t show_min, int64_t show_max)
{
	v->filtered = show_min != INT64_MIN || show_max != INT64_MAX;
	v->show_min = show_min;
	v->show_max = show_max;
	v->plain = v->plain && !v->filtered;
}

void
visibility_renew(visibility *v, uint64_t seq, const seq_range *excluded, int nexcluded, int64_t now)
{
	v->seq = seq;
	v->excluded = excluded;
	v->nexcluded = nexcluded;
	v->now = now;
	v->expire_before = expiry_cutoff(now, v->opt.ttl_us);
	visibility_row(v);
	visibility_column_reset(v);
}

void
visibility_free(visibility *v)
{
	free(v->deletes);
	free(v->own);
	v->deletes = v->own = NULL;
	cell_versions_free(&v->track);
}

bool
visibility_excluded(const visibility *v, uint64_t seq)
{
	int lo = 0, hi = v->nexcluded;

	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if (v->excluded[mid].last < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->nexcluded && v->excluded[lo].first <= seq;
}

/* Deletes up to which seq count for every reader? */
uint64_t
visibility_sure_deletes(const wide_family_options *opt, const family_floor *floors, int nfloors)
{
	uint64_t sure = opt->keep_deleted ? 0 : NO_DELETE - 1;

	for (int i = 0; i < nfloors; i++)
		if (!floors[i].keep_deleted && floors[i].seq > sure)
			sure = floors[i].seq;
	return sure;
}

/* Is there an upper limit, and the delete at or above it, from a time when the family kept
 * deleted cells? */
static bool
delete_disregarded(const visibility *v, const entry *e)
{
	return v->limited && v->ts_max != INT64_MAX && e->seq > v->sure_deletes &&
		   entry_delete_time(e) >= v->ts_max;
}

/* It is disregarded, but masks puts of the own batch if it belongs to that. */
static wide_status
read_own_delete(visibility *v, const entry *e)
{
	if (e->seq < SEQ_BATCH)
		return WIDE_OK;
	TRY(array_grow((void **) &v->own, v->nown, &v->own_cap, sizeof(row_delete)));
	v->own[v->nown].ts = e->ts;
	v->own[v->nown].seq = e->seq;
	/* within a column the reach of both kinds is that of the family deletes */
	v->own[v->nown++].type = e->type == ENTRY_DELETE_COLUMN	   ? ENTRY_DELETE_FAMILY
							 : e->type == ENTRY_DELETE_VERSION ? ENTRY_DELETE_FAMILY_VERSION
															   : e->type;
	if (entry_is_family_delete(e))
		v->nown_row = v->nown;
	return WIDE_OK;
}

static bool
read_own_masked(const visibility *v, const entry *e)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE;

	if (e->seq < SEQ_BATCH)
		return false;
	visibility_row_masks(v->own, v->nown_row, e, &covered, &exact);
	visibility_row_masks(v->own + v->nown_row, v->nown - v->nown_row, e, &covered, &exact);
	return covered != NO_DELETE || exact != NO_DELETE;
}

wide_status
visibility_add_delete(visibility *v, const entry *e)
{
	row_delete *d;

	if (!visibility_exists(v, e))
		return WIDE_OK;
	if (delete_disregarded(v, e))
		return read_own_delete(v, e);
	/* what follows one of no lower timestamp masks more than this one: the list stays short */
	if (e->type == ENTRY_DELETE_FAMILY)
	{
		if (e->seq <= v->family_seq)
			return WIDE_OK;
		v->family_seq = e->seq;
	}
	TRY(array_grow((void **) &v->deletes, v->ndeletes, &v->deletes_cap, sizeof(row_delete)));
	d = &v->deletes[v->ndeletes++];
	d->ts = e->ts;
	d->seq = e->seq;
	d->type = e->type;
	if (e->seq > v->deletes_seq)
		v->deletes_seq = e->seq;
	return WIDE_OK;
}

void
visibility_column_reset(visibility *v)
{
	cell_versions_reset(&v->track);
	v->column_seq = 0;
	v->version_seq = v->version_seq2 = NO_DELETE;
	v->any_put = false;
	v->nprotected = 0;
	memset(v->ranks, 0, (size_t) v->nfloors * sizeof(*v->ranks));
	v->out = 0;
	v->nown = v->nown_row;
	v->fresh = true;
}

/* Note a column or version delete. */
static wide_status
read_delete(visibility *v, const entry *e)
{
	if (delete_disregarded(v, e))
		return read_own_delete(v, e);
	if (e->type == ENTRY_DELETE_COLUMN)
	{
		if (e->seq > v->column_seq)
			v->column_seq = e->seq;
		return WIDE_OK;
	}
	v->version_seq2 = v->version_ts == e->ts ? v->version_seq : NO_DELETE;
	v->version_seq = e->seq;
	v->version_ts = e->ts;
	return WIDE_OK;
}

/* The version is alive and fills a place: do TTL and time range show it? */
static visibility_verdict
read_shown(visibility *v, const entry *e)
{
	bool last = v->track.dead_end == MOMENT_END;

	if (expiry_cell_ttl_passed(e, v->now))
		return last ? VISIBILITY_DONE : VISIBILITY_HIDE;
	if (v->nprotected++ >= v->opt.min_versions && e->ts < v->expire_before)
		return last ? VISIBILITY_DONE : VISIBILITY_HIDE;
	if (v->limited)
	{
		if (e->ts < v->ts_min)
			return VISIBILITY_DONE;
		if (e->ts >= v->ts_max && v->ts_max != INT64_MAX)
			return last ? VISIBILITY_DONE : VISIBILITY_HIDE;
	}
	v->out++;
	last = last || v->out >= v->max_out;
	/* below show_min nothing gets here */
	if (v->filtered && e->ts >= v->show_max && v->show_max != INT64_MAX)
		return last ? VISIBILITY_DONE : VISIBILITY_HIDE;
	return last ? VISIBILITY_LAST : VISIBILITY_SHOW;
}

static inline bool
inside(int64_t ts_min, int64_t ts_max, int64_t from, int64_t to)
{
	return ts_min >= from && (ts_max < to || to == INT64_MAX);
}

/*
 * Where nothing deletes and nothing else is in the column, a version has died
 * only by a floor, which is left to the general case.
 */
bool
visibility_all(const visibility *v, int64_t ts_min, int64_t ts_max, uint64_t seq_min,
			   uint64_t seq_max)
{
	if (v->nfloors > 0 || seq_max > v->seq || ts_min < v->expire_before)
		return false;
	if ((v->limited && !inside(ts_min, ts_max, v->ts_min, v->ts_max)) ||
		(v->filtered && !inside(ts_min, ts_max, v->show_min, v->show_max)))
		return false;
	for (int i = 0; i < v->nexcluded; i++)
		if (v->excluded[i].last >= seq_min && v->excluded[i].first <= seq_max)
			return false;
	return true;
}

wide_status
visibility_slow(visibility *v, const entry *e, visibility_verdict *out)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE, from, to = MOMENT_END;
	bool again;

	v->fresh = false;
	*out = VISIBILITY_HIDE;
	/* neither this nor what follows in the column is given out, nor has it an effect on what was */
	if (v->filtered && e->ts < v->show_min)
	{
		*out = VISIBILITY_DONE;
		return WIDE_OK;
	}
	if (e->type != ENTRY_PUT)
		return read_delete(v, e);
	if (v->opt.min_versions == 0 && e->ts < v->expire_before)
	{
		*out = VISIBILITY_DONE;
		return WIDE_OK;
	}
	if (e->seq < v->column_seq || (v->nown > 0 && read_own_masked(v, e)))
		return WIDE_OK;
	if (e->seq < v->deletes_seq)
		visibility_row_masks(v->deletes, v->ndeletes, e, &covered, &exact);
	if (covered != NO_DELETE)
		return WIDE_OK;
	if (expiry_family_ttl_passed(e, v->opt.min_versions, v->expire_before, v->floors, v->nfloors))
		return WIDE_OK;
	if (v->version_seq != NO_DELETE && v->version_ts == e->ts)
	{
		uint64_t d = v->version_seq > e->seq ? v->version_seq : v->version_seq2;

		if (d < exact)
			exact = d;
	}
	again = v->any_put && v->put_ts == e->ts;
	from = moment(e->seq);
	if (exact != NO_DELETE)
		to = moment(exact);
	if (again && moment(v->put_seq) < to)
		to = moment(v->put_seq);
	else
		again = false;
	if (from >= v->track.dead_end)
	{
		to = expiry_version_end(e, to, v->floors, v->nfloors, v->ranks);
		TRY(again && exact == NO_DELETE ? cell_versions_extend(&v->track, from, to)
										: cell_versions_add(&v->track, from, to));
		if (to == MOMENT_END)
			*out = read_shown(v, e);
	}
	v->any_put = true;
	v->put_ts = e->ts;
	v->put_seq = e->seq;
	if (*out == VISIBILITY_HIDE && v->track.dead_end == MOMENT_END)
		*out = VISIBILITY_DONE;
	return WIDE_OK;
}
