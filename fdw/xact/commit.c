/*
 * commit.c
 *		Commit and rollback.
 *
 * Commit (see architecture, "Commit"):
 *
 *	PRE_COMMIT	everything that can fail: the batch is prepared.  If the
 *				transaction has an xid its payload goes to WAL now, as
 *				transactional messages, and PostgreSQL's commit record decides.
 *	COMMIT		the finish record is logged and the cells are applied.  Without
 *				an xid, payload and finish are one record and we flush it
 *				ourselves: no commit record, no xid, one flush.  Then publish.
 *
 * Between ProcArrayEndTransaction and COMMIT here other sessions see our heap
 * rows and not yet our cells: their snapshots wait for us (wide_snapshot_take_at),
 * a matter of microseconds.
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
#include "fdw/store/background_process.h"
#include "fdw/store/error.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/row_lock.h"
#include "fdw/store/settings.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/snapshot.h"

static bool prepared = false;

static FullTransactionId prepared_xid;

/*
 * NOTIFY gives the transaction a number after this, and listeners hear of it when
 * that has ended; what they read then must wait for our cells.  Whether there is
 * something to tell nobody says but the check of PREPARE TRANSACTION.
 */
static bool
notifies(void)
{
	MemoryContext old = CurrentMemoryContext;
	volatile bool some = false;

	PG_TRY();
	{
		AtPrepare_Notify();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		FlushErrorState();
		some = true;
	}
	PG_END_TRY();
	return some;
}

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
	wt_background_process_ensure(&wt_background_process_worker);
	wide_batch_log_files(batch, wt_settings_log_bulk);
	wt_background_process_ensure(&wt_background_process_keeper);
	wt_replication_slot_check(wt_store_db());
	prepared_xid = GetTopFullTransactionIdIfAny();
	if (!FullTransactionIdIsValid(prepared_xid) && notifies())
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
	wt_stop_point("commit-prepared");
}

/* Cannot fail: PostgreSQL's part is committed already. */
static void
finish(void)
{
	wide_batch *batch = wt_batch(false);
	uint64_t lsn = 0;

	if (!prepared)
		return;
	wt_stop_point("commit-recorded");
	/* a commit record is durable already, and what it says outlives a crash without our record */
	if (FullTransactionIdIsValid(prepared_xid))
		wide_batch_decided(batch, XactLastCommitEnd);
	else if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		wide_batch_await(batch);
	if (wide_batch_finish(batch, &lsn) != WIDE_OK)
		ereport(PANIC, (errmsg("could not finish a commit to wide tables: %s", wide_error_text())));
	if (!FullTransactionIdIsValid(prepared_xid))
	{
		/*
		 * Whoever waits for our rows reads what is applied, and is durable no
		 * earlier than we are.  With a batch before ours still on its way we are
		 * not applied yet: he would overwrite what we have written.
		 */
		if (wide_wait_applied(wt_store_db(), lsn) != WIDE_OK)
			ereport(PANIC,
					(errmsg("could not finish a commit to wide tables: %s", wide_error_text())));
		wt_stop_point("commit-applied");
		wt_row_lock_release_early(lsn);
		wt_stop_point("commit-unlocked");
		/* there is no commit record: ours is the record to wait for */
		if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		{
			/*
			 * It makes groups of commits by itself: one flush serves all that
			 * is in the log by then, and wakes who waits.  Waking only those whom
			 * it has served and one of the rest, to flush next, made half as many
			 * flushes, and was slower on a busy machine: there the one who is
			 * called takes long to come.
			 */
			XLogFlush(lsn);
			SyncRepWaitForLSN(lsn, true);
		}
		else
			XLogSetAsyncXactLSN(lsn);
	}
	/* as long as our record is not durable a crash gives the batch another one, with another
	 * timestamp */
	else
		XLogSetAsyncXactLSN(lsn);
	/* the next transaction of this session has not written anything yet */
	XactLastRecEnd = 0;
	wt_stop_point("commit-durable");
	if (wide_publish(wt_store_db(), lsn) != WIDE_OK)
		ereport(PANIC,
				(errmsg("could not publish a commit to wide tables: %s", wide_error_text())));
	wt_stop_point("commit-published");
}

static void
end_of_transaction(void)
{
	wt_engine_scan_close_all();
	wt_snapshot_end();
	wt_batch_end();
	prepared = false;
	wt_row_lock_reset();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			/* row locks and held snapshots are not needed to prepare, but scans read the batch */
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
			if (wt_batch(false) != NULL && !wide_batch_empty(wt_batch(false)))
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has written to wide tables")));
			if (wt_store_db_if_open() != NULL && wide_row_locks_held(wt_store_db_if_open()) > 0)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has locked rows of wide "
								"tables")));
			break;
		case XACT_EVENT_PREPARE:
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
	/* where the process ends in the middle of a transaction */
	wt_store_on_detach(end_of_transaction);
}
