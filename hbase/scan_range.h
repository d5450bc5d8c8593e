/* scan_range.h - the ranges of rows of a scan */
#ifndef HB_SCAN_RANGE_H
#define HB_SCAN_RANGE_H

#include "hbase/arena.h"
#include "hbase/memory.h"

typedef struct hb_scan_ranges
{
	hb_range *ranges; /* sorted, not empty; in an arena */
	int n;
} hb_scan_ranges;

/*
 * Copies n ranges (0: one, of all rows) into the arena, without what lies outside of within (NULL:
 * nothing does).
 * Errors: HB_NOMEM; HB_INVALID if they are not sorted, or overlap.
 */
extern hb_status hb_scan_range_copy(hb_arena *arena, const hb_range *ranges, int n,
									const hb_range *within, hb_scan_ranges *to);

/* Returns true if no row of the range lies at or behind the key (exclusive: behind it). */
extern bool hb_scan_range_ends_before(const hb_range *range, hb_bytes key, bool exclusive);

/* Returns true if no row of the range lies before the key. */
extern bool hb_scan_range_begins_at(const hb_range *range, hb_bytes key);

#endif /* HB_SCAN_RANGE_H */
