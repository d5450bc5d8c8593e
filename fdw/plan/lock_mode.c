/*
 * lock_mode.c
 *		Whether and how a scan locks its rows.
 */
#include "postgres.h"

#include "fdw/plan/lock_mode.h"

#include "optimizer/prep.h"
#include "parser/parsetree.h"

#include "fdw/table/engine.h"
#include "fdw/table/table.h"

WtLock
wt_lock_mode(PlannerInfo *root, RelOptInfo *rel)
{
	PlanRowMark *mark;

	if (bms_is_member(rel->relid, root->all_result_relids))
		return WT_LOCK_WAIT;
	mark = get_plan_rowmark(root->rowMarks, rel->relid);
	if (mark == NULL || mark->strength == LCS_NONE)
		return WT_LOCK_NONE;
	wt_engine_require(wt_table(planner_rt_fetch(rel->relid, root)->relid), WT_CAN_ROW_LOCKS,
					  "cannot lock rows of");
	switch (mark->waitPolicy)
	{
		case LockWaitSkip:
			return WT_LOCK_SKIP;
		case LockWaitError:
			return WT_LOCK_NOWAIT;
		default:
			return WT_LOCK_WAIT;
	}
}
