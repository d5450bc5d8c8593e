/*
 * snapshot.c
 *		The engine's counterparts of PostgreSQL's snapshots.
 */
#include "postgres.h"

#include "fdw/xact/snapshot.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "replication/syncrep.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/snapshot.h"

#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/host.h"
#include "fdw/store/row_lock.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/wal.h"
#include "fdw/xact/parallel_snapshot.h"

static dlist_head snaps = DLIST_STATIC_INIT(snaps);
static WtSnapshot *xact_snap = NULL;	 /* REPEATABLE READ and up */
static WtSnapshot *parallel_snap = NULL; /* in a worker: the leader's */

/*
 * The newest batch that a read of the newest state has shown us.  Rows' locks
 * are given back before their batch is durable and published (finish).  So the
 * lock itself tells which batch it was (wt_row_lock_newest_batch): a reader need not have
 * come across a cell of it, as when that deleted one or is about other columns.
 * What others write without a lock shows itself in cells only.  In both cases:
 *
 *	- a snapshot that we take afterwards must include it: wt_snapshot_catch_up;
 *	- we end no earlier than it is durable, or else an acknowledged transaction
 *	  would have seen what a crash undoes.  What we write ourselves comes later in
 *	  the log and takes care of that; if we are rolled back it is flushed, too.
 *	- in a transaction block SELECT FOR UPDATE ends no earlier than that, as others
 *	  may hear of its rows.  What the next statement reads would wait for it anyway.
 */
static uint64 newest_read = 0;
static uint64 caught_up = 0; /* up to here that is done in this transaction */

void
wt_snapshot_catch_up(void)
{
	uint64 lsn = Max(newest_read, wt_row_lock_newest_batch());

	if (lsn <= caught_up)
		return;
	if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
	{
		XLogFlush(lsn);
		/* as PostgreSQL demands: a cancellation ends the wait, not what comes after it */
		HOLD_INTERRUPTS();
		SyncRepWaitForLSN(lsn, true);
		RESUME_INTERRUPTS();
	}
	wt_error_check(wide_publish(wt_store_db(), lsn), "could not read");
	caught_up = lsn;
}

void
wt_snapshot_flush_newest_read(void)
{
	uint64 lsn = Max(newest_read, wt_row_lock_newest_batch());

	if (lsn > caught_up && synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		wt_wal_flush(lsn);
}

static bool
running_for(void *ctx, uint64_t xid)
{
	return XidInMVCCSnapshot(XidFromFullTransactionId(FullTransactionIdFromU64(xid)),
							 (Snapshot) ctx);
}

/* Does PostgreSQL show the same transactions with both? */
static bool
same_transactions(Snapshot a, Snapshot b)
{
	return a->takenDuringRecovery == b->takenDuringRecovery && a->xmin == b->xmin &&
		   a->xmax == b->xmax && a->xcnt == b->xcnt &&
		   memcmp(a->xip, b->xip, a->xcnt * sizeof(TransactionId)) == 0;
}

/*
 * How many transactions had ended when PostgreSQL took this snapshot; 0: cannot
 * be told.  PostgreSQL notes it in the memory that it takes its snapshots in, but
 * not in the copies which statements get.  So this looks there for the one that
 * the copy was made of: the same transactions running means that nothing has
 * ended between the two.  Where that memory is shows itself in READ COMMITTED
 * (wt_snapshot_begin_statement).
 */
static Snapshot original = NULL;

static uint64
ended_at(Snapshot pg)
{
	Snapshot s = original;

	if (IsInParallelMode() || RecoveryInProgress())
		return 0;
	if (s == NULL)
		s = GetLatestSnapshot();
	if (!same_transactions(s, pg))
		return 0;
	return s->snapXactCompletionCount;
}

static wide_status
take_snapshot(Snapshot pg, wide_snapshot **out)
{
	wide_moment at = {.running = running_for, .ctx = pg};

	at.ended = ended_at(pg);
	if (at.ended == 0)
		at.next = wt_host_full_xid(pg->xmax);
	return wide_snapshot_take_at(wt_store_db(), &at, out);
}

static WtSnapshot *
snap_new(Snapshot pg)
{
	WtSnapshot *e;
	wide_status st;

	if (pg != NULL)
	{
		wt_snapshot_catch_up();
		wt_stop_point("snapshot-begin");
	}
	e = MemoryContextAllocZero(TopMemoryContext, sizeof(WtSnapshot));
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (pg == NULL)
			st = wide_snapshot_latest(wt_store_db(), &e->ws);
		else
			st = take_snapshot(pg, &e->ws);
	} while (st == WIDE_INTERRUPTED);
	if (st != WIDE_OK)
	{
		pfree(e);
		wt_error_check(st, "could not take a snapshot");
	}
	e->pg = pg;
	e->refs = 1;
	dlist_push_head(&snaps, &e->node);
	if (pg != NULL)
		wt_stop_point("snapshot-taken");
	return e;
}

/*
 * SET TRANSACTION SNAPSHOT.  A transaction that has exported its snapshot offers
 * the engine's under its own virtual transaction id, which is what PostgreSQL
 * makes the snapshot's name of; one that has imported a snapshot by that name asks
 * for it.  Nothing less will do: what PostgreSQL's snapshot shows as running may be
 * the same for hours, while commits to wide tables alone go on.
 */
static uint64 imported_from = 0;								   /* the exporter's */
static LocalTransactionId imported_in = InvalidLocalTransactionId; /* our transaction that did */

void
wt_snapshot_note_imported(const char *name)
{
	uint32 backend, lxid;

	if (sscanf(name, "%8x-%8x-", &backend, &lxid) != 2)
		return;
	imported_from = (uint64) backend << 32 | lxid;
	imported_in = wt_my_lxid;
}

void
wt_snapshot_share_exported(void)
{
	if (xact_snap == NULL || xact_snap->shared || xact_snap->pg == NULL ||
		!XactHasExportedSnapshots())
		return;
	wt_error_check(wide_snapshot_share(xact_snap->ws, (uint64) wt_my_backend_id << 32 | wt_my_lxid),
				   "could not export the snapshot");
	xact_snap->shared = true;
}

/* The first snapshot of a transaction in REPEATABLE READ.  NULL, unless needed: there is none. */
static WtSnapshot *
snap_of_transaction(Snapshot pg, bool needed)
{
	WtSnapshot *e;
	wide_snapshot *ws = NULL;

	if (imported_in == wt_my_lxid)
	{
		wide_status st = wide_snapshot_find(wt_store_db(), imported_from, &ws);

		if (st == WIDE_NOTFOUND && !needed)
			return NULL;
		if (st == WIDE_NOTFOUND)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot read wide tables with this imported snapshot"),
					 errdetail("The transaction that has exported it had no snapshot of the wide "
							   "tables, or has ended."),
					 errhint("Let it run in REPEATABLE READ, with session_preload_libraries = "
							 "'widetable'.")));
		wt_error_check(st, "could not take over a snapshot");
	}
	if (ws == NULL)
		e = snap_new(pg);
	else
	{
		e = MemoryContextAllocZero(TopMemoryContext, sizeof(WtSnapshot));
		e->pg = pg;
		e->ws = ws;
		e->refs = 1;
		dlist_push_head(&snaps, &e->node);
	}
	return e;
}

void
wt_snapshot_unref(WtSnapshot *e)
{
	if (--e->refs > 0)
		return;
	dlist_delete(&e->node);
	wide_snapshot_release(e->ws);
	pfree(e);
}

WtSnapshot *
wt_snapshot_for(Snapshot pg)
{
	dlist_iter iter;

	if (pg != NULL && wt_parallel_snapshot_leader_wrote())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot read wide tables in a parallel worker after the transaction has "
						"written to some"),
				 errdetail("What it has written is known to the session's own process only."),
				 errhint("Declare functions that read wide tables PARALLEL RESTRICTED.")));
	if (pg != NULL && IsolationUsesXactSnapshot())
	{
		if (xact_snap == NULL)
			xact_snap = snap_of_transaction(pg, true);
		xact_snap->refs++;
		return xact_snap;
	}
	if (pg != NULL)
		dlist_foreach(iter, &snaps)
		{
			WtSnapshot *e = dlist_container(WtSnapshot, node, iter.cur);

			if (e->pg == pg)
			{
				e->refs++;
				return e;
			}
		}
	return snap_new(pg);
}

/*
 * A worker's first query is the one that it was started for: its snapshot is a
 * copy of the leader's, and so is the engine's from now on.
 */
static void
adopt_snapshot(Snapshot pg)
{
	wide_snapshot *ws;
	WtSnapshot *e;

	wt_stop_point("parallel-adopt");
	ws = wt_parallel_snapshot_import();

	if (ws == NULL)
		return;
	e = MemoryContextAllocZero(TopMemoryContext, sizeof(WtSnapshot));
	e->pg = pg;
	e->ws = ws;
	e->refs = 1;
	dlist_push_head(&snaps, &e->node);
	parallel_snap = e;
	if (IsolationUsesXactSnapshot())
	{
		e->refs++;
		xact_snap = e;
	}
}

/*
 * REPEATABLE READ: the engine's snapshot belongs to the transaction's first
 * statement, also when that reads no wide table; taken later it would show
 * commits that PostgreSQL's snapshot does not.
 */
void
wt_snapshot_begin_statement(Snapshot snapshot)
{
	char *why;

	/* see ended_at */
	if (unlikely(original == NULL) && !IsolationUsesXactSnapshot() && !IsInParallelMode() &&
		!RecoveryInProgress() && !HistoricSnapshotActive() && snapshot != NULL &&
		IsMVCCSnapshot(snapshot))
		original = GetTransactionSnapshot();
	/* a store that cannot be opened is no reason to fail a query on something else */
	if (IsolationUsesXactSnapshot() && xact_snap == NULL && snapshot != NULL &&
		IsMVCCSnapshot(snapshot) && !IsInParallelMode() && !RecoveryInProgress() &&
		wt_store_exists() && wt_store_db_try(&why) != NULL)
		xact_snap = snap_of_transaction(snapshot, false);
	if (IsParallelWorker() && parallel_snap == NULL && snapshot != NULL)
		adopt_snapshot(snapshot);
}

void
wt_snapshot_note_read(uint64 lsn)
{
	newest_read = Max(newest_read, lsn);
}

void
wt_snapshot_end(void)
{
	if (xact_snap != NULL)
	{
		WtSnapshot *e = xact_snap;

		xact_snap = NULL;
		wt_snapshot_unref(e);
	}
	if (parallel_snap != NULL)
		wt_snapshot_unref(parallel_snap);
	parallel_snap = NULL;
	newest_read = caught_up = 0;
}
