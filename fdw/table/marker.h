/*
 * marker.h
 *		The marker: the cell of rows that have no other.
 *
 * A row exists by its cells.  A row whose columns are all NULL would have none, so INSERT, COPY
 * and UPDATE of layout 'rows' give it one: first family, empty qualifier, empty value.
 * Invariants:
 *
 *	- A statement in layout 'rows' that leaves a row, other than DELETE, leaves it with a cell.
 *	- A row to which INSERT or COPY writes another cell gets no marker, and neither does one that
 *	  keeps another cell in an UPDATE.
 *	- No column, map or get() shows the marker; cells() and layout 'cells' do.
 *
 * The marker is a cell as any other: it expires with its family, DELETE removes it, a new key
 * takes it along, and the functions of schema widetable neither write nor spare it.  A row that
 * has a marker and then gets a value keeps the marker.  INSERT of NULLs reads nothing, so a row
 * that exists gets a marker that it does not need.
 */
#ifndef WT_MARKER_H
#define WT_MARKER_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/* Of a new definition: finds out whether the table has markers.  Requires: its columns have
 * families. */
extern void wt_marker_resolve(WtTable *t);

/* Returns true if a map column of the table has the place of the marker among its qualifiers. */
extern bool wt_marker_in_map(const WtTable *t);

/* Returns the column of a foreign table that shows the markers of another one on the same stored
 * table, NULL if there is none. */
extern const WtColumn *wt_marker_shown_by(const WtTable *marking, const WtTable *showing);

/* Returns true if a cell is in the place of the marker.  family: index into t->families, -1. */
static inline bool
wt_marker_place(const WtTable *t, int family, wide_bytes qualifier)
{
	return qualifier.len == 0 && family == 0 && t->marker;
}

/* Returns true if the cell is a marker. */
static inline bool
wt_marker_is(const WtTable *t, int family, wide_bytes qualifier, wide_bytes value)
{
	return value.len == 0 && wt_marker_place(t, family, qualifier);
}

#endif /* WT_MARKER_H */
