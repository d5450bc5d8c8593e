/*
 * aggregate_direct.c
 *		Rows whose values go from the engine to the accumulators, without the row reader.
 *
 * Values are taken by column, for as many rows at a time as the engine returns in a span and as
 * belong to one group.  A row that comes as cells is made a span of one row.
 *
 * Rows that are taken wait (direct.rows) until their span or their group ends.
 *
 * Memory: what decoding allocates lives in the scan's rowcxt until the waiting rows are added.
 */
#include "postgres.h"

#include "fdw/scan/aggregate_direct.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "engine/wide.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/reader.h"
#include "fdw/row/reader_span.h"
#include "fdw/row/scan_set.h"
#include "fdw/scan/accumulator.h"
#include "fdw/scan/aggregate_state.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_state.h"
#include "fdw/scan/vector.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/decode.h"
#include "fdw/table/encoding.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* ---------------------------------------------------------------- beginning */

/* Returns the length in bytes of every key, salt included; 0 if keys differ in length. */
static size_t
key_length(WtTable *t)
{
	size_t n = t->salt_buckets > 0 ? 1 : 0;

	for (int i = 0; i < t->nkeys; i++)
	{
		const WtColumn *c = wt_key_column(t, i);

		if (c->fixed_len <= 0)
			return 0;
		n += (size_t) c->fixed_len;
	}
	return n;
}

/* Decides where an accumulator has its values from.  Returns false if that needs the row reader. */
static bool
choose_source(WtAggState *a, const WtAccumulator *item, const WtAggItem *plan, List *exprs,
			  WtSink *sink)
{
	const WtColumn *c = item->column < 0 ? NULL : &a->t->columns[item->column];

	sink->kind = WT_SINK_NONE;
	if (item->filter != NULL)
		return false;
	if (item->kind == WT_AGG_COUNT_ROWS)
		return true;
	if (c != NULL && c->role == WT_KEY && !wt_encoding_is_digest(c->enc))
	{
		a->direct.need_part[c->part] = a->direct.any_part = true;
		return true;
	}
	if (c != NULL && c->role != WT_CELL)
		return false;
	if (c != NULL && item->kind == WT_AGG_COUNT)
	{
		sink->kind = WT_SINK_COUNT;
		return true;
	}
	if (item->integer || item->kind == WT_AGG_COUNT)
	{
		sink->vector = wt_vector_add(&a->direct.vectors, list_nth(exprs, plan->argument),
									 a->columns);
		if (sink->vector >= 0)
		{
			sink->kind = WT_SINK_VECTOR;
			return true;
		}
	}
	sink->kind = WT_SINK_DATUM;
	return c != NULL;
}

void
wt_aggregate_direct_begin(WtAggState *a, const WtAggItem *plan, List *exprs)
{
	WtDirectRows *d = &a->direct;

	d->sinks = palloc0(sizeof(WtSink) * Max(1, a->nitems));
	d->vectors.t = a->t;
	d->need_part = palloc0(sizeof(bool) * a->t->nkeys);
	d->part_values = palloc0(sizeof(Datum) * a->t->nkeys);
	d->part_nulls = palloc0(sizeof(bool) * a->t->nkeys);
	d->key_length = key_length(a->t);
	d->possible = a->qual == NULL && !a->t->cells_layout;
	for (int i = 0; i < a->nitems && d->possible; i++)
		d->possible = choose_source(a, &a->items[i], &plan[i], exprs, &d->sinks[i]);
}

/* Finds the columns in what the reader reads.  Returns false if the row reader is needed. */
static bool
find_columns(WtAggState *a)
{
	WtDirectRows *d = &a->direct;
	const WtOpenScan *o = &a->scan->open;

	if (!wt_vector_bind(&d->vectors, o->reader))
		return false;
	for (int i = 0; i < a->nitems; i++)
	{
		WtSink *sink = &d->sinks[i];

		if (sink->kind != WT_SINK_COUNT && sink->kind != WT_SINK_DATUM)
			continue;
		sink->target = wt_reader_span_find(o->reader, a->items[i].column, &sink->column);
		if (sink->target == NULL)
			return false;
	}
	d->ncolumns = 0;
	d->first = palloc(sizeof(int) * Max(1, o->reader->nfamilies));
	for (int f = 0; f < o->reader->nfamilies; f++)
	{
		if (o->spec.families[f].want != WIDE_WANT_COLUMNS &&
			o->spec.families[f].want != WIDE_WANT_EXISTS)
			return false;
		d->first[f] = d->ncolumns;
		d->ncolumns += o->reader->families[f].nmapped;
	}
	d->own = palloc(sizeof(wide_span_column) * Max(1, d->ncolumns));
	return true;
}

void
wt_aggregate_direct_start(WtAggState *a)
{
	WtDirectRows *d = &a->direct;

	d->rows = 0;
	d->row.span = NULL;
	d->rowcxt_used = true;
	/* columns belong to a reader, and this may be another one */
	if (d->opens != a->scan->opens)
	{
		MemoryContext old = MemoryContextSwitchTo(a->scan->open.cxt);

		d->on = d->possible && find_columns(a);
		MemoryContextSwitchTo(old);
		d->opens = a->scan->opens;
	}
}

/* ------------------------------------------------------------------- adding */

/* Adds the values of a column in the waiting rows one by one. */
static void
add_values(WtAggState *a, WtAccumulator *item, const WtSink *sink)
{
	const wide_span_column *c = &a->direct.span[sink->column];
	const WtColumn *column = sink->target->column;

	for (uint64 rows = c->there & a->direct.rows; rows != 0; rows &= rows - 1)
	{
		int i = pg_rightmost_one_pos64(rows);
		wide_bytes v = c->values[i];
		Datum value;

		if (!sink->target->fixed || !wt_decode_fixed(column, v.data, v.len, &value))
			value = wt_cell_value_decode(column, a->t, a->direct.keys[i], v.data, v.len);
		wt_accumulator_add_datum(a, item, value);
	}
}

void
wt_aggregate_direct_flush(WtAggState *a)
{
	WtDirectRows *d = &a->direct;
	MemoryContext old;

	if (d->rows == 0)
		return;
	old = MemoryContextSwitchTo(a->scan->rowcxt);
	d->rowcxt_used = true;
	if (d->vectors.n > 0)
		wt_vector_evaluate(&d->vectors, d->span, d->keys, d->rows);
	for (int i = 0; i < a->nitems; i++)
	{
		WtAccumulator *item = &a->items[i];
		const WtSink *sink = &d->sinks[i];
		const WtVector *x;

		switch (sink->kind)
		{
			case WT_SINK_NONE:
				break;
			case WT_SINK_COUNT:
				item->n += pg_popcount64(d->span[sink->column].there & d->rows);
				break;
			case WT_SINK_VECTOR:
				x = &d->vectors.list[sink->vector];
				if (item->kind == WT_AGG_COUNT)
					item->n += pg_popcount64(x->there & d->rows);
				else
					wt_accumulator_add_integers(a, item, x->v, x->there & d->rows);
				break;
			case WT_SINK_DATUM:
				add_values(a, item, sink);
				break;
		}
	}
	d->rows = 0;
	MemoryContextSwitchTo(old);
}

/* Makes a span of the present row, which came as cells. */
static void
take_cells(WtAggState *a)
{
	WtDirectRows *d = &a->direct;

	for (int i = 0; i < d->ncolumns; i++)
		d->own[i].there = 0;
	for (;;)
	{
		bool more = d->row.more;

		for (int i = 0; i < d->row.ncells; i++)
		{
			const wide_cell *cell = &d->row.cells[i];
			wide_span_column *c = &d->own[d->first[cell->family] + cell->column];

			c->there = 1;
			/* it does not last until the next part of the row is read */
			c->values[0] = more ? wt_cell_read_copy_bytes(a->scan->rowcxt, cell->value)
								: cell->value;
		}
		d->rowcxt_used = d->rowcxt_used || more;
		if (!more || !wt_engine_scan_next(d->from, &d->row))
			break;
	}
}

/* Returns true if the parts of the key fill it exactly. */
static inline bool
key_fits(const WtAggState *a, wide_bytes key)
{
	if (a->direct.key_length > 0 && key.len == a->direct.key_length)
		return true;
	return wt_rowkey_prefix_length(a->t, key, a->t->nkeys) == key.len;
}

/* All rows are one group, and nothing of their keys is needed: takes those that follow in the span
 * of the present row, which becomes the last of them. */
static void
take_following(WtAggState *a)
{
	WtDirectRows *d = &a->direct;
	const wide_row *rows;
	int n = wt_engine_scan_ahead(d->from, &rows), taken = 0;

	for (; taken < n && rows[taken].span != NULL; taken++)
	{
		const wide_row *row = &rows[taken];

		if (row->unsure || !key_fits(a, row->key))
			break;
		d->keys[row->span_row] = row->key;
		d->rows |= UINT64CONST(1) << row->span_row;
	}
	if (taken == 0)
		return;
	wt_engine_scan_pass(d->from, taken);
	a->group_rows += taken;
	d->row = rows[taken - 1];
	a->key = d->row.key;
}

void
wt_aggregate_direct_take(WtAggState *a)
{
	WtDirectRows *d = &a->direct;
	int at = d->row.span != NULL ? d->row.span_row : 0;

	for (int i = 0; i < a->nitems && d->any_part; i++)
	{
		WtAccumulator *item = &a->items[i];
		const WtColumn *c = item->column < 0 ? NULL : &a->t->columns[item->column];

		if (d->sinks[i].kind == WT_SINK_NONE && c != NULL && !d->part_nulls[c->part])
			wt_accumulator_add_datum(a, item, d->part_values[c->part]);
	}
	if (d->row.span != NULL)
		d->span = d->row.span;
	else
	{
		take_cells(a);
		d->span = d->own;
	}
	d->keys[at] = d->row.key;
	d->rows |= UINT64CONST(1) << at;
	if (d->row.span == NULL)
		wt_aggregate_direct_flush(a);
	else if (a->parts == 0 && !d->any_part && !a->t->bad_key_skip)
		take_following(a);
}

/* ------------------------------------------------------------------ reading */

void
wt_aggregate_direct_pass(WtAggState *a)
{
	while (a->direct.row.more && wt_engine_scan_next(a->direct.from, &a->direct.row))
		;
	a->direct.row.more = false;
}

bool
wt_aggregate_direct_next(WtAggState *a)
{
	WtDirectRows *d = &a->direct;
	MemoryContext old;
	bool good;

	do
	{
		/* the next call takes the span away */
		if (d->row.span != NULL && d->row.span_end)
			wt_aggregate_direct_flush(a);
		if (d->rowcxt_used)
			MemoryContextReset(a->scan->rowcxt);
		d->rowcxt_used = false;
		if (!wt_scan_set_next(&a->scan->open.set, &d->row, &d->from))
			return false;
		/* no part of the key is needed: it is enough that it is whole */
		if (!d->any_part && !a->t->bad_key_skip && key_fits(a, d->row.key))
			break;
		d->rowcxt_used = true;
		old = MemoryContextSwitchTo(a->scan->rowcxt);
		/* all parts if bad keys are skipped: which rows count must not depend on the columns */
		good = wt_rowkey_decode(a->t, d->row.key, a->t->bad_key_skip ? NULL : d->need_part,
								d->part_values, d->part_nulls);
		MemoryContextSwitchTo(old);
		if (!good)
		{
			a->scan->open.reader->bad_keys++;
			wt_aggregate_direct_pass(a);
		}
	} while (!good);
	if (d->row.unsure)
		wt_scan_unsure(a->scan, d->row.key);
	a->key = d->row.key;
	return true;
}
