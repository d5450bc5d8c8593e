/*
 * key_argument.h
 *		Row keys as functions get them.
 */
#ifndef WT_KEY_ARGUMENT_H
#define WT_KEY_ARGUMENT_H

#include "lib/stringinfo.h"

#include "fdw/table/types.h"

/* For functions: a key given as text, bytea, any type (one part) or a record (parts); full: all
 * parts needed. parts: gets the values of the key columns, NULL or room for all.  Returns the
 * number of parts. */
extern int wt_key_argument_encode(WtTable *t, Datum arg, Oid argtype, bool full, Datum *parts,
								  StringInfo out);
/* The same for key parts given one by one (encode_key). */
extern int wt_key_argument_encode_parts(WtTable *t, int nargs, const Datum *args, const Oid *types,
										const bool *nulls, bool full, Datum *parts, StringInfo out);

#endif /* WT_KEY_ARGUMENT_H */
