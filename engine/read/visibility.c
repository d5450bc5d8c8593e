/*
 * visibility.c - which versions a reader sees: snapshots, deletes, versions, time to live.
 *
 * Reads and compactions decide with the functions of this room, so they cannot
 * disagree.  No locks, no I/O; private memory only.
 *
 * THE RULES
 *
 * Sequence numbers are points in time: "at m" means after everything with a
 * seq <= m and before everything else.  An entry exists for a reader with
 * snapshot S if its seq <= S and the snapshot does not exclude it, or if it
 * belongs to the reader's own batch; other entries have no effect.  All
 * operations of that batch happen at one point in time (SEQ_BATCH), as they will
 * when they are committed.
 *
 * Deletes.  Delete d masks put c if c.seq < d.seq and
 *     column delete, family delete:           c.ts <= d.ts
 *     version delete, family version delete:  c.ts == d.ts
 * With keep_deleted, a reader with an upper time limit disregards deletes whose
 * time is at or above the limit.  The time of a delete is its timestamp; without
 * a timestamp it is the time of its commit (entry_delete_time).  Puts of the
 * reader's own batch are masked by the deletes of that batch in any case: what a
 * transaction has written and deleted again has never existed.
 *
 * Versions.  Of the puts with the same column and timestamp the newest is the
 * version; the others are its past.  A version is born at its seq and dies at
 * the first of these points:
 *   - a delete masks it;
 *   - `versions` or more versions with newer timestamps are alive.  The version
 *     is then displaced for good: deleting a newer version later does not bring
 *     it back.
 * A version is visible if it has not died at S.
 *
 * Consequences that the code relies on:
 *   1. What a column or family delete masks may be forgotten: everything that it
 *      has displaced has an older timestamp and came before the delete, so the
 *      same delete masks that too.  Without version deletes the visible versions
 *      are therefore the newest `versions` distinct timestamps that are not
 *      masked.
 *   2. If at m enough versions with timestamps newer than t are alive, everything
 *      with timestamp t or older that was born by m is dead.  So one number per
 *      column (dead_end) describes all displacement, and a displaced version
 *      itself can be forgotten.
 *
 * To the versions that are alive the following applies, in this order:
 *   - A cell whose own TTL has passed is hidden, but still counts as one of the
 *     `versions`.
 *   - The family TTL hides what is older than it, except the min_versions newest
 *     of the rest.  With min_versions = 0, what it hides does not count as one of
 *     the `versions` either: everything with an older timestamp is hidden too.
 *   - The time range (ts_min, ts_max) hides what is outside.
 *   - The filter (show_min, show_max) hides what is outside, but the number of no
 *     version changes.
 *
 * Floors.  A change of options happens at a point in time, too.  A floor says
 * which options were in force up to that point.  What was invisible stays so:
 *   - `versions` at m is the number in force at m.  A smaller number cuts at the
 *     change, not earlier: a version lives if a version that has been deleted
 *     might have displaced it under the new number, but did not under the old
 *     one.
 *   - What had expired by the change dies at the change: every version that is
 *     alive and has a timestamp below expired_before, except the min_versions
 *     newest of those that are alive and whose own TTL has not passed.  With
 *     min_versions = 0 these versions may as well never have existed: what they
 *     could have displaced has an older timestamp and an older seq, and dies with
 *     them.
 *   - Deletes from before keep_deleted was set count for every reader.
 * Options are not part of a snapshot: a change holds for older readers as well.
 * A floor is forgotten when a compaction of all files, at the bottom, has made it
 * void (retention_settled).
 *
 * Merge operators (fold.h).  In a family with one, a put is an operand.  It counts if it
 * exists, no delete masks it, and the family TTL has not passed.  The distinct timestamps
 * of the operands that count, the newest `versions` of them, are the versions of the
 * column, and each has the value of all operands with its timestamp or an older one.  So
 * operands older than the last version are told apart by nothing, and are folded into it;
 * in a family with a TTL each expires by itself, and only those with one timestamp are
 * folded.  With one version and no TTL, operands above the horizon are folded, too, if no
 * reader has a snapshot that has one of them only, and no delete can be between them.
 * For that to be the same whatever has been folded, the family has no floors, min_versions
 * or keep_deleted, its puts no TTL of their own, and its deletes no timestamp
 * (wide_batch_delete): each masks all that came before it.
 *
 * Of these operators WIDE_MERGE_APPEND (append.h) alone is not commutative.  There is one version:
 * the operands that count, in the order of their seqs (of one seq: of their timestamps), and its
 * timestamp is that of the last one.  A delete masks all that is before it in that order.  So two
 * operands a and b, a before b, are folded if
 *   - no entry of the column, put or delete, has or will get a place between them.  In the job the
 *     places are known, as a column is folded when all its entries have come.  Outside it entries
 *     are older than all of the job, in the gap, or newer than the job's entries up to the horizon
 *     and then newer than `known`.  The gap is that of all files whose keys and seqs overlap with
 *     those of the job, on whatever level; so it is empty if the job is contiguous in time.  Later
 *     commits get greater seqs.
 *   - no reader sees one of them alone: both are up to the horizon, or no reader has a snapshot
 *     between them, and no delete above the horizon masks one of them for some readers.
 * The result has the key of b.  Everything outside is before a, hence before b, or behind b, and
 * the key is no other entry's.  With a TTL nothing is folded.
 *
 * COMPACTION, with horizon H
 *
 * Entries with seq > H influence nothing and are kept, except as stated below.
 * Decisions on the other entries are final, because every reader, now and later,
 * has S >= H.  The job should be contiguous in time: for each row, every entry
 * <= H outside the job is older than all entries of the job (none is, at the
 * bottom), or newer than all entries of the job that are <= H.  Where this does
 * not hold (a bulk file was linked while the memtable that is flushed was active;
 * windows), the seqs of the other entries are given as a gap, except those of
 * files that have puts only.  An unknown put may have displaced a version that
 * still counts here.  That version hides no more than the versions that have
 * displaced it: a delete that ends them all covers it too, or is a version delete
 * and so a barrier.
 *   - Masked by a column or family delete: dropped (consequence 1).
 *   - Displaced at a point up to H and up to `known` (a version delete that is
 *     newer than the job may come before a later cut to fewer versions): dropped
 *     (consequence 2), if certain.  At the bottom the job knows everything.
 *     Elsewhere a version delete in the job may have hit a version outside that
 *     had displaced something here.  So a version delete is a barrier: versions
 *     born before it do not count after it.  (Without version deletes, unknown
 *     older versions can only displace more.)  For the same reason the end of a
 *     floor is a barrier, and so is every point of a gap.
 *   - Masked by a version delete only: dropped at the bottom, else kept: it may
 *     have displaced something older elsewhere.
 *   - The past of a version: dropped, except when a barrier lies between the two
 *     puts and this is not the bottom.
 *   - Family TTL passed: dropped if min_versions = 0.  Otherwise only displacement
 *     drops it: a later version delete may make it one of the min_versions.
 *   - Own TTL passed: dropped at the bottom, if nothing of the column with an older
 *     timestamp remains here.  This is the one exception to "a compaction never
 *     changes an answer": a put with a timestamp below the dropped one that was
 *     written later (and is not in the job) is displaced as long as the expired
 *     version is there, and is not once it is gone.  Only a mark kept for ever for
 *     every expired cell could avoid this, because a seq does not say whether such
 *     a put was made before the expiry or after it.
 *   - A put with seq > H: dropped if it was displaced at some m and no reader has,
 *     or ever will have, a snapshot from its seq up to before m (horizon_read).
 *     Forgetting it changes nothing: everything that it displaced in that time has
 *     an older timestamp and was born before m, so it is dead at m, too.  With one
 *     version (at all times) the birth of any version with a newer timestamp and a
 *     newer seq is such an m, whatever deletes there are.  Several versions have to
 *     be alive together, so there must be no delete that could have hit one.  With
 *     this rule a counter under an old snapshot does not keep all its old values.
 *   - A delete: dropped if another delete of the same reach and no older timestamp
 *     follows it in time; other deletes are dropped at the bottom if
 *     seq <= tombstone_seq.
 *   - keep_deleted: readers differ in the deletes that they regard, so only what
 *     holds for all readers counts.  Masked puts stay until they are displaced or
 *     expired; deletes stay until nothing is left for them to mask.  A put is certain
 *     to be alive only until the first delete that masks it and the first barrier
 *     after its birth.
 * A column is processed entry by entry.  Where a decision depends on what follows
 * in the column, the rest of the column is buffered.
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

/* All operations of the reader's own batch happen at one point in time. */
static inline uint64_t
point_in_time(uint64_t seq)
{
	return seq < SEQ_BATCH ? seq : SEQ_BATCH;
}

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

wide_status
visibility_init(visibility *v, const wide_family_options *opt, const family_floor *floors,
				uint64_t seq, const seq_range *excluded, int nexcluded, int64_t now, int64_t ts_min,
				int64_t ts_max, int max_versions)
{
	memset(v, 0, sizeof(*v));
	v->opt = *opt;
	v->nfloors = expiry_floors_in_order(floors, v->floors);
	v->ts_min = ts_min;
	v->ts_max = ts_max;
	v->limited = (ts_min != 0 || ts_max != 0) && (ts_min != INT64_MIN || ts_max != INT64_MAX);
	if (v->opt.versions < 1)
		v->opt.versions = 1;
	v->max_out = max_versions <= 0				  ? 1
				 : max_versions < v->opt.versions ? max_versions
												  : v->opt.versions;
	v->plain = v->opt.versions == 1 && v->nfloors == 0 && !v->limited;
	v->sure_deletes = visibility_sure_deletes(opt, v->floors, v->nfloors);
	cell_versions_init(&v->track, v->opt.versions, v->floors, v->nfloors, SEQ_END);
	visibility_renew(v, seq, excluded, nexcluded, now);
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
	free(v->batch_deletes);
	v->deletes = v->batch_deletes = NULL;
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

uint64_t
visibility_sure_deletes(const wide_family_options *opt, const family_floor *floors, int nfloors)
{
	uint64_t sure = opt->keep_deleted ? 0 : NO_DELETE - 1;

	for (int i = 0; i < nfloors; i++)
		if (!floors[i].keep_deleted && floors[i].seq > sure)
			sure = floors[i].seq;
	return sure;
}

/* Returns true if the delete is at or above the reader's upper time limit and was made while the
 * family had keep_deleted. */
static bool
delete_disregarded(const visibility *v, const entry *e)
{
	return v->limited && v->ts_max != INT64_MAX && e->seq > v->sure_deletes &&
		   entry_delete_time(e) >= v->ts_max;
}

/* Notes a disregarded delete of the reader's batch: it masks the puts of that batch. */
static wide_status
add_batch_delete(visibility *v, const entry *e)
{
	/* within a column, column and version deletes mask what the family's kinds mask in a row */
	uint8_t type = e->type == ENTRY_DELETE_COLUMN	 ? ENTRY_DELETE_FAMILY
				   : e->type == ENTRY_DELETE_VERSION ? ENTRY_DELETE_FAMILY_VERSION
													 : e->type;

	if (e->seq < SEQ_BATCH)
		return WIDE_OK;
	TRY(array_grow((void **) &v->batch_deletes, v->nbatch_deletes, &v->batch_deletes_cap,
				   sizeof(row_delete)));
	v->batch_deletes[v->nbatch_deletes++] = (row_delete) {e->ts, e->seq, type};
	if (entry_is_family_delete(e))
		v->nbatch_row_deletes = v->nbatch_deletes;
	return WIDE_OK;
}

/* Returns true if a disregarded delete of the reader's batch masks this put of the batch. */
static bool
batch_delete_masks(const visibility *v, const entry *e)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE;

	if (e->seq < SEQ_BATCH)
		return false;
	visibility_row_masks(v->batch_deletes, v->nbatch_row_deletes, e, &covered, &exact);
	visibility_row_masks(v->batch_deletes + v->nbatch_row_deletes,
						 v->nbatch_deletes - v->nbatch_row_deletes, e, &covered, &exact);
	return covered != NO_DELETE || exact != NO_DELETE;
}

wide_status
visibility_add_delete(visibility *v, const entry *e)
{
	if (!visibility_exists(v, e))
		return WIDE_OK;
	if (delete_disregarded(v, e))
		return add_batch_delete(v, e);
	/* a newer family delete with the same or a newer timestamp masks more than this one */
	if (e->type == ENTRY_DELETE_FAMILY)
	{
		if (e->seq <= v->family_seq)
			return WIDE_OK;
		v->family_seq = e->seq;
	}
	TRY(array_grow((void **) &v->deletes, v->ndeletes, &v->deletes_cap, sizeof(row_delete)));
	v->deletes[v->ndeletes++] = (row_delete) {e->ts, e->seq, e->type};
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
	v->nbatch_deletes = v->nbatch_row_deletes;
	v->fresh = true;
}

/* Notes a column or version delete. */
static wide_status
add_column_delete(visibility *v, const entry *e)
{
	if (delete_disregarded(v, e))
		return add_batch_delete(v, e);
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

/* For a version that is alive and counts as one of the `versions`: applies TTL, time range and
 * filter. */
static visibility_verdict
verdict_alive(visibility *v, const entry *e)
{
	bool last = v->track.dead_end == SEQ_END;

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
	/* visibility_slow has ended the column at show_min */
	if (v->filtered && e->ts >= v->show_max && v->show_max != INT64_MAX)
		return last ? VISIBILITY_DONE : VISIBILITY_HIDE;
	return last ? VISIBILITY_LAST : VISIBILITY_SHOW;
}

static inline bool
inside(int64_t ts_min, int64_t ts_max, int64_t from, int64_t to)
{
	return ts_min >= from && (ts_max < to || to == INT64_MAX);
}

/* Without deletes and other entries of the column, a version can only have died by a floor, which
 * visibility_slow handles. */
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
	uint64_t covered = NO_DELETE, exact = NO_DELETE, from, to = SEQ_END;
	bool again;

	v->fresh = false;
	*out = VISIBILITY_HIDE;
	/* this entry and the rest of the column are hidden, and do not affect what has been shown */
	if (v->filtered && e->ts < v->show_min)
	{
		*out = VISIBILITY_DONE;
		return WIDE_OK;
	}
	if (e->type != ENTRY_PUT)
		return add_column_delete(v, e);
	if (v->opt.min_versions == 0 && e->ts < v->expire_before)
	{
		*out = VISIBILITY_DONE;
		return WIDE_OK;
	}
	if (e->seq < v->column_seq || (v->nbatch_deletes > 0 && batch_delete_masks(v, e)))
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
	from = point_in_time(e->seq);
	if (exact != NO_DELETE)
		to = point_in_time(exact);
	if (again && point_in_time(v->put_seq) < to)
		to = point_in_time(v->put_seq);
	else
		again = false;
	if (from >= v->track.dead_end)
	{
		to = expiry_version_end(e, to, v->floors, v->nfloors, v->ranks);
		TRY(again && exact == NO_DELETE ? cell_versions_extend(&v->track, from, to)
										: cell_versions_add(&v->track, from, to));
		if (to == SEQ_END)
			*out = verdict_alive(v, e);
	}
	v->any_put = true;
	v->put_ts = e->ts;
	v->put_seq = e->seq;
	if (*out == VISIBILITY_HIDE && v->track.dead_end == SEQ_END)
		*out = VISIBILITY_DONE;
	return WIDE_OK;
}

/* ------------------------------------------------------------ time limits */

/* Returns true if the timestamp is at or above an upper limit, where there is one. */
static inline bool
above(bool limited, int64_t limit, int64_t ts)
{
	return limited && limit != INT64_MAX && ts >= limit;
}

int
visibility_newer(const visibility *v, const entry *e, int64_t *since)
{
	/* the one that reaches the number of versions ends the column.  A delete of one version that
	 * has come hits nothing older. */
	int room = v->track.versions - v->track.nspans - 1;

	if (v->nfloors > 0 || v->track.stepped || v->ndeletes > 0 || v->nbatch_deletes > 0 ||
		v->column_seq != 0 || e->type != ENTRY_PUT)
		return 0;
	if (above(v->limited, v->ts_max, e->ts))
		*since = v->ts_max;
	else if (above(v->filtered, v->show_max, e->ts))
	{
		*since = v->show_max;
		if (v->max_out - v->out - 1 < room)
			room = v->max_out - v->out - 1;
	}
	else
		return 0;
	/* what has expired is hidden for that */
	if (v->expire_before > *since)
		*since = v->expire_before;
	return room > 0 ? room : 0;
}

wide_status
visibility_pass(visibility *v, uint64_t *seqs, int n, const entry *last)
{
	bool exists = false;
	int there = 0;

	v->fresh = false;
	for (int i = 0; i < n; i++)
	{
		exists = seqs[i] <= v->seq && (v->nexcluded == 0 || !visibility_excluded(v, seqs[i]));
		seqs[there] = seqs[i];
		there += exists;
	}
	TRY(cell_versions_add_alive(&v->track, seqs, there));
	v->nprotected += there;
	if (!above(v->limited, v->ts_max, last->ts))
		v->out += there;
	/* the timestamp of one before the last does not come again */
	if (exists)
	{
		v->put_ts = last->ts;
		v->put_seq = last->seq;
		v->any_put = true;
	}
	return WIDE_OK;
}

wide_status
visibility_operand(visibility *v, const entry *e, bool *counts)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE;

	*counts = false;
	if (!visibility_exists(v, e))
		return WIDE_OK;
	v->fresh = false;
	if (e->type != ENTRY_PUT)
		return add_column_delete(v, e);
	if (e->seq < v->deletes_seq)
		visibility_row_masks(v->deletes, v->ndeletes, e, &covered, &exact);
	*counts = e->seq >= v->column_seq && covered == NO_DELETE && exact == NO_DELETE &&
			  e->ts >= v->expire_before;
	return WIDE_OK;
}

visibility_verdict
visibility_version(visibility *v, int64_t ts)
{
	bool last;

	if ((v->filtered && ts < v->show_min) || (v->limited && ts < v->ts_min))
		return VISIBILITY_DONE;
	if (above(v->limited, v->ts_max, ts))
		return VISIBILITY_HIDE;
	last = ++v->out >= v->max_out;
	if (above(v->filtered, v->show_max, ts))
		return last ? VISIBILITY_DONE : VISIBILITY_HIDE;
	return last ? VISIBILITY_LAST : VISIBILITY_SHOW;
}
