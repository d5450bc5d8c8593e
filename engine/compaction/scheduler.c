/*
 * scheduler.c - background work: what is most urgent, and the calls of wide.h that do it
 * (wide_work, wide_flush, wide_tidy, wide_compact).
 *
 * Order of urgency:
 *  1. free memtables and remove files that nothing needs;
 *  2. flush;
 *  3. gather containers that are too many or mostly garbage (gather.c);
 *  4. compact the families that are furthest over their limits;
 *  5. when no file has been flushed or linked for some seconds, reclaim space (reclaim.c);
 *  6. write an edit for what only waits to be listed.
 *
 * Invariant: a family that gave nothing to do, or whose compaction failed, is not looked
 * at again by this process before its list of files changes or some seconds pass.  So one
 * damaged file does not block the other families.
 *
 * Locking: families are scored under LOCK_SET; memtables are switched under LOCK_COMMIT.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/wide.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/log_end.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/remove.h"
#include "engine/set/edit.h"
#include "engine/set/file_set.h"
#include "engine/set/horizon.h"
#include "engine/set/memtable.h"
#include "engine/set/snapshot.h"
#include "engine/compaction/compact.h"
#include "engine/compaction/flush.h"
#include "engine/compaction/gather.h"
#include "engine/compaction/output.h"
#include "engine/compaction/reclaim.h"
#include "engine/compaction/scheduler.h"
#include "engine/compaction/level.h"
#include "engine/compaction/pick.h"

#define LOOK_AGAIN_US ((int64_t) 10 * 1000000) /* six times as long after a failure */
#define GROUP_MOST	  1024					   /* families of one job */
#define GROUP_BYTES	  ((uint64_t) 32 << 20)	   /* of their files */
#define GROUP_SMALL	  ((uint64_t) 1 << 20)	   /* a family with more is compacted alone */
#define REST_US		  ((int64_t) 3 * 1000000)  /* without new files the store is at rest */

/* ----------------------------------------------------------------- choosing */

typedef struct score
{
	wide_family_id family;
	double urgent;	  /* from 1 on there is something to do */
	bool waits;		  /* files of large batches wait for flushed_seq */
	bool taken;		  /* a job has looked at it */
	uint64_t version; /* of the family's list of files */
	uint64_t bytes;	  /* of its files */
	uint32_t slots;	  /* files that a compaction may make, at most or nearly so */
} score;

/* A family that this process looked at lately without result; direct-mapped by family. */
struct work_local
{
	wide_family_id family;
	uint64_t version;
	int64_t until; /* not to be looked at before, unless the version changes */
	bool rest;	   /* it was looked at for space, too */
};

/* Where this process remembers the family. */
static struct work_local *
work_of(wide_db *db, wide_family_id family)
{
	return &db->work[family % db->seg->max_families];
}

/* Returns true if it is of no use to look at the family now. */
static bool
looked_at(wide_db *db, const family_slot *fs, int64_t now, bool rest)
{
	const struct work_local *l = work_of(db, fs->f.id);

	return l->family == fs->f.id && l->version == atomic_load(&fs->files_version) &&
		   l->rest >= rest && now < l->until && now >= l->until - 60 * LOOK_AGAIN_US;
}

/* Remembers that the family had nothing to do, or failed. */
static void
look_later(wide_db *db, const score *s, int64_t now, bool rest, wide_status st)
{
	struct work_local *l = work_of(db, s->family);

	l->family = s->family;
	l->rest = rest;
	l->version = s->version;
	l->until = now + (st == WIDE_END || st == WIDE_BUSY ? LOOK_AGAIN_US : 6 * LOOK_AGAIN_US);
}

/* Returns true if no file was made lately: a merge that can wait disturbs no writer, and new files
 * do not make it void at once. */
static bool
at_rest(wide_db *db)
{
	int64_t grown = atomic_load(&db->seg->set.grown), now = host_now(db);

	return now - grown >= REST_US || now < grown;
}

/* What all families are judged by. */
typedef struct measure
{
	int64_t now;
	uint64_t settled;	 /* deletes up to there can be dropped */
	uint32_t split_most; /* file_set_split_most */
	bool rest;
} measure;

/* Judges how urgent a compaction of the family is.  Requires: LOCK_SET. */
static void
score_family(wide_db *db, const family_slot *fs, const measure *by, score *s)
{
	const file_slot *files = layout_files(db);
	const wide_family_options *o = &fs->f.opt;
	uint64_t bytes[SET_LEVELS] = {0};
	uint32_t ready = 0, waiting = 0, spanning = 0;
	reclaim_tally space = {0}, ready_space = {0}; /* all files; those that can be merged */
	bool window = o->compaction == WIDE_COMPACT_WINDOW;
	bool split = window && fs->nfiles + OUTPUT_LANES <= by->split_most;

	s->slots = window ? OUTPUT_LANES : 2;
	s->family = fs->f.id;
	s->version = atomic_load(&fs->files_version);
	s->urgent = 0;
	s->bytes = 0;
	s->taken = s->waits = false;
	for (uint32_t i = fs->files; i != 0; i = files[i - 1].next)
	{
		const file_meta *f = &files[i - 1].meta;
		bool settled_file = file_settled(f, db->seg->set.flushed_seq);
		bool can = settled_file && !(f->flags & FILE_DAMAGED);

		if (settled_file && file_expired(f, o, by->now))
			s->urgent = 2;
		if (f->flags & FILE_DAMAGED)
			continue;
		bytes[f->level] += f->bytes;
		s->bytes += f->bytes;
		ready += f->level == 0 && can;
		waiting += f->level == 0 && !can;
		if (split && output_spans_windows(f, o))
		{
			spanning += can;
			s->waits |= !can;
		}
		if (by->rest)
			reclaim_add(&space, f, o, fs->floors, by->now, by->settled);
		if (by->rest && can)
			reclaim_add(&ready_space, f, o, fs->floors, by->now, by->settled);
		if (s->urgent < 1 && file_dead_weight(f, by->settled))
			s->urgent = 1;
	}
	if (window && (ready > 1 || spanning > 0) && s->urgent < 1)
		s->urgent = 1; /* pick_window decides */
	for (int l = 1; l < SET_LEVELS - 1 && !window; l++)
		if (bytes[l] > level_target(l) && s->urgent < (double) bytes[l] / (double) level_target(l))
			s->urgent = (double) bytes[l] / (double) level_target(l);
	if (!window && ready >= LEVEL0_FILES && s->urgent < (double) ready / LEVEL0_FILES)
		s->urgent = (double) ready / LEVEL0_FILES;
	s->waits |= ready < LEVEL0_FILES && waiting > 0 && ready + waiting >= LEVEL0_FILES;
	if (!by->rest || s->urgent >= 1)
		return;
	if ((!window && reclaim_level(&ready_space) >= 0) || reclaim_expired_file(&ready_space) != NULL)
		s->urgent = 1;
	else if (waiting > 0 && !window && reclaim_level(&space) >= 0)
		s->waits = true;
}

static int
compare_scores(const void *a, const void *b)
{
	double x = ((const score *) a)->urgent, y = ((const score *) b)->urgent;

	return (x < y) - (x > y);
}

/* Lists families with something to do, the most urgent first, in *out, which the caller frees.
 * *waits: some wait only for a flush. */
static wide_status
find_scores(wide_db *db, bool rest, score **out, int *n, bool *waits)
{
	uint32_t max = db->seg->catalog.nfamilies + 8;
	score *s = malloc(max * sizeof *s);
	measure by = {.now = snapshot_oldest_now(db), .settled = horizon_oldest(db), .rest = rest};
	wide_status st;

	*n = 0;
	*waits = false;
	*out = s;
	if (db->work == NULL)
		db->work = calloc(db->seg->max_families, sizeof *db->work);
	if (s == NULL || db->work == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	st = segment_lock(db, LOCK_SET);
	if (st != WIDE_OK)
		return st;
	if (db->seg->set.flushed_seq < by.settled)
		by.settled = db->seg->set.flushed_seq;
	by.split_most = file_set_split_most(db);
	for (uint32_t i = 0; i < db->seg->catalog.nfamilies && *n < (int) max; i++)
	{
		const family_slot *fs = &layout_families(db)[i];

		if (fs->f.id == 0 || fs->files == 0 || looked_at(db, fs, by.now, rest))
			continue;
		score_family(db, fs, &by, &s[*n]);
		*waits |= s[*n].waits;
		*n += s[*n].urgent >= 1;
	}
	segment_unlock(db, LOCK_SET);
	qsort(s, (size_t) *n, sizeof *s, compare_scores);
	return WIDE_OK;
}

/* Compacts the first of the n families, and, if it is small, as many other small ones as are worth
 * a job. */
static wide_status
compact_group(wide_db *db, score *s, int n, enum compact_mode mode)
{
	wide_family_id families[GROUP_MOST];
	score *taken[GROUP_MOST];
	wide_status results[GROUP_MOST], st;
	bool rest = mode == COMPACT_REST, found = false, corrupt = false;
	uint64_t bytes = 0;
	/* each family needs slots before it gives back those of its inputs */
	uint32_t room = file_set_room(db, true), slots = 0;
	int m = 0;

	for (int i = 0; i < n && m < GROUP_MOST && bytes <= GROUP_BYTES; i++)
	{
		if (s[i].taken || (m > 0 && (s[i].bytes > GROUP_SMALL || slots + s[i].slots > room)))
			continue;
		slots += s[i].slots;
		s[i].taken = true;
		taken[m] = &s[i];
		families[m++] = s[i].family;
		bytes += s[i].bytes;
		if (s[i].bytes > GROUP_SMALL)
			break;
	}
	if (m == 0)
		return WIDE_END;
	st = compact_families(db, families, m, mode, results);
	if (st == WIDE_POISONED || st == WIDE_INTERRUPTED)
		return st;
	for (int i = 0; i < m; i++)
	{
		/* if the job has failed, only the family at which it did is left out of the next one */
		bool job = st != WIDE_OK && st != WIDE_END && st != WIDE_BUSY;

		found |= job && results[i] == st;
		if (mode == COMPACT_CROWDED)
			continue;
		if (results[i] != WIDE_OK && (!job || results[i] == st || results[i] == WIDE_CORRUPT))
			look_later(db, taken[i], host_now(db), rest, results[i]);
		corrupt |= results[i] == WIDE_CORRUPT;
		if (job && i == m - 1 && !found)
			look_later(db, taken[0], host_now(db), rest, st);
	}
	return corrupt && (st == WIDE_OK || st == WIDE_END) ? WIDE_CORRUPT : st;
}

/* Does the most urgent compactions; WIDE_END: there is none. */
static wide_status
compact_some(wide_db *db, bool rest, bool *waits)
{
	score *s = NULL;
	int n;
	wide_status st;

	st = find_scores(db, rest, &s, &n, waits);
	for (int i = 0; i < n && st == WIDE_OK; i++)
	{
		if (s[i].taken)
			continue;
		st = compact_group(db, &s[i], n - i, rest ? COMPACT_REST : COMPACT_DUE);
		if (st == WIDE_OK)
			goto done;
		if (st == WIDE_END || st == WIDE_BUSY)
			st = WIDE_OK;
	}
	if (st == WIDE_OK)
		st = WIDE_END;
done:
	free(s);
	return st;
}

/* ------------------------------------------------------------------- edits */

/*
 * Sets how far the edit moves flushed_seq and restart_lsn.  When the active memtable is
 * empty and no other waits for its flush, all that was logged is in files or in the
 * catalog, so the log is needed from its present end only.
 */
static wide_status
settle_empty(wide_db *db, version_edit *edit)
{
	commit_state *commit = &db->seg->commit;
	memtable *t;
	bool empty;

	TRY(segment_lock(db, LOCK_COMMIT));
	t = &db->seg->memtables[commit->active];
	empty = atomic_load(&t->state) == MEMTABLE_ACTIVE && atomic_load(&t->cells) == 0 &&
			atomic_load(&t->applying) == 0;
	empty = empty && flush_oldest(db) < 0;
	if (empty)
	{
		t->start_lsn = log_end(db);
		edit->flushed_seq = t->start_lsn;
	}
	segment_unlock(db, LOCK_COMMIT);
	if (empty)
		edit->restart_lsn = horizon_restart_lsn(db, UINT32_MAX);
	return WIDE_OK;
}

/*
 * Writes an edit for what waits to be listed; WIDE_END: there is nothing.  always: also if only the
 * start of the log would move, and during replay if only flushed_seq would: up to there a later
 * replay inserts nothing, whatever this one has left out.
 */
static wide_status
write_edit(wide_db *db, bool always)
{
	version_edit edit = {.memtable = -1};
	bool dirty = file_set_dirty(db);

	if (!dirty && !always)
		return WIDE_END;
	TRY(settle_empty(db, &edit));
	if (!dirty && edit.restart_lsn <= db->seg->set.restart_lsn &&
		(!log_is_replayed(db) || edit.flushed_seq <= db->seg->set.flushed_seq))
		return WIDE_END;
	TRY(edit_apply(db, &edit));
	db->log.release(db->log.ctx, db->seg->set.restart_lsn);
	return WIDE_OK;
}

/* Makes the active memtable immutable unless it is empty; WIDE_FULL: no other one is free.
 * *number: that of the newest immutable memtable; 0: there is none. */
static wide_status
switch_active(wide_db *db, uint64_t *number)
{
	commit_state *commit = &db->seg->commit;
	memtable *t;
	wide_status st = WIDE_OK;

	*number = 0;
	TRY(segment_lock(db, LOCK_COMMIT));
	t = &db->seg->memtables[commit->active];
	if (atomic_load(&t->cells) > 0 || atomic_load(&t->applying) > 0)
		st = memtable_switch(db);
	for (int i = 0; i < WIDE_MEMTABLES; i++)
		if (atomic_load(&db->seg->memtables[i].state) == MEMTABLE_IMMUTABLE &&
			db->seg->memtables[i].number > *number)
			*number = db->seg->memtables[i].number;
	segment_unlock(db, LOCK_COMMIT);
	return st;
}

/* Returns true if an immutable memtable with that number or a lower one waits for its flush.  The
 * result of flush_oldest does not tell: without a lock it may have got a new number meanwhile. */
static bool
unflushed(wide_db *db, uint64_t number)
{
	for (int i = 0; i < WIDE_MEMTABLES; i++)
		if (atomic_load(&db->seg->memtables[i].state) == MEMTABLE_IMMUTABLE &&
			db->seg->memtables[i].number <= number)
			return true;
	return false;
}

/* -------------------------------------------------------------- calls of wide.h */

/* --------------------------------------------------------- room for a flush */

/* Lists the families with several files, those first of which a merge of few bytes saves many, in
 * *out, which the caller frees. */
static wide_status
find_crowded(wide_db *db, score **out, int *n)
{
	const file_slot *files = layout_files(db);
	uint32_t max = db->seg->catalog.nfamilies + 8;
	score *s = malloc(max * sizeof *s);

	*n = 0;
	*out = s;
	if (s == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	TRY(segment_lock(db, LOCK_SET));
	for (uint32_t i = 0; i < db->seg->catalog.nfamilies && *n < (int) max; i++)
	{
		const family_slot *fs = &layout_families(db)[i];
		uint64_t bytes = 0;

		if (fs->f.id == 0 || fs->nfiles < 2)
			continue;
		for (uint32_t k = fs->files; k != 0; k = files[k - 1].next)
			bytes += files[k - 1].meta.bytes;
		s[(*n)++] = (score) {.family = fs->f.id,
							 .urgent = (fs->nfiles - 1) / (double) (bytes + 16384),
							 .version = atomic_load(&fs->files_version),
							 .bytes = bytes,
							 .slots = 2};
	}
	segment_unlock(db, LOCK_SET);
	qsort(s, (size_t) *n, sizeof *s, compare_scores);
	return WIDE_OK;
}

/* Merges families so that there are fewer files; WIDE_END: no family can have fewer. */
static wide_status
compact_crowded(wide_db *db)
{
	score *s = NULL;
	int n;
	wide_status st;

	st = find_crowded(db, &s, &n);
	for (int i = 0; i < n && st == WIDE_OK; i++)
	{
		if (s[i].taken)
			continue;
		st = compact_group(db, &s[i], n - i, COMPACT_CROWDED);
		if (st == WIDE_OK)
			goto done;
		if (st != WIDE_POISONED && st != WIDE_INTERRUPTED)
			st = WIDE_OK; /* another family may help */
	}
	if (st == WIDE_OK)
		st = WIDE_END;
done:
	free(s);
	return st;
}

/* Flushes a memtable, after it has made room in the table of files if need be. */
static wide_status
flush_with_room(wide_db *db)
{
	wide_status st;

	while ((st = flush_one(db, false)) == WIDE_FULL)
	{
		bool did = false;

		/* files of dropped families are removed after an edit only */
		if (db->seg->set.npending > 0 && (st = write_edit(db, false)) != WIDE_OK && st != WIDE_END)
			return st;
		TRY(remove_unneeded(db, &did));
		if (did)
			continue;
		st = compact_crowded(db);
		if (st == WIDE_END)
			return flush_one(db, true);
		TRY(st);
	}
	return st;
}

wide_status
scheduler_make_room(wide_db *db)
{
	bool did = false;
	wide_status st = flush_with_room(db);

	if (st == WIDE_OK || st == WIDE_END || st == WIDE_BUSY)
		TRY(remove_unneeded(db, &did));
	return did ? WIDE_OK : st;
}

/* Gathers small containers; after a failure, and if it was of no use, not for some time. */
static wide_status
gather_unless_failed(wide_db *db, bool rest)
{
	int64_t now = host_now(db);
	wide_status st;

	if (now < db->gather_after && now >= db->gather_after - 6 * LOOK_AGAIN_US)
		return WIDE_END;
	st = gather_some(db, rest);
	if (st != WIDE_OK && st != WIDE_END && st != WIDE_POISONED && st != WIDE_INTERRUPTED)
		db->gather_after = now + 6 * LOOK_AGAIN_US;
	return st == WIDE_BUSY ? WIDE_END : st;
}

/*
 * Does one unit of work; WIDE_END: there is none.  rest: including what waits for rest.
 * collecting: including the removal of files.
 */
static wide_status
work_unit(wide_db *db, bool rest, bool collecting)
{
	bool did = false, waits = false;
	uint64_t number;
	wide_status collected = WIDE_OK, st;

	TRY(segment_check(db));
	if (collecting)
		collected = remove_unneeded(db, &did);
	if (did)
		return WIDE_OK;
	/* a file that cannot be removed must not keep memtables from being flushed */
	st = flush_with_room(db);
	if (st != WIDE_END && st != WIDE_BUSY)
		return st;
	if (collected != WIDE_OK)
		return remove_unneeded(db, &did); /* for its error text */
	st = gather_unless_failed(db, rest);
	if (st == WIDE_END)
		st = compact_some(db, rest, &waits);
	if (st != WIDE_END)
		return st;
	/* linked files can be compacted only when flushed_seq has passed them */
	if (waits && switch_active(db, &number) == WIDE_OK && number != 0)
		return flush_with_room(db);
	return write_edit(db, waits);
}

wide_status
wide_work(wide_db *db)
{
	return work_unit(db, at_rest(db), true);
}

/* Returns true if some memtable waits for its flush, or for readers to end. */
static bool
memtable_waits(wide_db *db)
{
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		uint32_t state = atomic_load(&db->seg->memtables[i].state);

		if (state == MEMTABLE_IMMUTABLE || state == MEMTABLE_FLUSHED)
			return true;
	}
	return false;
}

/* Returns the first moment after now at which a file of the family expires as a whole; INT64_MAX:
 * none.  Requires: LOCK_SET. */
static int64_t
next_expiry(wide_db *db, const family_slot *fs, int64_t now)
{
	const file_slot *files = layout_files(db);
	const wide_family_options *o = &fs->f.opt;
	int64_t next = INT64_MAX;

	if (o->ttl_us <= 0 || o->min_versions > 0)
		return next;
	for (uint32_t i = fs->files; i != 0; i = files[i - 1].next)
	{
		int64_t ts = files[i - 1].meta.ts_max;

		/* file_expired: from this moment on */
		if (ts < next - o->ttl_us - 1 && ts + o->ttl_us + 1 > now)
			next = ts + o->ttl_us + 1;
	}
	return next;
}

int64_t
wide_work_due(wide_db *db)
{
	/* as find_scores: an old fixed time of a snapshot keeps files from expiring */
	int64_t now = snapshot_oldest_now(db), grown = atomic_load(&db->seg->set.grown);
	int64_t due = INT64_MAX, real = host_now(db);

	if (memtable_waits(db) || segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	if (db->seg->set.dead_first != 0)
		due = 0;
	for (uint32_t i = 0; i < db->seg->catalog.nfamilies && due > 0; i++)
	{
		const family_slot *fs = &layout_families(db)[i];
		int64_t next = fs->f.id != 0 && fs->files != 0 ? next_expiry(db, fs, now) : INT64_MAX;

		if (next < INT64_MAX && next - now < due)
			due = next - now;
	}
	segment_unlock(db, LOCK_SET);
	/* containers that could not be gathered */
	if (db->gather_after > real && db->gather_after - real < due)
		due = db->gather_after - real;
	/* at_rest; the clock may be set back */
	if (real >= grown && real - grown < REST_US && REST_US - (real - grown) < due)
		due = REST_US - (real - grown);
	return due;
}

/* Waits up to 20 ms for the work of another process, or for readers. */
static wide_status
wait_work(wide_db *db)
{
	uint32_t seen = atomic_load(&db->seg->set.work_word);

	if (host_interrupted(db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	return segment_wait(db, &db->seg->set.work_word, seen, 20, WIDE_WAIT_WORK);
}

/* Flushes all that is in memtables when it is called. */
static wide_status
flush_memtables(wide_db *db)
{
	uint64_t number;
	wide_status st;

	TRY(segment_check(db));
	/* the switch needs a free memtable: flush until there is one */
	while ((st = switch_active(db, &number)) == WIDE_FULL)
	{
		st = scheduler_make_room(db);
		TRY(st == WIDE_END || st == WIDE_BUSY ? wait_work(db) : st);
	}
	if (st != WIDE_OK)
		return st;
	while (number != 0 && unflushed(db, number))
	{
		st = flush_with_room(db);
		if (st == WIDE_BUSY)
			TRY(wait_work(db));
		else if (st != WIDE_OK && st != WIDE_END)
			return st;
	}
	return WIDE_OK;
}

wide_status
wide_flush(wide_db *db)
{
	wide_status st;

	TRY(flush_memtables(db));
	st = write_edit(db, true);
	return st == WIDE_END ? WIDE_OK : st;
}

/* Returns a number that rises with each memtable that becomes active. */
static wide_status
newest_memtable(wide_db *db, uint64_t *number)
{
	TRY(segment_lock(db, LOCK_COMMIT));
	*number = db->seg->commit.memtable_number;
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

wide_status
wide_tidy(wide_db *db)
{
	/* what waits to be listed is listed with the first edit: one sync less than by wide_flush */
	wide_status st = flush_memtables(db);
	/* the worker removes files: that takes longer than leaving them out of the set */
	bool worker = host_worker_works(db), tried = false;
	uint64_t begun = 0;

	if (st == WIDE_OK)
		st = newest_memtable(db, &begun);
	while (st == WIDE_OK)
	{
		uint64_t now = begun;

		TRY(newest_memtable(db, &now));
		/* reclaiming space would not end while other processes write */
		st = work_unit(db, now == begun, !worker);
		if (worker)
			host_wake_worker(db);
		/* files that are out of the manifest still take room */
		if ((st == WIDE_NOSPACE || st == WIDE_FULL) && !tried)
		{
			bool did;

			tried = true;
			st = remove_unneeded(db, &did);
		}
	}
	return st == WIDE_END ? WIDE_OK : st;
}

wide_status
wide_compact(wide_db *db, wide_family_id family)
{
	wide_family f;
	wide_status st;
	bool did;

	TRY(segment_check(db));
	if (!catalog_family(db, family, &f, NULL))
		return status_fail(WIDE_NOTFOUND, "family %u does not exist", family);
	TRY(wide_flush(db));
	while ((st = compact_family(db, family, COMPACT_ALL)) == WIDE_BUSY)
		TRY(wait_work(db));
	if (st == WIDE_OK)
		(void) remove_unneeded(db, &did);
	/* lists what the compaction has removed from the catalog (catalog_retire) */
	if (st == WIDE_OK || st == WIDE_END)
		st = write_edit(db, false);
	return st == WIDE_END ? WIDE_OK : st;
}
