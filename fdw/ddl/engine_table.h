/*
 * engine_table.h
 *		The engine's table behind a foreign table, as the transaction sees it.
 */
#ifndef WT_ENGINE_TABLE_H
#define WT_ENGINE_TABLE_H

#include "engine/wide.h"
#include "fdw/table/engine.h"
#include "fdw/table/types.h"

/*
 * Fills in *out with the engine's table, which is locked to the end of the transaction against
 * commands that change what is read.  create: creates the table and its families in the
 * transaction's batch if they are missing.
 * Requires: the transaction has locked the foreign table.
 * Returns: false if the table does not exist; *out is not set then.
 * Errors: 55000 if its rows were not copied into this database.
 */
extern bool wt_engine_table(WtTable *t, bool create, WtEngineTable *out);

/*
 * As wt_engine_table().  What is read and changed with the ids in *out is read and changed as
 * `user`: another engine may be connected as somebody else for each user.  InvalidOid: the current
 * user.
 */
extern bool wt_engine_table_as(WtTable *t, Oid user, bool create, WtEngineTable *out);

/* Returns: a family by its name, also one that t does not mention; 0: there is none. */
extern wide_family_id wt_engine_table_family_by_name(WtTable *t, WtEngineTable *e,
													 const char *name);

/* Returns: all *n families in the order of e->all, palloc'd. */
extern wide_family *wt_engine_table_families(WtEngineTable *e, int *n);

#endif /* WT_ENGINE_TABLE_H */
