/*
 * aggregate_scan.h
 *		Scans that aggregate, for foreign_scan.c and explain.c.
 */
#ifndef WT_AGGREGATE_SCAN_H
#define WT_AGGREGATE_SCAN_H

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "fdw/scan/scan_state.h"

extern void wt_aggregate_scan_begin(ForeignScanState *node);
extern TupleTableSlot *wt_aggregate_scan_next(ForeignScanState *node);
extern void wt_aggregate_scan_again(ForeignScanState *node);
extern void wt_aggregate_scan_end(ForeignScanState *node);

/*
 * Returns the scan whose rows are aggregated; sets *rows to the number of rows aggregated and
 * *removed to the number that clauses left out.
 */
extern WtScanState *wt_aggregate_scan_below(ForeignScanState *node, uint64 *rows, uint64 *removed);

#endif /* WT_AGGREGATE_SCAN_H */
