/*
 * type_kind.h
 *		Kinds of SQL types.
 */
#ifndef WT_TYPE_KIND_H
#define WT_TYPE_KIND_H

#include "catalog/pg_type.h"

static inline bool
wt_is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/* also "name", which is no varlena and has a collation all the same */
static inline bool
wt_is_string(Oid type)
{
	return wt_is_text(type) || type == NAMEOID;
}

static inline bool
wt_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

#endif /* WT_TYPE_KIND_H */
