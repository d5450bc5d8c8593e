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

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "access/xlog.h"
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "storage/dsm_impl.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/beginning.h"
#include "fdw/store/counter_file.h"
#include "fdw/store/error.h"
#include "fdw/store/health.h"
#include "fdw/store/host.h"
#include "fdw/store/location.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/settings.h"
#include "fdw/store/state_file.h"
#include "fdw/store/upgrade.h"
#include "fdw/store/wait_event.h"
#include "fdw/store/wal.h"

static void *segment_base = NULL; /* address of the segment in this process */
static void *main_segment = NULL; /* preloaded: its address in main shared memory */
static wide_db *the_db = NULL;	  /* this process's handle; NULL: the store is not open here */
static void (*before_detach)(void) = NULL;
static bool follower = false; /* this process opens the store on a standby as well */

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/* ----------------------------------------------------- configuration */

/* The configuration from the settings, made smaller to fit limit bytes; 0: no limit. */
static void
configure(wide_config *config, Size limit)
{
	*config = (wide_config) {.memtable_size = (size_t) wt_settings_memtable_size_kb * 1024,
							 .cache_size = (size_t) wt_settings_cache_size_kb * 1024,
							 .max_processes = MaxBackends + max_worker_processes + 8,
							 .max_tables = wt_settings_max_tables};
	wide_config_fit(config, limit);
}

static Size
segment_bytes(void)
{
	wide_config config;

	configure(&config, 0);
	return wide_segment_size(&config);
}

/* ---------------------------------------------------------- preloading */

static void
request_shmem(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(WtAnchor)) + segment_bytes() + PG_CACHE_LINE_SIZE);
}

/* For a store that was closed when this server was last shut down (beginning.c). */
static void
note_last_use(WtAnchor *a)
{
	bool whole;
	ControlFileData *c = get_controlfile(DataDir, &whole);

	a->was_primary = whole && (c->state == DB_SHUTDOWNED || c->state == DB_IN_PRODUCTION);
	a->was_timeline = c->checkPointCopy.ThisTimeLineID;
	pfree(c);
}

static void
startup_shmem(void)
{
	bool found;
	WtAnchor *a;

	/* after a crash the postmaster calls this again, with new shared memory */
	wt_anchor_forget();
	a = wt_anchor();
	note_last_use(a);
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	main_segment = ShmemInitStruct("widetable segment", segment_bytes() + PG_CACHE_LINE_SIZE,
								   &found);
	main_segment = (void *) TYPEALIGN(PG_CACHE_LINE_SIZE, main_segment);
	if (!found)
	{
		a->in_main = true;
		a->size = segment_bytes();
	}
	LWLockRelease(AddinShmemInitLock);
}

void
wt_store_request(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_shmem;
	wt_background_process_register(&wt_background_process_worker);
	wt_background_process_register(&wt_background_process_keeper);
	wt_replication_slot_register_startup(wt_beginning_note_recovery);
}

/* ------------------------------------------------------------- segment */

#define SEGMENT_HINT                                                                               \
	"Put widetable in shared_preload_libraries: then PostgreSQL's main shared memory is used. Or " \
	"make /dev/shm larger (docker run --shm-size=512m, or mount -o remount,size=512m /dev/shm), "  \
	"or set dynamic_shared_memory_type = mmap."

/*
 * Returns: the size that a DSM segment may have, at most the wanted one, in bytes.
 * With POSIX shared memory the segment is a file on /dev/shm, which containers limit
 * to 64 MB.  Parallel query needs space there too, so half of what is free is the limit.
 * *most: what is free, or SIZE_MAX.
 */
static Size
segment_limit(Size wanted, Size *most)
{
	struct statvfs fs;
	Size room;

	*most = SIZE_MAX;
	if (dynamic_shared_memory_type != DSM_IMPL_POSIX || statvfs("/dev/shm", &fs) != 0)
		return wanted;
	*most = (Size) fs.f_bavail * fs.f_frsize;
	room = *most / 2;
	return Min(wanted, room);
}

/* Fills in the configuration of a segment outside of main shared memory, made smaller to fit.
 * Errors: 53100 if even the smallest one does not. */
static void
configure_to_fit(wide_config *config)
{
	Size wanted = segment_bytes(), most, limit = segment_limit(wanted, &most), size;

	configure(config, limit);
	size = wide_segment_size(config);
	if (size > most)
		ereport(ERROR,
				(errcode(ERRCODE_DISK_FULL),
				 errmsg("/dev/shm has too little room for the shared memory of widetable"),
				 errdetail("%zu kB are free, and at least %zu kB are needed.", most / 1024,
						   size / 1024),
				 errhint(SEGMENT_HINT)));
	if (limit < wanted)
		ereport(LOG,
				(errmsg("widetable: /dev/shm has too little room for a segment of %zu MB, using "
						"%zu MB, for %u tables",
						wanted / (1024 * 1024), size / (1024 * 1024), config->max_tables),
				 errhint("Make /dev/shm larger, or set widetable.memtable_size and "
						 "widetable.cache_size lower, or put widetable in "
						 "shared_preload_libraries.")));
}

/* As dsm_create(), with a hint what to set if it fails. */
static dsm_segment *
new_segment(Size size)
{
	MemoryContext caller = CurrentMemoryContext;
	dsm_segment *volatile seg = NULL;

	PG_TRY();
	{
		seg = dsm_create(size, 0);
	}
	PG_CATCH();
	{
		ErrorData *e;

		MemoryContextSwitchTo(caller);
		e = CopyErrorData();
		FlushErrorState();
		if (e->hint == NULL && e->sqlerrcode != ERRCODE_QUERY_CANCELED)
			e->hint = SEGMENT_HINT;
		ReThrowError(e);
	}
	PG_END_TRY();
	return seg;
}

/* Creates and formats the segment, or formats the one in main shared memory. */
static void
create_segment(WtAnchor *a)
{
	wide_config config;
	dsm_segment *seg = NULL;
	void *base = main_segment;
	Size size;

	if (a->in_main)
		configure(&config, 0);
	else
		configure_to_fit(&config);
	size = wide_segment_size(&config);
	if (!a->in_main)
	{
		seg = new_segment(size);
		base = dsm_segment_address(seg);
	}
	wt_error_check(wide_segment_format(base, &config), "could not format shared memory");
	if (seg != NULL)
	{
		/* it outlives the statement, and this process */
		dsm_pin_segment(seg);
		dsm_pin_mapping(seg);
		SpinLockAcquire(&a->mutex);
		a->handle = dsm_segment_handle(seg);
		a->size = size;
		SpinLockRelease(&a->mutex);
	}
	segment_base = base;
}

/* Maps the segment, if there is one and this process has not mapped it yet. */
static void
map_segment(WtAnchor *a)
{
	if (segment_base != NULL)
		return;
	if (a->in_main)
		segment_base = main_segment;
	else if (a->handle != 0)
	{
		dsm_segment *seg = dsm_attach(a->handle);

		if (seg == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("could not map the shared memory of widetable")));
		dsm_pin_mapping(seg);
		segment_base = dsm_segment_address(seg);
	}
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

static void
attach(void)
{
	wide_host host;
	wide_log log = wt_wal_log(&the_db);

	if (wide_segment_state(segment_base) != WIDE_RUNNING)
	{
		wt_location_prepare();
		wt_beginning_clear(wt_location_files());
	}
	wt_host_fill(&host);
	wt_wait_event_init();
	wt_error_check(wide_attach(segment_base, WT_DIRECTORY, &host, &log, NULL, &the_db),
				   "could not attach to the store");
	wide_time_reads(the_db, track_io_timing);
	wt_error_set_names(family_names);
}

static void
check_requirements(void)
{
	/* what pg_upgrade makes is not complete yet, and what it reads must stay as it is */
	if (IsBinaryUpgrade)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("wide tables cannot be used during pg_upgrade")));
	if (RecoveryInProgress() && !follower)
	{
		/* the worker replays WAL here, so that WAL need not be kept until the promotion; or looks
		 * for the beginning of the store */
		wt_background_process_ensure(&wt_background_process_worker);
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("wide tables cannot be used during recovery"),
				 errdetail("This server is a standby."),
				 errhint("Use them on the primary server, or promote this one.")));
	}
	if (wal_level < WAL_LEVEL_REPLICA)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("widetable needs wal_level \"replica\" or \"logical\""),
				 errhint("Set wal_level = replica in postgresql.conf and restart the server.")));
	wt_location_check_link();
}

void
wt_store_become_opener(void)
{
	WtAnchor *a = wt_anchor();
	static bool registered = false;

	/* a FATAL error ends the process without PG_FINALLY: the others would wait for ever */
	if (!registered)
		before_shmem_exit(detach_at_exit, (Datum) 0);
	registered = true;
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
		/* a worker that follows WAL opens the store when the server is promoted */
		if (!waited)
			wt_background_process_wake(&a->worker);
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
	if (st == WIDE_IO && wt_wal_failure()[0] != '\0')
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

/*
 * Recovers the store in the segment that this process, the opener, is attached to.  A
 * failure detaches and formats the segment again: the next attempt begins from nothing.
 * Returns: false if it was interrupted by something that raises no error.
 */
static bool
recover(WtAnchor *a)
{
	wide_config config;
	wide_status st;
	char *text;

	st = wide_recover(the_db);
	if (st == WIDE_OK)
	{
		/* so that the next recovery does not need the missing WAL */
		if (wt_wal_skipped())
			wt_error_check(wide_flush(the_db), "could not flush");
		wt_replication_slot_reserve(wt_replication_slot_needed(the_db));
		wt_counter_file_load(the_db);
		wt_beginning_done();
		pg_atomic_write_u32(&a->resting, 0);
		wt_health_recovered();
		wt_upgrade_forget();
		return true;
	}
	text = pstrdup((st == WIDE_IO || st == WIDE_CONFLICT) && wt_wal_failure()[0] != '\0'
					   ? wt_wal_failure()
					   : wide_error_text());
	wide_detach(the_db);
	the_db = NULL;
	configure(&config, a->size);
	(void) wide_segment_format(segment_base, &config);
	if (st == WIDE_CONFLICT && !XLogRecPtrIsInvalid(wt_wal_begun_again()))
		wt_beginning_of_another(wt_wal_begun_again());
	else if (st != WIDE_INTERRUPTED)
	{
		if (st == WIDE_CONFLICT)
			wt_beginning_failed();
		report_open_failure(st, text);
	}
	CHECK_FOR_INTERRUPTS();
	return false;
}

/* Creates or maps the segment and sets the_db.  Requires: this process is the opener. */
static void
open_segment(WtAnchor *a)
{
	wide_state state;

	map_segment(a);
	state = segment_base != NULL ? wide_segment_state(segment_base) : WIDE_EMPTY;
	if (state == WIDE_DEAD)
		elog(PANIC, "the shared memory of widetable is damaged");
	if (state == WIDE_RUNNING)
	{
		attach();
		return;
	}
	do
	{
		wt_beginning_prepare();
		wt_upgrade_forget_own();
		if (segment_base == NULL || a->in_main)
			create_segment(a);
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

	check_requirements();
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

wide_db *
wt_store_db(void)
{
	if (the_db == NULL)
	{
		open_store();
		wt_background_process_ensure(&wt_background_process_worker);
		wt_background_process_ensure(&wt_background_process_keeper);
		wt_background_process_wake(&wt_anchor()->keeper);
	}
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
	wide_config config;

	if (the_db != NULL)
	{
		if (before_detach != NULL)
			before_detach();
		wide_detach(the_db);
		the_db = NULL;
		configure(&config, a->size);
		(void) wide_segment_format(segment_base, &config);
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
wt_store_follow(void)
{
	follower = true;
}

bool
wt_store_runs(void)
{
	WtAnchor *a = wt_anchor();

	if (a->in_main || a->handle != 0)
		map_segment(a);
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

bool
wt_store_exists(void)
{
	struct stat st;

	if (the_db != NULL || stat(WT_DIRECTORY, &st) == 0 || wt_state_file_exists())
		return true;
	return !RecoveryInProgress() && wt_beginning_may_be_in_log() && begins_in_log();
}
