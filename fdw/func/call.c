/*
 * call.c
 *		A call of a function on a row: table, key, privileges.
 *
 * The executor checks neither privileges nor read-only transactions for
 * functions, so these functions check both, before they ask the engine.
 */
#include "postgres.h"

#include "fdw/func/call.h"

#include "access/relation.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/rel.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/table/key_argument.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"

void
wt_call_need_arg(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

void
wt_call_rel(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes)
{
	Relation rel;

	memset(c, 0, sizeof(*c));
	wt_call_need_arg(fcinfo, 0, "rel");
	c->relid = PG_GETARG_OID(0);
	if (writes)
	{
		PreventCommandIfReadOnly(function);
		PreventCommandIfParallelMode(function);
		PreventCommandDuringRecovery(function);
	}
	rel = try_relation_open(c->relid, writes ? RowExclusiveLock : AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", c->relid)));
	if (rel->rd_rel->relkind != RELKIND_FOREIGN_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a foreign table of widetable", RelationGetRelationName(rel)),
				 errhint("Create it with CREATE FOREIGN TABLE ... SERVER widetable.")));
	c->relname = pstrdup(RelationGetRelationName(rel));
	relation_close(rel, NoLock);
	c->t = wt_table(c->relid); /* raises the same error for a table of another wrapper */
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
				 errhint("RESET widetable.as_of.")));
}

void
wt_call_engine(WtCall *c, bool create)
{
	c->stored = wt_engine_table(c->t, create, &c->e);
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
	static const AclMode each[] = {ACL_SELECT, ACL_INSERT, ACL_UPDATE, ACL_DELETE};

	for (int i = 0; i < (int) lengthof(each); i++)
	{
		AclResult r;

		if (!(mode & each[i]))
			continue;
		r = pg_class_aclcheck(c->relid, GetUserId(), each[i]);
		if (r != ACLCHECK_OK && column != NULL && each[i] != ACL_DELETE)
			r = pg_attribute_aclcheck(c->relid, column->attno, GetUserId(), each[i]);
		if (r != ACLCHECK_OK)
			aclcheck_error(r, OBJECT_FOREIGN_TABLE, c->relname);
	}
}
