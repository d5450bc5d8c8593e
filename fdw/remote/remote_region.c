/*
 * remote_region.c
 *		The regions of a table of HBase, for parallel scans.
 *
 * The keys where regions begin divide the space of all keys between the processes of a scan.  They
 * are ranges, and not regions, from there on: when a region moves, is split or merged meanwhile,
 * the scan of a range goes on in another region, or in several.
 */
#include "postgres.h"

#include "fdw/remote/remote_region.h"

#include "fdw/remote/remote_table.h"
#include "fdw/store/bytes.h"
#include "hbase/hbase.h"

typedef struct Starts
{
	wide_bytes *keys;
	int n, max;
	bool failed; /* no memory */
} Starts;

/* Callback: it raises no error. */
static bool
take_start(void *ctx, const hb_region *region)
{
	Starts *s = ctx;
	uint8 *copy;

	if (region->start.len == 0)
		return true;
	if (s->n == s->max)
	{
		int max = s->max * 2;
		wide_bytes *more = MemoryContextAllocExtended(CurrentMemoryContext,
													  sizeof(wide_bytes) * max,
													  MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);

		s->failed |= more == NULL;
		if (more == NULL)
			return false;
		wt_bytes_copy(more, s->keys, sizeof(wide_bytes) * s->n);
		s->keys = more;
		s->max = max;
	}
	copy = palloc_extended(region->start.len, MCXT_ALLOC_NO_OOM);
	s->failed |= copy == NULL;
	if (copy == NULL)
		return false;
	wt_bytes_copy(copy, region->start.data, region->start.len);
	s->keys[s->n++] = (wide_bytes) {copy, region->start.len};
	return true;
}

wide_bytes *
wt_remote_region_split(wide_family_id family, int *n)
{
	WtRemoteTable *r = wt_remote_table_of(family, NULL);
	Starts s = {.max = 64};
	hb_client *client;
	hb_status status;

	s.keys = palloc(sizeof(wide_bytes) * s.max);
	*n = 0;
	if (!r->there)
		return s.keys;
	client = wt_remote_table_client_of(family);
	status = hb_table_regions(client, r->name, false, take_start, &s);
	if (s.failed)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not find the regions of", NULL);
	*n = s.n;
	return s.keys;
}
