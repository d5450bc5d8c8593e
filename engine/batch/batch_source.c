/* batch_source.c - a batch as a source of entries */
#include <stdlib.h>
#include "engine/batch/batch_source.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/set/memtable.h"
#include "engine/read/source.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/op.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_merge.h"
#include "engine/batch/spill.h"

/* Merges list and runs for a source, a column at a time. */
typedef struct batch_reader
{
	op_merge m;
	op_column c;
	int at; /* the entry of c that is current */
	entry e;
	buffer scratch;
} batch_reader;

typedef struct batch_source
{
	source s; /* first */
	wide_batch *batch;
	uint64_t mark;			  /* operations before it are shown */
	uint64_t spills;		  /* of the batch when the source was made */
	op_list *list;			  /* NULL: nothing of it is below the mark */
	memtable_cursor mem;	  /* in it */
	batch_reader *own;		  /* when there are runs, too */
	const uint8_t *auto_ukey; /* column for which auto_op is known */
	uint32_t auto_klen;
	uint64_t auto_op; /* newest operation with an automatic timestamp in it */
} batch_source;

/* The newest automatic put to the column that the source may see. */
static uint64_t
newest_auto(batch_source *b)
{
	const entry *e = &b->mem.e;
	memtable_cursor c;
	uint64_t newest = 0;

	memtable_cursor_open(&c, &b->list->m);
	for (memtable_seek(&c, b->s.family, e->ukey, e->klen, INT64_MAX, SEQ_MAX); memtable_valid(&c);
		 memtable_next(&c))
	{
		uint64_t op = op_number(c.e.seq);

		if (c.family != b->s.family || ukey_compare(c.e.ukey, c.e.klen, e->ukey, e->klen) != 0)
			break;
		if (op < b->mark && op_is_auto(c.e.seq) && op >= newest &&
			!op_undone_has(&b->batch->ops.undone, op))
			newest = op;
	}
	return newest;
}

static bool
list_shows(batch_source *b)
{
	const entry *e = &b->mem.e;
	uint64_t op = op_number(e->seq);

	if (op >= b->mark || op_undone_has(&b->batch->ops.undone, op))
		return false;
	if (!op_is_auto(e->seq))
		return true;
	if (b->auto_ukey == NULL || ukey_compare(b->auto_ukey, b->auto_klen, e->ukey, e->klen) != 0)
	{
		b->auto_op = newest_auto(b);
		b->auto_ukey = e->ukey;
		b->auto_klen = e->klen;
	}
	return op == b->auto_op;
}

static void
list_current(batch_source *b)
{
	b->s.e = NULL;
	while (memtable_valid(&b->mem) && b->mem.family == b->s.family)
	{
		if (list_shows(b))
		{
			op_floor(&b->mem.e);
			b->s.e = &b->mem.e;
			return;
		}
		memtable_next(&b->mem);
	}
}

/* The columns before the current one are done: the copies go to the user if he has been given
 * some. */
static void
reader_leave(batch_source *b, bool all)
{
	op_column *c = &b->own->c;

	if (!all &&
		(c->pieces == NULL || (c->pieces->next == NULL && c->pieces->used < c->pieces->size / 2)))
		return;
	while (c->pieces != NULL)
	{
		op_copy *p = c->pieces;
		block_ref ref;

		c->pieces = p->next;
		cache_private(p->data, p->used, &ref);
		if (b->s.used && b->s.limits != NULL && b->s.limits->keep != NULL)
			b->s.limits->keep(b->s.limits->keep_arg, &ref);
		else
			cache_unpin(b->s.db, &ref);
		free(p);
	}
	b->s.used = false;
}

static void
reader_current(batch_source *b)
{
	batch_reader *r = b->own;

	b->s.e = NULL;
	if (r->at >= r->c.n || r->c.family != b->s.family)
		return;
	r->e = r->c.e[r->at];
	op_floor(&r->e);
	b->s.e = &r->e;
}

/* The first entry of the next column. */
static wide_status
reader_column(batch_source *b)
{
	batch_reader *r = b->own;
	const op_stream *top = op_merge_top(&r->m);
	wide_status st = WIDE_END;

	r->at = 0;
	r->c.n = 0;
	reader_leave(b, false);
	if (top != NULL && top->family == b->s.family)
		st = op_merge_column_read(&r->c, &r->m);
	if (st != WIDE_OK && st != WIDE_END)
		return st;
	reader_current(b);
	return WIDE_OK;
}

static wide_status
reader_seek(batch_source *b, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	batch_reader *r = b->own;
	const source_limits *l = b->s.limits;
	entry to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};

	b->s.e = NULL;
	/* within the column that is read already, or the first entry behind it */
	if (r->c.n == 0 || r->c.family != b->s.family ||
		ukey_compare(r->c.e[0].ukey, r->c.e[0].klen, ukey, klen) != 0)
	{
		TRY(op_merge_seek(&r->m, b->s.family, ukey, klen, l != NULL ? l->row : NULL,
						  l != NULL ? l->rowlen : 0));
		TRY(reader_column(b));
	}
	for (r->at = 0; r->at < r->c.n && key_compare(&r->c.e[r->at], &to) < 0;)
		r->at++;
	if (r->at < r->c.n)
		reader_current(b);
	else if (r->c.n > 0)
		return reader_column(b);
	return WIDE_OK;
}

static wide_status
seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	batch_source *b = (batch_source *) s;

	if (b->own != NULL)
		return reader_seek(b, ukey, klen, ts, seq);
	b->s.e = NULL;
	if (b->list == NULL)
		return WIDE_OK;
	op_list_link(b->list, b->mark);
	memtable_seek(&b->mem, b->s.family, ukey, klen, ts, seq);
	list_current(b);
	return WIDE_OK;
}

static wide_status
next(source *s)
{
	batch_source *b = (batch_source *) s;

	if (b->own == NULL)
	{
		memtable_next(&b->mem);
		list_current(b);
		return WIDE_OK;
	}
	if (++b->own->at >= b->own->c.n)
		return reader_column(b);
	reader_current(b);
	return WIDE_OK;
}

static wide_status
row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	batch_source *b = (batch_source *) s;

	if (b->own != NULL)
	{
		b->own->c.n = 0;
		return op_merge_row_before(&b->own->m, b->s.family, ukey, klen, row, &b->own->scratch);
	}
	if (b->list == NULL)
		return WIDE_END;
	op_list_link(b->list, b->mark);
	memtable_seek_before(&b->mem, b->s.family, ukey, klen);
	if (!memtable_valid(&b->mem) || b->mem.family != b->s.family)
		return WIDE_END;
	return buffer_append(row, b->mem.e.ukey, b->mem.e.rowlen);
}

static void
free_source(source *s)
{
	batch_source *b = (batch_source *) s;
	batch_reader *r = b->own;

	if (r != NULL)
	{
		reader_leave(b, true);
		op_merge_close(&r->m);
		op_merge_column_free(&r->c);
		buffer_free(&r->scratch);
		free(r);
	}
	op_list_leave(b->list);
	pool_free(b, sizeof(*b));
}

static const source_ops source_of_batch = {
	.seek = seek, .next = next, .row_before = row_before, .free = free_source};

wide_status
batch_source_new(wide_batch *batch, wide_family_id family, uint64_t mark, source **out)
{
	batch_source *b;
	wide_status st;

	TRY(spill_before_read(batch));
	b = pool_alloc(sizeof(*b));
	if (b == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	b->s.ops = &source_of_batch;
	b->s.db = batch->db;
	b->s.family = family;
	b->batch = batch;
	b->mark = mark;
	b->spills = batch->spill.changes;
	/* what is not below the mark does not keep the list from being emptied */
	if (batch->ops.list != NULL && batch->ops.list->first_op < mark)
	{
		b->list = batch->ops.list;
		b->list->users++;
		memtable_cursor_open(&b->mem, &batch->ops.list->m);
	}
	if (batch->spill.nfiles > 0)
	{
		b->own = calloc(1, sizeof(*b->own));
		st = b->own != NULL ? op_merge_open(batch, NULL, mark, &b->own->m)
							: status_fail(WIDE_NOMEM, "out of memory for a scan");
		if (st != WIDE_OK)
		{
			source_free(&b->s);
			return st;
		}
	}
	*out = &b->s;
	return WIDE_OK;
}

bool
batch_source_set_mark(source *s, uint64_t mark)
{
	batch_source *b = (batch_source *) s;
	const op_list *l = b->batch->ops.list;

	if (b->spills != b->batch->spill.changes || (l != NULL && l->first_op < mark && b->list != l))
		return false;
	b->mark = mark;
	b->auto_ukey = NULL;
	if (b->own != NULL)
	{
		b->own->m.mark = mark;
		b->own->c.n = 0;
	}
	return true;
}
