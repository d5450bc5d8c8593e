/*
 * key_range.c
 *		Values -> intervals of bytes -> ranges of row keys.
 *
 * With the values at hand, each part's conditions (pushdown.c) become intervals
 * of bytes, and the parts one after the other become ranges of keys: parts
 * bound to values first, then one part with an interval.  The planner's
 * estimates and the scans use the same code.
 *
 * A value that the key's encoding cannot hold (too large, negative for an
 * unsigned one, with the delimiter in it) is no error in a WHERE clause: no row
 * is equal to it, and in the order it is below or above all rows.
 */
#include "fdw/plan/key_condition.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

/* The latest finite timestamp that codec.c can encode. */
#define LAST_TIMESTAMP	(PG_INT64_MAX - 1 - WT_EPOCH_DIFF)
#define KEY_ROOM		128		/* bytes for a key at first */

/* ------------------------------------------------------- values to bytes */

typedef enum ValueFate
{
	VALUE_OK,
	VALUE_BELOW,				/* less than all values of the key */
	VALUE_ABOVE,
	VALUE_BEHIND,				/* no key has it; in the order it is right behind the value encoded */
	VALUE_NONE,					/* no key has it */
	VALUE_UNKNOWN				/* nothing can be said */
} ValueFate;

static int64
integer_value(Datum value, Oid type)
{
	return type == INT2OID ? DatumGetInt16(value) : type == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value);
}

static ValueFate
adapt_integer(const WtColumn *c, Oid type, Datum *value)
{
	int64		x = integer_value(*value, type);
	int64		lo = PG_INT64_MIN,
				hi = PG_INT64_MAX;

	if (c->typid == INT2OID)
		lo = PG_INT16_MIN, hi = PG_INT16_MAX;
	else if (c->typid == INT4OID)
		lo = PG_INT32_MIN, hi = PG_INT32_MAX;
	if (c->enc >= WT_ENC_UNSIGNED1 && c->enc <= WT_ENC_UNSIGNED8)
	{
		lo = 0;
		if (c->enc == WT_ENC_UNSIGNED1)
			hi = 0xFF;
		else if (c->enc == WT_ENC_UNSIGNED2)
			hi = Min(hi, 0xFFFF);
		else if (c->enc == WT_ENC_UNSIGNED4)
			hi = Min(hi, (int64) 0xFFFFFFFF);
	}
	if (x < lo)
		return VALUE_BELOW;
	if (x > hi)
		return VALUE_ABOVE;
	*value = c->typid == INT2OID ? Int16GetDatum((int16) x) : c->typid == INT4OID ? Int32GetDatum((int32) x) : Int64GetDatum(x);
	return VALUE_OK;
}

static ValueFate
adapt_time(const WtColumn *c, Oid type, Datum *value)
{
	int			overflow = 0;

	if (type == c->typid)
		;
	else if (c->typid == TIMESTAMPTZOID)
		*value = TimestampTzGetDatum(type == DATEOID ? date2timestamptz_opt_overflow(DatumGetDateADT(*value), &overflow)
									 : timestamp2timestamptz_opt_overflow(DatumGetTimestamp(*value), &overflow));
	else
		*value = TimestampGetDatum(date2timestamp_opt_overflow(DatumGetDateADT(*value), &overflow));
	if (overflow != 0)
		return VALUE_UNKNOWN;
	/* the last years of the type do not fit in microseconds since 1970 */
	if (DatumGetTimestampTz(*value) > LAST_TIMESTAMP && !TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(*value)))
	{
		*value = TimestampTzGetDatum(LAST_TIMESTAMP);
		return VALUE_BEHIND;
	}
	return VALUE_OK;
}

/* Numbers of one width as the other; what has no equal there lies behind the next lower one. */
static ValueFate
adapt_float(const WtColumn *c, Oid type, Datum *value)
{
	double		x;
	float		y;

	if (type == c->typid)
		return VALUE_OK;
	if (c->typid == FLOAT8OID)
	{
		*value = Float8GetDatum((double) DatumGetFloat4(*value));
		return VALUE_OK;
	}
	x = DatumGetFloat8(*value);
	y = (float) x;
	if (isnan(x) || (double) y == x)
	{
		*value = Float4GetDatum(y);
		return VALUE_OK;
	}
	if ((double) y > x)
		y = nextafterf(y, -HUGE_VALF);
	*value = Float4GetDatum(y);
	return VALUE_BEHIND;
}

/* Text as a name; of text that is too long for one the beginning, right behind which it lies. */
static ValueFate
adapt_name(const WtColumn *c, Oid type, Datum *value)
{
	ValueFate	fate = VALUE_OK;

	if (type != NAMEOID)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(*value);
		size_t		len = VARSIZE_ANY_EXHDR(v);
		Name		name = palloc0(NAMEDATALEN);

		if (len >= NAMEDATALEN)
		{
			len = NAMEDATALEN - 1;
			fate = VALUE_BEHIND;
		}
		memcpy(NameStr(*name), VARDATA_ANY(v), len);
		*value = NameGetDatum(name);
	}
	if (c->delimiter != 0 && strchr(NameStr(*DatumGetName(*value)), c->delimiter) != NULL)
		return VALUE_NONE;
	return fate;
}

/* Turn an argument into a value of the key's type, or say why there is none. */
static ValueFate
adapt_value(const WtColumn *c, Oid type, Datum *value)
{
	if (wt_is_integer(c->typid))
		return adapt_integer(c, type, value);
	if (c->typid == NAMEOID)
		return adapt_name(c, type, value);
	if (wt_is_text(c->typid) || c->typid == BYTEAOID)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(*value);

		*value = PointerGetDatum(v);
		if (c->delimiter != 0 && memchr(VARDATA_ANY(v), c->delimiter, VARSIZE_ANY_EXHDR(v)) != NULL)
			return VALUE_NONE;
		return VALUE_OK;
	}
	if (c->typid == TIMESTAMPTZOID || c->typid == TIMESTAMPOID)
		return adapt_time(c, type, value);
	if (c->typid == FLOAT4OID || c->typid == FLOAT8OID)
		return adapt_float(c, type, value);
	return VALUE_OK;
}

/*
 * A point in time against local time.  Where clocks are set back or forward the
 * two are in different orders, by an hour as a rule and a day at the most: the
 * bound is moved that far, and the clause is tested again.
 */
static bool
move_local_bound(const WtColumn *c, bool less, WtArg *arg)
{
	const int64 slack = 2 * USECS_PER_DAY;
	Timestamp	local;

	if ((c->typid != TIMESTAMPOID && c->typid != DATEOID) || arg->type == c->typid || arg->type == DATEOID)
		return true;
	local = DatumGetTimestamp(arg->value);
	if (TIMESTAMP_NOT_FINITE(local) || local < MIN_TIMESTAMP + 2 * slack || local > END_TIMESTAMP - 2 * slack)
		return false;
	if (arg->type == TIMESTAMPTZOID)
		local = DatumGetTimestamp(DirectFunctionCall1(timestamptz_timestamp, arg->value));
	local += less ? slack : -slack;
	arg->value = TimestampGetDatum(local);
	if (c->typid == DATEOID)
		arg->value = DirectFunctionCall1(timestamp_date, arg->value);
	arg->type = c->typid;
	return true;
}

/* Append the bytes of a value as they stand in the key. */
static ValueFate
encode_value(WtTable *t, int part, const WtArg *arg, StringInfo out)
{
	Datum		value = arg->value;
	WtColumn   *c = wt_part_column(t, part);
	ValueFate	fate = adapt_value(c, arg->type, &value);

	if (fate != VALUE_OK && fate != VALUE_BEHIND)
		return fate;
	if (part < t->nkeys)
		wt_key_encode_part(t, part, value, out);
	else
		appendBinaryStringInfo(out, VARDATA_ANY(DatumGetPointer(value)), VARSIZE_ANY_EXHDR(DatumGetPointer(value)));
	return fate;
}

/* The part's bytes end with the key: nothing marks the end of the value. */
static bool
is_raw(WtTable *t, int part)
{
	if (part >= t->nkeys)
		return true;
	return part == t->nkeys - 1 && wt_key_column(t, part)->fixed_len == 0 && !wt_key_column(t, part)->desc;
}

static wide_bytes
take(StringInfo s)
{
	wide_bytes	b;

	b.data = (const uint8 *) s->data;
	b.len = s->len;
	return b;
}

/* The first byte string behind all that begin with b (raw: behind b itself). */
static bool
bytes_after(wide_bytes b, bool raw, wide_bytes *out)
{
	size_t		n = b.len;
	uint8	   *p;

	/* as wt_prefix_end, but no larger than it has to be: there may be millions */
	while (!raw && n > 0 && b.data[n - 1] == 0xFF)
		n--;
	if (!raw && n == 0)
		return false;
	p = palloc(n + 1);
	if (n > 0)
		memcpy(p, b.data, n);
	if (raw)
		p[n++] = 0;
	else
		p[n - 1]++;
	*out = (wide_bytes) {p, n};
	return true;
}

/*
 * Copies b, with both ends in one piece: a list may have millions of points.
 * There is a zero behind lo, so that with it lo is the key right behind.
 */
static void
make_point(wide_bytes b, bool raw, WtInterval *out)
{
	uint8	   *p = palloc(b.len * 2 + 1);
	size_t		n = b.len;

	memcpy(p, b.data, n);
	p[n] = 0;
	out->lo = (wide_bytes) {p, n};
	out->hi = (wide_bytes) {p, n + 1};
	out->inf = false;
	out->point = true;
	if (raw)
		return;
	/* as wt_prefix_end */
	while (n > 0 && p[n - 1] == 0xFF)
		n--;
	if (n == 0)
	{
		out->inf = true;
		return;
	}
	p += b.len + 1;
	memcpy(p, out->lo.data, n);
	p[n - 1]++;
	out->hi = (wide_bytes) {p, n};
}

/* ------------------------------------------------------------- intervals */

bool
wt_like_prefix(const char *pattern, int len, StringInfo out)
{
	for (int i = 0; i < len; i++)
	{
		if (pattern[i] == '%' || pattern[i] == '_')
			return false;
		if (pattern[i] == '\\')
		{
			/* a pattern that ends so is an error of LIKE's */
			if (++i == len)
				return false;
		}
		appendStringInfoChar(out, pattern[i]);
	}
	return true;
}

/* The beginning of a value as it stands in the key: escaped, inverted. */
static wide_bytes
encode_prefix(WtTable *t, int part, StringInfo prefix)
{
	WtColumn   *c = wt_part_column(t, part);
	StringInfoData s;
	bool		escape = part < t->nkeys && !c->delimited && !is_raw(t, part);

	initStringInfo(&s);
	for (int i = 0; i < prefix->len; i++)
	{
		appendStringInfoChar(&s, prefix->data[i]);
		if (escape && prefix->data[i] == '\0')
			appendStringInfoChar(&s, (char) 0xFF);
	}
	if (part < t->nkeys && c->desc)
		for (int i = 0; i < s.len; i++)
			s.data[i] = ~s.data[i];
	return take(&s);
}

/* Could this be how bytes that are not text are shown in the layout 'cells'? */
static bool
shown_as_hex(WtTable *t, int part, const char *data, int len)
{
	return part >= t->nkeys && wt_is_text(wt_part_column(t, part)->typid) && len > 0 && data[0] == '\\';
}

static bool
arg_shown_as_hex(WtTable *t, int part, const WtArg *arg)
{
	struct varlena *v;

	if (part < t->nkeys || arg->isnull)
		return false;
	v = PG_DETOAST_DATUM_PACKED(arg->value);
	return shown_as_hex(t, part, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
}

/* LIKE, ^@, ~: one interval. false: the pattern restricts nothing. */
static bool
prefix_interval(WtTable *t, const WtTest *test, const WtArg *arg, WtInterval *out)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(arg->value);
	StringInfoData prefix;
	bool		whole = false;

	initStringInfo(&prefix);
	if (test->kind == WT_COND_STARTS)
		appendBinaryStringInfo(&prefix, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	else if (test->kind == WT_COND_LIKE)
		whole = wt_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix);
	else
	{
		char	   *p = regexp_fixed_prefix((text *) v, false, C_COLLATION_OID, &whole);

		whole = false;
		if (p != NULL)
			appendStringInfoString(&prefix, p);
	}
	if (shown_as_hex(t, test->part, prefix.data, prefix.len))
		return false;
	if (whole)
	{
		/* no wildcard at all: equality */
		WtArg		same = *arg;
		StringInfoData s;

		same.value = PointerGetDatum(cstring_to_text_with_len(prefix.data, prefix.len));
		initStringInfo(&s);
		if (encode_value(t, test->part, &same, &s) == VALUE_OK)
		{
			make_point(take(&s), is_raw(t, test->part), out);
			return true;
		}
	}
	if (prefix.len == 0)
		return false;
	out->lo = encode_prefix(t, test->part, &prefix);
	out->inf = !bytes_after(out->lo, false, &out->hi);
	out->point = false;
	return true;
}

/*
 * <, <=, >, >= of one value or a row of values.  1: *out, 0: no row, -1: no
 * restriction.
 */
static int
order_interval(WtTable *t, const WtTest *test, const WtArg *args, WtInterval *out)
{
	bool		less = test->kind == WT_COND_LT || test->kind == WT_COND_LE;
	bool		inclusive = test->kind == WT_COND_LE || test->kind == WT_COND_GE;
	bool		raw = false;
	bool		upper = less != wt_part_is_descending(t, test->part);
	StringInfoData s;
	wide_bytes	bound;

	initStringInfo(&s);
	for (int i = 0; i < test->n; i++)
	{
		const WtArg *arg = &args[test->first + i];
		WtArg		moved;
		ValueFate	fate;

		if (!arg->known)
		{
			/* the planner's case: what is known so far */
			if (i == 0)
				return -1;
			inclusive = true;
			break;
		}
		if (arg->isnull)
		{
			/* rows equal so far compare as null */
			if (i == 0)
				return 0;
			inclusive = false;
			break;
		}
		moved = *arg;
		fate = test->part >= t->nkeys || move_local_bound(wt_key_column(t, test->part + i), less, &moved) ?
			encode_value(t, test->part + i, &moved, &s) : VALUE_UNKNOWN;
		if (fate == VALUE_UNKNOWN || fate == VALUE_NONE)
		{
			if (i == 0)
				return -1;
			inclusive = true;
			break;
		}
		if (fate != VALUE_OK)
		{
			/* all rows that agree so far are on one side */
			inclusive = less == (fate != VALUE_BELOW);
			raw = fate == VALUE_BEHIND && is_raw(t, test->part + i);
			break;
		}
		raw = is_raw(t, test->part + i);
	}
	bound = take(&s);
	memset(out, 0, sizeof(*out));
	out->lo.data = (const uint8 *) "";
	out->inf = true;
	if (upper && !inclusive)
	{
		out->hi = bound;
		out->inf = false;
	}
	else if (upper)
		out->inf = !bytes_after(bound, raw, &out->hi);
	else if (inclusive)
		out->lo = bound;
	else if (!bytes_after(bound, raw, &out->lo))
		return 0;
	return 1;
}

/* While points are sorted: the first bytes decide most comparisons without a look at the rest. */
typedef struct SortPoint
{
	uint64		head;
	wide_bytes	bytes;
	int			index;
} SortPoint;

static inline int
cmp_sort_point(const SortPoint *a, const SortPoint *b)
{
	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	return wt_bytes_cmp(a->bytes, b->bytes);
}

#define ST_SORT sort_heads
#define ST_ELEMENT_TYPE SortPoint
#define ST_COMPARE(a, b) cmp_sort_point(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static void
add_point(WtTable *t, int part, const WtArg *arg, StringInfo scratch, WtInterval *list, int *n)
{
	if (arg->isnull)
		return;
	resetStringInfo(scratch);
	if (encode_value(t, part, arg, scratch) != VALUE_OK)
		return;
	make_point(take(scratch), is_raw(t, part), &list[(*n)++]);
}

/* Sorts points and leaves each out but once. */
static WtInterval *
sort_points(WtInterval *list, int *n)
{
	SortPoint  *points;
	WtInterval *out;
	bool		sorted = true;
	int			k = 0;

	for (int i = 1; i < *n && sorted; i++)
		sorted = wt_bytes_cmp(list[i - 1].lo, list[i].lo) < 0;
	if (sorted)
		return list;
	points = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(SortPoint) * (Size) *n);
	for (int i = 0; i < *n; i++)
	{
		wide_bytes	b = list[i].lo;

		points[i] = (SortPoint) {.bytes = b, .index = i};
		for (size_t j = 0; j < sizeof(uint64); j++)
			points[i].head = points[i].head << 8 | (j < b.len ? b.data[j] : 0);
	}
	sort_heads(points, *n);
	out = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtInterval) * (Size) *n);
	for (int i = 0; i < *n; i++)
		if (k == 0 || wt_bytes_cmp(out[k - 1].lo, points[i].bytes) != 0)
			out[k++] = list[points[i].index];
	pfree(points);
	pfree(list);
	*n = k;
	return out;
}

/* =, = ANY, list: points, sorted and distinct. false: not known yet. */
static bool
point_intervals(WtTable *t, const WtTest *test, const WtArg *args, WtInterval **out, int *n)
{
	const WtArg *arg = &args[test->first];
	WtInterval *list;
	StringInfoData scratch;
	int			m = 0;

	initStringInfo(&scratch);
	if (test->kind == WT_COND_ANY)
	{
		ArrayType  *array;
		WtArg		element = *arg;
		int16		len;
		bool		byval;
		char		align;
		Datum	   *values;
		bool	   *nulls;
		int			count;

		if (!arg->known)
			return false;
		*out = NULL;
		*n = 0;
		if (arg->isnull)
			return true;
		array = DatumGetArrayTypeP(arg->value);
		element.type = arg->type;
		get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
		deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, &values, &nulls, &count);
		list = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtInterval) * Max(1, (Size) count));
		for (int i = 0; i < count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			element.value = values[i];
			element.isnull = nulls[i];
			if (arg_shown_as_hex(t, test->part, &element))
				return false;
			add_point(t, test->part, &element, &scratch, list, &m);
		}
		pfree(values);
		pfree(nulls);
	}
	else
	{
		for (int i = 0; i < test->n; i++)
			if (!arg[i].known || arg_shown_as_hex(t, test->part, &arg[i]))
				return false;
		list = palloc(sizeof(WtInterval) * test->n);
		for (int i = 0; i < test->n; i++)
			add_point(t, test->part, &arg[i], &scratch, list, &m);
	}
	pfree(scratch.data);
	*out = sort_points(list, &m);
	*n = m;
	return true;
}

/* <>: what lies on both sides of a value. false: not known yet. */
static bool
other_intervals(WtTable *t, const WtTest *test, const WtArg *args, WtInterval **out, int *n)
{
	const WtArg *arg = &args[test->first];
	WtInterval *list = palloc0(sizeof(WtInterval) * 2);
	WtInterval	point;
	StringInfoData s;

	*out = list;
	*n = 0;
	if (!arg->known)
		return false;
	if (arg->isnull)
		return true;
	initStringInfo(&s);
	if (encode_value(t, test->part, arg, &s) != VALUE_OK)
		return false;			/* no row is equal to it */
	make_point(take(&s), is_raw(t, test->part), &point);
	if (point.lo.len > 0)
	{
		list[*n].lo.data = (const uint8 *) "";
		list[(*n)++].hi = point.lo;
	}
	if (!point.inf)
	{
		list[*n].lo = point.hi;
		list[(*n)++].inf = true;
	}
	return true;
}

static int
hi_cmp(const WtInterval *a, const WtInterval *b)
{
	if (a->inf || b->inf)
		return (int) a->inf - (int) b->inf;
	return wt_bytes_cmp(a->hi, b->hi);
}

/* The common part of two sorted lists of disjoint intervals. */
static WtInterval *
intersect(const WtInterval *a, int na, const WtInterval *b, int nb, int *n)
{
	WtInterval *out = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtInterval) * ((Size) na + nb));
	int			i = 0,
				j = 0;

	*n = 0;
	while (i < na && j < nb)
	{
		const WtInterval *x = &a[i],
				   *y = &b[j];
		const WtInterval *lo = wt_bytes_cmp(x->lo, y->lo) >= 0 ? x : y;
		const WtInterval *hi = hi_cmp(x, y) <= 0 ? x : y;

		if (hi->inf || wt_bytes_cmp(lo->lo, hi->hi) < 0)
		{
			WtInterval *r = &out[(*n)++];

			r->lo = lo->lo;
			r->hi = hi->hi;
			r->inf = hi->inf;
			/* still the whole of a value? */
			r->point = (x->point && wt_bytes_cmp(x->lo, r->lo) == 0 && hi_cmp(x, r) == 0) ||
				(y->point && wt_bytes_cmp(y->lo, r->lo) == 0 && hi_cmp(y, r) == 0);
		}
		if (hi == x)
			i++;
		else
			j++;
	}
	return out;
}

/* Does the interval hold a string that begins with a backslash? */
static bool
holds_backslash(const WtInterval *iv)
{
	static const wide_bytes first = {(const uint8 *) "\\", 1},
				behind = {(const uint8 *) "]", 1};

	return wt_bytes_cmp(iv->lo, behind) < 0 && (iv->inf || wt_bytes_cmp(iv->hi, first) > 0);
}

bool
wt_part_intervals(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int part,
				  WtInterval **out, int *n)
{
	WtInterval *list = NULL;
	int			count = 0;
	bool		restricted = false;

	for (int i = 0; i < ntests; i++)
	{
		const WtTest *test = &tests[i];
		WtInterval *more = NULL;
		int			m = 0;

		if (test->part != part || test->clause != 0 || (test->n == 0 && test->kind != WT_COND_NEVER))
			continue;
		if (test->kind == WT_COND_NEVER)
			;
		else if (wt_is_equality(test->kind))
		{
			if (!point_intervals(t, test, args, &more, &m))
				continue;
		}
		else if (test->kind == WT_COND_NE)
		{
			if (!other_intervals(t, test, args, &more, &m))
				continue;
		}
		else
		{
			more = palloc(sizeof(WtInterval));
			if (test->kind >= WT_COND_LT && test->kind <= WT_COND_GE)
			{
				int			r = order_interval(t, test, args, more);

				if (r < 0)
					continue;
				m = r == 1;
			}
			else if (!args[test->first].known)
				continue;
			else if (args[test->first].isnull)
				m = 0;
			else if (!prefix_interval(t, test, &args[test->first], more))
				continue;
			else
				m = 1;
		}
		if (restricted)
			list = intersect(list, count, more, m, &count);
		else
		{
			list = more;
			count = m;
		}
		restricted = true;
	}
	/* what is not text is shown as text that begins with a backslash, and lies elsewhere */
	if (restricted && part == WT_PART_QUALIFIER(t) && wt_is_text(wt_part_column(t, part)->typid))
		for (int i = 0; i < count && restricted; i++)
			restricted = list[i].point || !holds_backslash(&list[i]);
	*out = list;
	*n = count;
	return restricted;
}

/* ----------------------------------------------------------------- ranges */

typedef struct KeyRange
{
	wide_bytes	lo;
	wide_bytes	hi;				/* data NULL: to the end */
	bool		point;
} KeyRange;

/* With a zero behind them, as a point's bytes have (make_point). */
static wide_bytes
join_bytes(wide_bytes a, wide_bytes b)
{
	uint8	   *p;
	wide_bytes	out;

	if (a.len == 0)
		return b;
	p = palloc(a.len + b.len + 1);
	out = (wide_bytes) {p, a.len + b.len};
	memcpy(p, a.data, a.len);
	memcpy(p + a.len, b.data, b.len);
	p[out.len] = 0;
	return out;
}

/*
 * No key is longer than WIDE_MAX_ROW: a longer bound lies right behind its
 * own beginning of that length.
 */
static wide_bytes
fit_bound(wide_bytes b)
{
	uint8	   *p;
	wide_bytes	out;

	if (b.data == NULL || b.len <= WIDE_MAX_ROW)
		return b;
	p = palloc(WIDE_MAX_ROW + 1);
	memcpy(p, b.data, WIDE_MAX_ROW);
	p[WIDE_MAX_ROW] = 0;
	out.data = p;
	out.len = WIDE_MAX_ROW + 1;
	return out;
}

static void
add_range(KeyRange **list, int *n, int *max, wide_bytes x, const WtInterval *iv)
{
	KeyRange   *r;

	if (*n == *max)
	{
		Size		size;

		*max = Max(16, *max * 2);
		size = sizeof(KeyRange) * (Size) *max;
		*list = *list ? repalloc_huge(*list, size) : MemoryContextAllocHuge(CurrentMemoryContext, size);
	}
	r = &(*list)[*n];
	r->point = false;
	if (iv == NULL)
	{
		/* everything with these leading parts */
		r->lo = x;
		if (!bytes_after(x, false, &r->hi))
			r->hi.data = NULL, r->hi.len = 0;
	}
	else if (iv->point)
	{
		/* a whole key */
		r->lo = join_bytes(x, iv->lo);
		if (r->lo.len > WIDE_MAX_ROW)
			return;
		r->hi = (wide_bytes) {r->lo.data, r->lo.len + 1};
		r->point = true;
		(*n)++;
		return;
	}
	else
	{
		r->lo = join_bytes(x, iv->lo);
		if (!iv->inf)
			r->hi = join_bytes(x, iv->hi);
		else if (!bytes_after(x, false, &r->hi))
			r->hi.data = NULL, r->hi.len = 0;
	}
	r->lo = fit_bound(r->lo);
	r->hi = fit_bound(r->hi);
	if (r->hi.data == NULL || wt_bytes_cmp(r->lo, r->hi) < 0)
		(*n)++;
}

static inline int
cmp_range(const KeyRange *a, const KeyRange *b)
{
	return wt_bytes_cmp(a->lo, b->lo);
}

#define ST_SORT sort_ranges
#define ST_ELEMENT_TYPE KeyRange
#define ST_COMPARE(a, b) cmp_range(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sort; overlapping ranges become one. */
static int
merge_ranges(KeyRange *r, int n)
{
	int			k = 0;
	bool		sorted = true;

	for (int i = 1; i < n && sorted; i++)
		sorted = cmp_range(&r[i - 1], &r[i]) < 0;
	if (!sorted)
		sort_ranges(r, n);
	for (int i = 1; i < n; i++)
	{
		int			gap = r[k].hi.data == NULL ? -1 : wt_bytes_cmp(r[i].lo, r[k].hi);

		/* those that touch become one, but whole keys stay by themselves */
		if (gap > 0 || (gap == 0 && (r[k].point || r[i].point)))
		{
			r[++k] = r[i];
			continue;
		}
		r[k].point = r[k].point && r[i].point && wt_bytes_cmp(r[k].lo, r[i].lo) == 0;
		if (r[k].hi.data != NULL && (r[i].hi.data == NULL || wt_bytes_cmp(r[i].hi, r[k].hi) > 0))
			r[k].hi = r[i].hi;
	}
	return n == 0 ? 0 : k + 1;
}

/*
 * The ranges of keys without salt in which all parts' intervals hold: appended
 * to the list, in order and disjoint.  Returns the first part that they do not
 * speak of.
 */
static int
plain_ranges(WtTable *t, const WtIntervals *parts, KeyRange **out, int *n, int *max)
{
	wide_bytes *x = palloc(sizeof(wide_bytes));
	int			nx = 1;
	int			part;

	x[0] = (wide_bytes) {(const uint8 *) "", 0};
	for (part = 0; part < t->nkeys && parts[part].restricted; part++)
	{
		const WtIntervals *p = &parts[part];
		bool		points = true,
					last = part == t->nkeys - 1;
		wide_bytes *next;
		Size		k = 0;

		for (int i = 0; i < p->n; i++)
			points = points && p->iv[i].point;
		if (nx > 1 && p->n > 1 && (double) nx * p->n > WT_MAX_PRODUCT)
			break;
		if (!points || last)
		{
			for (int i = 0; i < nx; i++)
				for (int j = 0; j < p->n; j++)
				{
					WtInterval	one = p->iv[j];

					CHECK_FOR_INTERRUPTS();
					one.point = one.point && last;
					add_range(out, n, max, x[i], &one);
				}
			return part + 1;
		}
		next = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_bytes) * (Size) nx * p->n);
		for (int i = 0; i < nx; i++)
			for (int j = 0; j < p->n; j++)
			{
				CHECK_FOR_INTERRUPTS();
				next[k++] = join_bytes(x[i], p->iv[j].lo);
			}
		x = next;
		nx = (int) k;
	}
	for (int i = 0; i < nx; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_range(out, n, max, x[i], NULL);
	}
	return part;
}

/* One way to meet all conditions after the other: one arm of each OR. */
typedef struct Ways
{
	WtTable    *t;
	int			nclauses;		/* ORs */
	int		   *narms;			/* of each */
	WtIntervals ***arms;		/* by clause and arm, nkeys entries each */
	KeyRange   *ranges;
	int			nranges;
	int			max;
	WtIntervals **kept;			/* for the key filter */
	int			nkept;
	bool		full;
	int			parts;			/* that the ranges of all ways speak of */
	bool		filter;			/* the ranges do not say it all */
} Ways;

static WtIntervals *
part_intervals(WtTable *t, const WtTest *tests, int ntests, const WtArg *args)
{
	WtIntervals *out = palloc0(sizeof(WtIntervals) * Max(1, t->nkeys));

	for (int part = 0; part < t->nkeys; part++)
		out[part].restricted = wt_part_intervals(t, tests, ntests, args, part, &out[part].iv, &out[part].n);
	for (int i = 0; i < ntests; i++)
		if (tests[i].kind == WT_COND_NEVER && tests[i].clause == 0 && t->nkeys > 0)
		{
			out[0].restricted = true;
			out[0].n = 0;
		}
	return out;
}

static void
add_way(Ways *w, WtIntervals *parts)
{
	int			stop;

	for (int part = 0; part < w->t->nkeys; part++)
		if (parts[part].restricted && parts[part].n == 0)
			return;
	if (!parts[0].restricted)
		w->full = true;
	stop = plain_ranges(w->t, parts, &w->ranges, &w->nranges, &w->max);
	w->parts = Min(w->parts, stop);
	for (int part = stop; part < w->t->nkeys; part++)
		w->filter = w->filter || parts[part].restricted;
	if (w->nkept < WT_MAX_ALTERNATIVES)
		w->kept[w->nkept] = parts;
	w->nkept++;
}

static void
find_ways(Ways *w, int clause, WtIntervals *parts)
{
	if (clause == w->nclauses)
	{
		add_way(w, parts);
		return;
	}
	CHECK_FOR_INTERRUPTS();
	for (int arm = 0; arm < w->narms[clause]; arm++)
	{
		const WtIntervals *more = w->arms[clause][arm];
		WtIntervals *both = palloc(sizeof(WtIntervals) * w->t->nkeys);

		for (int part = 0; part < w->t->nkeys; part++)
		{
			both[part] = parts[part].restricted ? parts[part] : more[part];
			if (parts[part].restricted && more[part].restricted)
				both[part].iv = intersect(parts[part].iv, parts[part].n, more[part].iv, more[part].n, &both[part].n);
		}
		find_ways(w, clause + 1, both);
	}
}

/* The arms of ORs, each by itself. */
static void
find_arms(Ways *w, const WtTest *tests, int ntests, const WtArg *args)
{
	WtTest	   *copy = palloc(sizeof(WtTest) * Max(1, ntests));

	w->narms = palloc0(sizeof(int) * Max(1, ntests));
	w->arms = palloc0(sizeof(WtIntervals **) * Max(1, ntests));
	for (int i = 0; i < ntests;)
	{
		int			clause = tests[i].clause,
					arm = tests[i].arm,
					n = 0,
					end;

		if (clause == 0)
		{
			i++;
			continue;
		}
		if (i == 0 || tests[i - 1].clause != clause)
		{
			for (end = i; end < ntests && tests[end].clause == clause; end++)
				;
			w->arms[w->nclauses++] = palloc(sizeof(WtIntervals *) * (end - i));
		}
		for (; i < ntests && tests[i].clause == clause && tests[i].arm == arm; i++)
		{
			copy[n] = tests[i];
			copy[n++].clause = 0;
		}
		w->arms[w->nclauses - 1][w->narms[w->nclauses - 1]++] = part_intervals(w->t, copy, n, args);
	}
}

/*
 * The ranges of all ways together.  Those of one way are in order; an arm of
 * which nothing is known yet restricts nothing.
 */
static KeyRange *
all_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int *n, WtRanges *out)
{
	Ways		w = {.t = t, .parts = t->nkeys};

	w.kept = palloc(sizeof(WtIntervals *) * WT_MAX_ALTERNATIVES);
	find_arms(&w, tests, ntests, args);
	find_ways(&w, 0, part_intervals(t, tests, ntests, args));
	*n = merge_ranges(w.ranges, w.nranges);
	out->full = w.full;
	out->parts = w.parts;
	out->filter = NULL;
	if (w.filter && w.nkept <= WT_MAX_ALTERNATIVES)
		out->filter = wt_key_filter_make(t, w.nkept, w.kept);
	return w.ranges;
}

static const WtTest *
test_of(const WtTest *tests, int ntests, int part)
{
	for (int i = 0; i < ntests; i++)
		if (tests[i].part == part)
			return &tests[i];
	return NULL;
}

/*
 * So many first parts of the key are equal to one value each, and nothing else
 * is said of the key; 0: it is not so.
 */
static int
equal_parts(WtTable *t, const WtTest *tests, int ntests, const WtArg *args)
{
	int			n = 0;

	if (t->salt_buckets != 0)
		return 0;
	for (int i = 0; i < ntests; i++)
	{
		const WtTest *test = &tests[i];

		if (test->clause != 0 || test->kind == WT_COND_NEVER)
			return 0;
		/* layout cells */
		if (test->part >= t->nkeys)
			continue;
		if (test->kind != WT_COND_EQ || test->n != 1 || !args[test->first].known)
			return 0;
		n++;
	}
	/* with several tests of one part, as of an outer join, there may be more than parts; what follows those is no part of the key */
	if (n > t->nkeys)
		return 0;
	/* as many tests as parts, none without: each has one */
	for (int part = 0; part < n; part++)
		if (test_of(tests, ntests, part) == NULL)
			return 0;
	return n;
}

/*
 * What the rest of this file would make of equalities alone, the most frequent
 * case: one key, or one beginning of keys, encoded in one piece.
 */
static void
equal_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int parts, WtRanges *out)
{
	StringInfoData key = {.data = palloc(KEY_ROOM), .maxlen = KEY_ROOM};
	wide_range *r = palloc(sizeof(wide_range));

	memset(out, 0, sizeof(*out));
	out->nbuckets = 1;
	out->parts = t->nkeys;
	out->n = palloc0(sizeof(int));
	out->ranges = palloc(sizeof(wide_range *));
	out->ranges[0] = r;
	for (int part = 0; part < parts; part++)
	{
		const WtArg *arg = &args[test_of(tests, ntests, part)->first];

		if (arg->isnull || encode_value(t, part, arg, &key) != VALUE_OK)
			return;
	}
	/* with a zero behind it: hi of a point */
	appendStringInfoChar(&key, '\0');
	r->lo = (wide_bytes) {(const uint8 *) key.data, key.len - 1};
	if (parts == t->nkeys)
	{
		if (r->lo.len > WIDE_MAX_ROW)
			return;
		r->hi = (wide_bytes) {r->lo.data, r->lo.len + 1};
		out->points = 1;
	}
	else
	{
		out->parts = parts;
		if (!bytes_after(r->lo, false, &r->hi))
			r->hi = (wide_bytes) {NULL, 0};
		r->lo = fit_bound(r->lo);
		r->hi = fit_bound(r->hi);
		if (r->hi.data != NULL && wt_bytes_cmp(r->lo, r->hi) >= 0)
			return;
	}
	out->n[0] = out->total = 1;
}

void
wt_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, WtRanges *out)
{
	int			n;
	KeyRange   *plain;
	int			buckets = Max(1, t->salt_buckets),
				parts = equal_parts(t, tests, ntests, args);

	if (parts > 0)
	{
		equal_ranges(t, tests, ntests, args, parts, out);
		return;
	}
	plain = all_ranges(t, tests, ntests, args, &n, out);
	out->total = n;
	out->points = 0;
	out->nbuckets = buckets;
	out->n = palloc0(sizeof(int) * buckets);
	out->ranges = palloc0(sizeof(wide_range *) * buckets);
	for (int i = 0; i < n; i++)
		out->points += plain[i].point;
	for (int b = 0; b < buckets; b++)
	{
		out->ranges[b] = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_range) * (Size) Max(1, n));
		for (int i = 0; i < n; i++)
		{
			wide_range *r = &out->ranges[b][out->n[b]];
			uint8		salt = (uint8) b,
						next = (uint8) (b + 1);
			wide_bytes	s = {&salt, 1};

			CHECK_FOR_INTERRUPTS();
			if (t->salt_buckets == 0)
			{
				r->lo = plain[i].lo;
				r->hi = plain[i].hi;
				out->n[b]++;
				continue;
			}
			/* a whole key is in one bucket only */
			if (plain[i].point && wt_salt(plain[i].lo.data, plain[i].lo.len, t->salt_buckets) != b)
				continue;
			r->lo = join_bytes(s, plain[i].lo);
			if (plain[i].hi.data != NULL)
				r->hi = join_bytes(s, plain[i].hi);
			else if (b == 255)
				r->hi = plain[i].hi;
			else
			{
				s.data = &next;
				r->hi = join_bytes(s, (wide_bytes) {(const uint8 *) "", 0});
			}
			out->n[b]++;
		}
	}
}
