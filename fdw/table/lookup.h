/*
 * lookup.h
 *		Columns, families and cells of a table by name.
 */
#ifndef WT_LOOKUP_H
#define WT_LOOKUP_H

#include "engine/wide.h"
#include "fdw/table/types.h"

extern WtColumn *wt_lookup_column(WtTable *t, const char *name); /* SQL column name; NULL */
/* col as functions take it: 'family:qualifier' or the SQL column's name; errors when neither.
 * *column is NULL when no column maps the cell. */
extern void wt_lookup_cell(WtTable *t, const char *col, int *family, uint8 **qual, uint32 *qual_len,
						   WtColumn **column);
/* Does this map column show the qualifier?  Of several maps of a family the one with the longest
 * fitting prefix does. */
extern bool wt_lookup_map_shows(WtTable *t, const WtColumn *map, wide_bytes qualifier);
/* index of a family by name, -1 */
extern int wt_lookup_family(WtTable *t, const char *name);

/* The index of an SQL column by name, -1. */
extern int wt_lookup_column_index(WtTable *t, const char *name);

#endif /* WT_LOOKUP_H */
