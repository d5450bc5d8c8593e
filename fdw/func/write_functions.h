/*
 * write_functions.h
 *		Changes of one row by functions; check_and_mutate uses them, too.
 */
#ifndef WT_WRITE_FUNCTIONS_H
#define WT_WRITE_FUNCTIONS_H

#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "utils/jsonb.h"

#include "engine/wide.h"
#include "fdw/func/call.h"
#include "fdw/func/cell_argument.h"

/* Raises 42804 if a column maps the cell and is not a counter. */
extern void wt_write_functions_check_counter(WtCall *c, const WtCallCell *cell);
/*
 * Adds deltas[i] to cells[i]; results[i] gets the new value.  Requires: the row lock.  A cell that
 * is named several times gets the sum.  22003 if a counter overflows.
 */
extern void wt_write_functions_increment(WtCall *c, WtCallCell *cells, const int64 *deltas,
										 int64 *results, int n);
/*
 * Parses {"f:n": 1, ...} into palloc'd arrays; returns their length.  mode: the
 * privileges to check for each cell.
 */
extern int wt_write_functions_parse_deltas(WtCall *c, JsonbContainer *object, AclMode mode,
										   WtCallCell **cells, int64 **deltas);
/* Appends bytes to the cell's value; the new value is in out.  Requires: the row lock. */
extern void wt_write_functions_append(WtCall *c, WtCallCell *cell, wide_bytes addition,
									  StringInfo out);

/*
 * Ends the change.  In an engine without row locks it is made if the cell still is as it was read.
 * Returns: false if another change of it came in between: the caller reads it again.
 */
extern bool wt_write_functions_end_change(WtCall *c, const WtCallCell *cell);

/* Errors: 0A000 in an engine without row locks, if values of the column (may be NULL) are checked:
 * it is changed alone, by the value that was read. */
extern void wt_write_functions_check_alone(const WtCall *c, const WtColumn *col);

#endif /* WT_WRITE_FUNCTIONS_H */
