/*
 * key_range.h
 *		Conditions on parts of the key -> ranges of row keys.
 */
#ifndef WT_KEY_RANGE_H
#define WT_KEY_RANGE_H

#include "engine/wide.h"
#include "fdw/key/key_filter.h"
#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* Beyond so many ranges a product of lists, or of ORs, is not multiplied out further. */
#define WT_MAX_PRODUCT 10000

/* Sorted, disjoint ranges; with salt_buckets one list for each bucket. */
typedef struct WtRanges
{
	int nbuckets; /* at least 1 */
	int *n;
	wide_range **ranges;
	int total;	/* ranges before they are spread over buckets */
	int points; /* of them, single keys */
	bool full;	/* the whole table: nothing was restricted */
	int parts;	/* so many leading parts they speak of, at least */
	/*
	 * What the ranges do not say: conditions on later parts of the key.  NULL:
	 * they say it all.  Who reads the ranges has to give it to the engine
	 * (wt_key_filter), because the plan does not test these clauses again.
	 */
	struct WtKeyFilter *filter;
} WtRanges;

/* The clauses' key ranges.  Everything is allocated in CurrentMemoryContext. */
extern void wt_key_range_make(WtTable *t, const WtTest *tests, int ntests, const WtArg *args,
							  WtRanges *out);

#endif /* WT_KEY_RANGE_H */
