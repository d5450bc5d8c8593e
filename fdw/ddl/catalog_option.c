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
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

DefElem *
wt_catalog_option_find(List *options, const char *name)
{
	ListCell *lc;

	foreach(lc, options)
		if (strcmp(((DefElem *) lfirst(lc))->defname, name) == 0)
			return lfirst(lc);
	return NULL;
}

/* Returns: the options array with the option added or set; value NULL: without it. */
static Datum
with_option(Oid catalog, Datum options, bool isnull, const char *name, const char *value)
{
	List *old = isnull ? NIL : untransformRelOptions(options);
	bool there = wt_catalog_option_find(old, name) != NULL;
	DefElem *def;

	if (value == NULL)
		def = makeDefElemExtended(NULL, pstrdup(name), NULL, DEFELEM_DROP, -1);
	else
		def = makeDefElemExtended(NULL, pstrdup(name), (Node *) makeString(pstrdup(value)),
								  there ? DEFELEM_SET : DEFELEM_ADD, -1);
	return transformGenericOptions(catalog, isnull ? PointerGetDatum(NULL) : options,
								   list_make1(def), InvalidOid);
}

/*
 * Writes the option into the options column attno of the row of a catalog that the syscache
 * finds by its keys.  relid: the relation that the row describes a part of, or invalid.
 */
static void
set_option(Oid catalog_id, int cache, Datum key1, Datum key2, AttrNumber attno, Oid relid,
		   const char *name, const char *value)
{
	Relation catalog = table_open(catalog_id, RowExclusiveLock);
	/* after the catalog was opened, so that it is the newest */
	HeapTuple tup = SearchSysCacheCopy(cache, key1, key2, 0, 0);
	TupleDesc desc = RelationGetDescr(catalog);
	int column = attno;
	Datum options;
	bool isnull;

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "object with options not found in catalog %u", catalog_id);
	options = heap_getattr(tup, attno, desc, &isnull);
	options = with_option(catalog_id, options, isnull, name, value);
	tup = heap_modify_tuple_by_cols(tup, desc, 1, &column, &options, &(bool) {false});
	CatalogTupleUpdate(catalog, &tup->t_self, tup);
	table_close(catalog, RowExclusiveLock);
	if (OidIsValid(relid))
		CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
}

void
wt_catalog_option_set_table(Oid relid, const char *name, const char *value)
{
	/* another transaction may write an option, too: of an index its builder, or a command that
	 * renames the schema of its table, which locks no tables */
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	set_option(ForeignTableRelationId, FOREIGNTABLEREL, ObjectIdGetDatum(relid), 0,
			   Anum_pg_foreign_table_ftoptions, relid, name, value);
}

void
wt_catalog_option_drop_table(Oid relid, const char *name)
{
	wt_catalog_option_set_table(relid, name, NULL);
}

void
wt_catalog_option_set_wrapper(Oid fdwid, const char *name, const char *value)
{
	set_option(ForeignDataWrapperRelationId, FOREIGNDATAWRAPPEROID, ObjectIdGetDatum(fdwid), 0,
			   Anum_pg_foreign_data_wrapper_fdwoptions, InvalidOid, name, value);
}

void
wt_catalog_option_set_column(Oid relid, AttrNumber attno, const char *name, const char *value)
{
	set_option(AttributeRelationId, ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno),
			   Anum_pg_attribute_attfdwoptions, relid, name, value);
}
