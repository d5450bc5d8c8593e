/*
 * part.h
 *		Parts of the key, and what the layout 'cells' counts on behind them.
 */
#ifndef WT_PART_H
#define WT_PART_H

#include "fdw/table/types.h"

/*
 * Parts of the key are 0 .. nkeys - 1.  In the layout 'cells' the family, the
 * qualifier, the version, its timestamp and its number in the row are counted on
 * behind them.
 */
#define WT_PART_FAMILY(t)	 ((t)->nkeys)
#define WT_PART_QUALIFIER(t) ((t)->nkeys + 1)
#define WT_PART_VERSION(t)	 ((t)->nkeys + 2)
#define WT_PART_TS(t)		 ((t)->nkeys + 3)
#define WT_PART_NO(t)		 ((t)->nkeys + 4)

/* The column that shows a part, NULL when the table has none. */
extern WtColumn *wt_part_column(WtTable *t, int part);

/* true: larger values have smaller bytes */
extern bool wt_part_is_descending(WtTable *t, int part);

extern bool wt_part_is_ordered(WtTable *t, int part);

#endif /* WT_PART_H */
