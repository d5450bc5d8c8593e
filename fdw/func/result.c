/*
 * result.c
 *		Results of SQL functions.
 */
#include "postgres.h"

#include "fdw/func/result.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/palloc.h"
#include "utils/tuplestore.h"

#include "fdw/store/compat.h"
#include "fdw/table/type_kind.h"

Datum
wt_result_bytea(const void *data, size_t len)
{
	bytea *b = palloc(VARHDRSZ + len);

	SET_VARSIZE(b, VARHDRSZ + len);
	if (len > 0)
		memcpy(VARDATA(b), data, len);
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

void
wt_result_push_value(JsonbParseState **ps, Oid type, Datum value)
{
	int16 len;
	bool byval;
	FmgrInfo fn;
	Jsonb *jb;
	JsonbValue v = {.type = jbvNumeric};
	Node *arg;

	/* the result of to_jsonb for frequent types, faster */
	if (wt_is_text(type))
	{
		wt_result_push_string(ps, WJB_VALUE, TextDatumGetCString(value));
		return;
	}
	if (wt_is_integer(type))
	{
		v.val.numeric = int64_to_numeric(wt_integer_value(type, value));
		pushJsonbValue(ps, WJB_VALUE, &v);
		return;
	}
	/* to_jsonb finds the type of its argument in the calling expression */
	get_typlenbyval(type, &len, &byval);
	arg = (Node *) makeConst(type, -1, InvalidOid, len, value, false, byval);
	fmgr_info(F_TO_JSONB, &fn);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(arg), InvalidOid,
											 InvalidOid, COERCE_EXPLICIT_CALL),
					   &fn);
	jb = DatumGetJsonbP(FunctionCall1(&fn, value));
	if (!JsonbExtractScalar(&jb->root, &v))
	{
		v.type = jbvBinary;
		v.val.binary.data = &jb->root;
		v.val.binary.len = VARSIZE(jb) - VARHDRSZ;
	}
	pushJsonbValue(ps, WJB_VALUE, &v);
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

void
wt_result_put(const WtResultRow *row, ReturnSetInfo *rsinfo)
{
	Assert(row->n == rsinfo->setDesc->natts);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, unconstify(Datum *, &row->values[0]),
						 unconstify(bool *, &row->nulls[0]));
}

/* Copies b's bytes to *space, which it advances; returns the copy. */
static wide_bytes
copy_to(uint8 **space, wide_bytes b)
{
	wide_bytes copy = {*space, b.len};

	if (b.len > 0)
		memcpy(*space, b.data, b.len);
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
