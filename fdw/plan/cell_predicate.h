/*
 * cell_predicate.h
 *		Conditions on cells as the engine's predicates, when a scan begins.
 */
#ifndef WT_CELL_PREDICATE_H
#define WT_CELL_PREDICATE_H

#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/key/key_test.h"
#include "fdw/plan/plan_private.h"
#include "fdw/row/reader.h"
#include "fdw/table/types.h"

/* All that the engine has to test. */
typedef struct WtPredicates
{
	bool never; /* no row passes; the rest is not set */
	int n;
	wide_predicate *list; /* family is an index into the table's families */
} WtPredicates;

/*
 * Returns the share of a family's files that must be read (0 .. 1): files that are older than
 * what clauses on timestamps ask for are left out, as far as values are known while planning.
 * filters: WtCellClause.  Of several families the least share counts.
 */
extern double wt_cell_predicate_recent_share(PlannerInfo *root, WtTable *t, WtEngineTable *e,
											 List *filters);

/* Makes predicates of the leaves with their values, in CurrentMemoryContext. */
extern void wt_cell_predicate_make(WtTable *t, WtEngineTable *e, const WtLeaf *leaves, int nleaves,
								   const WtArg *args, WtPredicates *out);

/*
 * Adds predicates to the specification of a scan, in CurrentMemoryContext; families that it does
 * not read yet are added to it and to the reader.
 */
extern void wt_cell_predicate_attach(const WtPredicates *p, WtTable *t, WtEngineTable *e,
									 WtRowReader *r, wide_scan_spec *spec);

/* Sets out to bytes that are equal if and only if the predicates are. */
extern void wt_cell_predicate_print(const WtPredicates *p, StringInfo out);

#endif /* WT_CELL_PREDICATE_H */
