/*
 * source.h
 *		The engine scans behind a row reader: one, or several that are merged by key.
 */
#ifndef WT_SOURCE_H
#define WT_SOURCE_H

#include "lib/binaryheap.h"

#include "engine/wide.h"
#include "fdw/xact/engine_scan.h"

/* The engine scans behind a reader: one, or several that are merged by key. */
typedef struct WtSource
{
	int			n;
	WtScan	  **scans;
	bool		merge;
	bool		reverse;
	wide_row   *heads;			/* merge: the next row of each */
	binaryheap *heap;			/* of those that have one */
	int			last;			/* scan whose row was handed out; -1 none */
	bool		started;
} WtSource;

/* Several scans, of salt buckets, in the order of keys without their salt; s->n and s->reverse are set. */
extern void wt_source_merge(WtSource *s);
/* The next row's first part, and the scan that has its others. */
extern bool wt_source_go_on(WtSource *s, wide_row *row, WtScan **from);

static inline bool
wt_source_next(WtSource *s, wide_row *row, WtScan **from)
{
	if (!s->merge && s->last < s->n && wt_scan_next(s->scans[s->last], row))
	{
		*from = s->scans[s->last];
		return true;
	}
	return wt_source_go_on(s, row, from);
}

#endif							/* WT_SOURCE_H */
