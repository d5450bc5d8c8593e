/*
 * direct_modify.h
 *		UPDATE and DELETE that the scan of their target does itself.
 */
#ifndef WT_DIRECT_MODIFY_H
#define WT_DIRECT_MODIFY_H

#include "executor/tuptable.h"
#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "fdw/store/compat.h"

/*
 * The callbacks PlanDirectModify, BeginDirectModify, IterateDirectModify,
 * EndDirectModify and ExplainDirectModify.  wt_direct_modify_plan returns false if the
 * statement has to take the ordinary path.
 */
extern bool wt_direct_modify_plan(PlannerInfo *root, ModifyTable *plan, Index resultRelation,
								  int subplan_index);
extern void wt_direct_modify_begin(ForeignScanState *node, int eflags);
extern TupleTableSlot *wt_direct_modify_iterate(ForeignScanState *node);
extern void wt_direct_modify_end(ForeignScanState *node);
extern void wt_direct_modify_explain(ForeignScanState *node, struct ExplainState *es);

#endif /* WT_DIRECT_MODIFY_H */
