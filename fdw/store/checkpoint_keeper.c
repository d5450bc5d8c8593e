/*
 * checkpoint_keeper.c
 *		The keeper: the process that couples PostgreSQL's checkpoints to flushes of
 *		the store.
 *
 * The rule: when a checkpoint completes, the changes of wide tables before its redo
 * position are in files that the manifest lists (restart_lsn >= redo).  So a server
 * that starts from the checkpoint, a restored base backup for example, needs no WAL
 * from before it, and the store needs no WAL that PostgreSQL does not keep itself.
 *
 * How a checkpoint waits for the rule: before CreateCheckPoint writes its record it
 * waits for each virtual transaction that has DELAY_CHKPT_COMPLETE set at that
 * time.  The keeper has the flag set always, under a virtual transaction id that is
 * not a transaction's, and changes that id when the rule holds: a checkpoint that
 * waits for the old id goes on.  A real transaction would not do: its end clears
 * the flag, and a checkpoint could pass before the next one sets it.
 *
 * Between reading the redo position and changing the id the keeper has
 * DELAY_CHKPT_START set.  A checkpoint that takes its redo position in between
 * waits until that is cleared, and then for the new id.
 *
 * The flag is a brake, not a promise.  If the store cannot be flushed (a full disk, a
 * transaction that waits for a synchronous standby between its two records), a
 * checkpoint is released after PATIENCE_MS with a warning, and later ones at once,
 * until a flush succeeds.  This server loses nothing by that, because the replication
 * slot keeps the WAL; a base backup may lack WAL.
 *
 * When the keeper looks: a checkpoint that begins sets its latch (checkpoint_watch.c).
 * From then to the end of the checkpoint it looks every TICK_MS, because the redo position
 * is not known at once.  The rest is told by a latch, too: a store that a process opens,
 * WAL that the store needs no more, the request to end.  So the keeper of an idle server
 * sleeps.
 *
 * On a standby the keeper recovers the store and follows the log (wal_replay.c), up to the
 * promotion.  If it ends in between, the next one does so, also when the promotion is over by then:
 * sessions that have the store open wait for it.
 *
 * The keeper also holds the replication slot (replication_slot.c).  It does nothing
 * else: the worker, which compacts for minutes, could not answer a checkpoint in
 * time.  At shutdown it waits for the other processes and flushes.
 *
 * Locking: none; only this process changes these members of its MyProc.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/sinvaladt.h"
#include "tcop/tcopprot.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/checkpoint_watch.h"
#include "fdw/store/counter_file.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/health.h"
#include "fdw/store/host.h"
#include "fdw/store/prepared.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/rest.h"
#include "fdw/store/store.h"
#include "fdw/store/time_mark.h"
#include "fdw/store/wait_event.h"

/* Delay of a checkpoint: */
#define TICK_MS		50 /* at most, when there is nothing to flush */
#define NEW_MS		10 /* the same, as long as the redo position of a new checkpoint is not known */
#define PATIENCE_MS 60000 /* at most, when the store cannot be flushed */
#define OPENER_MS	3000  /* at most, when no process opens the store */

/* Intervals: */
#define REPLICATION_SLOT_MS 1000  /* between checks of the replication slot */
#define RETRY_MS			1000  /* between flushes that fail */
#define RETRY_OPEN_MS		10000 /* on a standby, between attempts to open the store */
#define LINGER_MS			10000 /* at shutdown, at most, until the other processes have ended */
#define OPENING_MS			200	  /* between looks while a process opens the store */
#define IDLE_MS \
	25000 /* between looks without a reason: a safety net, no event is known to need it */

PGDLLEXPORT void wt_checkpoint_keeper_main(Datum arg);

/* Checkpoints with a redo position up to here are released although the rule does not hold. */
static XLogRecPtr released = InvalidXLogRecPtr;

/* State of flushes that do not make the rule hold. */
static TimestampTz failing_since = 0; /* time of the first one; 0: none */
static TimestampTz next_try = 0;	  /* no flush before this time */
static bool gave_up = false;		  /* checkpoints do not wait until a flush succeeds */

/* The redo position when no checkpoint was under way: while one is, it has not set its own yet. */
static XLogRecPtr redo_at_rest = InvalidXLogRecPtr;

/* ------------------------------------------------------------ checkpoints */

/* Returns: true if a checkpoint with that redo position may complete. */
static bool
may_complete(wide_db *db, XLogRecPtr redo)
{
	return redo <= released || wt_replication_slot_needed(db) >= redo;
}

/*
 * Releases the checkpoints that wait, if the rule holds.  *redo becomes the redo
 * position that was looked at.
 * Returns: false if the rule does not hold for it.
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

/* Releases the checkpoint although the rule does not hold.  Warns once for a series of them. */
static void
give_up(XLogRecPtr redo, wide_status st)
{
	released = redo;
	if (!gave_up)
		ereport(WARNING,
				(errmsg("widetable: checkpoints complete without the changes of wide tables before "
						"%X/%X being in files",
						LSN_FORMAT_ARGS(redo)),
				 st == WIDE_OK ? errdetail("A transaction that began before is not finished.")
							   : errdetail("%s", wide_error_text()),
				 errhint("A base backup begun now may not be restorable. The log will say when it "
						 "is again.")));
	gave_up = true;
}

/* One attempt to make the rule hold.  Returns: true if it holds. */
static bool
flush_for(wide_db *db, XLogRecPtr redo)
{
	TimestampTz now = GetCurrentTimestamp();
	wide_status st;

	if (now < next_try)
		return false;
	/* what is prepared may stay for days: the log before the checkpoint is not kept for it */
	st = wide_prepared_relog(db, redo);
	if (st == WIDE_OK)
		st = wide_flush(db);
	if (st == WIDE_POISONED)
		wt_error_check(st, NULL);
	if (wt_replication_slot_needed(db) >= redo)
		return true;
	now = GetCurrentTimestamp();
	if (failing_since == 0)
		failing_since = now;
	/* a commit between its two records is over soon; one that waits for a standby is not, nor is
	 * a full disk */
	if (st != WIDE_OK || TimestampDifferenceExceeds(failing_since, now, RETRY_MS))
		next_try = TimestampTzPlusMilliseconds(now, RETRY_MS);
	if (gave_up || TimestampDifferenceExceeds(failing_since, now, PATIENCE_MS))
		give_up(redo, st);
	return false;
}

/*
 * Makes the rule hold and releases checkpoints, as far as possible now.  *redo becomes the redo
 * position that was looked at last.
 * Returns: true if the rule holds for it.
 */
static bool
tick(wide_db *db, XLogRecPtr *redo)
{
	while (!release_checkpoints(db, redo))
		if (!flush_for(db, *redo))
			return false; /* again in the next tick */
	if (wt_replication_slot_needed(db) < *redo)
	{
		/* this checkpoint was released; a flush may succeed for the next one */
		(void) flush_for(db, *redo);
		return false;
	}
	failing_since = next_try = 0;
	if (gave_up)
		ereport(LOG, (errmsg("widetable: checkpoints include wide tables again")));
	gave_up = false;
	return true;
}

/* ------------------------------------------------------- replication slot */

/* Acquires the slot if it is lost or new, and advances it to restart_lsn.  Raises no error. */
static void
keep_replication_slot(wide_db *db)
{
	WtErrorPoint before = wt_error_point();
	static bool failed = false;

	PG_TRY();
	{
		if (wt_replication_slot_hold())
		{
			/* it may be a new slot, which does not keep what the lost one kept: flush that */
			wt_replication_slot_reserve(wt_replication_slot_needed(db));
			(void) wide_flush(db);
		}
		wt_replication_slot_advance(wt_replication_slot_needed(db));
		failed = false;
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		/* in use: another process moves the slot now.  Otherwise none can be had, and commits
		 * are refused. */
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

/* Returns: true if this process does not hold the slot, or the slot keeps WAL that the store does
 * not need. */
static bool
replication_slot_is_behind(wide_db *db)
{
	return MyReplicationSlot == NULL ||
		   MyReplicationSlot->data.restart_lsn < wt_replication_slot_needed(db);
}

/* ------------------------------------------------------------------ main */

/* Makes checkpoints wait for this process from now on. */
static void
brake(void)
{
	wt_my_lxid = GetNextLocalTransactionId();
	pg_memory_barrier();
	MyProc->delayChkptFlags |= DELAY_CHKPT_COMPLETE;
}

/*
 * Returns: the store, once another process has opened it.  The keeper does not open it
 * itself: the process that does waits for recovery and reports what fails.
 * Checkpoints wait meanwhile, because what recovery replays is not in files; they
 * do not wait if no process opens the store.
 */
static wide_db *
wait_for_store(void)
{
	TimestampTz since = 0, last_opener = 0;

	/* recovery has ended: a worker that has followed WAL opens the store now */
	wt_background_process_wake(&wt_anchor()->worker);
	while (!wt_store_runs())
	{
		TimestampTz now = GetCurrentTimestamp();

		if (!wt_rest_has_work())
		{
			wt_rest_drop_slot();
			wt_background_process_retire(&wt_background_process_keeper, wt_rest_has_work);
		}
		if (ShutdownRequestPending)
			proc_exit(1);
		CHECK_FOR_INTERRUPTS();
		if (since == 0 && wt_store_exists())
		{
			since = last_opener = now;
			brake();
		}
		if (wt_anchor()->opener != 0)
			last_opener = now;
		if (since != 0 && (TimestampDifferenceExceeds(last_opener, now, OPENER_MS) ||
						   TimestampDifferenceExceeds(since, now, PATIENCE_MS)))
		{
			if (!gave_up)
				ereport(LOG,
						(errmsg("widetable: checkpoints complete although the store is not open"),
						 errdetail("A base backup begun now may not be restorable.")));
			gave_up = true;
			wt_my_lxid = GetNextLocalTransactionId();
		}
		/* the process that makes a store wakes this one */
		wt_host_wait_event(since != 0 || wt_anchor()->opener != 0 ? OPENING_MS : IDLE_MS,
						   WT_WAIT_KEEPER_IDLE);
	}
	if (since == 0)
		brake();
	return wt_store_db();
}

/*
 * After a request to end.
 * Returns: true if no other process uses the store, or if some still do after LINGER_MS:
 * then the server does not shut down, and this process alone is to end.
 */
static bool
may_end(wide_db *db, TimestampTz since)
{
	wide_stats s;

	wide_statistics(db, &s);
	return s.processes <= 1 || TimestampDifferenceExceeds(since, GetCurrentTimestamp(), LINGER_MS);
}

/*
 * Waits until there may be something to do.  holds: the rule holds for redo.  last_look: time of
 * the last check of the replication slot.
 */
static void
wait_for_event(wide_db *db, bool holds, XLogRecPtr redo, TimestampTz last_look)
{
	long ms;

	/* first of all: a checkpoint that begins behind the looks below wakes this process */
	wt_checkpoint_watch_begin();
	if (ShutdownRequestPending)
		ms = 10;
	else if (!holds || GetRedoRecPtr() != redo)
		ms = TICK_MS;
	else if (wt_checkpoint_watch_under_way())
		ms = redo == redo_at_rest ? NEW_MS : TICK_MS;
	else
	{
		redo_at_rest = redo;
		ms = IDLE_MS;
		if (replication_slot_is_behind(db) || wt_rest_may_come(db))
			ms = Max(REPLICATION_SLOT_MS -
						 TimestampDifferenceMilliseconds(last_look, GetCurrentTimestamp()),
					 10);
	}
	wt_host_wait_event(ms, WT_WAIT_KEEPER_IDLE);
	wt_checkpoint_watch_end();
}

/* The store is closed because it has no tables. */
static void
retire(void)
{
	ereport(LOG,
			(errmsg("widetable: no wide tables are left: the replication slot is dropped, and the "
					"background processes end")));
	wt_background_process_wake(&wt_anchor()->worker);
	wt_background_process_retire(&wt_background_process_keeper, wt_rest_has_work);
}

/*
 * On a standby, or after one: opens the store and follows the log until the server is promoted.  If
 * that is not possible, logs why and exits after a while; the postmaster starts another keeper,
 * which tries again.
 */
static void
follow(void)
{
	char *why = NULL;

	wt_store_follow(true);
	if (wt_store_db_try(&why) == NULL && (RecoveryInProgress() || wt_store_exists()))
	{
		wt_health_failed(why);
		ereport(LOG,
				(errmsg("widetable: the keeper process cannot open the store"),
				 errdetail("%s", why)));
		/* on the latch, so that a shutdown ends the wait */
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		wt_host_wait_event(RETRY_OPEN_MS, WT_WAIT_KEEPER_IDLE);
		CHECK_FOR_INTERRUPTS();
		proc_exit(1);
	}
	wt_store_follow(false);
}

void
wt_checkpoint_keeper_main(Datum arg)
{
	wide_db *db;
	TimestampTz last_look = 0, shutdown_since = 0;

	wt_background_process_start(&wt_background_process_keeper, die);
	if (RecoveryInProgress() || wt_store_is_followed())
		follow();
	/* from here on a request to end waits for the other processes */
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	CHECK_FOR_INTERRUPTS();
	db = wait_for_store();
	wt_counter_file_remove();
	/* a keeper that was told to end has closed it, and the server has gone on */
	if (wt_rest_is_closed() && !wt_rest_is_due(db))
		wt_rest_wake();
	pgstat_report_activity(STATE_IDLE, NULL);
	for (;;)
	{
		XLogRecPtr redo;
		bool holds;

		wt_background_process_check_interrupts();
		wt_prepared_settle_quietly();
		holds = tick(db, &redo);
		if (TimestampDifferenceExceeds(last_look, GetCurrentTimestamp(), REPLICATION_SLOT_MS))
		{
			keep_replication_slot(db);
			last_look = GetCurrentTimestamp();
			if (wt_rest_is_due(db) && wt_rest_close(db, true))
				retire();
		}
		if (ShutdownRequestPending)
		{
			if (shutdown_since == 0)
				shutdown_since = GetCurrentTimestamp();
			if (may_end(db, shutdown_since))
				break;
		}
		wait_for_event(db, holds, redo, last_look);
	}
	/* so that the next start needs no WAL; if it fails, WAL has everything anyway */
	if (!wt_rest_close(db, false))
		wt_replication_slot_advance(wt_replication_slot_needed(db));
	wt_counter_file_save(db);
	/* a transaction of this process ends the brake; the last checkpoint is still to come */
	wt_time_mark_write(db);
	/* 1: the postmaster restarts it, unless the server goes down */
	proc_exit(1);
}
