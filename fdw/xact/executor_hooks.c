/*
 * executor_hooks.c
 *		What happens when a statement is planned, starts, and when its run ends: the transaction's
 *		snapshot is taken at ExecutorStart; parallel workers are told what to read and
 *		scans of open cursors are put to rest around ExecutorRun; what the statement holds
 *		is released at ExecutorEnd.
 */
#include "postgres.h"

#include "fdw/xact/executor_hooks.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "optimizer/planner.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"
#include "utils/snapshot.h"

#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/snapshot.h"
#include "fdw/xact/parallel_snapshot.h"
#include "fdw/xact/statement.h"

static planner_hook_type prev_planner = NULL;
static ExecutorStart_hook_type prev_executor_start = NULL;
static ExecutorRun_hook_type prev_executor_run = NULL;
static ExecutorEnd_hook_type prev_executor_end = NULL;
static int run_depth = 0; /* nested calls of ExecutorRun */
/* a SELECT FOR UPDATE among them may have returned the newest state */
static bool run_locked = false;

static PlannedStmt *
make_plan(Query *query, const char *text, int options, ParamListInfo params)
{
	return prev_planner ? prev_planner(query, text, options, params)
						: standard_planner(query, text, options, params);
}

/* The planner calls STABLE functions to estimate. */
static PlannedStmt *
plan(Query *query, const char *text, int options, ParamListInfo params)
{
	PlannedStmt *volatile planned = NULL;

	if (!wt_statement_plan())
		return make_plan(query, text, options, params);
	PG_TRY();
	{
		planned = make_plan(query, text, options, params);
	}
	PG_FINALLY();
	{
		wt_statement_planned();
	}
	PG_END_TRY();
	return planned;
}

static void
start_plan(QueryDesc *queryDesc, int eflags)
{
	if (prev_executor_start)
		prev_executor_start(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);
}

static void
executor_start(QueryDesc *queryDesc, int eflags)
{
	uint64 outer;
	bool counted = wt_statement_begin(queryDesc);

	wt_snapshot_begin_statement(queryDesc->snapshot);
	if (wt_store_db_if_open() != NULL)
		wide_time_reads(wt_store_db_if_open(), track_io_timing);
	if (!counted)
	{
		start_plan(queryDesc, eflags);
		return;
	}
	outer = wt_statement_enter(queryDesc);
	PG_TRY();
	{
		start_plan(queryDesc, eflags);
	}
	PG_FINALLY();
	{
		wt_statement_leave(outer);
	}
	PG_END_TRY();
}

/* Returns: true if the plan reads tables of the embedded engine. */
static bool
reads_wide_tables(PlannedStmt *plan)
{
	ListCell *lc;

	foreach(lc, plan->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE &&
			wt_table_is_ours(rte->relid) && wt_table(rte->relid)->engine == NULL)
			return true;
	}
	return false;
}

/* What a statement that may have parallel workers holds while it runs. */
typedef struct ParallelRun
{
	WtEngineScan *held; /* holds its snapshot */
	int level;			/* of wt_parallel_snapshot_announce(); 0: not called */
} ParallelRun;

/* The statement sees what its workers cannot see.  Returns: as begin_parallel(). */
static bool
begin_private(QueryDesc *queryDesc, ParallelRun *run)
{
	if (reads_wide_tables(queryDesc->plannedstmt))
		return false;
	run->level = wt_parallel_snapshot_announce(NULL);
	return true;
}

/*
 * Holds the engine's snapshot of a statement.
 * Returns: NULL on a standby where the log cannot be followed: a statement that reads no wide table
 * goes on, one that does fails when it reads.
 */
static WtEngineScan *
hold_snapshot(Snapshot pg)
{
	WtErrorPoint before = wt_error_point();
	WtEngineScan *volatile held = NULL;

	PG_TRY();
	{
		held = wt_engine_scan_hold_snapshot(pg);
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		if (!RecoveryInProgress() || e->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
			ReThrowError(e);
		FreeErrorData(e);
	}
	PG_END_TRY();
	return held;
}

/*
 * Tells the parallel workers of the statement what to read (parallel_snapshot.c).
 * Returns: false if the statement has to run without workers.
 */
static bool
begin_parallel(QueryDesc *queryDesc, ParallelRun *run)
{
	Snapshot pg = queryDesc->estate->es_snapshot;
	char *why;

	if (IsParallelWorker() || pg == NULL || !IsMVCCSnapshot(pg))
		return true;
	/* the workers of another engine's table would not see these, whoever reads it */
	if (wt_engine_changed())
		return false;
	if (wt_batch(false) != NULL)
		return begin_private(queryDesc, run);
	/* if the leader finds no store, its workers must not find one that was created since */
	if (!(RecoveryInProgress() ? wt_store_is_followed() : wt_store_exists()) ||
		wt_store_db_try(&why) == NULL)
		return !reads_wide_tables(queryDesc->plannedstmt);
	if (wt_engine_scan_as_of_changed(pg))
		return false;
	run->held = hold_snapshot(pg);
	if (run->held == NULL)
		return false;
	if (wide_snapshot_is_private(wt_engine_scan_snapshot(run->held)))
		return begin_private(queryDesc, run);
	run->level = wt_parallel_snapshot_announce(wt_engine_scan_snapshot(run->held));
	wt_stop_point("parallel-announced");
	return true;
}

static void
end_parallel(ParallelRun *run)
{
	if (run->level > 0)
		wt_parallel_snapshot_withdraw(run->level);
	wt_engine_scan_close(run->held);
}

/* apart from executor_run(), whose arguments must not change: a longjmp may bring old values back
 */
static void
run_plan(QueryDesc *queryDesc, ScanDirection direction, uint64 count WT_RUN_ONCE_PARAM)
{
	ParallelRun run = {0};

	if (queryDesc->plannedstmt->parallelModeNeeded && !begin_parallel(queryDesc, &run))
		wt_run_without_workers(queryDesc);
	if (prev_executor_run)
		prev_executor_run(queryDesc, direction, count WT_RUN_ONCE_ARG);
	else
		standard_ExecutorRun(queryDesc, direction, count WT_RUN_ONCE_ARG);
	end_parallel(&run);
}

/*
 * When the outermost statement returns its rows, the scans of open cursors rest, perhaps
 * for long, and must not hold memtables and files meanwhile.
 */
static void
executor_run(QueryDesc *queryDesc, ScanDirection direction, uint64 count WT_RUN_ONCE_PARAM)
{
	WtRun run;
	uint64 outer = wt_statement_enter(queryDesc);

	wt_snapshot_begin_run(&run, queryDesc->snapshot);
	run_depth++;
	PG_TRY();
	{
		run_plan(queryDesc, direction, count WT_RUN_ONCE_ARG);
	}
	PG_FINALLY();
	{
		run_depth--;
		wt_statement_leave(outer);
		wt_snapshot_end_run(&run);
	}
	PG_END_TRY();
	run_locked |= queryDesc->operation == CMD_SELECT && queryDesc->plannedstmt->rowMarks != NIL;
	if (run_depth > 0)
		return;
	/* first, because wt_snapshot_catch_up() may wait for a standby */
	wt_engine_scan_rest_all();
	if (run_locked && IsTransactionBlock())
		wt_snapshot_catch_up();
	run_locked = false;
	wt_snapshot_share_exported();
}

static void
executor_end(QueryDesc *queryDesc)
{
	Snapshot snapshot = queryDesc->snapshot;

	wt_derive_rest();
	if (prev_executor_end)
		prev_executor_end(queryDesc);
	else
		standard_ExecutorEnd(queryDesc);
	wt_snapshot_end_statement(snapshot);
}

void
wt_executor_hooks_init(void)
{
	prev_planner = planner_hook;
	planner_hook = plan;
	prev_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	prev_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
	prev_executor_end = ExecutorEnd_hook;
	ExecutorEnd_hook = executor_end;
}
