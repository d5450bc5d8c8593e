/*
 * scan_set.h
 *		The engine scans behind a row reader: one, or several that are merged by key.
 */
#ifndef WT_SCAN_SET_H
#define WT_SCAN_SET_H

#include "lib/binaryheap.h"

#include "engine/wide.h"
#include "fdw/xact/engine_scan.h"

/* The engine scans behind a reader: one, or several that are merged by key. */
typedef struct WtScanSet
{
	int n;
	WtEngineScan **scans;
	bool merge;
	bool reverse;
	wide_row *heads;  /* merge: the next row of each */
	binaryheap *heap; /* of those that have one */
	int last;		  /* scan whose row was handed out; -1 none */
	bool started;
} WtScanSet;

/* Several scans, of salt buckets, in the order of keys without their salt; s->n and s->reverse
 * are set. */
extern void wt_scan_set_merge(WtScanSet *s);
/* The next row's first part, and the scan that has its others. */
extern bool wt_scan_set_next_merged(WtScanSet *s, wide_row *row, WtEngineScan **from);

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
