/*
 * rest.c
 *		Closing the store: its files have everything, and it needs neither WAL nor slot.
 *
 * The keeper closes the store when the server shuts down, and when it has had no tables for
 * REST_MS.  It flushes, has the state file say CLOSED or RESTING, and drops the replication
 * slot.  A store without tables needs no background processes either: they retire.
 *
 * A slot that is left over keeps WAL until the store is opened again; one of a store at rest, until
 * the next keeper starts.
 *
 * The store may stay open in sessions.  The first transaction that is about to log something
 * opens it again (wt_rest_wake): the state file says OPEN, and the slot is there, before its
 * first record.  This needs a handshake, because nothing else keeps a commit and the keeper
 * apart:
 *
 *	- A transaction counts itself in anchor->committing, then looks at anchor->resting.
 *	- The keeper sets anchor->resting, then looks at anchor->committing.
 *
 * At least one of them sees the other.  The keeper gives up if it sees a transaction; the
 * transaction waits until the keeper is done.
 *
 * Locking: WtAnchor.opener, for what is written to the state file.
 */
#include "postgres.h"

#include "fdw/store/rest.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/error.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/state_file.h"
#include "fdw/store/store.h"

#define REST_MS 5000 /* a store without tables is closed after that time */

static bool counted = false; /* this process is included in anchor->committing */

bool
wt_rest_is_closed(void)
{
	return pg_atomic_read_u32(&wt_anchor()->resting) != 0;
}

bool
wt_rest_has_work(void)
{
	WtStateFile s;

	if (wt_store_runs())
		return !wt_rest_is_closed();
	wt_state_file_read(&s);
	if (s.state == WT_STATE_NONE)
		return wt_anchor()->recovery_start != 0 || wt_state_file_has_store();
	return s.state != WT_STATE_RESTING;
}

/* ----------------------------------------------------------------- commits */

void
wt_rest_begin_commit(void)
{
	WtAnchor *a = wt_anchor();

	if (!counted)
	{
		/* a full barrier: the look at resting comes after it */
		pg_atomic_fetch_add_u32(&a->committing, 1);
		counted = true;
	}
	if (wt_rest_is_closed())
		wt_rest_wake();
}

void
wt_rest_end_commit(void)
{
	if (counted)
		pg_atomic_fetch_sub_u32(&wt_anchor()->committing, 1);
	counted = false;
}

/* Requires: this process is the opener. */
static void
wake(WtAnchor *a)
{
	WtStateFile s;

	if (!wt_rest_is_closed())
		return;
	wt_replication_slot_ensure();
	wt_state_file_read(&s);
	if (s.state != WT_STATE_OPEN)
	{
		s.state = WT_STATE_OPEN;
		s.resume = GetXLogInsertRecPtr();
		wt_state_file_write(&s);
	}
	pg_atomic_write_u32(&a->resting, 0);
}

void
wt_rest_wake(void)
{
	WtAnchor *a = wt_anchor();

	wt_store_become_opener();
	PG_TRY();
	{
		wake(a);
	}
	PG_FINALLY();
	{
		wt_store_end_opener();
	}
	PG_END_TRY();
}

/* ----------------------------------------------------------------- closing */

/* Drops the slot that this process holds.  A slot that is left over does no harm. */
static void
drop_slot(void)
{
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	wt_replication_slot_drop();
}

void
wt_rest_drop_slot(void)
{
	WtErrorPoint before = wt_error_point();
	volatile bool opener = false;

	PG_TRY();
	{
		WtStateFile s;

		/* no other process opens the store meanwhile */
		wt_store_become_opener();
		opener = true;
		wt_state_file_read(&s);
		if (s.state == WT_STATE_RESTING && !wt_store_runs())
			wt_replication_slot_drop();
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		ereport(LOG, (errmsg("widetable: could not drop the replication slot: %s", e->message)));
		FreeErrorData(e);
	}
	PG_END_TRY();
	if (opener)
		wt_store_end_opener();
}

/* Requires: this process is the opener.  Returns: true if the store is closed. */
static bool
close_store(WtAnchor *a, wide_db *db, bool empty_only)
{
	WtStateFile s;
	wide_stats stats;

	if (wt_rest_is_closed())
		return true;
	pg_atomic_write_u32(&a->resting, 1);
	pg_memory_barrier();
	/* prepared transactions need WAL */
	if (pg_atomic_read_u32(&a->committing) != 0 || wide_prepared_any(db) ||
		wide_flush(db) != WIDE_OK)
		return false;
	wide_statistics(db, &stats);
	if (stats.flushed_lsn < stats.visible_lsn || (empty_only && stats.tables > 0))
		return false;
	wt_state_file_read(&s);
	s.state = stats.tables > 0 ? WT_STATE_CLOSED : WT_STATE_RESTING;
	s.timeline = GetWALInsertionTimeLine();
	s.complete = stats.restart_lsn;
	s.resume = InvalidXLogRecPtr;
	wt_state_file_write(&s);
	return true;
}

bool
wt_rest_close(wide_db *db, bool empty_only)
{
	WtAnchor *a = wt_anchor();
	WtErrorPoint before = wt_error_point();
	volatile bool closed = false, opener = false;

	PG_TRY();
	{
		wt_store_become_opener();
		opener = true;
		closed = close_store(a, db, empty_only);
		if (closed)
			drop_slot();
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		/* the caller's next check for interrupts raises it */
		if (e->sqlerrcode == ERRCODE_QUERY_CANCELED)
			InterruptPending = QueryCancelPending = true;
		ereport(LOG, (errmsg("widetable: could not close the store: %s", e->message)));
		FreeErrorData(e);
	}
	PG_END_TRY();
	if (!closed)
		pg_atomic_write_u32(&a->resting, 0);
	if (opener)
		wt_store_end_opener();
	return closed;
}

bool
wt_rest_is_due(wide_db *db)
{
	static TimestampTz since = 0;
	TimestampTz now = GetCurrentTimestamp();
	wide_stats s;

	wide_statistics(db, &s);
	if (s.tables > 0 || s.files > 0 || s.snapshots > 0 || s.reserved_bytes > 0 ||
		pg_atomic_read_u32(&wt_anchor()->committing) > 0)
		since = 0;
	else if (wt_anchor()->rest_wanted)
		return true;
	else if (since == 0)
		since = now;
	return since != 0 && TimestampDifferenceExceeds(since, now, REST_MS);
}

bool
wt_rest_may_come(wide_db *db)
{
	wide_stats s;

	wide_statistics(db, &s);
	return s.tables == 0;
}
