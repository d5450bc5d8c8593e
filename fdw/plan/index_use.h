/*
 * index_use.h
 *		Indexes in plans: which ones can find the rows of a query.
 *
 * An index is used as if it were the table with another key: conditions, orders and sizes are found
 * by the same code with its projection (fdw/derived/index.h) in the table's place.  If it has all
 * columns that the query needs, that is all.  Else its entries say which rows of the table are
 * read.
 */
#ifndef WT_INDEX_USE_H
#define WT_INDEX_USE_H

#include "nodes/pathnodes.h"

#include "fdw/derived/index.h"
#include "fdw/plan/scan_size.h"

/* An index that can find the rows of a base relation. */
typedef struct WtIndexUse
{
	WtIndex *x;
	WtRelInfo *info; /* of a scan of the index with the relation's clauses */
	bool alone;		 /* the relation's own clauses are enough: no row without entry meets them */
	bool only;		 /* it has all columns that are needed */
	Const *entry;	 /* of an index on a map: the name of the entry that the clauses are about */
} WtIndexUse;

/* Finds the indexes that can find the rows of the relation: sets WtRelInfo.indexes, and lowers the
 * estimates by what they say. */
extern void wt_index_use_find(PlannerInfo *root, RelOptInfo *rel);

/*
 * Returns the clauses (RestrictInfos) in the form that conditions on the index are found in: those
 * on the map's entry are made clauses on the columns behind the table's.
 */
extern List *wt_index_use_clauses(PlannerInfo *root, RelOptInfo *rel, const WtIndexUse *use,
								  List *rinfos);

/*
 * Sets *conds to the conditions on the index's key (WtCond) that these clauses, in that form, are.
 * Returns false if rows that have no entry may meet the clauses.
 */
extern bool wt_index_use_conditions(PlannerInfo *root, RelOptInfo *rel, const WtIndexUse *use,
									List *rinfos, List **conds);

/* Sets the costs of a scan by the index, of this size and with the cost of these clauses.  ordered:
 * rows come in the order of the index. */
extern void wt_index_use_cost(RelOptInfo *rel, const WtIndexUse *use, const WtScanSize *size,
							  const QualCost *qual, bool ordered, bool again, Cost *startup,
							  Cost *total);

#endif /* WT_INDEX_USE_H */
