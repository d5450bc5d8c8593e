/*
 * batch_source.c - a write batch as a source of entries.
 *
 * While nothing is spilled, the source is a cursor in the batch's list, which passes
 * over operations that list_shows leaves out.  Otherwise a batch_reader merges the
 * list and the spill files and reads them a column at a time, because the newest
 * automatic put of a column can be in any of them.
 *
 * The source keeps its list alive.  Values that a batch_reader gives out are copies;
 * they go to the user of the source when the reader goes on (source_limits.keep).
 *
 * Locking: none.
 */
#include <stdlib.h>
#include "engine/batch/batch_source.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
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

/* Reads the list and the spill files, a column at a time. */
typedef struct batch_reader
{
	op_merge m;
	op_column c;
	int at; /* index of the current entry in c */
	entry e;
	buffer scratch;
} batch_reader;

typedef struct batch_source
{
	source s; /* first */
	wide_batch *batch;
	uint64_t mark;		  /* operations below it are shown */
	uint64_t changes;	  /* spill.changes of the batch when the source was made */
	batch_reader *reader; /* NULL: there are no spill files */
	op_list *list;		  /* NULL: it has nothing below the mark */
	memtable_cursor mem;  /* in list, without a reader */

	/* the column whose newest automatic put is known; NULL: none */
	const uint8_t *auto_ukey;
	uint32_t auto_klen;
	uint64_t auto_op; /* that put's operation */
} batch_source;

/*
 * Returns the newest automatic put to the current column that the source shows.
 *
 * Without floors provisional timestamps do not fall from operation to operation.  So where a put's
 * is not that of its floor, all that sort behind it are older.  Otherwise those with the same
 * timestamp are, and are passed at once: it is that of every put to a cell whose newest version is
 * ahead of the clock.  So a cell that is written n times is read in the same time as any other.
 */
static uint64_t
newest_auto(batch_source *b)
{
	const entry *e = &b->mem.e;
	memtable_cursor c;
	uint64_t newest = 0;

	memtable_cursor_open(&c, &b->list->m);
	memtable_seek(&c, b->s.family, e->ukey, e->klen, INT64_MAX, SEQ_MAX);
	while (memtable_valid(&c) && c.family == b->s.family &&
		   ukey_compare(c.e.ukey, c.e.klen, e->ukey, e->klen) == 0)
	{
		uint64_t op = op_number(c.e.seq);

		if (op >= b->mark || !op_is_auto(c.e.seq) || op_undone_has(&b->batch->ops.undone, op))
		{
			memtable_next(&c);
			continue;
		}
		if (op >= newest)
			newest = op;
		if (!(c.e.seq & OP_FLOOR) || c.e.ts - 1 > (int64_t) get_u64le(c.e.value))
			break;
		memtable_seek(&c, b->s.family, e->ukey, e->klen, c.e.ts - 1, SEQ_MAX);
	}
	return newest;
}

/* Returns true if the current entry of the list is shown: a live operation below the mark and, of
 * the automatic puts to a column that are no operands, the newest. */
static bool
list_shows(batch_source *b)
{
	const entry *e = &b->mem.e;
	uint64_t op = op_number(e->seq);

	if (op >= b->mark || op_undone_has(&b->batch->ops.undone, op))
		return false;
	if (!op_is_auto(e->seq) || op_merge_kind(e->seq) != WIDE_MERGE_NONE)
		return true;
	if (b->auto_ukey == NULL || ukey_compare(b->auto_ukey, b->auto_klen, e->ukey, e->klen) != 0)
	{
		b->auto_op = newest_auto(b);
		b->auto_ukey = e->ukey;
		b->auto_klen = e->klen;
	}
	return op == b->auto_op;
}

/* Goes on to the first entry that is shown. */
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

/* Leaves the columns before the current one: passes chunks with copied values to the user of the
 * source, if some were given out.  Unless `all`, a single chunk that is less than half full stays.
 */
static void
reader_leave(batch_source *b, bool all)
{
	op_column *c = &b->reader->c;

	if (!all &&
		(c->chunks == NULL || (c->chunks->next == NULL && c->chunks->used < c->chunks->size / 2)))
		return;
	while (c->chunks != NULL)
	{
		op_chunk *p = c->chunks;
		block_ref ref;

		c->chunks = p->next;
		cache_private(p->data, p->used, &ref);
		source_leave(&b->s, &ref);
		free(p);
	}
	b->s.used = 0;
}

static void
reader_current(batch_source *b)
{
	batch_reader *r = b->reader;

	b->s.e = NULL;
	if (r->at >= r->c.n || r->c.family != b->s.family)
		return;
	r->e = r->c.e[r->at];
	op_floor(&r->e);
	b->s.e = &r->e;
}

/* Goes to the first entry of the next column. */
static wide_status
reader_column(batch_source *b)
{
	batch_reader *r = b->reader;
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
	batch_reader *r = b->reader;
	const source_limits *l = b->s.limits;
	entry to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};

	b->s.e = NULL;
	/* the target may be in the column that is read already, or be the first entry behind it */
	if (r->c.n == 0 || r->c.family != b->s.family ||
		ukey_compare(r->c.e[0].ukey, r->c.e[0].klen, ukey, klen) != 0)
	{
		TRY(op_merge_seek(&r->m, b->s.family, ukey, klen, l->row, l->rowlen));
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

	if (b->reader != NULL)
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

	if (b->reader == NULL)
	{
		memtable_next(&b->mem);
		list_current(b);
		return WIDE_OK;
	}
	if (++b->reader->at >= b->reader->c.n)
		return reader_column(b);
	reader_current(b);
	return WIDE_OK;
}

static wide_status
row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	batch_source *b = (batch_source *) s;

	if (b->reader != NULL)
	{
		b->reader->c.n = 0;
		return op_merge_row_before(&b->reader->m, b->s.family, ukey, klen, row,
								   &b->reader->scratch);
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
	batch_reader *r = b->reader;

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

	/* with mark 0 nothing of it is read */
	if (mark > 0)
		TRY(spill_before_read(batch));
	b = pool_alloc(sizeof(*b));
	if (b == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	b->s.ops = &source_of_batch;
	b->s.db = batch->db;
	b->s.family = family;
	b->batch = batch;
	b->mark = mark;
	b->changes = batch->spill.changes;
	/* a list with nothing below the mark can be emptied */
	if (batch->ops.list != NULL && batch->ops.list->first_op < mark)
	{
		b->list = batch->ops.list;
		b->list->users++;
		memtable_cursor_open(&b->mem, &batch->ops.list->m);
	}
	if (mark > 0 && batch->spill.nfiles > 0)
	{
		b->reader = calloc(1, sizeof(*b->reader));
		st = b->reader != NULL ? op_merge_open(batch, NULL, mark, &b->reader->m)
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

	if (b->mark == 0 || mark == 0)
		return mark == b->mark;
	if (b->changes != b->batch->spill.changes || (l != NULL && l->first_op < mark && b->list != l))
		return false;
	b->mark = mark;
	b->auto_ukey = NULL;
	if (b->reader != NULL)
	{
		b->reader->m.mark = mark;
		b->reader->c.n = 0;
	}
	return true;
}
