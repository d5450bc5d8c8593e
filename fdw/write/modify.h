/*
 * modify.h
 *		INSERT, UPDATE, DELETE and COPY: the executor's callbacks.
 */
#ifndef WT_MODIFY_H
#define WT_MODIFY_H

#include "executor/tuptable.h"
#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

extern void wtAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte, Relation target_relation);
extern List *wtPlanForeignModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index);
extern int	wtIsForeignRelUpdatable(Relation rel);
extern void wtBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index, int eflags);
extern void wtBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo);
extern TupleTableSlot *wtExecForeignInsert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *wtExecForeignUpdate(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *wtExecForeignDelete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot);
extern void wtEndForeignModify(EState *estate, ResultRelInfo *rinfo);
extern void wtEndForeignInsert(EState *estate, ResultRelInfo *rinfo);
extern void wtExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index, struct ExplainState *es);

#endif							/* WT_MODIFY_H */
