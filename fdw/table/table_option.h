/*
 * table_option.h
 *		Options of tables and columns, and their validator.
 */
#ifndef WT_TABLE_OPTION_H
#define WT_TABLE_OPTION_H

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

#include "fdw/table/types.h"

/*
 * One table or server option into t; families go to *families.  The validator
 * calls it with a t that is thrown away: one place knows what is valid.
 */
extern void wt_table_option_take(WtTable *t, DefElem *def, List **key, List **families);
/* The value of the column's option. */
extern char wt_table_option_delimiter(DefElem *def);
/* The value of the column's option. */
extern WtEncoding wt_table_option_encoding(DefElem *def);

#endif /* WT_TABLE_OPTION_H */
