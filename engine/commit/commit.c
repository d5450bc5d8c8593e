/*
 * commit.c - a batch becomes part of the store: prepare, finish, publish; room
 * in the memtables.
 *
 * prepare does all that can fail: the payload is built, memtable space
 * reserved, or for a large batch files are written.  finish, under LOCK_COMMIT,
 * takes the timestamp, appends the record (its LSN is the sequence number),
 * takes the reserved memory and a place in the ring of commits; then, without
 * a lock and in parallel with others, it inserts the cells.  applied_seq rises
 * over the ring's applied entries in order; publish waits for it and raises
 * visible_seq.
 *
 * Invariants:
 *  - visible_seq is below the first batch that is awaited and not durable.
 *  - used(active) + reserved <= capacity of the active memtable, at any time,
 *    so that finish never lacks memory.
 *  - A batch's cells are in the memtable that was active when its record was
 *    appended; `applying` tells the flush whether it is complete.
 *  - Of the ring, entries [tail, head) are appended and not yet known to be
 *    applied; applied_seq is the seq of the entry before the tail.
 *  - The records of an external batch may be older than the memtable that its
 *    cells get into: start_lsn is lowered to them (see horizon_restart_lsn).
 *  - Between append and the end of application the process is inside process_enter:
 *    its death there poisons the segment, as nobody could complete the batch.
 *
 * Locking: as said.  LOCK_COMMIT is held over log->append and over catalog and
 * file changes, which take LOCK_SET and LOCK_CATALOG inside.
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
#include "engine/shared/process.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/catalog_delta.h"
#include "engine/set/file_set.h"
#include "engine/set/memtable.h"
#include "engine/batch/batch.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/bulk.h"
#include "engine/batch/normalise.h"
#include "engine/batch/op_list.h"
#include "engine/batch/payload.h"
#include "engine/batch/spill.h"
#include "engine/commit/reserve.h"

#define CHUNK_BYTES ((size_t) WIDE_LOG_RECORD_MAX - RECORD_DATA_HEAD)
#define LEVEL0_MANY 20

/* ---------------------------------------------------------------- memtable */

/* ----------------------------------------------------------------- prepare */

typedef struct load_arg
{
	norm *n;
} load_arg;

static wide_status
load_next(void *arg, wide_family_id *family, entry *e)
{
	norm_op o;

	TRY(normalise_next(((load_arg *) arg)->n, &o));
	*family = o.family;
	*e = o.e;
	return WIDE_OK;
}

/* A batch too large for a memtable: write it as files, with timestamps from now. */
static wide_status
prepare_files(wide_batch *b, const op_sorted *sorted, wide_bytes catalog)
{
	wide_db *db = b->db;
	commit_state *commit = &db->seg->commit;
	load_arg arg = {NULL};
	helper *a;
	wide_status st;

	TRY(segment_lock(db, LOCK_COMMIT));
	b->prepared.files_ts = host_now(db) > commit->last_ts ? host_now(db) : commit->last_ts + 1;
	commit->last_ts = b->prepared.files_ts;
	segment_unlock(db, LOCK_COMMIT);
	b->prepared.automatic = false;
	b->prepared.need = b->prepared.cells = 0;
	TRY(normalise_new(b, sorted, b->prepared.files_ts, &arg.n));
	/* without one it takes longer */
	a = helper_new();
	st = bulk_write(db, load_next, &arg, b->files_unlogged, a, &b->prepared.files,
					&b->prepared.nfiles);
	helper_free(a);
	normalise_free(arg.n);
	if (st != WIDE_OK)
	{
		b->prepared.nfiles = 0;
		return st;
	}
	st = file_set_reserve(db, b->prepared.nfiles);
	if (st != WIDE_OK)
	{
		bulk_discard(db, b->prepared.files, b->prepared.nfiles);
		b->prepared.nfiles = 0;
		return st;
	}
	for (int i = 0; i < b->prepared.nfiles; i++)
		b->prepared.cells += b->prepared.files[i].cells;
	TRY(payload_begin(&b->prepared.payload, catalog, b->prepared.files, b->prepared.nfiles,
					  &b->prepared.catalog_at));
	TRY(buffer_reserve(&b->prepared.payload, 2 + 8));
	b->prepared.payload.data[b->prepared.payload.len++] = 0; /* bytes of memtable, cells */
	b->prepared.payload.data[b->prepared.payload.len++] = 0;
	put_u64le(b->prepared.payload.data + b->prepared.payload.len, (uint64_t) b->prepared.files_ts);
	b->prepared.payload.len += 8;
	return b->files_unlogged ? WIDE_OK : bulk_log(db, b->prepared.files, b->prepared.nfiles);
}

/* Append the payload as DATA records; under LOCK_COMMIT when not external. */
static wide_status
append_chunks(wide_batch *b, bool external)
{
	wide_db *db = b->db;

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
			/* not to be interrupted: a second attempt would log half a batch with the whole one */
			TRY(segment_lock(db, LOCK_COMMIT));
			if (b->prepared.nchunks == 0)
			{
				/* before the record exists, so that no flush lets the log go */
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

/* Where nobody works in the background, writers keep the number of level-0 files in bounds. */
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

/* It is known without looking at the cells: none came twice, in any order but that of keys, or
 * was undone. */
static bool
too_large(const wide_batch *b, const op_sorted *sorted, uint64_t most)
{
	const op_list *l = b->ops.list;

	return b->spill.nfiles > 0 ||
		   (l != NULL && sorted->nflat == 0 && b->ops.undone.n == 0 && l->end - l->start > most);
}

wide_status
wide_batch_prepare(wide_batch *b, uint64_t external)
{
	wide_db *db = b->db;
	uint64_t most = db->seg->memtables[0].capacity / 2;
	buffer catalog = {0};
	wide_bytes changes;
	op_sorted sorted = {0};
	bool in_order;
	wide_status st;

	TRY(segment_check(db));
	if (b->phase != BATCH_OPEN)
		return status_fail(WIDE_INVALID, "the transaction is prepared already");
	b->phase = BATCH_PREPARED;
	b->prepared.files_ts = INT64_MIN;
	if (wide_batch_empty(b))
		return WIDE_OK;
	relieve(b);
	b->external.note_rows = external != 0;
	if (batch_changes_catalog(b))
		TRY_GOTO(catalog_delta_encode(b->delta, &catalog));
	changes = (wide_bytes) {catalog.data, catalog.len};
	b->prepared.catalog_len = catalog.len;
	TRY_GOTO(payload_begin(&b->prepared.payload, changes, NULL, 0, &b->prepared.catalog_at));
	/* what is left in memory is sorted while the thread is at the last pieces */
	if (b->spill.jobs != NULL)
	{
		TRY_GOTO(op_list_sort(b->ops.list, &b->ops.undone, &sorted));
		TRY_GOTO(spill_settle(b));
		st = WIDE_FULL;
	}
	else
	{
		TRY_GOTO(spill_settle(b));
		st = payload_cells_in_order(b, &b->prepared.payload, most);
	}
	in_order = st == WIDE_OK;
	if (st == WIDE_END || st == WIDE_FULL)
	{
		bool full = st == WIDE_FULL;

		if (sorted.units == NULL)
			TRY_GOTO(op_list_sort(b->ops.list, &b->ops.undone, &sorted));
		full = full || too_large(b, &sorted, most);
		st = full ? WIDE_FULL : payload_cells(b, &sorted, &b->prepared.payload, most);
	}
	if (st == WIDE_OK && (st = reserve_memory(db, b->prepared.need)) != WIDE_OK)
		b->prepared.need = 0;
	/*
	 * Too large for memory, or all of it is held by readers, who may wait for
	 * our own row locks: nobody would ever find that out.
	 */
	if (st == WIDE_FULL &&
		(!in_order || (st = op_list_sort(b->ops.list, &b->ops.undone, &sorted)) == WIDE_OK))
		st = prepare_files(b, &sorted, changes);
	if (st != WIDE_OK)
		goto done;
	/* no rows are told of these: any may be meant */
	if (b->prepared.nfiles > 0 || catalog.len > 0)
		b->external.rows = UINT64_MAX;
	if (external != 0)
	{
		b->external.id = external;
		TRY_GOTO(append_chunks(b, true));
		injection_point("prepare-logged");
	}
done:
	buffer_free(&catalog);
	op_list_sorted_free(&sorted);
	if (st == WIDE_INTERRUPTED)
	{
		/* nothing is reserved or, of the batch itself, logged yet: it may be tried again */
		batch_discard_files(b);
		b->phase = BATCH_OPEN;
		b->prepared.payload.len = 0;
	}
	return st;
}

/* ------------------------------------------------------------------ finish */

void
commit_files(wide_db *db, wide_bytes catalog, file_meta *files, int nfiles, uint64_t seq)
{
	if (catalog.len > 0)
		catalog_apply(db, catalog, seq);
	for (int i = 0; i < nfiles; i++)
		files[i].global_seq = files[i].seq_min = files[i].seq_max = seq;
	if (nfiles > 0)
		file_set_link(db, files, nfiles);
}

/* Log what is not logged yet; under LOCK_COMMIT. */
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
		TRY(append_chunks(b, false));
	payload_record_finish(head, b->prepared.nchunks, b->prepared.first_lsn, commit_ts,
						  b->prepared.payload.len);
	return log->append(log->ctx, false, &(wide_bytes) {head, sizeof(head)}, 1, lsn);
}

/*
 * Has an external transaction that was decided later than this one been finished
 * before, and written the same row?  Recovery would finish them in the other
 * order, as long as neither finish record is durable.  Under LOCK_COMMIT.
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

		/* finished before our decision, so decided before it, and all that follow here, too */
		if (e->seq < b->external.decided)
			break;
		if (e->decided > b->external.decided && (e->rows & b->external.rows) != 0)
			return true;
	}
	return false;
}

/* Remember an external commit, for snapshots that regard it as running and for out_of_order;
 * under LOCK_COMMIT. */
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

/* Remember that transactions of the host have ended since the batch before, for snapshots from
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

/* Raise applied_seq as far as the ring allows; under LOCK_COMMIT. */
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

/* LOCK_COMMIT with a free place in the ring. */
static wide_status
lock_ring(wide_db *db)
{
	commit_state *commit = &db->seg->commit;

	for (;;)
	{
		uint32_t seen;
		wide_status st;

		TRY(segment_lock(db, LOCK_COMMIT));
		if (commit->ring_head - commit->ring_tail < COMMIT_RING)
			return WIDE_OK;
		seen = atomic_load(&commit->applied_word);
		atomic_fetch_add(&commit->applied_waiters, 1);
		segment_unlock(db, LOCK_COMMIT);
		st = segment_wait(db, &commit->applied_word, seen, 100);
		atomic_fetch_sub(&commit->applied_waiters, 1);
		if (st == WIDE_INTERRUPTED)
			usleep(100); /* finishing is not interrupted */
		else
			TRY(st);
	}
}

/* Under LOCK_COMMIT, the record is appended: take the batch's place in everything shared. */
static void
finish_take(wide_batch *b, uint64_t lsn, memtable *t, uint64_t *at, commit_slot **place)
{
	wide_db *db = b->db;
	commit_state *commit = &db->seg->commit;

	commit->logged_seq = lsn;
	if (b->awaited || (b->external.id != 0 && out_of_order(commit, b)))
		atomic_store(&commit->awaited_seq, lsn);
	note_ended(db, lsn);
	*place = &commit->ring[commit->ring_head++ % COMMIT_RING];
	(*place)->seq = lsn;
	atomic_store(&(*place)->applied, 0);
	*at = atomic_load(&t->used);
	atomic_store(&t->used, *at + b->prepared.need);
	commit->reserved -= b->prepared.need;
	atomic_fetch_add(&t->applying, 1);
	if (b->external.id != 0)
	{
		note_external(commit, b, lsn);
		if (b->prepared.data_start < t->start_lsn)
			t->start_lsn = b->prepared.data_start;
	}
	commit_files(db,
				 (wide_bytes) {b->prepared.payload.data + b->prepared.catalog_at,
							   b->prepared.catalog_len},
				 b->prepared.files, b->prepared.nfiles, lsn);
	/* linked: whatever moves the log's beginning lists the files, too */
	if (b->external.id == 0 && b->prepared.nfiles > 0)
		atomic_store(&db->slot->prepare_lsn, 0);
}

wide_status
wide_batch_finish(wide_batch *b, uint64_t *lsn)
{
	wide_db *db = b->db;
	commit_state *commit = &db->seg->commit;
	int64_t commit_ts;
	uint64_t at, end;
	commit_slot *place;
	memtable *t;
	payload p;
	memtable_handle m;
	wide_status st;

	TRY(segment_check(db));
	if (b->phase != BATCH_PREPARED)
		return status_fail(WIDE_INVALID, "the transaction is not prepared");
	if (b->prepared.payload.len == 0)
	{
		b->phase = BATCH_FINISHED;
		*lsn = atomic_load(&commit->visible_seq);
		return WIDE_OK;
	}
	TRY(payload_open((wide_bytes) {b->prepared.payload.data, b->prepared.payload.len}, &p));
	process_enter(db);
	TRY_GOTO(lock_ring(db));
	commit_ts = b->prepared.files_ts;
	if (b->prepared.automatic)
	{
		commit_ts = host_now(db) > commit->last_ts ? host_now(db) : commit->last_ts + 1;
		commit->last_ts = commit_ts;
	}
	st = finish_log(b, commit_ts, lsn);
	if (st != WIDE_OK)
	{
		segment_unlock(db, LOCK_COMMIT);
		wide_poison(db, "the log could not be written");
		st = WIDE_POISONED;
		goto done;
	}
	injection_point("finish-logged");
	memtable_at(db, commit->active, &m);
	t = m.t;
	finish_take(b, *lsn, t, &at, &place);
	b->phase = BATCH_FINISHED;
	segment_unlock(db, LOCK_COMMIT);
	injection_point("finish-appended");
	memtable_touch(&m, at, b->prepared.need);
	st = payload_apply(&p, &m, at, *lsn, commit_ts, &b->row.ukey, &end);
	if (st != WIDE_OK)
	{
		wide_poison(db, "a batch could not be applied");
		st = WIDE_POISONED;
		goto done;
	}
	injection_point("finish-applied");
	atomic_store(&place->applied, 1);
	TRY_GOTO(segment_lock(db, LOCK_COMMIT));
	/* reserved for the tallest nodes; the rest goes back while it is the last piece given out */
	if (atomic_load(&t->used) == at + b->prepared.need)
		atomic_store(&t->used, b->prepared.need > 0 ? end : at);
	atomic_fetch_sub(&t->applying, 1);
	advance(db);
	segment_unlock(db, LOCK_COMMIT);
	/* who waits has said so before he looked at applied_seq for the last time */
	if (atomic_load(&commit->applied_waiters) > 0)
		segment_wake(db, &commit->applied_word);
	counter_add(db, COUNTER_COMMITS, 1);
	counter_add(db, COUNTER_CELLS_WRITTEN, b->prepared.cells);
	counter_add(db, COUNTER_LOG_BYTES, b->prepared.payload.len);
	/* until its files are listed the log is kept */
	if (b->prepared.nfiles > 0)
		host_wake_worker(db);
done:
	process_leave(db);
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
				 : segment_wait(db, &commit->applied_word, seen, 100);
		atomic_fetch_sub(&commit->applied_waiters, 1);
		if (st == WIDE_INTERRUPTED)
			usleep(100); /* others are in the middle of it: a moment */
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
	 * Ours need not be durable, but others below it, that are applied and whose
	 * processes are still syncing them, become visible with it.
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
