/*
 * nested_decode.c
 *		Bytes -> arrays, composites, ranges and multiranges; nested_form.c describes the bytes.
 *
 * The bytes may be anything: lengths are checked before memory is allocated, and the recursion is
 * as deep as the column's type.
 */
#include "postgres.h"

#include "fdw/table/nested_decode.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "fdw/store/compat.h"
#include "fdw/table/decode.h"
#include "fdw/table/nested_build.h"
#include "fdw/table/nested_form.h"
#include "fdw/table/nested_text.h"
#include "fdw/table/stored_format.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"

static const char too_short[] = "the bytes end before the value does";
static const char too_long[] = "there are bytes behind the value";
static const char bad_form[] = "there is no such form of a value";

/* The bytes that are left. */
typedef struct Source
{
	const uint8 *p;
	const uint8 *end;
} Source;

static size_t
left(const Source *in)
{
	return (size_t) (in->end - in->p);
}

/* Takes n bytes: returns where they begin, NULL if there are fewer. */
static const uint8 *
take(Source *in, size_t n)
{
	const uint8 *p = in->p;

	if (left(in) < n)
		return NULL;
	in->p += n;
	return p;
}

/* Takes a varint.  Returns false if there is none, or it has more than 32 bits. */
static bool
take_varint(Source *in, uint32 *v)
{
	uint64 all = 0;

	for (int shift = 0; shift < 35 && in->p < in->end; shift += 7)
	{
		uint8 b = *in->p++;

		all |= (uint64) (b & 0x7F) << shift;
		if (b < 0x80)
		{
			*v = (uint32) all;
			return all <= PG_UINT32_MAX;
		}
	}
	return false;
}

/* Takes a form.  Returns NULL, or the reason why it is none. */
static const char *
take_form(Source *in, uint8 *form)
{
	const uint8 *p = take(in, 1);

	if (p == NULL)
		return too_short;
	*form = *p;
	return *form <= WT_FORM_NESTED ? NULL : bad_form;
}

static const char *decode_body(const WtColumn *c, Source in, Datum *value);

static bool
is_text(const uint8 *data, size_t len)
{
	return pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true);
}

/* Decodes the text form of a nested value. */
static const char *
decode_text(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	if (!is_text(data, len))
		return psprintf("the bytes are neither a nested value nor valid text in encoding %s",
						GetDatabaseEncodingName());
	return wt_nested_text_decode(c, (const char *) data, len, value);
}

/* Decodes a text as a value of the part's type. */
static const char *
decode_text_part(const WtNestedPart *part, const uint8 *data, size_t len, Datum *value)
{
	WtColumn c = part->column;

	if (part->form == WT_FORM_NESTED)
		return decode_text(&c, data, len, value);
	c.enc = WT_ENC_TEXT;
	/* decode.c would take the bytes for those of the value */
	if (c.typid == BYTEAOID)
	{
		if (!is_text(data, len))
			return psprintf("the bytes are not valid text in encoding %s",
							GetDatabaseEncodingName());
		*value = wt_type_io_input(&c, data, len);
		return NULL;
	}
	return wt_decode_soft(&c, data, len, value);
}

/* Decodes a scalar that is stored as another type than the part's, by way of its text. */
static const char *
convert_part(const WtNestedPart *part, uint8 form, const uint8 *data, size_t len, Datum *value)
{
	WtColumn stored = part->column;
	StringInfoData text;
	Datum old;
	const char *why;

	stored.typid = wt_nested_form_type(form);
	stored.typmod = -1;
	stored.enc = wt_nested_form_encoding(form);
	why = wt_decode_soft(&stored, data, len, &old);
	if (why != NULL)
		return why;
	initStringInfo(&text);
	wt_type_io_output(&stored, old, &text);
	why = decode_text_part(part, (const uint8 *) text.data, text.len, value);
	pfree(text.data);
	return why;
}

/* form: that of the bytes, which may be another one than that of the part's type. */
static const char *
decode_part(const WtNestedPart *part, uint8 form, const uint8 *data, size_t len, Datum *value)
{
	if (form == WT_FORM_NESTED && part->form == WT_FORM_NESTED)
		return decode_body(&part->column, (Source) {data, data + len}, value);
	if (form == WT_FORM_NESTED)
		return psprintf("a value inside has several parts, but type %s has not",
						format_type_be(part->column.typid));
	if (form == part->form)
		return wt_decode_soft(&part->column, data, len, value);
	return form == WT_FORM_TEXT ? decode_text_part(part, data, len, value)
								: convert_part(part, form, data, len, value);
}

/* ------------------------------------------------------------------- arrays */

/* The head of an array */
typedef struct ArrayHead
{
	uint8 form;
	bool any_null; /* only of elements of fixed width */
	int ndim;
	int dims[MAXDIM];
	int lower[MAXDIM];
	int count;
} ArrayHead;

static const char *
take_array_head(Source *in, ArrayHead *head)
{
	const uint8 *p = take(in, 2);

	if (p == NULL)
		return too_short;
	head->form = p[0] & ~WT_FORM_NULLS;
	head->any_null = (p[0] & WT_FORM_NULLS) != 0;
	if (head->form > WT_FORM_NESTED || (head->any_null && wt_nested_form_width(head->form) == 0))
		return bad_form;
	head->ndim = p[1];
	if (head->ndim > MAXDIM)
		return "the array has too many dimensions";
	for (int i = 0; i < head->ndim; i++)
	{
		p = take(in, 8);
		if (p == NULL)
			return too_short;
		head->dims[i] = (int) (int32) get_be(p, 4);
		head->lower[i] = (int) (int32) get_be(p + 4, 4);
	}
	return wt_nested_build_dimensions(head->ndim, head->dims, head->lower, &head->count);
}

static bool
bit_is_set(const uint8 *bits, int i)
{
	return bits == NULL || (bits[i / 8] >> (i % 8) & 1) != 0;
}

/* Returns how many of n elements are not null.  bits: NULL if none is. */
static int
count_present(const uint8 *bits, int n)
{
	int present = 0;

	for (int i = 0; i < n; i++)
		present += bit_is_set(bits, i);
	return present;
}

/* Elements of fixed width have this width in memory, too, and no gaps between them. */
static const char *
fill_fixed(const WtNestedPart *part, const WtShape *s, const uint8 *data, int n, char *to)
{
	const char *why = NULL;

	for (int i = 0; i < n && why == NULL; i++, data += part->width, to += part->width)
	{
		Datum d;

		why = wt_decode_soft(&part->column, data, part->width, &d);
		if (why == NULL && s->byval)
			store_att_byval(to, d, part->width);
		else if (why == NULL)
		{
			memcpy(to, DatumGetPointer(d), part->width);
			pfree(DatumGetPointer(d));
		}
	}
	return why;
}

static const char *
decode_fixed_elements(const WtNestedPart *part, const WtShape *s, const ArrayHead *head,
					  const uint8 *bits, int present, const uint8 *data, Datum *value)
{
	Size overhead = bits != NULL ? ARR_OVERHEAD_WITHNULLS(head->ndim, head->count)
								 : ARR_OVERHEAD_NONULLS(head->ndim);
	Size size = overhead + (Size) present * part->width;
	ArrayType *a;

	if (!AllocSizeIsValid(size))
		return "the array is too large";
	a = palloc0(size);
	SET_VARSIZE(a, size);
	a->ndim = head->ndim;
	a->dataoffset = bits != NULL ? (int32) overhead : 0;
	a->elemtype = s->part;
	memcpy(ARR_DIMS(a), head->dims, head->ndim * sizeof(int));
	memcpy(ARR_LBOUND(a), head->lower, head->ndim * sizeof(int));
	if (bits != NULL)
		memcpy((char *) a + sizeof(ArrayType) + 2 * sizeof(int) * head->ndim, bits,
			   (head->count + 7) / 8);
	*value = PointerGetDatum(a);
	return fill_fixed(part, s, data, present, (char *) a + overhead);
}

/* Elements while they are decoded one by one. */
typedef struct Elements
{
	Datum *values;
	bool *nulls;
} Elements;

static const char *
take_element(const WtNestedPart *part, const ArrayHead *head, Source *in, int i, Elements *e)
{
	int width = wt_nested_form_width(head->form);
	uint32 len = (uint32) width;
	const uint8 *p;

	if (width == 0)
	{
		if (!take_varint(in, &len))
			return too_short;
		e->nulls[i] = len == 0;
		if (len-- == 0)
			return NULL;
	}
	p = take(in, len);
	return p == NULL ? too_short : decode_part(part, head->form, p, len, &e->values[i]);
}

static const char *
decode_elements(const WtNestedPart *part, const WtShape *s, const ArrayHead *head,
				const uint8 *bits, Source *in, Datum *value)
{
	Elements e;
	const char *why = NULL;

	e.values = palloc_extended(sizeof(Datum) * head->count, MCXT_ALLOC_HUGE);
	e.nulls = palloc0(sizeof(bool) * head->count);
	for (int i = 0; i < head->count && why == NULL; i++)
	{
		CHECK_FOR_INTERRUPTS();
		e.nulls[i] = !bit_is_set(bits, i);
		if (!e.nulls[i])
			why = take_element(part, head, in, i, &e);
	}
	if (why != NULL)
		return why;
	*value = PointerGetDatum(construct_md_array(e.values, e.nulls, head->ndim,
												unconstify(int *, &head->dims[0]),
												unconstify(int *, &head->lower[0]), s->part, s->len,
												s->byval, s->align));
	for (int i = 0; !s->byval && i < head->count; i++)
		if (!e.nulls[i])
			pfree(DatumGetPointer(e.values[i]));
	pfree(e.values);
	pfree(e.nulls);
	return NULL;
}

static const char *
decode_array(const WtColumn *c, const WtShape *s, Source *in, Datum *value)
{
	WtNestedPart part = wt_nested_form_part(c, s->part, c->typmod);
	const uint8 *bits = NULL;
	ArrayHead head;
	const char *why = take_array_head(in, &head);
	int width, present;

	if (why != NULL)
		return why;
	if (head.count == 0)
	{
		*value = PointerGetDatum(construct_empty_array(s->part));
		return NULL;
	}
	width = wt_nested_form_width(head.form);
	if (head.any_null && (bits = take(in, ((size_t) head.count + 7) / 8)) == NULL)
		return too_short;
	if (width == 0)
		/* each element has a length, of at least a byte */
		return left(in) < (size_t) head.count ? too_short
											  : decode_elements(&part, s, &head, bits, in, value);
	present = count_present(bits, head.count);
	if (left(in) < (size_t) present * width)
		return too_short;
	if (head.form != part.form)
		return decode_elements(&part, s, &head, bits, in, value);
	return decode_fixed_elements(&part, s, &head, bits, present, take(in, (size_t) present * width),
								 value);
}

/* --------------------------------------------------------------- composites */

static const char *
take_attributes(const WtColumn *c, TupleDesc desc, Source *in, Datum *values, bool *nulls)
{
	uint32 last = 0;

	while (left(in) > 0)
	{
		uint32 number, len;
		uint8 form;
		const uint8 *p;
		const char *why;
		Form_pg_attribute a;
		WtNestedPart part;

		if (!take_varint(in, &number))
			return too_short;
		if (number <= last || number > (uint32) desc->natts)
			return psprintf("type %s has no attribute %u there", format_type_be(c->typid), number);
		last = number;
		why = take_form(in, &form);
		if (why != NULL)
			return why;
		if (!take_varint(in, &len) || (p = take(in, len)) == NULL)
			return too_short;
		a = TupleDescAttr(desc, number - 1);
		if (a->attisdropped)
			continue;
		part = wt_nested_form_part(c, a->atttypid, a->atttypmod);
		why = decode_part(&part, form, p, len, &values[number - 1]);
		if (why != NULL)
			return why;
		nulls[number - 1] = false;
	}
	return NULL;
}

static const char *
decode_composite(const WtColumn *c, Source *in, Datum *value)
{
	TupleDesc desc = lookup_rowtype_tupdesc(c->typid, -1);
	Datum *values = palloc0(Max(1, desc->natts) * sizeof(Datum));
	bool *nulls = palloc(Max(1, desc->natts) * sizeof(bool));
	const char *why;

	memset(nulls, true, desc->natts);
	why = take_attributes(c, desc, in, values, nulls);
	if (why == NULL)
		*value = wt_nested_build_composite(desc, values, nulls);
	pfree(values);
	pfree(nulls);
	ReleaseTupleDesc(desc);
	return why;
}

/* ------------------------------------------------------------------- ranges */

/* Takes one range.  typid: the range's type; part: of its bounds; form: as stored. */
static const char *
take_range(Oid typid, const WtNestedPart *part, uint8 form, Source *in, Datum *value)
{
	WtNestedRange range = {0};
	const uint8 *flags = take(in, 1);

	if (flags == NULL)
		return too_short;
	if ((*flags & ~WT_BOUND_ALL) != 0 ||
		((*flags & WT_BOUND_EMPTY) != 0 && *flags != WT_BOUND_EMPTY))
		return "the flags are not those of a range";
	range.empty = *flags == WT_BOUND_EMPTY;
	for (int i = 0; i < 2 && !range.empty; i++)
	{
		uint32 len;
		const uint8 *p;
		const char *why;

		range.inclusive[i] = (*flags & WT_BOUND_INCLUSIVE << i) != 0;
		range.infinite[i] = (*flags & WT_BOUND_INFINITE << i) != 0;
		if (range.inclusive[i] && range.infinite[i])
			return "the flags are not those of a range";
		if (range.infinite[i])
			continue;
		if (!take_varint(in, &len) || (p = take(in, len)) == NULL)
			return too_short;
		why = decode_part(part, form, p, len, &range.bounds[i]);
		if (why != NULL)
			return why;
	}
	return wt_nested_build_range(typid, &range, value);
}

static const char *
decode_range(const WtColumn *c, const WtShape *s, Source *in, Datum *value)
{
	WtNestedPart part = wt_nested_form_part(c, s->part, -1);
	uint8 form;
	const char *why = take_form(in, &form);

	return why != NULL ? why : take_range(s->typid, &part, form, in, value);
}

static const char *
decode_multirange(const WtColumn *c, const WtShape *s, Source *in, Datum *value)
{
	WtNestedPart part = wt_nested_form_part(c, wt_type_shape(s->part)->part, -1);
	uint8 form;
	const char *why = take_form(in, &form);
	Datum *ranges = NULL;
	int n = 0, space = 0;

	while (why == NULL && left(in) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (n == space)
		{
			space = Max(8, space * 2);
			ranges = ranges == NULL ? palloc(sizeof(Datum) * space)
									: repalloc_huge(ranges, sizeof(Datum) * space);
		}
		why = take_range(s->part, &part, form, in, &ranges[n++]);
	}
	return why != NULL ? why : wt_nested_build_multirange(s->typid, ranges, n, value);
}

static const char *
decode_body(const WtColumn *c, Source in, Datum *value)
{
	WtShape s = *wt_type_shape(c->typid);
	const uint8 *kind = take(&in, 1);
	const char *why = NULL;

	check_stack_depth();
	if (kind == NULL)
		return too_short;
	if (*kind == WT_BODY_ARRAY && s.kind == WT_SHAPE_ARRAY)
		why = decode_array(c, &s, &in, value);
	else if (*kind == WT_BODY_COMPOSITE && s.kind == WT_SHAPE_COMPOSITE)
		why = decode_composite(c, &in, value);
	else if (*kind == WT_BODY_RANGE && s.kind == WT_SHAPE_RANGE)
		why = decode_range(c, &s, &in, value);
	else if (*kind == WT_BODY_MULTIRANGE && s.kind == WT_SHAPE_MULTIRANGE)
		why = decode_multirange(c, &s, &in, value);
	else
		why = psprintf("the bytes are not of the kind of type %s", format_type_be(c->typid));
	return why != NULL ? why : left(&in) > 0 ? too_long : NULL;
}

const char *
wt_nested_decode(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	if (len > 0 && data[0] == WT_NESTED_MARK)
		return decode_body(c, (Source) {data + 1, data + len}, value);
	return decode_text(c, data, len, value);
}
