/*
 * type_kind.h
 *		Kinds of SQL types, and integers of any width.
 */
#ifndef WT_TYPE_KIND_H
#define WT_TYPE_KIND_H

#include "catalog/pg_type.h"

static inline bool
wt_is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/* Also "name", which is not a varlena but has a collation. */
static inline bool
wt_is_string(Oid type)
{
	return wt_is_text(type) || type == NAMEOID;
}

/* Types whose binary form is the value's bytes as they are. */
static inline bool
wt_is_bytes(Oid type)
{
	return wt_is_string(type) || type == BYTEAOID;
}

static inline bool
wt_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Returns a value of type int2, int4, date, or another one that is passed as an int8. */
static inline int64
wt_integer_value(Oid type, Datum value)
{
	return type == INT2OID						? DatumGetInt16(value)
		   : type == INT4OID || type == DATEOID ? DatumGetInt32(value)
												: DatumGetInt64(value);
}

/* Returns v as a value of type int2, int4, date, or another one that is passed as an int8. */
static inline Datum
wt_integer_datum(Oid type, int64 v)
{
	return type == INT2OID						? Int16GetDatum((int16) v)
		   : type == INT4OID || type == DATEOID ? Int32GetDatum((int32) v)
												: Int64GetDatum(v);
}

#endif /* WT_TYPE_KIND_H */
