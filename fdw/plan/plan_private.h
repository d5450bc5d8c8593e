/*
 * plan_private.h
 *		The private list of a scan's plan.
 */
#ifndef WT_PLAN_PRIVATE_H
#define WT_PLAN_PRIVATE_H

#include "access/attnum.h"
#include "nodes/pg_list.h"

#include "fdw/key/key_test.h"

enum WtPrivate
{
	WtPrivateTests,	  /* list of integer lists: part, kind, first, n, clause, arm */
	WtPrivateTypes,	  /* OIDs, one for each of fdw_exprs */
	WtPrivateColumns, /* attribute numbers that are wanted */
	WtPrivateFlags,	  /* integer list, see below */
	WtPrivateLimit,	  /* String: rows, or empty */
	WtPrivateShow,	  /* the expressions as the query has them, when they have variables */
	/* list of integer lists: clause, attribute, WtLeafOp, and indexes into fdw_exprs or -1: value,
	 * key */
	WtPrivatePredicates
};

enum WtFlag
{
	WtFlagStrictFamily, /* index of a family that every wanted row has a cell in; -1 */
	WtFlagReverse,
	WtFlagOrdered, /* rows must come in key order */
	WtFlagLock,	   /* WtLock */
	WtFlagRelid,   /* range table index while planning */
	WtFlagFilters  /* so many of the clauses to recheck, the first ones, are tested by the engine */
};

typedef enum WtLock
{
	WT_LOCK_NONE,
	WT_LOCK_WAIT,
	WT_LOCK_SKIP,
	WT_LOCK_NOWAIT
} WtLock;

#define wt_plan_private_flag(priv, which) \
	list_nth_int((List *) list_nth(priv, WtPrivateFlags), which)

/* What one alternative of a clause says about a cell: of a column, or a map's entry. */
typedef enum WtLeafOp
{
	WT_LEAF_EQ, /* in this order: see cell_predicate.c */
	WT_LEAF_NE,
	WT_LEAF_LT,
	WT_LEAF_LE,
	WT_LEAF_GT,
	WT_LEAF_GE,
	WT_LEAF_ANY,	  /* = ANY (array) */
	WT_LEAF_NOT_ANY,  /* <> ALL (array) */
	WT_LEAF_PREFIX,	  /* begins with the value */
	WT_LEAF_LIKE,	  /* begins as the pattern does */
	WT_LEAF_DISTINCT, /* IS DISTINCT FROM */
	WT_LEAF_NOT_DISTINCT,
	WT_LEAF_NULL, /* no value, like the next */
	WT_LEAF_NOT_NULL
} WtLeafOp;

/* The same at run time: the value is args[arg]; leaves of one clause come together. */
typedef struct WtLeaf
{
	int clause;
	AttrNumber attno;
	WtLeafOp op;
	int arg; /* -1: none */
	int key; /* a map's entry: args[key] is its name; else -1 */
} WtLeaf;

/* Conditions on the key; *n is their number. */
extern WtTest *wt_plan_private_tests(List *fdw_private, int *n);
/* Conditions on cells; *n is their number. */
extern WtLeaf *wt_plan_private_leaves(List *fdw_private, int *n);

#endif /* WT_PLAN_PRIVATE_H */
