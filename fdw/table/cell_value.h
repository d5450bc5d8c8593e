/*
 * cell_value.h
 *		The value of a cell <-> its bytes, with errors that name the row.
 */
#ifndef WT_CELL_VALUE_H
#define WT_CELL_VALUE_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Appends the bytes of a cell with this value.
 * Errors: as wt_encode.
 */
extern void wt_cell_value_encode(const WtColumn *c, Datum value, StringInfo out);

/* As wt_decode_soft, for values of any type.  Runs no function of a user. */
extern const char *wt_cell_value_decode_soft(const WtColumn *c, const uint8 *data, size_t len,
											 Datum *value);

/*
 * Decodes a cell's bytes.
 * Requires: t and key are those of the row, or t is NULL for bytes that are not of a stored cell.
 * Returns: the value, palloc'd in CurrentMemoryContext if it is by reference.
 * Errors: DATA_CORRUPTED, naming the column, the reason, the table and, if the user may see it,
 * the key.
 */
extern Datum wt_cell_value_decode(const WtColumn *c, WtTable *t, wide_bytes key, const uint8 *data,
								  size_t len);

#endif /* WT_CELL_VALUE_H */
