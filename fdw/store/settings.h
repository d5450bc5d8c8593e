/*
 * settings.h
 *		The settings (widetable.*) that other files read.  Settings that one file
 *		reads are defined there: clock.c, stop_point.c, xact/parallel_snapshot.c.
 */
#ifndef WT_SETTINGS_H
#define WT_SETTINGS_H

/* the shared segment; read when it is created */
extern int wt_settings_memtable_size_kb;
extern int wt_settings_cache_size_kb;
extern int wt_settings_max_tables;
extern int wt_settings_workers; /* 0: no background processes */

extern int wt_settings_max_tables_per_role; /* -1: no limit */

/* plans */
extern bool wt_settings_enable_pushdown;
extern bool wt_settings_enable_parallel_scan;
extern bool wt_settings_enable_lookup_ahead;
extern bool wt_settings_enable_direct_modify;
extern bool wt_settings_enable_index;

/* writing and recovery */
extern int wt_settings_write_memory_kb;
extern int wt_settings_row_lock_memory_kb; /* of all transactions */
extern bool wt_settings_log_bulk;
extern bool wt_settings_ignore_missing_wal;

/* Defines them, when the library is loaded. */
extern void wt_settings_define(void);

#endif /* WT_SETTINGS_H */
