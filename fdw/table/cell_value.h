/*
 * cell_value.h
 *		The value of a stored cell.
 */
#ifndef WT_CELL_VALUE_H
#define WT_CELL_VALUE_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Decode; the Datum points into palloc'd memory of CurrentMemoryContext.
 * Errors: ERRCODE_DATA_CORRUPTED naming the column and the width found, and
 * for a stored cell (t not NULL) the table and, if the user may see it, the key.
 */
extern Datum wt_cell_value_decode(const WtColumn *c, WtTable *t, wide_bytes key, const uint8 *data,
								  size_t len);

#endif /* WT_CELL_VALUE_H */
