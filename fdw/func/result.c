/*
 * result.c
 *		Results of SQL functions.
 */
#include "postgres.h"

#include "fdw/func/result.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/palloc.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/type_shape.h"

Datum
wt_result_bytea(const void *data, size_t len)
{
	bytea *b = palloc(VARHDRSZ + len);

	SET_VARSIZE(b, VARHDRSZ + len);
	wt_bytes_copy(VARDATA(b), data, len);
	return PointerGetDatum(b);
}

void
wt_result_push_string(JsonbParseState **ps, JsonbIteratorToken tok, const char *s)
{
	JsonbValue v = {.type = jbvString};

	v.val.string.val = unconstify(char *, s);
	v.val.string.len = strlen(s);
	pushJsonbValue(ps, tok, &v);
}

/*
 * Returns true if to_jsonb would convert a scalar by a cast to json that a user has made.  Its
 * function would run with the rights of whoever reads.  The cast of an extension, as hstore has
 * one, is a C function.
 */
static bool
has_cast_of_user(Oid type)
{
	Oid function = InvalidOid;

	return type >= FirstNormalObjectId &&
		   find_coercion_pathway(JSONOID, type, COERCION_EXPLICIT, &function) ==
			   COERCION_PATH_FUNC &&
		   !wt_type_shape_is_native(function);
}

static void
push_by_to_jsonb(JsonbParseState **ps, JsonbIteratorToken tok, Oid type, Datum value)
{
	int16 len;
	bool byval;
	FmgrInfo fn;
	Jsonb *jb;
	JsonbValue v;
	Node *arg;
	MemoryContext scratch, before;

	/* to_jsonb finds the type of its argument in the calling expression */
	get_typlenbyval(type, &len, &byval);
	/* the conversion takes more than a kilobyte, and there may be millions of elements */
	scratch = AllocSetContextCreate(CurrentMemoryContext, "widetable to_jsonb",
									ALLOCSET_SMALL_SIZES);
	before = MemoryContextSwitchTo(scratch);
	arg = (Node *) makeConst(type, -1, InvalidOid, len, value, false, byval);
	fmgr_info(F_TO_JSONB, &fn);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(arg), InvalidOid,
											 InvalidOid, COERCE_EXPLICIT_CALL),
					   &fn);
	jb = DatumGetJsonbP(FunctionCall1(&fn, value));
	MemoryContextSwitchTo(before);
	jb = memcpy(palloc(VARSIZE(jb)), jb, VARSIZE(jb));
	MemoryContextDelete(scratch);
	if (!JsonbExtractScalar(&jb->root, &v))
	{
		v.type = jbvBinary;
		v.val.binary.data = &jb->root;
		v.val.binary.len = VARSIZE(jb) - VARHDRSZ;
	}
	pushJsonbValue(ps, tok, &v);
}

static void push_value(JsonbParseState **ps, JsonbIteratorToken tok, Oid type, Datum value);

static void
push_or_null(JsonbParseState **ps, JsonbIteratorToken tok, Oid type, Datum value, bool isnull)
{
	if (isnull)
		pushJsonbValue(ps, tok, &(JsonbValue) {.type = jbvNull});
	else
		push_value(ps, tok, type, value);
}

/* Pushes one dimension of an array; advances *i over its elements. */
static void
push_dimension(JsonbParseState **ps, const ArrayType *a, int dimension, Oid type,
			   const Datum *elements, const bool *nulls, int *i)
{
	pushJsonbValue(ps, WJB_BEGIN_ARRAY, NULL);
	for (int n = 0; n < ARR_DIMS(a)[dimension]; n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (dimension + 1 < ARR_NDIM(a))
			push_dimension(ps, a, dimension + 1, type, elements, nulls, i);
		else
		{
			push_or_null(ps, WJB_ELEM, type, elements[*i], nulls[*i]);
			++*i;
		}
	}
	pushJsonbValue(ps, WJB_END_ARRAY, NULL);
}

static void
push_array(JsonbParseState **ps, const WtShape *s, Datum value)
{
	ArrayType *a = DatumGetArrayTypeP(value);
	Datum *elements;
	bool *nulls;
	int n, i = 0;

	deconstruct_array(a, s->part, s->len, s->byval, s->align, &elements, &nulls, &n);
	if (n > 0)
		push_dimension(ps, a, 0, s->part, elements, nulls, &i);
	else
	{
		pushJsonbValue(ps, WJB_BEGIN_ARRAY, NULL);
		pushJsonbValue(ps, WJB_END_ARRAY, NULL);
	}
}

static void
push_composite(JsonbParseState **ps, Datum value)
{
	HeapTupleHeader record = DatumGetHeapTupleHeader(value);
	TupleDesc desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(record),
											HeapTupleHeaderGetTypMod(record));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(record), .t_data = record};
	Datum *values = palloc(Max(1, desc->natts) * sizeof(Datum));
	bool *nulls = palloc(Max(1, desc->natts) * sizeof(bool));

	heap_deform_tuple(&tuple, desc, values, nulls);
	pushJsonbValue(ps, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->attisdropped)
			continue;
		wt_result_push_string(ps, WJB_KEY, NameStr(a->attname));
		push_or_null(ps, WJB_VALUE, a->atttypid, values[i], nulls[i]);
	}
	wt_map_end(ps);
	ReleaseTupleDesc(desc);
	pfree(values);
	pfree(nulls);
}

/*
 * Returns true if no cast is called in elements of this type, so that to_jsonb may convert the
 * whole array, which takes a fraction of the time.
 */
static bool
is_plain_element(Oid type)
{
	const WtShape *s = wt_type_shape(type);

	return type < FirstGenbkiObjectId ||
		   (s->kind != WT_SHAPE_ARRAY && s->kind != WT_SHAPE_COMPOSITE &&
			!has_cast_of_user(s->typid));
}

/* tok: WJB_VALUE in an object, WJB_ELEM in an array. */
static void
push_value(JsonbParseState **ps, JsonbIteratorToken tok, Oid type, Datum value)
{
	WtShape s;

	if (wt_is_text(type))
	{
		/* the result of to_jsonb for frequent types, faster */
		wt_result_push_string(ps, tok, TextDatumGetCString(value));
		return;
	}
	if (wt_is_integer(type))
	{
		JsonbValue v = {.type = jbvNumeric};

		v.val.numeric = int64_to_numeric(wt_integer_value(type, value));
		pushJsonbValue(ps, tok, &v);
		return;
	}
	check_stack_depth();
	s = *wt_type_shape(type);
	if (s.kind == WT_SHAPE_ARRAY && !is_plain_element(s.part))
		push_array(ps, &s, value);
	else if (s.kind == WT_SHAPE_COMPOSITE)
		push_composite(ps, value);
	else if (has_cast_of_user(s.typid))
	{
		Oid output;
		bool varlena;

		getTypeOutputInfo(s.typid, &output, &varlena);
		wt_result_push_string(ps, tok, OidOutputFunctionCall(output, value));
	}
	else
		push_by_to_jsonb(ps, tok, s.typid, value);
}

void
wt_result_push_value(JsonbParseState **ps, Oid type, Datum value)
{
	push_value(ps, WJB_VALUE, type, value);
}

void
wt_result_add_unless(WtResultRow *row, bool is_null, Datum value)
{
	Assert(row->n < WT_RESULT_MAX_COLUMNS);
	row->nulls[row->n] = is_null;
	row->values[row->n++] = is_null ? (Datum) 0 : value;
}

void
wt_result_add(WtResultRow *row, Datum value)
{
	wt_result_add_unless(row, false, value);
}

void
wt_result_add_text(WtResultRow *row, const char *s)
{
	wt_result_add_unless(row, s == NULL, s == NULL ? (Datum) 0 : CStringGetTextDatum(s));
}

/*
 * The definition of a function is as old as the extension in its database: older than the library
 * until ALTER EXTENSION UPDATE, or newer than an older library that was put back.  Columns are
 * added at the end, so a definition may have fewer.  Without this check a tuple would be formed of
 * values behind the end of the row.
 */
static void
check_definition(const WtResultRow *row, TupleDesc desc)
{
	if (desc->natts > row->n)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a function of extension widetable has more columns than the library"),
				 errdetail("It has %d columns, the library %d.", desc->natts, row->n),
				 errhint("Restart the server with the library of the extension's version.")));
}

Datum
wt_result_one(const WtResultRow *row, FunctionCallInfo fcinfo)
{
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check_definition(row, desc);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
											 unconstify(Datum *, &row->values[0]),
											 unconstify(bool *, &row->nulls[0])));
}

void
wt_result_put(const WtResultRow *row, ReturnSetInfo *rsinfo)
{
	check_definition(row, rsinfo->setDesc);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, unconstify(Datum *, &row->values[0]),
						 unconstify(bool *, &row->nulls[0]));
}

/* Copies b's bytes to *space, which it advances; returns the copy. */
static wide_bytes
copy_to(uint8 **space, wide_bytes b)
{
	wide_bytes copy = {*space, b.len};

	wt_bytes_copy(*space, b.data, b.len);
	*space += b.len;
	return copy;
}

wide_status
wt_result_gather(dlist_head *list, const void *info, size_t size, wide_bytes a, wide_bytes b)
{
	WtResultItem *item = palloc_extended(sizeof(WtResultItem) + size + a.len + b.len,
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	uint8 *space;

	if (item == NULL)
		return WIDE_NOMEM;
	space = (uint8 *) (item + 1);
	item->info = copy_to(&space, (wide_bytes) {info, size}).data;
	item->bytes[0] = copy_to(&space, a);
	item->bytes[1] = copy_to(&space, b);
	dlist_push_tail(list, &item->node);
	return WIDE_OK;
}
