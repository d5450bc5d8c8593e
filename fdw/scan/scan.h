/*
 * scan.h
 *		A scan of one table: what the callbacks that run one share.
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
 * The scan that the private list of a plan describes (enum WtPrivate), with the
 * plan's fdw_exprs.  Nothing is read yet, but the snapshot is held.  Lives in
 * CurrentMemoryContext until wt_scan_end.  keeps: what the engine's scan is given
 * is told by these arguments alone.
 */
extern WtScanState *wt_scan_begin(Oid relid, List *private, List *exprs, PlanState *ps, bool keeps);

/*
 * The next row: values by attribute number - 1; those that are not wanted are
 * null.  They live until the next call.  false: there is none.
 */
extern bool wt_scan_fetch(WtScanState *st, Datum *values, bool *nulls);

/* For callers that read st->source themselves: make it ready. false: there are no rows. */
extern bool wt_scan_start(WtScanState *st);

/*
 * The engine could not tell its predicates for this row: raises what decoding
 * the columns does.  wt_scan_fetch does that itself.
 */
WT_NORETURN extern void wt_scan_unsure(WtScanState *st, wide_bytes key);

/* From the beginning, with the parameters' new values. */
extern void wt_scan_again(WtScanState *st);
extern void wt_scan_end(WtScanState *st);

/* What the engine did so far. */
extern void wt_scan_work(WtScanState *st, WtScanWork *out);
extern void wt_scan_add_work(WtScanWork *to, const WtScanWork *from);

/* The key ranges with the present values of the parameters */
extern const WtRanges *wt_scan_ranges(WtScanState *st);

/* A reader of what the scan reads */
extern WtRowReader *wt_scan_reader(WtScanState *st, wide_scan_spec *spec);

#endif /* WT_SCAN_H */
