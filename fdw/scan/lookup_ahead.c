/*
 * lookup_ahead.c
 *		The node that reads the outer side of a join ahead (fdw/plan/lookup_path.c).
 *
 * It reads a batch of rows of its child, computes the keys that the scan on the other side will
 * look up for them, and leaves these for the scan (lookup.h).  Then it returns the rows.  The first
 * batch is small, in case that few rows are needed.
 */
#include "postgres.h"

#include "fdw/scan/lookup_ahead.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/plan/lookup_path.h"
#include "fdw/plan/plan_private.h"
#include "fdw/scan/lookup.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"

#define FIRST_BATCH 20
#define GROWTH		5 /* of the next batch */

typedef struct AheadState
{
	CustomScanState css; /* first */
	WtTable *t;
	WtTest *tests;
	int ntests;
	WtArg *args;
	List *exprs; /* ExprStates of args */
	WtLookup *lookup;

	MemoryContext cxt; /* of the batch: rows and keys */
	MinimalTuple *rows;
	int n, next, size; /* size: of the next batch */
	bool done;		   /* the child has no more rows */
	TupleTableSlot *row;

	uint64 batches, keys; /* for EXPLAIN ANALYZE */
} AheadState;

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	AheadState *s = (AheadState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	PlanState *child = ExecInitNode(linitial(plan->custom_plans), estate, eflags);
	ListCell *lc;
	int i = 0;

	node->custom_ps = list_make1(child);
	s->size = FIRST_BATCH;
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	s->t = wt_table(linitial_oid(list_nth(plan->custom_private, WtLookupTable)));
	s->tests = wt_plan_private_array(list_nth(plan->custom_private, WtLookupTests), sizeof(WtTest),
									 &s->ntests);
	s->args = palloc0(sizeof(WtArg) * Max(1, list_length(plan->custom_exprs)));
	foreach(lc, (List *) list_nth(plan->custom_private, WtLookupTypes))
		s->args[i++].type = lfirst_oid(lc);
	s->exprs = ExecInitExprList(plan->custom_exprs, &node->ss.ps);
	s->lookup = wt_lookup(estate, linitial_int(list_nth(plan->custom_private, WtLookupToken)));
	s->cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable lookups",
								   ALLOCSET_DEFAULT_SIZES);
	s->row = MakeSingleTupleTableSlot(ExecGetResultType(child), &TTSOpsMinimalTuple);
}

/* Shows the row as the node's scan tuple; the values stay where they are. */
static void
show_row(AheadState *s, TupleTableSlot *row)
{
	TupleTableSlot *slot = s->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	slot_getallattrs(row);
	wt_bytes_copy(slot->tts_values, row->tts_values,
				  sizeof(Datum) * slot->tts_tupleDescriptor->natts);
	wt_bytes_copy(slot->tts_isnull, row->tts_isnull,
				  sizeof(bool) * slot->tts_tupleDescriptor->natts);
	ExecStoreVirtualTuple(slot);
}

/* Computes the key that is looked up for the row.  Returns false if there is none. */
static bool
key_of(AheadState *s, TupleTableSlot *row, wide_range *key)
{
	ExprContext *econtext = s->css.ss.ps.ps_ExprContext;
	MemoryContext old;
	WtRanges ranges;
	ListCell *lc;
	bool found = false;
	int i = 0;

	ResetExprContext(econtext);
	show_row(s, row);
	econtext->ecxt_scantuple = s->css.ss.ss_ScanTupleSlot;
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	foreach(lc, s->exprs)
	{
		WtArg *arg = &s->args[i++];

		arg->value = ExecEvalExpr((ExprState *) lfirst(lc), econtext, &arg->isnull);
		arg->known = true;
	}
	wt_key_range_make(s->t, s->tests, s->ntests, s->args, &ranges);
	for (int b = 0; b < ranges.nbuckets && ranges.total == 1 && ranges.points == 1 && !found; b++)
		if (ranges.n[b] == 1)
		{
			const wide_range *r = &ranges.ranges[b][0];
			uint8 *bytes = MemoryContextAlloc(s->cxt, r->hi.len);

			/* the end is the key and a zero byte */
			wt_bytes_copy(bytes, r->hi.data, r->hi.len);
			*key = (wide_range) {{bytes, r->lo.len}, {bytes, r->hi.len}};
			found = true;
		}
	MemoryContextSwitchTo(old);
	return found;
}

static int
compare_keys(const void *a, const void *b)
{
	return wt_bytes_cmp(((const wide_range *) a)->lo, ((const wide_range *) b)->lo);
}

/* Sorts the keys of the batch, and leaves each once for the scan. */
static void
leave_keys(AheadState *s, wide_range *keys, int n)
{
	int left = 0;

	if (n > 1)
		qsort(keys, n, sizeof(wide_range), compare_keys);
	for (int i = 0; i < n; i++)
		if (left == 0 || compare_keys(&keys[left - 1], &keys[i]) != 0)
			keys[left++] = keys[i];
	s->lookup->keys = keys;
	s->lookup->n = left;
	s->lookup->fresh = left > 0;
	s->batches++;
	s->keys += left;
}

/* Reads the next batch.  The scan has no use for the keys of the last one any more. */
static void
read_batch(AheadState *s)
{
	PlanState *child = linitial(s->css.custom_ps);
	wide_range *keys;
	int nkeys = 0;

	s->lookup->fresh = false;
	MemoryContextReset(s->cxt);
	s->n = s->next = 0;
	s->rows = MemoryContextAlloc(s->cxt, sizeof(MinimalTuple) * s->size);
	keys = MemoryContextAlloc(s->cxt, sizeof(wide_range) * s->size);
	while (s->n < s->size)
	{
		TupleTableSlot *row = ExecProcNode(child);
		MemoryContext old;

		if (TupIsNull(row))
		{
			s->done = true;
			break;
		}
		old = MemoryContextSwitchTo(s->cxt);
		s->rows[s->n++] = ExecCopySlotMinimalTuple(row);
		MemoryContextSwitchTo(old);
		nkeys += key_of(s, row, &keys[nkeys]);
	}
	ExecClearTuple(s->css.ss.ss_ScanTupleSlot);
	s->size = Min(s->size * GROWTH, WT_LOOKUP_BATCH);
	leave_keys(s, keys, nkeys);
}

static TupleTableSlot *
next(CustomScanState *node)
{
	AheadState *s = (AheadState *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	if (s->next >= s->n && !s->done)
		read_batch(s);
	ExecClearTuple(slot);
	if (s->next >= s->n)
		return NULL;
	ExecStoreMinimalTuple(s->rows[s->next++], s->row, false);
	show_row(s, s->row);
	if (node->ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

static void
again(CustomScanState *node)
{
	AheadState *s = (AheadState *) node;
	PlanState *child = linitial(node->custom_ps);

	s->n = s->next = 0;
	s->done = false;
	s->size = FIRST_BATCH;
	s->lookup->fresh = false;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	/* else the child's first row is what begins it again */
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	AheadState *s = (AheadState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, ancestors);
	List *keys = NIL;
	ListCell *lc;

	ExplainPropertyText("Lookups In",
						get_rel_name(linitial_oid(list_nth(plan->custom_private, WtLookupTable))),
						es);
	foreach(lc, plan->custom_exprs)
		keys = lappend(keys, deparse_expression(lfirst(lc), context, true, false));
	ExplainPropertyList("Lookup Key", keys, es);
	if (!es->analyze)
		return;
	ExplainPropertyInteger("Batches", NULL, (int64) s->batches, es);
	ExplainPropertyInteger("Keys", NULL, (int64) s->keys, es);
}

static const CustomExecMethods exec_methods = {.CustomName = WT_LOOKUP_NAME,
											   .BeginCustomScan = begin,
											   .ExecCustomScan = next,
											   .EndCustomScan = end,
											   .ReScanCustomScan = again,
											   .ExplainCustomScan = explain};

static Node *
make_state(CustomScan *scan)
{
	AheadState *s = palloc0(sizeof(AheadState));

	NodeSetTag(s, T_CustomScanState);
	s->css.methods = &exec_methods;
	return (Node *) s;
}

static const CustomScanMethods scan_methods = {.CustomName = WT_LOOKUP_NAME,
											   .CreateCustomScanState = make_state};

void
wt_lookup_ahead_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
