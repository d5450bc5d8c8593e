/*
 * scan_size.h
 *		Sizes and costs of scans.
 */
#ifndef WT_SCAN_SIZE_H
#define WT_SCAN_SIZE_H

#include "nodes/pathnodes.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/table/types.h"

/* The estimated size of one scan. */
typedef struct WtScanSize
{
	double rows;	  /* returned */
	double scanned;	  /* rows in the key ranges that the key filter leaves */
	double delivered; /* rows that the engine's predicates leave of these */
	double blocks;	  /* read */
	double ranges;
	double near;   /* 0 .. 1: how near lookups are to the ones before */
	double passed; /* rows in the ranges if there is a key filter; else 0 */
	double jumps;  /* that the key filter makes instead of passing over rows */
} WtScanSize;

/* What the planner knows about a table: RelOptInfo.fdw_private. */
typedef struct WtRelInfo
{
	WtTable *t;
	WtEngineTable e;
	bool exists; /* the engine has the table */

	/* the table */
	double tuples;
	double per_row; /* tuples for each row of the engine; more than 1 in the layout 'cells' only */
	double blocks;	/* in files */
	double cells;	/* of one tuple, in all families */

	/* a scan with the restriction clauses only */
	List *conds;		  /* WtCond */
	WtScanSize size;	  /* computed once: lists may have millions of values */
	List *filters;		  /* WtCellClause: what the engine tests */
	QualCost filter_cost; /* of exact filters, in PostgreSQL */
	int filter_families;  /* families read for filters */
	double recent;		  /* share of the files that filters on time do not leave out */
	int families;		  /* families that a scan opens */
	double wanted;		  /* cells of a tuple that are wanted, about */

	List *indexes; /* WtIndexUse: indexes that can find the rows */
} WtRelInfo;

/*
 * Costs in units of cpu_operator_cost: WT_ROW_COST of a row in each family that a scan reads,
 * WT_CELL_COST of a cell that is wanted, WT_OTHER_COST of another cell of these families,
 * WT_SEEK_COST of the search at the beginning of a range.  WT_NEAR_SEEK is the share of the latter
 * that is left for lookups in the order of the key, which find their block under the cursor.
 * Measured against scans and index scans of ordinary tables in memory: of rows of one to eight
 * families that are taken from blocks as they are a scan of all takes 60 to 210 ns.
 */
#define WT_ROW_COST	  4
#define WT_CELL_COST  3
#define WT_OTHER_COST 0.5
#define WT_SEEK_COST  40
#define WT_NEAR_SEEK  0.35

/* How many times more a row costs an engine that is elsewhere when it reads backward. */
#define WT_REMOTE_BACKWARD 10

/*
 * Costs of an engine that is elsewhere, likewise: of a call, of a row that it reads in a range, of
 * a key that it looks up, and of a row that it sends.  Measured as times against those of an
 * ordinary table: 150, 2, 14 and 2 microseconds.
 */
#define WT_REMOTE_CALL	12000
#define WT_REMOTE_ROW	160
#define WT_REMOTE_KEY	1100
#define WT_REMOTE_SENT	160
#define WT_REMOTE_BATCH 1000 /* rows of a call */

/* What the engine estimates of a table, from metadata. */
typedef struct WtTableSize
{
	double rows;   /* of the engine */
	double tuples; /* the same; layout 'cells': cells */
	double cells;
	double blocks;
	double bytes;			/* stored (compressed) */
	wide_family_id largest; /* the family with the most tuples; 0: there is none */
} WtTableSize;

extern void wt_scan_size_table(WtTable *t, WtEngineTable *e, WtTableSize *out);

/* Returns the engine's estimate of a range of a family; NULL: of the whole family. */
extern wide_estimate wt_scan_size_range(wide_family_id family, const wide_range *range);

/*
 * Returns what the planner knows of a scan of t with these clauses (RestrictInfos): of the table
 * itself, or of an index in its place.  *width: bytes of a tuple.
 */
extern WtRelInfo *wt_scan_size_info(PlannerInfo *root, RelOptInfo *baserel, WtTable *t,
									List *rinfos, int *width);

/* Returns the most keys that the conditions allow if they bind all parts to values; else -1. */
extern double wt_scan_size_keys(WtTable *t, List *conds);

/*
 * Returns at most parts - 1 keys that cut a family into about equal parts, in order, palloc'd; *n
 * is their number.  rough: see wide_split_keys; other engines return the bounds of the parts that
 * they have, however many, and none without it.
 */
extern wide_bytes *wt_scan_size_split_keys(wide_family_id family, int parts, bool rough, int *n);

/* Returns the clauses (RestrictInfos) of those filters that PostgreSQL does not test again. */
extern List *wt_scan_size_exact_filters(List *filters);

/*
 * Sets *size to the size of a scan with these clauses (RestrictInfos); conds are their conditions
 * on the key.
 */
extern void wt_scan_size_estimate(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, List *conds,
								  List *clauses, WtScanSize *size);

/*
 * Sets *startup and *total to the costs of a scan; qual is the cost of all its clauses.  A range
 * begins with a search in each family, which is cheap if everything is in memory, and otherwise
 * like a btree's descent, first block included; then more blocks and rows follow.
 * again: a join restarts the scan for each row of its other side.  Lookups in the order of the key
 * save much of the search then.
 */
extern void wt_scan_size_cost(RelOptInfo *rel, WtRelInfo *info, const WtScanSize *size,
							  const QualCost *qual, bool again, Cost *startup, Cost *total);

/* Sets the costs of one of so many lookups of a key that share calls of another engine. */
extern void wt_scan_size_lookup_cost(double lookups, Cost *startup, Cost *total);

#endif /* WT_SCAN_SIZE_H */
