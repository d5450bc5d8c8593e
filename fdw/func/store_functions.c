/*
 * store_functions.c
 *		SQL functions about the store as a whole: begin_empty, uninstall; stat_health.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/ddl/database.h"
#include "fdw/func/result.h"
#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/beginning.h"
#include "fdw/store/error.h"
#include "fdw/store/host.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/rest.h"
#include "fdw/store/state_file.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/xact/batch.h"

#define CLOSE_MS 15000 /* uninstall() waits that long for the background processes */

/* Errors: 25006, 42501 */
static void
check_superuser(const char *function)
{
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser for %s", function)));
}

/* Opens the store, and begins one where it is missing. */
static void
begin_store(void)
{
	wt_beginning_allow(true);
	PG_TRY();
	{
		(void) wt_store_db();
	}
	PG_FINALLY();
	{
		wt_beginning_allow(false);
	}
	PG_END_TRY();
	ereport(LOG, (errmsg("widetable: begins with empty tables")));
}

PG_FUNCTION_INFO_V1(wt_sql_begin_empty);

/*
 * Begins a store in place of one that is missing; and lets the foreign tables of this database
 * that have no rows in this cluster begin empty.  A store that is there is left as it is.
 */
Datum
wt_sql_begin_empty(PG_FUNCTION_ARGS)
{
	check_superuser("begin_empty()");
	if (wt_beginning_is_missing())
		begin_store();
	else if (wt_store_exists())
		(void) wt_store_db();
	wt_database_begin_empty();
	PG_RETURN_VOID();
}

/* --------------------------------------------------------------- uninstall */

/* Errors: 2BP01 if there are stored tables; names their databases. */
static void
check_no_tables(wide_db *db)
{
	StringInfoData names;
	uint32 cursor = 0;
	wide_table wt;
	int n = 0;
	Oid last = InvalidOid;

	initStringInfo(&names);
	while (wide_table_next(db, NULL, &cursor, &wt) == WIDE_OK)
	{
		char *name = get_database_name(wt.space);

		n++;
		if (wt.space != last)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", name ? name : "(dropped)");
		last = wt.space;
	}
	if (n > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot remove the store: it has %d tables", n),
				 errdetail("They are in databases: %s.", names.data),
				 errhint("Drop them first, or the extension in these databases.")));
}

/* Waits until the store is closed and no other process has it open.  Errors: 55006 */
static void
wait_until_closed(wide_db *db)
{
	WtAnchor *a = wt_anchor();
	TimestampTz since = GetCurrentTimestamp();
	wide_stats s;

	for (;;)
	{
		a->rest_wanted = true;
		if (a->keeper.pid == 0 && !wt_rest_is_closed())
			(void) wt_rest_close(db, true);
		else
			wt_background_process_wake(&a->keeper);
		wide_statistics(db, &s);
		if (wt_rest_is_closed() && s.processes <= 1)
			return;
		wt_background_process_wake(&a->worker);
		wt_host_wait(50);
		CHECK_FOR_INTERRUPTS();
		if (TimestampDifferenceExceeds(since, GetCurrentTimestamp(), CLOSE_MS))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot remove the store: it is in use"),
					 errdetail("%u other processes have it open.", s.processes - 1),
					 errhint("End the sessions that have used wide tables, and try again.")));
	}
}

/* Errors: 2BP01, 55006 */
static void
close_for_removal(void)
{
	wide_db *db = wt_store_db();

	check_no_tables(db);
	PG_TRY();
	{
		wait_until_closed(db);
	}
	PG_FINALLY();
	{
		wt_anchor()->rest_wanted = false;
	}
	PG_END_TRY();
}

PG_FUNCTION_INFO_V1(wt_sql_uninstall);

/*
 * Removes what the extension has outside of databases: the store's directory, the state file
 * and the replication slot.  The background processes end.
 */
Datum
wt_sql_uninstall(PG_FUNCTION_ARGS)
{
	check_superuser("uninstall()");
	if (wt_batch(false) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("uninstall() cannot run in a transaction that has written to wide "
						"tables")));
	do
	{
		/* it runs, although its directory is gone, if that was removed meanwhile */
		if (wt_store_runs() || (wt_store_exists() && !wt_beginning_is_missing()))
			close_for_removal();
		wt_stop_point("uninstall-closed");
	} while (!wt_store_remove());
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------ health */

/* Returns: the state of the store on this server, in one word. */
static const char *
state_of(const WtAnchor *a, const WtHealth *h)
{
	bool recovery = RecoveryInProgress();

	if (wt_store_runs())
		return wt_rest_is_closed() ? "resting" : "open";
	if (wt_beginning_is_missing())
		return "missing";
	if (h->failing)
		return "failed";
	if (recovery && h->replayed != 0)
		return "following";
	if (a->opener != 0)
		return recovery ? "waiting" : "opening";
	if (wt_beginning_may_be_in_log())
		return "waiting";
	return wt_store_exists() ? "closed" : "none";
}

/* Columns about the log: what the store has, and how far it is behind the server. */
static void
add_log(WtResultRow *row, const WtHealth *h)
{
	bool follows = RecoveryInProgress() && h->replayed != 0;
	XLogRecPtr end = follows ? GetXLogReplayRecPtr(NULL) : 0;
	int64 lag = follows && end > h->replayed ? (int64) (end - h->replayed) : 0;
	double seconds = lag > 0 ? (GetCurrentTimestamp() - h->caught_up) / 1e6 : 0;

	wt_result_add_unless(row, !follows, LSNGetDatum(h->replayed));
	wt_result_add_unless(row, !follows, Int64GetDatum(lag));
	wt_result_add_unless(row, !follows || (lag > 0 && h->caught_up == 0), Float8GetDatum(seconds));
}

PG_FUNCTION_INFO_V1(wt_sql_stat_health);

/* Opens nothing, so it works in recovery and while the store cannot be opened. */
Datum
wt_sql_stat_health(PG_FUNCTION_ARGS)
{
	WtAnchor *a = wt_anchor();
	WtResultRow row = {0};
	WtHealth h;

	SpinLockAcquire(&a->mutex);
	h = a->health;
	SpinLockRelease(&a->mutex);
	wt_result_add_text(&row, state_of(a, &h));
	wt_result_add(&row, BoolGetDatum(RecoveryInProgress()));
	add_log(&row, &h);
	wt_result_add_text(&row, wt_replication_slot_state());
	wt_result_add_unless(&row, a->worker.pid == 0, Int32GetDatum(a->worker.pid));
	wt_result_add_unless(&row, a->keeper.pid == 0, Int32GetDatum(a->keeper.pid));
	if (h.error[0] != '\0')
		wt_result_add_text(&row, h.error);
	else
		wt_result_add_unless(&row, true, (Datum) 0);
	wt_result_add_unless(&row, h.error[0] == '\0', TimestampTzGetDatum(h.error_time));
	return wt_result_one(&row, fcinfo);
}
