/*
 * aggregate_scan.h
 *		Scans that aggregate, for foreign_scan.c.
 */
#ifndef WT_AGGREGATE_SCAN_H
#define WT_AGGREGATE_SCAN_H

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

extern void wt_aggregate_scan_begin(ForeignScanState *node);
extern TupleTableSlot *wt_aggregate_scan_next(ForeignScanState *node);
extern void wt_aggregate_scan_again(ForeignScanState *node);
extern void wt_aggregate_scan_end(ForeignScanState *node);

#endif /* WT_AGGREGATE_SCAN_H */
