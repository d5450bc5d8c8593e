/*
 * aggregate_scan.c
 *		Scans that aggregate: one pass in the order of the key, one group at a time.
 *
 * Rows come in one of two ways.  Directly: when there are no clauses and all
 * arguments are columns, cells of the engine go to the accumulators that want
 * them, and nothing else of the row is looked at.  Otherwise the row reader makes
 * SQL values of the columns, which clauses and arguments are evaluated on.
 *
 * Groups are told apart by the bytes of the key: the leading parts are a prefix
 * of it, and equal values are equal bytes (aggregate_plan.c sees to that).
 *
 * Memory: values of a group (its key, least values, sums) live in groupcxt, which
 * is reset at the next group; what decoding leaves behind in the scan's rowcxt,
 * reset at each row.
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

/* The bytes that all keys have, 0 if they differ. */
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
	int nargs = wt_aggregate_plan_shape(plan, 0), nquals = wt_aggregate_plan_shape(plan, 1);
	List *columns = list_nth(plan->fdw_private, WtAggColumns),
		 *items = list_nth(plan->fdw_private, WtAggItems);
	ListCell *lc;

	node->fdw_state = a;
	a->scan = wt_scan_begin(linitial_oid(list_nth(plan->fdw_private, WtAggRelid)),
							list_nth(plan->fdw_private, WtAggScan),
							list_truncate(list_copy(plan->fdw_exprs), nargs), &node->ss.ps, false);
	a->t = a->scan->t;
	a->parts = wt_aggregate_plan_shape(plan, 2);
	a->first_only = wt_aggregate_plan_shape(plan, 3) != 0;
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
	a->qual = ExecInitQual(list_truncate(list_copy_tail(plan->fdw_exprs, nargs), nquals),
						   &node->ss.ps);
	a->direct.possible = a->qual == NULL && !a->t->cells_layout;
	a->items = palloc0(sizeof(WtAccumulator) * Max(1, list_length(items)));
	foreach(lc, items)
		wt_accumulator_begin(a, &a->items[a->nitems++], lfirst(lc), plan->fdw_exprs, &node->ss.ps);
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

WtScanState *
wt_aggregate_scan_below(ForeignScanState *node, uint64 *rows, uint64 *removed)
{
	WtAggState *a = node->fdw_state;

	*rows = a->rows;
	*removed = a->removed;
	return a->scan;
}

/* ------------------------------------------------------------------ direct */

/*
 * Which accumulators want which of the reader's cells.  A family that is read by
 * qualifier has cells for maps or of many columns: the row reader does that.
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
						/* several columns on one cell may have several encodings */
						if (sink->column != NULL && sink->column != target->column)
							return false;
						sink->column = target->column;
						sink->items[sink->n++] = &a->items[i];
					}
		}
	}
	return true;
}

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

/* The present row's cells and parts of its key */
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

/* The rest of a row that is not taken */
static void
pass_row(WtAggState *a)
{
	while (a->direct.row.more && wt_engine_scan_next(a->direct.from, &a->direct.row))
		;
	a->direct.row.more = false;
}

/* Do the parts of the key end where it ends? */
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
		/* nothing of the key is asked: it is enough that it is whole */
		if (!a->direct.any_part && !a->t->bad_key_skip && key_fits(a))
			break;
		a->direct.rowcxt_used = true;
		old = MemoryContextSwitchTo(a->scan->rowcxt);
		/* as the row reader: which keys are left out does not depend on what is asked */
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

/* -------------------------------------------------------------- row reader */

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

/* The present row begins a group: its prefix and key values. */
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

/* The scan tuple of a group */
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

/* The first row of all.  false: there is none. */
static bool
first_row(WtAggState *a)
{
	if (!wt_scan_start(a->scan))
		return false;
	/* they lie in the memory of the reader, which may be another one now */
	if (a->direct.opens != a->scan->opens)
	{
		MemoryContext old = MemoryContextSwitchTo(a->scan->open.cxt);

		a->direct.on = a->direct.possible && make_sinks(a);
		MemoryContextSwitchTo(old);
		a->direct.opens = a->scan->opens;
	}
	return next_row(a);
}

/*
 * Aggregates the rows of the present group, which the present row begins.  What is said about
 * the group must be in memory that outlives the row.
 */
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
