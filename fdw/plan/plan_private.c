/*
 * plan_private.c
 *		Structs of integers in the private list of a plan.
 */
#include "postgres.h"

#include "fdw/plan/plan_private.h"

List *
wt_plan_private_append(List *list, const void *members, size_t size)
{
	for (size_t i = 0; i < size / sizeof(int); i++)
		list = lappend_int(list, ((const int *) members)[i]);
	return list;
}

void *
wt_plan_private_array(const List *list, size_t size, int *n)
{
	int *out = palloc(sizeof(int) * Max(1, list_length(list)));
	ListCell *lc;

	*n = 0;
	foreach(lc, list)
		out[(*n)++] = lfirst_int(lc);
	*n /= (int) (size / sizeof(int));
	return out;
}
