/*
 * nested_text.c
 *		The text form of arrays, composites, ranges and multiranges -> values.
 *
 * Columns with encoding "text" are stored in this form, and so are values that were written before
 * there was encoding "nested".  The types' input functions read it, too, but they call the input
 * functions of what is inside, and that of a domain runs functions of a user (nested_form.c).  Here
 * each part is read as its base type.
 *
 * Each level is read in one pass.  The quotes and backslashes of a part are taken away in a buffer,
 * and what is left is the text of the part.
 *
 * Two things differ from the input functions.  A composite with fewer fields than the type has
 * attributes is valid, the rest is null: attributes were added after the value was written.  And
 * NULL is null in an array, whatever array_nulls is.
 */
#include "postgres.h"

#include "fdw/table/nested_text.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "fdw/table/decode.h"
#include "fdw/table/nested_build.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"

/* The text that is left. */
typedef struct Text
{
	const char *p;
	const char *end;
} Text;

static const char bad_array[] = "the text is not that of an array";
static const char bad_composite[] = "the text is not that of a composite type";
static const char bad_range[] = "the text is not that of a range";
static const char bad_multirange[] = "the text is not that of a multirange";

static bool
is_space(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static void
skip_space(Text *in)
{
	while (in->p < in->end && is_space(*in->p))
		in->p++;
}

/* Returns true if the text goes on with this character. */
static bool
next_is(const Text *in, char ch)
{
	return in->p < in->end && *in->p == ch;
}

/* Takes this character.  Returns false if the text goes on with another one. */
static bool
take_char(Text *in, char ch)
{
	if (!next_is(in, ch))
		return false;
	in->p++;
	return true;
}

static bool
is_at_end(Text *in)
{
	skip_space(in);
	return in->p == in->end;
}

/* Takes a quoted text or a single character, appends it to out.  doubled: "" is a quote.  Returns
 * false if the text ends inside. */
static bool
take_piece(Text *in, bool doubled, StringInfo out)
{
	bool quoted = *in->p == '"';

	if (quoted)
		in->p++;
	do
	{
		if (in->p == in->end)
			return false;
		if (quoted && *in->p == '"')
		{
			in->p++;
			if (!doubled || !next_is(in, '"'))
				return true;
		}
		else if (*in->p == '\\' && ++in->p == in->end)
			return false;
		appendStringInfoCharMacro(out, *in->p);
		in->p++;
	} while (quoted);
	return true;
}

/* What is read: a column for scalars, and the type. */
typedef struct Part
{
	WtColumn column;
	WtShape shape;
} Part;

/* c: what the part is inside of; typid may be a domain. */
static Part
make_part(const WtColumn *c, Oid typid, int32 typmod)
{
	Part part = {.shape = *wt_type_shape(typid)};

	part.column = (WtColumn) {.name = c->name,
							  .typid = part.shape.typid,
							  .typmod = part.shape.domain ? part.shape.typmod : typmod,
							  .role = WT_CELL,
							  .enc = WT_ENC_TEXT,
							  .family = -1};
	return part;
}

static const char *read_part(const Part *part, const char *text, size_t len, Datum *value);

static const char *
read_value(const WtColumn *c, Oid typid, int32 typmod, const char *text, size_t len, Datum *value)
{
	Part part = make_part(c, typid, typmod);

	return read_part(&part, text, len, value);
}

/* ----------------------------------------------------------------- scalars */

/* Reads digits, at most so many that they cannot overflow.  Returns false if there is more. */
static bool
read_integer(const char *text, size_t len, int64 *v)
{
	bool negative = len > 0 && text[0] == '-';
	size_t i = negative;

	*v = 0;
	if (i == len || len > 18)
		return false;
	for (; i < len; i++)
	{
		if (text[i] < '0' || text[i] > '9')
			return false;
		*v = *v * 10 + (text[i] - '0');
	}
	*v = negative ? -*v : *v;
	return true;
}

static Datum
read_scalar(const WtColumn *c, const char *text, size_t len)
{
	int64 v;

	if (wt_is_text(c->typid) && c->typmod < 0)
		return wt_decode_varlena((const uint8 *) text, len);
	if (wt_is_integer(c->typid) && read_integer(text, len, &v) &&
		(c->typid == INT8OID || v == (c->typid == INT4OID ? (int32) v : (int16) v)))
		return wt_integer_datum(c->typid, v);
	return wt_type_io_input(c, (const uint8 *) text, len);
}

/* ------------------------------------------------------------------ arrays */

/* An array while it is read. */
typedef struct ArrayText
{
	WtShape shape;
	Part part; /* an element */
	int ndim;  /* 0: not known yet */
	int dims[MAXDIM];
	int lower[MAXDIM];
	Datum *values;
	bool *nulls;
	int n;
	int space;
	StringInfoData element; /* without quotes and backslashes */
} ArrayText;

/* Takes a whole number of a dimension. */
static bool
take_bound(Text *in, int *bound)
{
	const char *start = in->p;
	int64 v;

	if (next_is(in, '-') || next_is(in, '+'))
		in->p++;
	while (in->p < in->end && *in->p >= '0' && *in->p <= '9')
		in->p++;
	if (start < in->p && *start == '+')
		start++;
	if (!read_integer(start, in->p - start, &v) || v != (int32) v)
		return false;
	*bound = (int) v;
	return true;
}

/* Takes the dimensions before an array, [1:2][0:5]=, if there are any. */
static bool
take_dimensions(ArrayText *a, Text *in)
{
	skip_space(in);
	while (take_char(in, '['))
	{
		int first, last;

		if (a->ndim == MAXDIM || !take_bound(in, &first))
			return false;
		last = first;
		if (!take_char(in, ':'))
			first = 1;
		else if (!take_bound(in, &last))
			return false;
		if (last < first || (int64) last - first >= PG_INT32_MAX || !take_char(in, ']'))
			return false;
		a->dims[a->ndim] = last - first + 1;
		a->lower[a->ndim++] = first;
		skip_space(in);
	}
	if (a->ndim == 0)
		return true;
	if (!take_char(in, '='))
		return false;
	skip_space(in);
	return true;
}

static void
add_element(ArrayText *a, Datum value, bool isnull)
{
	if (a->n == a->space)
	{
		a->space *= 2;
		a->values = repalloc_huge(a->values, sizeof(Datum) * a->space);
		a->nulls = repalloc_huge(a->nulls, sizeof(bool) * a->space);
	}
	a->values[a->n] = value;
	a->nulls[a->n++] = isnull;
}

/* An element's text without quotes and backslashes, in the array's text or in a->element. */
typedef struct ElementText
{
	const char *p;
	size_t len;
	bool escaped; /* there were some: NULL is a text */
} ElementText;

/* Takes an element that is a slice of the array's text.  Returns false, and takes nothing, if it
 * has backslashes or is not valid. */
static bool
take_slice(const ArrayText *a, Text *in, ElementText *e)
{
	const char *p = in->p;

	e->escaped = next_is(in, '"');
	e->p = p += e->escaped;
	if (e->escaped)
		while (p < in->end && *p != '"' && *p != '\\')
			p++;
	else
		while (p < in->end && *p != a->shape.delimiter && *p != '}' && *p != '"' && *p != '{' &&
			   *p != '\\')
			p++;
	if (p == in->end || *p == '\\' || (!e->escaped && (*p == '"' || *p == '{')))
		return false;
	in->p = p + e->escaped;
	while (!e->escaped && p > e->p && is_space(p[-1]))
		p--;
	e->len = p - e->p;
	return e->escaped || e->len > 0;
}

/* The same for any element, by way of a buffer.  Returns false if it is not valid. */
static bool
take_pieces(ArrayText *a, Text *in, ElementText *e)
{
	StringInfo s = &a->element;
	int used = 0; /* without blanks at the end */

	resetStringInfo(s);
	e->escaped = next_is(in, '"');
	if (e->escaped)
	{
		if (!take_piece(in, false, s))
			return false;
		used = s->len;
	}
	else
		while (in->p < in->end && *in->p != a->shape.delimiter && *in->p != '}')
		{
			bool blank = is_space(*in->p);

			if (*in->p == '"' || *in->p == '{')
				return false;
			e->escaped = e->escaped || *in->p == '\\';
			if (!take_piece(in, false, s))
				return false;
			if (!blank)
				used = s->len;
		}
	e->p = s->data;
	e->len = used;
	return e->escaped || used > 0;
}

/* Takes an element up to the delimiter or brace behind it. */
static const char *
take_element(ArrayText *a, Text *in)
{
	ElementText e;
	Datum value = (Datum) 0;
	const char *why;

	if (!take_slice(a, in, &e) && !take_pieces(a, in, &e))
		return bad_array;
	if (!e.escaped && e.len == 4 && pg_strncasecmp(e.p, "NULL", 4) == 0)
	{
		add_element(a, (Datum) 0, true);
		return NULL;
	}
	why = read_part(&a->part, e.p, e.len, &value);
	if (why == NULL)
		add_element(a, value, false);
	return why;
}

/* Takes what is between two braces.  stated: the text states the dimensions; *deepest: the depth
 * of elements, 0 until the first one. */
static const char *
take_level(ArrayText *a, Text *in, int depth, bool stated, int *deepest)
{
	int count = 0;

	if (!take_char(in, '{') || depth >= MAXDIM || (*deepest > 0 && depth >= *deepest) ||
		(stated && depth >= a->ndim))
		return bad_array;
	do
	{
		const char *why;

		CHECK_FOR_INTERRUPTS();
		skip_space(in);
		if (next_is(in, '{'))
			why = take_level(a, in, depth + 1, stated, deepest);
		else
		{
			if (*deepest == 0)
				*deepest = depth + 1;
			why = *deepest == depth + 1 ? take_element(a, in) : bad_array;
		}
		if (why != NULL)
			return why;
		count++;
		skip_space(in);
	} while (take_char(in, a->shape.delimiter));
	if (!take_char(in, '}'))
		return bad_array;
	if (a->dims[depth] == 0)
		a->dims[depth] = count;
	return a->dims[depth] == count ? NULL : "the parts of the array differ in length";
}

static const char *
read_elements(ArrayText *a, Text *in)
{
	bool stated;
	int deepest = 0, count;
	Text inside;
	const char *why;

	for (int i = 0; i < MAXDIM; i++)
	{
		a->dims[i] = 0;
		a->lower[i] = 1;
	}
	if (!take_dimensions(a, in))
		return bad_array;
	stated = a->ndim > 0;
	inside = *in;
	if (!stated && take_char(&inside, '{') && (skip_space(&inside), take_char(&inside, '}')))
		return is_at_end(&inside) ? NULL : bad_array;
	why = take_level(a, in, 0, stated, &deepest);
	if (why != NULL)
		return why;
	if (!is_at_end(in) || (stated && deepest != a->ndim))
		return bad_array;
	a->ndim = deepest;
	return wt_nested_build_dimensions(a->ndim, a->dims, a->lower, &count);
}

static const char *
read_array(const WtColumn *c, const WtShape *s, Text in, Datum *value)
{
	ArrayText a = {.shape = *s, .part = make_part(c, s->part, c->typmod), .space = 16};
	const char *why;

	a.values = palloc(sizeof(Datum) * a.space);
	a.nulls = palloc(sizeof(bool) * a.space);
	initStringInfo(&a.element);
	why = read_elements(&a, &in);
	if (why == NULL)
		*value = PointerGetDatum(a.n == 0 ? construct_empty_array(s->part)
										  : construct_md_array(a.values, a.nulls, a.ndim, a.dims,
															   a.lower, s->part, s->len, s->byval,
															   s->align));
	for (int i = 0; !s->byval && i < a.n; i++)
		if (!a.nulls[i])
			pfree(DatumGetPointer(a.values[i]));
	pfree(a.values);
	pfree(a.nulls);
	pfree(a.element.data);
	return why;
}

/* -------------------------------------------------------------- composites */

/* Takes a field up to the comma or parenthesis behind it. */
static const char *
take_field(const WtColumn *c, Form_pg_attribute a, Text *in, StringInfo field, Datum *value,
		   bool *isnull)
{
	const char *start;

	*isnull = next_is(in, ',') || next_is(in, ')');
	if (*isnull)
		return NULL;
	start = in->p;
	while (in->p < in->end && *in->p != ',' && *in->p != ')' && *in->p != '"' && *in->p != '\\')
		in->p++;
	if (next_is(in, ',') || next_is(in, ')'))
		return read_value(c, a->atttypid, a->atttypmod, start, in->p - start, value);
	/* there are quotes or backslashes */
	resetStringInfo(field);
	appendBinaryStringInfo(field, start, in->p - start);
	while (in->p < in->end && *in->p != ',' && *in->p != ')')
		if (!take_piece(in, true, field))
			return bad_composite;
	if (in->p == in->end)
		return bad_composite;
	return read_value(c, a->atttypid, a->atttypmod, field->data, field->len, value);
}

static const char *
take_fields(const WtColumn *c, TupleDesc desc, Text *in, Datum *values, bool *nulls)
{
	StringInfoData field;
	bool first = true;
	const char *why = NULL;

	skip_space(in);
	if (!take_char(in, '('))
		return bad_composite;
	initStringInfo(&field);
	for (int i = 0; i < desc->natts && why == NULL; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->attisdropped || (!first && next_is(in, ')')))
			continue;
		if (!first && !take_char(in, ','))
			return bad_composite;
		first = false;
		why = take_field(c, a, in, &field, &values[i], &nulls[i]);
	}
	pfree(field.data);
	if (why == NULL && next_is(in, ','))
		why = psprintf("the text has more fields than type %s", format_type_be(c->typid));
	return why != NULL ? why : take_char(in, ')') && is_at_end(in) ? NULL : bad_composite;
}

static const char *
read_composite(const WtColumn *c, Text in, Datum *value)
{
	TupleDesc desc = lookup_rowtype_tupdesc(c->typid, -1);
	Datum *values = palloc0(Max(1, desc->natts) * sizeof(Datum));
	bool *nulls = palloc(Max(1, desc->natts) * sizeof(bool));
	const char *why;

	memset(nulls, true, desc->natts);
	why = take_fields(c, desc, &in, values, nulls);
	if (why == NULL)
		*value = wt_nested_build_composite(desc, values, nulls);
	pfree(values);
	pfree(nulls);
	ReleaseTupleDesc(desc);
	return why;
}

/* ------------------------------------------------------------------ ranges */

/* Takes a bound up to one of the characters that may end it.  No text at all is infinity. */
static const char *
take_bound_value(const WtColumn *c, Oid bound, const char *ends, Text *in, StringInfo s,
				 bool *infinite, Datum *value)
{
	const char *start = in->p;

	resetStringInfo(s);
	while (in->p < in->end && strchr(ends, *in->p) == NULL)
		if (!take_piece(in, true, s))
			return bad_range;
	*infinite = in->p == start;
	return *infinite ? NULL : read_value(c, bound, -1, s->data, s->len, value);
}

/* Takes one range.  typid: the range's type. */
static const char *
take_range(const WtColumn *c, Oid typid, Text *in, Datum *value)
{
	Oid bound = wt_type_shape(typid)->part;
	WtNestedRange range = {0};
	StringInfoData s;
	const char *why;

	skip_space(in);
	if (in->end - in->p >= 5 && pg_strncasecmp(in->p, "empty", 5) == 0)
	{
		in->p += 5;
		range.empty = true;
		return wt_nested_build_range(typid, &range, value);
	}
	range.inclusive[0] = next_is(in, '[');
	if (!take_char(in, '[') && !take_char(in, '('))
		return bad_range;
	initStringInfo(&s);
	why = take_bound_value(c, bound, ",)]", in, &s, &range.infinite[0], &range.bounds[0]);
	if (why == NULL && !take_char(in, ','))
		why = bad_range;
	if (why == NULL)
		why = take_bound_value(c, bound, ",)]", in, &s, &range.infinite[1], &range.bounds[1]);
	pfree(s.data);
	if (why != NULL)
		return why;
	range.inclusive[1] = next_is(in, ']');
	if (!take_char(in, ']') && !take_char(in, ')'))
		return bad_range;
	return wt_nested_build_range(typid, &range, value);
}

static const char *
read_range(const WtColumn *c, const WtShape *s, Text in, Datum *value)
{
	const char *why = take_range(c, s->typid, &in, value);

	return why != NULL ? why : is_at_end(&in) ? NULL : bad_range;
}

static const char *
take_ranges(const WtColumn *c, const WtShape *s, Text *in, Datum **ranges, int *n)
{
	int space = 8;

	*ranges = palloc(sizeof(Datum) * space);
	do
	{
		const char *why;

		CHECK_FOR_INTERRUPTS();
		if (*n == space)
		{
			space *= 2;
			*ranges = repalloc_huge(*ranges, sizeof(Datum) * space);
		}
		why = take_range(c, s->part, in, &(*ranges)[*n]);
		if (why != NULL)
			return why;
		++*n;
		skip_space(in);
	} while (take_char(in, ','));
	return NULL;
}

static const char *
read_multirange(const WtColumn *c, const WtShape *s, Text in, Datum *value)
{
	Datum *ranges = NULL;
	int n = 0;
	const char *why = NULL;

	skip_space(&in);
	if (!take_char(&in, '{'))
		return bad_multirange;
	skip_space(&in);
	if (!next_is(&in, '}'))
		why = take_ranges(c, s, &in, &ranges, &n);
	if (why != NULL)
		return why;
	if (!take_char(&in, '}') || !is_at_end(&in))
		return bad_multirange;
	return wt_nested_build_multirange(s->typid, ranges, n, value);
}

static const char *
read_part(const Part *part, const char *text, size_t len, Datum *value)
{
	Text in = {text, text + len};

	if (part->shape.kind == WT_SHAPE_SCALAR)
	{
		*value = read_scalar(&part->column, text, len);
		return NULL;
	}
	check_stack_depth();
	switch (part->shape.kind)
	{
		case WT_SHAPE_SCALAR:
			break;
		case WT_SHAPE_ARRAY:
			return read_array(&part->column, &part->shape, in, value);
		case WT_SHAPE_COMPOSITE:
			return read_composite(&part->column, in, value);
		case WT_SHAPE_RANGE:
			return read_range(&part->column, &part->shape, in, value);
		case WT_SHAPE_MULTIRANGE:
			return read_multirange(&part->column, &part->shape, in, value);
	}
	return "the type has no text form";
}

const char *
wt_nested_text_decode(const WtColumn *c, const char *text, size_t len, Datum *value)
{
	return read_value(c, c->typid, c->typmod, text, len, value);
}
