/*
 * scan.h
 *		A scan of one table, as foreign_scan.c, aggregate_scan.c, parallel.c and
 *		fdw/write/direct_modify.c run it.
 */
#ifndef WT_SCAN_H
#define WT_SCAN_H

#include "nodes/execnodes.h"

#include "engine/wide.h"
#include "fdw/key/key_range.h"
#include "fdw/row/reader.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/compat.h"

/*
 * Makes the scan that the private list of a plan (enum WtPrivate) and its fdw_exprs describe.
 * Nothing is read yet, but the statement's snapshot is held.  The state lives in
 * CurrentMemoryContext until wt_scan_end.
 * cacheable: the specification of the engine's scan follows from these arguments alone, so the
 * scan cache may be used.  Callers that add to the specification pass false.
 * Errors: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if the scan locks rows while
 * widetable.as_of is set.
 */
extern WtScanState *wt_scan_begin(Oid relid, List *private, List *exprs, PlanState *ps,
								  bool cacheable);

/*
 * Reads the next row: values and nulls by attribute number - 1.  Attributes that are not
 * wanted are null.  The values live until the next call.  Returns false at the end.
 */
extern bool wt_scan_fetch(WtScanState *st, Datum *values, bool *nulls);

/*
 * Positions st->open.set at the first row, for callers that read it themselves.  Returns false
 * if there are no rows.  wt_scan_fetch calls it.
 */
extern bool wt_scan_start(WtScanState *st);

/*
 * Raises the error for a row about which the engine's predicates say "unsure": the one that
 * decoding its columns raises.  For callers that read st->open.set themselves.
 */
extern _Noreturn void wt_scan_unsure(WtScanState *st, wide_bytes key);

/* Goes back to the beginning; the parameters may have new values. */
extern void wt_scan_again(WtScanState *st);

/* Ends the scan: what is open goes to the scan cache or is closed. */
extern void wt_scan_end(WtScanState *st);

/* Sets *out to what the scan has done so far. */
extern void wt_scan_work(WtScanState *st, WtScanWork *out);
extern void wt_scan_add_work(WtScanWork *to, const WtScanWork *from);

/* Evaluates the parameters and returns the key ranges, which live until the next evaluation. */
extern const WtRanges *wt_scan_ranges(WtScanState *st);

/*
 * Makes a reader of what the scan reads, and the specification for it, in
 * CurrentMemoryContext.
 */
extern WtRowReader *wt_scan_reader(WtScanState *st, wide_scan_spec *spec);

#endif /* WT_SCAN_H */
