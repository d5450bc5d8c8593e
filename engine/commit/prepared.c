/*
 * prepared.c - external transactions that the host has prepared (doc/internals/prepared.md).
 *
 * A prepared transaction has no process.  Its batch is in the log alone, as DATA records, and its
 * row locks are in PREPARED records behind them; the segment has an entry that says where.  The
 * entry is the owner of the row locks.
 *
 * Whoever finds that the host has ended the transaction ends it here: reads the batch from the log,
 * finishes and publishes it, releases the row locks, and frees the entry, in this order.  So a
 * reader whose host shows the transaction as committed finds the entry, or the batch.
 *
 * Invariants:
 *  - The log is kept from `start` of each entry on (horizon_restart_lsn).  The entry has it before
 *    the first record is appended.
 *  - The records [from, end) are durable once the entry is confirmed: the host's own record comes
 *    later in the log, and is durable.
 *  - One process has the claim; it alone reads the other members, appends records of the
 *    transaction, and frees the entry.  A claim is not kept over a return to the host.
 *  - A FINISH record names the newest complete copy of the records: a replay has replaced the
 *    others by it.  Copies are made under the claim, so none is under way at the FINISH record.
 *  - The FINISH record is durable before the batch is visible: the LSN of the host's commit record
 *    is not known, so out_of_order (commit.c) cannot compare it.
 *
 * Locking: LOCK_COMMIT for claims and for the table.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/commit/prepared.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/injection_point.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/lock_memory.h"
#include "engine/shared/lock_owner.h"
#include "engine/shared/row_lock.h"
#include "engine/shared/segment.h"
#include "engine/set/file_set.h"
#include "engine/batch/avoid.h"
#include "engine/batch/batch.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/bulk.h"
#include "engine/batch/payload.h"
#include "engine/commit/batch_as_files.h"
#include "engine/commit/commit.h"
#include "engine/commit/reserve.h"

#define CHUNK_BYTES		((size_t) WIDE_LOG_RECORD_MAX - RECORD_DATA_HEAD)
#define LOCKS_OF_RECORD ((WIDE_LOG_RECORD_MAX - RECORD_PREPARED_HEAD) / RECORD_LOCK_BYTES)

/* ------------------------------------------------------------------ entries */

wide_status
prepared_take(wide_db *db, uint64_t xid, uint64_t start, prepared_entry **out)
{
	prepared_entry *e = db->seg->prepared.entry, *stop = e + PREPARED_MAX;
	bool leftover;

	TRY(segment_lock(db, LOCK_COMMIT));
	while (e < stop && (atomic_load(&e->xid) != 0 || e->claimed != 0))
		e++;
	if (e == stop)
	{
		segment_unlock(db, LOCK_COMMIT);
		return status_fail(WIDE_FULL, "there are %d prepared transactions", PREPARED_MAX);
	}
	leftover = e->leftover;
	*e = (prepared_entry) {.claimed = db->slot_index + 1, .leftover = leftover};
	segment_unlock(db, LOCK_COMMIT);
	/* while they are void */
	if (leftover)
	{
		wide_status st = lock_owner_remove(db, layout_prepared_owner(db, e));

		if (st != WIDE_OK)
		{
			prepared_unclaim(db, e);
			return st;
		}
		e->leftover = false;
	}
	TRY(segment_lock(db, LOCK_COMMIT));
	e->start = start != 0 ? start : db->log.end(db->log.ctx);
	if (atomic_load(&db->seg->prepared.high) <= e - db->seg->prepared.entry)
		atomic_store(&db->seg->prepared.high, (uint32_t) (e - db->seg->prepared.entry) + 1);
	atomic_fetch_add(&db->seg->prepared.used, 1);
	atomic_store(&e->xid, xid);
	segment_unlock(db, LOCK_COMMIT);
	*out = e;
	return WIDE_OK;
}

void
prepared_unclaim(wide_db *db, prepared_entry *e)
{
	/* a poisoned segment has no claims to give back */
	if (segment_lock(db, LOCK_COMMIT) != WIDE_OK)
		return;
	e->claimed = 0;
	segment_unlock(db, LOCK_COMMIT);
	segment_wake(db, &db->seg->prepared.word);
}

/* Releases the row locks of the transaction and frees its entry.  Requires: the claim. */
static void
release(wide_db *db, prepared_entry *e)
{
	wide_status st = WIDE_OK;

	/* the number is known once all is logged */
	if (!e->confirmed || e->nlocks > 0)
		st = lock_owner_remove(db, layout_prepared_owner(db, e));
	if (segment_lock(db, LOCK_COMMIT) != WIDE_OK)
		return;
	/* those that could not be reached are void from here on */
	e->leftover = st != WIDE_OK;
	atomic_store(&e->xid, 0);
	e->claimed = 0;
	atomic_fetch_sub(&db->seg->prepared.used, 1);
	segment_unlock(db, LOCK_COMMIT);
	segment_wake(db, &db->seg->prepared.word);
	lock_memory_trim(db);
}

/* Looks for the transaction and claims it.  Returns: *out NULL: there is none; WIDE_BUSY: another
 * process has the claim. */
static wide_status
try_claim(wide_db *db, uint64_t xid, prepared_entry **out)
{
	wide_status st = WIDE_OK;

	*out = NULL;
	TRY(segment_lock(db, LOCK_COMMIT));
	for (prepared_entry *e = db->seg->prepared.entry;
		 e < db->seg->prepared.entry + atomic_load(&db->seg->prepared.high) && *out == NULL; e++)
		if (atomic_load(&e->xid) == xid)
			*out = e;
	if (*out != NULL && (*out)->claimed != 0)
		st = WIDE_BUSY;
	else if (*out != NULL)
		(*out)->claimed = db->slot_index + 1;
	segment_unlock(db, LOCK_COMMIT);
	return st;
}

/* Claims the transaction, when no other process has the claim.  *out NULL: there is none. */
static wide_status
claim(wide_db *db, uint64_t xid, prepared_entry **out)
{
	for (;;)
	{
		uint32_t seen = atomic_load(&db->seg->prepared.word);
		wide_status st = try_claim(db, xid, out);

		if (st != WIDE_BUSY)
			return st;
		TRY(segment_wait(db, &db->seg->prepared.word, seen, 100, WIDE_WAIT_SNAPSHOT));
	}
}

bool
wide_prepared_any(const wide_db *db)
{
	return atomic_load(&db->seg->prepared.used) > 0;
}

int
wide_prepared_list(wide_db *db, uint32_t *at, uint64_t *xids, int max)
{
	int n = 0;

	for (; *at < atomic_load(&db->seg->prepared.high) && n < max; ++*at)
		if ((xids[n] = atomic_load(&db->seg->prepared.entry[*at].xid)) != 0)
			n++;
	return n;
}

/* ------------------------------------------------------------------- records */

/* The records of a transaction. */
typedef struct prepared_records
{
	uint64_t xid;
	uint64_t id; /* of the batch */
	uint32_t nchunks;
	buffer payload;
	buffer locks;
	uint32_t nlocks;
	bool complete;
} prepared_records;

static void
records_free(prepared_records *r)
{
	buffer_free(&r->payload);
	buffer_free(&r->locks);
}

/* Appends a record, and says where it ends. */
static wide_status
append(wide_db *db, bool external, const wide_bytes *parts, int n, uint64_t *lsn)
{
	wide_status st;

	TRY(segment_lock(db, LOCK_COMMIT));
	st = db->log.append(db->log.ctx, external, parts, n, lsn);
	segment_unlock(db, LOCK_COMMIT);
	if (st != WIDE_OK)
		wide_poison(db, "the log could not be written");
	return st;
}

/* Appends the PREPARED records, at least one. */
static wide_status
append_prepared(wide_db *db, enum record_prepared what, const prepared_records *r, uint64_t *end)
{
	uint8_t head[RECORD_PREPARED_HEAD];
	record_prepared_head h = {.what = what,
							  .chunks = r->nchunks,
							  .first = r->id,
							  .bytes = r->payload.len,
							  .xid = r->xid,
							  .locks = r->nlocks};

	do
	{
		uint32_t n = r->nlocks - h.locks_before < LOCKS_OF_RECORD ? r->nlocks - h.locks_before
																  : LOCKS_OF_RECORD;
		wide_bytes parts[2] = {{head, sizeof head}, {NULL, (size_t) n * RECORD_LOCK_BYTES}};

		if (n > 0)
			parts[1].data = r->locks.data + (size_t) h.locks_before * RECORD_LOCK_BYTES;
		payload_record_prepared(head, &h);
		TRY(append(db, what == PREPARED_FIRST, parts, n > 0 ? 2 : 1, end));
		h.locks_before += n;
	} while (h.locks_before < r->nlocks);
	return WIDE_OK;
}

/* Appends the payload as DATA records that belong to no external transaction: the PREPARED records
 * of the copy say to which. */
static wide_status
append_copy(wide_db *db, prepared_records *r)
{
	r->id = 0;
	r->nchunks = 0;
	for (size_t at = 0; at < r->payload.len; at += CHUNK_BYTES)
	{
		size_t n = r->payload.len - at < CHUNK_BYTES ? r->payload.len - at : CHUNK_BYTES;
		uint8_t head[RECORD_DATA_HEAD];
		wide_bytes parts[2] = {{head, sizeof head}, {r->payload.data + at, n}};
		uint64_t lsn;

		payload_record_data(head, r->nchunks, r->id);
		TRY(append(db, false, parts, 2, &lsn));
		if (r->nchunks++ == 0)
			r->id = lsn;
	}
	return WIDE_OK;
}

static wide_status
take_prepared(prepared_records *r, wide_bytes record)
{
	record_prepared_head h;

	if (record.len < RECORD_PREPARED_HEAD)
		return WIDE_OK;
	payload_read_prepared(record.data, &h);
	if (h.xid != r->xid || h.first != r->id || h.what == PREPARED_ENDED ||
		(size_t) h.locks_before * RECORD_LOCK_BYTES != r->locks.len)
		return WIDE_OK;
	TRY(buffer_append(&r->locks, record.data + RECORD_PREPARED_HEAD,
					  record.len - RECORD_PREPARED_HEAD));
	r->nlocks = h.locks;
	r->complete = r->locks.len == (size_t) h.locks * RECORD_LOCK_BYTES;
	return r->complete ? WIDE_END : WIDE_OK;
}

/* Takes a record that is one of the transaction's; for log->read. */
static wide_status
take_record(void *arg, const wide_replay_event *ev)
{
	prepared_records *r = arg;
	const uint8_t *b = ev->payload.data;

	if (ev->kind != WIDE_REPLAY_RECORD || ev->forgeable || ev->payload.len < RECORD_DATA_HEAD ||
		b[1] != RECORD_FORMAT)
		return WIDE_OK;
	if (b[0] == RECORD_PREPARED)
		return take_prepared(r, ev->payload);
	/* the first record of any batch names no other; one that has only locked rows has none */
	if (b[0] != RECORD_DATA || r->id == 0 || get_u32le(b + 4) != r->nchunks ||
		(ev->lsn != r->id && get_u64le(b + 8) != r->id))
		return WIDE_OK;
	r->nchunks++;
	return buffer_append(&r->payload, b + RECORD_DATA_HEAD, ev->payload.len - RECORD_DATA_HEAD);
}

/* Reads the newest records of the transaction.  The caller frees *r. */
static wide_status
records_read(wide_db *db, const prepared_entry *e, prepared_records *r)
{
	wide_status st = WIDE_OK;

	*r = (prepared_records) {.xid = atomic_load(&e->xid), .id = e->id};
	if (db->log.read != NULL)
		st = db->log.read(db->log.ctx, e->from, e->end, take_record, r);
	if (st != WIDE_OK && st != WIDE_END)
		return st;
	if (r->complete && r->payload.len == e->bytes && r->nchunks == e->nchunks)
		return WIDE_OK;
	return status_fail(WIDE_IO, "the log has only a part of prepared transaction %llu at %llX",
					   (unsigned long long) r->xid, (unsigned long long) e->from);
}

/* ------------------------------------------------------------------- prepare */

static wide_status
note_lock(void *arg, uint64_t hash, wide_table_id table)
{
	prepared_records *r = arg;
	uint8_t lock[RECORD_LOCK_BYTES];

	put_u64le(lock, hash);
	put_u32le(lock + 8, table);
	r->nlocks++;
	return buffer_append(&r->locks, lock, sizeof lock);
}

/* Logs the batch and the row locks. */
static wide_status
begin(wide_db *db, wide_batch *b, prepared_entry *e)
{
	prepared_records r = {.xid = atomic_load(&e->xid)};
	uint64_t end;
	wide_status st = WIDE_OK;

	e->from = e->start;
	/* first: it may fail, and no record says that the transaction could not be prepared */
	TRY_GOTO(row_lock_give(db, layout_prepared_owner(db, e), &r, note_lock));
	if (b != NULL && !wide_batch_empty(b))
	{
		b->for_later = true;
		TRY_GOTO(wide_batch_prepare(b, r.xid));
		e->id = r.id = b->prepared.first_lsn;
		e->nchunks = r.nchunks = b->prepared.nchunks;
		e->bytes = b->prepared.payload.len;
		/* for the length of the payload only */
		r.payload.len = b->prepared.payload.len;
	}
	TRY_GOTO(append_prepared(db, PREPARED_FIRST, &r, &end));
	e->nlocks = r.nlocks;
	e->end = end;
	injection_point("prepared-logged");
done:
	r.payload.len = 0;
	records_free(&r);
	return st;
}

wide_status
wide_prepared_begin(wide_db *db, wide_batch *b, uint64_t xid)
{
	prepared_entry *e;
	wide_status st;

	TRY(segment_check(db));
	if (b != NULL && batch_changes_catalog(b))
		return status_fail(WIDE_INVALID, "the transaction changes the catalog");
	TRY(prepared_take(db, xid, 0, &e));
	st = begin(db, b, e);
	if (st == WIDE_OK)
		prepared_unclaim(db, e);
	else
		release(db, e);
	return st;
}

void
wide_prepared_confirm(wide_db *db, uint64_t xid)
{
	prepared_entry *e;

	if (claim(db, xid, &e) != WIDE_OK || e == NULL)
		return;
	e->confirmed = true;
	prepared_unclaim(db, e);
}

void
wide_prepared_cancel(wide_db *db, uint64_t xid)
{
	prepared_entry *e;

	if (claim(db, xid, &e) == WIDE_OK && e != NULL)
		release(db, e);
}

/* ----------------------------------------------------------------------- end */

/*
 * There is no memory for the cells: readers hold all, or the memtables were larger when it was
 * prepared.  They become files, which are linked with the FINISH record, with a timestamp that is
 * taken now.  A replay does the same.
 */
static wide_status
write_files(wide_db *db, const payload *p, wide_batch *b)
{
	file_meta *files = NULL;
	int n = 0;
	wide_status st;

	TRY(segment_lock(db, LOCK_COMMIT));
	b->prepared.files_ts = commit_take_timestamp(db, &b->prepared.avoid);
	segment_unlock(db, LOCK_COMMIT);
	b->prepared.files_newest = b->prepared.files_ts;
	b->prepared.automatic = false;
	b->files_unlogged = true;
	st = batch_as_files(db, p, b->prepared.files_ts, &b->row.ukey, &files, &n);
	if (st == WIDE_OK && (st = file_set_reserve(db, n)) != WIDE_OK)
		bulk_discard(db, files, n);
	if (st != WIDE_OK)
	{
		free(files);
		return st;
	}
	b->prepared.files = files;
	b->prepared.nfiles = n;
	return WIDE_OK;
}

/* Makes the batch anew, as wide_batch_prepare leaves it. */
static wide_status
open_batch(wide_db *db, const prepared_entry *e, prepared_records *r, wide_batch *b)
{
	int64_t last = wide_timestamp_newest(db), now = host_now(db);
	payload p;
	wide_status st;

	b->phase = BATCH_PREPARED;
	b->prepared.payload = r->payload;
	r->payload = (buffer) {0};
	TRY(payload_open((wide_bytes) {b->prepared.payload.data, b->prepared.payload.len}, &p));
	TRY(buffer_reserve(&b->row.ukey, KEY_UKEY_MAX));
	TRY(payload_check(&p, &b->row.ukey));
	TRY(payload_avoid(&p, last < now ? last : now, &b->row.ukey, &b->prepared.avoid));
	b->prepared.files_ts = b->prepared.files_newest = INT64_MIN;
	b->prepared.automatic = b->prepared.avoids = true;
	b->prepared.cells = p.cells;
	b->prepared.first_lsn = e->id;
	b->prepared.data_start = e->start;
	b->prepared.nchunks = e->nchunks;
	b->awaited = true;
	st = p.need > db->seg->memtables[0].capacity / 2 ? WIDE_FULL : reserve_memory(db, p.need);
	if (st == WIDE_OK)
		b->prepared.need = p.need;
	else if (st == WIDE_FULL)
		st = write_files(db, &p, b);
	TRY(st);
	b->external.id = r->xid;
	b->external.rows = UINT64_MAX;
	return WIDE_OK;
}

/* Finishes and publishes the batch. */
static wide_status
finish(wide_db *db, const prepared_entry *e)
{
	prepared_records r;
	wide_batch *b = NULL;
	uint64_t lsn;
	wide_status st;

	TRY_GOTO(records_read(db, e, &r));
	TRY_GOTO(wide_batch_new(db, &b));
	TRY_GOTO(open_batch(db, e, &r, b));
	injection_point("prepared-opened");
	TRY_GOTO(wide_batch_finish(b, &lsn));
	injection_point("prepared-finished");
	st = db->log.sync(db->log.ctx, lsn);
	if (st == WIDE_OK)
		st = wide_publish(db, lsn);
	/* whoever tries again would log a second FINISH record, which no replay could place */
	if (st != WIDE_OK)
		wide_poison(db, "the end of a prepared transaction could not be made durable");
done:
	if (b != NULL)
		wide_batch_free(b);
	records_free(&r);
	return st;
}

/* Logs that the transaction has ended, and leaves nothing. */
static wide_status
log_end(wide_db *db, uint64_t xid)
{
	prepared_records r = {.xid = xid};
	uint64_t end;

	return append_prepared(db, PREPARED_ENDED, &r, &end);
}

wide_status
wide_prepared_end(wide_db *db, uint64_t xid, bool commit)
{
	prepared_entry *e;
	wide_status st;

	TRY(segment_check(db));
	TRY(claim(db, xid, &e));
	if (e == NULL)
		return WIDE_OK;
	st = commit && e->id != 0 ? finish(db, e) : log_end(db, xid);
	if (st == WIDE_OK)
		release(db, e);
	else
		prepared_unclaim(db, e);
	return st;
}

/* --------------------------------------------------------------------- relog */

/* Logs the transaction anew.  Requires: the claim. */
static wide_status
relog(wide_db *db, prepared_entry *e)
{
	prepared_records r;
	uint64_t from, end = 0;
	wide_status st;

	TRY_GOTO(records_read(db, e, &r));
	from = db->log.end(db->log.ctx);
	TRY_GOTO(append_copy(db, &r));
	injection_point("prepared-copied");
	TRY_GOTO(append_prepared(db, PREPARED_COPY, &r, &end));
	injection_point("prepared-relogged");
	/* a replay has the copy by now instead of the earlier records */
	e->id = r.id;
	e->nchunks = r.nchunks;
	e->from = from;
	e->end = end;
	TRY_GOTO(db->log.sync(db->log.ctx, end));
	TRY_GOTO(segment_lock(db, LOCK_COMMIT));
	e->start = from;
	segment_unlock(db, LOCK_COMMIT);
done:
	records_free(&r);
	return st;
}

uint64_t
wide_prepared_start(wide_db *db, uint64_t xid)
{
	uint64_t start = 0;

	if (segment_lock(db, LOCK_COMMIT) != WIDE_OK)
		return 0;
	for (uint32_t i = 0; i < atomic_load(&db->seg->prepared.high) && start == 0; i++)
		if (atomic_load(&db->seg->prepared.entry[i].xid) == xid)
			start = db->seg->prepared.entry[i].start;
	segment_unlock(db, LOCK_COMMIT);
	return start;
}

wide_status
wide_prepared_relog(wide_db *db, uint64_t lsn)
{
	wide_status failed = WIDE_OK;

	for (uint32_t i = 0; i < atomic_load(&db->seg->prepared.high); i++)
	{
		prepared_entry *e = &db->seg->prepared.entry[i];
		uint64_t xid = atomic_load(&e->xid);
		wide_status st;

		if (xid == 0)
			continue;
		/* one that ends now needs no copy */
		st = try_claim(db, xid, &e);
		if (st == WIDE_BUSY || (st == WIDE_OK && e == NULL))
			continue;
		TRY(st);
		if (e->confirmed && e->start < lsn)
			st = relog(db, e);
		prepared_unclaim(db, e);
		if (st == WIDE_POISONED || st == WIDE_INTERRUPTED)
			return st;
		/* one that cannot be read does not keep the log for the others */
		if (st != WIDE_OK)
			failed = st;
	}
	return failed;
}
