/*
 * dependency.c
 *		Which indexes and roll-ups a table has: in PostgreSQL's catalogs.
 */
#include "postgres.h"

#include "fdw/derived/dependency.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "fdw/ddl/catalog_option.h"
#include "fdw/derived/attempt.h"
#include "fdw/store/compat.h"
#include "fdw/table/lookup.h"
#include "fdw/table/table.h"

/* ------------------------------------------------------------------ options */

/* A foreign table whose options name the table that it is derived from. */
typedef struct Stated
{
	Oid derived, base;
} Stated;

/* All of them; made again when pg_foreign_table or a schema has changed. */
static struct
{
	bool registered, valid;
	uint64 changes;
	MemoryContext cxt;
	List *list; /* Stated */
} stated;

static void
invalidate(Datum arg, int cacheid, uint32 hashvalue)
{
	stated.valid = false;
	stated.changes++;
}

/* Returns: the table that the options name; InvalidOid: none. */
static Oid
named_table(List *options)
{
	ListCell *lc;

	foreach(lc, options)
	{
		DefElem *def = lfirst(lc);

		if (strcmp(def->defname, "index_of") == 0 || strcmp(def->defname, "rollup_of") == 0)
			return wt_table_named(defGetString(def));
	}
	return InvalidOid;
}

/* Adds what the row of pg_foreign_table states. */
static void
add_stated(HeapTuple tup, TupleDesc desc)
{
	bool isnull;
	Datum options = heap_getattr(tup, Anum_pg_foreign_table_ftoptions, desc, &isnull);
	Oid base = isnull ? InvalidOid : named_table(untransformRelOptions(options));
	MemoryContext old;
	Stated *s;

	if (!OidIsValid(base))
		return;
	old = MemoryContextSwitchTo(stated.cxt);
	s = palloc(sizeof(Stated));
	*s = (Stated) {((Form_pg_foreign_table) GETSTRUCT(tup))->ftrelid, base};
	stated.list = lappend(stated.list, s);
	MemoryContextSwitchTo(old);
}

static void
find_stated(void)
{
	Relation catalog;
	SysScanDesc scan;
	HeapTuple tup;
	uint64 began;

	if (!stated.registered)
	{
		CacheRegisterSyscacheCallback(FOREIGNTABLEREL, invalidate, (Datum) 0);
		CacheRegisterSyscacheCallback(NAMESPACEOID, invalidate, (Datum) 0);
		stated.cxt = AllocSetContextCreate(CacheMemoryContext, "widetable derived tables",
										   ALLOCSET_SMALL_SIZES);
		stated.registered = true;
	}
	if (stated.valid)
		return;
	began = stated.changes;
	MemoryContextReset(stated.cxt);
	stated.list = NIL;
	catalog = table_open(ForeignTableRelationId, AccessShareLock);
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
		add_stated(tup, RelationGetDescr(catalog));
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	/* what has changed meanwhile is found the next time, and after an error everything */
	stated.valid = stated.changes == began;
}

/* ------------------------------------------------------------- dependencies */

/* Returns: the oids of the foreign tables that depend on the table (column 0), or on its column. */
static List *
find_recorded(Oid base, int column)
{
	Relation depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tup;
	List *out = NIL;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(base));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_depend d = (Form_pg_depend) GETSTRUCT(tup);

		if (d->classid == RelationRelationId && d->objsubid == 0 && d->deptype == DEPENDENCY_AUTO &&
			d->refobjsubid == column && get_rel_relkind(d->objid) == RELKIND_FOREIGN_TABLE)
			out = list_append_unique_oid(out, d->objid);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return out;
}

List *
wt_dependency_find(Oid base)
{
	List *out = find_recorded(base, 0);
	ListCell *lc;

	find_stated();
	foreach(lc, stated.list)
		if (((Stated *) lfirst(lc))->base == base)
			out = list_append_unique_oid(out, ((Stated *) lfirst(lc))->derived);
	return out;
}

bool
wt_dependency_is_recorded(const WtTable *t)
{
	return list_member_oid(find_recorded(t->source, 0), t->relid);
}

void
wt_dependency_record_table(const WtTable *t)
{
	ObjectAddress me, base;

	(void) deleteDependencyRecordsForClass(RelationRelationId, t->relid, RelationRelationId,
										   DEPENDENCY_AUTO);
	ObjectAddressSet(me, RelationRelationId, t->relid);
	ObjectAddressSet(base, RelationRelationId, t->source);
	recordDependencyOn(&me, &base, DEPENDENCY_AUTO);
}

void
wt_dependency_record_index(const WtTable *index, WtTable *base)
{
	ObjectAddress me, other;

	wt_dependency_record_table(index);
	ObjectAddressSet(me, RelationRelationId, index->relid);
	for (int i = 0; i < index->natts; i++)
	{
		int b = index->columns[i].role == WT_DROPPED
					? -1
					: wt_lookup_column_index(base, index->columns[i].source);

		if (b < 0)
			continue;
		ObjectAddressSubSet(other, RelationRelationId, base->relid, base->columns[b].attno);
		recordDependencyOn(&me, &other, DEPENDENCY_AUTO);
	}
}

void
wt_dependency_record_rollup(const WtRollup *r)
{
	ObjectAddress me;

	wt_dependency_record_table(r->table);
	ObjectAddressSet(me, RelationRelationId, r->relid);
	for (int i = 0; i < r->n; i++)
		if (r->columns[i].expr != NULL)
			recordDependencyOnSingleRelExpr(&me, r->columns[i].expr, r->base->relid,
											DEPENDENCY_NORMAL, DEPENDENCY_AUTO, false);
}

bool
wt_dependency_names_others(Oid rollup)
{
	Relation depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tup;
	bool found = false;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(rollup));
	scan = systable_beginscan(depend, DependDependerIndexId, true, NULL, 2, keys);
	while (!found && HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_depend d = (Form_pg_depend) GETSTRUCT(tup);

		/* each foreign table has a schema and a server */
		found = d->objsubid == 0 && d->deptype == DEPENDENCY_NORMAL &&
				d->refclassid != NamespaceRelationId && d->refclassid != ForeignServerRelationId;
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return found;
}

/* Records what an index or a roll-up depends on, if that is not recorded. */
static void
restore(void *arg)
{
	const Stated *s = arg;
	Relation rel = try_relation_open(s->base, AccessShareLock);
	WtTable *t;

	if (rel == NULL)
		return;
	/* another session may be about to do the same */
	LockRelationOid(s->derived, ShareUpdateExclusiveLock);
	if (get_rel_relkind(s->derived) == RELKIND_FOREIGN_TABLE && wt_table_is_ours(s->derived) &&
		wt_table_is_ours(s->base) && !wt_dependency_is_recorded(t = wt_table(s->derived)))
	{
		if (t->index_of != NULL)
			wt_dependency_record_index(t, wt_table(s->base));
		else
			wt_dependency_record_rollup(wt_rollup_make(t, wt_table(s->base), rel, true, NULL));
		CommandCounterIncrement();
	}
	relation_close(rel, NoLock);
}

void
wt_dependency_restore(void)
{
	List *list = NIL;
	ListCell *lc;

	find_stated();
	/* the list may be made anew meanwhile */
	foreach(lc, stated.list)
	{
		Stated *s = lfirst(lc);

		if (!list_member_oid(find_recorded(s->base, 0), s->derived))
			list = lappend(list, memcpy(palloc(sizeof(Stated)), s, sizeof(Stated)));
	}
	/* one that cannot be parsed has no dependencies: the command may have nothing to do with it, or
	 * drop it */
	foreach(lc, list)
		(void) wt_attempt(restore, lfirst(lc));
}

List *
wt_dependency_all(void)
{
	List *out = NIL;
	ListCell *lc;

	find_stated();
	foreach(lc, stated.list)
		out = lappend_oid(out, ((Stated *) lfirst(lc))->derived);
	return out;
}

DefElem *
wt_dependency_option(Oid relid)
{
	List *options = GetForeignTable(relid)->options;
	DefElem *def = wt_catalog_option_find(options, "index_of");

	return def != NULL ? def : wt_catalog_option_find(options, "rollup_of");
}

void
wt_dependency_check_alter(const AlterTableStmt *stmt)
{
	Oid relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	ListCell *lc;

	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);
		AttrNumber column = cmd->subtype == AT_AlterColumnType && OidIsValid(relid)
								? get_attnum(relid, cmd->name)
								: InvalidAttrNumber;
		List *derived = column > 0 ? find_recorded(relid, column) : NIL;

		if (derived != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot alter type of a column used by an index or a roll-up"),
					 errdetail("\"%s\" has column \"%s\".", get_rel_name(linitial_oid(derived)),
							   cmd->name),
					 errhint("Drop it, and create it again afterwards.")));
	}
}
