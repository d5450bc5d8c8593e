/*
 * settings.h
 *		The settings (widetable.*) that are read in several places.
 */
#ifndef WT_SETTINGS_H
#define WT_SETTINGS_H

/* settings (widetable.c) */
extern int wt_settings_memtable_size_kb;
extern int wt_settings_cache_size_kb;
extern int wt_settings_max_tables;
extern int wt_settings_workers;
extern bool wt_settings_enable_pushdown;
extern bool wt_settings_enable_parallel_scan;
extern bool wt_settings_enable_direct_modify;
extern bool wt_settings_log_bulk;
extern bool wt_settings_ignore_missing_wal;
extern int wt_settings_write_memory_kb;

/* Defines them, at load. */
extern void wt_settings_define(void);

#endif /* WT_SETTINGS_H */
