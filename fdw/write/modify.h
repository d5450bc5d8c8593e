/*
 * modify.h
 *		INSERT, UPDATE, DELETE and COPY: the executor's callbacks.
 */
#ifndef WT_MODIFY_H
#define WT_MODIFY_H

#include "executor/tuptable.h"
#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "fdw/store/compat.h"

/*
 * Callbacks of FdwRoutine, as PostgreSQL's documentation describes them
 * ("FDW Routines for Updating Foreign Tables").
 */
extern void wt_modify_add_update_targets(PlannerInfo *root, Index rtindex,
										 RangeTblEntry *target_rte, Relation target_relation);
extern List *wt_modify_plan(PlannerInfo *root, ModifyTable *plan, Index resultRelation,
							int subplan_index);
extern int wt_modify_is_updatable(Relation rel);
extern void wt_modify_begin(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
							int subplan_index, int eflags);
extern void wt_modify_begin_insert(ModifyTableState *mtstate, ResultRelInfo *rinfo);
extern TupleTableSlot *wt_modify_exec_insert(EState *estate, ResultRelInfo *rinfo,
											 TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *wt_modify_exec_update(EState *estate, ResultRelInfo *rinfo,
											 TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *wt_modify_exec_delete(EState *estate, ResultRelInfo *rinfo,
											 TupleTableSlot *slot, TupleTableSlot *planSlot);
extern void wt_modify_end(EState *estate, ResultRelInfo *rinfo);
extern void wt_modify_end_insert(EState *estate, ResultRelInfo *rinfo);
extern void wt_modify_explain(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
							  int subplan_index, struct ExplainState *es);

#endif /* WT_MODIFY_H */
