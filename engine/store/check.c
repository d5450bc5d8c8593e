/*
 * check.c - verifies a store that no server uses: a data directory at rest, or a backup.
 *
 * The store is opened in private memory as recovery would open it, but for the log, and verified
 * as a running store is.  Files that the store does not list are no problem: recovery removes them.
 *
 * Invariant: nothing in the directory is changed.  All calls on files go through read_only, which
 * refuses those that write.
 *
 * Locking: the memory is private.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include "engine/wide.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/set/file_set_load.h"

#define MOST_TABLES 1000000 /* that a store may have */

/* -------------------------------------------------------- only reading */

static int
read_only_open(wide_os *os, const char *path, int flags)
{
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0)
		return -EROFS;
	return os_real()->open(os_real(), path, flags);
}

static int64_t
refuse_write(wide_os *os, int fd, const void *buf, size_t n, uint64_t off)
{
	return -EROFS;
}

static int
refuse_descriptor(wide_os *os, int fd)
{
	return -EROFS;
}

static int
refuse_truncate(wide_os *os, int fd, uint64_t size)
{
	return -EROFS;
}

static int
refuse_path(wide_os *os, const char *path)
{
	return -EROFS;
}

static int
refuse_rename(wide_os *os, const char *from, const char *to)
{
	return -EROFS;
}

static wide_os
read_only(void)
{
	wide_os os = *os_real();

	os.open = read_only_open;
	os.pwrite = refuse_write;
	os.sync = refuse_descriptor;
	os.truncate = refuse_truncate;
	os.unlink = refuse_path;
	os.rename = refuse_rename;
	os.mkdir = refuse_path;
	os.syncdir = refuse_path;
	return os;
}

/* ---------------------------------------------------------------- check */

typedef struct check
{
	const char *dir;
	const wide_check_host *host;
	wide_os os;
	char note[600]; /* the last report of opening; empty: none */
} check;

static void
check_report(void *ctx, int level, const char *text)
{
	check *c = ctx;

	snprintf(c->note, sizeof c->note, "%s", text);
	if (c->host->note != NULL)
		c->host->note(c->host->ctx, text);
}

static bool
check_interrupted(void *ctx)
{
	const check *c = ctx;

	return c->host->interrupted != NULL && c->host->interrupted(c->host->ctx);
}

static uint64_t
no_end(void *ctx)
{
	return 0;
}

static bool
check_reaches(void *ctx, uint64_t lsn)
{
	const check *c = ctx;

	return c->host->log_reaches != NULL && c->host->log_reaches(c->host->ctx, lsn);
}

/* Opens the store in db and verifies it. */
static wide_status
verify_at_rest(check *c, wide_db *db)
{
	const wide_check_host *h = c->host;

	TRY(file_set_load_read_only(db));
	if (db->seg->set.repair)
		TRY(h->problem(h->ctx, c->dir, c->note));
	/* as if files were being written: those that are not listed are no problem */
	atomic_store(&db->seg->set.loading, 1);
	atomic_store(&db->seg->state, WIDE_RUNNING);
	return wide_verify(db, 0, h->problem, h->ctx);
}

/* Checks the store with tables in memory of these sizes.  Returns: WIDE_FULL if they are too
 * small. */
static wide_status
check_with(check *c, const wide_config *config)
{
	wide_host host = {.ctx = c,
					  .report = check_report,
					  .interrupted = check_interrupted,
					  .files_directory = c->host->files_directory};
	wide_log log = {.ctx = c, .end = no_end, .reaches = check_reaches};
	size_t size = wide_segment_size(config);
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	wide_db *db = NULL;
	wide_status st;

	if (base == MAP_FAILED)
		return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", size);
	TRY_GOTO(wide_segment_format(base, config));
	TRY_GOTO(wide_attach(base, c->dir, &host, &log, &c->os, &db));
	st = verify_at_rest(c, db);
	wide_detach(db);
done:
	munmap(base, size);
	return st;
}

wide_status
wide_check(const char *dir, const wide_check_host *host)
{
	check c = {.dir = dir, .host = host, .os = read_only()};
	wide_config config = {.memtable_size = 64 * 1024,
						  .cache_size = 1024 * 1024,
						  .max_processes = 1,
						  .max_tables = 1000,
						  .max_files = 10000,
						  .lock_buckets = 64};
	wide_status st;

	/* nothing is verified before all of the manifest is in the tables */
	while ((st = check_with(&c, &config)) == WIDE_FULL && config.max_tables < MOST_TABLES)
	{
		config.max_tables = config.max_tables < MOST_TABLES / 4 ? 4 * config.max_tables
																: MOST_TABLES;
		config.max_files *= 4;
		if (config.max_files < layout_files_of_tables(config.max_tables))
			config.max_files = layout_files_of_tables(config.max_tables);
	}
	return st;
}
