/* scan_range.c - the ranges of rows of a scan */
#include "hbase/scan_range.h"

bool
hb_scan_range_ends_before(const hb_range *range, hb_bytes key, bool exclusive)
{
	int c;

	if (range->stop.len == 0)
		return false;
	c = hb_memory_compare(range->stop, key);
	return c < 0 || (c == 0 && (exclusive || !range->stop_inclusive));
}

bool
hb_scan_range_begins_at(const hb_range *range, hb_bytes key)
{
	return range->start.len > 0 && hb_memory_compare(range->start, key) >= 0;
}

static bool
is_empty(const hb_range *r)
{
	return r->start.len > 0 && hb_scan_range_ends_before(r, r->start, r->start_exclusive);
}

/* Leaves what is in both. */
static void
clip(hb_range *r, const hb_range *within)
{
	int c = hb_memory_compare(r->start, within->start);

	if (c < 0 || (c == 0 && within->start_exclusive))
	{
		r->start = within->start;
		r->start_exclusive = within->start_exclusive;
	}
	if (within->stop.len == 0)
		return;
	c = r->stop.len == 0 ? 1 : hb_memory_compare(r->stop, within->stop);
	if (c > 0 || (c == 0 && !within->stop_inclusive))
	{
		r->stop = within->stop;
		r->stop_inclusive = within->stop_inclusive;
	}
}

/* Returns true if `next` lies behind r. */
static bool
in_order(const hb_range *r, const hb_range *next)
{
	return next->start.len > 0 && hb_scan_range_ends_before(r, next->start, next->start_exclusive);
}

hb_status
hb_scan_range_copy(hb_arena *arena, const hb_range *ranges, int n, const hb_range *within,
				   hb_scan_ranges *to)
{
	static const hb_range all;

	if (n == 0)
	{
		ranges = &all;
		n = 1;
	}
	to->n = 0;
	to->ranges = hb_arena_alloc(arena, (size_t) n * sizeof *to->ranges);
	if (to->ranges == NULL)
		return HB_NOMEM;
	for (int i = 0; i < n; i++)
	{
		hb_range *r = &to->ranges[to->n];

		if (i > 0 && !in_order(&ranges[i - 1], &ranges[i]))
			return HB_INVALID;
		*r = ranges[i];
		if (within != NULL)
			clip(r, within);
		if (is_empty(r))
			continue;
		r->start.data = hb_arena_copy(arena, r->start);
		r->stop.data = hb_arena_copy(arena, r->stop);
		if (r->start.data == NULL || r->stop.data == NULL)
			return HB_NOMEM;
		to->n++;
	}
	return HB_OK;
}
