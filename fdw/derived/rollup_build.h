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

/* Empties the roll-up, in the transaction's batch, and gives its families its time to live. */
extern void wt_rollup_build_empty(const WtRollup *r);

/* What a roll-up lacks. */
typedef struct WtRollupLack WtRollupLack;

/*
 * Reads what a roll-up lacks, as the active snapshot sees it and its table.
 * give_way: asked now and then; true: somebody waits for this transaction.
 * Requires: whoever has changed rows since the roll-up was empty has added the changes to it.
 * Returns: NULL if it has given way; then the transaction must be rolled back.
 */
extern WtRollupLack *wt_rollup_build_read(const WtRollup *r, bool (*give_way)(const WtRollup *r));

/*
 * Adds that, in the transaction's batch: then the roll-up is complete, whatever has been changed
 * since the snapshot.  now: the roll-up as it is then.
 * Requires: a lock against commands that empty or alter the tables.
 * Returns: false if there was one meanwhile; then the transaction must be rolled back.
 */
extern bool wt_rollup_build_add(WtRollupLack *lack, const WtRollup *now);

/* Called for each difference between a roll-up and its table. */
typedef void (*WtRollupProblem)(void *arg, const WtRollup *r, const char *problem);

/*
 * Compares counts, sums, minima and maxima with those of the rows, as the active snapshot sees
 * both.  Sums of doubles may differ by what rounding makes of them.  Counts of distinct values are
 * not compared, nor roll-ups of tables whose rows expire, unless they follow that.
 */
extern void wt_rollup_build_verify(const WtRollup *r, WtRollupProblem report, void *arg);

#endif /* WT_ROLLUP_BUILD_H */
