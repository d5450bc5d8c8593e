/*
 * distinct.h
 *		Counts of distinct values: encoding "hll", for families with the merge operator "hll".
 *
 * The bytes are registers of a HyperLogLog; engine/read/fold.h has their form.
 */
#ifndef WT_DISTINCT_H
#define WT_DISTINCT_H

#include "lib/stringinfo.h"

/* Appends the operand that counts a value of these bytes. */
extern void wt_distinct_encode(const void *value, int len, StringInfo out);

/* Sets *count to the estimated number of distinct values.  Returns: NULL, or why the bytes are no
 * registers. */
extern const char *wt_distinct_decode(const uint8 *data, size_t len, int64 *count);

#endif /* WT_DISTINCT_H */
