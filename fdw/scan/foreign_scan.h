/*
 * foreign_scan.h
 *		The executor's callbacks for scans.
 */
#ifndef WT_FOREIGN_SCAN_H
#define WT_FOREIGN_SCAN_H

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

extern void wtBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *wtIterateForeignScan(ForeignScanState *node);
extern void wtReScanForeignScan(ForeignScanState *node);
extern void wtEndForeignScan(ForeignScanState *node);
extern bool wtRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot);

#endif							/* WT_FOREIGN_SCAN_H */
