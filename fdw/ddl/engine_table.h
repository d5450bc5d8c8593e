/*
 * engine_table.h
 *		The engine's table behind a foreign table, as the transaction sees it.
 */
#ifndef WT_ENGINE_TABLE_H
#define WT_ENGINE_TABLE_H

#include "engine/wide.h"
#include "fdw/table/types.h"

typedef struct WtEngineTable
{
	wide_table_id table;
	uint64 generation; /* of the engine's catalog when this was found, or an earlier one */
	Oid head;		   /* the foreign table whose lock is that of the stored table (ddl_lock.h) */

	/* by the family's index in the WtTable */
	wide_family_id families[WT_MAX_FAMILIES]; /* 0: does not exist yet */

	/* all families, also those that the WtTable does not mention: a row exists by any of them */
	int nall;
	wide_family_id all[WT_MAX_FAMILIES];
} WtEngineTable;

/*
 * Fills in *out with the engine's table, which is locked to the end of the transaction against
 * commands that change what is read.  create: creates the table and its families in the
 * transaction's batch if they are missing.
 * Requires: the transaction has locked the foreign table.
 * Returns: false if the table does not exist; *out is not set then.
 * Errors: 55000 if its rows were not copied into this database.
 */
extern bool wt_engine_table(WtTable *t, bool create, WtEngineTable *out);

/* Returns: a family by its name, also one that t does not mention; 0: there is none. */
extern wide_family_id wt_engine_table_family_by_name(WtTable *t, WtEngineTable *e,
													 const char *name);

/* Returns: all *n families in the order of e->all, palloc'd. */
extern wide_family *wt_engine_table_families(WtEngineTable *e, int *n);

#endif /* WT_ENGINE_TABLE_H */
