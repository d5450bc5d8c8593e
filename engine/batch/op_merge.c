/*
 * op_merge.c - merges the list of a batch with its spill files.
 *
 * A merge is a heap of streams: the list, as a skip list or as sorted units, and a
 * cursor for each spill file.
 *
 * Locking: none.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/batch/op_merge.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/heap.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/set/memtable.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/op.h"
#include "engine/batch/op_list.h"
#include "engine/batch/spill_file.h"

#define CHUNK_BYTES ((uint32_t) 64 * 1024)
#define PREFETCH	3 /* units ahead */

enum stream_kind
{
	STREAM_LIST,
	STREAM_SORTED,
	STREAM_FILE
};

/* Moves the cursor of a sorted list to node `done` of the current unit. */
static void
sorted_move(op_stream *s)
{
	const op_unit *u = &s->sorted->units[s->unit];

	if (s->unit == s->sorted->nunits)
	{
		memtable_cursor_at(&s->c, 0);
		return;
	}
	/* the next units can be anywhere in memory */
	if (s->done == 0 && s->unit + PREFETCH < s->sorted->nunits)
	{
		const uint8_t *p = s->list->base +
						   (uint64_t) op_list_unit_node(s->sorted, &u[PREFETCH]) * 8;

		for (int line = 0; line < 5; line++)
			__builtin_prefetch(p + 64 * line);
	}
	if (u->n & OP_UNIT_FLAT)
		memtable_cursor_at(&s->c, s->sorted->flat[u->ref + s->done]);
	else
		memtable_cursor_at(&s->c,
						   s->done == 0 ? u->ref : memtable_written(memtable_node_end(&s->c)));
}

/* Takes over the operation that the cursor is at. */
static inline void
set_current(op_stream *s)
{
	if (s->kind == STREAM_FILE)
	{
		s->valid = s->file.valid;
		s->family = s->file.family;
		s->e = s->file.e;
		return;
	}
	if (s->kind == STREAM_SORTED)
		sorted_move(s);
	s->valid = memtable_valid(&s->c);
	s->family = s->c.family;
	s->e = s->c.e;
}

static wide_status
stream_first(op_stream *s)
{
	s->unit = s->done = 0;
	if (s->kind == STREAM_FILE)
		TRY(spill_file_first(&s->file));
	else if (s->kind == STREAM_LIST)
		memtable_first(&s->c);
	set_current(s);
	return WIDE_OK;
}

static wide_status
stream_next(op_stream *s)
{
	if (s->kind == STREAM_FILE)
		TRY(spill_file_next(&s->file));
	else if (s->kind == STREAM_LIST)
		memtable_next(&s->c);
	else if (++s->done == (s->sorted->units[s->unit].n & ~OP_UNIT_FLAT))
	{
		s->unit++;
		s->done = 0;
	}
	set_current(s);
	return WIDE_OK;
}

/* Requires: not a sorted list. */
static wide_status
stream_seek(op_stream *s, wide_family_id family, const uint8_t *ukey, uint32_t klen)
{
	if (s->kind == STREAM_FILE)
		TRY(spill_file_seek(&s->file, family, ukey, klen, INT64_MAX, SEQ_MAX));
	else
		memtable_seek(&s->c, family, ukey, klen, INT64_MAX, SEQ_MAX);
	set_current(s);
	return WIDE_OK;
}

/* An empty merge with room for n streams. */
static wide_status
merge_init(op_merge *m, const op_undone *undone, uint64_t mark, int n)
{
	memset(m, 0, sizeof(*m));
	m->undone = undone;
	m->mark = mark;
	m->streams = calloc((size_t) n + 1, sizeof(*m->streams));
	m->heap = calloc((size_t) n + 1, sizeof(*m->heap));
	return m->streams != NULL && m->heap != NULL ? WIDE_OK : op_list_no_memory();
}

static void
add_list(op_merge *m, op_list *l, const op_sorted *sorted)
{
	op_stream *s = &m->streams[m->n++];

	s->kind = sorted != NULL ? STREAM_SORTED : STREAM_LIST;
	s->sorted = sorted;
	s->list = l;
	s->list->users++;
	memtable_cursor_open(&s->c, &l->m);
}

static void
add_file(op_merge *m, spill_file *f)
{
	op_stream *s = &m->streams[m->n++];

	s->kind = STREAM_FILE;
	spill_file_cursor_open(&s->file, f);
	m->copies = true;
}

wide_status
op_merge_open(wide_batch *b, const op_sorted *sorted, uint64_t mark, op_merge *m)
{
	TRY(merge_init(m, &b->ops.undone, mark, b->spill.nfiles + 1));
	if (b->ops.list != NULL && mark > b->ops.list->first_op)
		add_list(m, b->ops.list, sorted);
	for (int i = 0; i < b->spill.nfiles; i++)
		add_file(m, b->spill.files[i].file);
	return WIDE_OK;
}

wide_status
op_merge_list(op_list *l, const op_sorted *sorted, const op_undone *undone, op_merge *m)
{
	TRY(merge_init(m, undone, UINT64_MAX, 1));
	add_list(m, l, sorted);
	return WIDE_OK;
}

wide_status
op_merge_files(wide_batch *b, int from, int to, op_merge *m)
{
	TRY(merge_init(m, &b->ops.undone, UINT64_MAX, to - from));
	for (int i = from; i < to; i++)
		add_file(m, b->spill.files[i].file);
	return WIDE_OK;
}

void
op_merge_close(op_merge *m)
{
	for (int i = 0; i < m->n; i++)
	{
		if (m->streams[i].kind == STREAM_FILE)
			spill_file_cursor_close(&m->streams[i].file);
		op_list_leave(m->streams[i].list);
	}
	free(m->streams);
	free(m->heap);
	memset(m, 0, sizeof(*m));
}

static inline bool
before(const void *left, const void *right)
{
	const op_stream *a = left, *b = right;

	return op_order(a->family, &a->e, b->family, &b->e) < 0;
}

static void
build(op_merge *m)
{
	m->nheap = 0;
	for (int i = 0; i < m->n; i++)
		if (m->streams[i].valid)
			m->heap[m->nheap++] = &m->streams[i];
	heap_build((void **) m->heap, m->nheap, before);
}

wide_status
op_merge_first(op_merge *m)
{
	m->nheap = 0;
	for (int i = 0; i < m->n; i++)
		TRY(stream_first(&m->streams[i]));
	build(m);
	return WIDE_OK;
}

wide_status
op_merge_seek(op_merge *m, wide_family_id family, const uint8_t *ukey, uint32_t klen,
			  const uint8_t *row, uint32_t rowlen)
{
	m->nheap = 0;
	for (int i = 0; i < m->n; i++)
	{
		op_stream *s = &m->streams[i];

		if (s->kind == STREAM_LIST)
			op_list_link(s->list, m->mark);
		if (s->kind == STREAM_FILE && row != NULL &&
			!spill_file_may_have_row(s->file.file, row, rowlen))
			s->valid = false;
		else
			TRY(stream_seek(s, family, ukey, klen));
	}
	build(m);
	return WIDE_OK;
}

wide_status
op_merge_next(op_merge *m)
{
	wide_status st;

	if (m->nheap == 0)
		return WIDE_OK;
	st = stream_next(m->heap[0]);
	if (st != WIDE_OK)
	{
		m->nheap = 0;
		return st;
	}
	if (!m->heap[0]->valid)
		m->heap[0] = m->heap[--m->nheap];
	if (m->nheap > 1)
		heap_sift((void **) m->heap, m->nheap, 0, before);
	return WIDE_OK;
}

wide_status
op_merge_row_before(op_merge *m, wide_family_id family, const uint8_t *ukey, uint32_t klen,
					buffer *row, buffer *scratch)
{
	bool found = false;

	m->nheap = 0;
	row->len = 0;
	for (int i = 0; i < m->n; i++)
	{
		op_stream *s = &m->streams[i];

		scratch->len = 0;
		s->valid = false;
		if (s->kind == STREAM_FILE)
		{
			wide_status st = spill_file_row_before(&s->file, family, ukey, klen, scratch);

			if (st == WIDE_END)
				continue;
			TRY(st);
		}
		else
		{
			op_list_link(s->list, m->mark);
			memtable_seek_before(&s->c, family, ukey, klen);
			if (!memtable_valid(&s->c) || s->c.family != family)
				continue;
			TRY(buffer_append(scratch, s->c.e.ukey, s->c.e.rowlen));
		}
		if (found && ukey_compare(row->data, row->len, scratch->data, scratch->len) >= 0)
			continue;
		row->len = 0;
		TRY(buffer_append(row, scratch->data, scratch->len));
		found = true;
	}
	return found ? WIDE_OK : WIDE_END;
}

static void
free_chunks(op_chunk *p)
{
	while (p != NULL)
	{
		op_chunk *next = p->next;

		free(p->data);
		free(p);
		p = next;
	}
}

void
op_merge_column_free(op_column *c)
{
	free_chunks(c->chunks);
	free(c->e);
	buffer_free(&c->key);
	memset(c, 0, sizeof(*c));
}

void
op_merge_column_recycle(op_column *c)
{
	op_chunk *p = c->chunks;

	if (p == NULL)
		return;
	p->used = 0;
	free_chunks(p->next);
	p->next = NULL;
}

wide_status
op_merge_column_copy(op_column *c, entry *e)
{
	op_chunk *p = c->chunks;

	if (e->vlen == 0)
		return WIDE_OK;
	if (p == NULL || p->size - p->used < e->vlen)
	{
		uint32_t size = e->vlen > CHUNK_BYTES ? e->vlen : CHUNK_BYTES;

		p = malloc(sizeof(*p));
		if (p == NULL || (p->data = malloc(size)) == NULL)
		{
			free(p);
			return op_list_no_memory();
		}
		p->next = c->chunks;
		p->used = 0;
		p->size = size;
		c->chunks = p;
	}
	memcpy(p->data + p->used, e->value, e->vlen);
	e->value = p->data + p->used;
	p->used += e->vlen;
	return WIDE_OK;
}

static wide_status
column_add(op_column *c, const op_stream *s)
{
	bool automatic = op_is_auto(s->e.seq);
	bool newer = automatic &&
				 (c->newest < 0 || op_number(c->e[c->newest].seq) < op_number(s->e.seq));

	/* of several automatic puts the last counts; the others mask and replace nothing, but operands
	 * count all */
	if (automatic && c->newest >= 0 && op_merge_kind(s->e.seq) == WIDE_MERGE_NONE)
	{
		if (!newer)
			return WIDE_OK;
		memmove(&c->e[c->newest], &c->e[c->newest + 1],
				(size_t) (c->n - c->newest - 1) * sizeof(entry));
		c->n--;
	}
	TRY(array_grow((void **) &c->e, c->n, &c->cap, sizeof(entry)));
	c->e[c->n] = s->e;
	if (s->kind == STREAM_FILE)
		TRY(op_merge_column_copy(c, &c->e[c->n]));
	if (newer)
		c->newest = c->n;
	c->n++;
	return WIDE_OK;
}

wide_status
op_merge_column_read(op_column *c, op_merge *m)
{
	c->n = 0;
	while (c->n == 0)
	{
		const op_stream *s = op_merge_top(m);
		const uint8_t *ukey;
		uint32_t klen;

		if (s == NULL)
			return WIDE_END;
		c->family = s->family;
		c->newest = -1;
		ukey = s->e.ukey;
		klen = s->e.klen;
		if (m->copies)
		{
			c->key.len = 0;
			TRY(buffer_append(&c->key, ukey, klen));
			ukey = c->key.data;
		}
		do
		{
			uint64_t op = op_number(s->e.seq);

			if (op < m->mark && !op_undone_has(m->undone, op))
				TRY(column_add(c, s));
			TRY(op_merge_next(m));
			s = op_merge_top(m);
		} while (s != NULL && s->family == c->family && s->e.klen == klen &&
				 memcmp(s->e.ukey, ukey, klen) == 0);
		for (int i = 0; i < c->n; i++)
			c->e[i].ukey = ukey;
	}
	return WIDE_OK;
}
