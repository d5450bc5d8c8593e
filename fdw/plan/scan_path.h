/*
 * scan_path.h
 *		Paths of scans.
 */
#ifndef WT_SCAN_PATH_H
#define WT_SCAN_PATH_H

#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"

#include "fdw/table/types.h"

/* Returns true if the order of this operator family is the order of the part's bytes. */
extern bool wt_scan_path_part_sorts(WtTable *t, int part, Oid opfamily, Oid collation);

/*
 * Returns how many of the query's pathkeys a scan in key order satisfies, and sets *reverse to its
 * direction if there are any.  conds: WtCond.
 */
extern int wt_scan_path_pathkeys(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *conds,
								 bool *reverse);

/* The FdwRoutine's GetForeignRelSize: makes the WtRelInfo. */
extern void wt_scan_path_get_rel_size(PlannerInfo *root, RelOptInfo *baserel, Oid relid);

/* The FdwRoutine's GetForeignPaths. */
extern void wt_scan_path_get_paths(PlannerInfo *root, RelOptInfo *baserel, Oid relid);

/* The FdwRoutine's IsForeignScanParallelSafe. */
extern bool wt_scan_path_is_parallel_safe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

#endif /* WT_SCAN_PATH_H */
