/*
 * encoding.h
 *		Which encodings there are, and which type has which.
 */
#ifndef WT_ENCODING_H
#define WT_ENCODING_H

#include "fdw/table/types.h"

extern WtEncoding wt_encoding_default(Oid typid, bool key);
/* ereports (with the column's name and valid choices) when the type cannot have that encoding */
extern void wt_encoding_check(const WtColumn *c, bool key);
extern const char *wt_encoding_name(WtEncoding e);
extern int wt_encoding_by_name(const char *name); /* -1 */
/* bytes of a value in this encoding when constant, else 0 */
extern int wt_encoding_length(Oid typid, WtEncoding e);

/* Encodings whose bytes tell where they end (ordered numeric, inet), so that a key needs no
 * terminator. */
extern bool wt_encoding_is_self_delimiting(Oid typid, WtEncoding e);
/* true: byte order of this encoding is the type's btree order (text: under C) */
extern bool wt_encoding_is_ordered(const WtColumn *c);

/* Are equal values of a key column equal bytes, and different values different bytes? */
extern bool wt_encoding_is_injective(const WtColumn *c);

/* bytes of the binary and ordered forms; 0: no fixed width; -1: no such form */
extern int wt_encoding_binary_width(Oid typid);

#endif /* WT_ENCODING_H */
