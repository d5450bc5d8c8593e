/*
 * binding.c
 *		Stored tables of the engine, and the foreign tables that are bound to them.
 *
 * On a standby a stored table is looked for in what the server has replayed up to now.  Who
 * has its id has found it there.
 */
#include "postgres.h"

#include "fdw/ddl/binding.h"

#include "miscadmin.h"

#include "fdw/store/follower.h"
#include "fdw/store/store.h"
#include "fdw/table/table.h"
#include "fdw/table/table_name.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

List *
wt_binding_tables(wide_batch *b, wide_table_id id)
{
	List *tables = NIL;
	int n, max = 8;
	uint32 *oids = palloc(max * sizeof(uint32));

	/* the engine returns how many there are; more may come in between */
	while ((n = wide_table_bindings(wt_store_db(), b, id, oids, max)) > max)
	{
		max = n;
		oids = repalloc(oids, max * sizeof(uint32));
	}
	for (int i = 0; i < n; i++)
		tables = lappend_oid(tables, oids[i]);
	pfree(oids);
	return tables;
}

List *
wt_binding_others(wide_table_id id, Oid relid)
{
	List *others = NIL;
	ListCell *lc;

	foreach(lc, wt_binding_tables(wt_batch(false), id))
		if (lfirst_oid(lc) != relid && wt_table_is_ours(lfirst_oid(lc)))
			others = lappend_oid(others, lfirst_oid(lc));
	return others;
}

wide_status
wt_binding_find(Oid relid, wide_table *wt)
{
	return wide_table_by_binding(wt_follower_db(), wt_batch(false), MyDatabaseId, relid, wt);
}

wide_status
wt_binding_find_name(const char *name, wide_table *wt)
{
	uint32 cursor = 0;
	wide_status st;

	st = wide_table_by_name(wt_follower_db(), wt_batch(false), MyDatabaseId, name, wt);
	if (st != WIDE_NOTFOUND)
		return st;
	/* names of the first release are not canonical */
	while ((st = wide_table_next(wt_follower_db(), wt_batch(false), &cursor, wt)) == WIDE_OK)
	{
		if (wt->space == MyDatabaseId && wt_table_name_is(wt->name, name))
			return wide_table_by_id(wt_follower_db(), wt_batch(false), wt->id, wt);
	}
	return st == WIDE_END ? WIDE_NOTFOUND : st;
}

wide_family *
wt_binding_families(wide_batch *b, wide_table_id id, int *n)
{
	wide_family *f = palloc(sizeof(wide_family) * WT_MAX_FAMILIES);

	*n = Min(wide_table_families(wt_store_db(), b, id, f, WT_MAX_FAMILIES), WT_MAX_FAMILIES);
	return f;
}

List *
wt_binding_stored_tables(Oid database)
{
	uint32 cursor = 0;
	wide_table wt;
	List *result = NIL;

	while (wide_table_next(wt_follower_db(), wt_batch(false), &cursor, &wt) == WIDE_OK)
		if (wt.space == database &&
			wide_table_by_id(wt_follower_db(), wt_batch(false), wt.id, &wt) == WIDE_OK)
			result = lappend(result, memcpy(palloc(sizeof(wt)), &wt, sizeof(wt)));
	return result;
}
