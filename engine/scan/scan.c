/*
 * scan.c - rows in order, assembled from the families' merged entries.
 *
 * Each family has its own merge of sources (private batch, memtables, files)
 * and its own view_read.  A row is the smallest row key at which any family
 * stands (forward), or the largest below the last one (reverse: found source by
 * source, then read forward).  view.c decides what is visible in it.
 *
 * Ranges of one row (row, row 00) are gets: filters of files are asked, and
 * nothing is moved on afterwards.
 *
 * Predicates.  When one clause of them needs a cell, rows are looked for in the
 * families of that clause only (they lead).  The others follow: they go to a row
 * when something is to be read of it, and not at all for rows that are out.
 *
 * What is done with a row, and how long its bytes live, is in scan_row.c.
 *
 * Pins: a scan holds the memtables and files of the version in which it began.
 * So that a long one does not keep memtables from being reused, it moves to the
 * current version between rows as soon as one of its memtables has been
 * flushed; its snapshot makes that invisible.
 *
 * Locking: none; the pin protects what is read.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"
#include "engine/set/snapshot.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/view.h"
#include "engine/batch/batch.h"
#include "engine/batch/batch_source.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_again.h"
#include "engine/scan/scan_open.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_run.h"
#include "engine/scan/scan_state.h"

#define ROW_CELLS	4096

/* ----------------------------------------------------------------- sources */

static wide_status
add_mem(wide_db *db, merge *m, const mem *mm, wide_family_id id)
{
	source	   *src;

	TRY(source_mem(db, mm, id, &src));
	return merge_add(m, src);
}

static wide_status
add_files(wide_db *db, merge *m, const file_meta *files, int n)
{
	source	   *src;

	TRY(source_files(db, files, n, 0, &src));
	return merge_add(m, src);
}

wide_status
scan_family_merge(wide_db *db, const set_pin *pin, wide_family_id id, uint64_t seq, int64_t ts_min, wide_batch *own,
				  uint64_t mark, merge **out, source **own_source, bool *left_out)
{
	set_files	files;
	source	   *src;
	merge	   *m;
	wide_status st;

	*out = NULL;
	TRY(merge_new(db, &m));
	if (own != NULL)
	{
		TRY_GOTO(source_batch(own, id, mark, &src));
		TRY_GOTO(merge_add(m, src));
		*own_source = src;
	}
	for (int i = 0; i < pin->nmem; i++)
	{
		mem			mm;

		mem_at(db, pin->mem[i], &mm);
		/* whatever gets in from now on is newer than the snapshot */
		if (atomic_load(&mm.t->cells) == 0 || atomic_load(&mm.t->seq_min) > seq)
		{
			*left_out = true;
			continue;
		}
		/* bounds are those of all families together, and widened before an entry can be seen (source.c) */
		if (atomic_load(&mm.t->ts_max) < ts_min)
		{
			*left_out = true;
			continue;
		}
		TRY_GOTO(add_mem(db, m, &mm, id));
	}
	TRY_GOTO(set_pin_files(db, pin, id, &files));
	for (int i = files.level_start[0]; i < files.level_start[1]; i++)
	{
		if (files.files[i].seq_min <= seq)
			TRY_GOTO(add_files(db, m, &files.files[i], 1));
		else
			*left_out = true;
	}
	for (int l = 1; l < SET_LEVELS; l++)
	{
		int			n = files.level_start[l + 1] - files.level_start[l];

		if (n > 0)
			TRY_GOTO(add_files(db, m, &files.files[files.level_start[l]], n));
	}
	*out = m;
	return WIDE_OK;
done:
	merge_free(m);
	return st;
}

void
scan_drop_sources(wide_scan *s)
{
	for (int i = 0; i < s->nfamilies; i++)
	{
		if (s->families[i].m != NULL)
			merge_free(s->families[i].m);
		s->families[i].m = NULL;
		s->families[i].own = NULL;
	}
	if (s->pinned)
		set_pin_drop(s->db, &s->pin);
	s->pinned = false;
}

/* The same, and bring the statistics up to date first. */
void
scan_leave_sources(wide_scan *s)
{
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].m != NULL)
			merge_restart(s->families[i].m);
	scan_drop_sources(s);
}

static wide_status
make_sources(wide_scan *s)
{
	TRY(set_pin_take(s->db, &s->pin));
	s->pinned = true;
	s->left_out = false;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		TRY(scan_family_merge(s->db, &s->pin, f->id, s->seq, f->limits.by_time ? f->limits.ts_min : INT64_MIN,
							  s->own, s->own_mark, &f->m, &f->own, &s->left_out));
		merge_limits(f->m, &f->limits);
		f->before_valid = false;
	}
	return WIDE_OK;
}

/* Is a memtable that we pin not needed any more by anybody who starts now? */
static bool
pin_is_stale(wide_scan *s)
{
	if (s->pin.version == atomic_load_explicit(&s->db->seg->set.version, memory_order_relaxed))
		return false;
	for (int i = 0; i < s->pin.nmem; i++)
	{
		uint32_t	state = atomic_load(&s->db->seg->memtables[s->pin.mem[i]].state);

		if (state != MEM_ACTIVE && state != MEM_IMMUTABLE)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ ranges */

/* hi is lo and a zero byte */
static bool
is_point(const wide_range *r)
{
	return r->hi.data != NULL && r->hi.len == r->lo.len + 1 && r->lo.len > 0 && r->hi.data[r->lo.len] == 0 &&
		memcmp(r->lo.data, r->hi.data, r->lo.len) == 0;
}

static wide_status
add_bound(wide_scan *s, wide_bytes row, size_t *at, size_t *len)
{
	uint8_t    *end;

	if (row.len > WIDE_MAX_ROW + 1)
		return wide_fail(WIDE_LIMIT, "a bound of a row range has at most %d bytes", WIDE_MAX_ROW + 1);
	TRY(buffer_reserve(&s->bounds, KEY_ROW_MAX(row.len)));
	*at = s->bounds.len;
	end = key_put_part(s->bounds.data + s->bounds.len, row.data, row.len);
	*len = (size_t) (end - (s->bounds.data + s->bounds.len));
	s->bounds.len += *len;
	return WIDE_OK;
}

wide_status
scan_set_ranges(wide_scan *s, const wide_range *ranges, int n)
{
	bool		points = n > 0;

	if (n > s->ranges_cap)
	{
		scan_range *p = realloc(s->ranges, (size_t) n * sizeof(*p));

		if (p == NULL)
			return wide_fail(WIDE_NOMEM, "out of memory for a scan");
		s->ranges = p;
		s->ranges_cap = n;
	}
	s->bounds.len = 0;
	s->nranges = 0;
	for (int i = 0; i < n; i++)
	{
		scan_range *r = &s->ranges[s->nranges];

		memset(r, 0, sizeof(*r));
		r->point = is_point(&ranges[i]);
		points = points && r->point;
		if (ranges[i].lo.len > 0)
			TRY(add_bound(s, ranges[i].lo, &r->lo, &r->lo_len));
		if (ranges[i].hi.data != NULL && !r->point)
		{
			TRY(add_bound(s, ranges[i].hi, &r->hi, &r->hi_len));
			if (ukey_compare(s->bounds.data + r->lo, r->lo_len, s->bounds.data + r->hi, r->hi_len) >= 0)
				continue;		/* empty */
			scan_range_prefix(r, &ranges[i]);
		}
		s->nranges++;
	}
	s->range = 0;
	s->sought.len = 0;
	s->open = s->in_row = s->have_row = false;
	stat_add(s->db, points ? STAT_GETS : STAT_SCANS, points ? (uint64_t) n : 1);
	return WIDE_OK;
}

static inline const uint8_t *
range_lo(const wide_scan *s)
{
	return s->cur->lo_len > 0 ? s->bounds.data + s->cur->lo : (const uint8_t *) "";
}

/* Above every key: a row has at most WIDE_MAX_ROW bytes. */
static wide_status
key_above_all(buffer *b)
{
	b->len = 0;
	TRY(buffer_reserve(b, WIDE_MAX_ROW + 1));
	memset(b->data, 0xff, WIDE_MAX_ROW + 1);
	b->len = WIDE_MAX_ROW + 1;
	return WIDE_OK;
}

/* What the sources of a family need not look at in the open range. */
static wide_status
range_limits(wide_scan *s, scan_family *f)
{
	source_limits *l = &f->limits;

	l->hi = l->row = l->column = l->prefix = NULL;
	l->range++;
	/* a filter may want to go on elsewhere; who follows is sought for one row */
	l->pass_old = l->by_time && f->leads && !s->reverse && !s->cur->point && s->filter == NULL;
	if (!s->cur->point)
	{
		if (s->cur->hi_len > 0 && !s->reverse)
		{
			l->hi = s->bounds.data + s->cur->hi;
			l->hilen = (uint32_t) s->cur->hi_len;
		}
		/* a source remembers, for falling keys, what lies before them in all ranges */
		if (s->cur->prefix > 0 && (!s->reverse || s->nranges == 1))
		{
			l->prefix = range_lo(s);
			l->prefixlen = (uint32_t) s->cur->prefix;
		}
		return WIDE_OK;
	}
	l->row = range_lo(s);
	l->rowlen = (uint32_t) s->cur->lo_len;
	if (f->want == WIDE_WANT_COLUMNS && f->ncols == 1 && !f->any_exists)
	{
		TRY(buffer_set(&f->column, l->row, l->rowlen));
		TRY(buffer_append(&f->column, f->quals.data, f->quals.len));
		l->column = f->column.data;
		l->columnlen = (uint32_t) f->column.len;
	}
	return WIDE_OK;
}

/* Stand before the open range, or after the row that was read last in it. */
static wide_status
range_seek(wide_scan *s)
{
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		TRY(range_limits(s, f));
		f->placed = f->ready = false;
		if (!f->leads || (s->reverse && !s->cur->point))
			continue;
		if (s->have_row)
			TRY(merge_seek(f->m, s->after.data, (uint32_t) s->after.len, INT64_MAX, SEQ_MAX));
		else
			TRY(merge_seek(f->m, range_lo(s), (uint32_t) s->cur->lo_len, INT64_MAX, SEQ_MAX));
	}
	return WIDE_OK;
}

/* The place in the order of rows that the filter has named last lies behind (reverse: before) all of the range. */
bool
scan_range_passed(const wide_scan *s)
{
	const uint8_t *lo = range_lo(s);

	if (s->sought.len == 0)
		return false;
	if (s->reverse)
		return ukey_compare(lo, s->cur->lo_len, s->sought.data, s->sought.len) >= 0;
	if (s->cur->point)
		return ukey_compare(lo, s->cur->lo_len, s->sought.data, s->sought.len) < 0;
	return s->cur->hi_len > 0 &&
		ukey_compare(s->bounds.data + s->cur->hi, s->cur->hi_len, s->sought.data, s->sought.len) <= 0;
}

wide_status
scan_open_range(wide_scan *s)
{
	s->cur = &s->ranges[s->reverse ? s->nranges - 1 - s->range : s->range];
	s->range++;
	s->point_done = s->have_row = false;
	if (scan_range_passed(s))
		return WIDE_OK;
	s->open = true;
	if (s->reverse && !s->cur->point)
	{
		if (s->cur->hi_len > 0)
			TRY(buffer_set(&s->bound, s->bounds.data + s->cur->hi, s->cur->hi_len));
		else
			TRY(key_above_all(&s->bound));
		if (s->sought.len > 0 && ukey_compare(s->sought.data, s->sought.len, s->bound.data, s->bound.len) < 0)
			TRY(buffer_set(&s->bound, s->sought.data, s->sought.len));
	}
	else if (!s->reverse && s->sought.len > 0 && ukey_compare(range_lo(s), s->cur->lo_len, s->sought.data, s->sought.len) < 0)
	{
		/* as if a row before it had been read */
		TRY(buffer_set(&s->after, s->sought.data, s->sought.len));
		s->have_row = true;
	}
	return range_seek(s);
}

/* -------------------------------------------------------------------- rows */

/* The row at hand begins. */
static wide_status
begin_row(wide_scan *s)
{
	s->have_row = s->in_row = true;
	s->row_exists = s->rejected = s->overflow = false;
	s->row_shown = 0;
	s->row_number++;
	TRY(buffer_set(&s->after, s->row.data, s->row.len));
	s->after.data[s->after.len - 1]++;	/* terminator 00 01 -> 00 02 */
	for (int i = 0; i < s->nfamilies; i++)
		s->families[i].ready = false;
	if (s->ntesting > 0)
	{
		predicates_row(&s->pred);
		s->untested = s->pred.ncolumns;
	}
	return WIDE_OK;
}

/* A family in which no rows are looked for goes to the row, if it has it. */
static wide_status
follow(wide_scan *s, scan_family *f)
{
	const entry *e;
	bool		next = f->placed && f->last_row + 1 == s->row_number;

	f->last_row = s->row_number;
	if (s->cur->point || s->reverse || !f->placed)
	{
		if (!s->cur->point && s->reverse)
		{
			f->limits.hi = s->after.data;
			f->limits.hilen = (uint32_t) s->after.len;
		}
		else
			f->placed = !s->cur->point;
		return merge_seek(f->m, s->row.data, (uint32_t) s->row.len, INT64_MAX, SEQ_MAX);
	}
	e = merge_entry(f->m);
	if (e == NULL || ukey_compare(e->ukey, e->klen, s->row.data, s->row.len) >= 0)
		return WIDE_OK;
	if (next)
		return merge_pass(f->m, s->row.data, (uint32_t) s->row.len);
	return merge_skip(f->m, s->row.data, (uint32_t) s->row.len, INT64_MAX, SEQ_MAX);
}

/* Before anything is read of the row in this family. */
static wide_status
get_ready(wide_scan *s, scan_family *f)
{
	if (f->ready)
		return WIDE_OK;
	if (!f->leads)
		TRY(follow(s, f));
	f->ready = true;
	f->present = in_this_row(s, merge_entry(f->m));
	f->done = !f->present;
	f->in_column = f->held = f->passed_over = false;
	f->want_at = f->steps = 0;
	f->tested = s->untested > 0 ? 0 : f->ncols;
	f->show = true;
	f->test = NULL;
	if (f->present)
		view_read_row(&f->view);
	return WIDE_OK;
}

/* The smallest row any family stands at, in s->row; WIDE_END: the range is over. */
static wide_status
row_forward(wide_scan *s)
{
	const entry *first = NULL;

	for (int i = 0; i < s->nfamilies; i++)
	{
		const entry *e = s->families[i].leads ? merge_entry(s->families[i].m) : NULL;

		if (e != NULL && (first == NULL || ukey_compare(e->ukey, e->rowlen, first->ukey, first->rowlen) < 0))
			first = e;
	}
	if (first == NULL)
		return WIDE_END;
	if (s->cur->hi_len > 0 &&
		ukey_compare(first->ukey, first->rowlen, s->bounds.data + s->cur->hi, s->cur->hi_len) >= 0)
		return WIDE_END;
	TRY(buffer_set(&s->row, first->ukey, first->rowlen));
	return begin_row(s);
}

/* The largest row below s->bound. */
static wide_status
row_reverse(wide_scan *s)
{
	scan_family *last = NULL;

	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		if (!f->leads)
			continue;
		if (!f->before_valid ||
			(!f->before_end && ukey_compare(f->before.data, f->before.len, s->bound.data, s->bound.len) >= 0))
		{
			wide_status st = merge_row_before(f->m, s->bound.data, (uint32_t) s->bound.len, &f->before);

			f->before_end = st == WIDE_END;
			if (st != WIDE_END)
				TRY(st);
			f->before_valid = true;
		}
		if (!f->before_end &&
			(last == NULL || ukey_compare(f->before.data, f->before.len, last->before.data, last->before.len) > 0))
			last = f;
	}
	if (last == NULL || ukey_compare(last->before.data, last->before.len, range_lo(s), s->cur->lo_len) < 0)
		return WIDE_END;
	TRY(buffer_set(&s->row, last->before.data, last->before.len));
	TRY(buffer_set(&s->after, s->row.data, s->row.len));
	s->after.data[s->after.len - 1]++;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		if (!f->leads || f->before_end || f->before.len != s->row.len || memcmp(f->before.data, s->row.data, s->row.len) != 0)
			continue;
		f->limits.hi = s->after.data;
		f->limits.hilen = (uint32_t) s->after.len;
		TRY(merge_seek(f->m, s->row.data, (uint32_t) s->row.len, INT64_MAX, SEQ_MAX));
		f->before_valid = false;
	}
	/* last, so that an interrupted attempt can be made again */
	TRY(buffer_set(&s->bound, s->row.data, s->row.len));
	return begin_row(s);
}

/* The row of a range of one, if anything stands in it. */
static wide_status
point_row(wide_scan *s)
{
	if (s->point_done)
		return WIDE_END;
	s->point_done = true;
	TRY(buffer_set(&s->row, range_lo(s), s->cur->lo_len));
	TRY(begin_row(s));
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].leads && in_this_row(s, merge_entry(s->families[i].m)))
			return WIDE_OK;
	s->in_row = false;
	return WIDE_END;
}

/* The families that stand in the row go to the next one; those that follow do so when a row is read of them. */
static wide_status
leave_row(wide_scan *s)
{
	s->in_row = false;
	if (s->cur->point || s->reverse)
		return WIDE_OK;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		if (f->leads && in_this_row(s, merge_entry(f->m)))
			TRY(merge_pass(f->m, s->after.data, (uint32_t) s->after.len));
	}
	return WIDE_OK;
}

/* The filter wants nothing before s->sought (reverse: nothing from there on). */
wide_status
scan_go_to_sought(wide_scan *s)
{
	if (scan_range_passed(s))
	{
		s->open = false;
		return WIDE_OK;
	}
	if (s->cur->point)
		return WIDE_OK;
	if (s->reverse)
		return buffer_set(&s->bound, s->sought.data, s->sought.len);
	TRY(buffer_set(&s->after, s->sought.data, s->sought.len));
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];
		const entry *e;

		f->steps = 0;
		while (f->leads && (e = merge_entry(f->m)) != NULL &&
			   ukey_compare(e->ukey, e->klen, s->after.data, s->after.len) < 0)
			TRY(scan_move(f, s->after.data, (uint32_t) s->after.len, INT64_MAX));
	}
	return WIDE_OK;
}

wide_status
scan_ask_filter(wide_scan *s, const buffer *row, wide_bytes key, wide_row_verdict *verdict)
{
	wide_bytes	to = {NULL, 0};

	*verdict = s->filter(s->filter_arg, key, &to);
	if (*verdict != WIDE_ROW_SEEK)
		return WIDE_OK;
	if (to.len > WIDE_MAX_ROW + 1)
		return wide_fail(WIDE_LIMIT, "a row filter named a key of %zu bytes", to.len);
	s->sought.len = 0;
	TRY(buffer_reserve(&s->sought, KEY_ROW_MAX(to.len)));
	s->sought.len = (size_t) (key_put_part(s->sought.data, to.data, to.len) - s->sought.data);
	if ((ukey_compare(s->sought.data, s->sought.len, row->data, row->len) > 0) == s->reverse)
	{
		/* it does not lead on */
		s->sought.len = 0;
		*verdict = WIDE_ROW_SKIP;
	}
	return WIDE_OK;
}

/* Ask about the row at hand; if it is not accepted the scan moves on as far as the filter says. */
static wide_status
filter_row(wide_scan *s, bool *accepted)
{
	wide_bytes	key;
	wide_row_verdict verdict;

	s->key.len = 0;
	TRY(buffer_reserve(&s->key, s->row.len));
	TRY(key_decode_part(s->row.data, s->row.len, &s->key, &key));
	TRY(scan_ask_filter(s, &s->row, key, &verdict));
	*accepted = verdict == WIDE_ROW_ACCEPT;
	if (*accepted)
		return WIDE_OK;
	s->in_row = false;
	if (verdict == WIDE_ROW_END)
	{
		s->range = s->nranges;
		s->open = false;
		return WIDE_OK;
	}
	return verdict == WIDE_ROW_SEEK ? scan_go_to_sought(s) : leave_row(s);
}

/* Go to the next row in which anything stands, and which the filter accepts. */
static wide_status
next_row(wide_scan *s)
{
	bool		accepted;

	for (;;)
	{
		wide_status st;

		if (!s->open)
		{
			if (s->range >= s->nranges)
				return WIDE_END;
			TRY(scan_open_range(s));
			if (!s->open)
				continue;
		}
		if (s->cur->point)
			st = point_row(s);
		else
			st = s->reverse ? row_reverse(s) : row_forward(s);
		if (st == WIDE_END)
			s->open = false;
		else if (st != WIDE_OK || s->filter == NULL)
			return st;
		else
		{
			TRY(filter_row(s, &accepted));
			if (accepted)
				return WIDE_OK;
		}
	}
}

/* None of the wanted columns is there: does the row have any other cell in the family? */
static wide_status
other_cells(wide_scan *s, scan_family *f)
{
	wide_want	want = f->want;
	bool		full = false;
	wide_status st;

	TRY(merge_seek(f->m, s->row.data, (uint32_t) s->row.len, INT64_MAX, SEQ_MAX));
	f->done = f->in_column = f->held = false;
	f->steps = 0;
	view_read_row(&f->view);
	f->want = WIDE_WANT_EXISTS;
	st = scan_family_row(s, f, &full);
	f->want = want;
	return st;
}

/* Cells of the row have been collected in vain. */
static void
drop_cells(wide_scan *s)
{
	s->stats.cells_returned -= (uint64_t) s->ncells;
	scan_let_go(s);
}

/* The row is in, but not all that is wanted could be kept: begin again, without tests. */
static wide_status
read_again(wide_scan *s)
{
	drop_cells(s);
	s->overflow = false;
	s->row_shown = 0;
	for (int i = 0; i < s->ntesting; i++)
	{
		scan_family *f = s->order[i];

		TRY(merge_seek(f->m, s->row.data, (uint32_t) s->row.len, INT64_MAX, SEQ_MAX));
		f->ready = false;
	}
	return WIDE_OK;
}

/* The families of which cells are wanted or tested. */
static wide_status
read_cells(wide_scan *s, bool *full)
{
	for (int i = 0; i < s->nfamilies && !*full; i++)
	{
		scan_family *f = s->order[i];

		if (f->want == WIDE_WANT_EXISTS)
			continue;
		if (i >= s->ntesting && s->row_shown >= s->row_limit)
			break;
		TRY(get_ready(s, f));
		if (!f->done || f->held || f->tested < f->ncols)
			TRY(scan_family_row(s, f, full));
		if (s->rejected)
			return WIDE_OK;
		if (s->overflow && i + 1 == s->ntesting)
		{
			TRY(read_again(s));
			i = -1;
		}
	}
	return WIDE_OK;
}

/* Read the row, or its next part. */
static wide_status
read_row(wide_scan *s, bool *full)
{
	*full = false;
	TRY(read_cells(s, full));
	if (*full)
		return WIDE_OK;
	if (s->rejected)
	{
		s->row_exists = false;
		s->stats.rows_rejected++;
		if (s->ncells > 0)
			drop_cells(s);
		return leave_row(s);
	}
	for (int i = 0; i < s->nfamilies && !s->row_exists; i++)
		if (s->families[i].want == WIDE_WANT_EXISTS)
		{
			TRY(get_ready(s, &s->families[i]));
			if (!s->families[i].done)
				TRY(scan_family_row(s, &s->families[i], full));
		}
	for (int i = 0; i < s->nfamilies && !s->row_exists; i++)
		if (s->families[i].any_exists && s->families[i].present && s->families[i].passed_over)
			TRY(other_cells(s, &s->families[i]));
	return leave_row(s);
}

/* ------------------------------------------------------------------ public */

wide_status
wide_scan_open(wide_db *db, const wide_snapshot *snap, const wide_scan_spec *spec, wide_scan **out)
{
	wide_scan  *s;
	wide_status st;

	*out = NULL;
	TRY(shm_check(db));
	s = spare_alloc(sizeof(*s));
	if (s == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory for a scan");
	s->db = db;
	s->snap = snap;
	s->reverse = spec->reverse;
	s->ts_min = spec->ts_min;
	s->ts_max = spec->ts_max;
	s->show_min = spec->show_min;
	s->show_max = spec->show_max;
	s->filtered = s->show_min != 0 || s->show_max != 0;
	s->now_given = spec->now != 0;
	s->now = s->now_given ? spec->now : snapshot_now(snap);
	s->seq = wide_snapshot_lsn(snap);
	s->generation = wide_catalog_generation(db);
	s->own = spec->own;
	s->own_mark = spec->own_mark;
	s->row_cells = spec->row_cells != 0 ? spec->row_cells : ROW_CELLS;
	s->row_limit = spec->row_limit != 0 ? spec->row_limit : UINT32_MAX;
	s->filter = spec->row_filter;
	s->filter_arg = spec->filter_arg;
	s->filter_follows = spec->filter_follows;
	s->calls = 1;
	TRY_GOTO(predicates_init(&s->pred, spec->predicates, spec->npredicates, spec->nfamilies));
	TRY_GOTO(scan_families_open(s, spec));
	TRY_GOTO(scan_set_ranges(s, spec->ranges, spec->nranges));
	TRY_GOTO(make_sources(s));
	scan_run_init(s);
	*out = s;
	return WIDE_OK;
done:
	wide_scan_close(s);
	return st;
}

/* Between rows: take sources again after a rest, or move to the current files when ours keep a memtable busy. */
static wide_status
refresh(wide_scan *s)
{
	if (s->pinned && !pin_is_stale(s))
		return WIDE_OK;
	TRY(scan_run_drop(s));
	scan_leave_sources(s);
	TRY(make_sources(s));
	return s->open && !(s->cur->point && s->point_done) ? range_seek(s) : WIDE_OK;
}

static wide_status
scan_step(wide_scan *s, wide_row *row)
{
	bool		full;

	if (!s->in_row)
	{
		s->row_exists = false;
		TRY(refresh(s));
	}
	for (;;)
	{
		bool		first = !s->in_row;

		if (first && s->run.possible)
		{
			TRY(scan_run_next(s));
			if (wide_scan_ready(s, row))
				return WIDE_OK;
		}
		if (first)
			TRY(next_row(s));
		TRY(read_row(s, &full));
		TRY(s->failed);
		if (!s->row_exists)
			continue;
		s->stats.rows_returned += first;
		s->key.len = 0;
		TRY(buffer_reserve(&s->key, s->row.len));
		TRY(key_decode_part(s->row.data, s->row.len, &s->key, &row->key));
		row->cells = s->cells;
		row->ncells = s->ncells;
		row->more = full;
		row->unsure = s->pred.unsure;
		return WIDE_OK;
	}
}

/*
 * The call was interrupted: let the sources go and stand where it began, or
 * rather at the row that it was about to return, so that it can be made again.
 */
static wide_status
step_back(wide_scan *s)
{
	scan_let_go(s);
	scan_leave_sources(s);
	if (!s->in_row && !s->row_exists)
		return WIDE_OK;
	s->in_row = s->row_exists = false;
	if (s->cur->point)
		s->point_done = false;
	else if (s->reverse)
		return buffer_set(&s->bound, s->after.data, s->after.len);
	else
		return buffer_set(&s->after, s->row.data, s->row.len);
	return WIDE_OK;
}

wide_status
wide_scan_next(wide_scan *s, wide_row *row)
{
	bool		(*ask) (void *) = s->db->host.interrupted;
	wide_status st;

	if (wide_scan_ready(s, row))
		return WIDE_OK;
	memset(row, 0, sizeof(*row));
	scan_let_go(s);
	TRY(s->failed);
	TRY(shm_check(s->db));
	/* the next part of a row: there is no way back to its beginning, so it is not interrupted */
	if (s->in_row)
		s->db->host.interrupted = NULL;
	st = scan_step(s, row);
	s->db->host.interrupted = ask;
	/* positions are lost with any other failure */
	if (st == WIDE_INTERRUPTED)
		s->failed = step_back(s);
	else if (st != WIDE_OK && st != WIDE_END)
		s->failed = st;
	return st;
}

void
wide_scan_park(wide_scan *s)
{
	if (s->in_row || !s->pinned || s->failed != WIDE_OK)
		return;
	s->failed = scan_run_drop(s);
	scan_let_go(s);
	scan_leave_sources(s);
}

void
wide_scan_statistics(const wide_scan *s, wide_scan_stats *out)
{
	/* sources count what they did when they are asked to */
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].m != NULL)
			merge_statistics(s->families[i].m);
	scan_run_count((wide_scan *) s);
	*out = s->stats;
}

void
wide_scan_close(wide_scan *s)
{
	if (s == NULL)
		return;
	scan_count(s);
	scan_let_go(s);
	scan_drop_sources(s);
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		if (f->view_made)
			view_read_free(&f->view);
		buffer_free(&f->quals);
		buffer_free(&f->column);
		buffer_free(&f->ukey);
		buffer_free(&f->target);
		buffer_free(&f->before);
		free(f->cols);
	}
	scan_free_memory(s);
	scan_run_free(s);
	buffer_free(&s->bounds);
	buffer_free(&s->row);
	buffer_free(&s->bound);
	buffer_free(&s->sought);
	buffer_free(&s->after);
	buffer_free(&s->key);
	predicates_free(&s->pred);
	scan_families_free(s);
	free(s->ranges);
	spare_free(s, sizeof(*s));
}
