/*
 * scan_plan.h
 *		Plans of scans.
 */
#ifndef WT_SCAN_PLAN_H
#define WT_SCAN_PLAN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Makes the plan of a path of scan_path.c: the FdwRoutine's GetForeignPlan for tables.  relid is
 * the table's OID.
 */
extern ForeignScan *wt_scan_plan_get_plan(PlannerInfo *root, RelOptInfo *baserel, Oid relid,
										  ForeignPath *best_path, List *tlist, List *scan_clauses,
										  Plan *outer_plan);

/*
 * Returns conditions on the key (WtCond) as the plan's tests (WtPrivateTests); appends their values
 * to exprs and types, which are empty.
 */
extern List *wt_scan_plan_tests(List *conds, List **exprs, List **types);

#endif /* WT_SCAN_PLAN_H */
