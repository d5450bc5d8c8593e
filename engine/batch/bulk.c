/*
 * bulk.c - writes a large batch as sorted files before its commit.
 *
 * The files are complete when bulk_write returns.  The batch links them at its
 * commit, when their entries get the commit's sequence number (global_seq), or
 * discards them.  Until then only this process knows them.  If it dies they are
 * orphans, which recovery removes.
 *
 * Their contents are logged, too (bulk_log), before the record that links them, for
 * a standby or an archive that has the log alone.  A logged file is not synced by the
 * transaction but by the edit that lists it (sst_file_sync, FILE_UNSYNCED).  Until
 * that edit the log is needed from the link on, and recovery writes the file again
 * from the log, whatever the disk has of it.  A file that is not logged is synced by
 * bulk_write.
 *
 * Locking: bulk_log and bulk_give_up take LOCK_COMMIT for each record.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/batch/bulk.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/catalog_delta.h"
#include "engine/compaction/output.h"
#include "engine/batch/payload.h"

/* Completes the family's files and moves them to *all. */
static wide_status
family_done(output *o, buffer *all)
{
	TRY(output_finish(o));
	TRY(buffer_append(all, o->files.data, o->files.len));
	o->files.len = 0;
	return WIDE_OK;
}

wide_status
bulk_write(wide_db *db, bulk_next_fn next, void *arg, bool sync, int64_t ts_min, int64_t ts_max,
		   helper *h, file_meta **files, int *n)
{
	output o = {.db = db, .global = true, .unsynced = !sync, .helper = h, .cut = output_file_bytes};
	buffer all = {0};
	wide_family_id family, current = 0;
	bool exists = false;
	entry e;
	uint64_t count = 0;
	wide_status st;

	*files = NULL;
	*n = 0;
	TRY(segment_check(db));
	atomic_fetch_add(&db->seg->set.loading, 1);
	while ((st = next(arg, &family, &e)) == WIDE_OK)
	{
		if (++count % OUTPUT_SLICE == 0)
		{
			TRY_GOTO(output_check(db));
		}
		if (family != current)
		{
			TRY_GOTO(family_done(&o, &all));
			current = family;
			exists = catalog_delta_family_any(db, family, &o.family);
			/* it is not found either if the store is poisoned */
			if (!exists)
				TRY_GOTO(segment_check(db));
			output_windows(&o, ts_min, ts_max);
		}
		if (!exists)
			continue;
		TRY_GOTO(output_emit(&o, &e));
	}
	if (st != WIDE_END)
		goto done;
	TRY_GOTO(family_done(&o, &all));
	if (all.len > 0 && sync)
		st = sst_file_sync_dir(db);
	else
		st = WIDE_OK;
done:
	if (st != WIDE_OK)
	{
		output_discard(&o);
		bulk_discard(db, (file_meta *) all.data, (int) (all.len / sizeof(file_meta)));
		buffer_free(&all);
		return st;
	}
	buffer_free(&o.files);
	*files = (file_meta *) all.data;
	*n = (int) (all.len / sizeof(file_meta));
	for (int i = 0; i < *n && !sync; i++)
		(*files)[i].flags |= FILE_UNSYNCED;
	/* no file that the batch will link or discard: the load ends here */
	if (*n == 0)
		bulk_discard(db, NULL, 0);
	return WIDE_OK;
}

/* ------------------------------------------------------------ in the log */

#define FILE_CHUNK ((size_t) WIDE_LOG_RECORD_MAX - RECORD_FILE_HEAD)

/* Logs one record with *n bytes of the file from the offset on. */
static wide_status
log_chunk(wide_db *db, int fd, const file_meta *f, uint64_t off, uint8_t *buf, size_t *n)
{
	uint8_t head[RECORD_FILE_HEAD];
	wide_bytes parts[2] = {{head, sizeof(head)}, {buf, 0}};
	int64_t got;
	uint64_t lsn;
	wide_status st;

	*n = f->bytes - off < FILE_CHUNK ? (size_t) (f->bytes - off) : FILE_CHUNK;
	got = db->os->pread(db->os, fd, buf, *n, off);
	if (got < 0)
		return os_fail(got, "read file", "of a large transaction");
	if ((size_t) got != *n)
		return status_fail(WIDE_CORRUPT, "file %08llx: it has become shorter",
						   (unsigned long long) f->number);
	payload_record_file(head, f->number, off, f->bytes);
	parts[1].len = *n;
	TRY(segment_lock(db, LOCK_COMMIT));
	/* before the record exists, so that no flush releases the log */
	if (atomic_load(&db->slot->prepare_lsn) == 0)
		atomic_store(&db->slot->prepare_lsn, db->log.end(db->log.ctx));
	st = db->log.append(db->log.ctx, false, parts, 2, &lsn);
	segment_unlock(db, LOCK_COMMIT);
	if (st != WIDE_OK)
		wide_poison(db, "the log could not be written");
	return st;
}

/* Logs the contents of a file. */
static wide_status
log_one(wide_db *db, const file_meta *f, uint8_t *buf)
{
	char path[1100];
	size_t n = 0;
	wide_status st = WIDE_OK;
	int fd;

	sst_file_path(db, f->number, path, sizeof path);
	fd = db->os->open(db->os, path, O_RDONLY);
	if (fd < 0)
		return os_fail(fd, "open file", path);
	for (uint64_t off = 0; off < f->bytes && st == WIDE_OK; off += n)
	{
		if (host_interrupted(db))
			st = status_fail(WIDE_INTERRUPTED, "interrupted");
		else
			st = log_chunk(db, fd, f, off, buf, &n);
		injection_point("load-logged");
	}
	db->os->close(db->os, fd);
	return st;
}

wide_status
bulk_log(wide_db *db, const file_meta *files, int n)
{
	uint8_t *buf = malloc(FILE_CHUNK);
	wide_status st = WIDE_OK;

	if (buf == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	for (int i = 0; i < n && st == WIDE_OK; i++)
	{
		st = log_one(db, &files[i], buf);
		counter_add(db, COUNTER_LOG_BYTES, files[i].bytes);
	}
	free(buf);
	return st;
}

/*
 * Without these records a process that follows the log would keep the files, and the
 * log from their first bytes on, until the program that writes the log is restarted.
 * That is all that a failure costs, so it is ignored.
 */
void
bulk_give_up(wide_db *db, const file_meta *files, int n)
{
	uint8_t head[RECORD_FILE_HEAD];
	wide_bytes part = {head, sizeof(head)};
	uint64_t lsn;

	for (int i = 0; i < n && segment_lock(db, LOCK_COMMIT) == WIDE_OK; i++)
	{
		payload_record_file(head, files[i].number, 0, 0);
		(void) db->log.append(db->log.ctx, false, &part, 1, &lsn);
		segment_unlock(db, LOCK_COMMIT);
	}
}

void
bulk_discard(wide_db *db, const file_meta *files, int n)
{
	char path[1100];

	for (int i = 0; i < n && segment_check(db) == WIDE_OK; i++)
	{
		sst_file_path(db, files[i].number, path, sizeof path);
		db->os->unlink(db->os, path);
		sst_reader_forget(db, files[i].number);
	}
	atomic_fetch_sub(&db->seg->set.loading, 1);
}
