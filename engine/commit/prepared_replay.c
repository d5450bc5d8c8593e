/*
 * prepared_replay.c - prepared transactions in a log that is replayed.
 *
 * The DATA records of such a transaction are parked like those of others.  Its PREPARED records
 * come behind them, with its row locks; the record with which the host prepares it is the last one.
 * From there on a restart does not drop the batch.  Later in the log there may be a copy of all
 * this, which takes the place of what is parked when it is complete: the log before it may be gone
 * at the next replay.  A copy is of a transaction that was prepared, so the host's record need not
 * be in the log that is replayed.
 *
 * Locking: as in replay.c.
 */
#include <stdatomic.h>
#include "engine/commit/prepared_replay.h"
#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/row_lock.h"
#include "engine/batch/payload.h"
#include "engine/commit/parked.h"
#include "engine/commit/prepared.h"

/* Finds the transaction; NULL: there is none.  except: may be NULL. */
static parked *
find(wide_db *db, uint64_t xid, const parked *except)
{
	parked *p = db->replay->first;

	while (p != NULL && (p->file || p->xid != xid || p == except))
		p = p->next;
	return p;
}

/* The copy is complete: it takes the place of what was parked before. */
static void
replace(wide_db *db, parked *copy, uint64_t lsn)
{
	parked *old;

	copy->prepared = PARKED_PREPARED;
	while ((old = find(db, copy->xid, copy)) != NULL)
	{
		copy->committed = old->committed;
		copy->presumed = old->presumed;
		copy->time = old->time;
		copy->early = old->early;
		parked_remove(db, old);
	}
	/* the commit record may be before the log that this replay reads, or behind this record: the
	 * host may have gone on */
	if (copy->committed == 0 && copy->nchunks > 0 &&
		atomic_load(&db->seg->state) == WIDE_FOLLOWING && db->host.committed != NULL &&
		db->host.committed(db->host.ctx, copy->xid))
	{
		copy->committed = lsn;
		copy->presumed = copy->early = true;
	}
	db->replay->waiting_moved |= copy->committed != 0;
}

/* Finds or begins what the record belongs to.  *out NULL: it begins before the log that is needed.
 */
static wide_status
place(wide_db *db, const wide_replay_event *ev, const record_prepared_head *h, parked **out)
{
	parked *p;

	*out = NULL;
	if (h->first != 0)
		p = parked_find(db, false, h->first);
	else if (h->locks_before == 0)
	{
		TRY(parked_begin(db, false, ev->lsn, ev, &p));
		p->xid = h->xid;
	}
	else
	{
		/* the newest one: a copy may be under way */
		p = NULL;
		for (parked *q = db->replay->first; q != NULL; q = q->next)
			if (!q->file && q->xid == h->xid && q->nchunks == 0)
				p = q;
	}
	if (p == NULL)
		return WIDE_OK;
	if (p->nchunks != h->chunks || p->data.len != h->bytes ||
		p->locks.len != (size_t) h->locks_before * RECORD_LOCK_BYTES)
		return parked_damaged(ev->lsn, "it prepares a transaction that is not complete in the log");
	*out = p;
	return WIDE_OK;
}

wide_status
prepared_replay_record(wide_db *db, const wide_replay_event *ev)
{
	record_prepared_head h;
	size_t bytes;
	parked *p;

	if (ev->payload.len < RECORD_PREPARED_HEAD)
		return parked_damaged(ev->lsn, "it is not a record of this store");
	payload_read_prepared(ev->payload.data, &h);
	bytes = ev->payload.len - RECORD_PREPARED_HEAD;
	if (h.xid == 0 || h.what < PREPARED_FIRST || h.what > PREPARED_ENDED ||
		bytes % RECORD_LOCK_BYTES != 0 || h.locks_before > h.locks ||
		bytes / RECORD_LOCK_BYTES > h.locks - h.locks_before)
		return parked_damaged(ev->lsn, "it is not a record of this store");
	if (h.what == PREPARED_ENDED)
	{
		while ((p = find(db, h.xid, NULL)) != NULL)
			parked_remove(db, p);
		return WIDE_OK;
	}
	TRY(place(db, ev, &h, &p));
	if (p == NULL)
		return WIDE_OK;
	/* all of a transaction's records say the same number */
	if (p->locks.len > 0 && p->nlocks != h.locks)
		return parked_damaged(ev->lsn, "it is not a record of this store");
	TRY(buffer_append(&p->locks, ev->payload.data + RECORD_PREPARED_HEAD, bytes));
	p->end = ev->lsn;
	p->nlocks = h.locks;
	if (p->locks.len < (size_t) h.locks * RECORD_LOCK_BYTES)
		return WIDE_OK;
	p->xid = h.xid;
	if (h.what == PREPARED_COPY)
		replace(db, p, ev->lsn);
	else
		p->prepared = PARKED_LOGGED;
	return WIDE_OK;
}

void
prepared_replay_decided(wide_db *db, uint64_t xid)
{
	for (parked *p = db->replay->first; p != NULL; p = p->next)
		if (!p->file && p->xid == xid && p->prepared == PARKED_LOGGED)
			p->prepared = PARKED_PREPARED;
}

static wide_status
restore(wide_db *db, const parked *p)
{
	prepared_entry *e;
	uint32_t owner;

	TRY(prepared_take(db, p->xid, p->start, &e));
	owner = layout_prepared_owner(db, e);
	e->from = p->start;
	e->end = p->end;
	e->id = p->nchunks > 0 ? p->id : 0;
	e->bytes = p->data.len;
	e->nchunks = p->nchunks;
	e->nlocks = p->nlocks;
	e->confirmed = true;
	for (uint32_t i = 0; i < p->nlocks; i++)
	{
		const uint8_t *lock = p->locks.data + (size_t) i * RECORD_LOCK_BYTES;

		TRY(row_lock_restore(db, owner, get_u64le(lock), get_u32le(lock + 8)));
	}
	prepared_unclaim(db, e);
	return WIDE_OK;
}

wide_status
prepared_replay_end(wide_db *db)
{
	for (const parked *p = db->replay->first; p != NULL; p = p->next)
		if (!p->file && p->prepared == PARKED_PREPARED && p->committed == 0)
			TRY(restore(db, p));
	return WIDE_OK;
}
