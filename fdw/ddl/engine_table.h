/*
 * engine_table.h
 *		The engine's table behind a foreign table.
 */
#ifndef WT_ENGINE_TABLE_H
#define WT_ENGINE_TABLE_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * The engine's table behind a foreign table, as this transaction sees it.
 * Missing (never written, or another database's copy): with create it is made
 * in the transaction's batch, else false and nothing is set.
 * families[i] is the engine's id of t->families[i] (0: does not exist yet);
 * all[] / nall are all families of the engine's table, also those that t does
 * not mention (existence!).
 */
typedef struct WtEngineTable
{
	wide_table_id table;
	wide_family_id families[WT_MAX_FAMILIES];
	int versions[WT_MAX_FAMILIES]; /* of families[] */
	uint64 generation; /* of the engine's catalog, or an earlier one, when this was found */
	int nall;
	wide_family_id all[WT_MAX_FAMILIES];
} WtEngineTable;

extern bool wt_engine_table(WtTable *t, bool create, WtEngineTable *out);

/* A family of the engine's table by name, also one that t does not mention; 0 when there is
 * none. */
extern wide_family_id wt_engine_table_family_by_name(WtTable *t, WtEngineTable *e,
													 const char *name);
/* All families of the engine's table, in the order of e->all; palloc'd. */
extern wide_family *wt_engine_table_families(WtEngineTable *e, int *n);

#endif /* WT_ENGINE_TABLE_H */
