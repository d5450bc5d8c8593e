/*
 * alter.h
 *		What a changed definition does to stored data.
 */
#ifndef WT_ALTER_H
#define WT_ALTER_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * The definition from before the command that runs, in CurrentMemoryContext;
 * NULL when the command made the table, or when what was there does not parse.
 */
extern WtTable *wt_alter_table_before(Oid relid);

/*
 * Writes down what a renamed column was found by: its cell, its place in the
 * key, the column whose timestamp another shows.  Before the new definition is
 * parsed.  Does nothing the second time.
 */
extern void wt_alter_record_renames(WtTable *before);

/*
 * Writes down the cells of columns that the new definition finds in another
 * family.  true: something was written, parse again.
 */
extern bool wt_alter_record_cells(WtTable *before, WtTable *after);

/* Refuses what would misread stored bytes. */
extern void wt_alter_check(WtTable *before, WtTable *after, wide_table_id table);

/* Refuses a key that another foreign table on the stored table contradicts. */
extern void wt_alter_check_same_key(WtTable *t, wide_table_id table);

/* Sets an option of the foreign table, in the catalog, as ALTER would. */
extern void wt_alter_set_table_option(Oid relid, const char *name, const char *value);

/* The same of a foreign-data wrapper. */
extern void wt_alter_set_wrapper_option(Oid fdwid, const char *name, const char *value);

#endif /* WT_ALTER_H */
