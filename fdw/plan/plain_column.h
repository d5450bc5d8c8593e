/*
 * plain_column.h
 *		Expressions that are a column of a table.
 */
#ifndef WT_PLAIN_COLUMN_H
#define WT_PLAIN_COLUMN_H

#include "access/attnum.h"
#include "nodes/pathnodes.h"

#include "fdw/table/types.h"

/*
 * Returns the attribute number of the column of rel that the expression is, binary-compatible
 * casts left out; 0 if it is none (system columns, columns of outer queries, other expressions,
 * NULL).
 */
extern AttrNumber wt_plain_column(RelOptInfo *rel, Node *node);

/* Returns the same column of the parsed table; NULL if there is none. */
extern WtColumn *wt_plain_column_of(RelOptInfo *rel, WtTable *t, Node *node);

#endif /* WT_PLAIN_COLUMN_H */
