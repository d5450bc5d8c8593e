/*
 * predicate.h - conditions on the cells of a row.
 *
 * The condition is a conjunction of clauses, each a disjunction of simple predicates.  Predicates
 * are stored by column: all predicates on one cell together, columns by family and qualifier.
 *
 * For each row a scan calls predicate_row, then predicate_test once for each of the columns, in any
 * order, until one call returns false: the row is out.  When all columns have been reported and no
 * call has returned false, the row passes, and predicates.unsure says whether the caller has to
 * evaluate the whole condition itself.
 */
#ifndef WIDE_PREDICATE_H
#define WIDE_PREDICATE_H

#include "engine/wide.h"

/* A value, and for numbers its place in their order (predicate.c). */
typedef struct predicate_value
{
	wide_bytes bytes; /* in predicates.bytes */
	int64_t number;
} predicate_value;

typedef struct predicate
{
	uint8_t op;		 /* wide_op */
	uint8_t kind;	 /* wide_kind */
	uint32_t width;	 /* of the number; of bytes: the only length to compare, or 0 */
	uint32_t clause; /* index into clauses */
	const predicate_value *values;
	uint32_t nvalues;
} predicate;

typedef struct predicate_column
{
	int family;			  /* index in the scan */
	wide_bytes qualifier; /* as given, in predicates.bytes */
	const predicate *first;
	int n;
} predicate_column;

typedef struct predicate_clause
{
	uint32_t n;	   /* predicates in it */
	uint32_t left; /* of these, not evaluated for the current row */
	bool met;	   /* one is true */
	bool unsure;   /* one is unsure */
} predicate_clause;

typedef struct predicates
{
	predicate_column *columns;
	int ncolumns;
	predicate_clause *clauses;
	uint32_t nclauses;
	bool unsure; /* the current row, so far */
	/* memory */
	predicate *list;
	predicate_value *values;
	uint8_t *bytes;
} predicates;

/* Checks and copies the predicates of a scan.  WIDE_INVALID, WIDE_LIMIT: they are not valid. */
extern wide_status predicate_init(predicates *p, const wide_predicate *list, int n, int nfamilies);
extern void predicate_free(predicates *p);

/*
 * Sets leads[family] for families such that each row that passes has a cell in one of them.
 * Returns false if there are none: a row may pass without any cell.  Then leads is not valid.
 */
extern bool predicate_lead(const wide_predicate *list, int n, int nfamilies, bool *leads);

/* Begins a row. */
extern void predicate_row(predicates *p);

/* Reports a column of the row: its value and timestamp; value NULL: absent.  Returns false if the
 * row is out. */
extern bool predicate_test(predicates *p, const predicate_column *c, const wide_bytes *value,
						   int64_t ts);

/*
 * Finds the greatest *since such that no row passes unless the column's timestamp is at least that.
 * Returns false if there is no such condition.
 */
extern bool predicate_since(const predicates *p, const predicate_column *c, int64_t *since);

#endif /* WIDE_PREDICATE_H */
