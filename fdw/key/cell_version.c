/*
 * cell_version.c
 *		Layout 'cells': tests on versions -> limits that a scan passes to the engine.
 *
 * The limits are a largest number of versions, of a column and of a row, and an
 * interval of timestamps.  They are wider than the clauses where these cannot be
 * said so (lists, values out of range); PostgreSQL tests the clauses again.
 *
 * A condition on ts filters the versions that the layout shows.  It changes neither
 * their numbers nor what a delete hides.  So it is not the time range of
 * widetable.as_of, in which a delete that is newer than the range does not count.
 */
#include "postgres.h"

#include "fdw/key/cell_version.h"

#include "catalog/pg_type.h"
#include "utils/timestamp.h"

#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/store/clock.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

int
wt_cell_version_limit(const WtTest *tests, int ntests, const WtArg *args, int part)
{
	int64 limit = PG_INT32_MAX;

	for (int i = 0; i < ntests; i++)
	{
		const WtTest *test = &tests[i];
		int64 most = 0;
		WtArg *values;
		int n;

		if (test->part != part || test->kind == WT_COND_GT || test->kind == WT_COND_GE ||
			!wt_key_value_list(test, args, &values, &n))
			continue;
		for (int k = 0; k < n; k++)
		{
			int64 x = wt_integer_value(values[k].type, values[k].value);

			if (test->kind == WT_COND_LT && x > PG_INT32_MIN)
				x--;
			most = Max(most, x);
		}
		limit = Min(limit, most);
	}
	/* below 1 no version passes; PostgreSQL finds that out when it tests the clauses */
	return (int) Max(limit, 1);
}

/*
 * Finds the engine's timestamps that are shown as the value: *lo to *hi.  *exact: there is
 * only one, and smaller values have smaller timestamps.
 */
static void
timestamps_of(const WtColumn *c, const WtArg *arg, int64 *lo, int64 *hi, bool *exact)
{
	Datum value = arg->value;
	WtValueFate fate = wt_key_value_adapt(c, arg->type, &value);
	int64 v = DatumGetInt64(value);

	*exact = false;
	if (c->typid != INT8OID && TIMESTAMP_IS_NOBEGIN(v))
	{
		/* timestamps before those of PostgreSQL are shown as this */
		*lo = PG_INT64_MIN;
		*hi = MIN_TIMESTAMP + WT_EPOCH_DIFF;
	}
	else if (c->typid != INT8OID && (fate == WT_VALUE_BEHIND || TIMESTAMP_IS_NOEND(v)))
		/* above all timestamps of cells */
		*lo = *hi = PG_INT64_MAX;
	else
	{
		*lo = *hi = c->typid == INT8OID ? v : v + WT_EPOCH_DIFF;
		*exact = true;
	}
}

/* Finds the timestamps that pass one test: *a to *b.  Returns false if all may pass. */
static bool
test_interval(WtTable *t, const WtTest *test, const WtArg *args, int64 *a, int64 *b)
{
	const WtColumn *c = wt_part_column(t, WT_PART_TS(t));
	WtArg *values;
	int n;
	bool exact = true;

	if (!wt_key_value_list(test, args, &values, &n))
		return false;
	*a = PG_INT64_MAX;
	*b = PG_INT64_MIN;
	for (int i = 0; i < n; i++)
	{
		int64 lo, hi;

		timestamps_of(c, &values[i], &lo, &hi, &exact);
		*a = Min(*a, lo);
		*b = Max(*b, hi);
	}
	if (n == 0)
		return true; /* only nulls: an empty interval */
	if (test->kind == WT_COND_LT || test->kind == WT_COND_LE)
		*a = PG_INT64_MIN;
	if (test->kind == WT_COND_GT || test->kind == WT_COND_GE)
		*b = PG_INT64_MAX;
	if (test->kind == WT_COND_GT && exact && *a < PG_INT64_MAX)
		++*a;
	if (test->kind == WT_COND_LT && exact && *b > PG_INT64_MIN)
		--*b;
	return true;
}

WtTimes
wt_cell_version_times(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int64 *lo,
					  int64 *hi)
{
	int64 from = PG_INT64_MIN, to = PG_INT64_MAX;

	for (int i = 0; i < ntests; i++)
	{
		int64 a, b;

		if (tests[i].part != WT_PART_TS(t) || !test_interval(t, &tests[i], args, &a, &b))
			continue;
		from = Max(from, a);
		to = Min(to, b);
	}
	if (from > to)
		return WT_TIMES_NONE;
	*lo = from;
	*hi = to < PG_INT64_MAX ? to + 1 : PG_INT64_MAX;
	return from == PG_INT64_MIN && to == PG_INT64_MAX ? WT_TIMES_ALL : WT_TIMES_SOME;
}
