/*
 * snapshot.c
 *		The engine's snapshots that belong to PostgreSQL's (doc/internals/visibility.md).
 *
 * All scans and functions of a statement share the engine's snapshot; in REPEATABLE READ
 * and above all of the transaction, from its first statement on, whatever that reads.  In
 * a parallel worker it is a copy of the leader's.
 *
 * An entry knows PostgreSQL's snapshot by its address, so it must not outlive that.  What a
 * running statement has taken is kept to its ExecutorEnd, or after an error to the end of
 * the resource owner in which it runs, and both come before PostgreSQL takes another
 * snapshot there.  What is taken for any other snapshot lives as long as the scan or the
 * function that needs it.
 *
 * The statements of a function that is not volatile run with the snapshot of the statement
 * that calls it.  They are a part of that one: it is the outermost one that keeps and ends.
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

#include "fdw/store/background_process.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/follower.h"
#include "fdw/store/host.h"
#include "fdw/store/prepared.h"
#include "fdw/store/row_lock.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/wal.h"
#include "fdw/xact/parallel_snapshot.h"

static dlist_head snapshots = DLIST_STATIC_INIT(snapshots); /* all that are held */
static WtSnapshot *transaction_snapshot = NULL;				/* REPEATABLE READ and above */
static WtSnapshot *leader_snapshot = NULL;					/* in a parallel worker: the copy */
static WtRun *running = NULL;								/* the innermost one */

/* --------------------------------------------- reads of the newest state */

/*
 * A read of the newest state may return a batch that is neither durable nor published,
 * because row locks are released before that (finish() in commit.c).  The newest such
 * batch is known from two places: the row lock has the LSN of the batch that its last
 * holder left unpublished (wt_row_lock_newest_batch), which need not show in a cell that
 * was read: it may have deleted one, or be about other columns.  Changes that others
 * have made without a lock show in cells only (newest_read).  For both:
 *
 *	- A snapshot that the transaction takes afterwards includes the batch:
 *	  wt_snapshot_catch_up().
 *	- The transaction ends no earlier than the batch is durable, or else an
 *	  acknowledged transaction would have seen what a crash takes back.  Its own batch
 *	  comes later in the log and is enough; a transaction that writes nothing, or is
 *	  rolled back, flushes.
 *	- SELECT FOR UPDATE in a transaction block ends no earlier than that, because its
 *	  client may pass its rows on.  The next statement's snapshot would wait anyway.
 */
static uint64 newest_read = 0; /* LSN of the newest batch that showed in cells */
static uint64 caught_up = 0;   /* LSN up to which wt_snapshot_catch_up() is done */

/* Returns: LSN of the newest batch that the transaction may have read, or 0. */
static uint64
newest_known(void)
{
	uint64 locked = wt_row_lock_newest_batch();

	return Max(newest_read, locked);
}

void
wt_snapshot_catch_up(void)
{
	uint64 lsn = newest_known();

	if (lsn <= caught_up)
		return;
	if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
	{
		XLogFlush(lsn);
		/* as SyncRepWaitForLSN() requires: a cancellation ends the wait, not the statement */
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
	uint64 lsn = newest_known();

	if (lsn > caught_up && synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		wt_wal_flush(lsn);
}

/* ----------------------------------------------------------------- taking */

/* Callback of the engine: does PostgreSQL's snapshot regard the xid as running? */
static bool
running_for(void *ctx, uint64_t xid)
{
	return XidInMVCCSnapshot(XidFromFullTransactionId(FullTransactionIdFromU64(xid)),
							 (Snapshot) ctx);
}

/* Returns: true if both snapshots list the same running transactions. */
static bool
same_transactions(Snapshot a, Snapshot b)
{
	return a->takenDuringRecovery == b->takenDuringRecovery && a->xmin == b->xmin &&
		   a->xmax == b->xmax &&
		   wt_bytes_equal(a->xip, a->xcnt * sizeof(TransactionId), b->xip,
						  b->xcnt * sizeof(TransactionId));
}

/*
 * The memory in which PostgreSQL takes its snapshots.  wt_snapshot_begin_statement()
 * learns the address in READ COMMITTED.
 */
static Snapshot original = NULL;

/*
 * Returns: how many transactions had ended when PostgreSQL took this snapshot, or 0 if
 * that is unknown.  PostgreSQL stores the count in the original, but not in the copies
 * that statements get.  If the original lists the same running transactions, no
 * transaction has ended between the two, and its count is the copy's.
 */
static uint64
ended_at(Snapshot pg)
{
	Snapshot s = original;

	if (IsInParallelMode())
		return 0;
	if (s == NULL)
		s = GetLatestSnapshot();
	if (!same_transactions(s, pg))
		return 0;
	return s->snapXactCompletionCount;
}

static wide_status
take_for(Snapshot pg, wide_snapshot **out)
{
	wide_moment at = {.running = running_for, .ctx = pg};

	if (pg->takenDuringRecovery)
	{
		at.replayed = true;
		at.next = wt_host_full_xid(pg->xmax);
		return wide_snapshot_take_replayed(wt_follower_db(), &at, out);
	}
	at.ended = ended_at(pg);
	if (at.ended == 0)
		at.next = wt_host_full_xid(pg->xmax);
	return wide_snapshot_take_at(wt_store_db(), &at, out);
}

/* Adds a snapshot with one reference to the list; from here on that owns ws. */
static WtSnapshot *
add_snapshot(Snapshot pg, wide_snapshot *ws)
{
	WtSnapshot *e = MemoryContextAllocExtended(TopMemoryContext, sizeof(WtSnapshot),
											   MCXT_ALLOC_ZERO | MCXT_ALLOC_NO_OOM);

	if (e == NULL)
	{
		wide_snapshot_release(ws);
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	}
	e->pg = pg;
	e->ws = ws;
	e->refs = 1;
	dlist_push_head(&snapshots, &e->node);
	return e;
}

/* Takes the engine's snapshot for PostgreSQL's; NULL: of the newest state. */
static WtSnapshot *
take_new(Snapshot pg)
{
	WtSnapshot *e;
	wide_snapshot *ws;
	wide_status st = WIDE_OK;

	if (pg != NULL)
	{
		wt_snapshot_catch_up();
		wt_stop_point("snapshot-begin");
	}
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (st == WIDE_BUSY)
			wt_prepared_settle();
		st = pg == NULL ? wide_snapshot_latest(wt_store_db(), &ws) : take_for(pg, &ws);
	} while (st == WIDE_INTERRUPTED || st == WIDE_BUSY);
	wt_error_check(st, "could not take a snapshot");
	e = add_snapshot(pg, ws);
	if (pg != NULL)
		wt_stop_point("snapshot-taken");
	return e;
}

/* ------------------------------------------------- export and import */

/*
 * SET TRANSACTION SNAPSHOT.  A transaction that has exported its snapshot offers the
 * engine's snapshot under its virtual transaction id, of which PostgreSQL forms the
 * exported snapshot's name.  A transaction that imports that name takes it over.  The
 * list of running transactions could not identify the snapshot: it may be the same for
 * hours while transactions without an xid commit to wide tables.
 */
static uint64 imported_from = 0;								   /* the exporter's vxid */
static LocalTransactionId imported_in = InvalidLocalTransactionId; /* the importing transaction */

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
	if (transaction_snapshot == NULL || transaction_snapshot->shared ||
		transaction_snapshot->pg == NULL || !XactHasExportedSnapshots())
		return;
	wt_error_check(wide_snapshot_share(transaction_snapshot->ws,
									   (uint64) wt_my_backend_id << 32 | wt_my_lxid),
				   "could not export the snapshot");
	transaction_snapshot->shared = true;
}

/*
 * Takes the snapshot of a transaction in REPEATABLE READ.
 * Returns: NULL if an imported snapshot has no counterpart and none is needed yet.
 */
static WtSnapshot *
take_for_transaction(Snapshot pg, bool needed)
{
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
		wt_error_check(st, "could not import a snapshot");
	}
	return ws == NULL ? take_new(pg) : add_snapshot(pg, ws);
}

/* ---------------------------------------------------------------- holding */

void
wt_snapshot_unref(WtSnapshot *e)
{
	if (--e->refs > 0)
		return;
	dlist_delete(&e->node);
	wide_snapshot_release(e->ws);
	pfree(e);
	/* a compaction may have waited for it */
	wt_background_process_ring();
}

/* Returns: the engine's snapshot for this one of PostgreSQL's; NULL: there is none. */
static WtSnapshot *
find_taken(Snapshot pg)
{
	dlist_iter iter;

	dlist_foreach(iter, &snapshots)
	{
		WtSnapshot *e = dlist_container(WtSnapshot, node, iter.cur);

		if (e->pg == pg)
			return e;
	}
	return NULL;
}

bool
wt_snapshot_is_taken(void)
{
	if (!ActiveSnapshotSet())
		return false;
	return IsolationUsesXactSnapshot() ? transaction_snapshot != NULL
									   : find_taken(GetActiveSnapshot()) != NULL;
}

WtSnapshot *
wt_snapshot_for(Snapshot pg)
{
	WtSnapshot *e;

	if (pg != NULL && wt_parallel_snapshot_leader_wrote())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot read wide tables in a parallel worker after the transaction has "
						"written to some"),
				 errdetail("Only the session's leader process can see its changes."),
				 errhint("Declare functions that read wide tables PARALLEL RESTRICTED.")));
	if (pg != NULL && IsolationUsesXactSnapshot())
	{
		if (transaction_snapshot == NULL)
			transaction_snapshot = take_for_transaction(pg, true);
		transaction_snapshot->refs++;
		return transaction_snapshot;
	}
	if (pg != NULL && (e = find_taken(pg)) != NULL)
	{
		e->refs++;
		return e;
	}
	e = take_new(pg);
	if (pg != NULL && running != NULL && pg == running->pg)
	{
		e->owner = running->owner;
		e->refs++;
	}
	return e;
}

/* --------------------------------------------- statements, transactions */

/*
 * The first statement of a parallel worker is the one that it was started for: its
 * snapshot is a copy of the leader's, and the engine's is a copy of the leader's, too.
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
	e = add_snapshot(pg, ws);
	leader_snapshot = e;
	if (IsolationUsesXactSnapshot())
	{
		e->refs++;
		transaction_snapshot = e;
	}
}

/*
 * On a standby: takes the snapshot of a transaction in REPEATABLE READ.
 * Returns: NULL if the log cannot be followed: statements that read no wide table go on.
 */
static WtSnapshot *
take_if_followed(Snapshot pg)
{
	WtErrorPoint before = wt_error_point();
	WtSnapshot *volatile taken = NULL;

	PG_TRY();
	{
		taken = take_for_transaction(pg, false);
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		if (e->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
			ReThrowError(e);
		FreeErrorData(e);
	}
	PG_END_TRY();
	return taken;
}

/*
 * In REPEATABLE READ the engine's snapshot is taken with the transaction's first
 * statement, even if that reads no wide table.  A later one would show commits that
 * PostgreSQL's snapshot does not show.
 */
void
wt_snapshot_begin_statement(Snapshot snapshot)
{
	char *why;

	/* for ended_at() */
	if (unlikely(original == NULL) && !IsolationUsesXactSnapshot() && !IsInParallelMode() &&
		!RecoveryInProgress() && !HistoricSnapshotActive() && snapshot != NULL &&
		IsMVCCSnapshot(snapshot))
		original = GetTransactionSnapshot();
	/* if the store cannot be opened, statements that read no wide table go on */
	if (IsolationUsesXactSnapshot() && transaction_snapshot == NULL && snapshot != NULL &&
		IsMVCCSnapshot(snapshot) && !IsInParallelMode() &&
		(RecoveryInProgress() ? wt_store_is_followed() : wt_store_exists()) &&
		wt_store_db_try(&why) != NULL)
		transaction_snapshot = RecoveryInProgress() ? take_if_followed(snapshot)
													: take_for_transaction(snapshot, false);
	if (IsParallelWorker() && leader_snapshot == NULL && snapshot != NULL)
		adopt_snapshot(snapshot);
}

/* Returns: a run with this snapshot, perhaps around others; NULL: there is none. */
static const WtRun *
find_run(Snapshot pg)
{
	const WtRun *r = running;

	while (r != NULL && r->pg != pg)
		r = r->outer;
	return r;
}

void
wt_snapshot_begin_run(WtRun *run, Snapshot snapshot)
{
	const WtRun *same = find_run(snapshot);

	run->pg = snapshot;
	/* a block with an exception clause in the function ends before the statement */
	run->owner = same != NULL ? same->owner : CurrentResourceOwner;
	run->outer = running;
	running = run;
}

void
wt_snapshot_end_run(WtRun *run)
{
	running = run->outer;
}

/* Ends what statements hold: with that snapshot of PostgreSQL's, or with that owner. */
static void
end_held(Snapshot pg, ResourceOwner owner)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &snapshots)
	{
		WtSnapshot *e = dlist_container(WtSnapshot, node, iter.cur);

		if (e->owner == NULL || (e->pg != pg && e->owner != owner))
			continue;
		e->owner = NULL;
		wt_snapshot_unref(e);
	}
}

void
wt_snapshot_end_statement(Snapshot snapshot)
{
	if (snapshot != NULL && find_run(snapshot) == NULL)
		end_held(snapshot, NULL);
}

void
wt_snapshot_end_owner(ResourceOwner owner)
{
	end_held(NULL, owner);
}

void
wt_snapshot_note_read(uint64 lsn)
{
	newest_read = Max(newest_read, lsn);
}

void
wt_snapshot_end(void)
{
	if (transaction_snapshot != NULL)
		wt_snapshot_unref(transaction_snapshot);
	if (leader_snapshot != NULL)
		wt_snapshot_unref(leader_snapshot);
	transaction_snapshot = leader_snapshot = NULL;
	newest_read = caught_up = 0;
}
