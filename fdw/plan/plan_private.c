/*
 * plan_private.c
 *		Reads the private list of a scan's plan, which scan_plan.c makes.
 */
#include "postgres.h"

#include "fdw/plan/plan_private.h"

#include "fdw/key/key_test.h"

WtTest *
wt_plan_private_tests(List *fdw_private, int *n)
{
	List *tests = list_nth(fdw_private, WtPrivateTests);
	WtTest *out = palloc(sizeof(WtTest) * Max(1, list_length(tests)));
	ListCell *lc;

	*n = 0;
	foreach(lc, tests)
	{
		List *test = lfirst(lc);
		WtTest *t = &out[(*n)++];

		t->part = linitial_int(test);
		t->kind = lsecond_int(test);
		t->first = lthird_int(test);
		t->n = lfourth_int(test);
		t->clause = list_nth_int(test, 4);
		t->arm = list_nth_int(test, 5);
	}
	return out;
}

WtLeaf *
wt_plan_private_leaves(List *fdw_private, int *n)
{
	List *leaves = list_nth(fdw_private, WtPrivatePredicates);
	WtLeaf *out = palloc(sizeof(WtLeaf) * Max(1, list_length(leaves)));
	ListCell *lc;

	*n = 0;
	foreach(lc, leaves)
	{
		List *one = lfirst(lc);
		WtLeaf *leaf = &out[(*n)++];

		leaf->clause = linitial_int(one);
		leaf->attno = lsecond_int(one);
		leaf->op = lthird_int(one);
		leaf->arg = lfourth_int(one);
		leaf->key = list_nth_int(one, 4);
	}
	return out;
}
