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
#include "fdw/ddl/quota.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/derived/index_ddl.h"
#include "fdw/derived/online_build.h"
#include "fdw/derived/row_change.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/plan/lookup_path.h"
#include "fdw/plan/scan_path.h"
#include "fdw/remote/remote_engine.h"
#include "fdw/scan/analyze.h"
#include "fdw/scan/explain.h"
#include "fdw/scan/foreign_scan.h"
#include "fdw/scan/lookup_ahead.h"
#include "fdw/scan/parallel.h"
#include "fdw/store/backup.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/row_lock.h"
#include "fdw/store/location.h"
#include "fdw/store/settings.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/compaction_worker.h"
#include "fdw/table/table.h"
#include "fdw/write/direct_modify.h"
#include "fdw/write/modify.h"
#include "fdw/write/truncate.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/commit.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/executor_hooks.h"
#include "fdw/xact/parallel_snapshot.h"
#include "fdw/xact/twophase.h"

WT_MODULE_MAGIC("widetable", "1.0");

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	wt_settings_define();
	wt_location_define();
	wt_clock_define();
	wt_parallel_snapshot_init();
	wt_stop_point_init();
	MarkGUCPrefixReserved("widetable");
	wt_store_request();
	wt_compaction_worker_on_databases(wt_stored_table_drop_lost);
	wt_row_lock_init();
	/* before wt_commit_init(): callbacks that are registered later are called first at a commit, so
	 * other engines send when the embedded one has done what can fail */
	WT_WITH_HBASE(wt_remote_engine_init());
	wt_commit_init();
	wt_twophase_init();
	wt_batch_init();
	wt_engine_scan_init();
	wt_executor_hooks_init();
	wt_database_init();
	wt_event_trigger_init();
	wt_quota_init();
	wt_row_change_init();
	wt_index_ddl_init();
	wt_online_build_init();
	wt_backup_init();
	wt_lookup_ahead_init();
	wt_lookup_path_init();
}

PG_FUNCTION_INFO_V1(wt_handler);

Datum
wt_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *r = makeNode(FdwRoutine);

	r->GetForeignRelSize = wt_scan_path_get_rel_size;
	r->GetForeignPaths = wt_scan_path_get_paths;
	r->GetForeignPlan = wt_aggregate_plan_get_plan;
	r->GetForeignUpperPaths = wt_aggregate_plan_get_upper_paths;
	r->BeginForeignScan = wt_foreign_scan_begin;
	r->IterateForeignScan = wt_foreign_scan_iterate;
	r->ReScanForeignScan = wt_foreign_scan_rescan;
	r->EndForeignScan = wt_foreign_scan_end;
	r->ExplainForeignScan = wt_explain_foreign_scan;
	r->AnalyzeForeignTable = wt_analyze_foreign_table;
	r->IsForeignScanParallelSafe = wt_scan_path_is_parallel_safe;
	r->EstimateDSMForeignScan = wt_parallel_estimate_dsm;
	r->InitializeDSMForeignScan = wt_parallel_initialize_dsm;
	r->ReInitializeDSMForeignScan = wt_parallel_reinitialize_dsm;
	r->InitializeWorkerForeignScan = wt_parallel_initialize_worker;
	r->ShutdownForeignScan = wt_parallel_shutdown;

	r->AddForeignUpdateTargets = wt_modify_add_update_targets;
	r->PlanForeignModify = wt_modify_plan;
	r->BeginForeignModify = wt_modify_begin;
	r->ExecForeignInsert = wt_modify_exec_insert;
	r->ExecForeignUpdate = wt_modify_exec_update;
	r->ExecForeignDelete = wt_modify_exec_delete;
	r->EndForeignModify = wt_modify_end;
	r->BeginForeignInsert = wt_modify_begin_insert;
	r->EndForeignInsert = wt_modify_end_insert;
	r->IsForeignRelUpdatable = wt_modify_is_updatable;
	r->ExplainForeignModify = wt_modify_explain;
	r->ImportForeignSchema = wt_table_import;
	r->ExecForeignTruncate = wt_truncate_tables;

	r->PlanDirectModify = wt_direct_modify_plan;
	r->BeginDirectModify = wt_direct_modify_begin;
	r->IterateDirectModify = wt_direct_modify_iterate;
	r->EndDirectModify = wt_direct_modify_end;
	r->ExplainDirectModify = wt_direct_modify_explain;

	PG_RETURN_POINTER(r);
}
