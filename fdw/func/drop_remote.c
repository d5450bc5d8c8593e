/*
 * drop_remote.c
 *		drop_remote(): drops the table behind a foreign table where another engine has it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/lmgr.h"

#include "fdw/func/call.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"

PG_FUNCTION_INFO_V1(wt_sql_drop_remote);

Datum
wt_sql_drop_remote(PG_FUNCTION_ARGS)
{
	WtCall c;

	wt_call_rel(&c, fcinfo, "drop_remote()", CMD_DELETE, WT_CALL_OWNER);
	if (c.t->engine == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" is not one of another engine", c.relname),
				 errhint("DROP FOREIGN TABLE drops a table of the embedded engine.")));
	/* others who use the table end before, and begin after it is gone */
	LockRelationOid(c.relid, AccessExclusiveLock);
	c.t->engine->drop(c.t);
	PG_RETURN_VOID();
}
