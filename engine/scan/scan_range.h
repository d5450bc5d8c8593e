/* scan_range.h - the key ranges of a scan, and its row filter */
#ifndef WIDE_SCAN_RANGE_H
#define WIDE_SCAN_RANGE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/scan/scan_state.h"

/*
 * Sets the ranges of the scan; none is open afterwards.  Empty ranges are left out.
 * WIDE_LIMIT: a bound is too long.
 */
extern wide_status scan_range_set(scan_state *s, const wide_range *ranges, int n);

/* Opens the next range that does not lie before filter.seek.  Returns: WIDE_END if there is none.
 * Requires: no range is open. */
extern wide_status scan_range_open(scan_state *s);

/* Returns the least entry at which a leading family stands; NULL: there is none. */
extern const entry *scan_range_first(const scan_state *s);

/* Moves the leading families to the beginning of the open range, or behind the row that was read
 * last in it. */
extern wide_status scan_range_seek(scan_state *s);

/*
 * Asks the filter about a row, given in both forms (encoded, decoded).
 * Returns: *verdict; WIDE_ROW_SEEK only if the filter's key leads on, and then it is in
 * filter.seek.
 */
extern wide_status scan_range_ask_row_filter(scan_state *s, const buffer *row, wide_bytes key,
											 wide_row_verdict *verdict);

/* Moves on to filter.seek, or closes the range if that lies behind it. */
extern wide_status scan_range_follow_filter(scan_state *s);

/* Returns true if the filter wants nothing of the range: it lies before filter.seek (reverse: from
 * there on). */
extern bool scan_range_passed(const scan_state *s);

/*
 * Returns true if no row is left in the open range: its one row was read, or the entry at which the
 * merge stands lies behind the range, or is NULL.
 */
static inline bool
scan_range_over(const scan_state *s, const entry *e)
{
	const scan_range *r = s->ranges.cur;

	if (e == NULL || (r->point && s->ranges.state == RANGE_ENTERED))
		return true;
	if (r->point)
		return e->rowlen != r->lo.len || memcmp(e->ukey, r->lo.data, e->rowlen) != 0;
	return r->hi.len > 0 && ukey_compare(e->ukey, e->rowlen, r->hi.data, r->hi.len) >= 0;
}

#endif /* WIDE_SCAN_RANGE_H */
