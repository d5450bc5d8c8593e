/*
 * key_argument.h
 *		Row keys from the arguments of SQL functions.
 */
#ifndef WT_KEY_ARGUMENT_H
#define WT_KEY_ARGUMENT_H

#include "lib/stringinfo.h"

#include "fdw/table/types.h"

/*
 * Appends the row key that an argument stands for: a record has the parts of the key, any other
 * value is the only part.  Values are converted as INSERT does, unless that loses something.
 * full: all parts are required, else a prefix of them will do.  parts: NULL, or room for nkeys
 * values; gets the values of the key columns.
 * Errors: SYNTAX_ERROR for a wrong number of parts, NULL_VALUE_NOT_ALLOWED, DATATYPE_MISMATCH;
 * those of wt_rowkey_encode.
 */
extern void wt_key_argument_encode(WtTable *t, Datum arg, Oid argtype, bool full, Datum *parts,
								   StringInfo out);

/* The same for parts that are an argument each. */
extern void wt_key_argument_encode_parts(WtTable *t, int nargs, const Datum *args, const Oid *types,
										 const bool *nulls, bool full, Datum *parts,
										 StringInfo out);

/* Returns a part as a value of the key column: only name, typid and typmod of c are used.
 * Errors: DATATYPE_MISMATCH; those of conversions. */
extern Datum wt_key_argument_convert(const WtColumn *c, Datum arg, Oid argtype);

/* Takes an argument apart: the columns of a record, or the value itself; the arrays are palloc'd.
 * Returns: their number. */
extern int wt_key_argument_split(Datum arg, Oid argtype, Datum **values, Oid **types, bool **nulls);

#endif /* WT_KEY_ARGUMENT_H */
