/*
 * foreign_scan.c
 *		The executor's callbacks for scans.
 *
 * Plain scans, with and without row locks, are run here; plans that aggregate go to
 * aggregate_scan.c.  UPDATE and DELETE in the scan have callbacks of their own
 * (fdw/write/direct_modify.c).
 *
 * There is no callback for EvalPlanQual: the tuple is a copy, and the executor tests
 * fdw_recheck_quals, the clauses that the key ranges and the engine have answered.
 */
#include "postgres.h"

#include "fdw/scan/foreign_scan.h"

#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "fdw/plan/aggregate_plan.h"
#include "fdw/plan/plan_private.h"
#include "fdw/scan/aggregate_scan.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_lock.h"
#include "fdw/scan/scan_state.h"

void
wt_foreign_scan_begin(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	if (wt_is_aggregate(node))
	{
		wt_aggregate_scan_begin(node);
		return;
	}
	node->fdw_state = wt_scan_begin(RelationGetRelid(node->ss.ss_currentRelation),
									plan->fdw_private, plan->fdw_exprs, &node->ss.ps, true);
}

/* Reads and locks the next row that passes the quals. */
static bool
fetch_locked(ForeignScanState *node, TupleTableSlot *slot)
{
	WtScanState *st = node->fdw_state;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;

	while (wt_scan_fetch(st, slot->tts_values, slot->tts_isnull))
	{
		MemoryContext old;
		bool locked;

		/* rows that do not pass are not locked */
		ExecStoreVirtualTuple(slot);
		econtext->ecxt_scantuple = slot;
		ResetExprContext(econtext);
		if (node->ss.ps.qual != NULL && !ExecQual(node->ss.ps.qual, econtext))
		{
			InstrCountFiltered1(node, 1);
			ExecClearTuple(slot);
			continue;
		}
		ExecClearTuple(slot);
		old = MemoryContextSwitchTo(st->rowcxt);
		locked = wt_scan_lock_row(st, slot->tts_values, slot->tts_isnull);
		MemoryContextSwitchTo(old);
		if (locked)
			return true;
	}
	return false;
}

TupleTableSlot *
wt_foreign_scan_iterate(ForeignScanState *node)
{
	WtScanState *st = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	if (wt_is_aggregate(node))
		return wt_aggregate_scan_next(node);
	ExecClearTuple(slot);
	if (st->lock == WT_LOCK_NONE ? wt_scan_fetch(st, slot->tts_values, slot->tts_isnull)
								 : fetch_locked(node, slot))
		return ExecStoreVirtualTuple(slot);
	return slot;
}

void
wt_foreign_scan_rescan(ForeignScanState *node)
{
	if (node->fdw_state != NULL && wt_is_aggregate(node))
		wt_aggregate_scan_again(node);
	else if (node->fdw_state != NULL)
		wt_scan_again(node->fdw_state);
}

void
wt_foreign_scan_end(ForeignScanState *node)
{
	if (node->fdw_state != NULL && wt_is_aggregate(node))
		wt_aggregate_scan_end(node);
	else if (node->fdw_state != NULL)
		wt_scan_end(node->fdw_state);
}
