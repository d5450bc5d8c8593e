/*
 * key_columns.c
 *		The names of a table's key columns, also where another server knows them; SQL functions
 *		key_columns, require_key.
 *
 * A partitioned table and a foreign table of postgres_fdw have no option "key".  The first has
 * partitions that have one; for the second the server is asked, once in a session.  Changes of the
 * definition there are not seen here: each call that is sent has the names with it, and
 * require_key() compares them on the server.
 */
#include "postgres.h"

#include "fdw/func/key_columns.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "fdw/func/call.h"
#include "fdw/func/remote_query.h"
#include "fdw/store/compat.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"

/* What is known of a table. */
typedef struct Known
{
	Oid relid;	 /* hash key */
	Oid source;	 /* the table whose key it is: the same, or a partition */
	List *names; /* of char * */
} Known;

static HTAB *known = NULL;
static MemoryContext known_cxt = NULL; /* of known, and the names */
static bool stale = false;			   /* known is not valid any more */

void
wt_key_columns_forget(void)
{
	stale = true;
}

/* Called when a table has changed, or any (InvalidOid): may be anywhere, so it only takes a note.
 */
static void
table_changed(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS seq;
	Known *k;

	if (known == NULL || stale)
		return;
	hash_seq_init(&seq, known);
	while ((k = hash_seq_search(&seq)) != NULL)
		stale |= !OidIsValid(relid) || k->relid == relid || k->source == relid;
}

/* Returns: what is known, empty at first. */
static HTAB *
table_of_known(void)
{
	HASHCTL ctl = {.keysize = sizeof(Oid), .entrysize = sizeof(Known)};

	if (known_cxt == NULL)
	{
		known_cxt = AllocSetContextCreate(TopMemoryContext, "widetable key columns",
										  ALLOCSET_SMALL_SIZES);
		CacheRegisterRelcacheCallback(table_changed, (Datum) 0);
	}
	if (stale || known == NULL)
	{
		known = NULL;
		MemoryContextReset(known_cxt);
		stale = false;
		ctl.hcxt = known_cxt;
		known = hash_create("widetable key columns", 16, &ctl,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	return known;
}

/* Returns: the elements of a text[] as strings. */
static List *
strings_of(ArrayType *array)
{
	Datum *elements;
	bool *nulls;
	int n;
	List *list = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
		list = lappend(list, nulls[i] ? pstrdup("") : TextDatumGetCString(elements[i]));
	return list;
}

/* Returns the names of the key columns on the server. */
static List *
ask_server(Oid relid, const char *function)
{
	static const char sql[] = "SELECT widetable.key_columns($1::pg_catalog.regclass)";
	TupleDesc desc = CreateTemplateTupleDesc(1);
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	TupleTableSlot *slot;
	Const *name = makeConst(TEXTOID, -1, InvalidOid, -1,
							CStringGetTextDatum(wt_remote_query_name(relid)), false, false);
	List *names = NIL;
	bool null = true;

	TupleDescInitEntry(desc, 1, "key_columns", TEXTARRAYOID, -1, 0);
	wt_remote_query_run(relid, function, sql, list_make1(name), desc, rows);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	if (tuplestore_gettupleslot(rows, true, false, slot))
	{
		Datum d = slot_getattr(slot, 1, &null);

		if (!null)
			names = strings_of(DatumGetArrayTypePCopy(d));
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(rows);
	return names;
}

/* Returns: the name of the table's column that shows a column of the server. */
static char *
local_name(Oid relid, const char *remote)
{
	Relation rel = table_open(relid, NoLock);
	TupleDesc desc = RelationGetDescr(rel);
	char *found = NULL;

	for (int i = 0; i < desc->natts && found == NULL; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (!a->attisdropped &&
			strcmp(wt_remote_query_column(relid, a->attnum, NameStr(a->attname)), remote) == 0)
			found = pstrdup(NameStr(a->attname));
	}
	table_close(rel, NoLock);
	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("foreign table \"%s\" has no column for key column \"%s\" of server "
						"\"%s\"",
						get_rel_name(relid), remote, wt_table_server(relid)->servername)));
	return found;
}

/* Returns: the partition whose key is taken: a wide table of this database if there is one, else a
 * table of another server. */
static Oid
find_source(Oid relid)
{
	Oid remote = InvalidOid;
	ListCell *lc;

	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		if (wt_table_is_ours(lfirst_oid(lc)))
			return lfirst_oid(lc);
		if (!OidIsValid(remote) && wt_remote_query_table(lfirst_oid(lc)))
			remote = lfirst_oid(lc);
	}
	if (!OidIsValid(remote))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("partitioned table \"%s\" has no partition that is a wide table",
						get_rel_name(relid)),
				 errhint("Functions on rows need partitions that are foreign tables of widetable, "
						 "or foreign tables of postgres_fdw for wide tables of other servers.")));
	return remote;
}

/* The same as wt_key_columns(), for a table that is no partitioned one. */
static List *
columns_of(Oid relid, const char *function)
{
	List *names = NIL;
	ListCell *lc;

	if (wt_table_is_ours(relid))
	{
		WtTable *t = wt_table(relid);

		for (int i = 0; i < t->nkeys; i++)
			names = lappend(names, pstrdup(wt_key_column(t, i)->name));
		return names;
	}
	if (!wt_remote_query_table(relid))
		wt_table_not_ours(relid);
	foreach(lc, ask_server(relid, function))
		names = lappend(names, local_name(relid, lfirst(lc)));
	return names;
}

/* Returns: a copy of a list of strings. */
static List *
copy_names(List *names)
{
	List *copy = NIL;
	ListCell *lc;

	foreach(lc, names)
		copy = lappend(copy, pstrdup(lfirst(lc)));
	return copy;
}

List *
wt_key_columns(Oid relid, const char *function)
{
	bool parted = get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE;
	Oid source = relid;
	List *names, *copy;
	Known *k;
	MemoryContext old;

	if (wt_table_is_ours(relid))
		return columns_of(relid, function);
	k = hash_search(table_of_known(), &relid, HASH_FIND, NULL);
	/* the caller may call functions of users, and these forget what is known */
	if (k != NULL)
		return copy_names(k->names);
	if (parted)
	{
		source = find_source(relid);
		LockRelationOid(source, AccessShareLock);
	}
	names = columns_of(source, function);
	/* the server's answer may have come with news of changes */
	(void) table_of_known();
	old = MemoryContextSwitchTo(known_cxt);
	copy = copy_names(names);
	k = hash_search(known, &relid, HASH_ENTER, NULL);
	k->source = source;
	k->names = copy;
	MemoryContextSwitchTo(old);
	return names;
}

/* Returns: argument rel, locked, if the user has some privilege on it. */
static Oid
rel_argument(FunctionCallInfo fcinfo)
{
	Oid relid = PG_GETARG_OID(0);

	if (!wt_table_is_ours(relid) && !wt_call_is_routed(relid))
		wt_table_not_ours(relid);
	wt_call_check_any_right(relid);
	LockRelationOid(relid, AccessShareLock);
	return relid;
}

PG_FUNCTION_INFO_V1(wt_sql_key_columns);

Datum
wt_sql_key_columns(PG_FUNCTION_ARGS)
{
	List *names = wt_key_columns(rel_argument(fcinfo), "key_columns()");
	Datum *elements = palloc(sizeof(Datum) * Max(1, list_length(names)));
	int n = 0;
	ListCell *lc;

	foreach(lc, names)
		elements[n++] = CStringGetTextDatum(lfirst(lc));
	PG_RETURN_ARRAYTYPE_P(construct_array(elements, n, TEXTOID, -1, false, TYPALIGN_INT));
}

PG_FUNCTION_INFO_V1(wt_sql_require_key);

Datum
wt_sql_require_key(PG_FUNCTION_ARGS)
{
	Oid relid = rel_argument(fcinfo);
	List *names = wt_key_columns(relid, "require_key()");
	List *wanted = strings_of(PG_GETARG_ARRAYTYPE_P(1));
	bool same = list_length(names) == list_length(wanted);
	ListCell *a, *b;

	forboth(a, names, b, wanted)
		same &= strcmp(lfirst(a), lfirst(b)) == 0;
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the row key of \"%s\" has other columns than the caller expects",
						get_rel_name(relid)),
				 errhint("Its definition has changed. Repeat the transaction.")));
	PG_RETURN_OID(relid);
}
