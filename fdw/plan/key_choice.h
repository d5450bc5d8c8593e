/*
 * key_choice.h
 *		Which conditions on the key the ranges and the key filter take.
 */
#ifndef WT_KEY_CHOICE_H
#define WT_KEY_CHOICE_H

#include "nodes/pg_list.h"

#include "fdw/plan/key_condition.h"
#include "fdw/table/types.h"

/* Sets used and exact; returns how many leading parts are bound to values. */
extern int wt_key_choice_make(WtTable *t, List *conds);

/*
 * A condition as it goes into the list of tests: in the order in which they have
 * to be, those of ORs with the number of their clause and arm.  ranged: only
 * those that take part in the ranges.  List of WtFlat.
 */
typedef struct WtFlat
{
	WtCond *c;
	WtCond *clause; /* the whole: c itself, or the OR that it is of */
	int number;
	int arm;
} WtFlat;

extern List *wt_key_choice_flat(List *conds, bool ranged);

/* Is the part bound to one single value by a condition of the list? */
extern bool wt_key_choice_part_is_single(List *conds, int part);

#endif /* WT_KEY_CHOICE_H */
