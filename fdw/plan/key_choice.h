/*
 * key_choice.h
 *		The choice which conditions on the key go into the ranges and into the key filter.
 */
#ifndef WT_KEY_CHOICE_H
#define WT_KEY_CHOICE_H

#include "nodes/pg_list.h"

#include "fdw/plan/key_condition.h"
#include "fdw/table/types.h"

/*
 * Sets used, ranged and exact of the conditions (WtCond).  Returns how many leading parts of the
 * key are bound to values, whichever arms of ORs are met.
 */
extern int wt_key_choice_make(WtTable *t, List *conds);

/* A condition as a test. */
typedef struct WtFlat
{
	WtTest test; /* its values are those of the conditions in the order of the list */
	WtCond *c;
	WtCond *clause; /* c itself, or the OR that it belongs to */
} WtFlat;

/*
 * Returns the conditions that are used (ranged: only those in the ranges) in the order of tests,
 * those of ORs last: a list of WtFlat.
 */
extern List *wt_key_choice_flat(List *conds, bool ranged);

/* Returns how many values =, = ANY or a list has; unknown if that is not known while planning. */
extern double wt_key_choice_list_size(const WtCond *c, double unknown);

/* Returns true if a condition of the list binds the part to one value. */
extern bool wt_key_choice_part_is_single(List *conds, int part);

#endif /* WT_KEY_CHOICE_H */
