/* filter.h - filters as messages */
#ifndef HB_FILTER_H
#define HB_FILTER_H

#include "hbase/proto/common.pb-c.h"
#include "hbase/state.h"

struct hb_filter
{
	Hbp__Filter message; /* the serialized form is in the memory of hb_filters, or an arena */
	bool failed;		 /* memory was short */
};

/* Makes a filter of the ranges, and of `and` if that is not NULL, in the arena.  NULL: out of
 * memory. */
extern Hbp__Filter *hb_filter_in_ranges(hb_arena *arena, const hb_range *ranges, int n,
										const Hbp__Filter *and_filter);

/* Fills in the message of a comparator, in the arena.  Returns false: out of memory. */
extern bool hb_filter_comparator(hb_arena *arena, hb_comparator comparator, Hbp__Comparator *to);

#endif /* HB_FILTER_H */
