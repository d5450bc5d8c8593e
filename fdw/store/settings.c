/*
 * settings.c
 *		The settings that other files read.
 */
#include "postgres.h"

#include "fdw/store/settings.h"

#include "miscadmin.h"
#include "utils/guc.h"

int wt_settings_memtable_size_kb = 16 * 1024;
int wt_settings_cache_size_kb = 128 * 1024;
int wt_settings_max_tables = 1000;
int wt_settings_max_tables_per_role = 500;
int wt_settings_workers = 1;
bool wt_settings_enable_pushdown = true;
bool wt_settings_enable_parallel_scan = true;
bool wt_settings_enable_lookup_ahead = true;
bool wt_settings_enable_direct_modify = true;
bool wt_settings_enable_index = true;
bool wt_settings_log_bulk = true;
bool wt_settings_ignore_missing_wal = false;
int wt_settings_write_memory_kb = 64 * 1024;
int wt_settings_row_lock_memory_kb = 512 * 1024;

/* What the planner may choose. */
static void
define_planner(void)
{
	DefineCustomBoolVariable("widetable.enable_pushdown",
							 "Lets conditions on keys become key ranges.", NULL,
							 &wt_settings_enable_pushdown, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.enable_parallel_scan",
							 "Allows parallel scans of wide tables.", NULL,
							 &wt_settings_enable_parallel_scan, true, PGC_USERSET, 0, NULL, NULL,
							 NULL);
	DefineCustomBoolVariable("widetable.enable_lookup_ahead",
							 "Lets joins look up rows of other engines many at a time.", NULL,
							 &wt_settings_enable_lookup_ahead, true, PGC_USERSET, 0, NULL, NULL,
							 NULL);
	DefineCustomBoolVariable("widetable.enable_index", "Lets indexes of wide tables find rows.",
							 NULL, &wt_settings_enable_index, true, PGC_USERSET, 0, NULL, NULL,
							 NULL);
	DefineCustomBoolVariable("widetable.enable_direct_modify",
							 "Lets the scan of an UPDATE or DELETE change the rows that it finds.",
							 NULL, &wt_settings_enable_direct_modify, true, PGC_USERSET, 0, NULL,
							 NULL, NULL);
}

void
wt_settings_define(void)
{
	/* for settings that are read when the segment is created; without preloading a library cannot
	 * define a PGC_POSTMASTER setting */
	GucContext at_start = process_shared_preload_libraries_in_progress ? PGC_POSTMASTER
																	   : PGC_SIGHUP;

	DefineCustomIntVariable("widetable.memtable_size",
							"Size of one memtable; the store has four of them.",
							"Read when the store's shared memory is made.",
							&wt_settings_memtable_size_kb, 16 * 1024, 1024, 1024 * 1024, at_start,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("widetable.cache_size",
							"Size of the shared cache of uncompressed blocks.",
							"Read when the store's shared memory is made.",
							&wt_settings_cache_size_kb, 128 * 1024, 2048, 64 * 1024 * 1024,
							at_start, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("widetable.max_tables",
							"How many wide tables all databases may have together.",
							"Read when the store's shared memory is made.", &wt_settings_max_tables,
							1000, 10, 100000, at_start, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("widetable.max_tables_per_role",
							"How many wide tables a role may have in all databases together.",
							"-1: no limit. Superusers have none.", &wt_settings_max_tables_per_role,
							500, -1, 100000, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"widetable.workers",
		"Background workers for flush and compaction; 0: the writers do that work.", NULL,
		&wt_settings_workers, 1, 0, 1, at_start, 0, NULL, NULL, NULL);
	define_planner();
	DefineCustomIntVariable(
		"widetable.write_memory",
		"Memory for what a transaction writes; more goes to temporary files until it commits.",
		NULL, &wt_settings_write_memory_kb, 64 * 1024, 64, 1024 * 1024, PGC_USERSET, GUC_UNIT_KB,
		NULL, NULL, NULL);
	DefineCustomIntVariable(
		"widetable.row_lock_memory",
		"Shared memory for the row locks of transactions that lock many rows.",
		"Of all transactions together; taken and given back as needed, 14 to 28 bytes for a row.",
		&wt_settings_row_lock_memory_kb, 512 * 1024, 1024, 64 * 1024 * 1024, PGC_SIGHUP,
		GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.log_bulk",
							 "Logs the contents of the files that large transactions write.",
							 "Off: standbys and restored backups may lack them.",
							 &wt_settings_log_bulk, true, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("widetable.ignore_missing_wal",
							 "Opens the store although WAL that it needs is lost.",
							 "What wide tables have in that part of WAL only is lost then.",
							 &wt_settings_ignore_missing_wal, false, PGC_SUSET, 0, NULL, NULL,
							 NULL);
}
