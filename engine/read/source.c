/*
 * source.c - one sorted stream of a family's entries: memtable, private batch,
 * file or run of disjoint files.
 *
 * A source has one cursor.  Files are opened when a seek or a move gets to
 * them; those that the user's limits exclude (key bounds, filters, time) are
 * passed over without being opened where possible.
 *
 * Skipping by time is safe only for files that are wholly older than what is
 * asked for: within a column all effects go from newer timestamps to older
 * ones.  A version displaces, and counts before (versions, min_versions), only
 * those with older timestamps; a delete masks only timestamps up to its own,
 * and one without a timestamp has the largest there is, so that no file with
 * one is skipped.  For the same reason a file that is wholly newer is needed:
 * its versions displace and number the older ones, its deletes mask them.
 * What can be said of a file can be said of an entry, as it might be a file of its
 * own: where a scan goes forward over all of a range (pass_old), older entries
 * are passed over here, so that neither merge nor scan sees them.
 *
 * Locking: none; whoever makes a source holds the pin that keeps memory and
 * files in place.
 */
#include <stdatomic.h>
#include "engine/read/source.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/memtable.h"
#include "engine/batch/batch_source.h"

static wide_status
source_new(wide_db *db, enum source_kind kind, wide_family_id family, source **out)
{
	source	   *s = spare_alloc(sizeof(*s));

	if (s == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory for a scan");
	s->db = db;
	s->kind = (uint8_t) kind;
	s->family = family;
	s->at = -1;
	*out = s;
	return WIDE_OK;
}

wide_status
source_own(wide_db *db, wide_family_id family, source **out)
{
	return source_new(db, SOURCE_BATCH, family, out);
}

wide_status
source_mem(wide_db *db, const mem *m, wide_family_id family, source **out)
{
	TRY(source_new(db, SOURCE_MEM, family, out));
	mem_cursor_open(&(*out)->mem, m);
	return WIDE_OK;
}

wide_status
source_files(wide_db *db, const file_meta *files, int n, int flags, source **out)
{
	TRY(source_new(db, SOURCE_FILES, n > 0 ? files[0].family : 0, out));
	(*out)->files = files;
	(*out)->nfiles = n;
	(*out)->flags = flags;
	return WIDE_OK;
}

/* ------------------------------------------------------------------ files */

/* The cursor leaves a block. */
static void
file_leave(void *arg, block_ref *ref)
{
	source	   *s = arg;

	if (s->used && s->limits != NULL && s->limits->keep != NULL)
		s->limits->keep(s->limits->keep_arg, ref);
	else
		cache_unpin(s->db, ref);
	s->used = false;
}

static void
file_statistics(source *s)
{
	wide_scan_stats *stats = s->limits != NULL ? s->limits->stats : NULL;

	if (stats != NULL)
	{
		stats->blocks_read += s->cursor.blocks_read - s->blocks_read;
		stats->blocks_cached += s->cursor.blocks_cached - s->blocks_cached;
		stats->seeks += s->cursor.seeks - s->seeks;
	}
	s->blocks_read = s->cursor.blocks_read;
	s->blocks_cached = s->cursor.blocks_cached;
	s->seeks = s->cursor.seeks;
}

static void
file_close(source *s)
{
	if (s->at < 0)
		return;
	file_statistics(s);
	sst_cursor_close(&s->cursor);
	sst_put(s->db, s->reader);
	s->reader = NULL;
	s->at = -1;
	s->used = false;
}

/* Have file i under the cursor, which then stands nowhere in particular. */
static wide_status
file_open(source *s, int i)
{
	wide_status st;

	if (s->at == i)
		return WIDE_OK;
	file_close(s);
	TRY(sst_get(s->db, &s->files[i], &s->reader));
	st = sst_cursor_open(s->db, s->reader, s->flags, &s->cursor);
	if (st != WIDE_OK)
	{
		sst_put(s->db, s->reader);
		s->reader = NULL;
		return st;
	}
	s->cursor.leave = file_leave;
	s->cursor.leave_arg = s;
	s->blocks_read = s->blocks_cached = s->seeks = 0;
	s->at = i;
	if (s->limits != NULL && s->limits->stats != NULL)
		s->limits->stats->files_read++;
	return WIDE_OK;
}

/* Ask the file's filter whether it may have what all rows looked for have. */
static wide_status
ask_filter(source *s, sst_reader *r, bool *may)
{
	const source_limits *l = s->limits;

	if (!sst_filter_pays(r))
		return WIDE_OK;
	if (l->row == NULL)
		return sst_may_have_prefix(r, l->prefix, l->prefixlen, may);
	if (l->column == NULL)
		return sst_may_have_row(r, l->row, l->rowlen, may);
	return sst_may_have_column(r, l->column, l->columnlen, l->rowlen, may);
}

/* Can the file be left out?  Opens it when a filter has to be asked. */
static wide_status
file_skipped(source *s, int i, bool *skip)
{
	const source_limits *l = s->limits;
	const file_meta *f = &s->files[i];
	bool		may = true;

	*skip = false;
	if (l == NULL)
		return WIDE_OK;
	if (l->by_time && f->ts_max < l->ts_min)
	{
		*skip = true;
		if (l->stats != NULL)
			l->stats->files_skipped_time++;
		return WIDE_OK;
	}
	if (l->row == NULL && (l->prefix == NULL || (s->asked == i && s->asked_range == l->range)))
		return WIDE_OK;
	if (s->at != i)
	{
		/* not the cursor: most files have nothing of a given row */
		sst_reader *r;
		wide_status st;

		TRY(sst_get(s->db, f, &r));
		st = ask_filter(s, r, &may);
		sst_put(s->db, r);
		TRY(st);
	}
	else
		TRY(ask_filter(s, s->reader, &may));
	if (may)
	{
		s->asked = i;
		s->asked_range = l->range;
		return WIDE_OK;
	}
	*skip = true;
	if (l->stats != NULL)
		l->stats->files_skipped_bloom++;
	return WIDE_OK;
}

static inline void
file_current(source *s)
{
	s->e = s->cursor.valid ? sst_cursor_entry(&s->cursor) : NULL;
}

/* The cursor has moved: to the next entry that is new enough in this file. */
static inline wide_status
file_since(source *s)
{
	const source_limits *l = s->limits;

	if (l == NULL || !l->pass_old || !s->cursor.valid || sst_cursor_entry(&s->cursor)->ts >= l->ts_min)
		return WIDE_OK;
	return sst_cursor_since(&s->cursor, l->ts_min, l->hi, l->hilen);
}

/*
 * The first entry in file i or later ones; with a key, the first at or after
 * it.  Bounds may be shortened, so more than one file can end below the key.
 */
static wide_status
files_from(source *s, int i, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	const source_limits *l = s->limits;

	s->e = NULL;
	for (; i < s->nfiles; i++)
	{
		bool		skip;

		if (l != NULL && l->hi != NULL && !file_overlaps(&s->files[i], NULL, 0, l->hi, l->hilen))
		{
			if (l->stats != NULL)
				l->stats->files_skipped_key += (uint64_t) (s->nfiles - i);
			return WIDE_OK;
		}
		TRY(file_skipped(s, i, &skip));
		if (skip)
			continue;
		TRY(file_open(s, i));
		TRY(ukey != NULL ? sst_cursor_seek(&s->cursor, ukey, klen, ts, seq) : sst_cursor_first(&s->cursor));
		TRY(file_since(s));
		file_current(s);
		if (s->e != NULL)
			return WIDE_OK;
	}
	return WIDE_OK;
}

/* The first file that does not end below the key. */
static int
files_find(const source *s, const uint8_t *ukey, uint32_t klen)
{
	uint32_t	rowlen = key_row_length(ukey, klen);
	int			lo = 0, hi = s->nfiles;

	if (rowlen == 0)
		rowlen = klen;			/* a bound, not a key */
	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (file_overlaps(&s->files[mid], ukey, rowlen, NULL, 0))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static wide_status
files_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	int			i = klen == 0 ? 0 : files_find(s, ukey, klen);

	if (i > 0 && s->at < 0 && s->limits != NULL && s->limits->stats != NULL)
		s->limits->stats->files_skipped_key += (uint64_t) i;
	return files_from(s, i, klen == 0 ? NULL : ukey, klen, ts, seq);
}

static wide_status
files_next(source *s)
{
	TRY(sst_cursor_next(&s->cursor));
	TRY(file_since(s));
	if (s->cursor.valid)
		return WIDE_OK;			/* e points to the cursor's entry already */
	return files_from(s, s->at + 1, NULL, 0, 0, 0);
}

static wide_status
files_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	const source_limits *l = s->limits;

	for (int i = s->nfiles - 1; i >= 0; i--)
	{
		const entry *e;
		bool		skip;

		if (!file_overlaps(&s->files[i], NULL, 0, ukey, klen))
			continue;
		if (l != NULL && l->by_time && s->files[i].ts_max < l->ts_min)
			continue;
		TRY(file_skipped(s, i, &skip));
		if (skip)
			continue;
		TRY(file_open(s, i));
		TRY(sst_cursor_seek_before(&s->cursor, ukey, klen));
		if (!s->cursor.valid)
			continue;
		e = sst_cursor_entry(&s->cursor);
		return buffer_append(row, e->ukey, e->rowlen);
	}
	return WIDE_END;
}

/* --------------------------------------------------------------- memtables */

#define OLD_STEPS	64			/* entries between two looks at the end of the range */

static wide_status
mem_current(source *s)
{
	const source_limits *l = s->limits;

	if (l != NULL && l->pass_old)
		for (uint32_t n = 1; mem_valid(&s->mem) && s->mem.family == s->family && s->mem.e.ts < l->ts_min; n++)
		{
			if (n % OLD_STEPS == 0)
			{
				if (l->hi != NULL && ukey_compare(s->mem.e.ukey, s->mem.e.klen, l->hi, l->hilen) >= 0)
					break;
				if (interrupted(s->db))
					return wide_fail(WIDE_INTERRUPTED, "interrupted");
			}
			mem_next(&s->mem);
		}
	s->e = mem_valid(&s->mem) && s->mem.family == s->family ? &s->mem.e : NULL;
	return WIDE_OK;
}

#define UNSEEN_STEPS	16		/* invisible entries after which searching is cheaper */

/*
 * A counter under an old snapshot has a long row of versions that the snapshot
 * does not see, the newest first.  Pass over all of the column that are newer
 * than any commit that it sees: their own commit is newer still, except for
 * timestamps that were ahead of their commit; with one of these above in the
 * memtable there is no short cut.
 */
static void
mem_next_seen(source *s)
{
	const source_limits *l = s->limits;
	const entry *e = &s->mem.e;

	if (l == NULL || l->seen_seq == 0 || e->seq <= l->seen_seq)
		s->unseen = 0;
	else if (++s->unseen >= UNSEEN_STEPS && e->ts > l->seen_ts && e->ts != WIDE_TS_MAX &&
			 atomic_load_explicit(&s->mem.m.t->ts_ahead, memory_order_acquire) <= l->seen_ts)
	{
		s->unseen = 0;
		mem_seek(&s->mem, s->family, e->ukey, e->klen, l->seen_ts, SEQ_MAX);
		return;
	}
	mem_next(&s->mem);
}

/* ------------------------------------------------------------------ public */

void
source_free(source *s)
{
	if (s == NULL)
		return;
	if (s->kind == SOURCE_FILES)
		file_close(s);
	else if (s->kind == SOURCE_BATCH)
		source_batch_free(s);
	buffer_free(&s->before);
	spare_free(s, sizeof(*s));
}

wide_status
source_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	if (s->kind == SOURCE_FILES)
		return files_seek(s, ukey, klen, ts, seq);
	if (s->kind == SOURCE_BATCH)
		return source_batch_seek(s, ukey, klen, ts, seq);
	mem_seek(&s->mem, s->family, ukey, klen, ts, seq);
	return mem_current(s);
}

wide_status
source_next(source *s)
{
	if (s->kind == SOURCE_FILES)
		return files_next(s);
	if (s->kind == SOURCE_BATCH)
		return source_batch_next(s);
	mem_next_seen(s);
	return mem_current(s);
}

wide_status
source_row(source *s, uint32_t row)
{
	TRY(sst_cursor_row(&s->cursor, row));
	return s->cursor.valid ? WIDE_OK : files_from(s, s->at + 1, NULL, 0, 0, 0);
}

bool
source_can_wait(const source *s, const entry *first)
{
	const source_limits *l = s->limits;

	if (s->kind != SOURCE_FILES || l == NULL || l->column == NULL || first->type != ENTRY_PUT ||
		ukey_compare(first->ukey, first->klen, l->column, l->columnlen) != 0)
		return false;
	for (int i = files_find(s, l->row, l->rowlen); i < s->nfiles; i++)
	{
		const file_meta *f = &s->files[i];

		if (!file_overlaps(f, NULL, 0, l->column, l->columnlen))
			break;
		/* a delete that hides the entry itself is no older, but those of the family come before what they hide */
		if (f->tombstones > 0 || f->ts_max >= first->ts)
			return false;
	}
	return true;
}

#define PASS_STEPS	8			/* entries of a memtable after which searching is cheaper */

wide_status
source_pass(source *s, const uint8_t *ukey, uint32_t klen)
{
	if (s->kind == SOURCE_FILES)
	{
		TRY(sst_cursor_pass(&s->cursor, ukey, klen));
		TRY(file_since(s));
		return s->cursor.valid ? WIDE_OK : files_from(s, s->at + 1, ukey, klen, INT64_MAX, SEQ_MAX);
	}
	for (int i = 0; i < PASS_STEPS; i++)
	{
		TRY(source_next(s));
		if (s->e == NULL || ukey_compare(s->e->ukey, s->e->klen, ukey, klen) >= 0)
			return WIDE_OK;
	}
	return source_seek(s, ukey, klen, INT64_MAX, SEQ_MAX);
}

wide_status
source_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	wide_status st = WIDE_END;

	row->len = 0;
	s->e = NULL;
	/* the largest below a higher bound is so below this one, if it is below it */
	if (s->before_valid && s->before_none)
		return WIDE_END;
	if (s->before_valid && ukey_compare(s->before.data, s->before.len, ukey, klen) < 0)
		return buffer_append(row, s->before.data, s->before.len);
	if (s->kind == SOURCE_FILES)
		st = files_row_before(s, ukey, klen, row);
	else if (s->kind == SOURCE_BATCH)
		st = source_batch_row_before(s, ukey, klen, row);
	else
	{
		mem_seek_before(&s->mem, s->family, ukey, klen);
		if (mem_valid(&s->mem) && s->mem.family == s->family)
			st = buffer_append(row, s->mem.e.ukey, s->mem.e.rowlen);
	}
	if (st != WIDE_OK && st != WIDE_END)
		return st;
	s->before.len = 0;
	s->before_none = st == WIDE_END;
	if (st == WIDE_OK)
		TRY(buffer_append(&s->before, row->data, row->len));
	s->before_valid = true;
	return st;
}

void
source_restart(source *s)
{
	s->before_valid = false;
	source_statistics(s);
}

void
source_statistics(source *s)
{
	if (s->kind == SOURCE_FILES && s->at >= 0)
		file_statistics(s);
}
