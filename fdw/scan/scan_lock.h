/*
 * scan_lock.h
 *		Scans that lock their rows.
 */
#ifndef WT_SCAN_LOCK_H
#define WT_SCAN_LOCK_H

#include "fdw/scan/scan_state.h"

/*
 * Lock the row last fetched and put its newest version into
 * values (in CurrentMemoryContext).  false: it is gone, or skipped.
 */
extern bool wt_scan_lock_row(WtScanState *st, Datum *values, bool *nulls);

#endif /* WT_SCAN_LOCK_H */
