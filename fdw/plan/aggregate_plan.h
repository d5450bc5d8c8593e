/*
 * aggregate_plan.h
 *		Plans that aggregate while they scan, for those that make, run and explain them.
 *
 * The plan is a ForeignScan without a scan relation.  Its fdw_scan_tlist has the
 * group's key columns and the aggregates, which are the scan tuple, and behind
 * them the columns that only the clauses and the aggregates' arguments need:
 * these are null in the scan tuple, and have values in a slot of the same shape
 * in which the rows of the table are looked at.  So setrefs.c prepares all
 * expressions, and parameters, functions and dependencies are as usual.
 *
 * fdw_exprs: those of the plain scan (nargs of them); the row's clauses (nquals);
 * then what WtAggItem counts on from there.
 */
#ifndef WT_AGGREGATE_PLAN_H
#define WT_AGGREGATE_PLAN_H

#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

typedef enum WtAggKind
{
	WT_AGG_COUNT_ROWS,
	WT_AGG_COUNT,
	WT_AGG_MIN,
	WT_AGG_MAX,
	WT_AGG_SUM_INT,	 /* of int2, int4: int8 */
	WT_AGG_SUM_INT8, /* numeric */
	WT_AGG_AVG_INT,	 /* of all three: numeric */
	WT_AGG_SUM_FLOAT4,
	WT_AGG_SUM_FLOAT8,
	WT_AGG_AVG_FLOAT, /* of both: float8 */
	WT_AGG_SUM_NUMERIC,
	WT_AGG_AVG_NUMERIC,
	WT_AGG_BOOL_AND,
	WT_AGG_BOOL_OR
} WtAggKind;

/* fdw_private */
enum WtAggPrivate
{
	WtAggScan,	  /* the private list of the plain scan */
	WtAggRelid,	  /* list of one OID */
	WtAggShape,	  /* integer list, see enum WtAggShapeEntry */
	WtAggColumns, /* for each entry of fdw_scan_tlist the attribute number, 0: an aggregate */
	WtAggItems	  /* list of OID lists, see WtAggItem */
};

/* WtAggShape */
enum WtAggShapeEntry
{
	WtAggArgs,	/* expressions of the plain scan */
	WtAggQuals, /* clauses that a row must pass */
	WtAggParts, /* leading parts of the key that make a group; 0: all rows are one group */
	WtAggLoose	/* 1: a loose scan, which reads the first row of each group only */
};

/* One aggregate */
enum WtAggItem
{
	WtAggItemEntry, /* in fdw_scan_tlist, from 0 */
	WtAggItemKind,
	WtAggItemColumn,   /* argument: attribute number, 0: an expression, or none */
	WtAggItemArgument, /* its place in fdw_exprs; 0: none */
	WtAggItemFilter,   /* the same */
	WtAggItemType,	   /* of the argument */
	WtAggItemCompare,  /* min, max: comparison function */
	WtAggItemCollation
};

extern void wt_aggregate_plan_get_upper_paths(PlannerInfo *root, UpperRelationKind stage,
											  RelOptInfo *input_rel, RelOptInfo *output_rel,
											  void *extra);
/* of a table or of an aggregate on one */
extern ForeignScan *wt_aggregate_plan_get_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
											   ForeignPath *best_path, List *tlist,
											   List *scan_clauses, Plan *outer_plan);

static inline bool
wt_is_aggregate(const ForeignScanState *node)
{
	return ((ForeignScan *) node->ss.ps.plan)->scan.scanrelid == 0;
}

static inline int
wt_aggregate_plan_shape(const ForeignScan *plan, enum WtAggShapeEntry which)
{
	return list_nth_int((List *) list_nth(plan->fdw_private, WtAggShape), which);
}

#endif /* WT_AGGREGATE_PLAN_H */
