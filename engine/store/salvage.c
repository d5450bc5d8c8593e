/*
 * salvage.c - makes readable what can be read of a family's damaged files.
 *
 * A file in which verification finds a problem is read block by block.  What can be read becomes a
 * new file, with the sequence numbers and on the level of the old one; what cannot is reported and
 * given up: from then on its ranges read as if their entries had never been written.  Where these
 * were deletes or newer versions, older ones come back.
 *
 * Invariants: the new file replaces the old one in one edit, so a crash leaves either.  A call that
 * fails changes nothing but the files before the failure.  Only files whose link replay will not
 * repeat are replaced (file_settled).
 *
 * Locking: the family's compaction slot (job_begin); a pin keeps the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"
#include "engine/sst/sst_tally.h"
#include "engine/sst/sst_verify.h"
#include "engine/set/catalog.h"
#include "engine/set/edit.h"
#include "engine/set/pin.h"
#include "engine/compaction/job.h"
#include "engine/compaction/output.h"
#include "engine/compaction/pick.h"

typedef struct salvage
{
	wide_db *db;
	bool look_only;
	wide_lost_fn fn;
	void *arg;
	/* the file */
	const file_meta *f;
	sst_reader *r;
	sst_cursor c;
	sst_tally tally; /* what can be read */
	output *out;	 /* NULL: look_only */
	char first[300]; /* the first problem that verification has found; empty: none */
} salvage;

static bool
unreadable(wide_status st)
{
	return st == WIDE_CORRUPT || st == WIDE_IO;
}

/* wide_problem_fn: keeps the first problem. */
static wide_status
note_problem(void *arg, const char *object, const char *problem)
{
	salvage *s = arg;

	if (s->first[0] == 0)
		snprintf(s->first, sizeof s->first, "%s", problem);
	return WIDE_OK;
}

/* Reports rows that the last failure gives up. */
static wide_status
report_lost(salvage *s, uint64_t rows)
{
	const wide_damage *d = wide_error_damage();
	wide_lost lost = {.family = s->f->family,
					  .file = s->f->number,
					  .container = file_container(s->f),
					  .rows = rows,
					  .why = wide_error_text()};

	if (d != NULL && d->family != 0)
	{
		lost.lo = (wide_bytes) {d->lo, d->lo_len};
		lost.hi = (wide_bytes) {d->hi, d->hi_len};
	}
	return s->fn(s->arg, &lost);
}

static wide_status
keep_entry(salvage *s, const entry *e)
{
	wide_status st = sst_tally_look(&s->tally, e);

	if (st != WIDE_OK)
		return st == WIDE_INVALID
				   ? sst_reader_corrupt(s->r, s->c.block_off, "keys are not in order")
				   : st;
	TRY(sst_tally_count(&s->tally, e));
	return s->out != NULL ? output_emit(s->out, e) : WIDE_OK;
}

/* Keeps the entries of a data block of the file. */
static wide_status
keep_block(salvage *s, uint64_t block)
{
	TRY(sst_cursor_block(&s->c, block));
	for (uint32_t i = 0, n = s->c.block.entries; i < n; i++)
	{
		if (i > 0)
			TRY(sst_cursor_next(&s->c));
		if (!s->c.valid)
			return sst_reader_corrupt(s->r, s->c.block_off, "a block is too short");
		TRY(keep_entry(s, sst_cursor_entry(&s->c)));
	}
	return WIDE_OK;
}

/* Returns how many rows begin in a data block according to the index, which the cursor can read. */
static uint64_t
rows_of(salvage *s, uint64_t block, uint64_t first)
{
	sst_handle h = {0}, before = {0};

	if (sst_cursor_index(&s->c, block) != WIDE_OK ||
		sst_reader_handle(s->r, &s->c.index.e, &h) != WIDE_OK)
		return 0;
	if (block > first && (sst_cursor_index(&s->c, block - 1) != WIDE_OK ||
						  sst_reader_handle(s->r, &s->c.index.e, &before) != WIDE_OK))
		return 0;
	return h.rows > before.rows ? h.rows - before.rows : 0;
}

/* Keeps what can be read of a partition. */
static wide_status
keep_partition(salvage *s, uint32_t part)
{
	const sst_partition *p = &s->r->parts[part];
	uint64_t first = part > 0 ? p[-1].blocks : 0, rows = p->rows - (part > 0 ? p[-1].rows : 0);
	wide_status st;

	for (uint64_t b = first; b < p->blocks; b++)
	{
		TRY(output_check(s->db));
		st = sst_cursor_index(&s->c, b);
		/* without its index no block of the partition is found */
		if (unreadable(st))
			return report_lost(s, rows);
		TRY(st);
		rows = rows_of(s, b, first);
		st = keep_block(s, b);
		if (unreadable(st))
			st = report_lost(s, rows);
		TRY(st);
		rows = 0;
	}
	return WIDE_OK;
}

/* Keeps what can be read of the file. */
static wide_status
keep_file(salvage *s)
{
	wide_status st = sst_reader_open(s->db, s->f, &s->r);

	if (unreadable(st))
		return report_lost(s, s->f->rows);
	TRY(st);
	/* the cursor holds a pin of its own; the reader is in no list */
	s->r->pins++;
	s->r->listed = true;
	TRY_GOTO(sst_cursor_open(s->db, s->r, SST_NO_CACHE | SST_DISK, &s->c));
	for (uint32_t i = 0; i < s->r->nparts && st == WIDE_OK; i++)
		st = keep_partition(s, i);
done:
	sst_cursor_close(&s->c);
	sst_reader_close(s->r);
	s->r = NULL;
	return st;
}

/* Replaces the file in the set. */
static wide_status
replace(salvage *s, const file_meta *add, int n)
{
	version_edit edit = {
		.add = add, .nadd = n, .remove = &s->f->number, .nremove = 1, .memtable = -1};

	TRY(edit_apply(s->db, &edit));
	sst_reader_forget(s->db, s->f->number);
	return WIDE_OK;
}

/* The file is whole: it takes part in compactions again. */
static wide_status
unmark(salvage *s)
{
	file_meta f = *s->f;

	f.flags &= (uint8_t) ~FILE_DAMAGED;
	return s->look_only ? WIDE_OK : replace(s, &f, 1);
}

/* Reports the result for the file. */
static wide_status
report_file(salvage *s)
{
	const file_meta *kept = &s->tally.meta;
	wide_lost all = {.family = s->f->family,
					 .file = s->f->number,
					 .container = file_container(s->f),
					 .whole = true,
					 .rows = s->f->rows > kept->rows ? s->f->rows - kept->rows : 0,
					 .cells = s->f->cells > kept->cells ? s->f->cells - kept->cells : 0,
					 .kept = kept->cells,
					 .why = s->first};

	return s->fn(s->arg, &all);
}

/*
 * A file that is there, but that this process may not open or has no descriptor for, is whole
 * perhaps, and is not given up: that is a failure.
 */
static wide_status
check_access(wide_db *db, const file_meta *f)
{
	char path[SST_PATH];
	int fd;

	sst_file_path(db, file_container(f), path, sizeof path);
	fd = db->os->open(db->os, path, O_RDONLY);
	if (fd >= 0)
		db->os->close(db->os, fd);
	return fd >= 0 || fd == -ENOENT || fd == -EIO ? WIDE_OK : os_fail(fd, "open file", path);
}

static wide_status
salvage_file(salvage *s, const wide_family *family, const file_meta *f)
{
	output out = {.db = s->db,
				  .family = *family,
				  .level = f->level,
				  .cut = UINT64_MAX / 4,
				  .join_windows = true};
	wide_status st;

	s->f = f;
	s->first[0] = 0;
	TRY(sst_verify(s->db, f, note_problem, s));
	if (s->first[0] == 0)
		return f->flags & FILE_DAMAGED ? unmark(s) : WIDE_OK;
	TRY(check_access(s->db, f));
	s->out = s->look_only ? NULL : &out;
	s->tally = (sst_tally) {0};
	TRY_GOTO(keep_file(s));
	if (!s->look_only)
	{
		TRY_GOTO(output_finish(&out));
		if (output_count(&out) > 0)
			TRY_GOTO(sst_file_sync_dir(s->db));
		TRY_GOTO(replace(s, output_files(&out), output_count(&out)));
	}
	st = report_file(s);
	buffer_free(&out.files);
	buffer_free(&s->tally.last);
	return st;
done:
	output_discard(&out);
	buffer_free(&s->tally.last);
	return st;
}

static wide_status
salvage_files(salvage *s, wide_family_id id, uint64_t flushed_seq)
{
	wide_family family;
	version_pin pin = {0};
	family_files files;
	uint64_t bytes = 0;
	wide_status st;

	if (!catalog_family(s->db, id, &family, NULL))
		return status_fail(WIDE_NOTFOUND, "family %u does not exist", id);
	TRY_GOTO(pin_take_files(s->db, &pin));
	TRY_GOTO(pin_files(s->db, &pin, id, &files));
	for (int i = 0; i < files.n; i++)
		bytes += files.files[i].bytes;
	wide_progress_begin(s->db, WIDE_PROGRESS_SALVAGE, id, bytes);
	for (int i = 0; i < files.n; i++)
	{
		if (file_settled(&files.files[i], flushed_seq))
			TRY_GOTO(salvage_file(s, &family, &files.files[i]));
		wide_progress_add(s->db, files.files[i].bytes);
	}
done:
	wide_progress_end(s->db);
	pin_drop(s->db, &pin);
	return st;
}

/* Begins the job: no other one removes files of the family until end_job.  WIDE_BUSY. */
static wide_status
begin_job(wide_db *db, wide_family_id family, int *slot)
{
	wide_status st;

	TRY(job_begin(db, JOB_COMPACT, family, slot));
	st = job_claim(db, *slot, family);
	if (st != WIDE_OK)
		job_end(db, *slot, st, true);
	return st == WIDE_END ? status_fail(WIDE_NOTFOUND, "family %u does not exist", family) : st;
}

static void
end_job(wide_db *db, wide_family_id family, int slot, wide_status st)
{
	job_release(db, slot, &family, 1);
	job_end(db, slot, st, false);
}

wide_status
wide_salvage(wide_db *db, wide_family_id family, bool look_only, wide_lost_fn fn, void *arg)
{
	salvage s = {.db = db, .look_only = look_only, .fn = fn, .arg = arg};
	int slot;
	wide_status st;

	TRY(wide_flush(db));
	while ((st = begin_job(db, family, &slot)) == WIDE_BUSY)
	{
		uint32_t seen = atomic_load(&db->seg->set.work_word);

		if (host_interrupted(db))
			return status_fail(WIDE_INTERRUPTED, "interrupted");
		TRY(segment_wait(db, &db->seg->set.work_word, seen, 20, WIDE_WAIT_WORK));
	}
	TRY(st);
	st = salvage_files(&s, family, db->seg->set.flushed_seq);
	end_job(db, family, slot, st);
	return st;
}
