/*
 * scan_state.h
 *		The state of a scan of one table: plain scans, scans that aggregate, and
 *		UPDATE and DELETE in the scan.
 *
 * scan.c makes and runs it.  The other files of the room, and fdw/write/direct_modify.c, use the
 * parts of it that their subject needs.
 */
#ifndef WT_SCAN_STATE_H
#define WT_SCAN_STATE_H

#include "lib/stringinfo.h"
#include "nodes/execnodes.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/key/key_filter.h"
#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/plan/cell_predicate.h"
#include "fdw/plan/plan_private.h"
#include "fdw/row/reader.h"
#include "fdw/row/scan_set.h"
#include "fdw/scan/lookup.h"
#include "fdw/scan/loose_filter.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

typedef struct WtIndexScan WtIndexScan; /* finds keys in an index: index_scan.h */
typedef struct WtShared WtShared;		/* shared memory of a parallel scan: chunk.h */
typedef struct WtCuts WtCuts;			/* keys to cut a parallel scan at: parallel.c */

/* Where a scan is between two calls. */
typedef enum WtScanPhase
{
	WT_SCAN_START, /* before the first row: ranges and engine scans are not positioned */
	WT_SCAN_READY, /* the engine scans are positioned */
	WT_SCAN_CHUNK, /* parallel: a chunk has been read, the ranges stay for the next one */
	WT_SCAN_OVER   /* parallel: the executor has shut the scan down; no rows until a rescan */
} WtScanPhase;

/* What the plan's conditions are; their values are in args once they are evaluated. */
typedef struct WtScanConditions
{
	WtTest *tests; /* on parts of the key; in the layout 'cells' also on cells */
	int ntests;
	WtLeaf *leaves; /* on cells, for the engine's predicates */
	int nleaves;
	WtArg *args; /* values, by number of the expression */
	int nargs;
	List *exprs;	 /* ExprStates of args */
	bool constant;	 /* all of exprs are constants */
	bool decide;	 /* layout cells: tests on cells decide what the reader reads */
	bool key_filter; /* tests may need a key filter besides ranges */
} WtScanConditions;

/* What the conditions mean to the engine, with the present values of args. */
typedef struct WtScanRanges
{
	MemoryContext cxt; /* reset when the values are computed again */
	WtRanges ranges;   /* ranges.n is NULL before the first computation */
	WtPredicates predicates;
	WtKeyFilterArg key_filter;
} WtScanRanges;

/* Whether a WtOpenScan has engine scans. */
typedef enum WtOpenState
{
	WT_OPEN_NONE,
	WT_OPEN_CACHED, /* one, of an earlier statement; its ranges are not set yet */
	WT_OPEN_ALL		/* one for each list of ranges */
} WtOpenState;

/*
 * The row reader and the engine scans.  Opening makes all of it, closing drops all of it, and
 * the scan cache hands all of it from one statement to the next (scan_cache.c), as one value.
 */
typedef struct WtOpenScan
{
	WtOpenState state;
	MemoryContext cxt; /* of all below; NULL: handed to the cache, or to be taken from it */
	WtRowReader *reader;
	wide_scan_spec spec;
	WtScanSet set;
	StringInfoData predicates; /* those the scans were opened with: wt_cell_predicate_print */
	/*
	 * Layout cells: the tests on cells that the reader was made for
	 * (wt_scan_cache_print_cells); data is NULL if they cannot be compared.
	 */
	StringInfoData cells;
} WtOpenScan;

/* What a scan has done, for EXPLAIN ANALYZE.  All members are uint64 (wt_scan_add_work). */
typedef struct WtScanWork
{
	wide_scan_stats stats; /* of the embedded engine */
	WtEngineWork other;	   /* of another one */
	uint64 bad_keys;	   /* rows left out by on_bad_key 'skip' */
} WtScanWork;

/* A process's part of a parallel scan; shared is NULL in other scans and without workers. */
typedef struct WtScanChunk
{
	WtShared *shared;
	WtCuts *cuts;		/* leader, until they are copied into shared */
	wide_range *ranges; /* what the present chunk has of the scan's ranges; in WtScanRanges.cxt */
	int n;
} WtScanChunk;

/* Scans that lock rows: the newest state of the row last locked (scan_lock.c). */
typedef struct WtNewest
{
	bool reread;		  /* the row last locked was read again */
	WtRowReader *reader;  /* NULL: none yet */
	WtEngineScan *scan;	  /* without snapshot; NULL: none yet */
	wide_scan_spec spec;  /* of scan */
	StringInfoData limit; /* end of its range */
	/* layout cells: the scan goes on from one cell of a row to the next */
	StringInfoData key;		/* of that row */
	SubTransactionId subid; /* the subtransaction that has locked it; invalid: search again */
	bool end;				/* the row has no cells left */
	bool missed;			/* the cell last searched for does not exist: */
	int missed_family;
	StringInfoData missed_qual;
} WtNewest;

typedef struct WtScanState
{
	WtTable *t;
	Oid user; /* reads and changes a table of another engine; below a view its owner */
	WtEngineTable e;
	bool exists;   /* the engine has the table */
	PlanState *ps; /* its snapshot and expression context are used */
	MemoryContext cxt;
	MemoryContext rowcxt; /* of the present row's values; reset at the next row */
	WtEngineScan *held;	  /* holds the statement's snapshot */
	int64 as_of;		  /* widetable.as_of at the beginning; PG_INT64_MAX: not set */

	/* the plan */
	WtScanConditions cond;
	bool *columns; /* by attribute number - 1: whether it is wanted */
	int strict;	   /* index of a family in which every wanted row has a cell; -1: none */
	bool reverse;
	bool ordered; /* rows must come in the order of the key */
	double limit; /* the most rows that are asked for; 0: not known */
	WtLock lock;
	WtIndexScan *index; /* finds the keys of the rows; NULL: the conditions do */
	WtLookup *lookup;	/* keys that will be looked up; NULL: nobody knows them */

	/* the run */
	WtScanPhase phase;
	bool restarted; /* the scan has been restarted, so rows may come twice */
	bool cacheable; /* what is open may be left to later statements */
	int opens;		/* how often a reader was opened: each time it is another one */
	WtScanRanges range;
	WtOpenScan open;
	WtScanChunk chunk;
	WtNewest newest;
	WtScanWork past; /* of engine scans that have been closed */

	/* for the caller to set after wt_scan_begin */
	WtLoose *loose; /* leaves out rows by their key; NULL: no such filter */
	/* by attribute number - 1, the timestamp of the cell read, PG_INT64_MIN: none; NULL: not wanted
	 */
	int64 *floors;
	bool *bare; /* with floors: whether nothing but the floor is wanted of the column */
} WtScanState;

#endif /* WT_SCAN_STATE_H */
