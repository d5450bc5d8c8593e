/*
 * definition_before.c
 *		The definition that a foreign table had before the present command.
 *
 * At the end of a command the old definition is still in the catalogs: the command has
 * replaced its rows, and a snapshot from the command's beginning sees the old ones.
 * (Event triggers at the start of a command do not say which table it is about.)  The
 * old definition may be anything, also one that does not parse: then nothing could be
 * read by it, and there is nothing to preserve.
 */
#include "postgres.h"

#include "fdw/ddl/definition_before.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/snapshot.h"
#include "utils/syscache.h"

#include "fdw/store/error.h"
#include "fdw/table/definition.h"
#include "fdw/table/table.h"

/*
 * Returns: a copy of the catalog's row, as the snapshot sees it, or NULL.  column: the one that
 * holds relid; attnum: of a row of pg_attribute, else 0.
 */
static HeapTuple
old_row(Relation catalog, Oid index, Snapshot snapshot, AttrNumber column, Oid relid,
		AttrNumber attnum)
{
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tup;

	ScanKeyInit(&keys[0], column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber, F_INT2EQ,
				Int16GetDatum(attnum));
	scan = systable_beginscan(catalog, index, true, snapshot, attnum == 0 ? 1 : 2, keys);
	tup = systable_getnext(scan);
	if (HeapTupleIsValid(tup))
		tup = heap_copytuple(tup);
	systable_endscan(scan);
	return tup;
}

/* Fills in the options of the table and its server.  Returns: false if there was no such foreign
 * table. */
static bool
old_table_options(Snapshot snapshot, WtDefinition *def)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	HeapTuple tup = old_row(catalog, ForeignTableRelidIndexId, snapshot,
							Anum_pg_foreign_table_ftrelid, def->relid, 0);

	if (HeapTupleIsValid(tup))
	{
		bool isnull;
		Datum d = heap_getattr(tup, Anum_pg_foreign_table_ftoptions, RelationGetDescr(catalog),
							   &isnull);

		def->options = isnull ? NIL : untransformRelOptions(d);
		def->server = ((Form_pg_foreign_table) GETSTRUCT(tup))->ftserver;
		def->server_options = GetForeignServer(def->server)->options;
	}
	table_close(catalog, AccessShareLock);
	return HeapTupleIsValid(tup);
}

/* Fills in the columns and their options. */
static void
old_columns(Snapshot snapshot, WtDefinition *def, int natts)
{
	Relation catalog = table_open(AttributeRelationId, AccessShareLock);

	def->desc = CreateTemplateTupleDesc(natts);
	def->column_options = palloc0(Max(natts, 1) * sizeof(List *));
	for (int i = 0; i < natts; i++)
	{
		HeapTuple tup = old_row(catalog, AttributeRelidNumIndexId, snapshot,
								Anum_pg_attribute_attrelid, def->relid, i + 1);
		bool isnull;
		Datum d;
		Form_pg_attribute a = TupleDescAttr(def->desc, i);

		if (!HeapTupleIsValid(tup))
			elog(ERROR, "attribute %d of relation %u is missing", i + 1, def->relid);
		memcpy(a, GETSTRUCT(tup), ATTRIBUTE_FIXED_PART_SIZE);
		/* the command may have dropped the type, and the column with it */
		if (!a->attisdropped && !SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(a->atttypid)))
			a->atttypid = TEXTOID;
		d = heap_getattr(tup, Anum_pg_attribute_attfdwoptions, RelationGetDescr(catalog), &isnull);
		if (!isnull)
			def->column_options[i] = untransformRelOptions(d);
	}
	table_close(catalog, AccessShareLock);
}

static WtTable *
read_before(Oid relid, Snapshot snapshot)
{
	WtDefinition def = {.relid = relid};
	Relation catalog;
	HeapTuple tup;
	Form_pg_class c;

	if (!old_table_options(snapshot, &def))
		return NULL;
	catalog = table_open(RelationRelationId, AccessShareLock);
	tup = old_row(catalog, ClassOidIndexId, snapshot, Anum_pg_class_oid, relid, 0);
	table_close(catalog, AccessShareLock);
	if (!HeapTupleIsValid(tup))
		return NULL;
	c = (Form_pg_class) GETSTRUCT(tup);
	def.owner = c->relowner;
	def.name = NameStr(c->relname);
	def.schema = get_namespace_name(c->relnamespace);
	if (def.schema == NULL)
		def.schema = ""; /* dropped; the name does not matter here */
	old_columns(snapshot, &def, c->relnatts);
	/* by its present name, which the options have already */
	wt_table_find_source(&def, GetForeignTable(relid)->options);
	if (!OidIsValid(def.source))
		wt_table_find_source(&def, def.options);
	return wt_definition_parse(&def);
}

WtTable *
wt_definition_before(Oid relid)
{
	WtErrorPoint before = wt_error_point();
	ResourceOwner owner = CurrentResourceOwner;
	WtTable *volatile t = NULL;

	if (!ActiveSnapshotSet())
		return NULL;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(before.context);
	PG_TRY();
	{
		/* everything committed, and this transaction's changes before the command */
		CommandId began = GetActiveSnapshot()->curcid;
		Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());

		snapshot->curcid = began;
		t = read_before(relid, snapshot);
		UnregisterSnapshot(snapshot);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(before.context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(before.context);
		CurrentResourceOwner = owner;
		/* an error of parsing: no definition.  Errors that have another cause are raised */
		if (ERRCODE_TO_CATEGORY(e->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
			ERRCODE_TO_CATEGORY(e->sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES ||
			ERRCODE_TO_CATEGORY(e->sqlerrcode) == ERRCODE_INTERNAL_ERROR)
			ReThrowError(e);
		FreeErrorData(e);
		t = NULL;
	}
	PG_END_TRY();
	return t;
}
