/*
 * admin_functions.c
 *		SQL functions for administrators: flush, compact, verify, split_keys,
 *		table_size, plain_view.
 *
 * flush and compact do in this process what the background worker would do
 * later.  They change no query's result, and are not part of the transaction.
 * All engine calls here may take long: they return WIDE_INTERRUPTED when an
 * interrupt is pending, and are repeated after it is processed.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "commands/comment.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/lsyscache.h"

#include "engine/wide.h"
#include "fdw/ddl/binding.h"
#include "fdw/ddl/database.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/derived/as_owner.h"
#include "fdw/derived/index.h"
#include "fdw/derived/index_build.h"
#include "fdw/derived/rollup_build.h"
#include "fdw/ddl/share.h"
#include "fdw/func/call.h"
#include "fdw/func/result.h"
#include "fdw/func/salvage_copy.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/host.h"
#include "fdw/store/store.h"
#include "fdw/store/wait_event.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

#define RESET_TRIES 200 /* of reset_clock() while transactions commit, 10 ms apart */

/* Returns true if the engine's call that returned st must be repeated. */
static bool
again(wide_status st)
{
	if (st != WIDE_INTERRUPTED && st != WIDE_BUSY)
		return false;
	/* another process does the same work */
	if (st == WIDE_BUSY)
		wt_host_wait_event(10, wt_wait_event(WIDE_WAIT_WORK));
	CHECK_FOR_INTERRUPTS();
	return true;
}

/*
 * Argument 0 is a table or NULL for all tables.  42501 unless the user owns the
 * table, or for all tables has privileges of pg_checkpoint.  Returns false if
 * nothing is stored.
 */
static bool
check_maintainer(WtCall *c, FunctionCallInfo fcinfo, const char *function)
{
	PreventCommandDuringRecovery(function);
	if (PG_ARGISNULL(0))
	{
		if (!has_privs_of_role(GetUserId(), ROLE_PG_CHECKPOINT))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("must be superuser or have privileges of pg_checkpoint for %s of all "
							"tables",
							function)));
		return wt_store_exists();
	}
	wt_call_rel(c, fcinfo, function, 0, WT_CALL_OWNER);
	c->stored = wt_engine_table(c->t, false, &c->e);
	return c->stored;
}

PG_FUNCTION_INFO_V1(wt_sql_flush);

Datum
wt_sql_flush(PG_FUNCTION_ARGS)
{
	WtCall c;
	wide_status st;

	if (!check_maintainer(&c, fcinfo, "flush()"))
		PG_RETURN_VOID();
	if (!PG_ARGISNULL(0) && c.t->engine != NULL)
	{
		c.t->engine->flush(c.t);
		PG_RETURN_VOID();
	}
	/* a memtable has the cells of all tables, so all of them are flushed */
	do
		st = wide_flush(wt_store_db());
	while (again(st));
	if (st != WIDE_END)
		wt_error_check(st, "could not flush");
	PG_RETURN_VOID();
}

static void
compact_family(wide_family_id id)
{
	wide_status st;

	do
		st = wide_compact(wt_store_db(), id);
	while (again(st));
	/* WIDE_NOTFOUND: not committed yet, or dropped meanwhile */
	if (st != WIDE_END && st != WIDE_NOTFOUND)
		wt_error_check(st, "could not compact");
}

static void
compact_store(void)
{
	uint32_t cursor = 0;
	wide_table table;
	wide_status st;

	while ((st = wide_table_next(wt_store_db(), NULL, &cursor, &table)) == WIDE_OK)
	{
		wide_family *f = palloc(sizeof(wide_family) * WT_MAX_FAMILIES);
		int n = wide_table_families(wt_store_db(), NULL, table.id, f, WT_MAX_FAMILIES);

		for (int i = 0; i < Min(n, WT_MAX_FAMILIES); i++)
			compact_family(f[i].id);
		pfree(f);
	}
	if (st != WIDE_END)
		wt_error_check(st, "could not list the tables");
}

PG_FUNCTION_INFO_V1(wt_sql_compact);

Datum
wt_sql_compact(PG_FUNCTION_ARGS)
{
	WtCall c;

	wt_call_need_arg(fcinfo, 1, "major");
	if (!check_maintainer(&c, fcinfo, "compact()"))
		PG_RETURN_VOID();
	if (!PG_ARGISNULL(0) && c.t->engine != NULL)
		c.t->engine->compact(c.t, PG_GETARG_BOOL(1));
	else if (!PG_GETARG_BOOL(1))
	{
		wide_status st;

		/* the compactions that a worker would do */
		do
			st = wide_tidy(wt_store_db());
		while (again(st));
		wt_error_check(st, "could not compact");
	}
	else if (PG_ARGISNULL(0))
		compact_store();
	else
	{
		for (int i = 0; i < c.e.nall; i++)
			compact_family(c.e.all[i]);
	}
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------ clock */

/* Returns: the family and its table, as text for a message. */
static char *
describe_family(wide_family_id id)
{
	uint32_t cursor = 0;
	wide_table t;
	wide_family fams[WT_MAX_FAMILIES];

	while (wide_table_next(wt_store_db(), NULL, &cursor, &t) == WIDE_OK)
	{
		int n = wide_table_families(wt_store_db(), NULL, t.id, fams, WT_MAX_FAMILIES);
		char *database;

		for (int i = 0; i < Min(n, WT_MAX_FAMILIES); i++)
			if (fams[i].id == id)
			{
				database = get_database_name(t.space);
				return psprintf("family \"%s\" of table \"%s\" in database \"%s\"", fams[i].name,
								t.name, database != NULL ? database : "?");
			}
	}
	return pstrdup("a table that is being dropped");
}

PG_FUNCTION_INFO_V1(wt_sql_reset_clock);

/*
 * Lets new timestamps begin at the clock again, if they are ahead of it.  No cell may be
 * ahead, because it would hide later writes.  Returns: by how much they were.
 */
Datum
wt_sql_reset_clock(PG_FUNCTION_ARGS)
{
	Interval *was = palloc0(sizeof(Interval));
	wide_family_id family;
	wide_status st;
	int tries = 0;

	PreventCommandDuringRecovery("reset_clock()");
	if (!superuser())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be superuser for reset_clock()")));
	if (!wt_store_exists())
		PG_RETURN_INTERVAL_P(was);
	was->time = wt_clock_ahead(wide_timestamp_newest(wt_store_db()));
	if (was->time == 0)
		PG_RETURN_INTERVAL_P(was);
	do
		st = wide_timestamp_lower(wt_store_db(), GetCurrentTimestamp() + WT_EPOCH_DIFF, &family);
	while (again(st) && (st != WIDE_BUSY || ++tries < RESET_TRIES));
	if (st == WIDE_CONFLICT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cells have timestamps ahead of the clock"),
				 errdetail("Some are in %s.", describe_family(family)),
				 errhint("Copy the rows of such tables elsewhere, TRUNCATE them, and write the "
						 "rows back after this function. widetable.compact() removes what DELETE "
						 "leaves.")));
	if (st == WIDE_BUSY)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("timestamps cannot be reset while transactions write to wide tables"),
				 errhint("Stop the programs that write, and try again.")));
	wt_error_check(st, "could not reset the clock");
	PG_RETURN_INTERVAL_P(was);
}

/* ----------------------------------------------------------------- verify */

/* Called by the engine: must not raise errors. */
static wide_status
gather_problem(void *arg, const char *object, const char *problem)
{
	return wt_result_gather(arg, NULL, 0, (wide_bytes) {(const uint8 *) object, strlen(object) + 1},
							(wide_bytes) {(const uint8 *) problem, strlen(problem) + 1});
}

/* Adds the problems of a family, 0 for the whole store, to the result. */
static void
verify_into(wide_family_id family, ReturnSetInfo *rsinfo)
{
	dlist_head list;
	dlist_iter iter;
	wide_status st;

	do
	{
		dlist_init(&list);
		st = wide_verify(wt_store_db(), family, gather_problem, &list);
	} while (again(st));
	/* the list describes the damage */
	if (st != WIDE_END && st != WIDE_NOTFOUND && st != WIDE_CORRUPT)
		wt_error_check(st, "could not verify");
	if (st == WIDE_CORRUPT && dlist_is_empty(&list))
		wt_error_check(gather_problem(&list, "store", wide_error_text()), NULL);
	dlist_foreach(iter, &list)
	{
		const WtResultItem *item = dlist_container(WtResultItem, node, iter.cur);
		WtResultRow row = {0};

		wt_result_add_text(&row, (const char *) item->bytes[0].data);
		wt_result_add_text(&row, (const char *) item->bytes[1].data);
		wt_result_put(&row, rsinfo);
	}
}

/* Callback: an index differs from its table. */
static void
add_difference(void *arg, const WtIndex *x, const char *problem)
{
	WtResultRow row = {0};

	wt_result_add_text(&row, psprintf("index %s", get_rel_name(x->relid)));
	wt_result_add_text(&row, problem);
	wt_result_put(&row, arg);
}

/* Callback: a roll-up differs from its table. */
static void
add_rollup_difference(void *arg, const WtRollup *r, const char *problem)
{
	WtResultRow row = {0};

	wt_result_add_text(&row, psprintf("roll-up %s", get_rel_name(r->relid)));
	wt_result_add_text(&row, problem);
	wt_result_put(&row, arg);
}

/* Adds the differences between a table and its roll-ups, or between a roll-up and its table. */
static void
verify_rollups(WtTable *t, ReturnSetInfo *rsinfo)
{
	ListCell *lc;

	if (t->rollup_of != NULL && wt_index_rollup(t->relid) != NULL)
		wt_rollup_build_verify(wt_index_rollup(t->relid), add_rollup_difference, rsinfo);
	foreach(lc, wt_index_rollups(t))
	{
		LockRelationOid(((WtRollup *) lfirst(lc))->relid, AccessShareLock);
		wt_rollup_build_verify(lfirst(lc), add_rollup_difference, rsinfo);
	}
}

/* Adds the differences between a table and its indexes, or between an index and its table. */
static void
verify_indexes(WtTable *t, ReturnSetInfo *rsinfo)
{
	ListCell *lc;

	if (t->index_of != NULL && wt_index(t->relid) != NULL)
		wt_index_build_verify(wt_index(t->relid), add_difference, rsinfo);
	foreach(lc, wt_index_list(t))
		if (wt_index_lock(lfirst(lc), AccessShareLock))
			wt_index_build_verify(lfirst(lc), add_difference, rsinfo);
}

PG_FUNCTION_INFO_V1(wt_sql_verify);

Datum
wt_sql_verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	WtAsOwner saved;
	WtCall c;

	if (!has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must have privileges of pg_monitor for verify()")));
	if (!PG_ARGISNULL(0))
	{
		wt_call_rel(&c, fcinfo, "verify()", 0, WT_CALL_ANYBODY); /* any monitor */
		wt_engine_require(c.t, WT_CAN_MAINTAIN, "cannot verify the files of");
	}
	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
	{
		if (wt_store_exists())
			verify_into(0, rsinfo);
	}
	else if (wt_engine_table(c.t, false, &c.e))
	{
		for (int i = 0; i < c.e.nall; i++)
			verify_into(c.e.all[i], rsinfo);
		saved = wt_as_owner_begin(c.t->owner, true);
		verify_indexes(c.t, rsinfo);
		verify_rollups(c.t, rsinfo);
		wt_as_owner_end(&saved);
	}
	return (Datum) 0;
}

/* ---------------------------------------------------------------- salvage */

/* Called by the engine: must not raise errors. */
static wide_status
gather_lost(void *arg, const wide_lost *lost)
{
	static char bounds[2 * WIDE_DAMAGE_KEY];

	memcpy(bounds, lost->lo.data, lost->lo.len);
	memcpy(bounds + lost->lo.len, lost->hi.data, lost->hi.len);
	return wt_result_gather(arg, lost, sizeof *lost,
							(wide_bytes) {(const uint8 *) bounds, lost->lo.len + lost->hi.len},
							(wide_bytes) {(const uint8 *) lost->why, strlen(lost->why) + 1});
}

static void
put_lost(const WtResultItem *item, const char *family, ReturnSetInfo *rsinfo)
{
	const wide_lost *lost = item->info;
	const uint8 *bounds = item->bytes[0].data;
	bool bounded = lost->hi.len > 0;
	WtResultRow row = {0};
	char file[40];

	snprintf(file, sizeof file, "%08llx.sst", (unsigned long long) lost->container);
	wt_result_add_text(&row, family);
	wt_result_add_text(&row, file);
	wt_result_add_unless(&row, !bounded,
						 bounded ? wt_result_bytea(bounds, lost->lo.len) : (Datum) 0);
	wt_result_add_unless(&row, !bounded,
						 bounded ? wt_result_bytea(bounds + lost->lo.len, lost->hi.len)
								 : (Datum) 0);
	wt_result_add(&row, Int64GetDatum((int64) lost->rows));
	wt_result_add_unless(&row, !lost->whole, Int64GetDatum((int64) lost->cells));
	wt_result_add_unless(&row, !lost->whole, Int64GetDatum((int64) lost->kept));
	wt_result_add_text(&row, (const char *) item->bytes[1].data);
	wt_result_put(&row, rsinfo);
}

/*
 * Before a call that was interrupted is repeated: forgets what the next one reports again.  That is
 * all, or, if files are replaced, what was found of the file that is not replaced yet.
 */
static void
forget_unfinished(dlist_head *list, bool all)
{
	while (!dlist_is_empty(list))
	{
		const WtResultItem *last = dlist_tail_element(WtResultItem, node, list);

		if (!all && ((const wide_lost *) last->info)->whole)
			break;
		dlist_delete(dlist_tail_node(list));
	}
}

PG_FUNCTION_INFO_V1(wt_sql_salvage);

Datum
wt_sql_salvage(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	WtCall c;
	bool dry_run;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser for salvage()")));
	wt_call_need_arg(fcinfo, 0, "rel");
	wt_call_need_arg(fcinfo, 1, "dry_run");
	dry_run = PG_GETARG_BOOL(1);
	PreventCommandDuringRecovery("salvage()");
	if (!PG_ARGISNULL(2) && dry_run)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dry_run and copy_to cannot be used together"),
				 errhint("With copy_to, the damaged table is not changed.")));
	wt_call_rel(&c, fcinfo, "salvage()", 0, WT_CALL_ANYBODY);
	wt_engine_require(c.t, WT_CAN_MAINTAIN, "cannot salvage the files of");
	InitMaterializedSRF(fcinfo, 0);
	if (!wt_engine_table(c.t, false, &c.e))
		return (Datum) 0;
	if (!PG_ARGISNULL(2))
	{
		/* the call's argument 0 is the table that is written to */
		LOCAL_FCINFO(to_args, 1);
		WtCall to;

		InitFunctionCallInfoData(*to_args, fcinfo->flinfo, 1, InvalidOid, NULL, NULL);
		to_args->args[0] = fcinfo->args[2];
		wt_call_rel(&to, to_args, "salvage()", CMD_INSERT, WT_CALL_OWNER);
		wt_engine_require(to.t, WT_CAN_MAINTAIN, "cannot copy what is salvaged to");
		wt_salvage_copy(&c, &to, rsinfo);
		return (Datum) 0;
	}
	for (int i = 0; i < c.e.nall; i++)
	{
		dlist_head list;
		dlist_iter iter;
		wide_family family;
		wide_table table;
		wide_status st;

		dlist_init(&list);
		do
		{
			forget_unfinished(&list, dry_run);
			st = wide_salvage(wt_store_db(), c.e.all[i], dry_run, gather_lost, &list);
		} while (again(st));
		/* WIDE_NOTFOUND: not committed yet */
		if (st != WIDE_END && st != WIDE_NOTFOUND)
			wt_error_check(st, "could not salvage");
		if (wide_family_by_id(wt_store_db(), c.e.all[i], &family, &table) != WIDE_OK)
			continue;
		dlist_foreach(iter, &list)
			put_lost(dlist_container(WtResultItem, node, iter.cur), family.name, rsinfo);
	}
	return (Datum) 0;
}

/* ------------------------------------------------------ sizes and borders */

/* Called by the engine: must not raise errors. */
static wide_status
gather_key(void *arg, wide_bytes key)
{
	return wt_result_gather(arg, NULL, 0, key, (wide_bytes) {0});
}

/* Returns the family with the most bytes, which stands for the table; 0: it has no families. */
static wide_family_id
largest_family(const WtEngineTable *e)
{
	wide_family_id best = e->nall > 0 ? e->all[0] : 0;
	uint64 most = 0;

	for (int i = 0; i < e->nall; i++)
	{
		wide_family_info info;

		if (wide_family_statistics(wt_store_db(), e->all[i], &info) != WIDE_OK)
			continue;
		if (info.bytes > most || (most == 0 && info.memtable_cells > 0))
		{
			best = e->all[i];
			most = info.bytes;
		}
	}
	return best;
}

static void
put_key(wide_bytes key, ReturnSetInfo *rsinfo)
{
	WtResultRow row = {0};

	wt_result_add(&row, wt_result_bytea(key.data, key.len));
	wt_result_put(&row, rsinfo);
}

PG_FUNCTION_INFO_V1(wt_sql_split_keys);

Datum
wt_sql_split_keys(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int n = PG_GETARG_INT32(1);
	WtCall c;
	dlist_head list;
	dlist_iter iter;
	wide_family_id family;
	wide_status st;

	wt_call_rel(&c, fcinfo, "split_keys()", 0, ACL_SELECT);
	/* keys are data */
	wt_call_acl(&c, ACL_SELECT, NULL);
	if (n < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of parts must be at least 1")));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (c.t->engine != NULL)
	{
		wide_bytes *keys = c.t->engine->split_keys(c.t, n, &n);

		for (int i = 0; i < n; i++)
			put_key(keys[i], rsinfo);
		return (Datum) 0;
	}
	if (!wt_engine_table(c.t, false, &c.e) || (family = largest_family(&c.e)) == 0)
		return (Datum) 0;
	do
	{
		dlist_init(&list);
		st = wide_split_keys(wt_store_db(), family, n, false, gather_key, &list);
	} while (again(st));
	if (st != WIDE_END && st != WIDE_NOTFOUND)
		wt_error_check(st, "could not find keys to split at");
	dlist_foreach(iter, &list)
		put_key(dlist_container(WtResultItem, node, iter.cur)->bytes[0], rsinfo);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(wt_sql_table_size);

Datum
wt_sql_table_size(PG_FUNCTION_ARGS)
{
	/* no privilege is needed, as with pg_table_size, so it must not keep a lock */
	Oid relid = wt_call_relid(fcinfo, WT_CALL_ANYBODY);
	wide_table table;
	wide_family *families;
	wide_status st;
	int n;
	int64 bytes = 0;
	WtTable *t = wt_table_unlocked(relid);

	if (t != NULL && t->engine != NULL)
		PG_RETURN_INT64(t->engine->size(t));
	if (!wt_store_exists())
	{
		wt_database_check_stored(relid);
		PG_RETURN_INT64(0);
	}
	if ((st = wt_binding_find(relid, &table)) == WIDE_NOTFOUND)
	{
		wt_database_check_copied(relid);
		PG_RETURN_INT64(0);
	}
	wt_error_check(st, "could not find the table");
	families = wt_binding_families(wt_batch(false), table.id, &n);
	for (int i = 0; i < n; i++)
	{
		wide_family_info info;

		if (wide_family_statistics(wt_store_db(), families[i].id, &info) == WIDE_OK)
			bytes += info.bytes;
	}
	PG_RETURN_INT64(bytes);
}

/* The comment of a view that plain_view() has made, and may replace. */
#define PLAIN_VIEW "all columns of a wide table (made by widetable.plain_view)"

static void
run_sql(const char *sql)
{
	if (SPI_execute(sql, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not make a view: %s", sql);
}

/*
 * Errors: 42P07 if the relation, which has the name that the view is to get, was not made by
 * plain_view() or belongs to another role.  Its owner could put another query into it later.
 */
static void
check_replaceable(Oid view, const char *name)
{
	char *comment = GetComment(view, RelationRelationId, 0);
	bool made = comment != NULL && strcmp(comment, PLAIN_VIEW) == 0;

	if (!made || wt_share_owner(view) != GetUserId())
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists", name),
				 made ? errdetail("It belongs to another role, and is not replaced.")
					  : errdetail("It was not made by plain_view(), and is not replaced."),
				 errhint("Give another name as the second argument.")));
}

/*
 * Creates a view with all columns of the table, for programs that list tables and
 * views but not foreign tables.  PostgreSQL can update it automatically.  The
 * caller creates and owns it; as it is a security_invoker view, its users need
 * privileges on the table as well.
 */
PG_FUNCTION_INFO_V1(wt_sql_plain_view);

Datum
wt_sql_plain_view(PG_FUNCTION_ARGS)
{
	WtCall c;
	char *schema, *name;
	const char *view_name;
	Oid view, nsp;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	/* the view's creation checks this as well, but only after the table is locked */
	nsp = get_rel_namespace(wt_call_relid(fcinfo, WT_CALL_ANYBODY));
	if (!wt_may_create_in(nsp, GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, get_namespace_name(nsp));
	wt_call_rel(&c, fcinfo, "plain_view()", 0, WT_CALL_ANYBODY);
	schema = get_namespace_name(get_rel_namespace(c.relid));
	name = PG_ARGISNULL(1) ? makeObjectName(c.relname, NULL, "view") : NameStr(*PG_GETARG_NAME(1));
	view = get_relname_relid(name, get_rel_namespace(c.relid));
	if (OidIsValid(view))
		check_replaceable(view, name);
	view_name = quote_qualified_identifier(schema, name);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	/* one that another role has made meanwhile is an error of CREATE VIEW */
	run_sql(psprintf("CREATE %sVIEW %s WITH (security_invoker) AS SELECT * FROM %s",
					 OidIsValid(view) ? "OR REPLACE " : "", view_name,
					 quote_qualified_identifier(schema, c.relname)));
	view = get_relname_relid(name, get_rel_namespace(c.relid));
	if (wt_share_owner(view) != GetUserId())
		check_replaceable(view, name);
	run_sql(psprintf("COMMENT ON VIEW %s IS '%s'", view_name, PLAIN_VIEW));
	SPI_finish();
	PG_RETURN_OID(view);
}
