/*
 * merge.c - several sources as one stream in key order.
 *
 * A heap of the sources that have an entry, the smallest entry first.
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
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/heap.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/read/source.h"
#include "engine/read/source_file.h"

#define TICKS 256 /* steps between checks for an interrupt */

wide_status
merge_new(wide_db *db, merge **out)
{
	*out = pool_alloc(sizeof(**out));
	if (*out == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	(*out)->db = db;
	(*out)->turn = 1;
	return WIDE_OK;
}

wide_status
merge_add(merge *m, source *s)
{
	wide_status st = array_grow((void **) &m->sources, m->n, &m->cap, 2 * sizeof(*m->sources));

	if (st != WIDE_OK)
	{
		source_free(s);
		return st;
	}
	m->heap = m->sources + m->cap;
	s->limits = &source_no_limits;
	s->turn = &m->turn;
	s->order = (uint32_t) m->n;
	m->sources[m->n++] = s;
	m->nheap = m->waiting = 0;
	m->current = NULL;
	return WIDE_OK;
}

void
merge_free(merge *m)
{
	if (m == NULL)
		return;
	for (int i = 0; i < m->n; i++)
		source_free(m->sources[i]);
	free(m->sources);
	buffer_free(&m->row);
	pool_free(m, sizeof(*m));
}

void
merge_limits(merge *m, const source_limits *limits)
{
	for (int i = 0; i < m->n; i++)
		m->sources[i]->limits = limits;
}

void
merge_restart(merge *m)
{
	for (int i = 0; i < m->n; i++)
		source_restart(m->sources[i]);
}

void
merge_statistics(merge *m)
{
	for (int i = 0; i < m->n; i++)
		source_statistics(m->sources[i]);
}

void
merge_used(merge *m)
{
	source_use(m->heap[0]);
}

void
merge_unused(merge *m)
{
	m->turn++;
}

/* ------------------------------------------------------------------- heap */

static inline bool
before(const void *left, const void *right)
{
	const source *a = left, *b = right;
	int c = key_compare(a->e, b->e);

	return c != 0 ? c < 0 : a->order < b->order;
}

static inline void
set_current(merge *m)
{
	m->current = m->nheap > 0 ? m->heap[0]->e : NULL;
}

/* After a failure the merge has no position. */
static wide_status
lost(merge *m, wide_status st)
{
	m->nheap = m->waiting = 0;
	m->current = NULL;
	return st;
}

static __attribute__((noinline)) void
sift(merge *m, int i)
{
	heap_sift((void **) m->heap, m->nheap, i, before);
}

/* Restores the heap after a move of the source at i. */
static inline wide_status
moved(merge *m, int i, wide_status st)
{
	if (__builtin_expect(st != WIDE_OK, 0))
		return lost(m, st);
	if (m->heap[i]->e == NULL)
		m->heap[i] = m->heap[--m->nheap];
	if (m->nheap > 1)
		sift(m, i);
	set_current(m);
	return WIDE_OK;
}

static void
build(merge *m)
{
	m->nheap = 0;
	for (int i = 0; i < m->n; i++)
		if (m->sources[i]->e != NULL)
			m->heap[m->nheap++] = m->sources[i];
	heap_build((void **) m->heap, m->nheap, before);
	set_current(m);
}

/* Returns true if the sources from i on need not be sought: the current entry comes before
 * everything that they may have at or after the key. */
static bool
all_can_wait(const merge *m, int i, const uint8_t *ukey, uint32_t klen)
{
	const entry *first = m->current;

	/* the key is behind the column */
	if (ukey_compare(ukey, klen, first->ukey, first->klen) > 0)
		return false;
	for (; i < m->n; i++)
	{
		const file_source *f = source_file_of(m->sources[i]);

		if (f == NULL || !source_file_can_wait(f, first))
			return false;
	}
	return true;
}

/* Seeks in the sources that have waited.  What they have of the column is behind the current
 * entry, and nothing of other columns is needed from them. */
static wide_status
seek_waiting(merge *m)
{
	int i = m->waiting;

	m->waiting = 0;
	for (; i > 0 && i < m->n; i++)
	{
		const source_limits *l = m->sources[i]->limits;
		wide_status st = source_seek(m->sources[i], l->column, l->columnlen, INT64_MAX, SEQ_MAX);

		if (st != WIDE_OK)
			return lost(m, st);
	}
	build(m);
	return WIDE_OK;
}

static inline wide_status
tick(merge *m)
{
	if (++m->ticks % TICKS == 0 && host_interrupted(m->db))
		return lost(m, status_fail(WIDE_INTERRUPTED, "interrupted"));
	return WIDE_OK;
}

/* --------------------------------------------------------------- moving */

wide_status
merge_seek(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	int i = 0;

	m->current = NULL;
	m->nheap = m->waiting = 0;
	TRY(tick(m));
	for (; i < m->n && source_file_of(m->sources[i]) == NULL; i++)
		TRY(source_seek(m->sources[i], ukey, klen, ts, seq));
	if (i > 0 && i < m->n && m->sources[i]->limits->column != NULL && !m->sources[i]->limits->every)
	{
		for (int k = i; k < m->n; k++)
			m->sources[k]->e = NULL;
		build(m);
		if (m->current != NULL && all_can_wait(m, i, ukey, klen))
		{
			m->waiting = i;
			return WIDE_OK;
		}
	}
	for (; i < m->n; i++)
	{
		wide_status st = source_seek(m->sources[i], ukey, klen, ts, seq);

		if (st != WIDE_OK)
			return lost(m, st);
	}
	build(m);
	return WIDE_OK;
}

wide_status
merge_first(merge *m)
{
	return merge_seek(m, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX);
}

wide_status
merge_skip(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	entry to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};

	if (m->waiting > 0)
		TRY(seek_waiting(m));
	while (m->nheap > 0 && key_compare(m->heap[0]->e, &to) < 0)
	{
		/* in a damaged block there may be no end */
		TRY(tick(m));
		TRY(moved(m, 0, source_seek(m->heap[0], ukey, klen, ts, seq)));
	}
	return WIDE_OK;
}

wide_status
merge_pass(merge *m, const uint8_t *ukey, uint32_t klen)
{
	if (m->waiting > 0)
		TRY(seek_waiting(m));
	while (m->nheap > 0 && ukey_compare(m->heap[0]->e->ukey, m->heap[0]->e->klen, ukey, klen) < 0)
	{
		TRY(tick(m));
		TRY(moved(m, 0, source_pass(m->heap[0], ukey, klen)));
	}
	return WIDE_OK;
}

void
merge_settle(merge *m)
{
	build(m);
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
	if (m->nheap == 0)
		return WIDE_OK;
	TRY(tick(m));
	if (m->waiting > 0)
		TRY(seek_waiting(m));
	/* an entry equal to the root's is at one of its two children */
	for (int i = 1; i <= 2 && i < m->nheap;)
	{
		if (!same(m->heap[i]->e, m->current))
		{
			i++;
			continue;
		}
		TRY(moved(m, i, source_next(m->heap[i])));
		i = 1;
	}
	return moved(m, 0, source_next(m->heap[0]));
}

wide_status
merge_pass_versions(merge *m, int64_t since, uint64_t *seqs, int most, int *n)
{
	*n = 0;
	if (m->nheap == 0 || m->waiting > 0)
		return WIDE_OK;
	/* what comes first of all other sources is at one of the root's two children */
	for (int i = 1; i <= 2 && i < m->nheap; i++)
	{
		const entry *e = m->heap[i]->e;

		if (ukey_compare(e->ukey, e->klen, m->current->ukey, m->current->klen) != 0)
			continue;
		if (e->ts == INT64_MAX)
			return WIDE_OK;
		if (e->ts >= since)
			since = e->ts + 1;
	}
	TRY(tick(m));
	return moved(m, 0, source_pass_versions(m->heap[0], since, seqs, most, n));
}

wide_status
merge_row_before(merge *m, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	bool found = false;

	m->current = NULL;
	m->nheap = m->waiting = 0;
	row->len = 0;
	TRY(tick(m));
	for (int i = 0; i < m->n; i++)
	{
		wide_status st = source_row_before(m->sources[i], ukey, klen, &m->row);

		if (st == WIDE_END)
			continue;
		TRY(st);
		if (found && ukey_compare(row->data, row->len, m->row.data, m->row.len) >= 0)
			continue;
		row->len = 0;
		TRY(buffer_append(row, m->row.data, m->row.len));
		found = true;
	}
	return found ? WIDE_OK : WIDE_END;
}
