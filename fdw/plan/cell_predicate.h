/*
 * cell_predicate.h
 *		Conditions on cells in the engine's form.
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

/* With the values at hand: all that the engine has to test. */
typedef struct WtPredicates
{
	bool never; /* no row passes */
	int n;
	wide_predicate *list; /* family: index into the table's families */
} WtPredicates;

/* The least such share that clauses which ask for a timestamp from some time on leave of their
 * family, as far as their values are known. */
extern double wt_cell_predicate_recent_share(PlannerInfo *root, WtTable *t, WtEngineTable *e,
											 List *filters);

/* In CurrentMemoryContext. */
extern void wt_cell_predicate_make(WtTable *t, WtEngineTable *e, const WtLeaf *leaves, int nleaves,
								   const WtArg *args, WtPredicates *out);
/* Give them to a scan; families that it does not read yet are added to it. */
extern void wt_cell_predicate_attach(const WtPredicates *p, WtTable *t, WtEngineTable *e,
									 WtRowReader *r, wide_scan_spec *spec);
/* Bytes that are the same for predicates that are. */
extern void wt_cell_predicate_print(const WtPredicates *p, StringInfo out);

#endif /* WT_CELL_PREDICATE_H */
