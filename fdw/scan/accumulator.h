/*
 * accumulator.h
 *		Accumulators of aggregates, which return what PostgreSQL's functions return.
 */
#ifndef WT_ACCUMULATOR_H
#define WT_ACCUMULATOR_H

#include "nodes/execnodes.h"

#include "fdw/scan/aggregate_state.h"

/* Forgets the values of the last group. */
extern void wt_accumulator_reset(WtAccumulator *item);

/* Adds an integer.  Requires: item->integer. */
extern void wt_accumulator_add_integer(WtAggState *a, WtAccumulator *item, int64 v);

/* Adds those of 64 integers whose bits are set. */
extern void wt_accumulator_add_integers(WtAggState *a, WtAccumulator *item, const int64 *v,
										uint64 which);

/*
 * Adds a value of item->type that is not null.  What must outlive the row is copied into
 * a->groupcxt.
 */
extern void wt_accumulator_add_datum(WtAggState *a, WtAccumulator *item, Datum v);

/*
 * Returns the aggregate's result, in CurrentMemoryContext, and sets *isnull.
 * Errors: ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE for a sum that does not fit its type.
 */
extern Datum wt_accumulator_finish(WtAggState *a, WtAccumulator *item, bool *isnull);

/* Sets up an accumulator from its item of the plan; exprs is the plan's fdw_exprs.  Requires: item
 * is zeroed. */
extern void wt_accumulator_begin(WtAggState *a, WtAccumulator *item, const WtAggItem *plan,
								 List *exprs, PlanState *ps);

#endif /* WT_ACCUMULATOR_H */
