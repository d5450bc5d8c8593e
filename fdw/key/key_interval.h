/*
 * key_interval.h
 *		The values that conditions leave of one part of the key, as intervals of bytes.
 */
#ifndef WT_KEY_INTERVAL_H
#define WT_KEY_INTERVAL_H

#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/table/types.h"

/* One part's intervals, sorted and disjoint. */
typedef struct WtIntervals
{
	bool restricted; /* false: all values */
	int n;
	WtInterval *iv;
} WtIntervals;

/* What the tests leave of one part, by itself.  false: no restriction. */
extern bool wt_key_interval_of_part(WtTable *t, const WtTest *tests, int ntests, const WtArg *args,
									int part, WtInterval **out, int *n);

/* The common part of two sorted lists of disjoint intervals. */
extern WtInterval *wt_key_interval_intersect(const WtInterval *a, int na, const WtInterval *b,
											 int nb, int *n);

#endif /* WT_KEY_INTERVAL_H */
