/*
 * foreign_scan.h
 *		The executor's callbacks for scans, plain and aggregating (FdwRoutine).
 */
#ifndef WT_FOREIGN_SCAN_H
#define WT_FOREIGN_SCAN_H

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

extern void wt_foreign_scan_begin(ForeignScanState *node, int eflags);
extern TupleTableSlot *wt_foreign_scan_iterate(ForeignScanState *node);
extern void wt_foreign_scan_rescan(ForeignScanState *node);
extern void wt_foreign_scan_end(ForeignScanState *node);

#endif /* WT_FOREIGN_SCAN_H */
