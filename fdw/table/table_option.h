/*
 * table_option.h
 *		Options of servers, tables and columns, each checked by itself; the validator.
 *
 * All raise FDW_INVALID_ATTRIBUTE_VALUE, with the valid values as hint.
 */
#ifndef WT_TABLE_OPTION_H
#define WT_TABLE_OPTION_H

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

#include "fdw/table/types.h"

/*
 * Takes one option of a server or table into t; options "key" and "families" go to *key, a list of
 * WtKeyItem, and *families, a list of WtFamily.  The validator calls it, too, and drops the result.
 */
extern void wt_table_option_take(WtTable *t, DefElem *def, List **key, List **families);

/* Return the value of a column's option "delimiter" or "encoding". */
extern char wt_table_option_delimiter(const char *value);
extern WtEncoding wt_table_option_encoding(const char *value);

/* Returns the value of a server's option "engine"; NULL: the embedded one. */
extern const struct WtEngine *wt_table_option_engine(const char *value);

#endif /* WT_TABLE_OPTION_H */
