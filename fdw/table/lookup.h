/*
 * lookup.h
 *		Columns, families and cells of a table by name.
 */
#ifndef WT_LOOKUP_H
#define WT_LOOKUP_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/* Returns the index of an SQL column, -1 if there is none of that name. */
extern int wt_lookup_column_index(WtTable *t, const char *name);

/* Returns: the column of an index that has this column of the indexed table; NULL: there is none.
 */
extern const WtColumn *wt_lookup_column_of(const WtTable *t, const char *source);

/* Returns the index of a family, -1 if there is none of that name. */
extern int wt_lookup_family(WtTable *t, const char *name);

/*
 * Finds the cell that an argument of a function names: 'family:qualifier', or the name of an SQL
 * column.
 * Returns: the column that shows the cell, NULL if there is none.
 * Errors: UNDEFINED_COLUMN; WRONG_OBJECT_TYPE if the column does not show a single cell.
 */
extern WtColumn *wt_lookup_cell(WtTable *t, const char *col, int *family, uint8 **qual,
								uint32 *qual_len);

/* Returns true if the map column shows the qualifier.  Of the maps of a family the one with the
 * longest matching prefix does. */
extern bool wt_lookup_map_shows(WtTable *t, const WtColumn *map, wide_bytes qualifier);

#endif /* WT_LOOKUP_H */
