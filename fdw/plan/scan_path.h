/*
 * scan_path.h
 *		Paths of scans.
 */
#ifndef WT_SCAN_PATH_H
#define WT_SCAN_PATH_H

#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"

#include "fdw/plan/plan_private.h"
#include "fdw/table/types.h"

/* is the order of this operator family the order of the part's bytes? */
extern bool wt_scan_path_part_sorts(WtTable *t, int part, Oid opfamily, Oid collation);

/* A plain scan of one table, for plans that are made of it (aggregate_plan.c) */
typedef struct WtScanPlan
{
	WtTable *t;
	List *conds;	  /* WtCond, of the restriction clauses */
	double rows;	  /* returned */
	double scanned;	  /* in the key ranges */
	double delivered; /* of them, by the engine */
	Cost startup;
	Cost total;
	Cost merge;	   /* to be added when the rows must come in key order */
	Cost seek;	   /* of one search in the middle of the scan */
	int npathkeys; /* of the query's, that a scan in this direction satisfies */
	bool reverse;
} WtScanPlan;

/* false: the scan locks its rows, and must be left as it is */
extern bool wt_scan_path_plain(PlannerInfo *root, RelOptInfo *rel, WtScanPlan *out);

extern void wt_scan_path_get_paths(PlannerInfo *root, RelOptInfo *baserel, Oid relid);

extern bool wt_scan_path_is_parallel_safe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/*
 * Rows are locked by the scan when they are to be changed, or asked for with
 * FOR UPDATE and its relatives.
 */
extern WtLock wt_scan_path_lock_mode(PlannerInfo *root, RelOptInfo *rel);

#endif /* WT_SCAN_PATH_H */
