/*
 * lookup.c
 *		Keys that a join will look up soon.
 */
#include "postgres.h"

#include "fdw/scan/lookup.h"

#include "utils/memutils.h"

static WtLookup *all = NULL; /* of all running plans */

/* The memory of the executor's state is about to be freed. */
static void
forget(void *arg)
{
	WtLookup **at = &all;

	while (*at != NULL && *at != arg)
		at = &(*at)->next;
	if (*at != NULL)
		*at = (*at)->next;
}

WtLookup *
wt_lookup(EState *estate, int token)
{
	WtLookup *l;
	MemoryContextCallback *callback;

	for (l = all; l != NULL; l = l->next)
	{
		if (l->estate == estate && l->token == token)
			return l;
	}
	l = MemoryContextAllocZero(estate->es_query_cxt, sizeof(WtLookup));
	callback = MemoryContextAlloc(estate->es_query_cxt, sizeof(MemoryContextCallback));
	l->estate = estate;
	l->token = token;
	l->next = all;
	all = l;
	*callback = (MemoryContextCallback) {.func = forget, .arg = l};
	MemoryContextRegisterResetCallback(estate->es_query_cxt, callback);
	return l;
}
