/*
 * catalog_option.c
 *		Writes options into PostgreSQL's catalogs, as ALTER ... OPTIONS does.
 */
#include "postgres.h"

#include "fdw/ddl/catalog_option.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_table.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "storage/lockdefs.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* Returns: the options array with the option added or set. */
static Datum
with_option(Oid catalog, Datum options, bool isnull, const char *name, const char *value)
{
	bool there = false;
	DefElem *def;

	if (!isnull)
	{
		ListCell *lc;

		foreach(lc, untransformRelOptions(options))
			if (strcmp(((DefElem *) lfirst(lc))->defname, name) == 0)
				there = true;
	}
	def = makeDefElemExtended(NULL, pstrdup(name), (Node *) makeString(pstrdup(value)),
							  there ? DEFELEM_SET : DEFELEM_ADD, -1);
	return transformGenericOptions(catalog, isnull ? PointerGetDatum(NULL) : options,
								   list_make1(def), InvalidOid);
}

/* Writes the option into column attno of the catalog's row tup. */
static void
update_options(Relation catalog, HeapTuple tup, AttrNumber attno, const char *name,
			   const char *value)
{
	int natts = RelationGetDescr(catalog)->natts;
	Datum *values = palloc0(natts * sizeof(Datum));
	bool *nulls = palloc0(natts * sizeof(bool));
	bool *replace = palloc0(natts * sizeof(bool));
	bool isnull;
	Datum d = heap_getattr(tup, attno, RelationGetDescr(catalog), &isnull);

	values[attno - 1] = with_option(RelationGetRelid(catalog), d, isnull, name, value);
	replace[attno - 1] = true;
	tup = heap_modify_tuple(tup, RelationGetDescr(catalog), values, nulls, replace);
	CatalogTupleUpdate(catalog, &tup->t_self, tup);
}

void
wt_catalog_option_set_table(Oid relid, const char *name, const char *value)
{
	Relation catalog = table_open(ForeignTableRelationId, RowExclusiveLock);
	HeapTuple tup = SearchSysCacheCopy1(FOREIGNTABLEREL, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for foreign table %u", relid);
	update_options(catalog, tup, Anum_pg_foreign_table_ftoptions, name, value);
	table_close(catalog, RowExclusiveLock);
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
}

void
wt_catalog_option_set_wrapper(Oid fdwid, const char *name, const char *value)
{
	Relation catalog = table_open(ForeignDataWrapperRelationId, RowExclusiveLock);
	HeapTuple tup = SearchSysCacheCopy1(FOREIGNDATAWRAPPEROID, ObjectIdGetDatum(fdwid));

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for foreign-data wrapper %u", fdwid);
	update_options(catalog, tup, Anum_pg_foreign_data_wrapper_fdwoptions, name, value);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}

void
wt_catalog_option_set_column(Oid relid, AttrNumber attno, const char *name, const char *value)
{
	Relation catalog = table_open(AttributeRelationId, RowExclusiveLock);
	HeapTuple tup = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno));

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", attno, relid);
	update_options(catalog, tup, Anum_pg_attribute_attfdwoptions, name, value);
	table_close(catalog, RowExclusiveLock);
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
}
