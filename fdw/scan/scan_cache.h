/*
 * scan_cache.h
 *		Scans that a session keeps for its next statements.
 */
#ifndef WT_SCAN_CACHE_H
#define WT_SCAN_CACHE_H

#include "lib/stringinfo.h"

#include "fdw/scan/scan_state.h"

/* Returns true if the scan may be taken from the cache and left to it. */
extern bool wt_scan_cache_possible(WtScanState *st);

/*
 * Sets st->open to a scan of the same columns of the same table that an earlier statement has
 * left, if there is one: its state is WT_OPEN_CACHED then.  It holds the statement's snapshot.
 * Requires: nothing is open; layout cells: the values of the conditions are known.
 */
extern void wt_scan_cache_take(WtScanState *st);

/*
 * Leaves st->open to later statements and clears it.  Returns false if it cannot be kept; the
 * caller closes it.
 */
extern bool wt_scan_cache_leave(WtScanState *st);

/*
 * Layout cells: returns true if the conditions on cells have the values that printed stands
 * for, which wt_scan_cache_print_cells has made.
 */
extern bool wt_scan_cache_same_cells(WtScanState *st, const StringInfoData *printed);

/*
 * Layout cells: appends bytes to out that are the same if and only if the conditions on cells
 * and their values are.  Returns false if the values cannot be compared so.
 */
extern bool wt_scan_cache_print_cells(WtScanState *st, StringInfo out);

#endif /* WT_SCAN_CACHE_H */
