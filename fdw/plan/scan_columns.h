/*
 * scan_columns.h
 *		The columns that a scan delivers, and the families that it reads for them.
 */
#ifndef WT_SCAN_COLUMNS_H
#define WT_SCAN_COLUMNS_H

#include "nodes/pathnodes.h"

#include "fdw/table/types.h"

/* Returns the attribute numbers of the table's columns that the expressions read of rel. */
extern Bitmapset *wt_scan_columns_read(WtTable *t, Index rel, List *exprs);

/*
 * Returns the attribute numbers that the target list and these clauses need.  Clauses that the
 * ranges answer are not passed, so columns that only they need are not read.
 */
extern Bitmapset *wt_scan_columns_wanted(RelOptInfo *rel, WtTable *t, List *clauses);

/* Returns the members of a set of attribute numbers as an integer list (WtPrivateColumns). */
extern List *wt_scan_columns_list(Bitmapset *columns);

/*
 * Returns the index of a family in which every row of the result has a cell: because a clause is
 * not true otherwise, or because a family that is read anyway has a NOT NULL column (which is
 * added to *wanted).  Returns -1 if there is none; then the other families must be asked whether
 * a row exists.
 * read: attribute numbers that are wanted or that the engine tests.
 */
extern int wt_scan_columns_strict(RelOptInfo *rel, WtTable *t, List *clauses, Bitmapset *read,
								  Bitmapset **wanted);

#endif /* WT_SCAN_COLUMNS_H */
