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

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "storage/sinval.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "fdw/ddl/engine_table.h"
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

static const AclMode each_privilege[] = {ACL_SELECT, ACL_INSERT, ACL_UPDATE, ACL_DELETE};

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
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE, relname);
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
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_TABLE, relname);
	}
	return granted;
}

/* wt_call_relid() for a table; *granted as check_any_right().  Returns: its name. */
static char *
check_relation(Oid relid, AclMode needs, AclMode *granted)
{
	char *relname;

	if (!wt_table_is_ours(relid) || (relname = get_rel_name(relid)) == NULL)
		wt_table_not_ours(relid);
	*granted = check_any_right(relid, relname, needs);
	return relname;
}

Oid
wt_call_relid(FunctionCallInfo fcinfo, AclMode needs)
{
	AclMode granted;

	wt_call_need_arg(fcinfo, 0, "rel");
	pfree(check_relation(PG_GETARG_OID(0), needs, &granted));
	return PG_GETARG_OID(0);
}

void
wt_call_rel(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes, AclMode needs)
{
	uint64 changes;

	memset(c, 0, sizeof(*c));
	wt_call_need_arg(fcinfo, 0, "rel");
	c->relid = PG_GETARG_OID(0);
	if (writes)
	{
		PreventCommandIfReadOnly(function);
		PreventCommandIfParallelMode(function);
		PreventCommandDuringRecovery(function);
	}
	changes = SharedInvalidMessageCounter;
	c->relname = check_relation(c->relid, needs, &c->granted);
	LockRelationOid(c->relid, writes ? RowExclusiveLock : AccessShareLock);
	/* it may have been dropped or renamed, or rights revoked, during a wait for the lock */
	if (changes != SharedInvalidMessageCounter)
		c->relname = check_relation(c->relid, needs, &c->granted);
	c->t = wt_table(c->relid);
	if (writes && !c->t->updatable)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 writes == CMD_INSERT
					 ? errmsg("foreign table \"%s\" does not allow inserts", c->relname)
				 : writes == CMD_DELETE
					 ? errmsg("foreign table \"%s\" does not allow deletes", c->relname)
					 : errmsg("foreign table \"%s\" does not allow updates", c->relname)));
	/*
	 * put is blind, as INSERT is; the others would change the present state, which
	 * such a session does not see.
	 */
	if (writes && writes != CMD_INSERT && wt_clock_as_of() != PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change or lock rows of \"%s\" while widetable.as_of is set",
						c->relname),
				 errhint("SET widetable.as_of = ''.")));
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
wt_call_acl(WtCall *c, AclMode mode, const WtColumn *column)
{
	for (int i = 0; i < (int) lengthof(each_privilege); i++)
	{
		AclMode p = each_privilege[i];
		AclResult r;

		if (!(mode & p) || (c->granted & p))
			continue;
		r = pg_class_aclcheck(c->relid, GetUserId(), p);
		if (r != ACLCHECK_OK && column != NULL && p != ACL_DELETE)
			r = pg_attribute_aclcheck(c->relid, column->attno, GetUserId(), p);
		if (r != ACLCHECK_OK)
			aclcheck_error(r, OBJECT_FOREIGN_TABLE, c->relname);
	}
}
