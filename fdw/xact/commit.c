/*
 * commit.c
 *		Commit and rollback of a transaction's batch (doc/internals/commit.md).
 *
 *	PRE_COMMIT	Everything that can fail: the batch is prepared.  If the transaction has
 *				an xid, the payload goes to WAL now, as transactional messages, and
 *				PostgreSQL's commit record decides.
 *	COMMIT		FINISH is logged and the cells are applied.  Without an xid, payload and
 *				FINISH are one record, which is flushed here: no commit record, no xid,
 *				one flush.  Then the batch is published.
 *
 * Between ProcArrayEndTransaction() and COMMIT, other sessions see the transaction's heap
 * rows but not its cells.  Their snapshots wait for the batch (wide_snapshot_take_at),
 * which takes microseconds.
 */
#include "postgres.h"

#include "fdw/xact/commit.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/async.h"
#include "miscadmin.h"
#include "replication/syncrep.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/clock.h"
#include "fdw/store/error.h"
#include "fdw/store/prepared.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/rest.h"
#include "fdw/store/row_lock.h"
#include "fdw/store/settings.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/time_mark.h"
#include "fdw/store/upgrade.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/snapshot.h"
#include "fdw/xact/twophase.h"
#include "fdw/xact/wal_usage.h"

static bool prepared = false;		   /* the batch is prepared */
static FullTransactionId prepared_xid; /* with this xid; invalid: without one */

/*
 * Returns: true if the transaction has notifications to send.  PostgreSQL gives such a
 * transaction an xid after PRE_COMMIT, and listeners are woken when that has ended; what
 * they read then must wait for the cells of this batch, which needs the xid.  PostgreSQL
 * offers no function for the question but the check of PREPARE TRANSACTION, which raises
 * an error if there are some.
 */
static bool
notifies(void)
{
	WtErrorPoint before = wt_error_point();
	volatile bool some = false;

	PG_TRY();
	{
		AtPrepare_Notify();
	}
	PG_CATCH();
	{
		FreeErrorData(wt_error_take(&before));
		some = true;
	}
	PG_END_TRY();
	return some;
}

/* PRE_COMMIT. */
static void
prepare(void)
{
	wide_batch *batch = wt_batch(false);
	wide_status st;

	if (batch == NULL || wide_batch_empty(batch))
	{
		wt_snapshot_catch_up();
		return;
	}
	/* what PostgreSQL has ended before comes first in the log */
	wt_prepared_settle();
	/* counted first: prepare_upgrade() waits for those that are, then flushes (upgrade.c) */
	wt_rest_begin_commit();
	wt_upgrade_check_unprepared();
	wt_background_process_ensure(&wt_background_process_worker);
	wide_batch_log_files(batch, wt_settings_log_bulk);
	wt_background_process_ensure(&wt_background_process_keeper);
	wt_replication_slot_check(wt_store_db());
	wt_wal_usage_commit_begins();
	prepared_xid = GetTopFullTransactionIdIfAny();
	if (!FullTransactionIdIsValid(prepared_xid) && (notifies() || wt_time_mark_is_due()))
		prepared_xid = GetTopFullTransactionId();
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_batch_prepare(batch, FullTransactionIdIsValid(prepared_xid)
										   ? U64FromFullTransactionId(prepared_xid)
										   : 0);
	} while (st == WIDE_INTERRUPTED);
	wt_error_check(st, "could not commit to wide tables");
	prepared = true;
	wt_clock_warn_ahead(wide_timestamp_newest(wt_store_db()));
	wt_stop_point("commit-prepared");
}

/* Waits for the disk and for a standby, as PostgreSQL does after its commit record. */
static void
flush_as_committed(uint64_t lsn)
{
	if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
	{
		/*
		 * Commits group themselves: one flush covers all records that are in WAL by then
		 * and wakes their sessions.  Waking only the sessions that it covers, and one of
		 * the others to flush next, made half as many flushes but was slower on a busy
		 * machine, where a woken process takes long to run.
		 */
		XLogFlush(lsn);
		SyncRepWaitForLSN(lsn, true);
	}
	else
		XLogSetAsyncXactLSN(lsn);
}

/* COMMIT.  Cannot fail: PostgreSQL's part is committed already. */
static void
finish(void)
{
	wide_batch *batch = wt_batch(false);
	uint64_t lsn = 0;

	if (!prepared)
		return;
	wt_stop_point("commit-recorded");
	/* the commit record decides: after a crash recovery finishes the batch without FINISH */
	if (FullTransactionIdIsValid(prepared_xid))
		wide_batch_note_decided(batch, XactLastCommitEnd);
	else if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		wide_batch_mark_awaited(batch);
	if (wide_batch_finish(batch, &lsn) != WIDE_OK)
		ereport(PANIC, (errmsg("could not finish a commit to wide tables: %s", wide_error_text())));
	if (!FullTransactionIdIsValid(prepared_xid))
	{
		/*
		 * The next holder of the row locks reads the newest applied state, and commits
		 * with a later record.  While an earlier batch is still being applied, this
		 * one is not part of that state, and the next holder would overwrite it.
		 */
		if (wide_wait_applied(wt_store_db(), lsn) != WIDE_OK)
			ereport(PANIC,
					(errmsg("could not finish a commit to wide tables: %s", wide_error_text())));
		wt_stop_point("commit-applied");
		wt_row_lock_release_early(lsn);
		wt_stop_point("commit-unlocked");
		/* there is no commit record: FINISH is the record to wait for */
		flush_as_committed(lsn);
	}
	else
	{
		/* soon: a crash before it is durable gives the batch another FINISH, with another
		 * timestamp */
		XLogSetAsyncXactLSN(lsn);
	}
	/* for PostgreSQL the next transaction of this session has no WAL record yet */
	XactLastRecEnd = 0;
	wt_stop_point("commit-durable");
	if (wide_publish(wt_store_db(), lsn) != WIDE_OK)
		ereport(PANIC,
				(errmsg("could not publish a commit to wide tables: %s", wide_error_text())));
	/* for the time mark */
	wt_background_process_ring();
	wt_stop_point("commit-published");
	/* it may have dropped the last table (rest.c) */
	if (wt_batch_has_ddl())
		wt_background_process_wake(&wt_anchor()->keeper);
}

static void
end_of_transaction(void)
{
	wt_wal_usage_settle();
	wt_twophase_end();
	if (wt_store_db_if_open() != NULL)
		wide_progress_end(wt_store_db_if_open());
	wt_engine_scan_close_all();
	wt_snapshot_end();
	wt_batch_end();
	prepared = false;
	wt_rest_end_commit();
	wt_row_lock_reset(0);
	wt_row_lock_trim();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			wt_derive_settle();
			/* scans read the batch, which prepare() changes */
			wt_derive_rest();
			wt_engine_scan_close_all();
			prepare();
			break;
		case XACT_EVENT_COMMIT:
			finish();
			end_of_transaction();
			break;
		case XACT_EVENT_ABORT:
			wt_snapshot_flush_newest_read();
			end_of_transaction();
			break;
		case XACT_EVENT_PRE_PREPARE:
			wt_derive_settle();
			wt_derive_rest();
			wt_engine_scan_close_all();
			wt_twophase_prepare();
			break;
		case XACT_EVENT_PREPARE:
			wt_twophase_prepared();
			end_of_transaction();
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			end_of_transaction();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
}

void
wt_commit_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
	/* for a process that exits in the middle of a transaction */
	wt_store_on_detach(end_of_transaction);
}
