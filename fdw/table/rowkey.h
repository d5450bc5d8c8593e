/*
 * rowkey.h
 *		Key columns <-> row key bytes; rowkey.c describes the bytes.
 *
 * Arrays of values, nulls and need are by key part, 0 to nkeys - 1, unless said otherwise.
 */
#ifndef WT_ROWKEY_H
#define WT_ROWKEY_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Appends a key of the first nparts parts.  With all parts it is a whole key: it has the salt
 * byte in front if the table is salted, and its length is checked.  A prefix has no salt byte.
 * Requires: nparts <= nkeys; the values are not null.
 * Errors: those of wt_rowkey_encode_part; for a whole key
 * INVALID_PARAMETER_VALUE if it is empty, PROGRAM_LIMIT_EXCEEDED above WIDE_MAX_ROW bytes.
 */
extern void wt_rowkey_encode(WtTable *t, const Datum *values, int nparts, StringInfo out);

/*
 * Appends one part as it is in the key: escaped, terminated or delimited, inverted if descending.
 * Errors: INVALID_PARAMETER_VALUE if the value contains the delimiter; those of wt_encode.
 */
extern void wt_rowkey_encode_part(WtTable *t, int part, Datum value, StringInfo out);

/* Returns the byte in front of values of a nullable part. */
extern wide_bytes wt_rowkey_value_mark(const WtColumn *c);

/* Appends a whole key of a slot's attributes, which are by attno - 1.  Errors: NOT_NULL_VIOLATION;
 * those of wt_rowkey_encode. */
extern void wt_rowkey_from_slot(WtTable *t, const Datum *values, const bool *isnull,
								StringInfo out);

/*
 * Decodes a whole key.  Parts without need[part] are skipped (need NULL: all are wanted); they,
 * and parts of which the key has a digest only, become NULL.
 * Returns: false if the key does not decode and option on_bad_key is "skip".
 * Errors: DATA_CORRUPTED if the key does not decode and on_bad_key is "error"; it names the table
 * and, if the user may see it, the key in hexadecimal.
 */
extern bool wt_rowkey_decode(WtTable *t, wide_bytes key, const bool *need, Datum *values,
							 bool *nulls);

/* The same whatever on_bad_key is.  Returns NULL, or the reason why the key does not decode. */
extern const char *wt_rowkey_decode_soft(WtTable *t, wide_bytes key, const bool *need,
										 Datum *values, bool *nulls);

/*
 * Finds the part at p, of which the key has n more bytes.
 * Returns: the bytes that it takes in the key, terminator included; -1 if they are damaged.
 * *value: its encoded form, in the key itself where possible, else in plain, which has room for n
 * bytes.  plain NULL: *value is not wanted, and undefined.
 */
extern ssize_t wt_rowkey_take_part(const WtColumn *c, const uint8 *p, size_t n, uint8 *plain,
								   wide_bytes *value);

/* Returns true if the part at p is nullable and has no value. */
extern bool wt_rowkey_is_null_part(const WtColumn *c, const uint8 *p, size_t n);

/* Returns the same without the value.  Allocates nothing and raises no error. */
extern ssize_t wt_rowkey_part_length(const WtColumn *c, const uint8 *p, size_t n);

/* Returns the bytes of the salt and the first parts of a key; 0 if they are damaged. */
extern size_t wt_rowkey_prefix_length(WtTable *t, wide_bytes key, int parts);

/* Appends the smallest key above all that begin with the n bytes at p.  Returns false if there is
 * none, because all are 0xFF. */
extern bool wt_rowkey_prefix_end(const uint8 *p, size_t n, StringInfo out);

/* Returns the bucket of a key without salt. */
extern int wt_rowkey_salt(const uint8 *key, size_t n, int buckets);

/* Returns true if the user may read all key columns.  If not, messages leave the key out. */
extern bool wt_rowkey_is_visible(WtTable *t);

/* Returns at most 64 bytes of a key in hexadecimal, for messages; palloc'd. */
extern char *wt_rowkey_hex(wide_bytes key);

#endif /* WT_ROWKEY_H */
