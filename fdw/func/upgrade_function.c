/*
 * upgrade_function.c
 *		prepare_upgrade(): before pg_upgrade (doc/upgrade.md).
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/procarray.h"
#include "utils/syscache.h"

#include "engine/wide.h"
#include "fdw/store/error.h"
#include "fdw/store/prepared.h"
#include "fdw/store/store.h"
#include "fdw/store/upgrade.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"

/* Waits until all transactions have ended that run now, in all databases. */
static void
wait_for_transactions(void)
{
	int n;
	VirtualTransactionId *running = GetCurrentVirtualXIDs(InvalidTransactionId, false, true, 0, &n);

	for (int i = 0; i < n; i++)
		(void) VirtualXactLock(running[i], true);
}

/*
 * Returns: oids of the databases that have stored tables.  Tables of a database that was dropped
 * may be left; the new cluster does not have it, and removes them.
 * Errors: those of the engine.
 */
static List *
databases_of_tables(wide_db *db)
{
	uint32 cursor = 0;
	wide_table wt;
	wide_status st;
	List *result = NIL;

	while ((st = wide_table_next(db, NULL, &cursor, &wt)) == WIDE_OK)
		if (!list_member_oid(result, wt.space) &&
			SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(wt.space)))
			result = lappend_oid(result, wt.space);
	if (st != WIDE_END)
		wt_error_check(st, "could not list the tables");
	return result;
}

/* None is prepared any more once the flag is set; the end of one would be behind the last flush. */
static void
refuse_prepared(wide_db *db)
{
	wt_prepared_settle();
	if (wide_prepared_any(db))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("prepared transactions have changed or locked rows of wide tables"),
				 errhint("End them with COMMIT PREPARED or ROLLBACK PREPARED; see "
						 "pg_prepared_xacts.")));
}

/* The files get everything, and say so. */
static void
complete(wide_db *db)
{
	wide_status st;
	wide_stats s;

	refuse_prepared(db);
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_flush(db);
	} while (st == WIDE_INTERRUPTED || st == WIDE_BUSY);
	wt_error_check(st, "could not flush");
	wide_statistics(db, &s);
	if (s.flushed_lsn < s.visible_lsn)
		elog(ERROR, "the store was changed after it was prepared");
	wt_upgrade_write(s.flushed_lsn, databases_of_tables(db));
}

static void
stop_preparing(int code, Datum arg)
{
	wt_upgrade_cancel(LOG);
}

PG_FUNCTION_INFO_V1(wt_sql_prepare_upgrade);

Datum
wt_sql_prepare_upgrade(PG_FUNCTION_ARGS)
{
	PreventCommandDuringRecovery("prepare_upgrade()");
	/* it stops the writes of all roles in all databases */
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser for prepare_upgrade()")));
	if (!wt_store_exists())
		return (Datum) 0;
	if (!PG_GETARG_BOOL(0))
	{
		wt_upgrade_lock();
		wt_upgrade_cancel(ERROR);
		wt_upgrade_unlock();
		return (Datum) 0;
	}
	if (wt_change_any())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("prepare_upgrade() cannot run in a transaction that has changed wide "
						"tables")));
	(void) wt_store_db();
	wt_upgrade_lock();
	PG_ENSURE_ERROR_CLEANUP(stop_preparing, (Datum) 0);
	{
		/* so that those that fail now have ended when the function returns */
		wt_upgrade_prepare();
		/* the wait below would be for them, too */
		refuse_prepared(wt_store_db());
		wait_for_transactions();
		wt_upgrade_wait_for_commits();
		complete(wt_store_db());
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_preparing, (Datum) 0);
	wt_upgrade_unlock();
	return (Datum) 0;
}
