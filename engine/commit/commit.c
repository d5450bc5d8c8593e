/*
 * commit.c - a batch becomes part of the store: prepare, finish, publish.
 *
 * prepare does everything that can fail: it builds the payload and reserves memtable space, or
 * writes files for a large batch.  finish, under LOCK_COMMIT, takes the timestamp, appends the
 * record (its LSN is the sequence number), and takes the reserved memory and a place in the ring of
 * commits.  Then, without a lock and in parallel with other commits, it inserts the cells.
 * applied_seq rises over the applied entries of the ring in order.  publish waits for it and raises
 * visible_seq.
 *
 * Invariants:
 *  - visible_seq is below the first batch that is awaited and not durable.
 *  - used(active) + reserved <= capacity of the active memtable, at any time, so that finish never
 *    lacks memory (reserve.c).
 *  - A batch's cells are in the memtable that was active when its record was appended; `applying`
 *    tells the flush whether that memtable is complete.
 *  - Entries [tail, head) of the ring are appended and not yet known to be applied; applied_seq is
 *    the seq of the entry before the tail.
 *  - The records of an external batch may be older than the memtable that its cells get into:
 *    start_lsn is lowered to them (see horizon_restart_lsn).
 *  - Between append and the end of application the process is in a critical section: its end
 *    there is the end of the segment, as no other process could complete the batch.
 *
 * Locking: LOCK_COMMIT is held over log->append and over catalog and file changes, which take
 * LOCK_SET and LOCK_CATALOG inside.  Cells are inserted and batches published without a lock.
 */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#include "engine/commit/commit.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/catalog_delta.h"
#include "engine/set/file_set.h"
#include "engine/set/memtable.h"
#include "engine/batch/avoid.h"
#include "engine/batch/batch.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/bulk.h"
#include "engine/batch/normalise.h"
#include "engine/batch/op_list.h"
#include "engine/batch/payload.h"
#include "engine/batch/spill.h"
#include "engine/commit/reserve.h"

#define CHUNK_BYTES ((size_t) WIDE_LOG_RECORD_MAX - RECORD_DATA_HEAD)
#define LEVEL0_MANY 20 /* level-0 files of a family from which on writers compact it */

int64_t
commit_take_timestamp(wide_db *db, const avoid_times *avoid)
{
	commit_state *commit = &db->seg->commit;
	int64_t now = host_now(db);
	int64_t ts = now > commit->last_ts ? now : commit->last_ts + 1;

	commit->last_ts = avoid != NULL ? avoid_next(avoid, ts) : ts;
	return commit->last_ts;
}

/* A timestamp beyond the commit timestamp was assigned: later commits get newer ones. */
static wide_status
note_timestamp(wide_db *db, int64_t ts)
{
	commit_state *commit = &db->seg->commit;

	TRY(segment_lock(db, LOCK_COMMIT));
	if (ts > commit->last_ts)
		commit->last_ts = ts;
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

/* ----------------------------------------------------------------- prepare */

/* The entries of a normalised batch, for bulk_write; arg is the norm. */
static wide_status
next_entry(void *arg, wide_family_id *family, entry *e)
{
	norm_op o;

	TRY(normalise_next(arg, &o));
	*family = o.family;
	*e = o.e;
	return WIDE_OK;
}

/*
 * A batch that does not get memory: writes its cells as files, with a timestamp taken now for
 * automatic ones, and makes a payload that links them.
 */
static wide_status
prepare_files(wide_batch *b, const op_sorted *sorted, wide_bytes catalog)
{
	wide_db *db = b->db;
	uint8_t tail[2 + 8] = {0}; /* no bytes of memtable, no cells, the timestamp */
	norm *n;
	helper *a;
	wide_status st;

	TRY(segment_lock(db, LOCK_COMMIT));
	b->prepared.files_ts = commit_take_timestamp(db, NULL);
	segment_unlock(db, LOCK_COMMIT);
	b->prepared.automatic = b->prepared.avoids = false;
	b->prepared.need = b->prepared.cells = 0;
	TRY(normalise_new(b, sorted, b->prepared.files_ts, &n));
	a = helper_new(); /* NULL: the work is done without a thread */
	st = bulk_write(db, next_entry, n, b->files_unlogged, b->ops.ts_min, b->ops.ts_max, a,
					&b->prepared.files, &b->prepared.nfiles);
	helper_free(a);
	b->prepared.files_newest = normalise_newest(n);
	normalise_free(n);
	if (st == WIDE_OK && b->prepared.nfiles > 0 &&
		(st = file_set_reserve(db, b->prepared.nfiles)) != WIDE_OK)
		bulk_discard(db, b->prepared.files, b->prepared.nfiles);
	if (st != WIDE_OK)
	{
		b->prepared.nfiles = 0;
		return st;
	}
	if ((st = note_timestamp(db, b->prepared.files_newest)) != WIDE_OK)
		return st;
	for (int i = 0; i < b->prepared.nfiles; i++)
		b->prepared.cells += b->prepared.files[i].cells;
	TRY(payload_begin(&b->prepared.payload, catalog, b->prepared.files, b->prepared.nfiles));
	put_u64le(tail + 2, (uint64_t) b->prepared.files_newest);
	TRY(buffer_append(&b->prepared.payload, tail, sizeof tail));
	return b->files_unlogged ? WIDE_OK : bulk_log(db, b->prepared.files, b->prepared.nfiles);
}

/*
 * Appends the payload as DATA records.
 * Requires: LOCK_COMMIT, unless the batch is external: then it is taken for each record.
 */
static wide_status
append_chunks(wide_batch *b)
{
	wide_db *db = b->db;
	bool external = b->external.id != 0;

	b->prepared.nchunks = 0;
	b->prepared.first_lsn = 0;
	for (size_t at = 0; at < b->prepared.payload.len; at += CHUNK_BYTES)
	{
		size_t n = b->prepared.payload.len - at < CHUNK_BYTES ? b->prepared.payload.len - at
															  : CHUNK_BYTES;
		uint8_t head[RECORD_DATA_HEAD];
		wide_bytes parts[2] = {{head, sizeof(head)}, {b->prepared.payload.data + at, n}};
		uint64_t lsn;
		wide_status st;

		payload_record_data(head, b->prepared.nchunks, b->prepared.first_lsn);
		if (external)
		{
			/* not interrupted: a second attempt would log the whole batch after a part of it */
			TRY(segment_lock(db, LOCK_COMMIT));
			if (b->prepared.nchunks == 0)
			{
				/* before the record exists, so that no flush releases the log */
				b->prepared.data_start = db->log.end(db->log.ctx);
				if (atomic_load(&db->slot->prepare_lsn) == 0)
					atomic_store(&db->slot->prepare_lsn, b->prepared.data_start);
				atomic_store(&db->slot->external, b->external.id);
			}
		}
		st = db->log.append(db->log.ctx, external, parts, 2, &lsn);
		if (external)
			segment_unlock(db, LOCK_COMMIT);
		if (st != WIDE_OK)
		{
			if (external)
				wide_poison(db, "the log could not be written");
			return st;
		}
		if (b->prepared.nchunks++ == 0)
			b->prepared.first_lsn = lsn;
	}
	return WIDE_OK;
}

/* Without a background worker, writers keep the number of level-0 files in bounds. */
static void
relieve(wide_batch *b)
{
	wide_db *db = b->db;

	if (host_worker_works(db))
		return;
	for (int i = 0; i < b->ops.nfamilies; i++)
		if (file_set_level0_files(db, b->ops.families[i]) > LEVEL0_MANY)
		{
			(void) wide_work(db);
			return;
		}
}

/*
 * Returns true if the batch is known to need more memory than `most` without looking at its cells:
 * it was spilled, or its list is larger and all of it counts (in key order, no key twice, nothing
 * undone).
 */
static bool
too_large(const wide_batch *b, const op_sorted *sorted, uint64_t most)
{
	const op_list *l = b->ops.list;

	return b->spill.nfiles > 0 ||
		   (l != NULL && sorted->nflat == 0 && b->ops.undone.n == 0 && l->end - l->start > most);
}

/*
 * Appends the cells to the payload.
 * Returns: *full: they need more than `most` bytes of memtable; *is_sorted: sorted was made.
 */
static wide_status
prepare_cells(wide_batch *b, uint64_t most, op_sorted *sorted, bool *is_sorted, bool *full)
{
	wide_status st = WIDE_FULL;

	/* what is left in memory is sorted while the helper thread writes the last lists */
	*is_sorted = b->spill.jobs != NULL;
	if (*is_sorted)
		TRY(op_list_sort(b->ops.list, &b->ops.undone, sorted));
	TRY(spill_settle(b));
	if (!*is_sorted)
	{
		st = payload_cells_in_order(b, &b->prepared.payload, most);
		if (st != WIDE_END && st != WIDE_FULL)
			return st;
		TRY(op_list_sort(b->ops.list, &b->ops.undone, sorted));
		*is_sorted = true;
	}
	*full = st == WIDE_FULL || too_large(b, sorted, most);
	if (*full)
		return WIDE_OK;
	st = payload_cells(b, sorted, &b->prepared.payload, most);
	*full = st == WIDE_FULL;
	return *full ? WIDE_OK : st;
}

/* Lists the timestamps that the commit timestamp must not be.  It will be newer than the last. */
static wide_status
prepare_avoid(wide_batch *b)
{
	buffer key = {0};
	payload p;
	int64_t last = wide_timestamp_newest(b->db), now = host_now(b->db);
	wide_status st;

	TRY(payload_open((wide_bytes) {b->prepared.payload.data, b->prepared.payload.len}, &p));
	/* wide_timestamp_lower may lower it to the clock meanwhile */
	st = payload_avoid(&p, last < now ? last : now, &key, &b->prepared.avoid);
	buffer_free(&key);
	return st;
}

/* Makes the payload, and reserves memory for its cells or writes them as files. */
static wide_status
prepare_payload(wide_batch *b, wide_bytes catalog)
{
	wide_db *db = b->db;
	uint64_t most = db->seg->memtables[0].capacity / 2;
	op_sorted sorted = {0};
	bool is_sorted = false, full = false;
	wide_status st;

	TRY(payload_begin(&b->prepared.payload, catalog, NULL, 0));
	TRY_GOTO(prepare_cells(b, most, &sorted, &is_sorted, &full));
	if (b->for_later)
	{
		b->prepared.need = 0;
		st = !full ? WIDE_OK
				   : status_fail(WIDE_LIMIT,
								 "the changes need more than half a memtable, %llu bytes, "
								 "or were written to temporary files",
								 (unsigned long long) most);
		goto done;
	}
	if (!full)
	{
		st = b->prepared.avoids ? prepare_avoid(b) : WIDE_OK;
		if (st == WIDE_OK)
			st = reserve_memory(db, b->prepared.need);
		if (st != WIDE_OK)
			b->prepared.need = 0;
		/* readers hold all memory; they may wait for row locks of this very transaction */
		full = st == WIDE_FULL;
	}
	if (full)
	{
		if (!is_sorted)
			TRY_GOTO(op_list_sort(b->ops.list, &b->ops.undone, &sorted));
		st = prepare_files(b, &sorted, catalog);
	}
done:
	op_list_sorted_free(&sorted);
	return st;
}

wide_status
wide_batch_prepare(wide_batch *b, uint64_t external)
{
	buffer catalog = {0};
	wide_status st;

	TRY(segment_check(b->db));
	if (b->phase != BATCH_OPEN)
		return status_fail(WIDE_INVALID, "the transaction is prepared already");
	b->phase = BATCH_PREPARED;
	b->prepared.files_ts = b->prepared.files_newest = INT64_MIN;
	b->prepared.avoid.n = 0;
	if (wide_batch_empty(b))
		return WIDE_OK;
	relieve(b);
	b->external.note_rows = external != 0;
	if (batch_changes_catalog(b))
		TRY_GOTO(catalog_delta_encode(b->delta, &catalog));
	TRY_GOTO(prepare_payload(b, (wide_bytes) {catalog.data, catalog.len}));
	/* which rows these concern is not known: any may be meant */
	if (b->prepared.nfiles > 0 || catalog.len > 0)
		b->external.rows = UINT64_MAX;
	if (external != 0)
	{
		b->external.id = external;
		TRY_GOTO(append_chunks(b));
		injection_point("prepare-logged");
	}
done:
	buffer_free(&catalog);
	if (st == WIDE_INTERRUPTED)
	{
		/* nothing is reserved or, of the batch itself, logged yet: it may be prepared again */
		batch_discard_files(b);
		b->phase = BATCH_OPEN;
		b->prepared.payload.len = 0;
	}
	return st;
}

/* ------------------------------------------------------------------ finish */

void
commit_catalog_and_files(wide_db *db, wide_bytes catalog, file_meta *files, int nfiles,
						 uint64_t seq)
{
	if (catalog.len > 0)
		(void) catalog_apply(db, catalog, seq, false); /* a failure poisons */
	for (int i = 0; i < nfiles; i++)
		files[i].global_seq = files[i].seq_min = files[i].seq_max = seq;
	if (nfiles > 0)
		file_set_link(db, files, nfiles);
}

/* Logs what is not logged yet; under LOCK_COMMIT.  *lsn: the batch's sequence number. */
static wide_status
finish_log(wide_batch *b, int64_t commit_ts, uint64_t *lsn)
{
	wide_log *log = &b->db->log;
	uint8_t head[RECORD_FINISH_BYTES];

	if (b->external.id == 0 && b->prepared.payload.len + RECORD_BATCH_HEAD <= WIDE_LOG_RECORD_MAX)
	{
		wide_bytes parts[2] = {{head, RECORD_BATCH_HEAD},
							   {b->prepared.payload.data, b->prepared.payload.len}};

		payload_record_batch(head, commit_ts);
		return log->append(log->ctx, false, parts, 2, lsn);
	}
	if (b->external.id == 0)
		TRY(append_chunks(b));
	payload_record_finish(head, b->prepared.nchunks, b->prepared.first_lsn, commit_ts,
						  b->prepared.payload.len);
	return log->append(log->ctx, false, &(wide_bytes) {head, sizeof(head)}, 1, lsn);
}

/*
 * Returns true if an external transaction that was decided later than this one (its commit record
 * is later) has been finished before and may have written the same row.  Recovery would finish the
 * two in the other order, as long as neither FINISH record is durable.  Under LOCK_COMMIT.
 */
static bool
out_of_order(const commit_state *commit, const wide_batch *b)
{
	uint64_t first = commit->external_head > EXTERNAL_RING ? commit->external_head - EXTERNAL_RING
														   : 0;

	if (b->external.decided == 0)
		return false;
	for (uint64_t i = commit->external_head; i > first; i--)
	{
		const external_commit *e = &commit->external[(i - 1) % EXTERNAL_RING];

		/* finished before this one was decided, so decided before it; so are all that follow here
		 */
		if (e->seq < b->external.decided)
			break;
		if (e->decided > b->external.decided && (e->rows & b->external.rows) != 0)
			return true;
	}
	return false;
}

/* Records an external commit, for snapshots that see it as running and for out_of_order; under
 * LOCK_COMMIT. */
static void
note_external(commit_state *commit, const wide_batch *b, uint64_t seq)
{
	external_commit *e = &commit->external[commit->external_head % EXTERNAL_RING];

	if (commit->external_head >= EXTERNAL_RING)
	{
		atomic_store(&commit->external_evicted_seq, e->seq);
		if (e->xid > atomic_load(&commit->external_evicted))
			atomic_store(&commit->external_evicted, e->xid);
	}
	*e = (external_commit) {.seq = seq,
							.xid = b->external.id,
							.decided = b->external.decided,
							.rows = b->external.rows};
	commit->external_head++;
}

/* Records that transactions of the host have ended since the batch before, for snapshots from
 * before that; under LOCK_COMMIT. */
static void
note_ended(wide_db *db, uint64_t seq)
{
	commit_state *commit = &db->seg->commit;
	uint64_t latest = 0;
	uint64_t ended = db->host.ended != NULL ? db->host.ended(db->host.ctx, &latest) : 0;
	uint64_t head = commit->ended_head;

	if (ended == 0 || (head > 0 && commit->ended[(head - 1) % ENDED_RING].ended >= ended))
		return;
	commit->ended[head % ENDED_RING] = (ended_mark) {seq, ended, latest};
	commit->ended_head = head + 1;
}

/* Raises applied_seq as far as the ring allows; under LOCK_COMMIT. */
static void
advance(wide_db *db)
{
	commit_state *commit = &db->seg->commit;
	uint64_t seq = 0;

	while (commit->ring_tail < commit->ring_head)
	{
		commit_slot *c = &commit->ring[commit->ring_tail % COMMIT_RING];

		if (atomic_load(&c->applied) == 0)
			break;
		seq = c->seq;
		commit->ring_tail++;
	}
	if (seq != 0)
		atomic_store(&commit->applied_seq, seq);
}

/* Takes LOCK_COMMIT when the ring has a free place.  Is not interrupted. */
static wide_status
lock_ring(wide_db *db)
{
	commit_state *commit = &db->seg->commit;

	for (;;)
	{
		uint64_t oldest;

		TRY(segment_lock(db, LOCK_COMMIT));
		if (commit->ring_head - commit->ring_tail < COMMIT_RING)
			return WIDE_OK;
		/* applied_seq reaches it when it leaves the ring */
		oldest = commit->ring[commit->ring_tail % COMMIT_RING].seq;
		segment_unlock(db, LOCK_COMMIT);
		TRY(wide_wait_applied(db, oldest));
	}
}

/* What a batch has taken when its record is appended. */
typedef struct finish_place
{
	uint64_t lsn;	   /* the batch's sequence number */
	int64_t commit_ts; /* for cells with automatic timestamps */
	memtable_handle m; /* the memtable that its cells get into */
	uint64_t at;	   /* where its memory begins in it */
	commit_slot *slot; /* in the ring */
} finish_place;

/* The record is appended: takes the batch's place in everything shared; under LOCK_COMMIT. */
static void
finish_take(wide_batch *b, wide_bytes catalog, finish_place *p)
{
	wide_db *db = b->db;
	commit_state *commit = &db->seg->commit;
	memtable *t;

	memtable_at(db, commit->active, &p->m);
	t = p->m.t;
	commit->logged_seq = p->lsn;
	if (b->awaited || (b->external.id != 0 && out_of_order(commit, b)))
		atomic_store(&commit->awaited_seq, p->lsn);
	note_ended(db, p->lsn);
	p->slot = &commit->ring[commit->ring_head++ % COMMIT_RING];
	p->slot->seq = p->lsn;
	atomic_store(&p->slot->applied, 0);
	p->at = atomic_load(&t->used);
	atomic_store(&t->used, p->at + b->prepared.need);
	commit->reserved -= b->prepared.need;
	atomic_fetch_add(&t->applying, 1);
	if (b->external.id != 0)
	{
		note_external(commit, b, p->lsn);
		if (b->prepared.data_start < t->start_lsn)
			t->start_lsn = b->prepared.data_start;
	}
	commit_catalog_and_files(db, catalog, b->prepared.files, b->prepared.nfiles, p->lsn);
	/* the files are linked: whatever moves the beginning of the log also lists them */
	if (b->external.id == 0 && b->prepared.nfiles > 0)
		atomic_store(&db->slot->prepare_lsn, 0);
}

/* Takes the timestamp, appends the record, and takes the batch's place.  A failure to write the log
 * poisons the store. */
static wide_status
finish_append(wide_batch *b, wide_bytes catalog, finish_place *p)
{
	wide_db *db = b->db;

	TRY(lock_ring(db));
	p->commit_ts = b->prepared.automatic ? commit_take_timestamp(db, &b->prepared.avoid)
										 : b->prepared.files_newest;
	if (finish_log(b, p->commit_ts, &p->lsn) != WIDE_OK)
	{
		segment_unlock(db, LOCK_COMMIT);
		wide_poison(db, "the log could not be written");
		return WIDE_POISONED;
	}
	injection_point("finish-logged");
	finish_take(b, catalog, p);
	b->phase = BATCH_FINISHED;
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

/* The cells are inserted, the last one ends at `end`: marks the batch as applied. */
static wide_status
finish_applied(wide_batch *b, const finish_place *p, uint64_t end)
{
	wide_db *db = b->db;
	commit_state *commit = &db->seg->commit;
	memtable *t = p->m.t;

	atomic_store(&p->slot->applied, 1);
	TRY(segment_lock(db, LOCK_COMMIT));
	/* reserved for the tallest nodes; the rest goes back if no batch has taken memory behind it */
	if (atomic_load(&t->used) == p->at + b->prepared.need)
		atomic_store(&t->used, b->prepared.need > 0 ? end : p->at);
	atomic_fetch_sub(&t->applying, 1);
	advance(db);
	segment_unlock(db, LOCK_COMMIT);
	/* a process that waits counts itself before it looks at applied_seq for the last time */
	if (atomic_load(&commit->applied_waiters) > 0)
		segment_wake(db, &commit->applied_word);
	return WIDE_OK;
}

wide_status
wide_batch_finish(wide_batch *b, uint64_t *lsn)
{
	wide_db *db = b->db;
	finish_place place;
	payload p;
	uint64_t end;
	wide_status st;

	TRY(segment_check(db));
	if (b->phase != BATCH_PREPARED)
		return status_fail(WIDE_INVALID, "the transaction is not prepared");
	if (b->prepared.payload.len == 0)
	{
		b->phase = BATCH_FINISHED;
		*lsn = atomic_load(&db->seg->commit.visible_seq);
		return WIDE_OK;
	}
	TRY(payload_open((wide_bytes) {b->prepared.payload.data, b->prepared.payload.len}, &p));
	segment_enter_critical(db);
	TRY_GOTO(finish_append(b, p.catalog, &place));
	*lsn = place.lsn;
	injection_point("finish-appended");
	memtable_touch(&place.m, place.at, b->prepared.need);
	/* the cells are in the files, if there are any */
	end = place.at;
	st = b->prepared.nfiles > 0 ? WIDE_OK
								: payload_apply(&p, &place.m, place.at, place.lsn, place.commit_ts,
												&b->row.ukey, &end);
	if (st != WIDE_OK)
	{
		wide_poison(db, "a batch could not be applied");
		st = WIDE_POISONED;
		goto done;
	}
	injection_point("finish-applied");
	TRY_GOTO(finish_applied(b, &place, end));
	counter_add(db, COUNTER_COMMITS, 1);
	counter_add(db, COUNTER_CELLS_WRITTEN, b->prepared.cells);
	counter_add(db, COUNTER_LOG_BYTES, b->prepared.payload.len);
	/* the log is kept until the manifest lists the batch's files */
	if (b->prepared.nfiles > 0)
		host_wake_worker(db);
done:
	segment_leave_critical(db);
	return st;
}

/* ----------------------------------------------------------------- publish */

wide_status
wide_wait_applied(wide_db *db, uint64_t lsn)
{
	commit_state *commit = &db->seg->commit;

	for (int spin = 0; atomic_load(&commit->applied_seq) < lsn; spin++)
	{
		uint32_t seen = atomic_load(&commit->applied_word);
		wide_status st;

		TRY(segment_check(db));
		if (spin < 20)
		{
			sched_yield();
			continue;
		}
		atomic_fetch_add(&commit->applied_waiters, 1);
		st = atomic_load(&commit->applied_seq) >= lsn
				 ? WIDE_OK
				 : segment_wait(db, &commit->applied_word, seen, 100, WIDE_WAIT_PUBLISH);
		atomic_fetch_sub(&commit->applied_waiters, 1);
		if (st == WIDE_INTERRUPTED)
			usleep(100); /* other processes are inserting: that takes microseconds */
		else
			TRY(st);
	}
	return WIDE_OK;
}

wide_status
wide_publish(wide_db *db, uint64_t lsn)
{
	commit_state *commit = &db->seg->commit;
	uint64_t visible, awaited;

	TRY(wide_wait_applied(db, lsn));
	/*
	 * This batch need not be durable.  But batches below it become visible with it, and some of
	 * them may be applied while their processes still sync them.
	 */
	awaited = atomic_load(&commit->awaited_seq);
	if (awaited != 0)
		TRY(db->log.sync(db->log.ctx, awaited < lsn ? awaited : lsn));
	injection_point("publish");
	visible = atomic_load(&commit->visible_seq);
	while (visible < lsn && !atomic_compare_exchange_weak(&commit->visible_seq, &visible, lsn))
		;
	if (atomic_load(&db->slot->external) != 0)
	{
		atomic_store(&db->slot->external, 0);
		atomic_store(&db->slot->prepare_lsn, 0);
		segment_wake(db, &db->slot->prepare_done);
	}
	return WIDE_OK;
}
