/*
 * store.c
 *		Opens the store in this process: creates or maps the shared segment, and
 *		recovers the store if no process has done so.
 *
 * Invariants
 *	- The anchor is new (zero) exactly once in each incarnation of shared memory.
 *	  The process that finds no segment in it creates one and recovers the store.
 *	- At most one process does that: anchor->opener, which is reset after an error
 *	  and at exit.  The others wait with interrupts enabled: a lightweight lock
 *	  would make a long recovery impossible to cancel.
 *	- A poisoned segment is answered with PANIC: only the postmaster can create
 *	  shared memory anew.
 *	- A segment stays mapped to the end of the process.
 *
 * Locking: the anchor's mutex for its handle, size and opener; AddinShmemInitLock for
 * the segment in main shared memory.
 */
#include "postgres.h"

#include "fdw/store/store.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "storage/procarray.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/beginning.h"
#include "fdw/store/counter_file.h"
#include "fdw/store/error.h"
#include "fdw/store/health.h"
#include "fdw/store/host.h"
#include "fdw/store/location.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/segment.h"
#include "fdw/store/settings.h"
#include "fdw/store/state_file.h"
#include "fdw/store/upgrade.h"
#include "fdw/store/wait_event.h"
#include "fdw/store/wal.h"
#include "fdw/store/wal_failure.h"
#include "fdw/store/wal_reader.h"
#include "fdw/store/wal_replay.h"

static void *segment_base = NULL; /* address of the segment in this process; NULL: not mapped */
static wide_db *the_db = NULL;	  /* this process's handle; NULL: the store is not open here */
static void (*before_detach)(void) = NULL;
static bool follower = false;		 /* this process follows the log on a standby */
static bool exit_registered = false; /* register_exit() was called */

#define SHUT_OUT_MS	  2000	/* others have so long to end by themselves */
#define SHUT_OUT_MOST 1000	/* of them are ended at a time */
#define KEEPER_MS	  10000 /* the keeper has so long to start */

void
wt_store_request(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	wt_segment_request();
	wt_background_process_register(&wt_background_process_worker);
	wt_background_process_register(&wt_background_process_keeper);
	wt_replication_slot_register_startup(wt_beginning_note_recovery);
}

/* --------------------------------------------------------------- opening */

void
wt_store_on_detach(void (*callback)(void))
{
	before_detach = callback;
}

static void
detach_at_exit(int code, Datum arg)
{
	wide_db *db = the_db;
	WtAnchor *a = wt_anchor_if_known();

	/* exit callbacks run in reverse order: the transaction is not aborted yet, and uses the
	 * handle */
	if (db != NULL && before_detach != NULL)
		before_detach();
	the_db = NULL;
	if (a != NULL && a->opener == MyProcPid)
		a->opener = 0;
	if (db != NULL)
		wide_detach(db);
	wt_background_process_ring();
}

/* For errors about damaged files. */
static bool
family_names(wide_family_id id, wide_family *family, wide_table *table)
{
	return the_db != NULL && wide_family_by_id(the_db, id, family, table) == WIDE_OK;
}

/* Sets the_db. */
static void
attach_to_segment(void)
{
	wide_host host;
	wide_log log = wt_wal_log(&the_db);

	wt_host_fill(&host);
	wt_wait_event_init();
	wt_error_check(wide_attach(segment_base, WT_DIRECTORY, &host, &log, NULL, &the_db),
				   "could not attach to the store");
	wide_time_reads(the_db, track_io_timing);
	wt_error_set_names(family_names);
}

static void
attach(void)
{
	if (wide_segment_state(segment_base) == WIDE_EMPTY)
	{
		wt_location_prepare();
		wt_beginning_clear(wt_location_files());
	}
	attach_to_segment();
}

static void
check_requirements(void)
{
	/* what pg_upgrade makes is not complete yet, and what it reads must stay as it is */
	if (IsBinaryUpgrade)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("wide tables cannot be used during pg_upgrade")));
	if (wal_level < WAL_LEVEL_REPLICA)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("widetable needs wal_level \"replica\" or \"logical\""),
				 errhint("Set wal_level = replica in postgresql.conf and restart the server.")));
	wt_location_check_link();
}

static void
register_exit(void)
{
	/* a FATAL error ends the process without PG_FINALLY: the others would wait for ever */
	if (!exit_registered)
		before_shmem_exit(detach_at_exit, (Datum) 0);
	exit_registered = true;
}

void
wt_store_become_opener(void)
{
	WtAnchor *a = wt_anchor();

	register_exit();
	for (bool waited = false;; waited = true)
	{
		pid_t opener;

		SpinLockAcquire(&a->mutex);
		if (a->opener == 0)
			a->opener = MyProcPid;
		opener = a->opener;
		SpinLockRelease(&a->mutex);
		if (opener == MyProcPid)
		{
			/* checkpoints wait for what is recovered, and for a store that is new */
			wt_background_process_wake(&a->keeper);
			return;
		}
		/* a keeper that follows WAL opens the store when the server is promoted */
		if (!waited)
			wt_background_process_wake(&a->keeper);
		wt_host_wait_event(20, wt_wait_event(WT_WAIT_OPEN));
		CHECK_FOR_INTERRUPTS();
	}
}

void
wt_store_end_opener(void)
{
	WtAnchor *a = wt_anchor();

	SpinLockAcquire(&a->mutex);
	a->opener = 0;
	SpinLockRelease(&a->mutex);
}

/* Raises the failure of wide_recover(), with a hint.  text: its message. */
static void
report_open_failure(wide_status st, const char *text)
{
	wt_health_failed(text);
	if (st == WIDE_CONFLICT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the store of widetable does not belong to this server's WAL"),
				 errdetail("%s", text),
				 errhint("Directory \"%s\" in the data directory is of another server or of "
						 "another time. Put the right one in its place; or move it away and SELECT "
						 "widetable.begin_empty(), to begin with empty tables. Nothing in it has "
						 "been changed. For pg_upgrade it has to be prepared, see doc/upgrade.md.",
						 WT_DIRECTORY)));
	if (st == WIDE_IO && wt_wal_failure_text()[0] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("WAL that wide tables need is missing"),
				 errdetail("%s", text),
				 errhint("Copy its segments from an archive to pg_wal and try again, or restore "
						 "the base backup again with \"widetable\" in shared_preload_libraries. If "
						 "they are lost, SET widetable.ignore_missing_wal = on opens the store "
						 "without them.")));
	ereport(ERROR,
			(errcode(st == WIDE_CORRUPT	  ? ERRCODE_DATA_CORRUPTED
					 : st == WIDE_NOSPACE ? ERRCODE_DISK_FULL
										  : ERRCODE_IO_ERROR),
			 errmsg("could not open the store of widetable"),
			 errdetail("%s", text),
			 errhint("The store is in directory \"%s\" of the data directory.", WT_DIRECTORY)));
}

/* Leaves the processes that are there.  Returns: how many. */
static int
living(int *pids, int n)
{
	int left = 0;

	for (int i = 0; i < n; i++)
		if (BackendPidGetProc(pids[i]) != NULL)
			pids[left++] = pids[i];
	return left;
}

/*
 * The log is not followed any more, and what was replayed is lost with the process that did it. The
 * segment has to be formatted again, which others use: they find that it is closed, or are ended.
 * Returns when no other process uses it.
 */
static void
shut_out(wide_db *db)
{
	TimestampTz since = GetCurrentTimestamp();
	int pids[SHUT_OUT_MOST], n;

	while ((n = wide_follow_close(db, pids, SHUT_OUT_MOST)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		/* the place of a process that was late in join_followed() is left over */
		if (n <= SHUT_OUT_MOST && (n = living(pids, n)) == 0)
			return;
		if (TimestampDifferenceExceeds(since, GetCurrentTimestamp(), SHUT_OUT_MS))
			for (int i = 0; i < Min(n, SHUT_OUT_MOST); i++)
				(void) kill(pids[i], SIGTERM);
		wt_host_wait_event(50, wt_wait_event(WT_WAIT_OPEN));
	}
}

/*
 * Recovers the store in the segment that this process, the opener, is attached to.  A
 * failure detaches and formats the segment again: the next attempt begins from nothing.
 * Returns: false if it was interrupted by something that raises no error.
 */
static bool
recover(WtAnchor *a)
{
	wide_status st;
	char *text;

	/* a store that begins is there from then on: a restart must not begin it anew */
	wt_wal_replay_on_follow(wt_beginning_done);
	st = wide_recover(the_db);
	if (st == WIDE_OK)
	{
		/* so that the next recovery does not need the missing WAL */
		if (wt_wal_replay_skipped())
			wt_error_check(wide_flush(the_db), "could not flush");
		wt_replication_slot_reserve(wt_replication_slot_needed(the_db));
		wt_counter_file_load(the_db);
		wt_beginning_done();
		pg_atomic_write_u32(&a->resting, 0);
		wt_health_recovered();
		wt_upgrade_forget();
		return true;
	}
	text = pstrdup((st == WIDE_IO || st == WIDE_CONFLICT) && wt_wal_failure_text()[0] != '\0'
					   ? wt_wal_failure_text()
					   : wide_error_text());
	if (wide_segment_state(segment_base) == WIDE_FOLLOWING)
	{
		CHECK_FOR_INTERRUPTS();
		shut_out(the_db);
	}
	wide_detach(the_db);
	the_db = NULL;
	wt_segment_format();
	if (st == WIDE_CONFLICT && !XLogRecPtrIsInvalid(wt_wal_replay_begun_again()))
		wt_beginning_of_another(wt_wal_replay_begun_again());
	else if (st != WIDE_INTERRUPTED)
	{
		if (st == WIDE_CONFLICT)
			wt_beginning_failed();
		report_open_failure(st, text);
	}
	CHECK_FOR_INTERRUPTS();
	return false;
}

/* The process that followed the log has ended.  Requires: this process is the opener. */
static void
clear_followed(void)
{
	attach_to_segment();
	shut_out(the_db);
	wide_detach(the_db);
	the_db = NULL;
	wt_segment_format();
}

/* Creates or maps the segment and sets the_db.  Requires: this process is the opener. */
static void
open_segment(WtAnchor *a)
{
	wide_state state;

	segment_base = wt_segment_map();
	state = segment_base != NULL ? wide_segment_state(segment_base) : WIDE_EMPTY;
	if (state == WIDE_DEAD)
		elog(PANIC, "the shared memory of widetable is damaged");
	if (state == WIDE_RUNNING)
	{
		attach();
		return;
	}
	if (state == WIDE_FOLLOWING || (state == WIDE_EMPTY && a->following))
		clear_followed();
	a->following = false;
	do
	{
		wt_beginning_prepare();
		wt_upgrade_forget_own();
		if (segment_base == NULL || a->in_main)
		{
			wt_segment_create();
			segment_base = wt_segment_map();
		}
		a->following = RecoveryInProgress();
		attach();
	} while (!recover(a));
}

/*
 * Removes the files of the store, and its directories.  elevel: for one that cannot be removed.
 * Requires: this process is the opener, and no process has the store open.
 * Errors: those of the file system.
 */
static void
remove_files(int elevel)
{
	const char *files = wt_location_files();

	if (files != NULL)
		wt_state_file_clear(files);
	wt_state_file_clear(WT_DIRECTORY);
	if (files != NULL)
		wt_location_remove(files);
	wt_anchor()->files_tablespace = InvalidOid;
	wt_upgrade_cancel(elevel);
	(void) unlink(WT_DIRECTORY "/recovery_target");
	if (rmdir(WT_DIRECTORY) != 0 && errno != ENOENT)
		ereport(elevel,
				(errcode_for_file_access(),
				 errmsg("could not remove directory \"%s\": %m", WT_DIRECTORY)));
}

/* After an error: a store that could not be made leaves nothing.  Raises no error. */
static void
undo_beginning(void)
{
	WtErrorPoint before = wt_error_point();

	PG_TRY();
	{
		remove_files(LOG);
		wt_beginning_undo();
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		/* the next attempt goes on from here */
		ereport(LOG, (errmsg("widetable: %s", e->message)));
		FreeErrorData(e);
	}
	PG_END_TRY();
}

static void
open_store(void)
{
	WtErrorPoint before = wt_error_point();
	ErrorData *volatile failure = NULL;

	wt_store_become_opener();
	PG_TRY();
	{
		open_segment(wt_anchor());
	}
	PG_CATCH();
	{
		failure = wt_error_take(&before);
	}
	PG_END_TRY();
	if (failure != NULL && wt_beginning_is_under_way())
		undo_beginning();
	wt_store_end_opener();
	if (failure != NULL)
		ReThrowError(failure);
}

/* ---------------------------------------------------------- on a standby */

void
wt_store_check_followed(void)
{
	WtAnchor *a = wt_anchor();
	static TimestampTz alone = 0; /* since when no keeper runs; 0: one does */
	static TimestampTz looked = 0;
	TimestampTz now = GetCurrentTimestamp();
	WtHealth h;

	SpinLockAcquire(&a->mutex);
	h = a->health;
	SpinLockRelease(&a->mutex);
	if (h.failing)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("wide tables cannot be read on this standby at present"),
				 errdetail("The log cannot be followed: %s", h.error),
				 errhint("View widetable.pg_stat_widetable_health shows when it is again.")));
	/* an earlier wait may have ended before one ran */
	if (a->keeper.pid != 0 || TimestampDifferenceExceeds(looked, now, KEEPER_MS))
		alone = 0;
	looked = now;
	if (a->keeper.pid == 0 && alone == 0)
		alone = now;
	else if (a->keeper.pid == 0 &&
			 (wt_settings_workers == 0 || TimestampDifferenceExceeds(alone, now, KEEPER_MS)))
	{
		alone = 0;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("wide tables cannot be read on this standby"),
				 errdetail("No process follows the log: \"widetable keeper\" does not run."),
				 wt_settings_workers == 0
					 ? errhint("Set widetable.workers to 1 and restart the server.")
					 : errhint("Increase max_worker_processes, or see the server's log.")));
	}
}

/* The process that followed the log has ended, and the segment is about to be formatted again. */
static void
end_closed(void)
{
	ereport(FATAL,
			(errcode(ERRCODE_ADMIN_SHUTDOWN),
			 errmsg("the log of wide tables is followed from an earlier position"),
			 errdetail("The process that followed it has ended, with all it had in memory."),
			 errhint("Connect again.")));
}

/*
 * Maps the segment of the store and sets the_db, when the keeper follows the log.  Returns: false
 * if the server is no standby any more.
 */
static bool
join_followed(void)
{
	WtAnchor *a = wt_anchor();

	while (RecoveryInProgress())
	{
		uint32 formats = pg_atomic_read_u32(&a->formats);
		wide_state state;

		/* before the state: a segment that is followed is closed before it is formatted */
		pg_read_barrier();
		segment_base = wt_segment_map();
		state = segment_base != NULL ? wide_segment_state(segment_base) : WIDE_EMPTY;
		if (state == WIDE_DEAD)
			elog(PANIC, "the shared memory of widetable is damaged");
		if (state == WIDE_FOLLOWING || state == WIDE_RUNNING)
		{
			attach_to_segment();
			/* a process that shuts others out sets the state first and then looks for them */
			state = wide_segment_state(segment_base);
			if (pg_atomic_read_u32(&a->formats) != formats)
			{
				/* too late: this process's place may be another's by now */
				the_db = NULL;
				end_closed();
			}
			if (state == WIDE_FOLLOWING || state == WIDE_RUNNING)
				return true;
			wide_detach(the_db);
			the_db = NULL;
		}
		wt_background_process_ensure(&wt_background_process_keeper);
		wt_background_process_ensure(&wt_background_process_worker);
		wt_store_check_followed();
		wt_background_process_wake(&a->keeper);
		wt_host_wait_event(10, wt_wait_event(WT_WAIT_OPEN));
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* The server was promoted: waits until the keeper has ended the recovery of the store. */
static void
wait_for_end_of_recovery(void)
{
	while (wide_segment_state(segment_base) == WIDE_FOLLOWING && !RecoveryInProgress())
	{
		wide_status st = wide_follow_wait(the_db, PG_UINT64_MAX, 100);

		if (st != WIDE_INTERRUPTED)
			wt_error_check(st, "could not open the store");
		CHECK_FOR_INTERRUPTS();
	}
}

/* Opens the store, or waits until it can be used. */
static void
make_usable(void)
{
	if (the_db == NULL)
	{
		check_requirements();
		register_exit();
		if (follower || !RecoveryInProgress() || !join_followed())
			open_store();
		wt_background_process_ensure(&wt_background_process_worker);
		wt_background_process_ensure(&wt_background_process_keeper);
		wt_background_process_wake(&wt_anchor()->keeper);
	}
	if (follower)
		return;
	wait_for_end_of_recovery();
	if (wide_segment_state(segment_base) == WIDE_EMPTY)
		end_closed();
}

wide_db *
wt_store_db(void)
{
	if (unlikely(the_db == NULL || wide_segment_state(segment_base) != WIDE_RUNNING))
		make_usable();
	return the_db;
}

/* Returns: true if the store is not at rest, or another process has it open. */
static bool
is_in_use(void)
{
	wide_stats s;

	if (the_db == NULL)
		return wt_store_runs();
	wide_statistics(the_db, &s);
	return s.processes > 1 || pg_atomic_read_u32(&wt_anchor()->resting) == 0;
}

/* Requires: this process is the opener, and no other process has the store open. */
static void
remove_store(WtAnchor *a)
{
	if (the_db != NULL)
	{
		if (before_detach != NULL)
			before_detach();
		wide_detach(the_db);
		the_db = NULL;
		wt_segment_format();
	}
	else
		wt_location_find();
	remove_files(WARNING);
	wt_counter_file_remove();
	wt_replication_slot_drop();
	wt_state_file_remove();
	pg_atomic_write_u32(&a->resting, 0);
}

bool
wt_store_remove(void)
{
	volatile bool removed = false;

	wt_store_become_opener();
	PG_TRY();
	{
		/* a process that attaches, or ends the rest, is the opener meanwhile */
		if (!is_in_use())
		{
			remove_store(wt_anchor());
			removed = true;
		}
	}
	PG_FINALLY();
	{
		wt_store_end_opener();
	}
	PG_END_TRY();
	return removed;
}

void
wt_store_follow(bool on)
{
	follower = on;
}

bool
wt_store_is_followed(void)
{
	WtAnchor *a = wt_anchor();

	if (a->in_main || a->handle != 0)
		segment_base = wt_segment_map();
	return segment_base != NULL && wide_segment_state(segment_base) == WIDE_FOLLOWING;
}

bool
wt_store_runs(void)
{
	WtAnchor *a = wt_anchor();

	if (a->in_main || a->handle != 0)
		segment_base = wt_segment_map();
	return segment_base != NULL && wide_segment_state(segment_base) == WIDE_RUNNING;
}

wide_db *
wt_store_db_if_open(void)
{
	return the_db;
}

wide_db *
wt_store_db_try(char **why)
{
	WtErrorPoint before = wt_error_point();

	if (the_db != NULL)
		return the_db;
	PG_TRY();
	{
		wt_store_db();
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		if (e->sqlerrcode == ERRCODE_QUERY_CANCELED || e->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
			ReThrowError(e);
		*why = e->detail ? psprintf("%s: %s", e->message, e->detail) : pstrdup(e->message);
		FreeErrorData(e);
	}
	PG_END_TRY();
	return the_db;
}

/* After a restore: whether the store begins in the log that was replayed. */
static bool
begins_in_log(void)
{
	volatile bool found = false;

	wt_store_become_opener();
	PG_TRY();
	{
		found = wt_beginning_search();
	}
	PG_FINALLY();
	{
		wt_store_end_opener();
	}
	PG_END_TRY();
	return found;
}

/* On a standby without a store: waits until the keeper has looked for the beginning of one in all
 * that is replayed.  Returns: whether there is one. */
static bool
is_found_in_log(void)
{
	WtAnchor *a = wt_anchor();
	XLogRecPtr lsn = wt_wal_reader_limit();
	struct stat st;

	while (RecoveryInProgress() && pg_atomic_read_u64(&a->no_store_upto) < lsn)
	{
		if (stat(WT_DIRECTORY, &st) == 0 || wt_state_file_exists())
			return true;
		wt_background_process_ensure(&wt_background_process_keeper);
		wt_store_check_followed();
		wt_background_process_wake(&a->keeper);
		wt_host_wait_event(10, wt_wait_event(WT_WAIT_OPEN));
		CHECK_FOR_INTERRUPTS();
	}
	return stat(WT_DIRECTORY, &st) == 0 || wt_state_file_exists();
}

bool
wt_store_exists(void)
{
	struct stat st;

	if (the_db != NULL || stat(WT_DIRECTORY, &st) == 0 || wt_state_file_exists())
		return true;
	if (RecoveryInProgress())
		return follower ? false : is_found_in_log();
	return wt_beginning_may_be_in_log() && begins_in_log();
}
