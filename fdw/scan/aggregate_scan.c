/*
 * aggregate_scan.c
 *		Scans that aggregate: one pass in the order of the key, one group at a time.
 *
 * Rows are read in one of two ways.  If there are no clauses and all arguments are columns,
 * the engine's cells go directly to the accumulators (WtDirectRows), and nothing else of the
 * row is looked at.  Otherwise the row reader makes SQL values of the columns, and clauses and
 * arguments are evaluated on them.
 *
 * Groups are distinguished by the bytes of the key: a group's leading parts are a prefix of
 * the key, and equal values have equal bytes (aggregate_plan.c checks that).
 *
 * Memory: the values of a group (key, extremes, sums) live in groupcxt, reset at the next
 * group; what decoding allocates, in the scan's rowcxt, reset at the next row.
 */
#include "postgres.h"

#include "fdw/scan/aggregate_scan.h"

#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "engine/wide.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/plan/plan_private.h"
#include "fdw/row/reader.h"
#include "fdw/row/scan_set.h"
#include "fdw/scan/accumulator.h"
#include "fdw/scan/aggregate_state.h"
#include "fdw/scan/loose_filter.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_state.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

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

void
wt_aggregate_scan_begin(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	WtAggState *a = palloc0(sizeof(WtAggState));
	WtAggShape *shape = wt_aggregate_plan_shape(plan);
	List *columns = list_nth(plan->fdw_private, WtAggColumns);
	WtAggItem *items = wt_plan_private_array(list_nth(plan->fdw_private, WtAggItems),
											 sizeof(WtAggItem), &a->nitems);
	ListCell *lc;

	node->fdw_state = a;
	a->scan = wt_scan_begin(shape->relid, list_nth(plan->fdw_private, WtAggScan),
							list_truncate(list_copy(plan->fdw_exprs), shape->nargs), &node->ss.ps,
							false);
	a->t = a->scan->t;
	a->parts = shape->parts;
	a->first_only = shape->loose != 0;
	a->values = palloc0(sizeof(Datum) * Max(1, a->t->natts));
	a->nulls = palloc0(sizeof(bool) * Max(1, a->t->natts));
	a->direct.need_part = palloc0(sizeof(bool) * a->t->nkeys);
	a->group_part = palloc0(sizeof(bool) * a->t->nkeys);
	a->direct.part_values = palloc0(sizeof(Datum) * a->t->nkeys);
	a->direct.part_nulls = palloc0(sizeof(bool) * a->t->nkeys);
	a->columns = palloc0(sizeof(int) * Max(1, list_length(columns)));
	foreach(lc, columns)
	{
		const WtColumn *c = lfirst_int(lc) > 0 ? &a->t->columns[lfirst_int(lc) - 1] : NULL;

		a->columns[a->ncolumns++] = lfirst_int(lc);
		if (c != NULL && c->role == WT_KEY && c->part < a->parts)
			a->group_part[c->part] = true;
	}
	a->qual = ExecInitQual(list_truncate(list_copy_tail(plan->fdw_exprs, shape->nargs),
										 shape->nquals),
						   &node->ss.ps);
	a->direct.possible = a->qual == NULL && !a->t->cells_layout;
	a->items = palloc0(sizeof(WtAccumulator) * Max(1, a->nitems));
	for (int i = 0; i < a->nitems; i++)
		wt_accumulator_begin(a, &a->items[i], &items[i], plan->fdw_exprs, &node->ss.ps);
	a->direct.rowcxt_used = true;
	a->direct.key_length = key_length(a->t);
	a->econtext = CreateExprContext(node->ss.ps.state);
	a->row_slot = MakeSingleTupleTableSlot(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
										   &TTSOpsVirtual);
	a->groupcxt = AllocSetContextCreate(CurrentMemoryContext, "widetable group",
										ALLOCSET_SMALL_SIZES);
	a->group.t = a->t;
	a->group.reverse = a->scan->reverse;
	a->group.whole = a->parts == a->t->nkeys;
	initStringInfo(&a->group.prefix);
	initStringInfo(&a->group.seek);
	if (a->first_only)
		a->scan->loose = &a->group;
}

void
wt_aggregate_scan_again(ForeignScanState *node)
{
	WtAggState *a = node->fdw_state;

	a->phase = WT_AGG_START;
	resetStringInfo(&a->group.prefix);
	wt_scan_again(a->scan);
}

void
wt_aggregate_scan_end(ForeignScanState *node)
{
	WtAggState *a = node->fdw_state;

	ExecDropSingleTupleTableSlot(a->row_slot);
	wt_scan_end(a->scan);
}

/* ------------------------------------------------------- rows read directly */

/*
 * Makes the sinks: for each cell that the reader knows, the accumulators that it feeds.
 * Returns false if the row reader is needed: for a family that is read by qualifier, because
 * it has maps or many columns, and for columns with several encodings of one cell.
 */
static bool
make_sinks(WtAggState *a)
{
	WtRowReader *r = a->scan->open.reader;

	a->direct.sinks = palloc0(sizeof(WtSink *) * Max(1, r->nfamilies));
	for (int f = 0; f < r->nfamilies; f++)
	{
		WtReadFamily *rf = &r->families[f];

		if (rf->nmaps > 0 || a->scan->open.spec.families[f].want == WIDE_WANT_ALL)
			return false;
		a->direct.sinks[f] = palloc0(sizeof(WtSink) * Max(1, rf->nmapped));
		for (int m = 0; m < rf->nmapped; m++)
		{
			WtSink *sink = &a->direct.sinks[f][m];

			sink->items = palloc0(sizeof(WtAccumulator *) * Max(1, a->nitems));
			for (WtTarget *target = rf->mapped[m].targets; target != NULL; target = target->next)
				for (int i = 0; i < a->nitems; i++)
					if (a->items[i].column == target->att)
					{
						if (sink->column != NULL && sink->column != target->column)
							return false;
						sink->column = target->column;
						sink->items[sink->n++] = &a->items[i];
					}
		}
	}
	return true;
}

/* Adds a cell to its accumulators. */
static inline void
take_cell(WtAggState *a, const wide_cell *cell)
{
	const WtSink *sink = &a->direct.sinks[cell->family][cell->column];
	Datum value = (Datum) 0;
	bool decoded = false;

	for (int i = 0; i < sink->n; i++)
	{
		WtAccumulator *item = sink->items[i];
		int64 v;

		if (item->kind == WT_AGG_COUNT)
			item->n++;
		else if (wt_reader_read_integer(&item->width, cell->value, &v))
			wt_accumulator_add_integer(a, item, v);
		else
		{
			if (!decoded)
			{
				MemoryContext old = MemoryContextSwitchTo(a->scan->rowcxt);

				a->direct.rowcxt_used = true;
				value = wt_cell_value_decode(sink->column, a->t, a->key, cell->value.data,
											 cell->value.len);
				MemoryContextSwitchTo(old);
				decoded = true;
			}
			wt_accumulator_add_datum(a, item, value);
		}
	}
}

/* Adds the cells of the present row, and the parts of its key that are arguments. */
static void
take_row_directly(WtAggState *a)
{
	if (a->direct.any_part)
		for (int i = 0; i < a->nitems; i++)
		{
			WtAccumulator *item = &a->items[i];
			const WtColumn *c = item->column < 0 ? NULL : &a->t->columns[item->column];

			if (c != NULL && c->role == WT_KEY && a->direct.need_part[c->part] &&
				!a->direct.part_nulls[c->part])
				wt_accumulator_add_datum(a, item, a->direct.part_values[c->part]);
		}
	for (;;)
	{
		for (int i = 0; i < a->direct.row.ncells; i++)
			take_cell(a, &a->direct.row.cells[i]);
		if (!a->direct.row.more || !wt_engine_scan_next(a->direct.from, &a->direct.row))
			break;
	}
}

/* Passes over the rest of the present row. */
static void
pass_row(WtAggState *a)
{
	while (a->direct.row.more && wt_engine_scan_next(a->direct.from, &a->direct.row))
		;
	a->direct.row.more = false;
}

/* Returns true if the parts of the key fill it exactly. */
static inline bool
key_fits(const WtAggState *a)
{
	if (a->direct.key_length > 0 && a->direct.row.key.len == a->direct.key_length)
		return true;
	return wt_rowkey_prefix_length(a->t, a->direct.row.key, a->t->nkeys) == a->direct.row.key.len;
}

static inline bool
next_row_directly(WtAggState *a)
{
	MemoryContext old;
	bool good;

	if (a->direct.rowcxt_used)
		MemoryContextReset(a->scan->rowcxt);
	a->direct.rowcxt_used = false;
	do
	{
		if (!wt_scan_set_next(&a->scan->open.set, &a->direct.row, &a->direct.from))
			return false;
		/* no part of the key is needed: it is enough that it is whole */
		if (!a->direct.any_part && !a->t->bad_key_skip && key_fits(a))
			break;
		a->direct.rowcxt_used = true;
		old = MemoryContextSwitchTo(a->scan->rowcxt);
		/* all parts if bad keys are skipped: which rows count must not depend on the columns */
		good = wt_rowkey_decode(a->t, a->direct.row.key,
								a->t->bad_key_skip ? NULL : a->direct.need_part,
								a->direct.part_values, a->direct.part_nulls);
		MemoryContextSwitchTo(old);
		if (!good)
		{
			a->scan->open.reader->bad_keys++;
			pass_row(a);
		}
	} while (!good);
	if (a->direct.row.unsure)
		wt_scan_unsure(a->scan, a->direct.row.key);
	a->key = a->direct.row.key;
	return true;
}

/* --------------------------------------------- rows read by the row reader */

static bool
next_row_read(WtAggState *a)
{
	TupleTableSlot *slot = a->row_slot;

	for (;;)
	{
		if (!wt_scan_fetch(a->scan, a->values, a->nulls))
			return false;
		a->key = a->scan->open.reader->at;
		ExecClearTuple(slot);
		for (int i = 0; i < a->ncolumns; i++)
		{
			int att = a->columns[i] - 1;

			slot->tts_isnull[i] = att < 0 || a->nulls[att];
			slot->tts_values[i] = slot->tts_isnull[i] ? (Datum) 0 : a->values[att];
		}
		ExecStoreVirtualTuple(slot);
		a->econtext->ecxt_scantuple = slot;
		ResetExprContext(a->econtext);
		if (a->qual == NULL || ExecQual(a->qual, a->econtext))
			return true;
		a->removed++;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
take_row_read(WtAggState *a)
{
	for (int i = 0; i < a->nitems; i++)
	{
		WtAccumulator *item = &a->items[i];
		Datum v = (Datum) 0;
		bool isnull = false;

		if (item->filter != NULL && !ExecQual(item->filter, a->econtext))
			continue;
		if (item->arg != NULL)
			v = ExecEvalExprSwitchContext(item->arg, a->econtext, &isnull);
		if (!isnull)
			wt_accumulator_add_datum(a, item, v);
	}
}

/* Returns true if the present row belongs to the group. */
static inline bool
same_group(WtAggState *a)
{
	const WtLoose *g = &a->group;
	size_t salt = a->t->salt_buckets > 0 ? 1 : 0;
	size_t n = (size_t) g->prefix.len;

	if (a->parts == 0)
		return true;
	if (g->whole ? a->key.len != salt + n : a->key.len < salt + n)
		return false;
	return memcmp(a->key.data + salt, g->prefix.data, n) == 0;
}

/* Begins a group: resets the accumulators and sets the prefix from the present row. */
static void
begin_group(WtAggState *a)
{
	size_t salt = a->t->salt_buckets > 0 ? 1 : 0;
	size_t n;

	MemoryContextReset(a->groupcxt);
	a->group_rows = 0;
	for (int i = 0; i < a->nitems; i++)
		wt_accumulator_reset(&a->items[i]);
	if (a->parts == 0)
		return;
	n = a->group.whole ? a->key.len : wt_rowkey_prefix_length(a->t, a->key, a->parts);
	resetStringInfo(&a->group.prefix);
	appendBinaryStringInfo(&a->group.prefix, (const char *) a->key.data + salt, (int) (n - salt));
	resetStringInfo(&a->group.seek);
	enlargeStringInfo(&a->group.seek, (int) n + 2);
}

/* Fills in the scan tuple of the group from the values of its key and its accumulators. */
static void
fill_group(WtAggState *a, TupleTableSlot *slot, const Datum *keys, const bool *nokeys)
{
	for (int i = 0; i < a->ncolumns; i++)
	{
		const WtColumn *c = a->columns[i] > 0 ? &a->t->columns[a->columns[i] - 1] : NULL;

		slot->tts_isnull[i] = true;
		slot->tts_values[i] = (Datum) 0;
		if (c != NULL && c->role == WT_KEY && c->part < a->parts)
		{
			slot->tts_values[i] = keys[c->part];
			slot->tts_isnull[i] = nokeys[c->part];
		}
	}
	for (int i = 0; i < a->nitems; i++)
		slot->tts_values[a->items[i].entry] =
			wt_accumulator_finish(a, &a->items[i], &slot->tts_isnull[a->items[i].entry]);
}

static inline bool
next_row(WtAggState *a)
{
	return a->direct.on ? next_row_directly(a) : next_row_read(a);
}

static inline void
take_row(WtAggState *a)
{
	a->group_rows++;
	if (a->direct.on)
		take_row_directly(a);
	else
		take_row_read(a);
}

/* Reads the first row of the scan.  Returns false if there is none. */
static bool
first_row(WtAggState *a)
{
	if (!wt_scan_start(a->scan))
		return false;
	/* the sinks belong to a reader, and this may be another one */
	if (a->direct.opens != a->scan->opens)
	{
		MemoryContext old = MemoryContextSwitchTo(a->scan->open.cxt);

		a->direct.on = a->direct.possible && make_sinks(a);
		MemoryContextSwitchTo(old);
		a->direct.opens = a->scan->opens;
	}
	return next_row(a);
}

/* Aggregates the rows of a group, from the present row on. */
static void
aggregate_group(WtAggState *a)
{
	bool more;

	take_row(a);
	while ((more = next_row(a)) && same_group(a))
	{
		if (!a->first_only)
			take_row(a);
		else if (a->direct.on)
			pass_row(a);
	}
	a->phase = more ? WT_AGG_ROW : WT_AGG_DONE;
}

TupleTableSlot *
wt_aggregate_scan_next(ForeignScanState *node)
{
	WtAggState *a = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	Datum *keys;
	bool *nokeys;
	MemoryContext old;

	ExecClearTuple(slot);
	if (a->phase == WT_AGG_START)
		a->phase = first_row(a) ? WT_AGG_ROW : WT_AGG_DONE;
	else if (a->phase == WT_AGG_DONE)
		return slot;
	if (a->phase == WT_AGG_DONE)
	{
		if (a->parts > 0)
			return slot;
		/* no rows are a group too */
		a->key = (wide_bytes) {NULL, 0};
	}
	begin_group(a);
	old = MemoryContextSwitchTo(a->groupcxt);
	keys = palloc0(sizeof(Datum) * a->t->nkeys);
	nokeys = palloc0(sizeof(bool) * a->t->nkeys);
	if (a->parts > 0)
		(void) wt_rowkey_decode(a->t, a->key, a->group_part, keys, nokeys);
	MemoryContextSwitchTo(old);
	if (a->phase == WT_AGG_ROW)
		aggregate_group(a);
	a->rows += a->group_rows;
	old = MemoryContextSwitchTo(a->groupcxt);
	fill_group(a, slot, keys, nokeys);
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}
