/*
 * segment.c
 *		The engine's shared segment: its size, where it is, how a process gets at it.
 *
 * If the library is preloaded it is in PostgreSQL's main shared memory, else in a segment
 * of dynamic shared memory, which outlives the process that has made it.  A process that
 * has mapped it keeps it mapped to its end.
 *
 * Locking: the anchor's mutex for its handle and size; AddinShmemInitLock for the segment
 * in main shared memory.
 */
#include "postgres.h"

#include "fdw/store/segment.h"

#include <sys/statvfs.h>

#include "access/xlog.h"
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/dsm_impl.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/error.h"
#include "fdw/store/settings.h"

static void *segment_base = NULL; /* address of the segment in this process */
static void *main_segment = NULL; /* preloaded: its address in main shared memory */

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

void
wt_segment_create(void)
{
	WtAnchor *a = wt_anchor();
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

void *
wt_segment_map(void)
{
	WtAnchor *a = wt_anchor();

	if (segment_base != NULL)
		return segment_base;
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
	return segment_base;
}

void
wt_segment_format(void)
{
	wide_config config;

	configure(&config, wt_anchor()->size);
	pg_atomic_fetch_add_u32(&wt_anchor()->formats, 1);
	wt_error_check(wide_segment_format(segment_base, &config), "could not format shared memory");
}

void
wt_segment_request(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_shmem;
}
