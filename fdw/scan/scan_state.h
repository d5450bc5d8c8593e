/*
 * scan_state.h
 *		A scan of one table as a plan describes it, for the callbacks that run
 *		one: plain scans, scans that aggregate, scans that change what they find.
 */
#ifndef WT_SCAN_H
#define WT_SCAN_H

#include "fdw/row/reader.h"

#include "nodes/execnodes.h"

typedef struct WtShared WtShared;	/* parallel.c: what the processes of a parallel scan share */

typedef struct WtScanState
{
	WtTable    *t;
	PlanState  *ps;				/* whose snapshot and expression context it uses */
	WtEngine	e;
	bool		exists;			/* the engine has the table */
	WtScan	   *held;			/* the statement's snapshot */
	int64		as_of;			/* PG_INT64_MAX: not set */
	WtTest	   *tests;
	int			ntests;
	WtArg	   *args;
	int			nargs;
	WtLeaf	   *leaves;			/* conditions on cells */
	int			nleaves;
	WtPredicates predicates;	/* what the engine is asked of them; in rangecxt */
	StringInfoData asked;		/* what the open scans have been asked: wt_predicates_print */
	List	   *exprs;			/* expression states of args */
	bool		fixed;			/* all arguments are constants */
	bool	   *columns;
	int			strict;
	bool		reverse;
	bool		ordered;
	double		limit;			/* rows that are asked for at most; 0: not known */
	WtLock		lock;
	WtRowReader *reader;
	wide_scan_spec spec;
	WtSource	source;
	wide_scan_stats past;		/* of scans that were closed to read something else */
	uint64		past_bad_keys;	/* of their readers */
	bool		ready;			/* ranges computed, engine scans positioned */
	bool		opened;
	int			opens;			/* how often: the reader is another one each time */
	bool		restarted;		/* the scan has been restarted: rows may come twice */
	MemoryContext cxt;			/* of the scan */
	MemoryContext opencxt;		/* of the readers and what belongs to them */
	bool		keeps;			/* the reader and its scan outlive the statement: keep.c */
	uint64		generation;		/* with keeps: of the engine's catalog */
	WtScan	   *reused;			/* reader and spec are of an earlier statement, and so is this, its scan; not opened yet */
	bool		cell_tests;		/* layout cells: conditions decide what the readers read: */
	StringInfoData cells_asked; /* what they said when the readers were made, in opencxt; data NULL: cannot be compared */
	MemoryContext rowcxt;
	struct WtLoose *loose;		/* aggregate_run.c: leaves out rows by their key; NULL */
	MemoryContext rangecxt;
	WtRanges	ranges;
	bool		filters;		/* there may be something that the ranges do not say: */
	WtKeyFilterArg key_filter;
	/* changing rows: of each column that is read the timestamp of its cell, PG_INT64_MIN: none; NULL: not wanted */
	int64	   *floors;
	bool	   *bare;			/* with floors: columns of which nothing else is wanted */
	/* parallel scans: shared is NULL in all others, and where there are no workers */
	WtShared   *shared;
	void	   *cuts;			/* on their way into it */
	wide_range *part;			/* of the ranges, what is in this process's chunk; in rangecxt */
	int			npart;
	bool		next_chunk;		/* the ranges stay, the chunk is read */
	bool		over;			/* no rows until the next rescan */
	/* locking */
	bool		reread;			/* the row last locked was read again */
	WtRowReader *again;			/* reads the newest state */
	WtScan	   *again_scan;
	wide_scan_spec again_spec;
	StringInfoData again_hi;
	/* layout cells: again_scan goes on from one cell of a row to the next */
	StringInfoData again_key;	/* of that row */
	SubTransactionId again_subid;	/* that has locked it; Invalid: begin anew */
	bool		again_end;		/* no cells left */
	bool		missed;			/* the last cell sought was not there: missed_family, missed_qual */
	int			missed_family;
	StringInfoData missed_qual;
} WtScanState;

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
extern void wt_scan_work(WtScanState *st, wide_scan_stats *out, uint64 *bad_keys);
extern void wt_stats_add(wide_scan_stats *to, const wide_scan_stats *from);

/* for parallel.c: the key ranges with the present values of the parameters */
extern const WtRanges *wt_scan_ranges(WtScanState *st);
/* parallel.c.  Get a chunk with some of the ranges in it, which are in part then.  false: there is none left. */
extern bool wt_parallel_next(WtScanState *st);

/*
 * keep.c.  A statement that has begun (layout cells: that knows its parameters)
 * takes over what an earlier one has left for the same columns of the same table;
 * and leaves it for the next one.  false: it is to be freed.
 */
extern bool wt_keep_possible(WtScanState *st);
extern void wt_keep_take(WtScanState *st);
extern bool wt_keep_leave(WtScanState *st);
/*
 * Layout cells: do the conditions on cells say now what they did when the readers
 * were made?
 */
extern bool wt_keep_same_cells(WtScanState *st, const StringInfoData *asked);
/* Bytes that are the same when they do, into out.  false: cannot be told. */
extern bool wt_keep_print_cells(WtScanState *st, StringInfo out);

/* for scan_lock.c: a reader of what the scan reads */
extern WtRowReader *wt_scan_reader(WtScanState *st, wide_scan_spec *spec);
/*
 * scan_lock.c.  Lock the row last fetched and put its newest version into
 * values (in CurrentMemoryContext).  false: it is gone, or skipped.
 */
extern bool wt_scan_lock(WtScanState *st, Datum *values, bool *nulls);

#endif							/* WT_SCAN_H */
