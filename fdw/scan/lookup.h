/*
 * lookup.h
 *		Keys that a join will look up soon, between the node that reads its outer side ahead
 *		(lookup_ahead.c) and the scan of its inner side.
 */
#ifndef WT_LOOKUP_H
#define WT_LOOKUP_H

#include "nodes/execnodes.h"

#include "engine/wide.h"

typedef struct WtLookup
{
	EState *estate;
	int token; /* of both nodes in the plan */
	struct WtLookup *next;

	wide_range *keys; /* of one key each, sorted, each once */
	int n;
	bool fresh; /* the scan has not asked for them yet */
} WtLookup;

/* Returns: what the nodes of the running plan with this number share; it lives as long as estate.
 */
extern WtLookup *wt_lookup(EState *estate, int token);

#endif /* WT_LOOKUP_H */
