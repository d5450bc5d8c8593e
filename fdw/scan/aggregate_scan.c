/*
 * aggregate_scan.c
 *		Scans that aggregate: one pass in the order of the key, one group at a time.
 *
 * Rows are read in one of two ways.  If there are no clauses and all arguments are columns or
 * simple expressions of integers, the engine's values go to the accumulators many rows at a time
 * (aggregate_direct.c), and nothing else of the row is looked at.  Otherwise the row reader makes
 * SQL values of the columns, and clauses and arguments are evaluated on them.
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
#include "fdw/scan/aggregate_direct.h"
#include "fdw/scan/aggregate_state.h"
#include "fdw/scan/loose_filter.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/bytes.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

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
	a->group_part = palloc0(sizeof(bool) * a->t->nkeys);
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
	a->items = palloc0(sizeof(WtAccumulator) * Max(1, a->nitems));
	for (int i = 0; i < a->nitems; i++)
		wt_accumulator_begin(a, &a->items[i], &items[i], plan->fdw_exprs, &node->ss.ps);
	wt_aggregate_direct_begin(a, items, plan->fdw_exprs);
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
	initStringInfo(&a->next_key);
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
	return a->direct.on ? wt_aggregate_direct_next(a) : next_row_read(a);
}

static inline void
take_row(WtAggState *a)
{
	a->group_rows++;
	if (a->direct.on)
		wt_aggregate_direct_take(a);
	else
		take_row_read(a);
}

/* Reads the first row of the scan.  Returns false if there is none. */
static bool
first_row(WtAggState *a)
{
	if (!wt_scan_start(a->scan))
		return false;
	wt_aggregate_direct_start(a);
	return next_row(a);
}

/* The present row begins the next group, which is asked for later: the scan may rest until then. */
static void
keep_row(WtAggState *a)
{
	if (a->direct.on)
	{
		wt_engine_scan_hold_row(a->direct.from, &a->direct.row);
		return;
	}
	/* its values are copies */
	resetStringInfo(&a->next_key);
	appendBinaryStringInfo(&a->next_key, (const char *) a->key.data, (int) a->key.len);
	a->key = wt_bytes_of(&a->next_key);
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
			wt_aggregate_direct_pass(a);
	}
	if (a->direct.on)
		wt_aggregate_direct_flush(a);
	a->phase = more ? WT_AGG_ROW : WT_AGG_DONE;
	if (more)
		keep_row(a);
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
	else if (a->direct.on)
		a->key = a->direct.row.key;
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
