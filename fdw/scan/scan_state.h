/*
 * scan_state.h
 *		A scan of one table as a plan describes it: plain scans, scans that aggregate,
 *		scans that change what they find.
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
#include "fdw/scan/loose_filter.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

typedef struct WtShared WtShared; /* chunk.h: what the processes of a parallel scan share */

typedef struct WtScanState
{
	WtTable *t;
	PlanState *ps; /* whose snapshot and expression context it uses */
	WtEngineTable e;
	bool exists;		/* the engine has the table */
	WtEngineScan *held; /* the statement's snapshot */
	int64 as_of;		/* PG_INT64_MAX: not set */
	WtTest *tests;
	int ntests;
	WtArg *args;
	int nargs;
	WtLeaf *leaves; /* conditions on cells */
	int nleaves;
	WtPredicates predicates; /* what the engine is asked of them; in rangecxt */
	StringInfoData asked;	 /* what the open scans have been asked: wt_cell_predicate_print */
	List *exprs;			 /* expression states of args */
	bool fixed;				 /* all arguments are constants */
	bool *columns;
	int strict;
	bool reverse;
	bool ordered;
	double limit; /* rows that are asked for at most; 0: not known */
	WtLock lock;
	WtRowReader *reader;
	wide_scan_spec spec;
	WtScanSet source;
	wide_scan_stats past; /* of scans that were closed to read something else */
	uint64 past_bad_keys; /* of their readers */
	bool ready;			  /* ranges computed, engine scans positioned */
	bool opened;
	int opens;			   /* how often: the reader is another one each time */
	bool restarted;		   /* the scan has been restarted: rows may come twice */
	MemoryContext cxt;	   /* of the scan */
	MemoryContext opencxt; /* of the readers and what belongs to them */
	bool keeps;			   /* the reader and its scan outlive the statement: scan_cache.c */
	uint64 generation;	   /* with keeps: of the engine's catalog */
	/* reader and spec are of an earlier statement, and so is this, its scan; not opened yet */
	WtEngineScan *reused;
	bool cell_tests; /* layout cells: conditions decide what the readers read: */
	/* what they said when the readers were made, in opencxt; data NULL: cannot be compared */
	StringInfoData cells_asked;
	MemoryContext rowcxt;
	struct WtLoose *loose; /* loose_filter.c: leaves out rows by their key; NULL */
	MemoryContext rangecxt;
	WtRanges ranges;
	bool filters; /* there may be something that the ranges do not say: */
	WtKeyFilterArg key_filter;
	/* changing rows: of each column that is read the timestamp of its cell, PG_INT64_MIN: none;
	 * NULL: not wanted */
	int64 *floors;
	bool *bare; /* with floors: columns of which nothing else is wanted */
	/* parallel scans: shared is NULL in all others, and where there are no workers */
	WtShared *shared;
	void *cuts;		  /* on their way into it */
	wide_range *part; /* of the ranges, what is in this process's chunk; in rangecxt */
	int npart;
	bool next_chunk; /* the ranges stay, the chunk is read */
	bool over;		 /* no rows until the next rescan */
	/* locking */
	bool reread;		/* the row last locked was read again */
	WtRowReader *again; /* reads the newest state */
	WtEngineScan *again_scan;
	wide_scan_spec again_spec;
	StringInfoData again_hi;
	/* layout cells: again_scan goes on from one cell of a row to the next */
	StringInfoData again_key;	  /* of that row */
	SubTransactionId again_subid; /* that has locked it; Invalid: begin anew */
	bool again_end;				  /* no cells left */
	bool missed; /* the last cell sought was not there: missed_family, missed_qual */
	int missed_family;
	StringInfoData missed_qual;
} WtScanState;

#endif /* WT_SCAN_STATE_H */
