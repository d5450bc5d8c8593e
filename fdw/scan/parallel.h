/*
 * parallel.h
 *		Parallel scans.
 */
#ifndef WT_PARALLEL_H
#define WT_PARALLEL_H

#include "access/parallel.h"
#include "nodes/execnodes.h"

extern Size wtEstimateDSMForeignScan(ForeignScanState *node, struct ParallelContext *pcxt);
extern void wtInitializeDSMForeignScan(ForeignScanState *node, struct ParallelContext *pcxt, void *coordinate);
extern void wtReInitializeDSMForeignScan(ForeignScanState *node, struct ParallelContext *pcxt, void *coordinate);
extern void wtInitializeWorkerForeignScan(ForeignScanState *node, struct shm_toc *toc, void *coordinate);
extern void wtShutdownForeignScan(ForeignScanState *node);

#endif							/* WT_PARALLEL_H */
