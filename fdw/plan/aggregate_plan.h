/*
 * aggregate_plan.h
 *		Plans that aggregate while they scan: for the planner, fdw/scan/aggregate_scan.c and
 *		EXPLAIN.
 *
 * The plan is a ForeignScan without a scan relation.  Its fdw_scan_tlist has the key columns of
 * the group and the aggregates, which are the scan tuple, and behind them the columns that only
 * clauses and arguments of aggregates need.  These are null in the scan tuple; they have values
 * in a slot of the same shape, on which clauses and arguments are evaluated for each row.  So
 * setrefs.c prepares all expressions, and parameters, functions and dependencies need nothing
 * special.
 *
 * fdw_exprs has the expressions of the plain scan, then the clauses that a row must pass, then
 * the arguments and filters of the aggregates.
 */
#ifndef WT_AGGREGATE_PLAN_H
#define WT_AGGREGATE_PLAN_H

#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "fdw/plan/plan_private.h"

typedef enum WtAggKind
{
	WT_AGG_COUNT_ROWS,
	WT_AGG_COUNT,
	WT_AGG_MIN,
	WT_AGG_MAX,
	WT_AGG_SUM_INT,	 /* of int2, int4; an int8 */
	WT_AGG_SUM_INT8, /* of int8; a numeric */
	WT_AGG_AVG_INT,	 /* of int2, int4, int8; a numeric */
	WT_AGG_SUM_FLOAT4,
	WT_AGG_SUM_FLOAT8,
	WT_AGG_AVG_FLOAT, /* of float4, float8; a float8 */
	WT_AGG_SUM_NUMERIC,
	WT_AGG_AVG_NUMERIC,
	WT_AGG_BOOL_AND,
	WT_AGG_BOOL_OR
} WtAggKind;

/* The plan's fdw_private. */
enum WtAggPrivate
{
	WtAggScan,	  /* the private list of the plain scan */
	WtAggPlan,	  /* integer list: a WtAggShape */
	WtAggColumns, /* attribute number of each entry of fdw_scan_tlist; 0: an aggregate */
	WtAggItems	  /* integer list: array of WtAggItem */
};

/* The plan as a whole.  All members are ints. */
typedef struct WtAggShape
{
	Oid relid;	/* the table */
	int nargs;	/* expressions of the plain scan */
	int nquals; /* clauses that a row must pass */
	int parts;	/* leading parts of the key that make a group; 0: all rows are one group */
	int loose;	/* 1: a loose scan, which reads the first row of each group only */
} WtAggShape;

/* One aggregate of the plan.  All members are ints. */
typedef struct WtAggItem
{
	int entry; /* index into fdw_scan_tlist */
	WtAggKind kind;
	int column;	   /* argument: attribute number; 0: an expression, or no argument */
	int argument;  /* argument: index into fdw_exprs; 0: none */
	int filter;	   /* FILTER clause: index into fdw_exprs; 0: none */
	Oid type;	   /* argument: type */
	Oid compare;   /* min, max: comparison function */
	Oid collation; /* of the comparison */
} WtAggItem;

/* The FdwRoutine's GetForeignUpperPaths: adds paths that aggregate, if they are possible. */
extern void wt_aggregate_plan_get_upper_paths(PlannerInfo *root, UpperRelationKind stage,
											  RelOptInfo *input_rel, RelOptInfo *output_rel,
											  void *extra);

/* The FdwRoutine's GetForeignPlan: of scans of a table, and of aggregates on one. */
extern ForeignScan *wt_aggregate_plan_get_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
											   ForeignPath *best_path, List *tlist,
											   List *scan_clauses, Plan *outer_plan);

/* Returns true if the plan of the node aggregates. */
static inline bool
wt_is_aggregate(const ForeignScanState *node)
{
	return ((ForeignScan *) node->ss.ps.plan)->scan.scanrelid == 0;
}

static inline WtAggShape *
wt_aggregate_plan_shape(const ForeignScan *plan)
{
	int n;

	return wt_plan_private_array(list_nth(plan->fdw_private, WtAggPlan), sizeof(WtAggShape), &n);
}

#endif /* WT_AGGREGATE_PLAN_H */
