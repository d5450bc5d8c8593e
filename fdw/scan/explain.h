/*
 * explain.h
 *		What EXPLAIN shows of a scan.
 */
#ifndef WT_EXPLAIN_H
#define WT_EXPLAIN_H

#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"

#include "fdw/store/compat.h"

/* The executor's callback of EXPLAIN for scans, plain and aggregating (FdwRoutine). */
extern void wt_explain_foreign_scan(ForeignScanState *node, struct ExplainState *es);

#endif /* WT_EXPLAIN_H */
