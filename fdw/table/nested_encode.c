/*
 * nested_encode.c
 *		Arrays, composites, ranges and multiranges -> bytes; nested_form.c describes the bytes.
 *
 * Values may be toasted, expanded or have short headers: each is detoasted first.
 */
#include "postgres.h"

#include "fdw/table/nested_encode.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"

#include "fdw/store/compat.h"
#include "fdw/table/encode.h"
#include "fdw/table/nested_form.h"
#include "fdw/table/stored_format.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"

static void
put_varint(StringInfo out, uint32 v)
{
	for (; v >= 0x80; v >>= 7)
		appendStringInfoChar(out, (char) (v | 0x80));
	appendStringInfoChar(out, (char) v);
}

static void encode_body(const WtColumn *c, Datum value, StringInfo out);

static void
encode_part(const WtNestedPart *part, Datum value, StringInfo out)
{
	if (part->form == WT_FORM_NESTED)
		encode_body(&part->column, value, out);
	else
		wt_encode(&part->column, value, out);
}

/* Appends length + plus as a varint, and the value.  room: for the caller to free. */
static void
encode_with_length(const WtNestedPart *part, Datum value, uint32 plus, StringInfo room,
				   StringInfo out)
{
	resetStringInfo(room);
	encode_part(part, value, room);
	put_varint(out, (uint32) room->len + plus);
	appendBinaryStringInfo(out, room->data, room->len);
}

static void
encode_elements(const WtNestedPart *part, const Datum *elements, const bool *nulls, int n,
				StringInfo out)
{
	StringInfoData room;

	initStringInfo(&room);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			put_varint(out, 0);
		else
			encode_with_length(part, elements[i], 1, &room, out);
	}
	pfree(room.data);
}

static void
encode_fixed_elements(const WtNestedPart *part, const Datum *elements, const bool *nulls, int n,
					  bool any_null, StringInfo out)
{
	for (int i = 0; any_null && i < n; i += 8)
	{
		uint8 bits = 0;

		for (int j = i; j < Min(i + 8, n); j++)
			bits |= nulls[j] ? 0 : 1 << (j - i);
		appendStringInfoChar(out, (char) bits);
	}
	enlargeStringInfo(out, 0);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			encode_part(part, elements[i], out);
}

static void
encode_array(const WtColumn *c, const WtShape *s, Datum value, StringInfo out)
{
	ArrayType *a = DatumGetArrayTypeP(value);
	WtNestedPart part = wt_nested_form_part(c, s->part, c->typmod);
	bool fixed = part.width > 0, any_null = fixed && array_contains_nulls(a);
	Datum *elements;
	bool *nulls;
	int n;

	deconstruct_array(a, ARR_ELEMTYPE(a), s->len, s->byval, s->align, &elements, &nulls, &n);
	appendStringInfoChar(out, WT_BODY_ARRAY);
	appendStringInfoChar(out, (char) (part.form | (any_null ? WT_FORM_NULLS : 0)));
	appendStringInfoChar(out, (char) ARR_NDIM(a));
	for (int i = 0; i < ARR_NDIM(a); i++)
	{
		put_be(out, (uint32) ARR_DIMS(a)[i], 4);
		put_be(out, (uint32) ARR_LBOUND(a)[i], 4);
	}
	if (fixed)
		encode_fixed_elements(&part, elements, nulls, n, any_null, out);
	else
		encode_elements(&part, elements, nulls, n, out);
	pfree(elements);
	pfree(nulls);
	if ((Pointer) a != DatumGetPointer(value))
		pfree(a);
}

static void
encode_composite(const WtColumn *c, Datum value, StringInfo out)
{
	HeapTupleHeader record = DatumGetHeapTupleHeader(value);
	TupleDesc desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(record),
											HeapTupleHeaderGetTypMod(record));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(record), .t_data = record};
	Datum *values = palloc(Max(1, desc->natts) * sizeof(Datum));
	bool *nulls = palloc(Max(1, desc->natts) * sizeof(bool));
	StringInfoData room;

	heap_deform_tuple(&tuple, desc, values, nulls);
	appendStringInfoChar(out, WT_BODY_COMPOSITE);
	initStringInfo(&room);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);
		WtNestedPart part;

		if (a->attisdropped || nulls[i])
			continue;
		part = wt_nested_form_part(c, a->atttypid, a->atttypmod);
		put_varint(out, (uint32) i + 1);
		appendStringInfoChar(out, (char) part.form);
		encode_with_length(&part, values[i], 0, &room, out);
	}
	pfree(room.data);
	pfree(values);
	pfree(nulls);
	ReleaseTupleDesc(desc);
	if ((Pointer) record != DatumGetPointer(value))
		pfree(record);
}

static void
encode_bounds(const WtNestedPart *part, TypeCacheEntry *type, const RangeType *range,
			  StringInfo out)
{
	RangeBound bound[2];
	StringInfoData room;
	bool empty;
	uint8 flags = 0;

	range_deserialize(type, range, &bound[0], &bound[1], &empty);
	for (int i = 0; i < 2 && !empty; i++)
	{
		flags |= bound[i].inclusive ? WT_BOUND_INCLUSIVE << i : 0;
		flags |= bound[i].infinite ? WT_BOUND_INFINITE << i : 0;
	}
	appendStringInfoChar(out, (char) (empty ? WT_BOUND_EMPTY : flags));
	initStringInfo(&room);
	for (int i = 0; i < 2; i++)
		if (!empty && !bound[i].infinite)
			encode_with_length(part, bound[i].val, 0, &room, out);
	pfree(room.data);
}

static void
encode_range(const WtColumn *c, const WtShape *s, Datum value, StringInfo out)
{
	RangeType *range = DatumGetRangeTypeP(value);
	WtNestedPart part = wt_nested_form_part(c, s->part, -1);

	appendStringInfoChar(out, WT_BODY_RANGE);
	appendStringInfoChar(out, (char) part.form);
	encode_bounds(&part, lookup_type_cache(s->typid, TYPECACHE_RANGE_INFO), range, out);
	if ((Pointer) range != DatumGetPointer(value))
		pfree(range);
}

static void
encode_multirange(const WtColumn *c, const WtShape *s, Datum value, StringInfo out)
{
	MultirangeType *multirange = DatumGetMultirangeTypeP(value);
	TypeCacheEntry *type = lookup_type_cache(s->part, TYPECACHE_RANGE_INFO);
	WtNestedPart part = wt_nested_form_part(c, wt_type_shape(s->part)->part, -1);
	RangeType **ranges;
	int32 n;

	multirange_deserialize(type, multirange, &n, &ranges);
	appendStringInfoChar(out, WT_BODY_MULTIRANGE);
	appendStringInfoChar(out, (char) part.form);
	for (int i = 0; i < n; i++)
		encode_bounds(&part, type, ranges[i], out);
	if ((Pointer) multirange != DatumGetPointer(value))
		pfree(multirange);
}

static void
encode_body(const WtColumn *c, Datum value, StringInfo out)
{
	WtShape s = *wt_type_shape(c->typid);

	check_stack_depth();
	switch (s.kind)
	{
		case WT_SHAPE_ARRAY:
			encode_array(c, &s, value, out);
			break;
		case WT_SHAPE_COMPOSITE:
			encode_composite(c, value, out);
			break;
		case WT_SHAPE_RANGE:
			encode_range(c, &s, value, out);
			break;
		case WT_SHAPE_MULTIRANGE:
			encode_multirange(c, &s, value, out);
			break;
		case WT_SHAPE_SCALAR:
			elog(ERROR, "type %u of column \"%s\" is not nested", c->typid, c->name);
	}
}

void
wt_nested_encode(const WtColumn *c, Datum value, StringInfo out)
{
	appendStringInfoChar(out, WT_NESTED_MARK);
	encode_body(c, value, out);
}
