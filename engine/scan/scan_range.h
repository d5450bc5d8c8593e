/* scan_range.h - the key ranges of a scan, and its row filter */
#ifndef WIDE_SCAN_RANGE_H
#define WIDE_SCAN_RANGE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/scan/scan_state.h"

extern wide_status scan_range_set(scan_state *s, const wide_range *ranges, int n);
extern wide_status scan_range_open(
	scan_state *s); /* the next one; it stays closed if it is passed by */

/* Asks the filter about a row (encoded, decoded).  SEEK: it leads on, to s->filter.seek. */
extern wide_status scan_range_ask_filter(scan_state *s, const buffer *row, wide_bytes key,
										 wide_row_verdict *verdict);

/* Move on to s->filter.seek, or close the range. */
extern wide_status scan_range_follow_filter(scan_state *s);

/* The place in the order of rows that the filter has named last lies behind (reverse: before)
 * all of the range. */
extern bool scan_range_passed(const scan_state *s);

/* Where the open range begins, encoded. */
static inline const uint8_t *
scan_range_lo(const scan_state *s)
{
	return s->ranges.cur->lo_len > 0 ? s->ranges.bounds.data + s->ranges.cur->lo
									 : (const uint8_t *) "";
}

/* Stand before the open range, or after the row that was read last in it. */
extern wide_status scan_range_seek(scan_state *s);

#endif /* WIDE_SCAN_RANGE_H */
