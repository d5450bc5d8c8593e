/*
 * key_filter.h
 *		Key filters: leave out rows by tests on later parts of the key.
 */
#ifndef WT_KEY_FILTER_H
#define WT_KEY_FILTER_H

#include "engine/wide.h"
#include "fdw/key/key_interval.h"
#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* The most alternatives of a filter; it tests a row for one after the other. */
#define WT_MAX_ALTERNATIVES 64

typedef struct WtKeyFilter WtKeyFilter;

/* The argument of wt_key_filter: it stays while a scan's filter is replaced. */
typedef struct WtKeyFilterArg
{
	WtKeyFilter *filter; /* NULL: all rows pass */
	bool reverse;		 /* the scan goes backward */
} WtKeyFilterArg;

/*
 * Makes a filter that passes keys of which all parts are in the intervals of at least one
 * alternative.  Each alternative has nkeys entries, which the filter uses as long as it lives;
 * the filter is palloc'd.
 */
extern WtKeyFilter *wt_key_filter_make(WtTable *t, int n, WtIntervals **alternatives);

/*
 * An engine's row filter (wide_row_filter): says whether a row passes.  If not, *seek is a bound:
 * forward, no key before it passes; backward, none at or after it.  It is valid until the next
 * call.  Raises no error, allocates nothing.
 */
extern wide_row_verdict wt_key_filter(void *arg, wide_bytes key, wide_bytes *seek);

/* Returns true if ranges cannot contain the tests, for some of their values at least. */
extern bool wt_key_filter_possible(WtTable *t, const WtTest *tests, int ntests);

#endif /* WT_KEY_FILTER_H */
