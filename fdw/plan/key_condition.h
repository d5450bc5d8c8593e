/*
 * key_condition.h
 *		WHERE clauses -> conditions on parts of the key.
 */
#ifndef WT_KEY_CONDITION_H
#define WT_KEY_CONDITION_H

#include "nodes/pathnodes.h"

#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* One clause that says something about a part of the key. */
typedef struct WtCond
{
	int part;
	WtKind kind;
	List *values;  /* expressions without variables of this table */
	List *types;   /* their types (ANY: the element's), a list of OIDs */
	bool faithful; /* bytes say exactly what the clause says */
	bool used;	   /* takes part in the ranges or in the key filter */
	bool ranged;   /* of these, in the ranges */
	bool exact;	   /* no row that is left fails the clause: need not be tested again */
	/*
	 * WT_COND_OR: a disjunction of conjunctions, a list of lists of WtCond, each
	 * of which says something about a part of the key (part: the first of all).
	 */
	List *arms;
	RestrictInfo *rinfo;
} WtCond;

/* The conditions on the key among these clauses (RestrictInfos): a list of WtCond. */
extern List *wt_key_condition_find(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *rinfos);

/* True if the condition leaves nothing out. */
extern bool wt_key_condition_is_trivial(const WtCond *c);

#endif /* WT_KEY_CONDITION_H */
