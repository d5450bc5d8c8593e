/*
 * remote_query.c
 *		A query on the connection that postgres_fdw uses for a foreign table.
 *
 * A function must be carried out in the transaction in which postgres_fdw reads and writes the
 * table, so that ROLLBACK undoes it and it sees what the transaction has changed before.  Only
 * postgres_fdw can use its connections, and it offers nothing but its callbacks of a foreign-data
 * wrapper.  So the query is given to it as a plan: that of a join or an aggregate which it has
 * pushed to the server, where a ForeignScan has no table, columns of any type, and the text of a
 * query. Connection, user mapping, savepoints, parameters, cancellation and errors are
 * postgres_fdw's.
 *
 * What its plans have in fdw_private is postgres_fdw's own affair; the form is the same in
 * PostgreSQL 15 to 18.  In a version that is not known, calls are refused.
 */
#include "postgres.h"

#include "fdw/func/remote_query.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "nodes/bitmapset.h"
#include "nodes/makefuncs.h"
#include "nodes/plannodes.h"
#include "storage/lockdefs.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "fdw/store/compat.h"
#include "fdw/table/table.h"

/* rows that are fetched at a time */
#define FETCH_SIZE 1000

bool
wt_remote_query_table(Oid relid)
{
	ForeignServer *server;
	HeapTuple tup;
	Form_pg_proc proc;
	bool ours = false;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE ||
		(server = wt_table_server(relid)) == NULL)
		return false;
	tup = SearchSysCache1(PROCOID,
						  ObjectIdGetDatum(GetForeignDataWrapper(server->fdwid)->fdwhandler));
	if (!HeapTupleIsValid(tup))
		return false;
	proc = (Form_pg_proc) GETSTRUCT(tup);
	/* only superusers make functions in C */
	if (proc->prolang == ClanguageId)
	{
		Datum symbol, library;
		bool no_symbol, no_library;

		symbol = SysCacheGetAttr(PROCOID, tup, Anum_pg_proc_prosrc, &no_symbol);
		library = SysCacheGetAttr(PROCOID, tup, Anum_pg_proc_probin, &no_library);
		ours = !no_symbol && !no_library &&
			   strcmp(TextDatumGetCString(symbol), "postgres_fdw_handler") == 0 &&
			   strcmp(TextDatumGetCString(library), "$libdir/postgres_fdw") == 0;
	}
	ReleaseSysCache(tup);
	return ours;
}

/* Returns the value of an option; NULL if it is not there. */
static char *
option(List *options, const char *name)
{
	ListCell *lc;

	foreach(lc, options)
	{
		DefElem *d = lfirst_node(DefElem, lc);

		if (strcmp(d->defname, name) == 0)
			return defGetString(d);
	}
	return NULL;
}

char *
wt_remote_query_column(Oid relid, AttrNumber attno, const char *name)
{
	char *remote = option(GetForeignColumnOptions(relid, attno), "column_name");

	return remote != NULL ? remote : pstrdup(name);
}

char *
wt_remote_query_name(Oid relid)
{
	List *options = GetForeignTable(relid)->options;
	char *schema = option(options, "schema_name");
	char *table = option(options, "table_name");

	return quote_qualified_identifier(schema != NULL ? schema
													 : get_namespace_name(get_rel_namespace(relid)),
									  table != NULL ? table : get_rel_name(relid));
}

/* A table of the query, by which postgres_fdw finds server and user mapping.  No privileges. */
static RangeTblEntry *
make_entry(Oid relid)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = relid;
	rte->relkind = RELKIND_FOREIGN_TABLE;
	rte->rellockmode = AccessShareLock;
	rte->eref = makeAlias(get_rel_name(relid), NIL);
	return rte;
}

/* The plan that postgres_fdw would make if the query came from a join of the table. */
static PlannedStmt *
make_plan(Oid relid, const char *sql, List *params, TupleDesc desc)
{
	PlannedStmt *stmt = makeNode(PlannedStmt);
	ForeignScan *scan = makeNode(ForeignScan);
	List *columns = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);
		Const *null = makeNullConst(a->atttypid, a->atttypmod, a->attcollation);
		Var *var = makeVar(INDEX_VAR, (AttrNumber) (i + 1), a->atttypid, a->atttypmod,
						   a->attcollation, 0);

		/* postgres_fdw asks for the types only */
		scan->fdw_scan_tlist = lappend(scan->fdw_scan_tlist,
									   makeTargetEntry((Expr *) null, (AttrNumber) (i + 1),
													   pstrdup(NameStr(a->attname)), false));
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist,
											 makeTargetEntry((Expr *) var, (AttrNumber) (i + 1),
															 pstrdup(NameStr(a->attname)), false));
		columns = lappend_int(columns, i + 1);
	}
	scan->operation = CMD_SELECT;
	scan->fs_server = GetForeignTable(relid)->serverid;
	scan->fdw_exprs = params;
	/* the query, the columns that it returns, the rows to fetch at a time */
	scan->fdw_private = list_make3(makeString(pstrdup(sql)), columns, makeInteger(FETCH_SIZE));
	wt_foreign_scan_relids(scan) = bms_make_singleton(1);

	stmt->commandType = CMD_SELECT;
	stmt->canSetTag = true;
	stmt->planTree = (Plan *) scan;
	stmt->rtable = list_make1(make_entry(relid));
	stmt->relationOids = list_make1_oid(relid);
	stmt->stmt_len = -1;
	return stmt;
}

/* What a call is about, for the context of errors. */
typedef struct Place
{
	const char *function, *table, *server;
} Place;

static void
add_context(void *arg)
{
	const Place *c = arg;

	errcontext("%s for foreign table \"%s\" on server \"%s\"", c->function, c->table, c->server);
}

void
wt_remote_query_run(Oid relid, const char *function, const char *sql, List *params, TupleDesc desc,
					Tuplestorestate *out)
{
	Place call = {function, get_rel_name(relid), wt_table_server(relid)->servername};
	ErrorContextCallback context = {.callback = add_context, .arg = &call};
	DestReceiver *dest;
	QueryDesc *query;

	if (!wt_postgres_fdw_is_known)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot carry out %s for foreign table \"%s\" on server \"%s\"", function,
						call.table, call.server),
				 errdetail("This version of PostgreSQL is newer than what widetable knows of "
						   "postgres_fdw."),
				 errhint("Call the function on that server.")));
	context.previous = error_context_stack;
	error_context_stack = &context;
	dest = CreateDestReceiver(DestTuplestore);
	SetTuplestoreDestReceiverParams(dest, out, CurrentMemoryContext, false, NULL, NULL);
	query = CreateQueryDesc(make_plan(relid, sql, params, desc), sql, GetActiveSnapshot(),
							InvalidSnapshot, dest, NULL, NULL, 0);
	ExecutorStart(query, 0);
	wt_run_to_end(query);
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	dest->rDestroy(dest);
	error_context_stack = context.previous;
}
