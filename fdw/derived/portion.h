/*
 * portion.h
 *		What a row adds to its group in a roll-up.
 */
#ifndef WT_PORTION_H
#define WT_PORTION_H

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/derived/rollup.h"

/* What a row adds to one aggregate. */
typedef struct WtPortionValue
{
	bool has;		  /* the argument is not null */
	wide_bytes bytes; /* of the value, as a cell of the column has it */
} WtPortionValue;

typedef struct WtPortion
{
	wide_bytes key; /* of the group; data NULL: there is no row */
	int64 ts; /* what the row adds expires with it; WIDE_TS_AUTO: it has the time of the commit */
	WtPortionValue *values; /* by the roll-up's columns */
} WtPortion;

/*
 * Returns what the row adds; values and nulls are by column of the table.  ts: the timestamp of the
 * row's cells, which matters only to a roll-up with a time to live.  Everything is palloc'd.
 */
extern WtPortion wt_portion_make(const WtRollup *r, const Datum *values, const bool *nulls,
								 int64 ts);

/*
 * The row adds `after` instead of `before`; adds the difference to the groups, in the transaction's
 * batch.  e: the roll-up's table.
 * Errors: 0A000 if an aggregate cannot lose what the row has added.
 */
extern void wt_portion_replace(const WtRollup *r, const WtEngineTable *e, const WtPortion *before,
							   const WtPortion *after);

#endif /* WT_PORTION_H */
