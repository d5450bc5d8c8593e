/*
 * encode.h
 *		One column's value -> bytes.
 */
#ifndef WT_ENCODE_H
#define WT_ENCODE_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/* Append the encoded value. Errors name the column. */
extern void wt_encode(const WtColumn *c, Datum value, StringInfo out);
/* the text itself of a value of md5 or sha1, where "name" is no varlena; not copied if it need
 * not be */
extern wide_bytes wt_encode_original_bytes(const WtColumn *c, Datum value);

/* The 4- and 8-byte types as unsigned integers; ordered: such that they sort. */
extern uint64 wt_encode_fixed_bits(const WtColumn *c, Datum value, bool ordered);
/* Clears all bits of an address (width bytes) but the first ones. */
extern void wt_encode_mask_address(uint8 *addr, int width, int bits);

#endif /* WT_ENCODE_H */
