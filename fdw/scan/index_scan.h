/*
 * index_scan.h
 *		Scans that find rows by the entries of an index.
 *
 * Two scans: one of the index, which returns the keys of rows, and one of the table, which reads
 * these rows.  It takes keys by the batch, sorts them, and so reads the rows in the order of their
 * keys; if the order of the index is asked for, a batch is one row.
 */
#ifndef WT_INDEX_SCAN_H
#define WT_INDEX_SCAN_H

#include "nodes/execnodes.h"

#include "fdw/derived/index.h"
#include "fdw/scan/scan_state.h"

/*
 * Returns the index that a plan reads, locked, as the statement's snapshot may read it.
 * Errors: T_R_SERIALIZATION_FAILURE if it has been dropped or built anew since the plan was made.
 */
extern WtIndex *wt_index_scan_index(Oid relid, PlanState *ps);

/* wt_scan_fetch() */
typedef bool (*WtFetch)(WtScanState *st, Datum *values, bool *nulls);

/* Makes the part of a scan that finds keys; scan reads the index, by fetch. */
extern WtIndexScan *wt_index_scan_make(WtIndex *x, WtScanState *scan, WtFetch fetch);

/* Returns the scan of the index. */
extern WtScanState *wt_index_scan_of(WtIndexScan *s);

/* Sets the ranges of the scan of the table to the next keys.  Returns false if there are none. */
extern bool wt_index_scan_next(WtScanState *st);

/* The scan of the index has gone back to its beginning. */
extern void wt_index_scan_again(WtIndexScan *s);

#endif /* WT_INDEX_SCAN_H */
