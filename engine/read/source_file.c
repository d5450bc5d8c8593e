/*
 * source_file.c - one sorted file, or files of a level that do not overlap, as a
 * source of entries.
 *
 * A source has one cursor.  A file is opened when a seek or a move gets to it.
 * Files that the user's limits exclude (key bounds, Bloom filters, time) are
 * passed over, where possible without opening them.
 *
 * Skipping by time is safe only for files that are wholly older than what the user
 * asks for, because within a column all effects go from newer timestamps to older
 * ones.  A version displaces only versions with older timestamps, and only those
 * are counted after it (versions, min_versions).  A delete masks only timestamps up
 * to its own; a delete without a timestamp has the largest there is, so no file
 * with one is skipped.  For the same reason a file that is wholly newer is needed:
 * its versions displace older ones and change their number, its deletes mask them.
 *
 * What holds for a file holds for an entry, which could be alone in a file.  So
 * where a scan reads forward over all of a range (limits->pass_old), this source
 * and source_memtable.c pass over older entries before merge and scan see them.
 *
 * Locking: none.  A pin of the source's maker keeps the files in place.
 */
#include <stdlib.h>
#include "engine/read/source_file.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_reader.h"
#include "engine/read/source.h"

/* sst_cursor.leave: the cursor leaves a block. */
static void
file_leave(void *arg, block_ref *ref)
{
	file_source *f = arg;

	source_leave(&f->s, ref);
	f->s.used = 0;
}

/* Adds to the statistics what the cursor has done since the last call. */
static void
file_statistics(file_source *f)
{
	wide_scan_stats *stats = f->s.limits->stats;
	sst_cursor *c = &f->cursor;

	if (stats != NULL)
	{
		stats->blocks_read += c->blocks_read;
		stats->blocks_cached += c->blocks_cached;
		stats->seeks += c->seeks;
		stats->read_us += c->read_us;
	}
	c->blocks_read = c->blocks_cached = c->seeks = c->read_us = 0;
}

static void
file_close(file_source *f)
{
	if (f->at < 0)
		return;
	file_statistics(f);
	sst_cursor_close(&f->cursor);
	sst_reader_put(f->s.db, f->reader);
	f->reader = NULL;
	f->at = -1;
	f->s.used = 0;
}

/* Opens file i under the cursor, which has no position then. */
static wide_status
file_open(file_source *f, int i)
{
	uint64_t loads = f->cursor.loads;
	wide_status st;

	if (f->at == i)
		return WIDE_OK;
	file_close(f);
	TRY(sst_reader_get(f->s.db, &f->files[i], &f->reader));
	st = sst_cursor_open(f->s.db, f->reader, f->flags, &f->cursor);
	/* goes on counting: a block of another file is another block */
	f->cursor.loads = loads;
	if (st != WIDE_OK)
	{
		sst_reader_put(f->s.db, f->reader);
		f->reader = NULL;
		return st;
	}
	f->cursor.leave = file_leave;
	f->cursor.leave_arg = f;
	f->at = i;
	if (f->s.limits->stats != NULL)
		f->s.limits->stats->files_read++;
	return WIDE_OK;
}

/* Asks the file's Bloom filter: *may is set to false if the file has nothing of the row, column or
 * prefix that is looked for.  Requires: limits->row or limits->prefix is set. */
static wide_status
ask_bloom(file_source *f, sst_reader *r, bool *may)
{
	const source_limits *l = f->s.limits;

	wide_status st;

	if (!sst_reader_bloom_pays(r))
		return WIDE_OK;
	if (l->row == NULL)
		st = sst_reader_may_have_prefix(r, l->prefix, l->prefixlen, may);
	else if (l->column == NULL)
		st = sst_reader_may_have_row(r, l->row, l->rowlen, may);
	else
		st = sst_reader_may_have_column(r, l->column, l->columnlen, l->rowlen, may);
	if (st != WIDE_CORRUPT && st != WIDE_IO)
		return st;
	/* a damaged filter hides no data: verification reports it */
	*may = true;
	return WIDE_OK;
}

/* Sets *skip if the file has nothing that the user needs.  Reads the file if its Bloom filter has
 * to be asked. */
static wide_status
file_skipped(file_source *f, int i, bool *skip)
{
	const source_limits *l = f->s.limits;
	const file_meta *meta = &f->files[i];
	bool may = true;

	*skip = false;
	if (l->by_time && meta->ts_max < l->ts_min)
	{
		*skip = true;
		if (l->stats != NULL)
			l->stats->files_skipped_time++;
		return WIDE_OK;
	}
	if (l->row == NULL && (l->prefix == NULL || (f->asked == i && f->asked_range == l->range)))
		return WIDE_OK;
	if (f->at != i)
	{
		/* without opening a cursor: most files have nothing of a given row */
		sst_reader *r;
		wide_status st;

		TRY(sst_reader_get(f->s.db, meta, &r));
		st = ask_bloom(f, r, &may);
		sst_reader_put(f->s.db, r);
		TRY(st);
	}
	else
		TRY(ask_bloom(f, f->reader, &may));
	if (may)
	{
		f->asked = i;
		f->asked_range = l->range;
		return WIDE_OK;
	}
	*skip = true;
	if (l->stats != NULL)
		l->stats->files_skipped_bloom++;
	return WIDE_OK;
}

static inline void
file_current(file_source *f)
{
	f->s.e = f->cursor.valid ? sst_cursor_entry(&f->cursor) : NULL;
}

/* After a move of the cursor: with limits->pass_old, moves it on to the next entry of the file
 * that is new enough. */
static inline wide_status
file_pass_old(file_source *f)
{
	const source_limits *l = f->s.limits;

	if (!l->pass_old || !f->cursor.valid || sst_cursor_entry(&f->cursor)->ts >= l->ts_min)
		return WIDE_OK;
	return sst_cursor_since(&f->cursor, l->ts_min, l->hi, l->hilen);
}

/*
 * Moves to the first entry in file i or a later one; with a key, to the first at or
 * after it.  The bounds of files may be shortened, so more than one file from i on
 * may turn out to end below the key.
 */
static wide_status
files_from(file_source *f, int i, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	const source_limits *l = f->s.limits;

	f->s.e = NULL;
	for (; i < f->nfiles; i++)
	{
		bool skip;

		if (l->hi != NULL && !file_meta_overlaps_range(&f->files[i], NULL, 0, l->hi, l->hilen))
		{
			if (l->stats != NULL)
				l->stats->files_skipped_key += (uint64_t) (f->nfiles - i);
			return WIDE_OK;
		}
		TRY(file_skipped(f, i, &skip));
		if (skip)
			continue;
		TRY(file_open(f, i));
		TRY(ukey != NULL ? sst_cursor_seek(&f->cursor, ukey, klen, ts, seq)
						 : sst_cursor_first(&f->cursor));
		TRY(file_pass_old(f));
		file_current(f);
		if (f->s.e != NULL)
			return WIDE_OK;
	}
	return WIDE_OK;
}

/* Returns the index of the first file that does not end below the key; nfiles if all do. */
static int
files_find(const file_source *f, const uint8_t *ukey, uint32_t klen)
{
	uint32_t rowlen = key_row_length(ukey, klen);
	int lo = 0, hi = f->nfiles;

	if (rowlen == 0)
		rowlen = klen; /* a bound that is no complete row */
	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if (file_meta_overlaps_range(&f->files[mid], ukey, rowlen, NULL, 0))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static wide_status
seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	file_source *f = (file_source *) s;
	int i = klen == 0 ? 0 : files_find(f, ukey, klen);

	if (i > 0 && f->at < 0 && f->s.limits->stats != NULL)
		f->s.limits->stats->files_skipped_key += (uint64_t) i;
	return files_from(f, i, klen == 0 ? NULL : ukey, klen, ts, seq);
}

static wide_status
next(source *s)
{
	file_source *f = (file_source *) s;

	TRY(sst_cursor_next(&f->cursor));
	TRY(file_pass_old(f));
	if (f->cursor.valid)
		return WIDE_OK; /* s.e points to the cursor's entry already */
	return files_from(f, f->at + 1, NULL, 0, 0, 0);
}

static wide_status
row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	file_source *f = (file_source *) s;

	for (int i = f->nfiles - 1; i >= 0; i--)
	{
		const entry *e;
		bool skip;

		if (!file_meta_overlaps_range(&f->files[i], s->limits->lo, s->limits->lolen, ukey, klen))
			continue;
		if (s->limits->by_time && f->files[i].ts_max < s->limits->ts_min)
			continue;
		TRY(file_skipped(f, i, &skip));
		if (skip)
			continue;
		TRY(file_open(f, i));
		TRY(sst_cursor_seek_before(&f->cursor, ukey, klen));
		if (!f->cursor.valid)
			continue;
		e = sst_cursor_entry(&f->cursor);
		return buffer_append(row, e->ukey, e->rowlen);
	}
	return WIDE_END;
}

bool
source_file_can_wait(const file_source *f, const entry *first)
{
	const source_limits *l = f->s.limits;

	if (l->column == NULL || first->type != ENTRY_PUT ||
		ukey_compare(first->ukey, first->klen, l->column, l->columnlen) != 0)
		return false;
	for (int i = files_find(f, l->row, l->rowlen); i < f->nfiles; i++)
	{
		const file_meta *meta = &f->files[i];

		if (!file_meta_overlaps_range(meta, NULL, 0, l->column, l->columnlen))
			break;
		/* a delete of the column that masks `first` has no older timestamp; a family delete sorts
		 * before the column, whatever its timestamp is */
		if (meta->tombstones > 0 || meta->ts_max >= first->ts)
			return false;
	}
	return true;
}

static wide_status
pass(source *s, const uint8_t *ukey, uint32_t klen)
{
	file_source *f = (file_source *) s;

	TRY(sst_cursor_pass(&f->cursor, ukey, klen));
	TRY(file_pass_old(f));
	return f->cursor.valid ? WIDE_OK : files_from(f, f->at + 1, ukey, klen, INT64_MAX, SEQ_MAX);
}

static wide_status
pass_versions(source *s, int64_t since, uint64_t *seqs, int most, int *n)
{
	return sst_cursor_pass_versions(&((file_source *) s)->cursor, since, seqs, most, n);
}

static void
statistics(source *s)
{
	file_source *f = (file_source *) s;

	if (f->at >= 0)
		file_statistics(f);
}

static void
free_source(source *s)
{
	file_close((file_source *) s);
	pool_free(s, sizeof(file_source));
}

const source_ops source_file_ops = {.seek = seek,
									.next = next,
									.pass_versions = pass_versions,
									.pass = pass,
									.row_before = row_before,
									.statistics = statistics,
									.free = free_source};

wide_status
source_file_new(wide_db *db, const file_meta *files, int n, int flags, source **out)
{
	file_source *f = pool_alloc(sizeof(*f));

	if (f == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	f->s.ops = &source_file_ops;
	f->s.db = db;
	f->files = files;
	f->nfiles = n;
	f->flags = flags;
	f->at = -1;
	*out = &f->s;
	return WIDE_OK;
}

uint32_t
source_file_whole_rows(const file_source *f)
{
	const block_cursor *b = &f->cursor.block;
	bool cut = (b->flags & BLOCK_ROW_GOES_ON) != 0 ||
			   (f->at + 1 < f->nfiles && sst_cursor_last_block(&f->cursor));

	return cut && b->rows > 0 ? b->rows - 1 : b->rows;
}

wide_status
source_file_row(source *s, uint32_t row)
{
	file_source *f = (file_source *) s;

	TRY(sst_cursor_row(&f->cursor, row));
	return f->cursor.valid ? WIDE_OK : files_from(f, f->at + 1, NULL, 0, 0, 0);
}
