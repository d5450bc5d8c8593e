/*
 * key_range.c
 *		Tests on parts of the key -> ranges of row keys.
 *
 * WHERE clauses become ranges of keys in two steps.  The planner recognises a
 * clause as a condition on one part of the key, whose value need not be known
 * (fdw/plan/key_condition.c).  Once values are known, this room turns conditions,
 * now called tests, into ranges:
 *
 *	key_value.c		a value becomes the bytes of a part, if the part can hold it
 *	key_interval.c	the tests on a part become intervals of bytes
 *	key_range.c		the intervals of the parts, one after the other, become ranges:
 *					parts that are bound to values, then one part with an interval
 *	key_filter.c	tests on parts behind that interval, or behind a part without tests
 *
 * The planner's estimates and the scans use the same code.
 *
 * Each OR is a disjunction of arms.  A way is one arm of each OR with the tests
 * outside of ORs; the ranges are those of all ways together.
 */
#include "postgres.h"

#include "fdw/key/key_range.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "fdw/key/key_filter.h"
#include "fdw/key/key_interval.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/store/bytes.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"

#define KEY_ROOM 128 /* bytes that are allocated for a key at first */

/* Returns true if a range without salt is a single key: its upper end is then the key and the zero
 * byte behind it, in the same memory. */
static inline bool
is_point(const wide_range *r)
{
	return r->hi.data == r->lo.data;
}

/* Returns a and b in one piece, with a zero byte behind them as in wt_key_value_point. */
static wide_bytes
join_bytes(wide_bytes a, wide_bytes b)
{
	uint8 *p;
	wide_bytes out;

	if (a.len == 0)
		return b;
	p = palloc(a.len + b.len + 1);
	out = (wide_bytes) {p, a.len + b.len};
	memcpy(p, a.data, a.len);
	wt_bytes_copy(p + a.len, b.data, b.len);
	p[out.len] = 0;
	return out;
}

/*
 * Shortens a bound that is longer than any key: it is right behind the key that its
 * first WIDE_MAX_ROW bytes are.
 */
static wide_bytes
fit_bound(wide_bytes b)
{
	uint8 *p;

	if (b.data == NULL || b.len <= WIDE_MAX_ROW)
		return b;
	p = palloc(WIDE_MAX_ROW + 1);
	memcpy(p, b.data, WIDE_MAX_ROW);
	p[WIDE_MAX_ROW] = 0;
	return (wide_bytes) {p, WIDE_MAX_ROW + 1};
}

/* Returns the upper end of keys that begin with x. */
static wide_bytes
end_of_prefix(wide_bytes x)
{
	wide_bytes end;

	return wt_key_value_after(x, false, &end) ? end : (wide_bytes) {NULL, 0};
}

/*
 * Adds the range of keys that begin with x and go on with an interval (NULL: with anything).
 * A point is the rest of a whole key.
 */
static void
add_range(wide_range **list, int *n, int *max, wide_bytes x, const WtInterval *iv)
{
	wide_range r = {.lo = iv == NULL ? x : join_bytes(x, iv->lo)};

	if (iv != NULL && iv->point)
	{
		if (r.lo.len > WIDE_MAX_ROW)
			return;
		r.hi = (wide_bytes) {r.lo.data, r.lo.len + 1};
	}
	else
	{
		r.lo = fit_bound(r.lo);
		r.hi = fit_bound(iv == NULL || iv->inf ? end_of_prefix(x) : join_bytes(x, iv->hi));
		if (r.hi.data != NULL && wt_bytes_cmp(r.lo, r.hi) >= 0)
			return;
	}
	if (*n == *max)
	{
		Size size;

		*max = Max(16, *max * 2);
		size = sizeof(wide_range) * (Size) *max;
		*list = *list ? repalloc_huge(*list, size)
					  : MemoryContextAllocHuge(CurrentMemoryContext, size);
	}
	(*list)[(*n)++] = r;
}

static inline int
cmp_range(const wide_range *a, const wide_range *b)
{
	return wt_bytes_cmp(a->lo, b->lo);
}

#define ST_SORT			 sort_ranges
#define ST_ELEMENT_TYPE	 wide_range
#define ST_COMPARE(a, b) cmp_range(a, b)
#define ST_SCOPE		 static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sorts the ranges and joins those that overlap or touch.  Returns their number. */
static int
merge_ranges(wide_range *r, int n)
{
	int k = 0;
	bool sorted = true;

	for (int i = 1; i < n && sorted; i++)
		sorted = cmp_range(&r[i - 1], &r[i]) < 0;
	if (!sorted)
		sort_ranges(r, n);
	for (int i = 1; i < n; i++)
	{
		int gap = r[k].hi.data == NULL ? -1 : wt_bytes_cmp(r[i].lo, r[k].hi);

		/* a single key stays by itself, because the engine reads it as a get */
		if (gap > 0 || (gap == 0 && (is_point(&r[k]) || is_point(&r[i]))))
		{
			r[++k] = r[i];
			continue;
		}
		if (r[k].hi.data != NULL && (r[i].hi.data == NULL || wt_bytes_cmp(r[i].hi, r[k].hi) > 0))
			r[k].hi = r[i].hi;
	}
	return n == 0 ? 0 : k + 1;
}

/*
 * Appends the ranges of keys whose leading parts are in the parts' intervals, sorted
 * and disjoint.  Returns the number of parts that the ranges contain.
 */
static int
plain_ranges(WtTable *t, const WtIntervals *parts, wide_range **out, int *n, int *max)
{
	wide_bytes *x = palloc(sizeof(wide_bytes));
	int nx = 1;
	int part;

	x[0] = (wide_bytes) {(const uint8 *) "", 0};
	for (part = 0; part < t->nkeys && parts[part].restricted; part++)
	{
		const WtIntervals *p = &parts[part];
		bool points = true, last = part == t->nkeys - 1;
		wide_bytes *next;
		Size k = 0;

		for (int i = 0; i < p->n; i++)
			points = points && p->iv[i].point;
		if (nx > 1 && p->n > 1 && (double) nx * p->n > WT_MAX_PRODUCT)
			break;
		if (!points || last)
		{
			for (int i = 0; i < nx; i++)
				for (int j = 0; j < p->n; j++)
				{
					WtInterval one = p->iv[j];

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

/* The search for all ways */
typedef struct Ways
{
	WtTable *t;
	int nclauses;		 /* ORs */
	int *narms;			 /* of each */
	WtIntervals ***arms; /* by clause and arm, nkeys entries each */
	/* results */
	wide_range *ranges;
	int nranges;
	int max;					/* allocated */
	WtIntervals **alternatives; /* of the key filter: the ways, up to WT_MAX_ALTERNATIVES */
	int nways;
	bool filter;   /* the ranges of a way do not contain all its tests */
	WtRanges *out; /* full and parts are set for each way */
} Ways;

/* Returns the intervals of all key parts, by the tests outside of ORs. */
static WtIntervals *
part_intervals(WtTable *t, const WtTest *tests, int ntests, const WtArg *args)
{
	WtIntervals *out = palloc0(sizeof(WtIntervals) * Max(1, t->nkeys));

	for (int part = 0; part < t->nkeys; part++)
		out[part] = wt_key_interval_of_part(t, tests, ntests, args, part);
	return out;
}

/* Adds the ranges of one way. */
static void
add_way(Ways *w, WtIntervals *parts)
{
	int stop;

	for (int part = 0; part < w->t->nkeys; part++)
		if (parts[part].restricted && parts[part].n == 0)
			return;
	if (!parts[0].restricted)
		w->out->full = true;
	stop = plain_ranges(w->t, parts, &w->ranges, &w->nranges, &w->max);
	w->out->parts = Min(w->out->parts, stop);
	for (int part = stop; part < w->t->nkeys; part++)
		w->filter = w->filter || parts[part].restricted;
	if (w->nways < WT_MAX_ALTERNATIVES)
		w->alternatives[w->nways] = parts;
	w->nways++;
}

/* Adds all ways that have these intervals, and one arm of each OR from clause on. */
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
			both[part] = wt_key_interval_intersect(parts[part], more[part]);
		find_ways(w, clause + 1, both);
	}
}

/* Fills in the ORs: the intervals of each arm by itself. */
static void
find_arms(Ways *w, const WtTest *tests, int ntests, const WtArg *args)
{
	WtTest *copy = palloc(sizeof(WtTest) * Max(1, ntests));

	w->narms = palloc0(sizeof(int) * Max(1, ntests));
	w->arms = palloc0(sizeof(WtIntervals **) * Max(1, ntests));
	for (int i = 0; i < ntests;)
	{
		int clause = tests[i].clause, arm = tests[i].arm, n = 0, end;

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

/* Returns the ranges of all ways together, without salt. */
static wide_range *
all_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int *n, WtRanges *out)
{
	Ways w = {.t = t, .out = out};

	*out = (WtRanges) {.parts = t->nkeys};
	w.alternatives = palloc(sizeof(WtIntervals *) * WT_MAX_ALTERNATIVES);
	find_arms(&w, tests, ntests, args);
	find_ways(&w, 0, part_intervals(t, tests, ntests, args));
	*n = merge_ranges(w.ranges, w.nranges);
	if (w.filter && w.nways <= WT_MAX_ALTERNATIVES)
		out->filter = wt_key_filter_make(t, w.nways, w.alternatives);
	return w.ranges;
}

/* Returns the first test on a part, NULL if there is none. */
static const WtTest *
test_of(const WtTest *tests, int ntests, int part)
{
	for (int i = 0; i < ntests; i++)
		if (tests[i].part == part)
			return &tests[i];
	return NULL;
}

/*
 * Returns the number of leading parts that are equal to one value each, if there are
 * no other tests on the key and no salt; else 0.
 */
static int
equal_parts(WtTable *t, const WtTest *tests, int ntests, const WtArg *args)
{
	int n = 0, keys = 0;

	if (t->salt_buckets != 0)
		return 0;
	for (int i = 0; i < ntests; i++)
	{
		const WtTest *test = &tests[i];

		if (test->clause != 0)
			return 0;
		/* layout cells: not on the key */
		if (test->part >= t->nkeys)
			continue;
		if (test->kind != WT_COND_EQ || test->n != 1 || !args[test->first].known)
			return 0;
		keys++;
	}
	while (n < t->nkeys && test_of(tests, ntests, n) != NULL)
		n++;
	/* a part may have several tests, for example below an outer join */
	return n == keys ? n : 0;
}

/*
 * The most frequent case, equal_parts() > 0: makes the same as the rest of this file,
 * one key or one prefix of keys, without its intermediate steps.
 */
static void
equal_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int parts,
			 WtRanges *out)
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

		if (arg->isnull || wt_key_value_encode(t, part, arg, &key) != WT_VALUE_OK)
			return;
	}
	/* with this zero byte it is hi of a point */
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
		r->hi = fit_bound(end_of_prefix(r->lo));
		r->lo = fit_bound(r->lo);
		if (r->hi.data != NULL && wt_bytes_cmp(r->lo, r->hi) >= 0)
			return;
	}
	out->n[0] = out->total = 1;
}

/* Returns the range with the salt of bucket b in front. */
static wide_range
salted_range(const wide_range *plain, int b)
{
	uint8 salt = (uint8) b, next = (uint8) (b + 1);
	wide_range r = {.lo = join_bytes((wide_bytes) {&salt, 1}, plain->lo)};

	if (plain->hi.data != NULL)
		r.hi = join_bytes((wide_bytes) {&salt, 1}, plain->hi);
	else if (b < 255)
		r.hi = join_bytes((wide_bytes) {&next, 1}, (wide_bytes) {(const uint8 *) "", 0});
	return r;
}

void
wt_key_range_make(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, WtRanges *out)
{
	int n;
	wide_range *plain;
	int buckets = Max(1, t->salt_buckets), parts = equal_parts(t, tests, ntests, args);

	if (parts > 0)
	{
		equal_ranges(t, tests, ntests, args, parts, out);
		return;
	}
	plain = all_ranges(t, tests, ntests, args, &n, out);
	out->total = n;
	out->nbuckets = buckets;
	out->n = palloc0(sizeof(int) * buckets);
	out->ranges = palloc0(sizeof(wide_range *) * buckets);
	for (int i = 0; i < n; i++)
		out->points += is_point(&plain[i]);
	if (t->salt_buckets == 0)
	{
		out->n[0] = n;
		out->ranges[0] = plain;
		return;
	}
	for (int b = 0; b < buckets; b++)
	{
		wide_range *r = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(wide_range) * (Size) Max(1, n));

		out->ranges[b] = r;
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			/* a single key is in one bucket */
			if (!is_point(&plain[i]) ||
				wt_rowkey_salt(plain[i].lo.data, plain[i].lo.len, t->salt_buckets) == b)
				*r++ = salted_range(&plain[i], b);
		}
		out->n[b] = (int) (r - out->ranges[b]);
	}
}
