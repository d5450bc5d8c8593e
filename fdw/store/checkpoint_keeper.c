/*
 * checkpoint_keeper.c
 *		The process that keeps the store and PostgreSQL's checkpoints together.
 *
 * The rule: when a checkpoint completes, everything of wide tables that is
 * older than its redo position is in files, and the manifest says so on disk
 * (restart_lsn >= redo).  So whoever begins with that checkpoint - a base
 * backup, a restored one - needs no WAL from before it, and the store never
 * keeps WAL that PostgreSQL itself does not keep.
 *
 * The means: CreateCheckPoint waits, before it writes its record, for every
 * virtual transaction that has DELAY_CHKPT_COMPLETE set at that moment.  This
 * process has it set always, under a virtual transaction id of its own making,
 * and changes that id when the rule holds: whoever waited for the old id goes
 * on.  Not a real transaction, for the end of one clears the flag, and a
 * checkpoint could slip through before the next one sets it.  The window
 * between reading the redo position and changing the id is closed by
 * DELAY_CHKPT_START: a checkpoint that takes its redo position in the window
 * waits there until the window is over, and then for the new id.
 *
 * The flag is a brake, not a promise: a checkpoint is let go after
 * PATIENCE_MS when the store cannot be flushed (a full disk, a transaction that
 * waits for a synchronous standby between its two records), with a warning, and
 * those that follow at once, until a flush succeeds.
 * Nothing is lost by that on this server, since the slot keeps the WAL.
 *
 * It also holds the replication slot (replication_slot.c), and does nothing else: the
 * worker, which compacts for minutes, could not answer a checkpoint in time.
 * At shutdown it waits for the others and flushes.
 *
 * Locking: none; MyProc's fields are this process's own.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/sinvaladt.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/store.h"

#define TICK_MS				50 /* a checkpoint waits so long at the most when there is nothing to flush */
#define REPLICATION_SLOT_MS 1000 /* between looks at the slot */
#define PATIENCE_MS			60000 /* so long a checkpoint is held up by a store that cannot be flushed */
#define OPENER_MS			3000  /* and so long by a store that nobody opens */
#define RETRY_MS			1000  /* between flushes that fail */
#define LINGER_MS			10000 /* at shutdown, for the other processes to end */

PGDLLEXPORT void wt_checkpoint_keeper_main(Datum arg);

/* a checkpoint with that redo position has waited long enough */
static XLogRecPtr let_go = InvalidXLogRecPtr;
static TimestampTz waiting_since = 0; /* for a flush that fails */
static TimestampTz next_try = 0;	  /* not before */
/* waited in vain once: later checkpoints are not held up before a flush succeeds */
static bool failing = false;

/* ------------------------------------------------------------ checkpoints */

static XLogRecPtr
restart_lsn(wide_db *db)
{
	wide_stats s;

	wide_statistics(db, &s);
	return (XLogRecPtr) s.restart_lsn;
}

/* true: a checkpoint with that redo position may complete */
static bool
may_complete(wide_db *db, XLogRecPtr redo)
{
	return redo <= let_go || restart_lsn(db) >= redo;
}

/*
 * Let go of those checkpoints that wait for us, if the rule holds.  false: it
 * does not, for the redo position in *redo.
 */
static bool
release_checkpoints(wide_db *db, XLogRecPtr *redo)
{
	bool ok;

	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	pg_memory_barrier();
	*redo = GetRedoRecPtr();
	ok = may_complete(db, *redo);
	if (ok)
		wt_my_lxid = GetNextLocalTransactionId();
	pg_memory_barrier();
	MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	return ok;
}

/* The rule cannot be kept: say so, once for a series of failures. */
static void
give_up(XLogRecPtr redo, wide_status st)
{
	let_go = redo;
	if (!failing)
		ereport(WARNING,
				(errmsg("widetable: checkpoints complete without the changes of wide tables before "
						"%X/%X being in files",
						LSN_FORMAT_ARGS(redo)),
				 st == WIDE_OK ? errdetail("A transaction that began before is not finished.")
							   : errdetail("%s", wide_error_text()),
				 errhint("A base backup begun now may not be restorable. The log will say when it "
						 "is again.")));
	failing = true;
}

/* One attempt to make the rule hold; false: it does not yet. */
static bool
flush_for(wide_db *db, XLogRecPtr redo)
{
	TimestampTz now = GetCurrentTimestamp();
	wide_status st;

	if (now < next_try)
		return false;
	st = wide_flush(db);
	if (st == WIDE_POISONED)
		wt_error_check(st, NULL);
	if (restart_lsn(db) >= redo)
		return true;
	now = GetCurrentTimestamp();
	if (waiting_since == 0)
		waiting_since = now;
	/* a transaction that is being finished takes a moment; not so one that waits for a standby,
	 * or a full disk */
	if (st != WIDE_OK || TimestampDifferenceExceeds(waiting_since, now, RETRY_MS))
		next_try = TimestampTzPlusMilliseconds(now, RETRY_MS);
	if (failing || TimestampDifferenceExceeds(waiting_since, now, PATIENCE_MS))
		give_up(redo, st);
	return false;
}

static void
tick(wide_db *db)
{
	XLogRecPtr redo;

	while (!release_checkpoints(db, &redo))
		if (!flush_for(db, redo))
			return; /* with the next tick */
	if (restart_lsn(db) < redo)
	{
		/* that one was let go; the next may be better */
		(void) flush_for(db, redo);
		return;
	}
	waiting_since = next_try = 0;
	if (failing)
		ereport(LOG, (errmsg("widetable: checkpoints include wide tables again")));
	failing = false;
}

/* ------------------------------------------------------------------ slot */

static void
keep_replication_slot(wide_db *db)
{
	MemoryContext caller = CurrentMemoryContext;
	static bool failed = false;

	PG_TRY();
	{
		if (wt_replication_slot_hold())
		{
			/* made anew, perhaps: nothing is to depend on the one before */
			wt_replication_slot_reserve(restart_lsn(db));
			(void) wide_flush(db);
		}
		wt_replication_slot_advance(restart_lsn(db));
		failed = false;
	}
	PG_CATCH();
	{
		ErrorData *e;

		/* some errors are raised under locks */
		LWLockReleaseAll();
		MemoryContextSwitchTo(caller);
		e = CopyErrorData();
		FlushErrorState();
		/* another process moves it at this moment; or there is none to be had, and commits are
		 * refused */
		if (e->sqlerrcode != ERRCODE_OBJECT_IN_USE && !failed)
		{
			failed = true;
			ereport(WARNING,
					(errmsg("widetable: replication slot \"%s\" is lost: %s",
							WT_REPLICATION_SLOT_NAME,
							e->message),
					 e->hint ? errhint("%s", e->hint) : 0));
			(void) wide_flush(db);
		}
		FreeErrorData(e);
	}
	PG_END_TRY();
}

/* ------------------------------------------------------------------ main */

static void
brake(void)
{
	wt_my_lxid = GetNextLocalTransactionId();
	pg_memory_barrier();
	MyProc->delayChkptFlags |= DELAY_CHKPT_COMPLETE;
}

/*
 * The store is opened by others: the one who opens it waits for recovery, and
 * reports what fails.  Checkpoints wait for that, too, as for a flush: what is
 * being replayed is not in files.  But not where nobody opens it.
 */
static wide_db *
wait_for_store(void)
{
	TimestampTz since = 0, opening = 0;

	while (!wt_store_runs())
	{
		TimestampTz now = GetCurrentTimestamp();

		if (ShutdownRequestPending)
			proc_exit(1);
		CHECK_FOR_INTERRUPTS();
		if (since == 0 && wt_store_exists())
		{
			since = opening = now;
			brake();
		}
		if (wt_anchor()->opener != 0)
			opening = now;
		if (since != 0 && (TimestampDifferenceExceeds(opening, now, OPENER_MS) ||
						   TimestampDifferenceExceeds(since, now, PATIENCE_MS)))
		{
			if (!failing)
				ereport(LOG,
						(errmsg("widetable: checkpoints complete although the store is not open"),
						 errdetail("A base backup begun now may not be restorable.")));
			failing = true;
			wt_my_lxid = GetNextLocalTransactionId();
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 200,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	if (since == 0)
		brake();
	return wt_store_db();
}

/* All others are gone, or it is not a shutdown but somebody wants this process to end. */
static bool
may_end(wide_db *db, TimestampTz since)
{
	wide_stats s;

	wide_statistics(db, &s);
	return s.processes <= 1 || TimestampDifferenceExceeds(since, GetCurrentTimestamp(), LINGER_MS);
}

void
wt_checkpoint_keeper_main(Datum arg)
{
	wide_db *db;
	TimestampTz last_look = 0, asked = 0;

	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	if (!wt_background_process_announce(&wt_background_process_keeper))
		proc_exit(0);
	db = wait_for_store();
	pgstat_report_activity(STATE_IDLE, NULL);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		tick(db);
		if (TimestampDifferenceExceeds(last_look, GetCurrentTimestamp(), REPLICATION_SLOT_MS))
		{
			keep_replication_slot(db);
			last_look = GetCurrentTimestamp();
		}
		if (ShutdownRequestPending)
		{
			if (asked == 0)
				asked = GetCurrentTimestamp();
			if (may_end(db, asked))
				break;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 ShutdownRequestPending ? 10 : TICK_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	/* a quick start next time; the log has it all anyway */
	if (wide_flush(db) == WIDE_OK)
		wt_replication_slot_advance(restart_lsn(db));
	/* 1: to be started again, unless the server goes down */
	proc_exit(1);
}
