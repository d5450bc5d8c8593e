/*
 * rollup_build.h
 *		Adds all rows to a roll-up, and compares it with them.
 */
#ifndef WT_ROLLUP_BUILD_H
#define WT_ROLLUP_BUILD_H

#include "fdw/derived/rollup.h"

/*
 * Empties the roll-up, and adds all rows of the newest state, in the transaction's batch.
 * Requires: the table is locked against writers.
 */
extern void wt_rollup_build(const WtRollup *r);

/* Called for each difference between a roll-up and its table. */
typedef void (*WtRollupProblem)(void *arg, const WtRollup *r, const char *problem);

/*
 * Compares counts, sums, minima and maxima with those of the rows, as the active snapshot sees
 * both.  Sums of doubles may differ by what rounding makes of them.  Counts of distinct values are
 * not compared, nor roll-ups of tables whose rows expire, unless they follow that.
 */
extern void wt_rollup_build_verify(const WtRollup *r, WtRollupProblem report, void *arg);

#endif /* WT_ROLLUP_BUILD_H */
