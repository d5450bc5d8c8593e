/*
 * scan_cache.h
 *		Scans that outlive their statement.
 */
#ifndef WT_SCAN_CACHE_H
#define WT_SCAN_CACHE_H

#include "lib/stringinfo.h"

#include "fdw/scan/scan_state.h"

/*
 * A statement that has begun (layout cells: that knows its parameters)
 * takes over what an earlier one has left for the same columns of the same table;
 * and leaves it for the next one.  false: it is to be freed.
 */
extern bool wt_scan_cache_possible(WtScanState *st);
extern void wt_scan_cache_take(WtScanState *st);
extern bool wt_scan_cache_leave(WtScanState *st);

/*
 * Layout cells: do the conditions on cells say now what they did when the readers
 * were made?
 */
extern bool wt_scan_cache_same_cells(WtScanState *st, const StringInfoData *asked);
/* Bytes that are the same when they do, into out.  false: cannot be told. */
extern bool wt_scan_cache_print_cells(WtScanState *st, StringInfo out);

#endif /* WT_SCAN_CACHE_H */
