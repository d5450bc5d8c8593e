/*
 * merge.c - several sources as one stream in key order.
 *
 * A binary heap of the sources that have an entry, the smallest entry first.
 * Merging is the inner loop of scans and compactions: a step costs one or two
 * comparisons as long as one source leads.
 *
 * Where one column of one row is looked for, files wait: they are not sought if a
 * memtable has a version of the column that is newer than everything in them.  If
 * the caller needs no more than this version, they are never read.  A move of the
 * merge seeks in them first (seek_waiting).
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

#define TICKS 256 /* steps between checks for an interrupt */

typedef struct merge_all
{
	merge head; /* first */
	wide_db *db;
	/* three parts of one allocation, cap pointers each */
	source **sources;
	source **heap;
	source **used; /* sources whose flag `used` was set; one may be listed twice */
	int n, nheap, cap;
	int nused;	 /* > n: any source may have the flag */
	int waiting; /* sources from here on have not been sought; 0: none waits */
	uint32_t ticks;
	buffer row; /* scratch of merge_row_before */
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
	a->nheap = a->waiting = 0;
	a->nused = a->cap + 1; /* the list may have moved */
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

	/* a scan may use one or two of hundreds of sources (windows) */
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

/* Restores the heap after the source at i has moved forward. */
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

/* Returns true if the sources from i on need not be sought: the current entry comes before
 * everything that they may have at or after the key. */
static bool
all_can_wait(const merge_all *a, int i, const uint8_t *ukey, uint32_t klen)
{
	const entry *first = a->head.current;

	/* the key is behind the column */
	if (ukey_compare(ukey, klen, first->ukey, first->klen) > 0)
		return false;
	for (; i < a->n; i++)
		if (!source_can_wait(a->sources[i], first))
			return false;
	return true;
}

/* Seeks in the sources that have waited.  What they have of the column is behind the current
 * entry, and nothing of other columns is needed from them. */
static wide_status
seek_waiting(merge_all *a)
{
	int i = a->waiting;

	a->waiting = 0;
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

/* --------------------------------------------------------------- moving */

wide_status
merge_seek(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	merge_all *a = ALL(m);
	int i = 0;

	m->current = NULL;
	a->nheap = a->waiting = 0;
	TRY(tick(a));
	for (; i < a->n && source_file_of(a->sources[i]) == NULL; i++)
		TRY(source_seek(a->sources[i], ukey, klen, ts, seq));
	if (i > 0 && i < a->n && a->sources[i]->limits != NULL && a->sources[i]->limits->column != NULL)
	{
		for (int k = i; k < a->n; k++)
			a->sources[k]->e = NULL;
		heap_build(a);
		if (m->current != NULL && all_can_wait(a, i, ukey, klen))
		{
			a->waiting = i;
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

/* Restores the heap after a move of the first source; after a failed move the merge has no
 * position. */
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
	if (a->waiting > 0)
		TRY(seek_waiting(a));
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
	if (a->waiting > 0)
		TRY(seek_waiting(a));
	while (a->nheap > 0 && ukey_compare(a->heap[0]->e->ukey, a->heap[0]->e->klen, ukey, klen) < 0)
		TRY(top_moved(m, a, source_pass(a->heap[0], ukey, klen)));
	m->current = a->nheap > 0 ? a->heap[0]->e : NULL;
	return WIDE_OK;
}

/* ------------------------------------------------------------------ spans */

void
merge_span_block(const merge *m, merge_span *span)
{
	const merge_all *a = (const merge_all *) m;
	file_source *f = a->nheap > 0 ? source_file_of(a->heap[0]) : NULL;

	*span = (merge_span) {.block = NULL};
	if (f == NULL)
		return;
	span->block = &f->cursor.block;
	span->row = span->end = span->block->row;
	span->seq = sst_cursor_seq(&f->cursor);
}

wide_status
merge_span_rows(const merge *m, const uint8_t *hi, uint32_t hilen, merge_span *span)
{
	const merge_all *a = (const merge_all *) m;
	const file_source *f = source_file_of(a->heap[0]);
	uint32_t row;

	span->end = span->block->rows;
	/* the last row may continue in the next block, or in the next file: large rows are cut */
	if ((span->block->flags & BLOCK_ROW_GOES_ON) != 0 ||
		(f->at + 1 < f->nfiles && sst_cursor_last_block(&f->cursor)))
		span->end--;
	/* the source with the second smallest entry is one of these two */
	for (int i = 1; i <= 2 && i < a->nheap && span->row < span->end; i++)
	{
		TRY(block_row_at(span->block, span->row, a->heap[i]->e->ukey, a->heap[i]->e->klen, &row));
		span->end = row < span->end ? row : span->end;
	}
	if (hi != NULL && span->row < span->end)
	{
		TRY(block_row_at(span->block, 0, hi, hilen, &row));
		span->end = row < span->end ? row : span->end;
	}
	span->end = span->end > span->row ? span->end : span->row;
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
	if (a->waiting > 0)
		TRY(seek_waiting(a));
	/* an entry equal to the root's is at one of its two children */
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
	a->nheap = a->waiting = 0;
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
