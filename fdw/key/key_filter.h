/*
 * key_filter.h
 *		Rows that conditions on later parts of the key leave out.
 */
#ifndef WT_KEY_FILTER_H
#define WT_KEY_FILTER_H

#include "engine/wide.h"
#include "fdw/key/key_interval.h"
#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* A key filter tests a row for at most so many alternatives one after the other. */
#define WT_MAX_ALTERNATIVES 64

/*
 * rows that conditions on later parts of the key leave out, by the bytes
 * of their keys, and where the next one can be.  wt_key_filter is an engine's
 * row filter; its argument is a WtKeyFilterArg, which stays while the filter in
 * it is replaced (NULL: all rows).
 */
typedef struct WtKeyFilter WtKeyFilter;

typedef struct WtKeyFilterArg
{
	WtKeyFilter *filter;
	bool reverse;
} WtKeyFilterArg;

extern wide_row_verdict wt_key_filter(void *arg, wide_bytes key, wide_bytes *seek);
/* alternatives: each nkeys entries; one of them must hold.  In CurrentMemoryContext. */
extern WtKeyFilter *wt_key_filter_make(WtTable *t, int n, WtIntervals **alternatives);
/* Do the tests need a filter, whatever their values are? */
extern bool wt_key_filter_possible(WtTable *t, const WtTest *tests, int ntests);

#endif /* WT_KEY_FILTER_H */
