/*
 * accumulator.h
 *		Accumulators of aggregates.
 */
#ifndef WT_ACCUMULATOR_H
#define WT_ACCUMULATOR_H

#include "nodes/execnodes.h"

#include "fdw/scan/aggregate_state.h"

/* Begins a group. */
extern void wt_accumulator_reset(WtAccumulator *item);
extern void wt_accumulator_add_integer(WtAggState *a, WtAccumulator *item, int64 v);
/* A value that is not null */
extern void wt_accumulator_add_datum(WtAggState *a, WtAccumulator *item, Datum v);
/* The aggregate's result, in CurrentMemoryContext. */
extern Datum wt_accumulator_finish(WtAggState *a, WtAccumulator *item, bool *isnull);
/* Fills in an accumulator from its item of the plan (WtAggItem). */
extern void wt_accumulator_begin(WtAggState *a, WtAccumulator *item, List *list, List *exprs,
								 PlanState *ps);

#endif /* WT_ACCUMULATOR_H */
