/*
 * key_range.h
 *		Tests on parts of the key -> ranges of row keys.
 */
#ifndef WT_KEY_RANGE_H
#define WT_KEY_RANGE_H

#include "engine/wide.h"
#include "fdw/key/key_filter.h"
#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* A product of lists or of ORs with more ranges than this is not multiplied out further. */
#define WT_MAX_PRODUCT 10000

/* The ranges of keys whose rows may pass the tests */
typedef struct WtRanges
{
	/* sorted and disjoint; a salted table has a list for each bucket */
	int nbuckets; /* at least 1 */
	int *n;		  /* ranges of each bucket */
	wide_range **ranges;

	int total;	/* ranges without salt */
	int points; /* of these, ranges of a single key */
	bool full;	/* the whole table: part 0 is not restricted */
	int parts;	/* the ranges contain all that the tests say about so many leading parts */

	/*
	 * Tests on later parts of the key; NULL: the ranges contain all tests.  A scan of the
	 * ranges must pass the filter to the engine (wt_key_filter), because the plan does not
	 * test these clauses again.
	 */
	struct WtKeyFilter *filter;
} WtRanges;

/* Makes the ranges; everything is palloc'd in CurrentMemoryContext. */
extern void wt_key_range_make(WtTable *t, const WtTest *tests, int ntests, const WtArg *args,
							  WtRanges *out);

#endif /* WT_KEY_RANGE_H */
