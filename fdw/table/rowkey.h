/*
 * rowkey.h
 *		Key columns <-> row key bytes.
 */
#ifndef WT_ROWKEY_H
#define WT_ROWKEY_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Row keys.  values/nulls are by key part (0 .. nkeys-1); nparts <= nkeys.
 * The result has the salt byte in front when the table is salted and all parts
 * are given; a prefix carries none.
 */
extern void wt_rowkey_encode(WtTable *t, const Datum *values, const bool *nulls, int nparts,
							 StringInfo out);

/* One part, as it stands in the key (escape, terminator, delimiter, desc inversion); last =
 * nothing follows it */
extern void wt_rowkey_encode_part(WtTable *t, int part, Datum value, StringInfo out);

/* From a slot's attributes (indexed by attno - 1); errors 23502 on NULL, 54000 beyond the length
 * limit, 22023 on an empty key */
extern void wt_rowkey_from_slot(WtTable *t, const Datum *values, const bool *isnull,
								StringInfo out);

/*
 * Decode into values/nulls by key part, only parts with need[part] (NULL: all).
 * false: does not decode and on_bad_key is skip; otherwise error 22P02 XX001
 * naming table and key in hex.  md5/sha1 parts come out NULL (the original is
 * in a cell).
 */
extern bool wt_rowkey_decode(WtTable *t, wide_bytes key, const bool *need, Datum *values,
							 bool *nulls);
/* Why a key does not decode, whatever on_bad_key says; NULL: it decodes. */
extern const char *wt_rowkey_decode_soft(WtTable *t, wide_bytes key, const bool *need,
										 Datum *values, bool *nulls);

/* The bytes that the first parts take in the key, salt included; 0: damaged. */
extern size_t wt_rowkey_prefix_length(WtTable *t, wide_bytes key, int parts);
/* The bytes that the part at p takes in a key; -1: damaged.  Allocates nothing. */
extern ssize_t wt_rowkey_part_length(const WtColumn *c, const uint8 *p, size_t n);

/* Smallest key greater than all with this prefix; false: there is none (all 0xFF) */
extern bool wt_rowkey_prefix_end(const uint8 *p, size_t n, StringInfo out);
/* hash bucket of an unsalted key */
extern int wt_rowkey_salt(const uint8 *key, size_t n, int buckets);

/* May the user read all key columns?  If not, messages leave the key out. */
extern bool wt_rowkey_is_visible(WtTable *t);

/* The bytes of a key, or of its beginning, for messages */
extern char *wt_rowkey_hex(wide_bytes key);
/*
 * The part at p: *value is its encoded form (in the key itself where possible,
 * else in plain).  Returns the bytes that it takes in the key; -1: damaged.
 */
extern ssize_t wt_rowkey_take_part(const WtColumn *c, const uint8 *p, size_t n, StringInfo plain,
								   wide_bytes *value);
/* True if the key has a digest of the value (md5, sha1). */
extern bool wt_rowkey_is_digest(const WtColumn *c);

#endif /* WT_ROWKEY_H */
