/*
 * predicate.h - conditions on the cells of a row, for scan.c and scan_row.c.
 *
 * The conjunction of clauses, each a disjunction of simple predicates.  They
 * are kept by column: all predicates on one cell together, columns by family
 * and qualifier.  For each row the scan says predicate_row, then for each of
 * the columns once what is in it, in any order, until one of the answers is
 * that the row is out.  When all have been told and none was, the row passes,
 * and unsure tells whether the caller has to look for himself.
 */
#ifndef WIDE_PREDICATE_H
#define WIDE_PREDICATE_H

#include "engine/wide.h"

/* A value, and for numbers its place in their order. */
typedef struct predicate_value
{
	wide_bytes bytes; /* in the copy */
	int64_t number;
} predicate_value;

typedef struct predicate
{
	uint8_t op;		 /* wide_op */
	uint8_t kind;	 /* wide_kind */
	uint32_t width;	 /* of numbers; of bytes, when only one is right, else 0 */
	uint32_t clause; /* index into clauses */
	const predicate_value *values;
	uint32_t nvalues;
} predicate;

typedef struct predicate_column
{
	int family;			  /* index in the scan */
	wide_bytes qualifier; /* raw, in the copy */
	const predicate *first;
	int n;
} predicate_column;

typedef struct predicate_clause
{
	uint32_t n;	   /* predicates in it */
	uint32_t left; /* of the row: not told yet */
	bool met;	   /* one is true */
	bool unsure;   /* one cannot be told */
} predicate_clause;

typedef struct predicates
{
	predicate_column *columns;
	int ncolumns;
	predicate_clause *clauses;
	uint32_t nclauses;
	bool unsure; /* of the row so far */
	/* memory */
	predicate *list;
	predicate_value *values;
	uint8_t *bytes;
} predicates;

/* Copies and checks; ncolumns 0 when there are none. */
extern wide_status predicate_init(predicates *p, const wide_predicate *list, int n, int nfamilies);
extern void predicate_free(predicates *p);

/*
 * The families of which a row that passes surely has one: leads[family] is set
 * for these.  false: it may have none of them (leads is untouched).
 */
extern bool predicate_lead(const wide_predicate *list, int n, int nfamilies, bool *leads);

/* A new row. */
extern void predicate_row(predicates *p);

/* What is in a column and its timestamp, NULL = nothing; false: the row is out. */
extern bool predicate_test(predicates *p, const predicate_column *c, const wide_bytes *value,
						   int64_t ts);

/*
 * Does no row pass unless the column's timestamp is at least *since?  The
 * greatest such; false: nothing of the kind is asked for.
 */
extern bool predicate_since(const predicates *p, const predicate_column *c, int64_t *since);

#endif /* WIDE_PREDICATE_H */
