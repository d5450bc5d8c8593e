/*
 * widetable.c
 *		Library load, settings, and the wrapper's handler.
 *
 * The library works without preload: everything shared is made at first use
 * (store/store.c).  Preloaded, shared memory is requested from the postmaster and the
 * worker starts with the server.
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "utils/guc.h"

#include "fdw/ddl/database.h"
#include "fdw/ddl/event_trigger.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/plan/scan_path.h"
#include "fdw/plan/scan_size.h"
#include "fdw/scan/analyze.h"
#include "fdw/scan/explain.h"
#include "fdw/scan/foreign_scan.h"
#include "fdw/scan/parallel.h"
#include "fdw/store/backup.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/worker.h"
#include "fdw/write/direct.h"
#include "fdw/write/modify.h"
#include "fdw/write/truncate.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/commit.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/executor_hooks.h"
#include "fdw/xact/worker_snapshot.h"

WT_MODULE_MAGIC("widetable", "1.0");

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	wt_settings_define();
	wt_clock_define();
	wt_parallel_init();
	wt_stop_init();
	MarkGUCPrefixReserved("widetable");
	wt_store_request();
	wt_worker_on_databases(wt_drop_lost_tables);
	wt_commit_init();
	wt_batch_init();
	wt_engine_scan_init();
	wt_executor_hooks_init();
	wt_database_init();
	wt_ddl_init();
	wt_backup_init();
}

PG_FUNCTION_INFO_V1(wt_handler);
Datum
wt_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *r = makeNode(FdwRoutine);

	r->GetForeignRelSize = wtGetForeignRelSize;
	r->GetForeignPaths = wtGetForeignPaths;
	r->GetForeignPlan = wtGetForeignAnyPlan;
	r->GetForeignUpperPaths = wtGetForeignUpperPaths;
	r->BeginForeignScan = wtBeginForeignScan;
	r->IterateForeignScan = wtIterateForeignScan;
	r->ReScanForeignScan = wtReScanForeignScan;
	r->EndForeignScan = wtEndForeignScan;
	r->RecheckForeignScan = wtRecheckForeignScan;
	r->ExplainForeignScan = wtExplainForeignScan;
	r->AnalyzeForeignTable = wtAnalyzeForeignTable;
	r->IsForeignScanParallelSafe = wtIsForeignScanParallelSafe;
	r->EstimateDSMForeignScan = wtEstimateDSMForeignScan;
	r->InitializeDSMForeignScan = wtInitializeDSMForeignScan;
	r->ReInitializeDSMForeignScan = wtReInitializeDSMForeignScan;
	r->InitializeWorkerForeignScan = wtInitializeWorkerForeignScan;
	r->ShutdownForeignScan = wtShutdownForeignScan;

	r->AddForeignUpdateTargets = wtAddForeignUpdateTargets;
	r->PlanForeignModify = wtPlanForeignModify;
	r->BeginForeignModify = wtBeginForeignModify;
	r->ExecForeignInsert = wtExecForeignInsert;
	r->ExecForeignUpdate = wtExecForeignUpdate;
	r->ExecForeignDelete = wtExecForeignDelete;
	r->EndForeignModify = wtEndForeignModify;
	r->BeginForeignInsert = wtBeginForeignInsert;
	r->EndForeignInsert = wtEndForeignInsert;
	r->IsForeignRelUpdatable = wtIsForeignRelUpdatable;
	r->ExplainForeignModify = wtExplainForeignModify;
	r->ExecForeignTruncate = wtExecForeignTruncate;

	r->PlanDirectModify = wtPlanDirectModify;
	r->BeginDirectModify = wtBeginDirectModify;
	r->IterateDirectModify = wtIterateDirectModify;
	r->EndDirectModify = wtEndDirectModify;
	r->ExplainDirectModify = wtExplainDirectModify;

	PG_RETURN_POINTER(r);
}
