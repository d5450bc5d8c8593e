/*
 * worker.c
 *		The background worker: flush, compaction, deletion of files, tables of
 *		dropped databases.
 *
 * It has no database connection (CREATE and DROP DATABASE do not wait for it)
 * and honours interrupts between cells of the engine's work (DROP DATABASE
 * waits for every process to accept a barrier).  It is started at first use,
 * or with the server when the library is preloaded.  Without it the writers do
 * its work themselves.
 */
#include "store.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define IDLE_MS			1000	/* between looks for work when nobody wakes us */
#define WAL_DISTANCE	((uint64) 256 * 1024 * 1024)	/* flush when that much WAL waits for us */
#define DATABASE_CHECK_MS	60000	/* between looks for tables of dropped databases */

PGDLLEXPORT void wt_worker_main(Datum arg);

static void
fill_worker(BackgroundWorker *w)
{
	memset(w, 0, sizeof(*w));
	w->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	w->bgw_start_time = BgWorkerStart_RecoveryFinished;
	w->bgw_restart_time = 1;
	strlcpy(w->bgw_library_name, "widetable", sizeof(w->bgw_library_name));
	strlcpy(w->bgw_function_name, "wt_worker_main", sizeof(w->bgw_function_name));
	strlcpy(w->bgw_name, "widetable worker", sizeof(w->bgw_name));
	strlcpy(w->bgw_type, "widetable worker", sizeof(w->bgw_type));
}

void
wt_worker_register_static(void)
{
	BackgroundWorker w;

	if (wt_workers == 0)
		return;
	fill_worker(&w);
	RegisterBackgroundWorker(&w);
}

void
wt_worker_ensure(void)
{
	WtAnchor   *a = wt_anchor();
	BackgroundWorker w;
	TimestampTz now = GetCurrentTimestamp();
	bool		mine = false;

	if (wt_workers == 0 || wt_in_background_worker || a->worker_pid != 0)
		return;
	SpinLockAcquire(&a->mutex);
	/* it needs a moment to come up, and may be refused: ask at most every 10 s */
	if (a->worker_pid == 0 && now - a->worker_started > 10 * USECS_PER_SEC)
	{
		a->worker_started = now;
		mine = true;
	}
	SpinLockRelease(&a->mutex);
	if (!mine || a->in_main)
		return;
	fill_worker(&w);
	if (!RegisterDynamicBackgroundWorker(&w, NULL))
		ereport(LOG,
				(errmsg("widetable could not start its background worker"),
				 errdetail("Sessions that write do its work meanwhile."),
				 errhint("Increase max_worker_processes.")));
}

/* ------------------------------------------------------------------ main */

static void
forget_worker(int code, Datum arg)
{
	WtAnchor   *a = wt_anchor();

	SpinLockAcquire(&a->mutex);
	if (a->worker_pid == MyProcPid)
	{
		a->worker_pid = 0;
		a->worker_procno = -1;
	}
	SpinLockRelease(&a->mutex);
}

/* false: another one runs already */
static bool
announce(void)
{
	WtAnchor   *a = wt_anchor();
	bool		first;

	SpinLockAcquire(&a->mutex);
	first = a->worker_pid == 0;
	if (first)
	{
		a->worker_pid = MyProcPid;
		a->worker_procno = MyProc - ProcGlobal->allProcs;
	}
	SpinLockRelease(&a->mutex);
	if (first)
		before_shmem_exit(forget_worker, (Datum) 0);
	return first;
}

/* All work there is, in units; interrupts between them. */
static void
work(wide_db *db)
{
	for (;;)
	{
		wide_status st;

		CHECK_FOR_INTERRUPTS();
		st = wide_work(db);
		if (st == WIDE_END)
			return;
		if (st == WIDE_INTERRUPTED)
			continue;
		if (st == WIDE_POISONED)
			wt_check(st, NULL);
		if (st != WIDE_OK)
		{
			/* nothing is half done; a full disk may get room again */
			ereport(LOG, (errmsg("widetable: background work failed: %s", wide_error_text())));
			return;
		}
	}
}

/* An idle store must not keep the WAL of a busy cluster. */
static void
flush_by_distance(wide_db *db)
{
	wide_stats	s;
	wide_status st;

	wide_statistics(db, &s);
	if (s.restart_lsn == 0 || (uint64) GetXLogInsertRecPtr() < s.restart_lsn + WAL_DISTANCE)
		return;
	st = wide_flush(db);
	if (st == WIDE_POISONED)
		wt_check(st, NULL);
	if (st != WIDE_OK && st != WIDE_INTERRUPTED)
		ereport(LOG, (errmsg("widetable: flush failed: %s", wide_error_text())));
}

/* Nothing tells us of DROP DATABASE: compare with pg_database. */
static void
drop_tables_of_dropped_databases(wide_db *db)
{
	uint32		cursor = 0;
	wide_table	t;

	if (wide_table_next(db, &cursor, &t) != WIDE_OK)
		return;
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	cursor = 0;
	while (wide_table_next(db, &cursor, &t) == WIDE_OK)
	{
		if (SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(t.space)))
			continue;
		ereport(LOG, (errmsg("widetable: removing table \"%s\" of a dropped database", t.name)));
		wt_check(wide_batch_drop_table(wt_batch(true), t.id), "could not drop a table");
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
}

void
wt_worker_main(Datum arg)
{
	wide_db    *db;
	TimestampTz last_check;

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	if (!announce())
		proc_exit(0);
	StartTransactionCommand();
	db = wt_db();
	CommitTransactionCommand();
	last_check = GetCurrentTimestamp();

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		pgstat_report_activity(STATE_RUNNING, "flush and compaction");
		work(db);
		flush_by_distance(db);
		if (TimestampDifferenceExceeds(last_check, GetCurrentTimestamp(), DATABASE_CHECK_MS))
		{
			drop_tables_of_dropped_databases(db);
			last_check = GetCurrentTimestamp();
		}
		pgstat_report_activity(STATE_IDLE, NULL);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, IDLE_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}
