/*
 * part.h
 *		Numbers of key parts, and of the columns behind the key in layout 'cells'.
 */
#ifndef WT_PART_H
#define WT_PART_H

#include "fdw/table/types.h"

/*
 * Parts of the key are 0 to nkeys - 1.  In layout 'cells' the numbers behind them stand for
 * the family, the qualifier, the version, its timestamp, and its number in the row, in the
 * order in which a scan returns cells.
 */
#define WT_PART_FAMILY(t)	 ((t)->nkeys)
#define WT_PART_QUALIFIER(t) ((t)->nkeys + 1)
#define WT_PART_VERSION(t)	 ((t)->nkeys + 2)
#define WT_PART_TS(t)		 ((t)->nkeys + 3)
#define WT_PART_NO(t)		 ((t)->nkeys + 4)

/* Returns the column that shows a part, NULL if the table has none. */
extern WtColumn *wt_part_column(WtTable *t, int part);

/* Returns the part that a column shows, -1 if it shows none. */
extern int wt_part_of_column(WtTable *t, const WtColumn *c);

/* Returns true if larger values come first. */
extern bool wt_part_is_descending(WtTable *t, int part);

/* Returns true if the order of the bytes is that of the values, or its opposite.
 * Requires: the table has a column for the part. */
extern bool wt_part_is_ordered(WtTable *t, int part);

#endif /* WT_PART_H */
