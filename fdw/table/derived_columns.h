/*
 * derived_columns.h
 *		What the columns of an index, or of a roll-up, have of the table that it is of.
 *
 * Parts of the parsing of a definition (definition.c), which change the table's columns.
 */
#ifndef WT_DERIVED_COLUMNS_H
#define WT_DERIVED_COLUMNS_H

#include "nodes/pg_list.h"

#include "fdw/table/column_spec.h"
#include "fdw/table/types.h"

/*
 * Of an index: finds out what of the indexed table each column has.  A column has the column of its
 * own name unless an option says otherwise.
 * Errors: FDW_INVALID_OPTION_NAME if it has two of the options, or the table is no index.
 */
extern void wt_derived_columns_sources(WtTable *t, const WtColumnSpec *specs);

/*
 * Returns the items of an index's key with the key columns of the indexed table that option "key"
 * leaves out behind them: so each row of that table has an entry of its own.
 * Errors: 42703 if the index has no such column; FDW_INVALID_OPTION_NAME without the option.
 */
extern List *wt_derived_columns_key(WtTable *t, WtTable *base, List *items);

/* Of an index: marks the parts of its key that rows of the indexed table may have no value for. */
extern void wt_derived_columns_optional(WtTable *t, WtTable *base);

/* Of a roll-up: finds out what each column has of the rows of its group. */
extern void wt_derived_columns_groups(WtTable *t, const WtColumnSpec *specs);

/*
 * Of a roll-up whose columns have their roles: marks the parts of its key, whose values may be
 * null. A column that is neither in the key nor has an aggregate shows nothing.
 * Errors: FDW_INVALID_OPTION_NAME if a key column has an aggregate.
 */
extern void wt_derived_columns_check(WtTable *t);

/* A column of a roll-up that is not in the key.  The cell of count(*) has the empty qualifier. */
extern void wt_derived_columns_aggregate(WtColumn *c, WtColumnSpec *spec);

/* Of a roll-up: gives each family its merge operator. */
extern void wt_derived_columns_families(WtTable *t);

#endif /* WT_DERIVED_COLUMNS_H */
