/*
 * write_functions.h
 *		Changes of one row, for check_and_mutate.
 */
#ifndef WT_WRITE_FUNCTIONS_H
#define WT_WRITE_FUNCTIONS_H

#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "utils/jsonb.h"

#include "engine/wide.h"
#include "fdw/func/call.h"
#include "fdw/func/cell_argument.h"

extern void wt_write_functions_check_counter(WtCall *c, const WtCallCell *cell);
/* Add deltas[i] to cells[i], under the row lock; a cell that is named twice gets the sum. */
extern void wt_write_functions_increment(WtCall *c, WtCallCell *cells, const int64 *deltas,
										 int64 *results, int n);
/* The cells and deltas of {"f:n": 1, ...}; the number of them. */
extern int wt_write_functions_parse_deltas(WtCall *c, JsonbContainer *object, AclMode mode,
										   WtCallCell **cells, int64 **deltas);
/* The new value, in out. */
extern void wt_write_functions_append(WtCall *c, WtCallCell *cell, wide_bytes addition,
									  StringInfo out);
/*
 * The cells of {"f:q": value, ...}; JSON null deletes the column, as in map
 * columns.  above: stamp above the newest versions (the row is locked).
 *
 * Puts are blind, deletes are not: all of them lock the row, here too.  Somebody
 * who reads the newest state under that lock sees a delete that is not published
 * yet by nothing at all; only the lock tells him (wt_row_lock_newest_batch).
 */
extern void wt_write_functions_put_json(WtCall *c, JsonbContainer *object, bool above);

#endif /* WT_WRITE_FUNCTIONS_H */
