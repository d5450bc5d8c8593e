/* scan.h - a scan: rows of key ranges, put together from several families */
#ifndef WIDE_SCAN_H
#define WIDE_SCAN_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/set/pin.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"

/*
 * All sources of a family as of the pin, for readers at seq or before, of
 * timestamps from ts_min on.  *left_out is set when later readers could need a
 * source more.
 */
extern wide_status scan_family_merge(wide_db *db, const set_pin *pin, wide_family_id id, uint64_t seq, int64_t ts_min,
									 wide_batch *own, uint64_t mark, merge **out, source **own_source, bool *left_out);

/* scan.c */
extern void scan_drop_sources(wide_scan *s);	/* and the pin */
extern void scan_leave_sources(wide_scan *s);	/* the same, and bring the statistics up to date first */
extern wide_status scan_set_ranges(wide_scan *s, const wide_range *ranges, int n);
extern wide_status scan_open_range(wide_scan *s);	/* the next one; s->open false: it is passed by */

/* Asks the filter about a row (encoded, decoded).  SEEK: it leads on, to s->sought. */
extern wide_status scan_ask_filter(wide_scan *s, const buffer *row, wide_bytes key, wide_row_verdict *verdict);

/* Move on to s->sought, or close the range. */
extern wide_status scan_go_to_sought(wide_scan *s);

/* The place in the order of rows that the filter has named last lies behind (reverse: before) all of the range. */
extern bool scan_range_passed(const wide_scan *s);

#endif							/* WIDE_SCAN_H */
