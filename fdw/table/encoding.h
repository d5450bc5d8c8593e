/*
 * encoding.h
 *		The encodings: their names, the types that may have them, their properties.
 */
#ifndef WT_ENCODING_H
#define WT_ENCODING_H

#include "fdw/table/types.h"

/* Returns the encoding of a column that does not state one; key: a key column. */
extern WtEncoding wt_encoding_default(Oid typid, bool key);

/*
 * Checks that the column's type may have the column's encoding.
 * Errors: FDW_INVALID_ATTRIBUTE_VALUE with the encodings that it may have;
 * FEATURE_NOT_SUPPORTED if the type cannot be part of a key.
 */
extern void wt_encoding_check(const WtColumn *c, bool key);

extern const char *wt_encoding_name(WtEncoding e);

/* Returns the encoding of that name, in any case of letters; -1 if there is none. */
extern int wt_encoding_by_name(const char *name);

/* Returns the bytes of each encoded value, 0 if values differ in length. */
extern int wt_encoding_length(Oid typid, WtEncoding e);

/* Returns the bytes of the binary and ordered forms; 0: they differ; -1: there is no such form. */
extern int wt_encoding_binary_width(Oid typid);

/* Returns true if the bytes tell where they end (ordered numeric, inet): in a key such a part
 * has no terminator. */
extern bool wt_encoding_is_self_delimiting(Oid typid, WtEncoding e);

/* Returns true if the order of the bytes is the type's btree order (of text: under "C"). */
extern bool wt_encoding_is_ordered(const WtColumn *c);

/* Returns true if equal values of a key column have equal bytes, and different values different
 * bytes. */
extern bool wt_encoding_is_injective(const WtColumn *c);

/* Returns true if a column shows exactly the value that was written: not 1 for 1.00.  False for
 * columns that are neither in the key nor have a cell. */
extern bool wt_encoding_is_exact(const WtColumn *c);

/* Returns true if the bytes are a digest, from which the value cannot be restored. */
static inline bool
wt_encoding_is_digest(WtEncoding e)
{
	return e == WT_ENC_MD5 || e == WT_ENC_SHA1;
}

/* Returns true for unsigned1 to unsigned8. */
static inline bool
wt_encoding_is_unsigned(WtEncoding e)
{
	return e >= WT_ENC_UNSIGNED1 && e <= WT_ENC_UNSIGNED8;
}

#endif /* WT_ENCODING_H */
