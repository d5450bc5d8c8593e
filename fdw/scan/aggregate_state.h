/*
 * aggregate_state.h
 *		The state of a scan that aggregates, for accumulator.c and aggregate_scan.c.
 */
#ifndef WT_AGGREGATE_STATE_H
#define WT_AGGREGATE_STATE_H

#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "utils/numeric.h"

#include "engine/wide.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/row/reader.h"
#include "fdw/scan/loose_filter.h"
#include "fdw/scan/scan_state.h"
#include "fdw/scan/vector.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* One aggregate, and what it has of the present group. */
typedef struct WtAccumulator
{
	int entry; /* index into the scan tuple */
	WtAggKind kind;

	/* the argument */
	Oid type;		   /* base type */
	int column;		   /* index into the table's columns; -1: an expression, or no argument */
	bool integer;	   /* values are added, or compared, as integers */
	int16 typlen;	   /* of type */
	bool typbyval;	   /* of type */
	FmgrInfo compare;  /* min, max: comparison function */
	Oid collation;	   /* of compare */
	ExprState *arg;	   /* NULL: no argument */
	ExprState *filter; /* FILTER clause, NULL: none */

	/* the group */
	int64 n;		/* values that were not null */
	int64 sum;		/* of integers, without what is in total; min, max: the value */
	Numeric total;	/* of numerics, and of integers whose sum overflowed; NULL: none yet */
	float4 sum4;	/* of float4 */
	float8 sum8;	/* of float8, and for averages of float4 */
	float8 squares; /* of the differences from the mean, only for its overflow */
	Datum value;	/* min, max, bool_and, bool_or */
} WtAccumulator;

/* Where an accumulator has its values from, if rows are read directly. */
typedef enum WtSinkKind
{
	WT_SINK_NONE,	/* there are none, or they are a part of the key */
	WT_SINK_COUNT,	/* how many rows have the column */
	WT_SINK_VECTOR, /* integers */
	WT_SINK_DATUM	/* values of the column, decoded one by one */
} WtSinkKind;

typedef struct WtSink
{
	WtSinkKind kind;
	int vector;				/* its number */
	int column;				/* its number in a span */
	const WtTarget *target; /* how to decode the column */
} WtSink;

/* Where an aggregating scan is between two groups. */
typedef enum WtAggPhase
{
	WT_AGG_START, /* no row has been read */
	WT_AGG_ROW,	  /* the present row begins the next group */
	WT_AGG_DONE	  /* no group is left */
} WtAggPhase;

/* Rows read without the row reader: aggregate_direct.c. */
typedef struct WtDirectRows
{
	bool possible; /* clauses and arguments permit it */
	bool on;	   /* the columns do, too: rows are read so */
	int opens;	   /* the scan's opens when the columns were found */
	WtSink *sinks; /* in step with the accumulators */
	WtVectors vectors;
	int ncolumns; /* of a span */
	int *first;	  /* by family of the scan specification: its first column */

	bool *need_part; /* by part of the key: whether it is an argument */
	bool any_part;	 /* one of need_part is set */
	Datum *part_values;
	bool *part_nulls;
	size_t key_length; /* bytes of every key, salt included; 0: keys differ in length */

	wide_row row;		/* the present part of the present row */
	WtEngineScan *from; /* the scan that has the other parts */
	bool rowcxt_used;	/* the scan's rowcxt must be reset before the next row */

	/* rows that were taken and are not added yet */
	const wide_span_column *span; /* the one that they are in */
	uint64 rows;				  /* bit i: its row i */
	wide_bytes keys[WIDE_SPAN_ROWS];
	wide_span_column *own; /* room for a row that came as cells */
} WtDirectRows;

/* The executor's state of a scan that aggregates: ForeignScanState.fdw_state. */
typedef struct WtAggState
{
	WtScanState *scan;
	WtTable *t;
	WtAggPhase phase;

	/* what is computed */
	int nitems;
	WtAccumulator *items;
	int ncolumns;
	int *columns; /* of the scan tuple: attribute numbers, 0: an aggregate */

	/* the present row */
	wide_bytes key;
	StringInfoData next_key; /* a copy of it, while the row waits to begin the next group */
	WtDirectRows direct;
	/* read by the row reader: */
	Datum *values; /* by attribute number - 1 */
	bool *nulls;
	TupleTableSlot *row_slot; /* the row in the shape of the scan tuple */
	ExprState *qual;		  /* clauses that a row must pass; NULL: none */
	ExprContext *econtext;	  /* of clauses and arguments */

	/* the present group */
	int parts;		  /* leading parts of the key that make a group; 0: all rows are one group */
	bool first_only;  /* the first row of a group says all that is asked */
	bool *group_part; /* by part of the key: whether the scan tuple shows it */
	WtLoose group;	  /* its prefix; the row filter of a loose scan */
	int64 group_rows;
	MemoryContext groupcxt;

	/* for EXPLAIN ANALYZE */
	uint64 rows;	/* aggregated */
	uint64 removed; /* left out by qual */
} WtAggState;

#endif /* WT_AGGREGATE_STATE_H */
