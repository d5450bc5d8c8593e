/*
 * scan_size.h
 *		Sizes and costs of scans.
 */
#ifndef WT_SCAN_SIZE_H
#define WT_SCAN_SIZE_H

#include "nodes/pathnodes.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/table/types.h"

/* The size of one scan */
typedef struct WtScanSize
{
	double rows;	  /* returned */
	double scanned;	  /* in the key ranges */
	double delivered; /* of them, those that the engine does not leave out */
	double blocks;
	double ranges;
	double near;   /* 0 .. 1: how much a lookup is near the one before */
	double passed; /* rows in the ranges, when there is a key filter; else 0 */
	double jumps;  /* that it makes instead of passing over them */
} WtScanSize;

/* What planning knows about one table; baserel->fdw_private. */
typedef struct WtRelInfo
{
	WtTable *t;
	WtEngineTable e;
	bool exists; /* in the engine */
	double tuples;
	double per_row; /* of them for each row of the engine: more than one in the layout 'cells' */
	double blocks;
	List *conds;		  /* of the restriction clauses alone */
	WtScanSize size;	  /* with these: a list of millions is counted once */
	List *filters;		  /* of them, those that the engine tests */
	QualCost filter_cost; /* of these clauses in PostgreSQL */
	int filter_families;  /* that are read for them */
	double recent;		  /* the share of the files that they do not leave out by time */
	double cells;		  /* of one row, in all families */
	int families;		  /* that a scan opens */
} WtRelInfo;

/*
 * Costs in units of cpu_operator_cost: of a cell that a scan passes over, of the
 * search that begins a range; and the share of the latter that is left for
 * lookups in the order of the key, which find their block under the cursor.
 * Measured against scans and index scans of ordinary tables in memory.
 */
#define WT_CELL_COST 4
#define WT_SEEK_COST 40
#define WT_NEAR_SEEK 0.35

extern void wt_scan_size_get_rel_size(PlannerInfo *root, RelOptInfo *baserel, Oid relid);

/* How many keys at most, when all parts are bound; else -1. */
extern double wt_scan_size_keys(WtTable *t, List *conds);
/* The clauses (RestrictInfos) of those filters that PostgreSQL does not test again. */
extern List *wt_scan_size_exact_filters(List *filters);
/*
 * The size of a scan with these conditions, chosen from clauses.
 */
extern void wt_scan_size_estimate(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, List *conds,
								  List *clauses, WtScanSize *size);
/*
 * A range begins with a search in each family, which is cheap while all is in
 * memory and like a btree's descent, first block included, otherwise; then more
 * blocks and rows follow.  The start is paid once also by a scan that a join
 * restarts for each row of its other side (again), where much of it is saved
 * when the lookups come in the order of the key.
 */
extern void wt_scan_size_cost(RelOptInfo *rel, WtRelInfo *info, const WtScanSize *size,
							  const QualCost *qual, bool again, Cost *startup, Cost *total);

#endif /* WT_SCAN_SIZE_H */
