/*
 * key_interval.c
 *		Tests -> the values of one part that pass them, as intervals of bytes.
 *
 * An interval may be too wide where the clause is tested again, but never too narrow.
 */
#include "postgres.h"

#include "fdw/key/key_interval.h"

#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "engine/wide.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* Returns the beginning of a value as it is in the key: escaped, inverted. */
static wide_bytes
encode_prefix(WtTable *t, int part, StringInfo prefix)
{
	WtColumn *c = wt_part_column(t, part);
	StringInfoData s;
	int first;
	bool escape = part < t->nkeys && !c->delimited && !wt_key_value_is_raw(t, part);

	initStringInfo(&s);
	if (part < t->nkeys && c->nullable)
		appendStringInfoChar(&s, (char) *wt_rowkey_value_mark(c).data);
	first = s.len;
	for (int i = 0; i < prefix->len; i++)
	{
		appendStringInfoChar(&s, prefix->data[i]);
		if (escape && prefix->data[i] == '\0')
			appendStringInfoChar(&s, (char) 0xFF);
	}
	if (part < t->nkeys && c->desc)
		for (int i = first; i < s.len; i++)
			s.data[i] = ~s.data[i];
	return wt_bytes_of(&s);
}

/* Layout 'cells': returns true if the text may be how bytes that are not text are shown. */
static bool
shown_as_hex(WtTable *t, int part, const char *data, int len)
{
	return part >= t->nkeys && wt_is_text(wt_part_column(t, part)->typid) && len > 0 &&
		   data[0] == '\\';
}

static bool
arg_shown_as_hex(WtTable *t, int part, const WtArg *arg)
{
	struct varlena *v;

	if (part < t->nkeys)
		return false;
	v = PG_DETOAST_DATUM_PACKED(arg->value);
	return shown_as_hex(t, part, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
}

/* LIKE, ^@, ~: one interval.  Returns false if the pattern restricts nothing.
 * Requires: the value is known and not null. */
static bool
prefix_interval(WtTable *t, const WtTest *test, const WtArg *arg, WtInterval *out)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(arg->value);
	StringInfoData prefix;
	bool whole = false;

	initStringInfo(&prefix);
	if (test->kind == WT_COND_STARTS)
		appendBinaryStringInfo(&prefix, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	else if (test->kind == WT_COND_LIKE)
		whole = wt_key_value_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix) ==
				WT_LIKE_VALUE;
	else
	{
		char *p = regexp_fixed_prefix((text *) v, false, C_COLLATION_OID, &whole);

		whole = false;
		if (p != NULL)
			appendStringInfoString(&prefix, p);
	}
	if (shown_as_hex(t, test->part, prefix.data, prefix.len))
		return false;
	if (whole)
	{
		/* without a wildcard: equality */
		WtArg same = *arg;
		StringInfoData s;

		same.value = PointerGetDatum(cstring_to_text_with_len(prefix.data, prefix.len));
		initStringInfo(&s);
		if (wt_key_value_encode(t, test->part, &same, &s) == WT_VALUE_OK)
		{
			wt_key_value_point(wt_bytes_of(&s), wt_key_value_is_raw(t, test->part), out);
			return true;
		}
	}
	if (prefix.len == 0)
		return false;
	out->lo = encode_prefix(t, test->part, &prefix);
	out->inf = !wt_key_value_after(out->lo, false, &out->hi);
	out->point = false;
	return true;
}

/* What the values of a row comparison say together */
typedef enum Bound
{
	BOUND_NONE,	 /* nothing is known */
	BOUND_NEVER, /* no row passes */
	BOUND_AT	 /* rows below or above the bytes pass */
} Bound;

/*
 * Appends the bytes of the values, up to the first one that has none.  *inclusive: the test
 * passes rows that begin with these bytes.  *raw: as wt_key_value_is_raw, of the last value.
 */
static Bound
order_bound(WtTable *t, const WtTest *test, const WtArg *args, bool less, StringInfo s,
			bool *inclusive, bool *raw)
{
	for (int i = 0; i < test->n; i++)
	{
		int part = test->part + i;
		WtArg arg = args[test->first + i];
		WtValueFate fate = WT_VALUE_NONE;

		if (arg.known && arg.isnull)
		{
			/* rows that are equal so far compare as null */
			*inclusive = false;
			return i == 0 ? BOUND_NEVER : BOUND_AT;
		}
		if (arg.known &&
			(part >= t->nkeys || wt_key_value_move_local_bound(wt_key_column(t, part), less, &arg)))
			fate = wt_key_value_encode(t, part, &arg, s);
		if (fate == WT_VALUE_NONE)
		{
			*inclusive = true;
			return i == 0 ? BOUND_NONE : BOUND_AT;
		}
		*raw = (fate == WT_VALUE_OK || fate == WT_VALUE_BEHIND) && wt_key_value_is_raw(t, part);
		if (fate != WT_VALUE_OK)
		{
			/* rows that are equal so far are all on one side of the value */
			*inclusive = less == (fate != WT_VALUE_BELOW);
			return BOUND_AT;
		}
	}
	return BOUND_AT;
}

/* <, <=, >, >= of one value or a row of values: at most one interval, at *out.  Returns false if
 * nothing is restricted. */
static bool
order_interval(WtTable *t, const WtTest *test, const WtArg *args, WtInterval *out, int *n)
{
	bool less = test->kind == WT_COND_LT || test->kind == WT_COND_LE;
	bool inclusive = test->kind == WT_COND_LE || test->kind == WT_COND_GE;
	bool upper = less != wt_part_is_descending(t, test->part);
	bool raw = false;
	StringInfoData s;
	wide_bytes bytes;
	Bound bound;

	*n = 0;
	initStringInfo(&s);
	bound = order_bound(t, test, args, less, &s, &inclusive, &raw);
	if (bound != BOUND_AT)
		return bound == BOUND_NEVER;
	bytes = wt_bytes_of(&s);
	*out = (WtInterval) {.lo = {(const uint8 *) "", 0}, .inf = true};
	if (upper && !inclusive)
	{
		out->hi = bytes;
		out->inf = false;
	}
	else if (upper)
		out->inf = !wt_key_value_after(bytes, raw, &out->hi);
	else if (inclusive)
		out->lo = bytes;
	else if (!wt_key_value_after(bytes, raw, &out->lo))
		return true;
	*n = 1;
	return true;
}

/* A point while points are sorted: most comparisons need its first bytes only. */
typedef struct SortPoint
{
	uint64 head; /* the first bytes, big-endian */
	wide_bytes bytes;
	int index; /* in the list */
} SortPoint;

static inline int
cmp_sort_point(const SortPoint *a, const SortPoint *b)
{
	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	return wt_bytes_cmp(a->bytes, b->bytes);
}

#define ST_SORT			 sort_heads
#define ST_ELEMENT_TYPE	 SortPoint
#define ST_COMPARE(a, b) cmp_sort_point(a, b)
#define ST_SCOPE		 static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sorts points and removes duplicates.  Returns the list, or another one in its place. */
static WtInterval *
sort_points(WtInterval *list, int *n)
{
	SortPoint *points;
	WtInterval *out;
	bool sorted = true;
	int k = 0;

	for (int i = 1; i < *n && sorted; i++)
		sorted = wt_bytes_cmp(list[i - 1].lo, list[i].lo) < 0;
	if (sorted)
		return list;
	points = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(SortPoint) * (Size) *n);
	for (int i = 0; i < *n; i++)
	{
		wide_bytes b = list[i].lo;

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

/* =, = ANY, list: points, sorted and distinct.  Returns false if nothing is restricted. */
static bool
point_intervals(WtTable *t, const WtTest *test, const WtArg *args, WtInterval **out, int *n)
{
	WtArg *values;
	WtInterval *list;
	StringInfoData scratch;
	int count;

	*n = 0;
	if (!wt_key_value_list(test, args, &values, &count))
		return false;
	initStringInfo(&scratch);
	list = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtInterval) * Max(1, (Size) count));
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (arg_shown_as_hex(t, test->part, &values[i]))
			return false;
		resetStringInfo(&scratch);
		if (wt_key_value_encode(t, test->part, &values[i], &scratch) == WT_VALUE_OK)
			wt_key_value_point(wt_bytes_of(&scratch), wt_key_value_is_raw(t, test->part),
							   &list[(*n)++]);
	}
	pfree(values);
	pfree(scratch.data);
	*out = sort_points(list, n);
	return true;
}

/* <>: the intervals on both sides of a value.  Returns false if nothing is restricted. */
static bool
other_intervals(WtTable *t, const WtTest *test, const WtArg *args, WtInterval **out, int *n)
{
	const WtArg *arg = &args[test->first];
	WtInterval *list = palloc0(sizeof(WtInterval) * 2);
	WtInterval point;
	StringInfoData s;

	*out = list;
	*n = 0;
	if (!arg->known)
		return false;
	if (arg->isnull)
		return true;
	initStringInfo(&s);
	if (wt_key_value_encode(t, test->part, arg, &s) != WT_VALUE_OK)
		return false; /* no row is equal to it */
	wt_key_value_point(wt_bytes_of(&s), wt_key_value_is_raw(t, test->part), &point);
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

WtIntervals
wt_key_interval_intersect(WtIntervals a, WtIntervals b)
{
	WtIntervals out = {.restricted = true};
	int i = 0, j = 0;

	if (!a.restricted || !b.restricted)
		return a.restricted ? a : b;
	out.iv = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtInterval) * ((Size) a.n + b.n));
	while (i < a.n && j < b.n)
	{
		const WtInterval *x = &a.iv[i], *y = &b.iv[j];
		const WtInterval *lo = wt_bytes_cmp(x->lo, y->lo) >= 0 ? x : y;
		const WtInterval *hi = hi_cmp(x, y) <= 0 ? x : y;

		if (hi->inf || wt_bytes_cmp(lo->lo, hi->hi) < 0)
		{
			WtInterval *r = &out.iv[out.n++];

			*r = (WtInterval) {.lo = lo->lo, .hi = hi->hi, .inf = hi->inf};
			/* a point stays one if it is left as a whole; with its own bytes, because a zero byte
			 * follows these */
			if (x->point && wt_bytes_cmp(x->lo, r->lo) == 0 && hi_cmp(x, r) == 0)
				*r = *x;
			else if (y->point && wt_bytes_cmp(y->lo, r->lo) == 0 && hi_cmp(y, r) == 0)
				*r = *y;
		}
		if (hi == x)
			i++;
		else
			j++;
	}
	return out;
}

/* Returns true if strings that begin with a backslash are in the interval. */
static bool
holds_backslash(const WtInterval *iv)
{
	static const wide_bytes first = {(const uint8 *) "\\", 1}, behind = {(const uint8 *) "]", 1};

	return wt_bytes_cmp(iv->lo, behind) < 0 && (iv->inf || wt_bytes_cmp(iv->hi, first) > 0);
}

/* Of a nullable part: all values. */
static WtIntervals
all_values(const WtColumn *c)
{
	WtIntervals p = {.restricted = true, .n = 1, .iv = palloc0(sizeof(WtInterval))};

	p.iv->lo = wt_rowkey_value_mark(c);
	p.iv->inf = !wt_key_value_after(p.iv->lo, false, &p.iv->hi);
	return p;
}

/* The values that pass one test. */
static WtIntervals
test_intervals(WtTable *t, const WtTest *test, const WtArg *args)
{
	WtIntervals p = {0};

	switch (test->kind)
	{
		case WT_COND_NULL:
			p.restricted = true;
			break;
		case WT_COND_EQ:
		case WT_COND_ANY:
		case WT_COND_LIST:
			p.restricted = point_intervals(t, test, args, &p.iv, &p.n);
			break;
		case WT_COND_NE:
			p.restricted = other_intervals(t, test, args, &p.iv, &p.n);
			break;
		case WT_COND_LT:
		case WT_COND_LE:
		case WT_COND_GT:
		case WT_COND_GE:
			p.iv = palloc(sizeof(WtInterval));
			p.restricted = order_interval(t, test, args, p.iv, &p.n);
			break;
		case WT_COND_LIKE:
		case WT_COND_STARTS:
		case WT_COND_REGEX:
			if (!args[test->first].known)
				break;
			p.restricted = true;
			if (args[test->first].isnull)
				break;
			p.iv = palloc(sizeof(WtInterval));
			p.n = 1;
			p.restricted = prefix_interval(t, test, &args[test->first], p.iv);
			break;
		default:
			break;
	}
	/* a test that turned out to say nothing may have left some intervals */
	if (!p.restricted)
		p = (WtIntervals) {0};
	/* a part without a value passes no test, also none that all values pass */
	return test->part < t->nkeys && wt_key_column(t, test->part)->nullable
			   ? wt_key_interval_intersect(p, all_values(wt_key_column(t, test->part)))
			   : p;
}

WtIntervals
wt_key_interval_of_part(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int part)
{
	WtIntervals out = {0};

	for (int i = 0; i < ntests; i++)
		if (tests[i].part == part && tests[i].clause == 0)
			out = wt_key_interval_intersect(out, test_intervals(t, &tests[i], args));
	/* bytes that are not text are shown as text that begins with a backslash, in another order */
	if (out.restricted && part == WT_PART_QUALIFIER(t) &&
		wt_is_text(wt_part_column(t, part)->typid))
		for (int i = 0; i < out.n && out.restricted; i++)
			out.restricted = out.iv[i].point || !holds_backslash(&out.iv[i]);
	return out.restricted ? out : (WtIntervals) {0};
}
