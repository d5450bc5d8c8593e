/*
 * event_trigger.c
 *		CREATE, ALTER and DROP FOREIGN TABLE.
 *
 * Event triggers of the extension's script call these functions at the end of a command
 * and for dropped objects: directly in version 1.0 of the script, through functions in
 * PL/pgSQL since, which see whether the library is there.  They fire for every user, and
 * roll back with the
 * transaction, because they only add operations to its batch.  They are not the only
 * way: a table that is missing in the engine (event triggers were off, the database was
 * copied from a template) is created at its first write (wt_engine_table), and what was
 * dropped unseen is found later (stored_table.c).
 */
#include "postgres.h"

#include "fdw/ddl/event_trigger.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_inherits.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"

#include "engine/wide.h"
#include "fdw/ddl/binding.h"
#include "fdw/ddl/ddl_lock.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/table.h"
#include "fdw/table/table_name.h"
#include "fdw/xact/batch.h"

static void (*before_command)(const Node *stmt) = NULL;
static void (*names_changed)(List *relids) = NULL;
static void (*table_defined)(Oid relid) = NULL;

void
wt_event_trigger_on_define(void (*start)(const Node *stmt), void (*names)(List *relids),
						   void (*defined)(Oid relid))
{
	before_command = start;
	names_changed = names;
	table_defined = defined;
}

/* Returns: the distinct oids that the query returns, in CurrentMemoryContext. */
static List *
query_oids(const char *sql)
{
	MemoryContext caller = CurrentMemoryContext;
	List *result = NIL;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(sql, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the objects of the command");
	MemoryContextSwitchTo(caller);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool isnull;
		Datum d = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);

		if (!isnull)
			result = list_append_unique_oid(result, DatumGetObjectId(d));
	}
	SPI_finish();
	return result;
}

/* Returns: the relations, and those that inherit from them: PostgreSQL does not list the children
 * that a command on a parent changes. */
static List *
with_children(List *relids)
{
	List *all = NIL;
	ListCell *lc;

	foreach(lc, relids)
	{
		/* has_subclass() raises an error for a relation that is gone */
		if (get_rel_relkind(lfirst_oid(lc)) != '\0' && has_subclass(lfirst_oid(lc)))
			all = list_concat_unique_oid(all, find_all_inheritors(lfirst_oid(lc), NoLock, NULL));
		else
			all = list_append_unique_oid(all, lfirst_oid(lc));
	}
	return all;
}

/* Syncs the tables, and those that inherit from them. */
static void
sync_tables(List *relids)
{
	List *all = with_children(relids);
	ListCell *lc;

	if (names_changed != NULL)
		names_changed(all);
	foreach(lc, all)
	{
		if (!wt_table_is_ours(lfirst_oid(lc)))
			continue;
		wt_stored_table_define(lfirst_oid(lc), true);
		if (table_defined != NULL)
			table_defined(lfirst_oid(lc));
	}
}

/*
 * Hides the PL/pgSQL function that has called this one, and its statement, from the context of
 * errors: the user has called neither.
 * Returns: the context to set at the end.  An error resets it.
 */
static ErrorContextCallback *
hide_caller(FunctionCallInfo fcinfo)
{
	ErrorContextCallback *context = error_context_stack;

	for (int i = 0; i < 2 && error_context_stack != NULL && !CALLED_AS_EVENT_TRIGGER(fcinfo); i++)
		error_context_stack = error_context_stack->previous;
	return context;
}

PG_FUNCTION_INFO_V1(wt_event_trigger_library);

/* Loads the library. */
Datum
wt_event_trigger_library(PG_FUNCTION_ARGS)
{
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(wt_ddl_command_end);

Datum
wt_ddl_command_end(PG_FUNCTION_ARGS)
{
	ErrorContextCallback *context = hide_caller(fcinfo);
	List *relids;

	/* and the tables of a renamed schema: their stored tables' names have its name */
	relids = query_oids(
		"SELECT objid FROM pg_catalog.pg_event_trigger_ddl_commands()"
		" WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
		" AND objid IS NOT NULL"
		" UNION ALL SELECT c.oid FROM pg_catalog.pg_event_trigger_ddl_commands() e, "
		"pg_catalog.pg_class c"
		" WHERE e.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass"
		" AND c.relnamespace OPERATOR(pg_catalog.=) e.objid"
		" AND c.relkind OPERATOR(pg_catalog.=) 'f'");
	sync_tables(relids);
	error_context_stack = context;
	PG_RETURN_NULL();
}

static object_access_hook_type prev_object_access_hook = NULL;

/* Unbinds the foreign table; the stored table is dropped with its last one.  In the transaction's
 * batch, so it rolls back with that. */
static void
drop_binding(Oid relid)
{
	char *name = NULL;
	wide_table wt;

	/* another transaction may be about to share the table, or to rename it */
	for (;;)
	{
		if (wt_binding_find(relid, &wt) != WIDE_OK)
			return;
		if (name != NULL && wt_table_name_is(wt.name, name))
			break;
		name = wt_table_name_canonical(wt.name);
		wt_ddl_lock_name(name);
	}
	wt_ddl_lock_stored_table(wt.id, ShareUpdateExclusiveLock);
	wt_batch_command_ddl();
	wt_error_check(wide_batch_unbind(wt_batch(true), wt.id, relid), "could not drop the table");
}

/* Returns: false, with a warning, if the store cannot be opened: the drop goes on. */
static bool
open_for_drop(void)
{
	char *why = NULL;

	if (wt_store_db_try(&why) != NULL)
		return true;
	ereport(WARNING,
			(errmsg("could not remove the stored data of dropped foreign tables"),
			 errdetail("%s", why)));
	return false;
}

/* Returns: the tables that other engines store. */
static List *
stored_elsewhere(List *relids)
{
	List *out = NIL;
	ListCell *lc;

	foreach(lc, relids)
		if (wt_table_is_ours(lfirst_oid(lc)) && wt_table_engine(lfirst_oid(lc)) != NULL)
			out = lappend_oid(out, lfirst_oid(lc));
	return out;
}

/* For the objects that the command has dropped. */
static void
drop_objects(void)
{
	bool store = wt_store_exists();
	List *relids;
	ListCell *lc;

	/* columns that were dropped with their type: PostgreSQL does not list their table as altered */
	relids = query_oids(
		"SELECT objid FROM pg_catalog.pg_event_trigger_dropped_objects()"
		" WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
		" AND object_type OPERATOR(pg_catalog.=) 'foreign table column'");
	sync_tables(store ? relids : stored_elsewhere(relids));
	if (!store)
		return;
	relids = query_oids(
		"SELECT objid FROM pg_catalog.pg_event_trigger_dropped_objects()"
		" WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
		" AND objsubid OPERATOR(pg_catalog.=) 0"
		" AND object_type OPERATOR(pg_catalog.=) 'foreign table'");
	if (relids == NIL || !open_for_drop())
		return;
	foreach(lc, relids)
		drop_binding(lfirst_oid(lc));
}

PG_FUNCTION_INFO_V1(wt_sql_drop);

Datum
wt_sql_drop(PG_FUNCTION_ARGS)
{
	ErrorContextCallback *context = hide_caller(fcinfo);

	drop_objects();
	error_context_stack = context;
	PG_RETURN_NULL();
}

/*
 * PostgreSQL checks the privilege on the server, too, but its error does not say what to do.
 * Errors: 42501 if the user must not use the server of the new foreign table, and that is ours.
 */
static void
check_server_usage(const CreateForeignTableStmt *stmt)
{
	ForeignServer *server = GetForeignServerByName(stmt->servername, true);

	if (server == NULL || !wt_table_is_server_ours(server) || wt_may_use_server(server->serverid))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for foreign server %s", server->servername),
			 errhint("A superuser or the server's owner lets a role create wide tables: "
					 "GRANT USAGE ON FOREIGN SERVER %s TO %s;",
					 quote_identifier(server->servername),
					 quote_identifier(GetUserNameFromId(GetUserId(), false)))));
}

/* Returns: the command for which the event trigger fires, if that is known; else NULL. */
static Node *
current_statement(FunctionCallInfo fcinfo)
{
	List *stmts = ActivePortal != NULL ? ActivePortal->stmts : NIL;

	if (CALLED_AS_EVENT_TRIGGER(fcinfo))
		return ((EventTriggerData *) fcinfo->context)->parsetree;
	return list_length(stmts) == 1 ? linitial_node(PlannedStmt, stmts)->utilityStmt : NULL;
}

/*
 * The event trigger for drops does not fire in a command that drops the trigger itself, as
 * DROP EXTENSION does.  Then, and if event triggers are off, PostgreSQL's hook sees the
 * drop, if the library is loaded.  This event trigger before such commands loads it.  It fires also
 * before those at whose beginning something is checked or recorded.
 */
PG_FUNCTION_INFO_V1(wt_ddl_command_start);

Datum
wt_ddl_command_start(PG_FUNCTION_ARGS)
{
	ErrorContextCallback *context = hide_caller(fcinfo);
	Node *stmt = current_statement(fcinfo);

	/* with IF NOT EXISTS there may be nothing to create: PostgreSQL knows */
	if (stmt != NULL && IsA(stmt, CreateForeignTableStmt) &&
		!((CreateForeignTableStmt *) stmt)->base.if_not_exists)
		check_server_usage((CreateForeignTableStmt *) stmt);
	if (before_command != NULL)
		before_command(stmt);
	error_context_stack = context;
	PG_RETURN_NULL();
}

static void
object_access(ObjectAccessType access, Oid classid, Oid object, int subid, void *arg)
{
	if (prev_object_access_hook)
		prev_object_access_hook(access, classid, object, subid, arg);
	if (access == OAT_DROP && classid == RelationRelationId && subid == 0 &&
		get_rel_relkind(object) == RELKIND_FOREIGN_TABLE && wt_table_is_ours(object) &&
		wt_store_exists() && open_for_drop())
		drop_binding(object);
}

void
wt_event_trigger_init(void)
{
	prev_object_access_hook = object_access_hook;
	object_access_hook = object_access;
}
