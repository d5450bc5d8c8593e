/*
 * engine_scan.h
 *		Scans of the engine.
 */
#ifndef WT_ENGINE_SCAN_H
#define WT_ENGINE_SCAN_H

#include "utils/snapshot.h"

#include "engine/wide.h"

/* A scan of the engine that is closed at the end of the transaction at the latest. */
typedef struct WtEngineScan WtEngineScan;

/*
 * snapshot: the statement's (its engine counterpart is shared by all scans that
 * hold it); NULL: the newest state, for read-modify-write under a row lock (own
 * writes of all commands included unless spec->own_mark is set by the caller).
 * own/own_mark of spec are filled in here.
 */
extern WtEngineScan *wt_engine_scan_open(Snapshot snapshot, wide_scan_spec *spec);

/* own_mark of "none of the own writes" (0 means that the caller does not say) */
#define WT_OWN_NONE PG_UINT64_MAX

/*
 * Take the engine's counterpart of the snapshot now and hold it until
 * wt_engine_scan_close (or the end of the resource owner): a statement's scans see
 * what was committed when it began, however late they are opened.
 */
extern WtEngineScan *wt_engine_scan_hold_snapshot(Snapshot snapshot);

/* Every WtEngineScan begins so: for rows that the engine has read ahead. */
typedef struct WtEngineScanHead
{
	wide_scan *scan;
	bool newest; /* each row that is read is noted */
} WtEngineScanHead;

extern bool wt_engine_scan_read(WtEngineScan *s, wide_row *row);

/* false at the end; errors are raised */
static inline bool
wt_engine_scan_next(WtEngineScan *s, wide_row *row)
{
	WtEngineScanHead *h = (WtEngineScanHead *) s;

	return (!h->newest && wide_scan_ready(h->scan, row)) || wt_engine_scan_read(s, row);
}

/*
 * A row that the scan has handed out is used over the end of the statement's run
 * (a cursor rests): it is replaced by a copy then.  Until the scan's next call.
 */
extern void wt_engine_scan_keep_row(WtEngineScan *s, wide_row *row);
/* Goes on with other ranges; its snapshot stays (newest state: is renewed). */
extern void wt_engine_scan_restart(WtEngineScan *s, const wide_range *ranges, int nranges);
/* What the engine's scan has done so far. */
extern void wt_engine_scan_stats(WtEngineScan *s, wide_scan_stats *out);
extern void wt_engine_scan_close(WtEngineScan *s);

/*
 * Instead of closing it: the scan is nobody's then and holds nothing but memory,
 * until wt_engine_scan_reuse makes it another statement's.  false: close it.  After
 * wt_engine_scan_reuse, which holds the statement's snapshot as wt_engine_scan_hold_snapshot does,
 * the first ranges are given by wt_engine_scan_reuse_ranges; without these it may be
 * set aside again.  To be reused only while wt_batch(false) is NULL, and for
 * what it was opened for.
 */
extern bool wt_engine_scan_set_aside(WtEngineScan *s);
extern void wt_engine_scan_reuse(WtEngineScan *s, Snapshot snapshot);
extern void wt_engine_scan_reuse_ranges(WtEngineScan *s, const wide_range *ranges, int nranges);
extern void wt_engine_scan_forget(WtEngineScan *s); /* one that is set aside */

/* Has nobody committed anything since its snapshot?  Under a row lock: the row is as the scan
 * sees it. */
extern bool wt_engine_scan_is_newest(WtEngineScan *s);

/* At the end of the transaction. */
extern void wt_engine_scan_close_all(void);
/* Has widetable.as_of changed between the executor's start and its run? */
extern bool wt_engine_scan_as_of_changed(Snapshot pg);
/* Scans of open cursors rest: they keep no memtables and files until they are read again. */
extern void wt_engine_scan_rest_all(void);
/* The engine's snapshot that the scan holds. */
extern const wide_snapshot *wt_engine_scan_snapshot(const WtEngineScan *s);
/* Installs the callback for resource owners. */
extern void wt_engine_scan_init(void);

#endif /* WT_ENGINE_SCAN_H */
