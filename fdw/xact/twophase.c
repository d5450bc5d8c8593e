/*
 * twophase.c
 *		PREPARE TRANSACTION of a transaction that has written to wide tables, or locked
 *		rows of them (doc/internals/prepared.md).
 *
 * PRE_PREPARE	The transaction gets an xid.  Its batch and its row locks are logged, and
 *				belong to the xid from here on.  PostgreSQL's record follows.
 * PREPARE		The session forgets them.
 *
 * Behind COMMIT PREPARED and ROLLBACK PREPARED this session ends the transaction in the
 * engine; if it does not get that far, others do (fdw/store/prepared.c).
 */
#include "postgres.h"

#include "fdw/xact/twophase.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/error.h"
#include "fdw/store/prepared.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/rest.h"
#include "fdw/store/settings.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/upgrade.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/wal_usage.h"

static ProcessUtility_hook_type prev_utility_hook = NULL;
static uint64 preparing = 0; /* this transaction, which is in the engine's table; 0: none */
static bool ending = false;	 /* this session is included in anchor->ending */

/* ------------------------------------------------------------------- prepare */

/* Returns: true if there is something to prepare. */
static bool
concerns_us(void)
{
	wide_batch *batch = wt_batch(false);

	return (batch != NULL && !wide_batch_empty(batch)) ||
		   (wt_store_db_if_open() != NULL && wide_row_locks_held(wt_store_db_if_open()) > 0);
}

/* Raises the failure of wide_prepared_begin(). */
static void
report_failure(wide_status st)
{
	char *why = pstrdup(wide_error_text());

	if (st == WIDE_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has changed so much in wide tables"),
				 errdetail("%s.", why),
				 errhint("Change fewer rows in one transaction, or set "
						 "widetable.memtable_size or widetable.write_memory higher.")));
	if (st == WIDE_INVALID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has created, altered, dropped or "
						"truncated wide tables"),
				 errhint("Commit that in a transaction of its own.")));
	if (st == WIDE_FULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many prepared transactions have written to wide tables"),
				 errdetail("%s.", why)));
	wt_error_check(st, "could not prepare a transaction in wide tables");
}

void
wt_twophase_prepare(void)
{
	wide_batch *batch = wt_batch(false);
	uint64 xid;
	wide_status st;

	if (!concerns_us())
		return;
	wt_prepared_settle();
	/* the order is that of prepare() in commit.c */
	wt_rest_begin_commit();
	wt_upgrade_check_unprepared();
	wt_background_process_ensure(&wt_background_process_worker);
	wt_background_process_ensure(&wt_background_process_keeper);
	wt_replication_slot_check(wt_store_db());
	wt_wal_usage_commit_begins();
	/* so that PostgreSQL writes a record, which decides, and a lock that others wait for */
	xid = U64FromFullTransactionId(GetTopFullTransactionId());
	st = wide_prepared_begin(wt_store_db(), batch, xid);
	if (st == WIDE_INTERRUPTED)
		CHECK_FOR_INTERRUPTS();
	if (st != WIDE_OK)
		report_failure(st);
	preparing = xid;
}

void
wt_twophase_prepared(void)
{
	if (preparing == 0)
		return;
	wide_prepared_confirm(wt_store_db(), preparing);
	preparing = 0;
}

/* Also after an error in the statement. */
static void
ends_no_more(void)
{
	if (ending)
		pg_atomic_fetch_sub_u32(&wt_anchor()->ending, 1);
	ending = false;
}

void
wt_twophase_end(void)
{
	ends_no_more();
	if (preparing != 0 && wt_store_db_if_open() != NULL)
		wide_prepared_cancel(wt_store_db_if_open(), preparing);
	preparing = 0;
}

/* ----------------------------------------------------------------------- end */

/* Returns: true for COMMIT PREPARED and ROLLBACK PREPARED. */
static bool
ends_prepared(Node *stmt)
{
	return IsA(stmt, TransactionStmt) &&
		   (((TransactionStmt *) stmt)->kind == TRANS_STMT_COMMIT_PREPARED ||
			((TransactionStmt *) stmt)->kind == TRANS_STMT_ROLLBACK_PREPARED);
}

static void
utility(PlannedStmt *pstmt, const char *query, bool read_only_tree, ProcessUtilityContext context,
		ParamListInfo params, QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	bool ends = ends_prepared(pstmt->utilityStmt);

	if (ends && !ending && wt_store_db_if_open() != NULL)
	{
		/* what was ended before comes first in the log */
		wt_prepared_settle_quietly();
		pg_atomic_fetch_add_u32(&wt_anchor()->ending, 1);
		ending = true;
	}
	if (prev_utility_hook)
		prev_utility_hook(pstmt, query, read_only_tree, context, params, env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params, env, dest, qc);
	if (!ends)
		return;
	wt_stop_point("prepared-ended");
	/* an error would say that the statement has failed, which it has not; the keeper tries again */
	wt_prepared_settle_quietly();
	ends_no_more();
	if (wt_anchor_if_known() != NULL)
		wt_background_process_wake(&wt_anchor()->keeper);
}

void
wt_twophase_init(void)
{
	prev_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = utility;
}
