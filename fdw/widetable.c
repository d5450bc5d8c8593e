/*
 * widetable.c
 *		Library load, settings, and the wrapper's handler.
 *
 * The library works without preload: everything shared is made at first use
 * (store.c).  Preloaded, shared memory is requested from the postmaster and the
 * worker starts with the server.
 */
#include "fdw/store/store.h"

#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

WT_MODULE_MAGIC("widetable", "1.0");

PGDLLEXPORT void _PG_init(void);

int			wt_memtable_size_kb = 16 * 1024;
int			wt_cache_size_kb = 128 * 1024;
int			wt_max_tables = 1000;
int			wt_workers = 1;
bool		wt_enable_pushdown = true;
bool		wt_enable_parallel_scan = true;
bool		wt_enable_direct_modify = true;
bool		wt_log_bulk = true;
bool		wt_ignore_missing_wal = false;
int			wt_write_memory_kb = 64 * 1024;
char	   *wt_as_of = NULL;
char	   *wt_clock = NULL;

/* What a time setting means; parsed anew only when its text changes. */
typedef struct TimeSetting
{
	char		text[64];
	int64		us;
} TimeSetting;

/* microseconds since 1970 of a timestamp or a plain number of microseconds */
static int64
parse_time(const char *name, const char *text, TimeSetting *cache)
{
	char	   *end;
	int64		us;

	if (cache->text[0] != '\0' && strcmp(text, cache->text) == 0)
		return cache->us;
	errno = 0;
	us = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || end == text)
	{
		TimestampTz t = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in, CStringGetDatum(text),
																ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));

		if (TIMESTAMP_NOT_FINITE(t))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be a finite time, not \"%s\"", name, text)));
		/* the last years of the type do not fit */
		if (pg_add_s64_overflow(t, WT_EPOCH_DIFF, &us))
			us = PG_INT64_MAX;
	}
	strlcpy(cache->text, text, sizeof(cache->text));
	cache->us = us;
	return us;
}

static TimeSetting clock_cache;
static TimeSetting as_of_cache;

/*
 * The clock of the engine.  A bad text in widetable.clock cannot raise an
 * error here (the engine calls this in places that must not longjmp): it was
 * checked when it was set.
 */
int64
wt_now(void)
{
	if (wt_clock != NULL && wt_clock[0] != '\0')
		return clock_cache.us;
	return GetCurrentTimestamp() + WT_EPOCH_DIFF;
}

int64
wt_as_of_us(void)
{
	if (wt_as_of == NULL || wt_as_of[0] == '\0')
		return PG_INT64_MAX;
	return as_of_cache.us;
}

static bool
check_time(const char *name, char **newval, void **extra, TimeSetting *cache)
{
	TimeSetting *parsed;
	TimeSetting scratch = {0};

	if (*newval == NULL || (*newval)[0] == '\0')
		return true;
	if (strlen(*newval) >= sizeof(scratch.text))
	{
		GUC_check_errdetail("The value is too long for a time.");
		return false;
	}
	parse_time(name, *newval, &scratch);
	parsed = wt_guc_malloc(sizeof(TimeSetting));
	if (parsed == NULL)
		return false;
	*parsed = scratch;
	*extra = parsed;
	return true;
}

static bool
check_clock(char **newval, void **extra, GucSource source)
{
	return check_time("widetable.clock", newval, extra, &clock_cache);
}

static void
assign_clock(const char *newval, void *extra)
{
	if (extra != NULL)
		clock_cache = *(TimeSetting *) extra;
}

static bool
check_as_of(char **newval, void **extra, GucSource source)
{
	return check_time("widetable.as_of", newval, extra, &as_of_cache);
}

static void
assign_as_of(const char *newval, void *extra)
{
	if (extra != NULL)
		as_of_cache = *(TimeSetting *) extra;
}

static void
define_settings(void)
{
	/* read when the segment is made; a custom setting cannot be PGC_POSTMASTER without preload */
	GucContext	at_start = process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;

	DefineCustomIntVariable("widetable.memtable_size",
							"Size of one memtable; the store has four of them.",
							"Read when the store's shared memory is made.",
							&wt_memtable_size_kb, 16 * 1024, 1024, 1024 * 1024, at_start, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("widetable.cache_size",
							"Size of the shared cache of uncompressed blocks.",
							"Read when the store's shared memory is made.",
							&wt_cache_size_kb, 128 * 1024, 2048, 64 * 1024 * 1024, at_start, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("widetable.max_tables",
							"How many wide tables all databases may have together.",
							"Read when the store's shared memory is made.",
							&wt_max_tables, 1000, 10, 100000, at_start, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("widetable.workers",
							"Background workers for flush and compaction; 0: the writers do that work.",
							NULL,
							&wt_workers, 1, 0, 1, at_start, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.enable_pushdown",
							 "Lets conditions on keys become key ranges.", NULL,
							 &wt_enable_pushdown, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.enable_parallel_scan",
							 "Allows parallel scans of wide tables.", NULL,
							 &wt_enable_parallel_scan, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.enable_direct_modify",
							 "Lets the scan of an UPDATE or DELETE change the rows that it finds.", NULL,
							 &wt_enable_direct_modify, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("widetable.write_memory",
							"Memory for what a transaction writes; more goes to temporary files until it commits.",
							NULL,
							&wt_write_memory_kb, 64 * 1024, 64, 1024 * 1024, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.log_bulk",
							 "Logs the contents of the files that large transactions write.",
							 "Off: standbys and restored backups may lack them.",
							 &wt_log_bulk, true, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.ignore_missing_wal",
							 "Opens the store although WAL that it needs is lost.",
							 "What wide tables have in that part of WAL only is lost then.",
							 &wt_ignore_missing_wal, false, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("widetable.as_of",
							   "Reads show the newest versions at or before this time.",
							   "A timestamp or microseconds since 1970; empty: now.",
							   &wt_as_of, "", PGC_USERSET, 0, check_as_of, assign_as_of, NULL);
	DefineCustomStringVariable("widetable.clock",
							   "A fixed time for timestamps and TTL, for tests.",
							   "A timestamp or microseconds since 1970; empty: the real clock.",
							   &wt_clock, "", PGC_SUSET, 0, check_clock, assign_clock, NULL);
	wt_parallel_init();
	wt_stop_init();
	MarkGUCPrefixReserved("widetable");
}

void
_PG_init(void)
{
	define_settings();
	wt_store_request();
	wt_xact_init();
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
