/*
 * rename.h
 *		Names in the options of indexes and roll-ups, which follow renames.
 *
 * The options name the table, its columns, and in expressions also functions, types and others.
 * Before a command that may rename something else than a table or a column, all roll-ups are parsed
 * (wt_rename_begin); at its end they are written with the names of then (wt_rename_end).
 */
#ifndef WT_RENAME_H
#define WT_RENAME_H

#include "nodes/nodes.h"
#include "nodes/pg_list.h"

#include "fdw/derived/rollup.h"

/*
 * Writes the options of a roll-up's columns such that they do not depend on search_path, and the
 * time zone, if it matters.
 */
extern void wt_rename_state_expressions(const WtRollup *r);

/* Before a command.  stmt NULL: not known. */
extern void wt_rename_begin(const Node *stmt);

/* At the end of a command, before the tables that it has defined are parsed: indexes and roll-ups
 * of those name them, and their columns, by their new names, so that they parse. */
extern void wt_rename_end(List *relids);

/* Returns true if this command has renamed what an expression of the roll-up names: its text is
 * another one, and its meaning is not. */
extern bool wt_rename_restated(Oid relid);

#endif /* WT_RENAME_H */
