/*
 * engine_scan.h
 *		Scans of the engine, tied to the transaction, its batch and its snapshots.
 */
#ifndef WT_ENGINE_SCAN_H
#define WT_ENGINE_SCAN_H

#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/table/engine.h"

/* The end of the resource owner or of the transaction closes it at the latest. */
typedef struct WtEngineScan WtEngineScan;

/* Every WtEngineScan begins with this, so that wt_engine_scan_next() can be inlined. */
typedef struct WtEngineScanHead
{
	wide_scan *scan;
	bool newest; /* reads the newest state: each row that it returns is noted */
} WtEngineScanHead;

/* --------------------------------------------------- opening and reading */

/* own_mark for "none of the transaction's changes"; 0 means that the caller gives no mark. */
#define WT_OWN_NONE PG_UINT64_MAX

/*
 * Opens a scan.  snapshot: the statement's; it sees the changes of earlier commands of
 * the transaction.  NULL: the newest state, for read-modify-write under a row lock, with
 * all changes of the transaction or those up to spec->own_mark.
 * The spec is copied, and own and own_mark are filled in in the copy; only the argument
 * of a row filter must last as long as the scan.
 */
extern WtEngineScan *wt_engine_scan_open(Snapshot snapshot, wide_scan_spec *spec);

/*
 * Takes the engine's snapshot for PostgreSQL's, and holds it until
 * wt_engine_scan_close() or the end of the resource owner: all scans of a statement see
 * what was committed when it began, however late they are opened.  The result has no
 * scan of the engine.
 */
extern WtEngineScan *wt_engine_scan_hold_snapshot(Snapshot snapshot);

/* As wt_engine_scan_next(), which calls it. */
extern bool wt_engine_scan_read(WtEngineScan *s, wide_row *row);

/* Returns: false after the last row.  The row is valid until the next call for the scan. */
static inline bool
wt_engine_scan_next(WtEngineScan *s, wide_row *row)
{
	WtEngineScanHead *h = (WtEngineScanHead *) s;

	return (!h->newest && wide_scan_ready(h->scan, row)) || wt_engine_scan_read(s, row);
}

/* Sets *rows to rows that the next calls would return, and returns their number, which may be 0. */
static inline int
wt_engine_scan_ahead(const WtEngineScan *s, const wide_row **rows)
{
	const WtEngineScanHead *h = (const WtEngineScanHead *) s;

	return h->newest ? 0 : wide_scan_ahead(h->scan, rows);
}

/* Passes over n of these rows.  They stay valid as if the last of them had been returned. */
static inline void
wt_engine_scan_pass(WtEngineScan *s, int n)
{
	((WtEngineScanHead *) s)->scan->given += n;
}

/* Continues with other ranges and the same snapshot; in the newest state with a new one. */
extern void wt_engine_scan_restart(WtEngineScan *s, const wide_range *ranges, int nranges);

/*
 * Reads the rows of these keys, sorted and each once, as ranges of one key.  Until this is called
 * again, restarting the scan with one of them costs no call of an engine that is elsewhere.
 */
extern void wt_engine_scan_prefetch(WtEngineScan *s, const wide_range *keys, int n);

/* Closes it.  NULL, or a scan that is closed already, is ignored. */
extern void wt_engine_scan_close(WtEngineScan *s);

/* --------------------------------------------------------- open cursors */

/*
 * The caller uses the row, which the scan has returned, beyond the run of the statement:
 * when the scan rests, *row becomes a copy.  Until the next call for the scan.
 */
extern void wt_engine_scan_hold_row(WtEngineScan *s, wide_row *row);

/* Lets all scans rest: they hold no memtables and files until they are read again. */
extern void wt_engine_scan_rest_all(void);

/* ----------------------------------------------------------- kept scans */

/*
 * Keeps a scan for a later statement instead of closing it.  It holds memory only then,
 * and belongs to no owner.
 * Returns: false if it cannot be kept: the caller closes it.
 */
extern bool wt_engine_scan_keep(WtEngineScan *s);

/*
 * Gives a kept scan to the present statement, with a snapshot as
 * wt_engine_scan_hold_snapshot() takes it.  wt_engine_scan_reuse_ranges() gives it the
 * first ranges, and the row_hint of its specification; without these it may be kept again.
 * Requires: the transaction has no batch, and the scan is for what it was opened for.
 */
extern void wt_engine_scan_reuse(WtEngineScan *s, Snapshot snapshot);
extern void wt_engine_scan_reuse_ranges(WtEngineScan *s, const wide_range *ranges, int nranges,
										uint64 row_hint);

/* Frees a kept scan. */
extern void wt_engine_scan_free_kept(WtEngineScan *s);

/* ---------------------------------------------------------------- state */

/*
 * Returns: true if nothing was applied since the scan's snapshot was taken: under its row
 * lock a row is as the scan sees it.  NULL: the engine has no snapshots; true.
 */
extern bool wt_engine_scan_is_newest(WtEngineScan *s);

/* Sets *stats, or *other if that is the engine, to what the scan has done so far; the rest to 0. */
extern void wt_engine_scan_work(WtEngineScan *s, wide_scan_stats *stats, WtEngineWork *other);

/* Returns: the engine's snapshot that the scan holds. */
extern const wide_snapshot *wt_engine_scan_snapshot(const WtEngineScan *s);

/* Returns: true if widetable.as_of has changed since a scan with this snapshot was opened. */
extern bool wt_engine_scan_as_of_changed(Snapshot pg);

/* ---------------------------------------------------------- transaction */

/* End of the transaction: closes all scans. */
extern void wt_engine_scan_close_all(void);

/* Installs the callback for resource owners. */
extern void wt_engine_scan_init(void);

#endif /* WT_ENGINE_SCAN_H */
