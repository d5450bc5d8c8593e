/*
 * key_interval.h
 *		Tests -> the values of one part that pass them, as intervals of bytes.
 */
#ifndef WT_KEY_INTERVAL_H
#define WT_KEY_INTERVAL_H

#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/table/types.h"

/* The intervals of one part, sorted and disjoint */
typedef struct WtIntervals
{
	bool restricted; /* false: all values pass, n and iv are not used */
	int n;
	WtInterval *iv;
} WtIntervals;

/*
 * Returns the values of a part that pass its tests, those of ORs left out; palloc'd.  Tests whose
 * values are not known yet, or that cannot be said in bytes, restrict nothing.
 */
extern WtIntervals wt_key_interval_of_part(WtTable *t, const WtTest *tests, int ntests,
										   const WtArg *args, int part);

/* Returns the values that are in both; palloc'd, or those of a or b themselves. */
extern WtIntervals wt_key_interval_intersect(WtIntervals a, WtIntervals b);

#endif /* WT_KEY_INTERVAL_H */
