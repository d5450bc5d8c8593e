/*
 * call.c
 *		A call of a function on a row: table, key, privileges.
 *
 * The executor checks neither privileges nor read-only transactions for
 * functions, so these functions check both, before they ask the engine.
 * Privileges are checked before the table is locked as well, as by commands that
 * look up a table by name: a user who may not use a table must not be able to lock
 * it.
 */
#include "postgres.h"

#include "fdw/func/call.h"

#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "storage/sinval.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/func/remote_query.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/engine.h"
#include "fdw/table/key_argument.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/change.h"

void
wt_call_need_arg(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/* What argument rel may be. */
typedef enum Named
{
	NAMED_WIDE,	  /* a foreign table of this wrapper */
	NAMED_ROUTED, /* a partitioned table, or a foreign table of postgres_fdw */
} Named;

static const AclMode each_privilege[] = {ACL_SELECT, ACL_INSERT, ACL_UPDATE, ACL_DELETE};

/* The kind of the table, for errors. */
static ObjectType
object_type(Oid relid)
{
	return get_relkind_objtype(get_rel_relkind(relid));
}

/*
 * 42501 unless the user owns the table, or has each privilege on it or on one of its columns.
 * Returns: those that the user has on the table.
 */
static AclMode
check_any_right(Oid relid, const char *relname, AclMode needs)
{
	AclMode granted = 0;

	if (needs == WT_CALL_OWNER)
	{
		if (!wt_owns_table(relid))
			aclcheck_error(ACLCHECK_NOT_OWNER, object_type(relid), relname);
		return 0;
	}
	for (int i = 0; i < (int) lengthof(each_privilege); i++)
	{
		AclMode p = each_privilege[i];

		if (!(needs & p))
			continue;
		if (pg_class_aclcheck(relid, GetUserId(), p) == ACLCHECK_OK)
			granted |= p;
		else if (p == ACL_DELETE ||
				 pg_attribute_aclcheck_all(relid, GetUserId(), p, ACLMASK_ANY) != ACLCHECK_OK)
			aclcheck_error(ACLCHECK_NO_PRIV, object_type(relid), relname);
	}
	return granted;
}

/* wt_call_relid() for a table; *granted as check_any_right().  Returns: its name. */
static char *
check_relation(Oid relid, Named named, AclMode needs, AclMode *granted)
{
	char *relname;

	if (named == NAMED_WIDE ? !wt_table_is_ours(relid) : !wt_call_is_routed(relid))
		wt_table_not_ours(relid);
	if ((relname = get_rel_name(relid)) == NULL)
		wt_table_not_ours(relid);
	*granted = check_any_right(relid, relname, needs);
	return relname;
}

Oid
wt_call_relid(FunctionCallInfo fcinfo, AclMode needs)
{
	AclMode granted;

	wt_call_need_arg(fcinfo, 0, "rel");
	pfree(check_relation(PG_GETARG_OID(0), NAMED_WIDE, needs, &granted));
	return PG_GETARG_OID(0);
}

bool
wt_call_is_routed(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE || wt_remote_query_table(relid);
}

void
wt_call_check_any_right(Oid relid)
{
	for (int i = 0; i < (int) lengthof(each_privilege); i++)
	{
		AclMode p = each_privilege[i];

		if (pg_class_aclcheck(relid, GetUserId(), p) == ACLCHECK_OK ||
			(p != ACL_DELETE &&
			 pg_attribute_aclcheck_all(relid, GetUserId(), p, ACLMASK_ANY) == ACLCHECK_OK))
			return;
	}
	aclcheck_error(ACLCHECK_NO_PRIV, object_type(relid), get_rel_name(relid));
}

/* Starts a call: privileges, and the lock. */
static void
start(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes, AclMode needs,
	  Named named)
{
	uint64 changes;

	memset(c, 0, sizeof(*c));
	wt_call_need_arg(fcinfo, 0, "rel");
	c->relid = c->named = PG_GETARG_OID(0);
	if (writes)
	{
		PreventCommandIfReadOnly(function);
		PreventCommandIfParallelMode(function);
		PreventCommandDuringRecovery(function);
	}
	changes = SharedInvalidMessageCounter;
	c->named_name = check_relation(c->named, named, needs, &c->granted);
	LockRelationOid(c->named, writes ? RowExclusiveLock : AccessShareLock);
	/* it may have been dropped or renamed, or rights revoked, during a wait for the lock */
	if (changes != SharedInvalidMessageCounter)
		c->named_name = check_relation(c->named, named, needs, &c->granted);
	c->relname = c->named_name;
}

void
wt_call_refuse_as_of(const char *relname)
{
	if (wt_clock_as_of() != PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change or lock rows of \"%s\" while widetable.as_of is set",
						relname),
				 errhint("SET widetable.as_of = ''.")));
}

void
wt_call_updatable(const char *relname, int writes, bool updatable)
{
	if (updatable)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 writes == CMD_INSERT	? errmsg("foreign table \"%s\" does not allow inserts", relname)
			 : writes == CMD_DELETE ? errmsg("foreign table \"%s\" does not allow deletes", relname)
									: errmsg("foreign table \"%s\" does not allow updates",
											 relname)));
}

void
wt_call_table(WtCall *c, Oid relid, int writes)
{
	c->relid = relid;
	if (relid != c->named)
		c->relname = get_rel_name(relid);
	c->t = wt_table(relid);
	if (writes && wt_is_derived(c->t))
		wt_change_refuse_derived(c->t);
	if (writes)
		wt_call_updatable(c->relname, writes, c->t->updatable);
	/*
	 * put is blind, as INSERT is; the others would change the present state, which
	 * such a session does not see.
	 */
	if (writes && writes != CMD_INSERT)
		wt_call_refuse_as_of(c->relname);
}

void
wt_call_rel(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes, AclMode needs)
{
	start(c, fcinfo, function, writes, needs, NAMED_WIDE);
	wt_call_table(c, c->relid, writes);
}

void
wt_call_routed(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes, AclMode needs)
{
	start(c, fcinfo, function, writes, needs, NAMED_ROUTED);
	/* policies are conditions of statements */
	if (check_enable_rls(c->named, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("%s cannot apply the row security of table \"%s\"", function,
						c->named_name),
				 errhint("Use statements.")));
}

void
wt_call_engine(WtCall *c, bool create)
{
	c->stored = wt_engine_table(c->t, create, &c->e);
}

void
wt_call_begin_change(WtCall *c)
{
	if (c->t->engine != NULL)
		c->t->engine->row_begin(c->t, c->key);
	else
		wt_change_lock_row(c->e.table, c->key, false);
}

void
wt_call_end_change(WtCall *c)
{
	if (c->t->engine != NULL)
		c->t->engine->row_execute(c->t, NULL);
}

void
wt_call_key(WtCall *c, FunctionCallInfo fcinfo)
{
	StringInfoData key;

	wt_call_need_arg(fcinfo, 1, "key");
	initStringInfo(&key);
	c->parts = palloc(sizeof(Datum) * c->t->nkeys);
	wt_key_argument_encode(c->t, PG_GETARG_DATUM(1), get_fn_expr_argtype(fcinfo->flinfo, 1), true,
						   c->parts, &key);
	c->key = wt_bytes_of(&key);
}

void
wt_call_acl_column(WtCall *c, AclMode mode, const char *column)
{
	AttrNumber attno = column != NULL ? get_attnum(c->named, column) : InvalidAttrNumber;

	for (int i = 0; i < (int) lengthof(each_privilege); i++)
	{
		AclMode p = each_privilege[i];
		AclResult r;

		if (!(mode & p) || (c->granted & p))
			continue;
		r = pg_class_aclcheck(c->named, GetUserId(), p);
		if (r != ACLCHECK_OK && attno > 0 && p != ACL_DELETE)
			r = pg_attribute_aclcheck(c->named, attno, GetUserId(), p);
		if (r != ACLCHECK_OK)
			aclcheck_error(r, object_type(c->named), c->named_name);
	}
}

void
wt_call_acl(WtCall *c, AclMode mode, const WtColumn *column)
{
	wt_call_acl_column(c, mode, column != NULL ? column->name : NULL);
}
