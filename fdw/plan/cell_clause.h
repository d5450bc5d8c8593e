/*
 * cell_clause.h
 *		WHERE clauses that the engine can test.
 */
#ifndef WT_CELL_CLAUSE_H
#define WT_CELL_CLAUSE_H

#include "nodes/pathnodes.h"

#include "engine/wide.h"
#include "fdw/plan/plan_private.h"
#include "fdw/table/types.h"

typedef struct WtCellClauseLeaf
{
	AttrNumber attno;
	WtLeafOp op;
	Node *key;	 /* a map's entry: its name, a Const; else NULL */
	Node *value; /* an expression without variables */
	Oid type;	 /* its type (of an array: the element's) */
} WtCellClauseLeaf;

/* One clause that the engine can test: an OR of leaves. */
typedef struct WtCellClause
{
	RestrictInfo *rinfo;
	List *leaves;
	bool exact; /* no row that passes fails the clause: need not be tested again */
} WtCellClause;

/* How the bytes of a column compare. */
typedef struct WtCellOrder
{
	wide_kind kind;
	uint32 width;  /* the only right one, 0 = any */
	bool inverted; /* larger values have smaller bytes */
	bool equality; /* only equality is the same */
} WtCellOrder;

/* false: the bytes do not tell how values compare */

/* The clauses (RestrictInfos) among these that the engine can test: a list of WtCellClause. */
extern List *wt_cell_clause_find(RelOptInfo *rel, WtTable *t, List *rinfos);
/* What the plan keeps of them (WtPrivatePredicates); their values are appended to exprs and
 * types. */
extern List *wt_cell_clause_plan(List *filters, List **exprs, List **types);

extern bool wt_cell_clause_order(const WtColumn *c, WtCellOrder *o);
/* An entry of a map as a column of type text, with its whole qualifier. */
extern WtColumn *wt_cell_clause_map_entry(const WtColumn *map, const char *key, int len);

#endif /* WT_CELL_CLAUSE_H */
