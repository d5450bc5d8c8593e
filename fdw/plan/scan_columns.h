/*
 * scan_columns.h
 *		The columns that a scan delivers, and the families that it reads for them.
 */
#ifndef WT_SCAN_COLUMNS_H
#define WT_SCAN_COLUMNS_H

#include "nodes/pathnodes.h"

#include "fdw/table/types.h"

/*
 * Attributes that the scan must deliver, without those that only clauses need
 * which the ranges answer.
 */
extern Bitmapset *wt_scan_columns_wanted(RelOptInfo *rel, WtTable *t, List *clauses);
/*
 * A family in which every row of the result has a cell: because a clause is
 * not true otherwise, or because a NOT NULL column of a family that is read
 * anyway says so (it is added to the wanted ones then).  -1: none, so that
 * existence has to be asked of the other families.  read: attributes that are
 * wanted, or tested by the engine.
 */
extern int wt_scan_columns_strict(RelOptInfo *rel, WtTable *t, List *clauses, Bitmapset *read,
								  Bitmapset **wanted);

#endif /* WT_SCAN_COLUMNS_H */
