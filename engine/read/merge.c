/*
 * merge.c - several sorted streams as one.
 *
 * A binary heap of the sources that have an entry, the smallest first; equal
 * entries (the same cell read from a memtable and from the file it has just
 * become) come once.  Merging is the inner loop of scans and compactions: a
 * step costs one or two comparisons as long as one source leads.
 *
 * Where one column of one row is looked for, files wait: when a memtable has a
 * version that is newer than all that is in them, and this is all that is wanted,
 * they are never looked at.  Whoever moves on has them sought first (settle).
 *
 * Locking: none.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/read/merge.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/block.h"
#include "engine/sst/sst_cursor.h"
#include "engine/read/source.h"
#include "engine/read/source_file.h"

#define TICKS 256 /* steps between questions whether to stop */

typedef struct merge_all
{
	merge head; /* first: read/ knows it */
	wide_db *db;
	source **sources;
	source **heap;
	/* of which bytes were given out, some perhaps twice; more than n: it may be any */
	source **used;
	int n, nheap, nused, cap;
	/* the sources from here on were not sought: those before have what comes first; 0: none */
	int late;
	uint32_t ticks;
	buffer row; /* of merge_row_before */
} merge_all;

#define ALL(m) ((merge_all *) (m))

wide_status
merge_new(wide_db *db, merge **out)
{
	merge_all *a = pool_alloc(sizeof(*a));

	if (a == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	a->db = db;
	*out = &a->head;
	return WIDE_OK;
}

wide_status
merge_add(merge *m, source *s)
{
	merge_all *a = ALL(m);

	if (a->n == a->cap)
	{
		int cap = a->cap == 0 ? 8 : 2 * a->cap;
		source **p = realloc(a->sources, (size_t) cap * 3 * sizeof(*p));

		if (p == NULL)
		{
			source_free(s);
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		}
		a->sources = p;
		a->heap = p + cap;
		a->used = p + 2 * cap;
		a->cap = cap;
	}
	s->order = (uint32_t) a->n;
	a->sources[a->n++] = s;
	a->nheap = a->late = 0;
	a->nused = a->cap + 1; /* the list has moved, perhaps */
	m->current = NULL;
	return WIDE_OK;
}

void
merge_free(merge *m)
{
	merge_all *a = ALL(m);

	if (a == NULL)
		return;
	for (int i = 0; i < a->n; i++)
		source_free(a->sources[i]);
	free(a->sources);
	buffer_free(&a->row);
	pool_free(a, sizeof(*a));
}

void
merge_limits(merge *m, const source_limits *limits)
{
	for (int i = 0; i < ALL(m)->n; i++)
		ALL(m)->sources[i]->limits = limits;
}

void
merge_restart(merge *m)
{
	for (int i = 0; i < ALL(m)->n; i++)
		source_restart(ALL(m)->sources[i]);
}

void
merge_statistics(merge *m)
{
	for (int i = 0; i < ALL(m)->n; i++)
		source_statistics(ALL(m)->sources[i]);
}

void
merge_used(merge *m)
{
	merge_all *a = ALL(m);

	if (a->heap[0]->used)
		return;
	a->heap[0]->used = true;
	if (a->nused < a->n)
		a->used[a->nused++] = a->heap[0];
	else
		a->nused = a->cap + 1;
}

void
merge_unused(merge *m)
{
	merge_all *a = ALL(m);
	bool any = a->nused > a->n;

	/* a scan of the newest of hundreds of windows uses one or two of its sources */
	for (int i = 0; i < (any ? a->n : a->nused); i++)
		(any ? a->sources : a->used)[i]->used = false;
	a->nused = 0;
}

/* ------------------------------------------------------------------- heap */

static inline bool
before(const source *a, const source *b)
{
	int c = key_compare(a->e, b->e);

	return c != 0 ? c < 0 : a->order < b->order;
}

static void
sift(merge_all *a, int i)
{
	source *s = a->heap[i];

	for (;;)
	{
		int child = 2 * i + 1;

		if (child >= a->nheap)
			break;
		if (child + 1 < a->nheap && before(a->heap[child + 1], a->heap[child]))
			child++;
		if (!before(a->heap[child], s))
			break;
		a->heap[i] = a->heap[child];
		i = child;
	}
	a->heap[i] = s;
}

/* The source at i has moved. */
static void
heap_moved(merge_all *a, int i)
{
	if (a->heap[i]->e == NULL)
	{
		a->heap[i] = a->heap[--a->nheap];
		if (i == a->nheap)
			return;
	}
	sift(a, i);
}

static void
heap_build(merge_all *a)
{
	a->nheap = 0;
	for (int i = 0; i < a->n; i++)
		if (a->sources[i]->e != NULL)
			a->heap[a->nheap++] = a->sources[i];
	for (int i = a->nheap / 2 - 1; i >= 0; i--)
		sift(a, i);
	a->head.current = a->nheap > 0 ? a->heap[0]->e : NULL;
}

/* The first entry is the newest version of the column, and what is sought is not behind it: must
 * no source from i on be sought? */
static bool
all_can_wait(const merge_all *a, int i, const uint8_t *ukey, uint32_t klen)
{
	const entry *first = a->head.current;

	/* a later place in the column: what is before it does not come */
	if (ukey_compare(ukey, klen, first->ukey, first->klen) > 0)
		return false;
	for (; i < a->n; i++)
		if (!source_can_wait(a->sources[i], first))
			return false;
	return true;
}

/* Seek in those that have waited.  All of theirs is behind the current entry, and they have
 * nothing of other columns to give. */
static wide_status
settle(merge_all *a)
{
	int i = a->late;

	a->late = 0;
	for (; i > 0 && i < a->n; i++)
	{
		const source_limits *l = a->sources[i]->limits;
		wide_status st = source_seek(a->sources[i], l->column, l->columnlen, INT64_MAX, SEQ_MAX);

		if (st != WIDE_OK)
		{
			a->head.current = NULL;
			a->nheap = 0;
			return st;
		}
	}
	heap_build(a);
	return WIDE_OK;
}

static inline wide_status
tick(merge_all *a)
{
	if (++a->ticks % TICKS == 0 && host_interrupted(a->db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	return WIDE_OK;
}

/* ------------------------------------------------------------------ public */

wide_status
merge_seek(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	merge_all *a = ALL(m);
	int i = 0;

	m->current = NULL;
	a->nheap = a->late = 0;
	TRY(tick(a));
	/* memory comes first */
	for (; i < a->n && source_file_of(a->sources[i]) == NULL; i++)
		TRY(source_seek(a->sources[i], ukey, klen, ts, seq));
	if (i > 0 && i < a->n && a->sources[i]->limits != NULL && a->sources[i]->limits->column != NULL)
	{
		for (int k = i; k < a->n; k++)
			a->sources[k]->e = NULL;
		heap_build(a);
		if (m->current != NULL && all_can_wait(a, i, ukey, klen))
		{
			a->late = i;
			return WIDE_OK;
		}
	}
	for (; i < a->n; i++)
		TRY(source_seek(a->sources[i], ukey, klen, ts, seq));
	heap_build(a);
	return WIDE_OK;
}

wide_status
merge_first(merge *m)
{
	return merge_seek(m, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX);
}

/* The first source was moved on, or could not be: then the merge has to be positioned anew. */
static inline wide_status
top_moved(merge *m, merge_all *a, wide_status st)
{
	if (st == WIDE_OK)
		heap_moved(a, 0);
	else
	{
		m->current = NULL;
		a->nheap = 0;
	}
	return st;
}

wide_status
merge_skip(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	merge_all *a = ALL(m);
	entry to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};

	TRY(tick(a));
	if (a->late > 0)
		TRY(settle(a));
	while (a->nheap > 0 && key_compare(a->heap[0]->e, &to) < 0)
		TRY(top_moved(m, a, source_seek(a->heap[0], ukey, klen, ts, seq)));
	m->current = a->nheap > 0 ? a->heap[0]->e : NULL;
	return WIDE_OK;
}

wide_status
merge_pass(merge *m, const uint8_t *ukey, uint32_t klen)
{
	merge_all *a = ALL(m);

	TRY(tick(a));
	if (a->late > 0)
		TRY(settle(a));
	while (a->nheap > 0 && ukey_compare(a->heap[0]->e->ukey, a->heap[0]->e->klen, ukey, klen) < 0)
		TRY(top_moved(m, a, source_pass(a->heap[0], ukey, klen)));
	m->current = a->nheap > 0 ? a->heap[0]->e : NULL;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- windows */

void
merge_span_block(const merge *m, merge_span *w)
{
	const merge_all *a = (const merge_all *) m;
	file_source *f = a->nheap > 0 ? source_file_of(a->heap[0]) : NULL;

	*w = (merge_span) {.block = NULL};
	if (f == NULL)
		return;
	w->block = &f->cursor.block;
	w->row = w->end = w->block->row;
	w->seq = sst_cursor_seq(&f->cursor);
}

wide_status
merge_span_rows(const merge *m, const uint8_t *hi, uint32_t hilen, merge_span *w)
{
	const merge_all *a = (const merge_all *) m;
	const file_source *f = source_file_of(a->heap[0]);
	uint32_t row;

	w->end = w->block->rows;
	/* where a row goes on elsewhere, it ends with the one before; files are cut within large
	 * rows too */
	if ((w->block->flags & BLOCK_ROW_GOES_ON) != 0 ||
		(f->at + 1 < f->nfiles && sst_cursor_last_block(&f->cursor)))
		w->end--;
	/* the next smallest of the sources is one of two */
	for (int i = 1; i <= 2 && i < a->nheap && w->row < w->end; i++)
	{
		TRY(block_row_at(w->block, w->row, a->heap[i]->e->ukey, a->heap[i]->e->klen, &row));
		w->end = row < w->end ? row : w->end;
	}
	if (hi != NULL && w->row < w->end)
	{
		TRY(block_row_at(w->block, 0, hi, hilen, &row));
		w->end = row < w->end ? row : w->end;
	}
	w->end = w->end > w->row ? w->end : w->row;
	return WIDE_OK;
}

wide_status
merge_span_leave(merge *m, uint32_t row)
{
	merge_all *a = ALL(m);

	TRY(top_moved(m, a, source_file_row(a->heap[0], row)));
	m->current = a->nheap > 0 ? a->heap[0]->e : NULL;
	return WIDE_OK;
}

static inline bool
same(const entry *a, const entry *b)
{
	return a->seq == b->seq && a->ts == b->ts && a->type == b->type && a->klen == b->klen &&
		   memcmp(a->ukey, b->ukey, a->klen) == 0;
}

wide_status
merge_next(merge *m)
{
	merge_all *a = ALL(m);
	wide_status st;

	if (a->nheap == 0)
		return WIDE_OK;
	TRY_GOTO(tick(a));
	if (a->late > 0)
		TRY(settle(a));
	/* equal entries are neighbours of the root */
	for (int i = 1; i <= 2 && i < a->nheap;)
	{
		if (!same(a->heap[i]->e, m->current))
		{
			i++;
			continue;
		}
		TRY_GOTO(source_next(a->heap[i]));
		heap_moved(a, i);
		i = 1;
	}
	TRY_GOTO(source_next(a->heap[0]));
	heap_moved(a, 0);
	m->current = a->nheap > 0 ? a->heap[0]->e : NULL;
	return WIDE_OK;

done:
	m->current = NULL;
	a->nheap = 0;
	return st;
}

wide_status
merge_row_before(merge *m, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	merge_all *a = ALL(m);
	bool found = false;

	m->current = NULL;
	a->nheap = a->late = 0;
	row->len = 0;
	TRY(tick(a));
	for (int i = 0; i < a->n; i++)
	{
		wide_status st = source_row_before(a->sources[i], ukey, klen, &a->row);

		if (st == WIDE_END)
			continue;
		TRY(st);
		if (found && ukey_compare(row->data, row->len, a->row.data, a->row.len) >= 0)
			continue;
		row->len = 0;
		TRY(buffer_append(row, a->row.data, a->row.len));
		found = true;
	}
	return found ? WIDE_OK : WIDE_END;
}
