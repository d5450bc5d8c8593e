/*
 * key_interval.c
 *		The values that conditions leave of one part of the key, as intervals of bytes.
 */
#include "postgres.h"

#include "fdw/key/key_interval.h"

#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "engine/wide.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* The beginning of a value as it stands in the key: escaped, inverted. */
static wide_bytes
encode_prefix(WtTable *t, int part, StringInfo prefix)
{
	WtColumn *c = wt_part_column(t, part);
	StringInfoData s;
	bool escape = part < t->nkeys && !c->delimited && !wt_key_value_is_raw(t, part);

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
	return wt_key_value_take(&s);
}

/* Could this be how bytes that are not text are shown in the layout 'cells'? */
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
	bool whole = false;

	initStringInfo(&prefix);
	if (test->kind == WT_COND_STARTS)
		appendBinaryStringInfo(&prefix, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	else if (test->kind == WT_COND_LIKE)
		whole = wt_key_value_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix);
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
		/* no wildcard at all: equality */
		WtArg same = *arg;
		StringInfoData s;

		same.value = PointerGetDatum(cstring_to_text_with_len(prefix.data, prefix.len));
		initStringInfo(&s);
		if (wt_key_value_encode(t, test->part, &same, &s) == WT_VALUE_OK)
		{
			wt_key_value_point(wt_key_value_take(&s), wt_key_value_is_raw(t, test->part), out);
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

/*
 * <, <=, >, >= of one value or a row of values.  1: *out, 0: no row, -1: no
 * restriction.
 */
static int
order_interval(WtTable *t, const WtTest *test, const WtArg *args, WtInterval *out)
{
	bool less = test->kind == WT_COND_LT || test->kind == WT_COND_LE;
	bool inclusive = test->kind == WT_COND_LE || test->kind == WT_COND_GE;
	bool raw = false;
	bool upper = less != wt_part_is_descending(t, test->part);
	StringInfoData s;
	wide_bytes bound;

	initStringInfo(&s);
	for (int i = 0; i < test->n; i++)
	{
		const WtArg *arg = &args[test->first + i];
		WtArg moved;
		WtValueFate fate;

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
		fate = test->part >= t->nkeys ||
					   wt_key_value_move_local_bound(wt_key_column(t, test->part + i), less, &moved)
				   ? wt_key_value_encode(t, test->part + i, &moved, &s)
				   : WT_VALUE_UNKNOWN;
		if (fate == WT_VALUE_UNKNOWN || fate == WT_VALUE_NONE)
		{
			if (i == 0)
				return -1;
			inclusive = true;
			break;
		}
		if (fate != WT_VALUE_OK)
		{
			/* all rows that agree so far are on one side */
			inclusive = less == (fate != WT_VALUE_BELOW);
			raw = fate == WT_VALUE_BEHIND && wt_key_value_is_raw(t, test->part + i);
			break;
		}
		raw = wt_key_value_is_raw(t, test->part + i);
	}
	bound = wt_key_value_take(&s);
	memset(out, 0, sizeof(*out));
	out->lo.data = (const uint8 *) "";
	out->inf = true;
	if (upper && !inclusive)
	{
		out->hi = bound;
		out->inf = false;
	}
	else if (upper)
		out->inf = !wt_key_value_after(bound, raw, &out->hi);
	else if (inclusive)
		out->lo = bound;
	else if (!wt_key_value_after(bound, raw, &out->lo))
		return 0;
	return 1;
}

/* While points are sorted: the first bytes decide most comparisons without a look at the rest. */
typedef struct SortPoint
{
	uint64 head;
	wide_bytes bytes;
	int index;
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

static void
add_point(WtTable *t, int part, const WtArg *arg, StringInfo scratch, WtInterval *list, int *n)
{
	if (arg->isnull)
		return;
	resetStringInfo(scratch);
	if (wt_key_value_encode(t, part, arg, scratch) != WT_VALUE_OK)
		return;
	wt_key_value_point(wt_key_value_take(scratch), wt_key_value_is_raw(t, part), &list[(*n)++]);
}

/* Sorts points and leaves each out but once. */
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

/* =, = ANY, list: points, sorted and distinct. false: not known yet. */
static bool
point_intervals(WtTable *t, const WtTest *test, const WtArg *args, WtInterval **out, int *n)
{
	const WtArg *arg = &args[test->first];
	WtInterval *list;
	StringInfoData scratch;
	int m = 0;

	initStringInfo(&scratch);
	if (test->kind == WT_COND_ANY)
	{
		ArrayType *array;
		WtArg element = *arg;
		int16 len;
		bool byval;
		char align;
		Datum *values;
		bool *nulls;
		int count;

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
		list = MemoryContextAllocHuge(CurrentMemoryContext,
									  sizeof(WtInterval) * Max(1, (Size) count));
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
	wt_key_value_point(wt_key_value_take(&s), wt_key_value_is_raw(t, test->part), &point);
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

WtInterval *
wt_key_interval_intersect(const WtInterval *a, int na, const WtInterval *b, int nb, int *n)
{
	WtInterval *out = MemoryContextAllocHuge(CurrentMemoryContext,
											 sizeof(WtInterval) * ((Size) na + nb));
	int i = 0, j = 0;

	*n = 0;
	while (i < na && j < nb)
	{
		const WtInterval *x = &a[i], *y = &b[j];
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
	static const wide_bytes first = {(const uint8 *) "\\", 1}, behind = {(const uint8 *) "]", 1};

	return wt_bytes_cmp(iv->lo, behind) < 0 && (iv->inf || wt_bytes_cmp(iv->hi, first) > 0);
}

bool
wt_key_interval_of_part(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int part,
						WtInterval **out, int *n)
{
	WtInterval *list = NULL;
	int count = 0;
	bool restricted = false;

	for (int i = 0; i < ntests; i++)
	{
		const WtTest *test = &tests[i];
		WtInterval *more = NULL;
		int m = 0;

		if (test->part != part || test->clause != 0 ||
			(test->n == 0 && test->kind != WT_COND_NEVER))
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
				int r = order_interval(t, test, args, more);

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
			list = wt_key_interval_intersect(list, count, more, m, &count);
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
