/*
 * scan_set.h
 *		The engine scans of a row reader: one, or one for each salt bucket.
 */
#ifndef WT_SCAN_SET_H
#define WT_SCAN_SET_H

#include "lib/binaryheap.h"

#include "engine/wide.h"
#include "fdw/xact/engine_scan.h"

/* To begin, or to begin again, set started to false and last to -1 (merge) or 0 (else). */
typedef struct WtScanSet
{
	int n; /* at most 1 unless they are merged */
	WtEngineScan **scans;
	int last;		  /* the scan whose row was returned last; merge: -1 if there is none */
	bool merge;		  /* by key without salt */
	bool reverse;	  /* descending keys */
	bool started;	  /* merge: heads and heap are filled */
	wide_row *heads;  /* merge: the next row of each scan */
	binaryheap *heap; /* merge: the scans that have a next row */
} WtScanSet;

/* Prepares a merge of scans of salt buckets by their keys without salt.
 * Requires: s->n and s->reverse are set. */
extern void wt_scan_set_merge(WtScanSet *s);

/* As wt_scan_set_next, also at the end and where that needs a look at several scans. */
extern bool wt_scan_set_next_merged(WtScanSet *s, wide_row *row, WtEngineScan **from);

/* Returns the next row's first part and the scan that has its other parts; false at the end. */
static inline bool
wt_scan_set_next(WtScanSet *s, wide_row *row, WtEngineScan **from)
{
	if (!s->merge && s->last < s->n && wt_engine_scan_next(s->scans[s->last], row))
	{
		*from = s->scans[s->last];
		return true;
	}
	return wt_scan_set_next_merged(s, row, from);
}

#endif /* WT_SCAN_SET_H */
