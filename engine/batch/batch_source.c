/* batch_source.c - a batch as a source of entries */
#include <stdlib.h>
#include "engine/batch/batch_source.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/set/memtable.h"
#include "engine/read/source.h"
#include "engine/batch/batch.h"
#include "engine/batch/operation.h"
#include "engine/batch/own.h"
#include "engine/batch/spill.h"

/* Merges list and runs for a source, a column at a time. */
typedef struct own_reader
{
	own_merge	m;
	own_column	c;
	int			at;				/* the entry of c that is current */
	entry		e;
	buffer		scratch;
} own_reader;

wide_status
source_batch(wide_batch *b, wide_family_id family, uint64_t mark, source **out)
{
	source	   *s;
	wide_status st;

	TRY(batch_read(b));
	TRY(source_own(b->db, family, &s));
	s->batch = b;
	s->mark = mark;
	s->spills = b->spills;
	/* what is not below the mark does not keep the list from being emptied */
	if (b->list != NULL && b->list->first_op < mark)
	{
		s->list = b->list;
		s->list->users++;
		mem_cursor_open(&s->mem, &b->list->m);
	}
	if (b->nruns > 0)
	{
		s->own = calloc(1, sizeof(*s->own));
		st = s->own != NULL ? own_merge_open(b, NULL, mark, &s->own->m) : wide_fail(WIDE_NOMEM, "out of memory for a scan");
		if (st != WIDE_OK)
		{
			source_free(s);
			return st;
		}
	}
	*out = s;
	return WIDE_OK;
}

bool
source_batch_mark(source *s, uint64_t mark)
{
	const own_list *l = s->batch->list;

	if (s->spills != s->batch->spills || (l != NULL && l->first_op < mark && s->list != l))
		return false;
	s->mark = mark;
	s->auto_ukey = NULL;
	if (s->own != NULL)
	{
		s->own->m.mark = mark;
		s->own->c.n = 0;
	}
	return true;
}

/* The newest automatic put to the column that the source may see. */
static uint64_t
newest_auto(source *s)
{
	const entry *e = &s->mem.e;
	mem_cursor	c;
	uint64_t	newest = 0;

	mem_cursor_open(&c, &s->list->m);
	for (mem_seek(&c, s->family, e->ukey, e->klen, INT64_MAX, SEQ_MAX); mem_valid(&c); mem_next(&c))
	{
		uint64_t	op = own_op(c.e.seq);

		if (c.family != s->family || ukey_compare(c.e.ukey, c.e.klen, e->ukey, e->klen) != 0)
			break;
		if (op < s->mark && own_is_auto(c.e.seq) && op >= newest && !batch_undone(s->batch, op))
			newest = op;
	}
	return newest;
}

static bool
list_shows(source *s)
{
	const entry *e = &s->mem.e;
	uint64_t	op = own_op(e->seq);

	if (op >= s->mark || batch_undone(s->batch, op))
		return false;
	if (!own_is_auto(e->seq))
		return true;
	if (s->auto_ukey == NULL || ukey_compare(s->auto_ukey, s->auto_klen, e->ukey, e->klen) != 0)
	{
		s->auto_op = newest_auto(s);
		s->auto_ukey = e->ukey;
		s->auto_klen = e->klen;
	}
	return op == s->auto_op;
}

static void
list_current(source *s)
{
	s->e = NULL;
	while (mem_valid(&s->mem) && s->mem.family == s->family)
	{
		if (list_shows(s))
		{
			own_floor(&s->mem.e);
			s->e = &s->mem.e;
			return;
		}
		mem_next(&s->mem);
	}
}

/* The columns before the current one are done: the copies go to the user if he has been given some. */
static void
reader_leave(source *s, bool all)
{
	own_column *c = &s->own->c;

	if (!all && (c->pieces == NULL || (c->pieces->next == NULL && c->pieces->used < c->pieces->size / 2)))
		return;
	while (c->pieces != NULL)
	{
		own_piece  *p = c->pieces;
		block_ref	ref;

		c->pieces = p->next;
		cache_private(p->data, p->used, &ref);
		if (s->used && s->limits != NULL && s->limits->keep != NULL)
			s->limits->keep(s->limits->keep_arg, &ref);
		else
			cache_unpin(s->db, &ref);
		free(p);
	}
	s->used = false;
}

static void
reader_current(source *s)
{
	own_reader *r = s->own;

	s->e = NULL;
	if (r->at >= r->c.n || r->c.family != s->family)
		return;
	r->e = r->c.e[r->at];
	own_floor(&r->e);
	s->e = &r->e;
}

/* The first entry of the next column. */
static wide_status
reader_column(source *s)
{
	own_reader *r = s->own;
	const own_stream *top = own_merge_top(&r->m);
	wide_status st = WIDE_END;

	r->at = 0;
	r->c.n = 0;
	reader_leave(s, false);
	if (top != NULL && top->family == s->family)
		st = own_column_read(&r->c, &r->m);
	if (st != WIDE_OK && st != WIDE_END)
		return st;
	reader_current(s);
	return WIDE_OK;
}

static wide_status
reader_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	own_reader *r = s->own;
	const source_limits *l = s->limits;
	entry		to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};

	s->e = NULL;
	/* within the column that is read already, or the first entry behind it */
	if (r->c.n == 0 || r->c.family != s->family || ukey_compare(r->c.e[0].ukey, r->c.e[0].klen, ukey, klen) != 0)
	{
		TRY(own_merge_seek(&r->m, s->family, ukey, klen, l != NULL ? l->row : NULL, l != NULL ? l->rowlen : 0));
		TRY(reader_column(s));
	}
	for (r->at = 0; r->at < r->c.n && key_compare(&r->c.e[r->at], &to) < 0;)
		r->at++;
	if (r->at < r->c.n)
		reader_current(s);
	else if (r->c.n > 0)
		return reader_column(s);
	return WIDE_OK;
}

wide_status
source_batch_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	if (s->own != NULL)
		return reader_seek(s, ukey, klen, ts, seq);
	s->e = NULL;
	if (s->list == NULL)
		return WIDE_OK;
	own_list_link(s->list, s->mark);
	mem_seek(&s->mem, s->family, ukey, klen, ts, seq);
	list_current(s);
	return WIDE_OK;
}

wide_status
source_batch_next(source *s)
{
	if (s->own == NULL)
	{
		mem_next(&s->mem);
		list_current(s);
		return WIDE_OK;
	}
	if (++s->own->at >= s->own->c.n)
		return reader_column(s);
	reader_current(s);
	return WIDE_OK;
}

wide_status
source_batch_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	if (s->own != NULL)
	{
		s->own->c.n = 0;
		return own_merge_row_before(&s->own->m, s->family, ukey, klen, row, &s->own->scratch);
	}
	if (s->list == NULL)
		return WIDE_END;
	own_list_link(s->list, s->mark);
	mem_seek_before(&s->mem, s->family, ukey, klen);
	if (!mem_valid(&s->mem) || s->mem.family != s->family)
		return WIDE_END;
	return buffer_append(row, s->mem.e.ukey, s->mem.e.rowlen);
}

void
source_batch_free(source *s)
{
	own_reader *r = s->own;

	if (r != NULL)
	{
		reader_leave(s, true);
		own_merge_close(&r->m);
		own_column_free(&r->c);
		buffer_free(&r->scratch);
		free(r);
	}
	own_list_leave(s->list);
}
