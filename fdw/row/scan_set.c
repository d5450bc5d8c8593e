/*
 * scan_set.c
 *		The engine scans of a row reader: one, or one for each salt bucket.
 */
#include "postgres.h"

#include "fdw/row/scan_set.h"

#include "lib/binaryheap.h"

#include "fdw/store/bytes.h"
#include "fdw/xact/engine_scan.h"

static int
head_cmp(Datum a, Datum b, void *arg)
{
	WtScanSet *s = arg;
	wide_bytes x = s->heads[DatumGetInt32(a)].key, y = s->heads[DatumGetInt32(b)].key;
	int c;

	/* the salt is not part of the order */
	x.data++, x.len--;
	y.data++, y.len--;
	c = wt_bytes_cmp(x, y);
	/* the largest is on top of a binaryheap */
	return s->reverse ? c : -c;
}

void
wt_scan_set_merge(WtScanSet *s)
{
	s->merge = true;
	s->heads = palloc0(sizeof(wide_row) * s->n);
	s->heap = binaryheap_allocate(s->n, head_cmp, s);
}

/* Reads the next row of a scan into heads[i].  It stays there until its turn comes, even if the
 * scan rests between two fetches of a cursor. */
static bool
next_head(WtScanSet *s, int i)
{
	if (!wt_engine_scan_next(s->scans[i], &s->heads[i]))
		return false;
	wt_engine_scan_hold_row(s->scans[i], &s->heads[i]);
	return true;
}

bool
wt_scan_set_next_merged(WtScanSet *s, wide_row *row, WtEngineScan **from)
{
	if (!s->merge)
	{
		s->last = s->n;
		return false;
	}
	if (!s->started)
	{
		binaryheap_reset(s->heap);
		for (int i = 0; i < s->n; i++)
			if (next_head(s, i))
				binaryheap_add_unordered(s->heap, Int32GetDatum(i));
		binaryheap_build(s->heap);
		s->started = true;
	}
	else if (s->last >= 0)
	{
		/* not before this call, because the last row is in the scan's memory */
		if (next_head(s, s->last))
			binaryheap_replace_first(s->heap, Int32GetDatum(s->last));
		else
			(void) binaryheap_remove_first(s->heap);
	}
	if (binaryheap_empty(s->heap))
	{
		s->last = -1;
		return false;
	}
	s->last = DatumGetInt32(binaryheap_first(s->heap));
	*row = s->heads[s->last];
	*from = s->scans[s->last];
	wt_engine_scan_hold_row(*from, NULL);
	return true;
}
