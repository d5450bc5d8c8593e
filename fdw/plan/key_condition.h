/*
 * key_condition.h
 *		WHERE clauses as conditions on parts of the key, while planning.
 */
#ifndef WT_KEY_CONDITION_H
#define WT_KEY_CONDITION_H

#include "nodes/pathnodes.h"

#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* What one clause says about a part of the key; in the layout 'cells' also about cells. */
typedef struct WtCond
{
	int part;
	WtKind kind;
	List *values;  /* expressions without variables of this table */
	List *types;   /* OID list: their types (ANY: the type of the elements) */
	bool faithful; /* the bytes of the key say exactly what the clause says */

	/* set by wt_key_choice_make: */
	bool used;	 /* the ranges or the key filter take it */
	bool ranged; /* the ranges take it */
	bool exact;	 /* all rows that are left meet the clause, so it is not tested again */

	/*
	 * WT_COND_OR: a disjunction of conjunctions, as a list of lists of WtCond, each of which is
	 * on a part of the key.  part is the first of these parts.
	 */
	List *arms;
	RestrictInfo *rinfo;
} WtCond;

/*
 * Returns the conditions on the key among these clauses (RestrictInfos): a list of WtCond, one for
 * each clause that says something.
 */
extern List *wt_key_condition_find(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *rinfos);

#endif /* WT_KEY_CONDITION_H */
