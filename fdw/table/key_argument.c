/*
 * key_argument.c
 *		Row keys from the arguments of SQL functions: a value, a record, or a value for each
 *		part.
 */
#include "postgres.h"

#include "fdw/table/key_argument.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "fdw/table/rowkey.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

static bool
is_number(Oid typid)
{
	return wt_is_integer(typid) || typid == NUMERICOID;
}

static Datum
call_cast(Oid funcid, Datum arg, int32 typmod)
{
	switch (get_func_nargs(funcid))
	{
		case 1:
			return OidFunctionCall1(funcid, arg);
		case 2:
			return OidFunctionCall2(funcid, arg, Int32GetDatum(typmod));
		default:
			return OidFunctionCall3(funcid, arg, Int32GetDatum(typmod), BoolGetDatum(false));
	}
}

Datum
wt_key_argument_convert(const WtColumn *c, Datum arg, Oid argtype)
{
	Oid funcid = InvalidOid;
	CoercionPathType path;

	argtype = getBaseType(argtype);
	if (argtype == UNKNOWNOID ||
		((wt_is_string(argtype) || argtype == BPCHAROID) && argtype != c->typid))
		return wt_type_io_convert(arg, argtype, c->typid, c->typmod);
	if (argtype != c->typid)
	{
		/* a cast to an enum is one that a user has made, with the function of a user */
		path = type_is_enum(c->typid)
				   ? COERCION_PATH_NONE
				   : find_coercion_pathway(c->typid, argtype, COERCION_IMPLICIT, &funcid);
		if (path == COERCION_PATH_FUNC)
			arg = call_cast(funcid, arg, c->typmod);
		else if (path == COERCION_PATH_COERCEVIAIO ||
				 (path == COERCION_PATH_NONE && is_number(argtype) && is_number(c->typid)))
			/* 5 is a valid integer, 5.5 is an error */
			return wt_type_io_convert(arg, argtype, c->typid, c->typmod);
		else if (path != COERCION_PATH_RELABELTYPE)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("key column \"%s\" is of type %s but the argument is of type %s",
							c->name, format_type_be(c->typid), format_type_be(argtype)),
					 errhint("Cast the argument.")));
	}
	if (c->typmod >= 0 && find_typmod_coercion_function(c->typid, &funcid) == COERCION_PATH_FUNC)
		arg = call_cast(funcid, arg, c->typmod);
	return arg;
}

static void
check_part_count(WtTable *t, int n, bool full)
{
	StringInfoData list;

	if (n == t->nkeys || (!full && n > 0 && n < t->nkeys))
		return;
	initStringInfo(&list);
	for (int i = 0; i < t->nkeys; i++)
		appendStringInfo(&list, "%s%s", i ? ", " : "", wt_key_column(t, i)->name);
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("the key of \"%s\" has %d columns, %d given",
					get_rel_name(t->relid),
					t->nkeys,
					n),
			 errdetail("The key columns are: %s.", list.data),
			 t->nkeys > 1 ? errhint("Give the key as ROW(%s).", list.data) : 0));
}

void
wt_key_argument_encode_parts(WtTable *t, int nargs, const Datum *args, const Oid *types,
							 const bool *nulls, bool full, Datum *parts, StringInfo out)
{
	Datum *values;

	check_part_count(t, nargs, full);
	values = parts ? parts : palloc(nargs * sizeof(Datum));
	for (int i = 0; i < nargs; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("key column \"%s\" must not be null", wt_key_column(t, i)->name)));
		values[i] = wt_key_argument_convert(wt_key_column(t, i), args[i], types[i]);
	}
	wt_rowkey_encode(t, values, nargs, out);
	if (parts == NULL)
		pfree(values);
}

int
wt_key_argument_split(Datum arg, Oid argtype, Datum **values, Oid **types, bool **nulls)
{
	HeapTupleHeader record;
	TupleDesc desc;
	HeapTupleData tuple;
	bool is_record = argtype == RECORDOID || type_is_rowtype(argtype);
	int n = 0, natts = 1;

	if (is_record)
	{
		record = DatumGetHeapTupleHeader(arg);
		desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(record),
										   HeapTupleHeaderGetTypMod(record));
		tuple = (HeapTupleData) {.t_len = HeapTupleHeaderGetDatumLength(record), .t_data = record};
		natts = desc->natts;
	}
	*values = palloc(Max(natts, 1) * sizeof(Datum));
	*types = palloc(Max(natts, 1) * sizeof(Oid));
	*nulls = palloc(Max(natts, 1) * sizeof(bool));
	if (!is_record)
	{
		(*values)[0] = arg;
		(*types)[0] = argtype;
		(*nulls)[0] = false;
		return 1;
	}
	heap_deform_tuple(&tuple, desc, *values, *nulls);
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->attisdropped)
			continue;
		(*values)[n] = (*values)[i];
		(*nulls)[n] = (*nulls)[i];
		(*types)[n++] = a->atttypid;
	}
	return n;
}

void
wt_key_argument_encode(WtTable *t, Datum arg, Oid argtype, bool full, Datum *parts, StringInfo out)
{
	Datum *values;
	Oid *types;
	bool *nulls;
	int n;

	if (argtype != RECORDOID && !type_is_rowtype(argtype))
	{
		wt_key_argument_encode_parts(t, 1, &arg, &argtype, &(bool) {false}, full, parts, out);
		return;
	}
	n = wt_key_argument_split(arg, argtype, &values, &types, &nulls);
	wt_key_argument_encode_parts(t, n, values, types, nulls, full, parts, out);
}
