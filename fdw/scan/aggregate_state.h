/*
 * aggregate_state.h
 *		A scan that aggregates: its state, for accumulator.c and aggregate_scan.c.
 */
#ifndef WT_AGGREGATE_STATE_H
#define WT_AGGREGATE_STATE_H

#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/numeric.h"

#include "engine/wide.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/row/reader.h"
#include "fdw/scan/loose_filter.h"
#include "fdw/scan/scan_state.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* The executor's callbacks for such plans; the state is node->fdw_state. */
typedef struct WtAggState WtAggState;

typedef struct WtAccumulator
{
	int entry; /* in the scan tuple */
	WtAggKind kind;
	Oid type;
	int column;		 /* index into columns, -1: an expression, or none */
	bool integer;	 /* type is int2, int4, int8 */
	bool by_integer; /* min, max: compared as integers */
	WtWidth width;
	int16 typlen;
	bool typbyval;
	FmgrInfo compare;
	Oid collation;
	ExprState *arg;
	ExprState *filter;
	/* the group's */
	int64 n;	   /* values that were not null */
	int64 sum;	   /* of integers, without those in total; min, max by_integer: the value */
	Numeric total; /* NULL: nothing yet */
	float4 sum4;
	float8 sum8;
	float8 squares; /* of the differences from the mean, for its overflow alone */
	Datum value;	/* min, max, booleans */
} WtAccumulator;

/* The accumulators that a column feeds */
typedef struct WtSink
{
	int n;
	WtAccumulator **items;
	const WtColumn *column;
} WtSink;

struct WtAggState
{
	WtScanState *scan;
	WtTable *t;
	int parts;	  /* of the key that make a group; 0: one group */
	bool one_row; /* the first row of a group says all */
	bool plain;	  /* clauses and arguments permit to read cells directly */
	bool direct;  /* and the columns do */
	int nitems;
	WtAccumulator *items;
	int ncolumns;
	int *columns; /* of the scan tuple: attribute numbers, 0: an aggregate */
	List *quals;  /* expressions */
	ExprState *qual;
	ExprContext *econtext; /* for clauses and arguments */
	TupleTableSlot *row_slot;
	Datum *values; /* by attribute, of the row reader */
	bool *nulls;
	WtSink **sinks;	 /* direct: by family of the specification, column */
	int sinks_of;	 /* the scan's opens when they were made */
	bool *need_part; /* direct: parts of the key that are arguments */
	bool any_part;
	Datum *part_values;
	bool *part_nulls;
	bool *group_part;  /* parts of the key that the scan tuple shows */
	size_t key_length; /* of all keys, salt included; 0: it differs */
	bool row_used;	   /* something was left in rowcxt */
	wide_row row;	   /* direct: the present one */
	WtEngineScan *from;
	wide_bytes key; /* of the present row */
	bool pending;	/* the present row begins the next group */
	bool done;
	int64 group_rows;
	WtLoose group; /* the present group's prefix; the filter of loose scans */
	MemoryContext groupcxt;
	uint64 rows;	/* that were aggregated */
	uint64 removed; /* that the clauses left out */
};

#endif /* WT_AGGREGATE_STATE_H */
