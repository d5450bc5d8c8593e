/*
 * compaction_worker.c
 *		The worker: the background process that flushes memtables, compacts and
 *		removes sorted files, and drops the tables of dropped databases.
 *
 * It starts with the server if the library is preloaded, otherwise at the first use
 * of the store.  On a standby it does the same, while the keeper follows the log.
 *
 * It is connected to no database, so CREATE and DROP DATABASE do not wait for it.
 * It accepts interrupts while the engine works, because DROP DATABASE waits until
 * every process has passed a barrier.
 *
 * Without a worker the sessions that write do its work.  They also do it if the
 * worker is there but makes no progress (it was stopped, or waits for a disk); for
 * that it leaves a heartbeat in the anchor.
 *
 * Sleep: without work, and without a ring or another wake-up for ACTIVE_MS, the worker sleeps
 * for up to SLEEP_MS at a time, or until passing time makes work (wide_work_due).  Sessions
 * ring when they commit and when they release a snapshot, the engine when it has work
 * (background_process.h).  So everything that follows from what sessions do is seen at once,
 * and for ACTIVE_MS the worker looks each second, as for things that nothing announces:
 * transactions of sessions that do not use wide tables, and partly expired files.  An idle
 * standby sleeps too: replay_watch.c.
 *
 * Work that fails is tried again at growing intervals, with one line in the log for
 * a series of failures.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/store/compaction_worker.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/error.h"
#include "fdw/store/health.h"
#include "fdw/store/host.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/restartpoint.h"
#include "fdw/store/rest.h"
#include "fdw/store/store.h"
#include "fdw/store/time_mark.h"
#include "fdw/store/wait_event.h"
#include "fdw/store/wal_reader.h"

#define IDLE_MS			  1000	/* between checks for work, unless woken */
#define ACTIVE_MS		  12000 /* of nothing before it sleeps; above the engine's 10 s */
#define SLEEP_MS		  30000 /* between checks for work while it sleeps */
#define WAL_ACTIVE		  ((uint64) 16 * 1024 * 1024)  /* bytes of WAL between checks: not idle */
#define WAL_DISTANCE	  ((uint64) 256 * 1024 * 1024) /* bytes of WAL after which to flush */
#define DATABASE_CHECK_MS 10000						   /* between checks for dropped databases */
#define REFLUSH_MS		  100	/* between flushes for a restartpoint, at least */
#define RETRY_MAX_MS	  10000 /* between attempts of work that fails, at most */

PGDLLEXPORT void wt_compaction_worker_main(Datum arg);

static void (*drop_lost_tables)(bool report) = NULL;

void
wt_compaction_worker_on_databases(void (*callback)(bool report))
{
	drop_lost_tables = callback;
}

/* ------------------------------------------------------------------ main */

static TimestampTz last_active = 0; /* when something happened last */

/* Does all work there is, in units, and accepts interrupts between them. */
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
		last_active = GetCurrentTimestamp();
		if (st != WIDE_OK && st != WIDE_INTERRUPTED)
			return st;
	}
}

/*
 * On a standby the store must not need WAL from before a restartpoint for long: it is flushed for
 * each redo position, again while the log that is replayed has made more of it possible.
 */
static wide_status
flush_for_restartpoint(wide_db *db, XLogRecPtr needed)
{
	static XLogRecPtr flushed_at = InvalidXLogRecPtr;
	static TimestampTz last = 0;
	XLogRecPtr replayed = wt_anchor()->health.replayed;
	wide_status st;

	if (needed >= wt_restartpoint_redo() || flushed_at == replayed ||
		!TimestampDifferenceExceeds(last, GetCurrentTimestamp(), REFLUSH_MS))
		return WIDE_OK;
	st = wide_flush(db);
	last = GetCurrentTimestamp();
	if (st == WIDE_OK)
		flushed_at = replayed;
	return st == WIDE_INTERRUPTED ? WIDE_OK : st;
}

/* Flushes if the store needs much WAL: an idle store must not keep the WAL of a busy cluster, also
 * if no keeper runs. */
static wide_status
flush_by_distance(wide_db *db)
{
	XLogRecPtr needed = wt_replication_slot_needed(db);
	wide_status st;

	if (RecoveryInProgress())
		return flush_for_restartpoint(db, needed);
	if (needed == 0 || GetXLogInsertRecPtr() < needed + WAL_DISTANCE)
		return WIDE_OK;
	st = wide_flush(db);
	return st == WIDE_INTERRUPTED ? WIDE_OK : st;
}

/*
 * Does one round of work; wait_before: the last result.
 * Returns: time to the next round in ms; above IDLE_MS if this one has failed.
 * Sessions that need memtable space meanwhile do not wait for the worker: they try
 * to flush themselves, and get the error.
 */
static long
work_round(wide_db *db, long wait_before)
{
	wide_status st = WIDE_OK;

	/* see wal_replay.c */
	if (!wt_anchor()->left_out || !RecoveryInProgress())
	{
		st = work(db);
		if (st == WIDE_OK)
			st = flush_by_distance(db);
	}
	if (st == WIDE_POISONED)
		wt_error_check(st, NULL);
	if (st == WIDE_OK)
	{
		if (wait_before > IDLE_MS)
			ereport(LOG, (errmsg("widetable: background work succeeds again")));
		return IDLE_MS;
	}
	/* nothing is left half done, so it can be repeated; a full disk may get room again */
	ereport(wait_before > IDLE_MS ? DEBUG1 : LOG,
			(errmsg("widetable: background work failed: %s", wide_error_text()),
			 errdetail("It is retried until it succeeds."),
			 st == WIDE_NOSPACE ? errhint("Make room on the file system of directory \"%s\" in the "
										  "data directory.",
										  WT_DIRECTORY)
								: 0));
	return Min(wait_before * 2, RETRY_MAX_MS);
}

/* No hook sees DROP DATABASE in other sessions, so the catalog is compared with pg_database. */
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
		/* the next check tries again */
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
	}
	PG_END_TRY();
}

/* On a standby: waits until the keeper follows the log, or the server is promoted. */
static void
wait_for_keeper(void)
{
	while (RecoveryInProgress() && !wt_store_is_followed())
	{
		wt_background_process_check_interrupts();
		wt_host_wait_event(IDLE_MS, WT_WAIT_WORKER_IDLE);
	}
}

/*
 * Returns: the store.  If it cannot be opened, logs why and exits after a while; the
 * postmaster starts another worker, which tries again.
 */
static wide_db *
open_store(void)
{
	char *why = NULL;
	wide_db *db;

	wait_for_keeper();
	if (!RecoveryInProgress() && !wt_rest_has_work())
		wt_background_process_retire(&wt_background_process_worker, wt_rest_has_work);
	StartTransactionCommand();
	db = wt_store_db_try(&why);
	if (db == NULL)
	{
		wt_health_failed(why);
		ereport(LOG,
				(errmsg("widetable: the background worker cannot open the store"),
				 errdetail("%s", why)));
		/* on the latch, so that a shutdown ends the wait */
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		wt_host_wait_event(RETRY_MAX_MS, WT_WAIT_WORKER_IDLE);
		CHECK_FOR_INTERRUPTS();
		proc_exit(1);
	}
	CommitTransactionCommand();
	return db;
}

/* Returns: true if much WAL was written since the last call, by whomever: flush_by_distance() must
 * not be late. */
static bool
wal_grows(void)
{
	static XLogRecPtr last = InvalidXLogRecPtr;
	XLogRecPtr now = wt_wal_reader_limit();
	bool grows = now - last > WAL_ACTIVE;

	last = now;
	return grows;
}

/*
 * Waits for the next round.  announced: the worker had announced its sleep, and looked
 * for work after that. Returns: true if it is to announce its sleep before the next round.
 */
static bool
wait_for_round(wide_db *db, bool announced, bool failed)
{
	TimestampTz now = GetCurrentTimestamp();
	int64 due;
	bool sleepy;

	if (wal_grows())
		last_active = now;
	sleepy = !failed && TimestampDifferenceExceeds(last_active, now, ACTIVE_MS);
	due = sleepy ? wide_work_due(db) / 1000 : 0;
	if (!sleepy || due <= IDLE_MS)
	{
		wt_background_process_set_asleep(false);
		(void) wt_host_wait_event(IDLE_MS, WT_WAIT_WORKER_IDLE);
		return false;
	}
	if (announced && wt_host_wait_event((long) Min(due + 1, SLEEP_MS), WT_WAIT_WORKER_IDLE))
	{
		/* rung, or woken otherwise: a barrier of DROP DATABASE, for example */
		last_active = GetCurrentTimestamp();
		wt_background_process_set_asleep(false);
		return false;
	}
	return true;
}

void
wt_compaction_worker_main(Datum arg)
{
	wide_db *db;
	TimestampTz last_check = 0, next_work = 0;
	long wait = IDLE_MS;
	bool sleeps = false;

	wt_background_process_start(&wt_background_process_worker, die);
	wt_background_process_heartbeat();
	db = open_store();
	last_active = GetCurrentTimestamp();

	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();

		wt_background_process_check_interrupts();
		if (sleeps)
			wt_background_process_set_asleep(true);
		wt_background_process_heartbeat();
		if (wt_rest_is_closed())
			wt_background_process_retire(&wt_background_process_worker, wt_rest_has_work);
		pgstat_report_activity(STATE_RUNNING, "flush and compaction");
		/* a wake-up does not shorten the wait after a failure */
		if (now >= next_work)
		{
			wait = work_round(db, wait);
			next_work = wait > IDLE_MS ? TimestampTzPlusMilliseconds(GetCurrentTimestamp(), wait)
									   : 0;
		}
		if (TimestampDifferenceExceeds(last_check, now, DATABASE_CHECK_MS) && !RecoveryInProgress())
		{
			drop_tables_of_dropped_databases();
			last_check = now;
		}
		if (!RecoveryInProgress())
			wt_time_mark_write(db);
		pgstat_report_activity(STATE_IDLE, NULL);
		sleeps = wait_for_round(db, sleeps, wait > IDLE_MS);
	}
}
