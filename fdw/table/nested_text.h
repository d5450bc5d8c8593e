/*
 * nested_text.h
 *		The text form of arrays, composites, ranges and multiranges -> values.
 */
#ifndef WT_NESTED_TEXT_H
#define WT_NESTED_TEXT_H

#include "fdw/table/types.h"

/*
 * Reads what the type's output function writes, and what its input function understands of it, but
 * calls no function of a user: domains are read as their base types.
 * Requires: the column's type is nested (wt_type_shape_is_nested); the text is valid in the
 * database's encoding.
 * Returns: as wt_decode_soft.
 * Errors: those of input functions of base types (wt_type_io_input).
 */
extern const char *wt_nested_text_decode(const WtColumn *c, const char *text, size_t len,
										 Datum *value);

#endif /* WT_NESTED_TEXT_H */
