/*
 * table.c
 *		Foreign tables of this wrapper, and the cache of their parsed definitions.
 *
 * The cache finds entries by relid.  An invalidation only marks an entry, because
 * a running statement may use it.  The next lookup of a marked entry parses the
 * definition again and retires the old one.  Retired definitions, and entries that
 * are still marked (for example of dropped tables), are freed at the end of the
 * transaction.
 */
#include "postgres.h"

#include "fdw/table/table.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "nodes/makefuncs.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "engine/wide.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/table/definition.h"
#include "fdw/table/engine.h"
#include "fdw/table/table_option.h"
#include "fdw/table/types.h"

ForeignServer *
wt_table_server(Oid relid)
{
	HeapTuple tup = SearchSysCache1(FOREIGNTABLEREL, ObjectIdGetDatum(relid));
	Oid server;

	if (!HeapTupleIsValid(tup))
		return NULL;
	server = ((Form_pg_foreign_table) GETSTRUCT(tup))->ftserver;
	ReleaseSysCache(tup);
	return GetForeignServerExtended(server, FSV_MISSING_OK);
}

bool
wt_table_is_server_ours(const ForeignServer *server)
{
	ForeignDataWrapper *fdw = GetForeignDataWrapperExtended(server->fdwid, FDW_MISSING_OK);
	HeapTuple proc;
	bool ours = false;

	if (fdw == NULL)
		return false;
	/* wrappers can be renamed, and there may be several: the handler identifies them */
	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(fdw->fdwhandler));
	if (HeapTupleIsValid(proc))
	{
		bool isnull;
		Datum src = SysCacheGetAttr(PROCOID, proc, Anum_pg_proc_prosrc, &isnull);

		ours = ((Form_pg_proc) GETSTRUCT(proc))->prolang == ClanguageId && !isnull &&
			   strcmp(TextDatumGetCString(src), "wt_handler") == 0;
		ReleaseSysCache(proc);
	}
	return ours;
}

static const struct WtEngine *
engine_of_server(const ForeignServer *server)
{
	ListCell *lc;

	foreach(lc, server != NULL ? server->options : NIL)
	{
		DefElem *def = lfirst(lc);

		if (strcmp(def->defname, "engine") == 0)
			return wt_table_option_engine(defGetString(def));
	}
	return NULL;
}

const struct WtEngine *
wt_table_engine(Oid relid)
{
	return engine_of_server(wt_table_server(relid));
}

List *
wt_table_import(ImportForeignSchemaStmt *stmt, Oid server)
{
	const struct WtEngine *engine = engine_of_server(GetForeignServer(server));

	if (engine == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_NO_SCHEMAS),
				 errmsg("server \"%s\" has no schemas to import", stmt->server_name),
				 errdetail("The embedded engine's tables are those of CREATE FOREIGN TABLE.")));
	return engine->import(stmt, server);
}

/* Errors: 42809 if the table is derived itself: definitions would name each other in circles. */
static void
check_not_derived(Oid relid)
{
	ListCell *lc;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return;
	foreach(lc, GetForeignTable(relid)->options)
		if (strcmp(lfirst_node(DefElem, lc)->defname, "index_of") == 0 ||
			strcmp(lfirst_node(DefElem, lc)->defname, "rollup_of") == 0)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("table \"%s\" cannot have indexes or roll-ups", get_rel_name(relid)),
					 errdetail("Its rows follow from those of another table.")));
}

Oid
wt_table_named(const char *name)
{
	char *schema, *relation;

	DeconstructQualifiedName(wt_qualified_names(name), &schema, &relation);
	if (schema == NULL)
		return RelnameGetRelid(relation);
	return get_relname_relid(relation, get_namespace_oid(schema, true));
}

void
wt_table_find_source(WtDefinition *def, List *options)
{
	ListCell *lc;

	foreach(lc, options)
	{
		DefElem *option = lfirst(lc);
		bool index = strcmp(option->defname, "index_of") == 0;

		if (!index && strcmp(option->defname, "rollup_of") != 0)
			continue;
		def->source = wt_table_named(defGetString(option));
		if (!OidIsValid(def->source))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation \"%s\" does not exist", defGetString(option))));
		check_not_derived(def->source);
		if (!wt_table_is_ours(def->source))
			wt_table_not_ours(def->source);
		if (index)
			def->indexed = wt_table_unlocked(def->source);
	}
}

WtTable *
wt_table_parse(Relation rel)
{
	ForeignTable *ft = GetForeignTable(RelationGetRelid(rel));
	WtDefinition def = {.relid = RelationGetRelid(rel)};

	def.owner = rel->rd_rel->relowner;
	def.name = RelationGetRelationName(rel);
	def.schema = get_namespace_name(RelationGetNamespace(rel));
	def.desc = RelationGetDescr(rel);
	def.server = ft->serverid;
	def.server_options = GetForeignServer(ft->serverid)->options;
	def.options = ft->options;
	wt_table_find_source(&def, ft->options);
	def.column_options = palloc0(Max(def.desc->natts, 1) * sizeof(List *));
	for (int i = 0; i < def.desc->natts; i++)
		if (!TupleDescAttr(def.desc, i)->attisdropped)
			def.column_options[i] = GetForeignColumnOptions(def.relid, i + 1);
	return wt_definition_parse(&def);
}

typedef struct CacheEntry
{
	Oid relid; /* hash key */
	bool stale;
	WtTable *table;
	MemoryContext context; /* of table */
} CacheEntry;

static HTAB *table_cache;
static MemoryContext retired; /* parent of contexts to free at the end of the transaction */
static bool any_stale;		  /* some entries are marked */
static uint64 invalidations;  /* messages so far */

static void
invalidate_relation(Datum arg, Oid relid)
{
	invalidations++;
	any_stale = true;
	if (OidIsValid(relid))
	{
		CacheEntry *e = hash_search(table_cache, &relid, HASH_FIND, NULL);

		if (e)
			e->stale = true;
	}
	else
	{
		HASH_SEQ_STATUS scan;
		CacheEntry *e;

		hash_seq_init(&scan, table_cache);
		while ((e = hash_seq_search(&scan)) != NULL)
			e->stale = true;
	}
}

/* A server or a schema has changed; the schema is part of the default table name. */
static void
invalidate_all(Datum arg, int cacheid, uint32 hashvalue)
{
	invalidate_relation(arg, InvalidOid);
}

static void
free_retired(XactEvent event, void *arg)
{
	HASH_SEQ_STATUS scan;
	CacheEntry *e;

	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE &&
		event != XACT_EVENT_PARALLEL_COMMIT && event != XACT_EVENT_PARALLEL_ABORT)
		return;
	MemoryContextDeleteChildren(retired);
	if (!any_stale)
		return;
	any_stale = false;
	hash_seq_init(&scan, table_cache);
	while ((e = hash_seq_search(&scan)) != NULL)
	{
		if (!e->stale)
			continue;
		MemoryContextDelete(e->context);
		(void) hash_search(table_cache, &e->relid, HASH_REMOVE, NULL);
	}
}

static void
cache_init(void)
{
	HASHCTL ctl = {
		.keysize = sizeof(Oid), .entrysize = sizeof(CacheEntry), .hcxt = CacheMemoryContext};

	retired = AllocSetContextCreate(CacheMemoryContext, "widetable retired tables",
									ALLOCSET_SMALL_SIZES);
	table_cache = hash_create("widetable tables", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, invalidate_all, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, invalidate_all, (Datum) 0);
	RegisterXactCallback(free_retired, NULL);
}

static int
compare_columns(const void *a, const void *b, void *t)
{
	int x = *(const int *) a, y = *(const int *) b;
	const WtColumn *cx = &((const WtTable *) t)->columns[x],
				   *cy = &((const WtTable *) t)->columns[y];
	int c;

	if (cx->family != cy->family)
		return cx->family < cy->family ? -1 : 1;
	c = wt_bytes_cmp((wide_bytes) {cx->qual, cx->qual_len}, (wide_bytes) {cy->qual, cy->qual_len});
	return c != 0 ? c : x - y;
}

/* Returns WtTable.order. */
static int *
cell_order(WtTable *t)
{
	int *order = palloc(sizeof(int) * Max(1, t->natts));

	for (int i = 0; i < t->natts; i++)
		order[i] = i;
	qsort_arg(order, t->natts, sizeof(int), compare_columns, t);
	return order;
}

/* Returns: the valid entry; NULL: there is none. */
static CacheEntry *
cache_find(Oid relid)
{
	CacheEntry *e;

	if (table_cache == NULL)
		cache_init();
	e = hash_search(table_cache, &relid, HASH_FIND, NULL);
	return e != NULL && !e->stale ? e : NULL;
}

bool
wt_table_is_ours(Oid relid)
{
	ForeignServer *server;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return false;
	if (cache_find(relid) != NULL)
		return true;
	server = wt_table_server(relid);
	return server != NULL && wt_table_is_server_ours(server);
}

/* Parses the definition of an open relation into the cache. */
static WtTable *
cache_fill(Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	CacheEntry *e;
	MemoryContext context, old;
	WtTable *t;
	uint64 before;
	bool found;

	context = AllocSetContextCreate(CurrentMemoryContext, "widetable table", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	before = invalidations;
	t = wt_table_parse(rel);
	t->order = cell_order(t);
	MemoryContextSwitchTo(old);

	e = hash_search(table_cache, &relid, HASH_ENTER, &found);
	if (found)
		MemoryContextSetParent(e->context, retired);
	MemoryContextSetParent(context, CacheMemoryContext);
	e->table = t;
	e->context = context;
	/* changed while it was parsed: good for this statement, not for the next one */
	e->stale = invalidations != before;
	any_stale |= e->stale;
	return t;
}

/*
 * The name is looked up after wt_table_is_ours(): the other way round, a table that a concurrent
 * session drops in between would be said to be of another kind.
 */
void
wt_table_not_ours(Oid relid)
{
	char *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a foreign table of widetable", name),
			 errhint("Create it with CREATE FOREIGN TABLE ... SERVER widetable.")));
}

WtTable *
wt_table(Oid relid)
{
	CacheEntry *e = cache_find(relid);
	Relation rel;
	WtTable *t;

	if (e != NULL)
		return e->table;
	if (!wt_table_is_ours(relid))
		wt_table_not_ours(relid);

	/* keep the lock to the end of the transaction, as a query on the table does */
	rel = relation_open(relid, AccessShareLock);
	t = cache_fill(rel);
	relation_close(rel, NoLock);
	return t;
}

uint64
wt_table_invalidations(void)
{
	return invalidations;
}

bool
wt_table_is_followed_by_none(const WtTable *t)
{
	return t->derived == WT_DERIVED_NONE && t->derived_at == invalidations;
}

void
wt_table_retire(MemoryContext cxt)
{
	MemoryContextSetParent(cxt, retired);
}

WtTable *
wt_table_unlocked(Oid relid)
{
	CacheEntry *e = cache_find(relid);
	Relation rel;
	WtTable *t;

	if (e != NULL)
		return e->table;
	rel = wt_table_is_ours(relid) ? RelationIdGetRelation(relid) : NULL;
	if (rel == NULL)
		return NULL;
	t = cache_fill(rel);
	RelationClose(rel);
	return t;
}
