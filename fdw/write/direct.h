/*
 * direct.h
 *		UPDATE and DELETE that the scan of their target does itself.
 */
#ifndef WT_DIRECT_H
#define WT_DIRECT_H

#include "executor/tuptable.h"
#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

extern bool wtPlanDirectModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index);
extern void wtBeginDirectModify(ForeignScanState *node, int eflags);
extern TupleTableSlot *wtIterateDirectModify(ForeignScanState *node);
extern void wtEndDirectModify(ForeignScanState *node);
extern void wtExplainDirectModify(ForeignScanState *node, struct ExplainState *es);

#endif							/* WT_DIRECT_H */
