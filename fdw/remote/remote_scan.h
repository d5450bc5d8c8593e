/*
 * remote_scan.h
 *		Scans of tables of HBase, with the changes of the transaction.
 */
#ifndef WT_REMOTE_SCAN_H
#define WT_REMOTE_SCAN_H

#include "utils/snapshot.h"

#include "fdw/table/engine.h"

/* The engine's functions (engine.h). */
extern wide_scan *wt_remote_scan_open(Snapshot pg, const wide_scan_spec *spec);
extern bool wt_remote_scan_next(wide_scan *scan, wide_row *row);
extern void wt_remote_scan_restart(wide_scan *scan, const wide_range *ranges, int nranges);
extern void wt_remote_scan_prefetch(wide_scan *scan, const wide_range *keys, int n);
extern void wt_remote_scan_work(const wide_scan *scan, WtEngineWork *out);
extern bool wt_remote_scan_whole(WtTable *t);
extern void wt_remote_scan_close(wide_scan *scan);

#endif /* WT_REMOTE_SCAN_H */
