/*
 * accumulator.c
 *		Accumulators of aggregates.
 *
 * The results are those of PostgreSQL's functions, errors for overflow included.  Sums of
 * integers are added up in 64 bits and moved to a numeric when they overflow, so that the usual
 * case needs no numeric.
 *
 * Memory: values by reference live in the state's groupcxt.
 */
#include "postgres.h"

#include "fdw/scan/accumulator.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "fdw/plan/aggregate_plan.h"
#include "fdw/scan/aggregate_state.h"
#include "fdw/table/encoding.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

void
wt_accumulator_reset(WtAccumulator *item)
{
	item->n = 0;
	item->sum = 0;
	item->total = NULL;
	item->sum4 = 0;
	item->sum8 = 0;
	item->squares = 0;
	item->value = (Datum) 0;
}

/* item->total += v; frees the old total. */
static void
add_numeric(WtAggState *a, WtAccumulator *item, Numeric v)
{
	MemoryContext old = MemoryContextSwitchTo(a->groupcxt);
	Numeric before = item->total;

	if (before == NULL)
		item->total = DatumGetNumericCopy(NumericGetDatum(v));
	else
	{
		item->total = DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(before),
														  NumericGetDatum(v)));
		pfree(before);
	}
	MemoryContextSwitchTo(old);
}

void
wt_accumulator_add_integer(WtAggState *a, WtAccumulator *item, int64 v)
{
	int64 sum;

	item->n++;
	switch (item->kind)
	{
		case WT_AGG_MIN:
			if (item->n == 1 || v < item->sum)
				item->sum = v;
			break;
		case WT_AGG_MAX:
			if (item->n == 1 || v > item->sum)
				item->sum = v;
			break;
		default:
			if (unlikely(pg_add_s64_overflow(item->sum, v, &sum)))
			{
				Numeric part = int64_to_numeric(item->sum);

				add_numeric(a, item, part);
				pfree(part);
				sum = v;
			}
			item->sum = sum;
	}
}

void
wt_accumulator_add_integers(WtAggState *a, WtAccumulator *item, const int64 *v, uint64 which)
{
	int64 sum = 0;

	if (item->kind != WT_AGG_MIN && item->kind != WT_AGG_MAX)
	{
		bool over = false;

		for (uint64 rest = which; rest != 0; rest &= rest - 1)
			over |= pg_add_s64_overflow(sum, v[pg_rightmost_one_pos64(rest)], &sum);
		if (likely(!over && which != 0))
		{
			wt_accumulator_add_integer(a, item, sum);
			item->n += pg_popcount64(which) - 1;
			return;
		}
	}
	for (; which != 0; which &= which - 1)
		wt_accumulator_add_integer(a, item, v[pg_rightmost_one_pos64(which)]);
}

/*
 * As PostgreSQL's float8_accum: the mean needs the sum only, but an overflow of the sum of
 * squares is an error there, too.
 */
static void
add_to_mean(WtAccumulator *item, float8 v)
{
	float8 before = item->sum8;
	float8 n = (float8) ++item->n;

	item->sum8 += v;
	if (n > 1)
	{
		float8 d = v * n - item->sum8;

		item->squares += d * d / (n * (n - 1));
		if (isinf(item->sum8) || isinf(item->squares))
		{
			if (!isinf(before) && !isinf(v))
				float_overflow_error();
			item->squares = get_float8_nan();
		}
	}
	else if (isnan(v) || isinf(v))
		item->squares = get_float8_nan();
}

/* min, max: replaces the value if v is smaller or larger. */
static void
add_to_extreme(WtAggState *a, WtAccumulator *item, Datum v)
{
	if (++item->n > 1)
	{
		int c = DatumGetInt32(FunctionCall2Coll(&item->compare, item->collation, item->value, v));

		/* of equal values the last one, as with PostgreSQL's functions */
		if (item->kind == WT_AGG_MIN ? c < 0 : c > 0)
			return;
		if (!item->typbyval)
			pfree(DatumGetPointer(item->value));
	}
	if (item->typbyval)
		item->value = v;
	else
	{
		MemoryContext old = MemoryContextSwitchTo(a->groupcxt);

		/* datumCopy would copy a toasted value as it is */
		item->value = item->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(v))
										 : datumCopy(v, false, item->typlen);
		MemoryContextSwitchTo(old);
	}
}

void
wt_accumulator_add_datum(WtAggState *a, WtAccumulator *item, Datum v)
{
	if (item->integer)
	{
		wt_accumulator_add_integer(a, item, wt_integer_value(item->type, v));
		return;
	}
	switch (item->kind)
	{
		case WT_AGG_MIN:
		case WT_AGG_MAX:
			add_to_extreme(a, item, v);
			break;
		case WT_AGG_SUM_FLOAT4:
			item->sum4 = item->n++ == 0 ? DatumGetFloat4(v)
										: float4_pl(item->sum4, DatumGetFloat4(v));
			break;
		case WT_AGG_SUM_FLOAT8:
			item->sum8 = item->n++ == 0 ? DatumGetFloat8(v)
										: float8_pl(item->sum8, DatumGetFloat8(v));
			break;
		case WT_AGG_AVG_FLOAT:
			add_to_mean(item,
						item->type == FLOAT4OID ? (float8) DatumGetFloat4(v) : DatumGetFloat8(v));
			break;
		case WT_AGG_SUM_NUMERIC:
		case WT_AGG_AVG_NUMERIC:
			item->n++;
			add_numeric(a, item, DatumGetNumeric(v));
			break;
		case WT_AGG_BOOL_AND:
			item->value = BoolGetDatum((item->n++ == 0 || DatumGetBool(item->value)) &&
									   DatumGetBool(v));
			break;
		case WT_AGG_BOOL_OR:
			item->value = BoolGetDatum((item->n++ > 0 && DatumGetBool(item->value)) ||
									   DatumGetBool(v));
			break;
		default:
			item->n++;
	}
}

static Datum
mean(Numeric sum, int64 n)
{
	return DirectFunctionCall2(numeric_div, NumericGetDatum(sum),
							   NumericGetDatum(int64_to_numeric(n)));
}

Datum
wt_accumulator_finish(WtAggState *a, WtAccumulator *item, bool *isnull)
{
	*isnull = item->n == 0;
	if (item->kind == WT_AGG_COUNT_ROWS || item->kind == WT_AGG_COUNT)
	{
		*isnull = false;
		return Int64GetDatum(item->kind == WT_AGG_COUNT ? item->n : a->group_rows);
	}
	if (*isnull)
		return (Datum) 0;
	switch (item->kind)
	{
		case WT_AGG_MIN:
		case WT_AGG_MAX:
			return item->integer ? wt_integer_datum(item->type, item->sum) : item->value;
		case WT_AGG_SUM_INT8:
		case WT_AGG_AVG_INT:
			add_numeric(a, item, int64_to_numeric(item->sum));
			return item->kind == WT_AGG_AVG_INT ? mean(item->total, item->n)
												: NumericGetDatum(item->total);
		case WT_AGG_SUM_INT:
			if (item->total != NULL)
				ereport(ERROR,
						(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						 errmsg("bigint out of range")));
			return Int64GetDatum(item->sum);
		case WT_AGG_SUM_FLOAT4:
			return Float4GetDatum(item->sum4);
		case WT_AGG_SUM_FLOAT8:
			return Float8GetDatum(item->sum8);
		case WT_AGG_AVG_FLOAT:
			return Float8GetDatum(item->sum8 / (float8) item->n);
		case WT_AGG_AVG_NUMERIC:
			return mean(item->total, item->n);
		case WT_AGG_SUM_NUMERIC:
			return NumericGetDatum(item->total);
		default:
			return item->value;
	}
}

/* Returns true if this comparison function orders values of the type as integers. */
static bool
compares_as_integer(Oid type, Oid compare)
{
	return (wt_is_integer(type) || type == DATEOID || type == TIMESTAMPOID ||
			type == TIMESTAMPTZOID) &&
		   lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc == compare;
}

void
wt_accumulator_begin(WtAggState *a, WtAccumulator *item, const WtAggItem *plan, List *exprs,
					 PlanState *ps)
{
	item->entry = plan->entry;
	item->kind = plan->kind;
	item->type = plan->type;
	item->collation = plan->collation;
	item->column = plan->column - 1;
	if (OidIsValid(item->type))
	{
		item->type = getBaseType(item->type);
		get_typlenbyval(item->type, &item->typlen, &item->typbyval);
	}
	if (OidIsValid(plan->compare))
	{
		fmgr_info(plan->compare, &item->compare);
		item->integer = compares_as_integer(item->type, plan->compare);
	}
	else
		item->integer = item->kind == WT_AGG_SUM_INT || item->kind == WT_AGG_SUM_INT8 ||
						item->kind == WT_AGG_AVG_INT;
	if (plan->argument > 0)
		item->arg = ExecInitExpr(list_nth(exprs, plan->argument), ps);
	if (plan->filter > 0)
	{
		item->filter = ExecInitQual(list_make1(list_nth(exprs, plan->filter)), ps);
		/* count(*) of some rows of the group */
		if (item->kind == WT_AGG_COUNT_ROWS)
			item->kind = WT_AGG_COUNT;
	}
}
