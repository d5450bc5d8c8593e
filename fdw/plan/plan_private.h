/*
 * plan_private.h
 *		The private list of a scan's plan, between the planner and the executor.
 */
#ifndef WT_PLAN_PRIVATE_H
#define WT_PLAN_PRIVATE_H

#include "nodes/pg_list.h"

#include "fdw/key/key_test.h"

/* The plan's fdw_private.  fdw_exprs has the values of tests and predicates. */
enum WtPrivate
{
	WtPrivateTests,		 /* integer list: array of WtTest */
	WtPrivateTypes,		 /* OID list: the type of each of fdw_exprs */
	WtPrivateColumns,	 /* integer list: attribute numbers that are wanted */
	WtPrivateFlags,		 /* integer list, see enum WtFlag */
	WtPrivateLimit,		 /* Const, float8: the most rows that are asked for; 0: not known */
	WtPrivateShow,		 /* fdw_exprs as the query has them, if they have variables; for EXPLAIN */
	WtPrivatePredicates, /* integer list: array of WtLeaf */
	/*
	 * NIL: the scan is one of the table.  Else a list whose first member is an integer list with
	 * the oid of an index.  Without a second member the scan is one of the index alone, in the
	 * table's place.  The second is the private list of a scan of the index, which has the
	 * conditions; the scan reads the rows of its entries.
	 */
	WtPrivateIndex
};

/* Entries of WtPrivateFlags. */
enum WtFlag
{
	WtFlagStrictFamily, /* index of a family in which every wanted row has a cell; -1: none */
	WtFlagReverse,
	WtFlagOrdered, /* rows must come in key order */
	WtFlagLock,	   /* WtLock */
	WtFlagRelid,   /* range table index while planning */
	WtFlagFilters, /* how many of fdw_recheck_quals, the first ones, the engine tests */
	WtFlagLookups  /* a node that reads keys ahead has this number, too; 0: there is none */
};

/* Whether a scan locks its rows, and what it does if a row is locked. */
typedef enum WtLock
{
	WT_LOCK_NONE,
	WT_LOCK_WAIT,
	WT_LOCK_SKIP,  /* SKIP LOCKED */
	WT_LOCK_NOWAIT /* an error */
} WtLock;

#define wt_plan_private_flag(priv, which) \
	list_nth_int((List *) list_nth(priv, WtPrivateFlags), which)

/* What one alternative of a clause says about a cell, of a column or of a map's entry.  The leaves
 * of one clause are neighbours.  All members are ints. */
typedef struct WtLeaf
{
	int clause;
	int attno;
	WtKind kind;
	int arg; /* index of the value in args (fdw_exprs); -1: none */
	int key; /* a map's entry: index of its name in args; else -1 */
} WtLeaf;

/* Appends the members of a struct of the given size, which are all ints, to an integer list. */
extern List *wt_plan_private_append(List *list, const void *members, size_t size);

/* Returns the structs of such a list as a palloc'd array; *n is their number. */
extern void *wt_plan_private_array(const List *list, size_t size, int *n);

#endif /* WT_PLAN_PRIVATE_H */
