/*
 * alter.h
 *		What a changed definition of a foreign table means for stored data.
 */
#ifndef WT_ALTER_H
#define WT_ALTER_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Writes into the options what a renamed column was found by: its cell, its part of the
 * key, the column whose timestamp it shows.  A second call does nothing.
 * Requires: the new definition, whose columns are given, is not parsed yet.
 * Errors: 55000 if a key column was dropped while the table has rows, 0A000 if a column
 * of layout "cells" was renamed.
 */
extern void wt_alter_record_renames(WtTable *before, TupleDesc after);

/*
 * Writes into the options the cells of columns that the new definition finds in another
 * family.
 * Returns: true if it has changed options; the definition has to be parsed again.
 */
extern bool wt_alter_record_cells(WtTable *before, WtTable *after);

/*
 * Checks that option "families", if it lists any, lists the families of all columns.  Those
 * that the definition from before had are added to the option: a family that ALTER leaves
 * out stays, and a restored dump has it, too.  before: NULL: there is none.
 * Returns: true if it has changed the option; the definition has to be parsed again.
 * Errors: 42703 if a column names another family.
 */
extern bool wt_alter_record_families(WtTable *before, WtTable *after);

/*
 * Refuses a change that would misread stored bytes.  Requires: the stored table is locked
 * (ddl_lock.h).  table is not used for a table of another engine.
 * Errors: 55000; 23502 if a column that becomes NOT NULL has no value in some row.
 */
extern void wt_alter_check(WtTable *before, WtTable *after, wide_table_id table);

/* Errors: 42P16 if another foreign table on the stored table makes keys in another way. */
extern void wt_alter_check_same_key(WtTable *t, wide_table_id table);

#endif /* WT_ALTER_H */
