/*
 * store.c - attaches a process to a store, and detaches it.
 *
 * wide_attach checks the segment, takes a process slot, and sets up the parts of
 * the handle that every process needs; the others set themselves up at first use.
 * wide_detach ends them in the opposite order, the slot last.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "engine/wide.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/shared/process.h"
#include "engine/shared/row_lock.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/pin.h"
#include "engine/set/snapshot.h"
#include "engine/store/format.h"

/* The default of wide_host.now. */
static int64_t
clock_now(void *ctx)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void
wide_time_reads(wide_db *db, bool on)
{
	db->time_reads = on;
}

wide_status
wide_attach(void *base, const char *dir, const wide_host *host, const wide_log *log,
			struct wide_os *os, wide_db **out)
{
	segment *seg = base;
	wide_db *db;
	wide_status st = WIDE_OK;

	*out = NULL;
	if (seg->magic != SEGMENT_MAGIC)
		return status_fail(WIDE_INVALID, "the memory does not contain a segment");
	if (seg->build != format_build_id())
		return status_fail(WIDE_INVALID, "the segment was created by another build of the library");
	if (strlen(dir) >= sizeof(db->dir) - 64)
		return status_fail(WIDE_LIMIT, "the directory's name is too long");
	db = calloc(1, sizeof(*db));
	if (db == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	db->seg = seg;
	strcpy(db->dir, dir);
	strcpy(db->files_dir, dir);
	if (host != NULL)
		db->host = *host;
	if (db->host.files_directory != NULL)
	{
		if (strlen(db->host.files_directory) >= sizeof(db->files_dir) - 64)
		{
			free(db);
			return status_fail(WIDE_LIMIT, "the directory's name is too long");
		}
		strcpy(db->files_dir, db->host.files_directory);
		db->host.files_directory = NULL;
	}
	if (db->host.now == NULL)
		db->host.now = clock_now;
	if (log != NULL)
		db->log = *log;
	db->os = os != NULL ? os : os_real();
	os_set_modes(db->host.file_mode != 0 ? db->host.file_mode : 0600,
				 db->host.directory_mode != 0 ? db->host.directory_mode : 0700);
	TRY_GOTO(segment_check(db));
	if (!process_attach(db))
	{
		st = status_fail(WIDE_FULL, "all %u process slots are taken", seg->config.max_processes);
		goto done;
	}
	TRY_GOTO(cache_attach(db));
	TRY_GOTO(row_lock_attach(db));
	*out = db;
	return WIDE_OK;
done:
	cache_detach(db);
	row_lock_detach(db);
	process_detach(db);
	free(db);
	return st;
}

void
wide_detach(wide_db *db)
{
	if (db == NULL)
		return;
	assert(db->locks_taken == 0);
	snapshot_detach(db);
	pin_detach(db);
	sst_reader_detach(db);
	row_lock_detach(db);
	cache_detach(db);
	if (atomic_load(&db->slot->in_crit) != 0)
		wide_poison(db, "a process detached while it changed shared memory");
	process_detach(db);
	free(db);
}
