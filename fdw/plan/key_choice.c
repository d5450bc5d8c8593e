/*
 * key_choice.c
 *		The choice which conditions on the key go into the ranges and into the key filter.
 *
 * Ranges take the conditions up to the first part that is not bound to values; the key filter takes
 * all others, unless there are too many ways to meet the ORs (WT_MAX_ALTERNATIVES).  A condition is
 * exact, so that its clause is not tested again, if it is faithful and ranges or filter apply it
 * exactly in every way.  wt_key_range_make does at run time what is assumed here.
 */
#include "postgres.h"

#include "fdw/plan/key_choice.h"

#include "utils/array.h"

#include "fdw/key/key_filter.h"
#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/plan/key_condition.h"
#include "fdw/table/types.h"

double
wt_key_choice_list_size(const WtCond *c, double unknown)
{
	Node *array = linitial(c->values);

	if (c->kind != WT_COND_ANY)
		return list_length(c->values);
	if (IsA(array, Const) && !((Const *) array)->constisnull)
	{
		ArrayType *a = DatumGetArrayTypeP(((Const *) array)->constvalue);

		return Max(1, ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a)));
	}
	if (IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims)
		return Max(1, list_length(((ArrayExpr *) array)->elements));
	return unknown;
}

/*
 * Chooses for one way: sets ranged of the conditions up to the first part that is not bound to
 * values, and clears exact where the ranges are wider than the condition and there is no filter.
 * Returns how many leading parts are bound to values.
 */
static int
choose_way(WtTable *t, List *conds, bool filter)
{
	bool exact = true;	/* the ranges say exactly what the conditions up to here say */
	bool ranged = true; /* the ranges take conditions on this part */
	int lists = 0, bound = 0;
	double product = 1;
	ListCell *lc;

	for (int part = 0; part < t->nkeys; part++)
	{
		bool single = false, list = false, range = false, pattern = false;

		foreach(lc, conds)
		{
			WtCond *c = lfirst(lc);

			if (c->part != part || c->values == NIL)
				continue;
			if (c->kind == WT_COND_EQ)
				single = true;
			else if (wt_is_equality(c->kind))
			{
				list = true;
				product *= wt_key_choice_list_size(c, WT_MAX_PRODUCT);
			}
			else
				range = true;
			pattern |= c->kind == WT_COND_LIKE;
		}
		/* a product of lists is not multiplied out when it is too large */
		if (list && !single && ++lists > 1 && product > WT_MAX_PRODUCT)
			exact = false;
		foreach(lc, conds)
		{
			WtCond *c = lfirst(lc);

			if (c->part != part || c->values == NIL)
				continue;
			c->ranged = c->ranged || ranged;
			c->exact = c->exact && c->faithful && (filter || (ranged && exact));
		}
		if ((single || list) && bound == part)
			bound++;
		/* an interval within a value (a row comparison) ends the ranges at run time */
		if (!(single || list) || range)
			exact = false;
		/* a pattern may turn out to be a plain value */
		ranged = ranged && (single || list || pattern);
	}
	return bound;
}

/*
 * Chooses for all ways to take one arm of each of the ORs from index which on, together with conds.
 * Returns the least number of leading parts that are bound to values.
 */
static int
choose_ways(WtTable *t, List *ors, int which, List *conds, bool filter)
{
	int bound = t->nkeys;
	ListCell *lc;

	if (which == list_length(ors))
		return choose_way(t, conds, filter);
	foreach(lc, ((WtCond *) list_nth(ors, which))->arms)
	{
		List *both = list_concat_copy(conds, lfirst(lc));

		bound = Min(bound, choose_ways(t, ors, which + 1, both, filter));
		list_free(both);
	}
	return bound;
}

/* Returns the arms of an OR; any other condition is an arm by itself. */
static List *
arms_of(WtCond *c)
{
	return c->kind == WT_COND_OR ? c->arms : list_make1(list_make1(c));
}

static void
reset_cond(WtTable *t, WtCond *c)
{
	c->used = c->kind == WT_COND_NULL || c->part >= t->nkeys;
	c->ranged = c->used;
	c->exact = c->part < t->nkeys;
}

int
wt_key_choice_make(WtTable *t, List *conds)
{
	List *ors = NIL, *others = NIL;
	double ways = 1;
	bool filter;
	int bound;
	ListCell *lc, *a, *m;

	foreach(lc, conds)
	{
		WtCond *c = lfirst(lc);

		reset_cond(t, c);
		foreach(a, arms_of(c))
			foreach(m, (List *) lfirst(a))
				reset_cond(t, lfirst(m));
		if (c->kind == WT_COND_OR)
			ors = lappend(ors, c);
		else
			others = lappend(others, c);
		ways *= list_length(arms_of(c));
	}
	filter = ways <= WT_MAX_ALTERNATIVES;
	bound = choose_ways(t, ors, 0, others, filter);
	foreach(lc, conds)
	{
		WtCond *c = lfirst(lc);

		if (c->kind == WT_COND_OR)
		{
			c->exact = c->faithful;
			foreach(a, c->arms)
				foreach(m, (List *) lfirst(a))
				{
					c->ranged = c->ranged || ((WtCond *) lfirst(m))->ranged;
					c->exact = c->exact && ((WtCond *) lfirst(m))->exact;
				}
		}
		if (c->part < t->nkeys && c->kind != WT_COND_NOT_NULL)
			c->used = c->used || c->ranged || filter;
	}
	return bound;
}

List *
wt_key_choice_flat(List *conds, bool ranged)
{
	List *out = NIL;
	int number = 0, first = 0;
	ListCell *lc, *a, *m;

	for (int pass = 0; pass < 2; pass++)
		foreach(lc, conds)
		{
			WtCond *c = lfirst(lc);
			int arm = 0;

			if ((c->kind == WT_COND_OR) != pass || c->kind == WT_COND_NOT_NULL ||
				!(ranged ? c->ranged : c->used))
				continue;
			number += pass;
			foreach(a, arms_of(c))
			{
				foreach(m, (List *) lfirst(a))
				{
					WtCond *one = lfirst(m);
					WtFlat *f = palloc(sizeof(WtFlat));
					int n = list_length(one->values);

					f->test = (WtTest) {one->part, one->kind, first, n, number, arm};
					f->c = one;
					f->clause = c;
					first += n;
					out = lappend(out, f);
				}
				arm++;
			}
		}
	return out;
}

bool
wt_key_choice_part_is_single(List *conds, int part)
{
	ListCell *lc;

	foreach(lc, conds)
	{
		WtCond *c = lfirst(lc);

		if (c->part == part && c->kind == WT_COND_EQ)
			return true;
	}
	return false;
}
