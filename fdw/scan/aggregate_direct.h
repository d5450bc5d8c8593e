/*
 * aggregate_direct.h
 *		Rows whose values go from the engine to the accumulators, without the row reader.
 */
#ifndef WT_AGGREGATE_DIRECT_H
#define WT_AGGREGATE_DIRECT_H

#include "fdw/plan/aggregate_plan.h"
#include "fdw/scan/aggregate_state.h"

/*
 * Finds out whether clauses and arguments permit it (a->direct.possible).  plan: the items of the
 * plan, in step with a->items; exprs: its fdw_exprs.
 * Requires: the accumulators have begun.
 */
extern void wt_aggregate_direct_begin(WtAggState *a, const WtAggItem *plan, List *exprs);

/* The scan has started: finds out whether rows are read so (a->direct.on). */
extern void wt_aggregate_direct_start(WtAggState *a);

/* Reads the next row.  Returns false at the end. */
extern bool wt_aggregate_direct_next(WtAggState *a);

/* Adds the present row to the accumulators, at the latest when flush is called. */
extern void wt_aggregate_direct_take(WtAggState *a);

/* Passes over the rest of the present row. */
extern void wt_aggregate_direct_pass(WtAggState *a);

/* The group is complete: adds all rows of it that were taken. */
extern void wt_aggregate_direct_flush(WtAggState *a);

#endif /* WT_AGGREGATE_DIRECT_H */
