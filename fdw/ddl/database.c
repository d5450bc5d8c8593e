/*
 * database.c
 *		Wide tables and CREATE DATABASE ... TEMPLATE (doc/internals/databases.md).
 *
 * PostgreSQL copies the catalogs, so the new database has the foreign tables with the
 * template's oids.  Their rows are in stored tables of the template's database, which
 * PostgreSQL does not know.
 *
 *	- A session that has loaded the library copies the stored tables in the same
 *	  transaction, by a hook on the command.  PostgreSQL keeps all other sessions out
 *	  of the template meanwhile.
 *	- Without that, the new database must not look as if its tables were empty.  The
 *	  wrapper's option "origin" names the cluster and the database in which the foreign
 *	  tables were created; it is copied with the catalogs.  A foreign table without a
 *	  stored table, in a database that is not the origin, was not copied: using it is an
 *	  error, until its rows are copied (copy_tables()) or TRUNCATE lets it begin empty.
 *
 * The option is set with the first foreign table.  It is moved on to this database only
 * when no table that was not copied is left in it.
 *
 * The hook on commands also passes SET TRANSACTION SNAPSHOT on to snapshot.c.
 *
 * Locking: ShareUpdateExclusiveLock on the wrapper while the option is set.
 */
#include "postgres.h"

#include "fdw/ddl/database.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_table.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/snapshot.h"
#include "utils/syscache.h"

#include "engine/wide.h"
#include "fdw/ddl/binding.h"
#include "fdw/ddl/catalog_option.h"
#include "fdw/store/beginning.h"
#include "fdw/store/error.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/upgrade.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/snapshot.h"

static ProcessUtility_hook_type prev_utility_hook = NULL;

/* ----------------------------------------------------------------- origin */

/* Returns: the wrapper of a foreign table.  Errors: 42P01 if the table was dropped meanwhile:
 * functions hold no lock on it. */
static Oid
wrapper_of(Oid relid)
{
	ForeignServer *server = wt_table_server(relid);

	if (server == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return server->fdwid;
}

static char *
origin_of_this_database(void)
{
	return psprintf(UINT64_FORMAT ":%u", GetSystemIdentifier(), MyDatabaseId);
}

/* Returns: the option, or NULL if no foreign table was created with this wrapper yet. */
static char *
origin_of(Oid fdwid)
{
	DefElem *def = wt_catalog_option_find(GetForeignDataWrapper(fdwid)->options, WT_OPTION_ORIGIN);

	return def ? defGetString(def) : NULL;
}

static bool
is_here(const char *origin)
{
	return origin == NULL || strcmp(origin, origin_of_this_database()) == 0;
}

/* Returns: the database, or InvalidOid if it is one of another cluster. */
static Oid
origin_database(const char *origin)
{
	char *prefix = psprintf(UINT64_FORMAT ":", GetSystemIdentifier());
	size_t n = strlen(prefix);

	return strncmp(origin, prefix, n) == 0 ? (Oid) strtoul(origin + n, NULL, 10) : InvalidOid;
}

/* Returns: the wrapper's foreign tables without a stored table, but for one of them. */
static List *
unbound_tables(Oid fdwid, Oid except)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tup;
	List *result = NIL;

	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tup);
		wide_table wt;

		if (form->ftrelid != except && GetForeignServer(form->ftserver)->fdwid == fdwid &&
			wt_binding_find(form->ftrelid, &wt) == WIDE_NOTFOUND)
			result = lappend_oid(result, form->ftrelid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return result;
}

void
wt_database_note_origin(Oid relid)
{
	Oid fdwid = wrapper_of(relid);
	char *origin = origin_of(fdwid);

	if (origin != NULL && (is_here(origin) || unbound_tables(fdwid, relid) != NIL))
		return;
	LockDatabaseObject(ForeignDataWrapperRelationId, fdwid, 0, ShareUpdateExclusiveLock);
	origin = origin_of(fdwid);
	if (origin == NULL || !is_here(origin))
		wt_catalog_option_set_wrapper(fdwid, WT_OPTION_ORIGIN, origin_of_this_database());
}

bool
wt_database_is_uncopied(Oid relid)
{
	return !is_here(origin_of(wrapper_of(relid)));
}

/*
 * Returns: true if the foreign table was there when the transaction began.  One that the
 * transaction creates says nothing about a store.
 */
static bool
is_older(HeapTuple tup)
{
	return !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tup->t_data));
}

/*
 * Returns: true if foreign tables of this database have, or had, their rows in this cluster's
 * store: there was one.
 */
static bool
is_store_expected(void)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tup;
	bool expected = false;

	while (!expected && HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tup);
		char *origin;

		if (!is_older(tup) || !wt_table_is_ours(form->ftrelid))
			continue;
		origin = origin_of(wrapper_of(form->ftrelid));
		expected = origin != NULL && is_here(origin);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return expected;
}

void
wt_database_begin_empty(void)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tup;
	List *wrappers = NIL;
	ListCell *lc;

	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Oid relid = ((Form_pg_foreign_table) GETSTRUCT(tup))->ftrelid;

		if (wt_table_is_ours(relid))
			wrappers = list_append_unique_oid(wrappers, wrapper_of(relid));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	foreach(lc, wrappers)
		if (!is_here(origin_of(lfirst_oid(lc))))
			wt_catalog_option_set_wrapper(lfirst_oid(lc), WT_OPTION_ORIGIN,
										  origin_of_this_database());
}

void
wt_database_check_stored(Oid relid)
{
	wt_database_check_copied(relid);
	if (wt_beginning_is_missing())
		wt_beginning_report_missing();
}

void
wt_database_check_copied(Oid relid)
{
	char *origin = origin_of(wrapper_of(relid));
	char *rel = get_rel_name(relid);
	char *source;

	if (is_here(origin))
		return;
	if (!OidIsValid(origin_database(origin)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the rows of foreign table \"%s\" are not in this cluster", rel),
				 errdetail("The database was made in another cluster. pg_upgrade leaves the rows "
						   "of wide tables behind."),
				 errhint("Bring the directory of the store along, as doc/upgrade.md says, or "
						 "restore them from a dump that was made with --include-foreign-data. "
						 "TRUNCATE lets the table begin empty.")));
	source = get_database_name(origin_database(origin));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the rows of foreign table \"%s\" were not copied into this database", rel),
			 source ? errdetail("CREATE DATABASE has copied the definition only; it was made in "
								"database \"%s\".",
								source)
					: errdetail("CREATE DATABASE has copied the definition only; the database "
								"where it was made does not exist any more."),
			 errhint("SELECT widetable.copy_tables(%s) copies what that database holds now. "
					 "TRUNCATE lets the table begin empty. "
					 "With widetable in shared_preload_libraries, CREATE DATABASE copies the rows.",
					 source ? quote_literal_cstr(source) : "'template'")));
}

/* ------------------------------------------------------------------- copy */

/* Copies all versions that the snapshot sees, with their timestamps. */
static void
copy_family(wide_family_id from, wide_family_id to, Snapshot snapshot)
{
	wide_scan_family f = {.id = from, .want = WIDE_WANT_ALL, .max_versions = PG_INT32_MAX};
	wide_range all = {{(const uint8 *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {
		.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1, .operands = true};
	WtEngineScan *scan = wt_engine_scan_open(snapshot, &spec);
	wide_row row;

	while (wt_engine_scan_next(scan, &row))
	{
		wide_progress_add(wt_store_db(), (uint64) row.ncells);
		for (int i = 0; i < row.ncells; i++)
			wt_error_check(wide_batch_put(wt_batch(true), to, row.key, row.cells[i].qualifier,
										  row.cells[i].ts, PG_INT64_MIN, row.cells[i].ttl_us,
										  row.cells[i].value),
						   "could not copy a wide table");
	}
	wt_engine_scan_close(scan);
}

/*
 * Creates a copy of a stored table in another database (space): name, families, bindings
 * (those of the foreign tables in only; NIL: all) and cells.
 */
static void
copy_table(const wide_table *from, Oid space, List *only, Snapshot snapshot)
{
	int n;
	wide_family *fams = wt_binding_families(NULL, from->id, &n);
	wide_table_id id;
	wide_family_info info;
	uint64 cells = 0;
	ListCell *lc;

	wt_batch_command_ddl();
	wt_error_check(wide_batch_create_table(wt_batch(true), space, from->name, &id),
				   "could not copy a wide table");
	foreach(lc, wt_binding_tables(NULL, from->id))
		if (only == NIL || list_member_oid(only, lfirst_oid(lc)))
			wt_error_check(wide_batch_bind(wt_batch(true), id, lfirst_oid(lc)),
						   "could not copy a wide table");
	for (int i = 0; i < n; i++)
		if (wide_family_statistics(wt_store_db(), fams[i].id, &info) == WIDE_OK)
			cells += info.cells + info.memtable_cells;
	wide_progress_begin(wt_store_db(), WIDE_PROGRESS_COPY, from->id, cells);
	for (int i = 0; i < n; i++)
	{
		wide_family_id fid;

		wt_error_check(wide_batch_create_family(wt_batch(true), id, fams[i].name, &fams[i].opt,
												&fid),
					   "could not copy a wide table");
		copy_family(fams[i].id, fid, snapshot);
		wt_stop_point("copy-family");
	}
	wide_progress_end(wt_store_db());
	pfree(fams);
}

/* Returns: oids of the foreign tables of this database that lack the rows of the stored table,
 * which is another database's. */
static List *
waiting_for(const wide_table *wt)
{
	List *result = NIL;
	ListCell *lc;

	foreach(lc, wt_binding_tables(NULL, wt->id))
	{
		Oid relid = lfirst_oid(lc);
		wide_table have;

		if (!wt_table_is_ours(relid) || !wt_database_is_uncopied(relid))
			continue;
		/* a session that uses the table now gets the error, or waits and finds the rows */
		LockRelationOid(relid, AccessExclusiveLock);
		if (wt_table_is_ours(relid) && wt_binding_find(relid, &have) == WIDE_NOTFOUND)
			result = lappend_oid(result, relid);
	}
	return result;
}

PG_FUNCTION_INFO_V1(wt_sql_copy_tables);

Datum
wt_sql_copy_tables(PG_FUNCTION_ARGS)
{
	char *name = NameStr(*PG_GETARG_NAME(0));
	Oid source = get_database_oid(name, false);
	int copied = 0;
	ListCell *lc;

	PreventCommandIfReadOnly("copy_tables()");
	PreventCommandDuringRecovery("copy_tables()");
	/* it copies all rows of another database, without regard to privileges there */
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser for copy_tables()")));
	if (source == MyDatabaseId || !wt_store_exists())
		PG_RETURN_INT32(0);
	foreach(lc, wt_binding_stored_tables(source))
	{
		wide_table *wt = lfirst(lc);
		List *waiting = waiting_for(wt);

		if (waiting == NIL)
			continue;
		copy_table(wt, MyDatabaseId, waiting, GetActiveSnapshot());
		wt_database_note_origin(linitial_oid(waiting));
		copied++;
	}
	PG_RETURN_INT32(copied);
}

/* ------------------------------------------------------- CREATE DATABASE */

static char *
template_of(const CreatedbStmt *stmt)
{
	DefElem *def = wt_catalog_option_find(stmt->options, "template");

	return def && def->arg ? defGetString(def) : "template1";
}

/*
 * The command has created the database, and its lock keeps other sessions out of the
 * template.  A failure leaves a database without the rows of wide tables, whose first
 * use is an error.  That is better than to abort the command, which would leave its
 * files behind.
 */
static void
copy_tables_of_template(const CreatedbStmt *stmt, List *tables, Oid space)
{
	WtErrorPoint before = wt_error_point();
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		ListCell *lc;

		wt_upgrade_check_unprepared();
		foreach(lc, tables)
			copy_table(lfirst(lc), space, NIL, NULL);
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
		if (e->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(e);
		ereport(WARNING,
				(errmsg("wide tables were not copied into database \"%s\"", stmt->dbname),
				 errdetail("%s", e->message),
				 errhint("SELECT widetable.copy_tables(%s) in that database copies them.",
						 quote_literal_cstr(template_of(stmt)))));
		FreeErrorData(e);
	}
	PG_END_TRY();
}

static void
after_create_database(const CreatedbStmt *stmt)
{
	char *why = NULL;
	List *tables;

	if (!wt_store_exists())
		return;
	if (wt_store_db_try(&why) == NULL)
	{
		ereport(WARNING,
				(errmsg("wide tables were not copied into database \"%s\"", stmt->dbname),
				 errdetail("%s", why)));
		return;
	}
	tables = wt_binding_stored_tables(get_database_oid(template_of(stmt), false));
	if (tables == NIL)
		return;
	CommandCounterIncrement();
	copy_tables_of_template(stmt, tables, get_database_oid(stmt->dbname, false));
}

/* Errors: 55000 if the store is prepared for pg_upgrade and has tables of the database: the new
 * cluster takes it over only if it has all their databases. */
static void
before_drop_database(const DropdbStmt *stmt)
{
	Oid space = get_database_oid(stmt->dbname, true);

	if (OidIsValid(space) && wt_upgrade_is_prepared() && wt_binding_stored_tables(space) != NIL)
		wt_upgrade_check_unprepared();
}

/* Returns: the name that SET TRANSACTION SNAPSHOT has imported, or NULL for another statement. */
static const char *
imported_snapshot(Node *stmt)
{
	VariableSetStmt *set = (VariableSetStmt *) stmt;

	if (!IsA(stmt, VariableSetStmt) || set->kind != VAR_SET_MULTI ||
		strcmp(set->name, "TRANSACTION SNAPSHOT") != 0)
		return NULL;
	return strVal(&linitial_node(A_Const, set->args)->val);
}

static void
utility(PlannedStmt *pstmt, const char *query, bool read_only_tree, ProcessUtilityContext context,
		ParamListInfo params, QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	if (IsA(pstmt->utilityStmt, DropdbStmt))
		before_drop_database((DropdbStmt *) pstmt->utilityStmt);
	if (prev_utility_hook)
		prev_utility_hook(pstmt, query, read_only_tree, context, params, env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params, env, dest, qc);
	if (imported_snapshot(pstmt->utilityStmt) != NULL)
		wt_snapshot_note_imported(imported_snapshot(pstmt->utilityStmt));
	if (IsA(pstmt->utilityStmt, CreatedbStmt))
		after_create_database((CreatedbStmt *) pstmt->utilityStmt);
}

void
wt_database_init(void)
{
	wt_beginning_on_expected(is_store_expected);
	prev_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = utility;
}
