/*
 * encode.h
 *		A column's value -> bytes; encoding.c describes the bytes.
 */
#ifndef WT_ENCODE_H
#define WT_ENCODE_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Appends the encoded value.
 * Requires: the column's type may have its encoding (wt_encoding_check), which is not "nested".
 * Errors: NUMERIC_VALUE_OUT_OF_RANGE, DATETIME_VALUE_OUT_OF_RANGE; they name the column.
 */
extern void wt_encode(const WtColumn *c, Datum value, StringInfo out);

/*
 * Returns the text of which a key part with encoding md5 or sha1 has the digest.
 * It points into the value, or into palloc'd memory if the value was toasted.
 */
extern wide_bytes wt_encode_original_bytes(const WtColumn *c, Datum value);

/*
 * Returns a value of a type of 1 to 8 bytes as an unsigned integer of that width; ordered: such
 * that these integers sort as the values do.
 */
extern uint64 wt_encode_fixed_bits(const WtColumn *c, Datum value, bool ordered);

/* Clears all but the first bits of a network address that has width bytes. */
extern void wt_encode_mask_address(uint8 *addr, int width, int bits);

#endif /* WT_ENCODE_H */
