/*
 * result.c
 *		Results of SQL functions.
 */
#include "postgres.h"

#include "fdw/func/result.h"

#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/palloc.h"
#include "utils/tuplestore.h"

Datum
wt_result_bytea(const void *data, size_t len)
{
	bytea *b = palloc(VARHDRSZ + len);

	SET_VARSIZE(b, VARHDRSZ + len);
	if (len > 0)
		memcpy(VARDATA(b), data, len);
	return PointerGetDatum(b);
}

void
wt_result_add_unless(WtResultRow *row, bool is_null, Datum value)
{
	Assert(row->n < WT_RESULT_MAX_COLUMNS);
	row->nulls[row->n] = is_null;
	row->values[row->n++] = is_null ? (Datum) 0 : value;
}

void
wt_result_add(WtResultRow *row, Datum value)
{
	wt_result_add_unless(row, false, value);
}

void
wt_result_add_null(WtResultRow *row)
{
	wt_result_add_unless(row, true, (Datum) 0);
}

void
wt_result_add_text(WtResultRow *row, const char *s)
{
	wt_result_add_unless(row, s == NULL, s == NULL ? (Datum) 0 : CStringGetTextDatum(s));
}

void
wt_result_put(const WtResultRow *row, ReturnSetInfo *rsinfo)
{
	Assert(row->n == rsinfo->setDesc->natts);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, unconstify(Datum *, &row->values[0]),
						 unconstify(bool *, &row->nulls[0]));
}

void *
wt_result_gather(dlist_head *list, size_t size)
{
	void *item = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (item != NULL)
		dlist_push_tail(list, (dlist_node *) item);
	return item;
}

void
wt_result_move_bytes(wide_bytes *b, uint8 **space)
{
	if (b->len > 0)
		memcpy(*space, b->data, b->len);
	b->data = *space;
	*space += b->len;
}
