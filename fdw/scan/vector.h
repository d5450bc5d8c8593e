/*
 * vector.h
 *		Integer expressions, evaluated for all rows of a span at a time.
 */
#ifndef WT_VECTOR_H
#define WT_VECTOR_H

#include "nodes/nodes.h"

#include "engine/wide.h"
#include "fdw/row/reader.h"
#include "fdw/table/types.h"

typedef enum WtVectorOp
{
	WT_VECTOR_INTEGER, /* of a column */
	WT_VECTOR_LENGTH,  /* in bytes, of a column */
	WT_VECTOR_CHARS,   /* in characters, of a column */
	WT_VECTOR_CONST,
	WT_VECTOR_ADD,
	WT_VECTOR_SUBTRACT,
	WT_VECTOR_MULTIPLY,
	WT_VECTOR_COALESCE
} WtVectorOp;

/* One expression, and its values in the rows of the present span. */
typedef struct WtVector
{
	WtVectorOp op;
	int width;		 /* bytes of the result's type, which limit it: 2, 4 or 8 */
	int left, right; /* numbers of the operands */
	int att;		 /* index into the table's columns */
	int64 constant;

	/* where the reader has the column */
	int column; /* number in the span */
	const WtTarget *target;

	uint64 there;			 /* bit i: it is not null in row i */
	int64 v[WIDE_SPAN_ROWS]; /* where it is null: 0, or what an operator has made of that */
} WtVector;

/* Expressions, operands before those that use them.  Zero-filled but for t: none yet. */
typedef struct WtVectors
{
	WtTable *t;
	int n, cap;
	WtVector *list;
} WtVectors;

/*
 * Adds an expression.  columns: attribute numbers by varattno - 1; NULL: varattno is the attribute
 * number.
 * Returns: its number; -1 if it cannot be evaluated here.
 */
extern int wt_vector_add(WtVectors *p, Node *expr, const int *columns);

/* Finds the columns in what a reader reads.  Returns false if it does not have one as a cell. */
extern bool wt_vector_bind(WtVectors *p, const WtRowReader *r);

/*
 * Evaluates all expressions for some rows of a span, those whose bits are set, one at least.
 * keys: of these rows, for messages.
 * Errors: as PostgreSQL's functions for results that are out of range; those of
 * wt_cell_value_decode.
 */
extern void wt_vector_evaluate(WtVectors *p, const wide_span_column *columns,
							   const wide_bytes *keys, uint64 which);

#endif /* WT_VECTOR_H */
