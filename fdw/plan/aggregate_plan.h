/*
 * aggregate_plan.h
 *		What aggregate.c (plans), aggregate_run.c (execution) and explain.c share.
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
#ifndef WT_AGGREGATE_H
#define WT_AGGREGATE_H

#include "fdw/scan/scan_state.h"

typedef enum WtAggKind
{
	WT_AGG_COUNT_ROWS,
	WT_AGG_COUNT,
	WT_AGG_MIN,
	WT_AGG_MAX,
	WT_AGG_SUM_INT,				/* of int2, int4: int8 */
	WT_AGG_SUM_INT8,			/* numeric */
	WT_AGG_AVG_INT,				/* of all three: numeric */
	WT_AGG_SUM_FLOAT4,
	WT_AGG_SUM_FLOAT8,
	WT_AGG_AVG_FLOAT,			/* of both: float8 */
	WT_AGG_SUM_NUMERIC,
	WT_AGG_AVG_NUMERIC,
	WT_AGG_BOOL_AND,
	WT_AGG_BOOL_OR
} WtAggKind;

/* fdw_private */
enum WtAggPrivate
{
	WtAggScan,					/* the private list of the plain scan */
	WtAggRelid,					/* list of one OID */
	WtAggShape,					/* integer list: nargs, nquals, parts of the key that make a group, loose */
	WtAggColumns,				/* for each entry of fdw_scan_tlist the attribute number, 0: an aggregate */
	WtAggItems					/* list of OID lists, see WtAggItem */
};

/* One aggregate */
enum WtAggItem
{
	WtAggItemEntry,				/* in fdw_scan_tlist, from 0 */
	WtAggItemKind,
	WtAggItemColumn,			/* argument: attribute number, 0: an expression, or none */
	WtAggItemArgument,			/* its place in fdw_exprs; 0: none */
	WtAggItemFilter,			/* the same */
	WtAggItemType,				/* of the argument */
	WtAggItemCompare,			/* min, max: comparison function */
	WtAggItemCollation
};

/*
 * Rows of a group that was returned are not looked at any more: the engine goes
 * on behind them.  Asks the scan's own filter about the others.
 */
typedef struct WtLoose
{
	WtTable    *t;
	bool		reverse;
	bool		whole;			/* the group's prefix is the whole key */
	StringInfoData prefix;		/* of the group last returned, without salt; empty: none */
	StringInfoData seek;
	wide_row_filter inner;		/* may be NULL */
	void	   *inner_arg;
} WtLoose;

extern wide_row_verdict wt_loose_filter(void *arg, wide_bytes key, wide_bytes *seek);

/* The executor's callbacks for such plans; the state is node->fdw_state. */
typedef struct WtAggState WtAggState;

extern ForeignScan *wt_aggregate_plan(PlannerInfo *root, RelOptInfo *rel, ForeignPath *best_path, List *tlist);
extern void wt_aggregate_begin(ForeignScanState *node);
extern TupleTableSlot *wt_aggregate_next(ForeignScanState *node);
extern void wt_aggregate_again(ForeignScanState *node);
extern void wt_aggregate_end(ForeignScanState *node);
/* The scan below, and how many rows it gave and how many of them the clauses left out. */
extern WtScanState *wt_aggregate_scan(ForeignScanState *node, uint64 *rows, uint64 *removed);

static inline bool
wt_is_aggregate(const ForeignScanState *node)
{
	return ((ForeignScan *) node->ss.ps.plan)->scan.scanrelid == 0;
}

static inline int
wt_aggregate_shape(const ForeignScan *plan, int which)
{
	return list_nth_int((List *) list_nth(plan->fdw_private, WtAggShape), which);
}

#endif							/* WT_AGGREGATE_H */
