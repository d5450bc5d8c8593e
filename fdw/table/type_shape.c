/*
 * type_shape.c
 *		What a type is made of, from the catalogs.
 *
 * The type's input function tells the kind: it is the one function that all arrays, all
 * composites or all ranges share.  (The category of a type, or whether it can be subscripted,
 * is also true of int2vector, which has functions of its own and is a scalar here.)
 */
#include "postgres.h"

#include "fdw/table/type_shape.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* Entries are never freed, because a caller may use one.  A change of any type marks all. */
typedef struct ShapeEntry
{
	Oid typid; /* hash key */
	bool stale;
	WtShape shape;
} ShapeEntry;

static HTAB *shapes;

static void
invalidate(Datum arg, int cacheid, uint32 hashvalue)
{
	HASH_SEQ_STATUS scan;
	ShapeEntry *e;

	hash_seq_init(&scan, shapes);
	while ((e = hash_seq_search(&scan)) != NULL)
		e->stale = true;
}

static WtShape
read_shape(Oid typid)
{
	WtShape s = {.kind = WT_SHAPE_SCALAR, .typmod = -1};
	Oid input, ioparam;

	s.typid = getBaseTypeAndTypmod(typid, &s.typmod);
	s.domain = s.typid != typid;
	/* a value of these types says itself what it is made of: the type does not */
	if (s.typid == RECORDOID || s.typid == RECORDARRAYOID)
		return s;
	getTypeInputInfo(s.typid, &input, &ioparam);
	switch (input)
	{
		case F_ARRAY_IN:
			s.part = get_element_type(s.typid);
			if (OidIsValid(s.part))
			{
				s.kind = WT_SHAPE_ARRAY;
				get_type_io_data(s.part, IOFunc_input, &s.len, &s.byval, &s.align, &s.delimiter,
								 &ioparam, &input);
			}
			break;
		case F_RECORD_IN:
			s.kind = WT_SHAPE_COMPOSITE;
			break;
		case F_RANGE_IN:
			s.part = get_range_subtype(s.typid);
			s.kind = WT_SHAPE_RANGE;
			break;
		case F_MULTIRANGE_IN:
			s.part = get_multirange_range(s.typid);
			s.kind = WT_SHAPE_MULTIRANGE;
			break;
	}
	return s;
}

const WtShape *
wt_type_shape(Oid typid)
{
	ShapeEntry *e;
	WtShape s;
	bool found;

	if (shapes == NULL)
	{
		HASHCTL ctl = {
			.keysize = sizeof(Oid), .entrysize = sizeof(ShapeEntry), .hcxt = CacheMemoryContext};

		shapes = hash_create("widetable type shapes", 16, &ctl,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		CacheRegisterSyscacheCallback(TYPEOID, invalidate, (Datum) 0);
	}
	e = hash_search(shapes, &typid, HASH_FIND, NULL);
	if (e != NULL && !e->stale)
		return &e->shape;
	s = read_shape(typid);
	e = hash_search(shapes, &typid, HASH_ENTER, &found);
	e->shape = s;
	e->stale = false;
	return &e->shape;
}

bool
wt_type_shape_is_native(Oid function)
{
	HeapTuple tuple;
	Oid language;

	if (function < FirstGenbkiObjectId)
		return true;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	return language == INTERNALlanguageId || language == ClanguageId;
}
