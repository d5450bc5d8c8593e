/*
 * cell_clause.h
 *		WHERE clauses that the engine can test, while planning.
 */
#ifndef WT_CELL_CLAUSE_H
#define WT_CELL_CLAUSE_H

#include "nodes/pathnodes.h"

#include "engine/wide.h"
#include "fdw/plan/plan_private.h"
#include "fdw/table/types.h"

/* One alternative of a clause. */
typedef struct WtCellClauseLeaf
{
	AttrNumber attno;
	WtKind kind;
	Node *key;	 /* a map's entry: its name, a Const; else NULL */
	Node *value; /* an expression without variables; NULL: the operator has none */
	Oid type;	 /* of value; of an array: of its elements */
} WtCellClauseLeaf;

/* One clause that the engine can test: an OR of leaves. */
typedef struct WtCellClause
{
	RestrictInfo *rinfo;
	List *leaves;
	bool exact; /* all rows that pass meet the clause, so it is not tested again */
} WtCellClause;

/* How the bytes of a column's cells compare. */
typedef struct WtCellOrder
{
	wide_kind kind;
	uint32 width;  /* in bytes, of every cell; 0: any width */
	bool inverted; /* larger values have smaller bytes */
	bool equality; /* bytes tell whether values are equal, but not their order */
} WtCellOrder;

/* Returns those of the clauses (RestrictInfos) that the engine can test: a list of WtCellClause. */
extern List *wt_cell_clause_find(RelOptInfo *rel, WtTable *t, List *rinfos);

/*
 * Returns filters (WtCellClause) in the form of the plan (WtPrivatePredicates); appends their
 * values to exprs and types.
 */
extern List *wt_cell_clause_plan(List *filters, List **exprs, List **types);

/* Sets *o.  Returns false if bytes do not tell how values of the column compare. */
extern bool wt_cell_clause_order(const WtColumn *c, WtCellOrder *o);

/*
 * Returns an entry of a map as a column of type text with the whole qualifier, palloc'd; key and
 * len are its name.
 */
extern WtColumn *wt_cell_clause_map_entry(const WtColumn *map, const char *key, int len);

#endif /* WT_CELL_CLAUSE_H */
