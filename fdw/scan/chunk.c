/*
 * chunk.c
 *		Chunks of a parallel scan, handed out to its processes.
 *
 * The chunks cover the space of all keys without gap or overlap, and each is handed out once,
 * in the order of the scan.  So each row comes from one process, and what one process returns
 * is in key order.
 *
 * Locking: an atomic counter.
 */
#include "postgres.h"

#include "fdw/scan/chunk.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "fdw/scan/scan_state.h"
#include "fdw/store/bytes.h"

/* Returns the key between chunks i and i + 1; it lives as long as shared. */
static wide_bytes
cut(const WtShared *shared, uint32 i)
{
	const uint8 *bytes = (const uint8 *) &shared->ends[shared->nchunks - 1];
	uint32 from = i > 0 ? shared->ends[i - 1] : 0;

	return (wide_bytes) {bytes + from, shared->ends[i] - from};
}

bool
wt_chunk_next(WtScanState *st)
{
	WtShared *shared = st->chunk.shared;
	const wide_range *all = st->range.ranges.ranges[0];
	int n = st->range.ranges.n[0];

	if (st->chunk.ranges == NULL)
		st->chunk.ranges = MemoryContextAllocHuge(st->range.cxt, sizeof(wide_range) * Max(1, n));
	for (;;)
	{
		uint32 i = pg_atomic_read_u32(&shared->next);
		wide_bytes lo = {(const uint8 *) "", 0}, hi = {NULL, 0};
		int from = 0, to = n;

		CHECK_FOR_INTERRUPTS();
		/* the counter stays at nchunks, however often this is called */
		if (i >= shared->nchunks)
			return false;
		if (!pg_atomic_compare_exchange_u32(&shared->next, &i, i + 1))
			continue;
		if (st->reverse)
			i = shared->nchunks - 1 - i;
		if (i > 0)
			lo = cut(shared, i - 1);
		if (i < shared->nchunks - 1)
			hi = cut(shared, i);
		/* find the first range that ends behind lo */
		while (from < to)
		{
			int mid = from + (to - from) / 2;

			if (all[mid].hi.data != NULL && wt_bytes_cmp(all[mid].hi, lo) <= 0)
				from = mid + 1;
			else
				to = mid;
		}
		for (st->chunk.n = 0; from < n; from++)
		{
			wide_range r = all[from];

			if (hi.data != NULL && wt_bytes_cmp(r.lo, hi) >= 0)
				break;
			if (wt_bytes_cmp(r.lo, lo) < 0)
				r.lo = lo;
			if (hi.data != NULL && (r.hi.data == NULL || wt_bytes_cmp(r.hi, hi) > 0))
				r.hi = hi;
			st->chunk.ranges[st->chunk.n++] = r;
		}
		if (st->chunk.n > 0)
			return true;
	}
}
