/*
 * route.c
 *		Functions on a row go where the row lives: to a partition, to another server.
 *
 * A call names a table by its first argument and a row by its second.  Of a partitioned table the
 * partition that the key belongs to is used.  For a foreign table of postgres_fdw the call is
 * repeated on its server, in postgres_fdw's transaction, with the user of the user mapping, whose
 * privileges are checked there.
 *
 * Privileges in this database are those on the table that the call names, as for a statement.  The
 * columns are known by their names only; cells that no column of that name shows need privileges on
 * the table.
 *
 * Keys and values that are text are converted here to the type of the column: the server's session
 * has other styles and another time zone.  The key is then sent as text, which the server converts
 * to the type of its key columns.
 */
#include "postgres.h"

#include "fdw/func/route.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "fdw/func/call.h"
#include "fdw/func/cell_argument.h"
#include "fdw/func/key_columns.h"
#include "fdw/derived/online_build.h"
#include "fdw/func/partition.h"
#include "fdw/func/remote_query.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/key_argument.h"
#include "fdw/table/table.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* A call that is not yet known to be for a wide table of this database. */
typedef struct Route
{
	WtCall *c;
	FunctionCallInfo fcinfo;
	const char *function;
	int writes; /* CmdType, or 0 */
	AclMode needs;
	WtRouteCells cells;
	Oid leaf;			/* the table that has the row */
	WtPartitionKey key; /* by the columns of the table that the call names */
	Oid *key_types;
	/* the query for the server */
	StringInfoData sql;
	List *params;
} Route;

/* ------------------------------------------------------------------- the key */

/* The type of a column, for conversions. */
static WtColumn
column_type(Oid relid, AttrNumber attno, const char *name)
{
	WtColumn column = {.name = unconstify(char *, name), .typmod = -1};
	Oid type, collation;

	get_atttypetypmodcoll(relid, attno, &type, &column.typmod, &collation);
	column.typid = getBaseTypeAndTypmod(type, &column.typmod);
	return column;
}

/* Reads argument 1, key, by the columns of the table that the call names. */
static void
read_key(Route *r)
{
	List *names = wt_key_columns(r->c->named, r->function);
	Datum *values;
	Oid *types;
	bool *nulls;
	int n;
	ListCell *lc;

	wt_call_need_arg(r->fcinfo, 1, "key");
	n = wt_key_argument_split(r->fcinfo->args[1].value, get_fn_expr_argtype(r->fcinfo->flinfo, 1),
							  &values, &types, &nulls);
	if (n != list_length(names))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("the key of \"%s\" has %d columns, %d given", r->c->named_name,
						list_length(names), n)));
	r->key.n = n;
	r->key.names = palloc(sizeof(char *) * Max(1, n));
	r->key.values = palloc(sizeof(Datum) * Max(1, n));
	r->key_types = palloc(sizeof(Oid) * Max(1, n));
	foreach(lc, names)
	{
		int i = foreach_current_index(lc);
		const char *name = lfirst(lc);
		AttrNumber attno = get_attnum(r->c->named, name);
		WtColumn column;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("key column \"%s\" must not be null", name)));
		column = column_type(r->c->named, attno, name);
		r->key.names[i] = pstrdup(name);
		r->key.values[i] = wt_key_argument_convert(&column, values[i], types[i]);
		r->key_types[i] = column.typid;
	}
}

/* 42P17 unless the wide table that the key was routed to has the same key columns. */
static void
check_key(Route *r)
{
	WtTable *t = wt_table(r->leaf);
	bool same = t->nkeys == r->key.n;

	for (int i = 0; same && i < t->nkeys; i++)
		same = strcmp(wt_key_column(t, i)->name, r->key.names[i]) == 0;
	if (same)
		return;
	wt_key_columns_forget();
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("partitions of \"%s\" have different row keys", r->c->named_name),
			 errdetail("That of \"%s\" has other columns, or another order of them.",
					   get_rel_name(r->leaf))));
}

/* -------------------------------------------------------------- privileges */

/* The right to use a cell of a table on another server: the column of its name, or the table. */
static void
check_cell(Route *r, const char *name, AclMode mode)
{
	AttrNumber attno = get_attnum(r->leaf, name);

	wt_call_acl_column(r->c, mode, name);
	/* the server would take it for another column than the privileges are for */
	if (attno > 0 && strcmp(wt_remote_query_column(r->leaf, attno, name), name) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of foreign table \"%s\" has another name on server \"%s\"",
						name, get_rel_name(r->leaf), wt_table_server(r->leaf)->servername),
				 errhint("Functions need the same name.")));
}

/* Checks the names of cells in a document: keys at this depth, strings in arrays there, and strings
 * above.  The server checks its form. */
static void
check_document(Route *r, Jsonb *document, int depth, AclMode mode)
{
	JsonbIterator *it = JsonbIteratorInit(&document->root);
	JsonbIteratorToken token;
	JsonbValue v;
	int level = 0;

	while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token == WJB_BEGIN_ARRAY || token == WJB_BEGIN_OBJECT)
			level++;
		else if (token == WJB_END_ARRAY || token == WJB_END_OBJECT)
			level--;
		else if ((token == WJB_KEY && level == depth) ||
				 (token == WJB_ELEM && level == depth && v.type == jbvString) ||
				 (token == WJB_VALUE && level == depth - 1 && v.type == jbvString))
			check_cell(r, wt_cell_argument_json_key(&v), mode);
	}
}

/* Privileges for a call that is sent to a server. */
static void
check_privileges(Route *r)
{
	FunctionCallInfo fcinfo = r->fcinfo;
	AclMode needs = r->needs;

	if (needs == WT_CALL_OWNER)
		return; /* checked */
	switch (r->cells)
	{
		case WT_ROUTE_ROW:
			wt_call_acl(r->c, needs, NULL);
			break;
		case WT_ROUTE_PUT:
			/* a column may show the timestamp */
			if (!PG_ARGISNULL(4))
				wt_call_acl(r->c, needs, NULL);
			/* FALLTHROUGH */
		case WT_ROUTE_CELL:
			check_cell(r, wt_cell_argument_text(fcinfo, 2, "col"), needs);
			break;
		case WT_ROUTE_OBJECT:
			wt_call_need_arg(fcinfo, 2, "cells");
			check_document(r, PG_GETARG_JSONB_P(2), 1, needs);
			break;
		case WT_ROUTE_MUTATIONS:
			check_cell(r, wt_cell_argument_text(fcinfo, 2, "col"), ACL_SELECT);
			for (int i = 5; i <= 6; i++)
			{
				if (!PG_ARGISNULL(i))
					check_document(r, PG_GETARG_JSONB_P(i), 3, ACL_INSERT | ACL_UPDATE);
			}
			break;
	}
}

/* 55000 if the foreign table does not allow the command. */
static void
check_updatable(Route *r)
{
	Relation rel = table_open(r->leaf, NoLock);
	FdwRoutine *fdw = GetFdwRoutineForRelation(rel, false);
	bool updatable = fdw->IsForeignRelUpdatable == NULL ||
					 (fdw->IsForeignRelUpdatable(rel) & (1 << r->writes)) != 0;

	wt_call_updatable(RelationGetRelationName(rel), r->writes, updatable);
	table_close(rel, NoLock);
}

/* ---------------------------------------------------------------- the query */

/* Appends a parameter to the query, and its value. */
static void
add_param(Route *r, Oid type, Datum value, bool null, const char *remote_type)
{
	int16 len;
	bool byval;

	get_typlenbyval(type, &len, &byval);
	r->params = lappend(r->params,
						makeConst(type, -1, get_typcollation(type), len, value, null, byval));
	appendStringInfo(&r->sql, "$%d::%s", list_length(r->params), remote_type);
}

/* Argument 0 and 1 of the call there: the table, with the key that it must have, and the key. */
static void
add_row(Route *r)
{
	Datum *names = palloc(sizeof(Datum) * Max(1, r->key.n));

	for (int i = 0; i < r->key.n; i++)
		names[i] = CStringGetTextDatum(wt_remote_query_column(r->leaf,
															  get_attnum(r->leaf, r->key.names[i]),
															  r->key.names[i]));
	appendStringInfoString(&r->sql, "widetable.require_key(");
	add_param(r, TEXTOID, CStringGetTextDatum(wt_remote_query_name(r->leaf)), false,
			  "pg_catalog.regclass");
	appendStringInfoString(&r->sql, ", ");
	add_param(r, TEXTARRAYOID,
			  PointerGetDatum(construct_array(names, r->key.n, TEXTOID, -1, false, TYPALIGN_INT)),
			  false, "pg_catalog.text[]");
	appendStringInfoString(&r->sql, "), ROW(");
	for (int i = 0; i < r->key.n; i++)
	{
		if (i > 0)
			appendStringInfoString(&r->sql, ", ");
		add_param(r, r->key_types[i], r->key.values[i], false, "pg_catalog.text");
	}
	appendStringInfoChar(&r->sql, ')');
}

/* An argument of any type: the value for the cell in argument 2. */
static void
add_value(Route *r, int n)
{
	FunctionCallInfo fcinfo = r->fcinfo;
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, n);
	Datum value = PG_GETARG_DATUM(n);
	const char *cell = wt_cell_argument_text(fcinfo, 2, "col");
	AttrNumber attno = get_attnum(r->leaf, cell);
	bool text = type == UNKNOWNOID || wt_is_string(type) || type == BPCHAROID;

	if (PG_ARGISNULL(n))
	{
		add_param(r, TEXTOID, (Datum) 0, true, "pg_catalog.text");
		return;
	}
	if (type == UNKNOWNOID)
		value = CStringGetTextDatum(DatumGetCString(value));
	if (type == UNKNOWNOID || !OidIsValid(type))
		type = TEXTOID;
	type = getBaseType(type);
	if (text && attno > 0)
	{
		WtColumn column = column_type(r->leaf, attno, cell);

		if (!wt_is_string(column.typid) && column.typid != BYTEAOID && type != BYTEAOID)
		{
			value = wt_type_io_convert(value, type, column.typid, column.typmod);
			type = column.typid;
		}
	}
	/* a type of a user may have another name there: the column gives it */
	add_param(r, type, value, false,
			  attno > 0 && type >= FirstGenbkiObjectId ? "pg_catalog.text"
													   : format_type_be_qualified(type));
}

/* The call, as the query of the server. */
static void
make_query(Route *r)
{
	FunctionCallInfo fcinfo = r->fcinfo;
	Oid *types;
	int n;
	bool set = fcinfo->flinfo->fn_retset;

	(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &n);
	initStringInfo(&r->sql);
	appendStringInfo(&r->sql, "SELECT %swidetable.%s(", set ? "* FROM " : "",
					 quote_identifier(get_func_name(fcinfo->flinfo->fn_oid)));
	add_row(r);
	for (int i = 2; i < n; i++)
	{
		appendStringInfoString(&r->sql, ", ");
		if (types[i] == ANYOID)
			add_value(r, i);
		else
			add_param(r, types[i], PG_GETARG_DATUM(i), PG_ARGISNULL(i),
					  format_type_be_qualified(types[i]));
	}
	/* void has no value */
	appendStringInfoString(&r->sql, get_func_rettype(fcinfo->flinfo->fn_oid) == VOIDOID
										? ")::pg_catalog.text"
										: ")");
}

/* Runs the query, and forgets what was known of the server if that fails. */
static void
run(Route *r, TupleDesc desc, Tuplestorestate *rows)
{
	PG_TRY();
	{
		wt_remote_query_run(r->leaf, r->function, r->sql.data, r->params, desc, rows);
	}
	PG_CATCH();
	{
		wt_key_columns_forget();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* Carries out the call on the server. */
static Datum
call_there(Route *r)
{
	FunctionCallInfo fcinfo = r->fcinfo;
	Oid type = get_func_rettype(fcinfo->flinfo->fn_oid);
	TupleDesc desc;
	Tuplestorestate *rows;
	TupleTableSlot *slot;
	Datum result = (Datum) 0;
	bool null = true, byval;
	int16 len;

	make_query(r);
	if (fcinfo->flinfo->fn_retset)
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

		InitMaterializedSRF(fcinfo, 0);
		run(r, rsinfo->setDesc, rsinfo->setResult);
		return (Datum) 0;
	}
	type = type == VOIDOID ? TEXTOID : type;
	desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(desc, 1, "result", type, -1, 0);
	rows = tuplestore_begin_heap(false, false, work_mem);
	run(r, desc, rows);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	if (tuplestore_gettupleslot(rows, true, false, slot))
		result = slot_getattr(slot, 1, &null);
	get_typlenbyval(type, &len, &byval);
	if (!null)
		result = datumCopy(result, byval, len);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(rows);
	fcinfo->isnull = null;
	return result;
}

/* ------------------------------------------------------------------ the route */

/* There is no partition for the key: nothing to read or delete, and no place to write. */
static Datum
no_partition(Route *r)
{
	if (r->writes && r->writes != CMD_DELETE)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("no partition of relation \"%s\" found for the row key",
						r->c->named_name)));
	if (r->fcinfo->flinfo->fn_retset)
		InitMaterializedSRF(r->fcinfo, 0);
	else
		r->fcinfo->isnull = get_func_rettype(r->fcinfo->flinfo->fn_oid) != VOIDOID;
	return (Datum) 0;
}

/* The reads of a server, and what locks rows there, do not know widetable.as_of. */
static void
check_as_of(Route *r)
{
	if (r->writes && r->writes != CMD_INSERT)
		wt_call_refuse_as_of(get_rel_name(r->leaf));
	if (!r->writes && wt_clock_as_of() != PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot carry out %s for foreign table \"%s\" on server \"%s\" while "
						"widetable.as_of is set",
						r->function, get_rel_name(r->leaf),
						wt_table_server(r->leaf)->servername),
				 errhint("The setting has no effect on other servers.")));
}

bool
wt_route_call(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes, AclMode needs,
			  WtRouteCells cells, Datum *result)
{
	Route r = {.c = c,
			   .fcinfo = fcinfo,
			   .function = function,
			   .writes = writes,
			   .needs = needs,
			   .cells = cells};

	wt_call_need_arg(fcinfo, 0, "rel");
	if (wt_table_is_ours(PG_GETARG_OID(0)) || !wt_call_is_routed(PG_GETARG_OID(0)))
	{
		wt_call_rel(c, fcinfo, function, writes, needs);
		wt_online_build_check_read(c->t, ActiveSnapshotSet() ? GetActiveSnapshot() : NULL);
		return true;
	}
	wt_call_routed(c, fcinfo, function, writes, needs);
	read_key(&r);
	r.leaf = wt_partition_find(c->named, &r.key, writes ? RowExclusiveLock : AccessShareLock);
	if (!OidIsValid(r.leaf))
	{
		*result = no_partition(&r);
		return false;
	}
	if (wt_table_is_ours(r.leaf))
	{
		check_key(&r);
		wt_call_table(c, r.leaf, writes);
		return true;
	}
	if (!wt_remote_query_table(r.leaf))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a foreign table of widetable", get_rel_name(r.leaf)),
				 errdetail("The key belongs to this partition of \"%s\".", c->named_name),
				 errhint("Use statements for its rows.")));
	check_as_of(&r);
	check_privileges(&r);
	if (writes)
		check_updatable(&r);
	*result = call_there(&r);
	return false;
}
