/*
 * nested_encode.h
 *		Arrays, composites, ranges and multiranges -> bytes: encoding "nested".
 */
#ifndef WT_NESTED_ENCODE_H
#define WT_NESTED_ENCODE_H

#include "lib/stringinfo.h"

#include "fdw/table/types.h"

/*
 * Appends a value of the column's type.
 * Requires: the type is nested (wt_type_shape_is_nested).
 */
extern void wt_nested_encode(const WtColumn *c, Datum value, StringInfo out);

#endif /* WT_NESTED_ENCODE_H */
