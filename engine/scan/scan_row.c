/*
 * scan_row.c - the cells of a row: which entries of a family are shown, and
 * how long their bytes live.
 *
 * Values point into memtables, the private batch, or cached blocks.  When a
 * cursor leaves a block from which the current row has values, the scan keeps
 * its pin until the next call, up to KEPT_MAX; beyond that the values are
 * copied.  Qualifiers are decoded into an arena that lives as long.
 *
 * What is not wanted or not visible is passed over step by step at first, then
 * by a seek: a column with many versions, or a row with many columns of which
 * a few are wanted, costs a few steps and a seek for each part.
 *
 * Predicates are told of their columns on the way: the newest visible version,
 * or that there is none as soon as the scan is past the column.  What is wanted
 * of the row is collected meanwhile; when that becomes too much before it is
 * known whether the row is in, only columns with predicates are looked for and
 * the row is read again (overflow).
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_row.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/read/merge.h"
#include "engine/read/visibility.h"
#include "engine/batch/op.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_state.h"

/* for the gets of one row; with the head below 1 KB, as CELLS_FIRST */
#define ARENA_FIRST ((size_t) 960)
#define ARENA_CHUNK ((size_t) 16 * 1024)

/* ------------------------------------------------------------------ memory */

void *
scan_row_arena(wide_scan *s, size_t n)
{
	chunk *c = s->arena;

	if (c == NULL || c->size - c->used < n)
	{
		size_t least = c == NULL ? ARENA_FIRST : ARENA_CHUNK, size = n > least ? n : least;

		c = malloc(sizeof(*c) + size);
		if (c == NULL)
			return NULL;
		c->size = size;
		c->used = 0;
		c->next = s->arena;
		s->arena = c;
	}
	c->used += n;
	return c->data + c->used - n;
}

static void
arena_reset(wide_scan *s)
{
	while (s->arena != NULL && s->arena->next != NULL)
	{
		chunk *c = s->arena;

		s->arena = c->next;
		free(c);
	}
	if (s->arena != NULL)
		s->arena->used = 0;
}

/* A cursor leaves a block that the row has values in. */
void
scan_row_keep_block(void *arg, block_ref *ref)
{
	wide_scan *s = arg;

	if (s->nkept < KEPT_MAX)
	{
		s->kept[s->nkept++] = *ref;
		memset(ref, 0, sizeof(*ref));
		return;
	}
	for (int i = s->ncells - 1; i >= 0; i--)
	{
		wide_bytes *v = &s->cells[i].value;
		void *p;

		if (v->len == 0 || v->data < ref->data || v->data >= ref->data + ref->len)
			continue;
		p = scan_row_arena(s, v->len);
		if (p == NULL)
		{
			s->failed = status_fail(WIDE_NOMEM, "out of memory for a row");
			v->len = 0;
			continue;
		}
		memcpy(p, v->data, v->len);
		v->data = p;
	}
	cache_unpin(s->db, ref);
}

/* Nothing that was handed out is in use any more. */
void
scan_row_let_go(wide_scan *s)
{
	for (int i = 0; i < s->nkept; i++)
		cache_unpin(s->db, &s->kept[i]);
	s->nkept = 0;
	for (int i = 0; i < s->nfamilies && s->ncells > 0; i++)
		if (s->families[i].m != NULL)
			merge_unused(s->families[i].m);
	s->ncells = 0;
	arena_reset(s);
	s->calls++;
}

/* ------------------------------------------------------ a family in a row */

static wide_status
emit_cell(wide_scan *s, scan_family *f, const entry *e)
{
	wide_cell *c;

	if ((uint32_t) s->ncells == s->cells_cap)
	{
		uint32_t cap = s->cells_cap == 0 ? CELLS_FIRST : 2 * s->cells_cap;
		wide_cell *p = realloc(s->cells, cap * sizeof(*p));

		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a row");
		s->cells = p;
		s->cells_cap = cap;
	}
	c = &s->cells[s->ncells];
	c->family = (int) (f - s->families);
	c->column = -1;
	c->version = f->view.out - 1;
	c->ts = e->ts;
	c->ttl_us = e->ttl_us;
	c->seq = e->seq < SEQ_BATCH ? e->seq : 0;
	c->provisional = e->seq >= SEQ_BATCH && op_is_auto(e->seq);
	c->value = (wide_bytes) {e->value, e->vlen};
	c->qualifier = (wide_bytes) {NULL, 0};
	if (f->want == WIDE_WANT_COLUMNS)
		c->column = f->cols[f->want_at].want;
	else
	{
		if (f->qual_call != s->calls)
		{
			uint32_t n = e->klen - e->rowlen;
			uint8_t *p = scan_row_arena(s, 2 * (size_t) n);
			buffer b = {p, n, 2 * (size_t) n};

			if (p == NULL)
				return status_fail(WIDE_NOMEM, "out of memory for a row");
			/* the cursor's key changes; the copy stays, and has room for the decoded form */
			memcpy(p, e->ukey + e->rowlen, n);
			TRY(key_decode_part(p, n, &b, &f->qual));
			f->qual_call = s->calls;
		}
		c->qualifier = f->qual;
	}
	s->ncells++;
	s->row_shown++;
	s->stats.cells_returned++;
	merge_used(f->m);
	return WIDE_OK;
}

/* Move on towards a key in this row: a few steps, then a seek. */
wide_status
scan_row_move(scan_family *f, const uint8_t *ukey, uint32_t klen, int64_t ts)
{
	if (f->steps++ < STEPS)
		return merge_next(f->m);
	f->steps = 0;
	return merge_skip(f->m, ukey, klen, ts, ts == INT64_MIN ? 0 : SEQ_MAX);
}

/* Columns before `to` that have not been told are absent. */
static void
tell_absent(wide_scan *s, scan_family *f, int to)
{
	for (; f->tested < to; f->tested++)
		if (f->cols[f->tested].test != NULL)
		{
			s->untested--;
			if (!predicate_test(&s->pred, f->cols[f->tested].test, NULL, 0))
			{
				s->rejected = f->done = true;
				return;
			}
		}
}

/* The newest visible version of a column with predicates. */
static void
tell_value(wide_scan *s, scan_family *f, const entry *e)
{
	wide_bytes value = {e->value, e->vlen};
	const predicate_column *test = f->test;

	f->test = NULL;
	f->tested = f->want_at + 1;
	s->untested--;
	if (!predicate_test(&s->pred, test, &value, e->ts))
		s->rejected = f->done = true;
}

/* Is there still a reason to look for this column? */
static inline bool
column_needed(const wide_scan *s, const scan_family *f, int i)
{
	return (f->want == WIDE_WANT_COLUMNS && f->cols[i].want >= 0 && !s->overflow &&
			s->row_shown < s->row_limit) ||
		   (f->cols[i].test != NULL && i >= f->tested);
}

/* WANT_RANGE: is the column in it?  If it is before it, *next is lowered to its beginning. */
static bool
in_range(const scan_family *f, wide_bytes part, bool *more, wide_bytes *next)
{
	const uint8_t *lo = f->quals.data;

	if (f->hi_len > 0 && ukey_compare(part.data, part.len, lo + f->lo_len, f->hi_len) >= 0)
		return false;
	if (ukey_compare(part.data, part.len, lo, f->lo_len) >= 0)
		return true;
	if (!*more || ukey_compare(lo, f->lo_len, next->data, next->len) < 0)
		*next = (wide_bytes) {lo, f->lo_len};
	*more = true;
	return false;
}

/*
 * The entry begins a column: is it wanted, or to be tested?  If not the merge
 * moves on, and f->done is set when nothing that follows in the row is.
 */
static wide_status
column_wanted(wide_scan *s, scan_family *f, const entry *e, bool *wanted)
{
	wide_bytes part = {e->ukey + e->rowlen, e->klen - e->rowlen}, next = {NULL, 0};
	bool here = false, more = false;

	*wanted = false;
	f->test = NULL;
	for (; f->want_at < f->ncols; f->want_at++)
	{
		const scan_column *col = &f->cols[f->want_at];
		int c = ukey_compare(f->quals.data + col->at, col->len, part.data, part.len);

		here = c == 0 && column_needed(s, f, f->want_at);
		more = c > 0;
		if (here || more)
		{
			next = (wide_bytes) {f->quals.data + col->at, col->len};
			break;
		}
	}
	tell_absent(s, f, f->want_at);
	if (s->rejected)
		return WIDE_OK;
	if (f->want == WIDE_WANT_COLUMNS)
		f->show = here && f->cols[f->want_at].want >= 0;
	else
		f->show = f->want == WIDE_WANT_ALL || in_range(f, part, &more, &next);
	f->show = f->show && !s->overflow && s->row_shown < s->row_limit;
	if (here && f->want_at >= f->tested)
		f->test = f->cols[f->want_at].test;
	*wanted = f->show || f->test != NULL;
	f->done = !*wanted && !more;
	f->passed_over = f->passed_over || !*wanted;
	if (f->done || *wanted)
		return WIDE_OK;
	TRY(buffer_set(&f->target, s->row.data, s->row.len));
	TRY(buffer_append(&f->target, next.data, next.len));
	return scan_row_move(f, f->target.data, (uint32_t) f->target.len, INT64_MAX);
}

/* The rest of the current column is not visible. */
static wide_status
skip_column(wide_scan *s, scan_family *f)
{
	const entry *e;

	f->in_column = false;
	f->steps = 0;
	TRY(merge_next(f->m));
	while ((e = merge_entry(f->m)) != NULL && e->klen == f->ukey.len &&
		   memcmp(e->ukey, f->ukey.data, e->klen) == 0)
	{
		s->stats.cells_scanned++;
		TRY(scan_row_move(f, f->ukey.data, (uint32_t) f->ukey.len, INT64_MIN));
	}
	f->steps = 0;
	return WIDE_OK;
}

/* A version that is visible; the last one that is to be shown of its column? */
static wide_status
visible_cell(wide_scan *s, scan_family *f, const entry *e, bool last, bool *full)
{
	uint32_t room = s->untested > 0 && s->row_cells > UNTOLD_CELLS ? UNTOLD_CELLS : s->row_cells;

	if (f->test != NULL)
	{
		tell_value(s, f, e);
		if (s->rejected)
			return WIDE_OK;
	}
	s->row_exists = true;
	if (f->want == WIDE_WANT_EXISTS)
	{
		f->done = true;
		return WIDE_OK;
	}
	f->show = f->show && s->row_shown < s->row_limit;
	if (f->show && (uint32_t) s->ncells >= room)
	{
		if (s->untested == 0 && !s->overflow)
		{
			f->held = *full = true;
			f->steps = last; /* what to do when it has been shown */
			return WIDE_OK;
		}
		s->overflow = true;
		f->show = false;
	}
	if (!f->show)
		return skip_column(s, f);
	TRY(emit_cell(s, f, e));
	if (s->row_shown >= s->row_limit && s->untested == 0)
	{
		f->done = true;
		return WIDE_OK;
	}
	if (!last)
		return merge_next(f->m);
	/* what follows in the row is not wanted: it is left where it is */
	f->done = f->want == WIDE_WANT_COLUMNS && f->want_at + 1 == f->ncols;
	return f->done ? WIDE_OK : skip_column(s, f);
}

/* One entry of the row.  *full: it is to be shown, but the wide_row is full. */
static wide_status
family_entry(wide_scan *s, scan_family *f, const entry *e, bool *full)
{
	visibility_verdict verdict;

	if (entry_is_family_delete(e))
	{
		s->stats.tombstones++;
		TRY(visibility_add_delete(&f->view, e));
		return merge_next(f->m);
	}
	if (!f->in_column || e->klen != f->ukey.len || memcmp(e->ukey, f->ukey.data, e->klen) != 0)
	{
		bool wanted = true;

		f->in_column = false;
		if (f->want != WIDE_WANT_EXISTS && (f->want != WIDE_WANT_ALL || f->ncols > 0))
			TRY(column_wanted(s, f, e, &wanted));
		if (!wanted)
			return WIDE_OK;
		f->in_column = true;
		f->steps = 0;
		f->qual_call = 0;
		TRY(buffer_set(&f->ukey, e->ukey, e->klen));
		visibility_column(&f->view);
	}
	if (e->type != ENTRY_PUT)
		s->stats.tombstones++;
	TRY(visibility_cell(&f->view, e, &verdict));
	if (verdict == VISIBILITY_SHOW || verdict == VISIBILITY_LAST)
		return visible_cell(s, f, e, verdict == VISIBILITY_LAST, full);
	if (verdict == VISIBILITY_DONE)
		return skip_column(s, f);
	return merge_next(f->m);
}

/* All that the row has in this family. */
wide_status
scan_row_family(wide_scan *s, scan_family *f, bool *full)
{
	if (f->held)
	{
		bool last = f->steps != 0;

		f->held = false;
		f->qual_call = 0;
		TRY(emit_cell(s, f, merge_entry(f->m)));
		if (s->row_shown >= s->row_limit)
			f->done = true;
		else
			TRY(last ? skip_column(s, f) : merge_next(f->m));
	}
	while (!f->done)
	{
		const entry *e = merge_entry(f->m);

		if (!in_this_row(s, e))
			f->done = true;
		else
		{
			s->stats.cells_scanned++;
			TRY(family_entry(s, f, e, full));
			if (*full)
				return WIDE_OK;
		}
	}
	if (!s->rejected)
		tell_absent(s, f, f->ncols);
	return WIDE_OK;
}

void
scan_row_free_memory(wide_scan *s)
{
	while (s->arena != NULL)
	{
		chunk *c = s->arena;

		s->arena = c->next;
		free(c);
	}
	free(s->cells);
}
