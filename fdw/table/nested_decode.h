/*
 * nested_decode.h
 *		Bytes -> arrays, composites, ranges and multiranges, in encoding "nested" or as text.
 */
#ifndef WT_NESTED_DECODE_H
#define WT_NESTED_DECODE_H

#include "fdw/table/types.h"

/*
 * Decodes bytes that may be anything, in the nested or the text form.  Calls no function of a user:
 * domains are read as their base types.
 * Requires: the column's type is nested (wt_type_shape_is_nested).
 * Returns: as wt_decode_soft.
 * Errors: those of input functions of base types (wt_type_io_input).
 */
extern const char *wt_nested_decode(const WtColumn *c, const uint8 *data, size_t len, Datum *value);

#endif /* WT_NESTED_DECODE_H */
