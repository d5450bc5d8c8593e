/*
 * parallel.h
 *		The executor's callbacks for parallel scans (FdwRoutine).
 */
#ifndef WT_PARALLEL_H
#define WT_PARALLEL_H

#include "access/parallel.h"
#include "nodes/execnodes.h"

extern Size wt_parallel_estimate_dsm(ForeignScanState *node, struct ParallelContext *pcxt);
extern void wt_parallel_initialize_dsm(ForeignScanState *node, struct ParallelContext *pcxt,
									   void *coordinate);
extern void wt_parallel_reinitialize_dsm(ForeignScanState *node, struct ParallelContext *pcxt,
										 void *coordinate);
extern void wt_parallel_initialize_worker(ForeignScanState *node, struct shm_toc *toc,
										  void *coordinate);
extern void wt_parallel_shutdown(ForeignScanState *node);

#endif /* WT_PARALLEL_H */
