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

/* Returns true if the order of this operator family is the order of the part's bytes. */
extern bool wt_scan_path_part_sorts(WtTable *t, int part, Oid opfamily, Oid collation);

/* Size and costs of a plain scan of one table, for aggregate_plan.c. */
typedef struct WtScanPlan
{
	WtTable *t;
	List *conds;	  /* WtCond, of the restriction clauses */
	double rows;	  /* returned */
	double scanned;	  /* in the key ranges */
	double delivered; /* returned by the engine */
	Cost startup;
	Cost total;
	Cost merge;	   /* to be added if rows must come in key order */
	Cost seek;	   /* of one search in the middle of the scan */
	int npathkeys; /* how many of the query's a scan in this direction satisfies */
	bool reverse;  /* this direction */
} WtScanPlan;

/* Returns false if the scan locks its rows, so that an aggregate cannot replace it. */
extern bool wt_scan_path_plain(PlannerInfo *root, RelOptInfo *rel, WtScanPlan *out);

/* The FdwRoutine's GetForeignPaths. */
extern void wt_scan_path_get_paths(PlannerInfo *root, RelOptInfo *baserel, Oid relid);

/* The FdwRoutine's IsForeignScanParallelSafe. */
extern bool wt_scan_path_is_parallel_safe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/*
 * Returns whether and how a scan of the relation locks its rows: if the statement changes them or
 * has FOR UPDATE or the like.
 */
extern WtLock wt_scan_path_lock_mode(PlannerInfo *root, RelOptInfo *rel);

#endif /* WT_SCAN_PATH_H */
