/*
 * compaction_worker.c
 *		The background worker: flush, compaction, deletion of files, tables of
 *		dropped databases.
 *
 * It has no database connection (CREATE and DROP DATABASE do not wait for it)
 * and honours interrupts between cells of the engine's work (DROP DATABASE
 * waits for every process to accept a barrier).  It is started at first use,
 * or with the server when the library is preloaded.  Without it the writers do
 * its work themselves, also when it is there and does nothing because it was
 * stopped or waits for a disk: so it leaves the time in the anchor every so
 * often.
 *
 * What fails is tried again, at longer and longer intervals, and the log has
 * one line for a series of failures.
 */
#include "postgres.h"

#include "fdw/store/compaction_worker.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"

#define IDLE_MS			  1000 /* between looks for work when nobody wakes us */
#define WAL_DISTANCE	  ((uint64) 256 * 1024 * 1024) /* flush when that much WAL waits for us */
#define DATABASE_CHECK_MS 10000 /* between looks for tables of dropped databases */
#define RETRY_MAX_MS	  10000 /* at the most between attempts of work that fails */

PGDLLEXPORT void wt_compaction_worker_main(Datum arg);

static void (*drop_lost_tables)(bool report) = NULL;

void
wt_compaction_worker_on_databases(void (*callback)(bool report))
{
	drop_lost_tables = callback;
}

/* ------------------------------------------------------------------ main */

/* All work there is, in units; interrupts between them. */
static wide_status
work(wide_db *db)
{
	for (;;)
	{
		wide_status st;

		CHECK_FOR_INTERRUPTS();
		wt_background_process_heartbeat();
		st = wide_work(db);
		if (st == WIDE_END)
			return WIDE_OK;
		if (st != WIDE_OK && st != WIDE_INTERRUPTED)
			return st;
	}
}

/* An idle store must not keep the WAL of a busy cluster, also where there is no keeper
 * (checkpoint_keeper.c). */
static wide_status
flush_by_distance(wide_db *db)
{
	wide_stats s;
	wide_status st;

	wide_statistics(db, &s);
	if (s.restart_lsn == 0 || (uint64_t) GetXLogInsertRecPtr() < s.restart_lsn + WAL_DISTANCE)
		return WIDE_OK;
	st = wide_flush(db);
	return st == WIDE_INTERRUPTED ? WIDE_OK : st;
}

/*
 * One round.  Returns how long to wait before the next one, given the last such
 * answer.  Writers that need memory do not wait for it: they try themselves, and
 * get the error.
 */
static long
work_round(wide_db *db, long before)
{
	wide_status st = work(db);

	if (st == WIDE_OK)
		st = flush_by_distance(db);
	if (st == WIDE_POISONED)
		wt_error_check(st, NULL);
	if (st == WIDE_OK)
	{
		if (before > IDLE_MS)
			ereport(LOG, (errmsg("widetable: background work goes on")));
		return IDLE_MS;
	}
	/* nothing is half done; a full disk may get room again */
	ereport(before > IDLE_MS ? DEBUG1 : LOG,
			(errmsg("widetable: background work failed: %s", wide_error_text()),
			 errdetail("It is tried again until it succeeds."),
			 st == WIDE_NOSPACE ? errhint("Make room on the file system of directory \"%s\" in the "
										  "data directory.",
										  WT_DIRECTORY)
								: 0));
	return Min(before * 2, RETRY_MAX_MS);
}

/* Nothing tells us of DROP DATABASE: compare with pg_database. */
static void
drop_tables_of_dropped_databases(void)
{
	PG_TRY();
	{
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		drop_lost_tables(true);
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		/* the next time, then */
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
	}
	PG_END_TRY();
}

/*
 * Where it cannot be opened the log says why, and after a while another worker
 * has a try.  On a standby this takes until the promotion, and no transaction is
 * to be open for that long.
 */
static wide_db *
open_store(void)
{
	char *why = NULL;
	wide_db *db;
	bool standby = RecoveryInProgress();

	wt_store_follow();
	if (!standby)
		StartTransactionCommand();
	db = wt_store_db_try(&why);
	if (db == NULL)
	{
		ereport(LOG,
				(errmsg("widetable: the background worker cannot open the store"),
				 errdetail("%s", why)));
		/* the latch: a shutdown is not to wait for this */
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, RETRY_MAX_MS,
						 PG_WAIT_EXTENSION);
		CHECK_FOR_INTERRUPTS();
		proc_exit(1);
	}
	if (!standby)
		CommitTransactionCommand();
	return db;
}

void
wt_compaction_worker_main(Datum arg)
{
	wide_db *db;
	TimestampTz last_check = 0, next_work = 0;
	long wait = IDLE_MS;

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	if (!wt_background_process_announce(&wt_background_process_worker))
		proc_exit(0);
	wt_background_process_heartbeat();
	db = open_store();

	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();

		CHECK_FOR_INTERRUPTS();
		wt_background_process_heartbeat();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		pgstat_report_activity(STATE_RUNNING, "flush and compaction");
		/* being woken does not shorten the wait after a failure */
		if (now >= next_work)
		{
			wait = work_round(db, wait);
			next_work = wait > IDLE_MS ? TimestampTzPlusMilliseconds(GetCurrentTimestamp(), wait)
									   : 0;
		}
		if (TimestampDifferenceExceeds(last_check, now, DATABASE_CHECK_MS))
		{
			drop_tables_of_dropped_databases();
			last_check = now;
		}
		pgstat_report_activity(STATE_IDLE, NULL);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, IDLE_MS,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}
