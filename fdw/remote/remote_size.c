/*
 * remote_size.c
 *		Sizes of tables of HBase and their regions: estimates, samples, borders.
 *
 * The master knows the regions' sizes in megabytes.  For plans they are asked for once a minute,
 * with little patience: without a master, plans go by what was known.  How many rows that
 * is comes from ANALYZE, which keeps pages and rows in pg_class.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_size.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "fdw/remote/connection.h"
#include "fdw/remote/remote_table.h"
#include "fdw/store/bytes.h"

#define MEGABYTE	  (1024.0 * 1024.0)
#define PLAN_AGE_US	  (60 * USECS_PER_SEC) /* how old sizes for a plan may be */
#define PLAN_PATIENCE 1000				   /* milliseconds that a plan waits for them */

/* What is assumed where nothing is known. */
#define ASSUMED_ROWS   1000.0 /* of a table of which the master reports nothing yet */
#define ASSUMED_ROW	   100.0  /* bytes */
#define ASSUMED_BLOCK  65536.0
#define ASSUMED_RANGES 1000.0 /* parts of a region, one of which a range with two ends is */
#define SMALL_MB	   0.5	  /* of a region that the master reports as 0 MB */

/* What ANALYZE reads of a region to learn what a row takes, and of how many regions. */
#define WIDTH_ROWS	  50
#define WIDTH_REGIONS 20

typedef struct Region
{
	wide_bytes name, start, end; /* end without bytes: to the last row */
	double mb;
} Region;

typedef struct WtRemoteSizes
{
	MemoryContext cxt; /* of the regions */
	TimestampTz at;	   /* when they were asked for */
	Region *regions;   /* in order of keys */
	int n, max;
	double mb;
	int unknown; /* sizes of regions that are not in the list */
	bool failed; /* no memory */
} WtRemoteSizes;

/* ------------------------------------------------------------------ asking */

/* Callbacks: must not raise errors. */
static wide_bytes
copy_soft(WtRemoteSizes *s, hb_bytes b)
{
	uint8 *to = MemoryContextAllocExtended(s->cxt, Max(1, b.len), MCXT_ALLOC_NO_OOM);

	s->failed |= to == NULL;
	if (to == NULL)
		return (wide_bytes) {(const uint8 *) "", 0};
	wt_bytes_copy(to, b.data, b.len);
	return (wide_bytes) {to, b.len};
}

static bool
count_region(void *ctx, const hb_region *region)
{
	++*(int *) ctx;
	return true;
}

static bool
take_region(void *ctx, const hb_region *region)
{
	WtRemoteSizes *s = ctx;

	if (s->n == s->max)
		return false;
	s->regions[s->n++] = (Region) {.name = copy_soft(s, region->name),
								   .start = copy_soft(s, region->start),
								   .end = copy_soft(s, region->end)};
	return !s->failed;
}

static bool
take_size(void *ctx, const hb_region_size *size)
{
	WtRemoteSizes *s = ctx;
	double mb = (double) (size->store_mb + size->memstore_mb);
	int i = 0;

	while (i < s->n && !wt_bytes_equal(s->regions[i].name.data, s->regions[i].name.len,
									   size->name.data, size->name.len))
		i++;
	if (i < s->n)
		s->regions[i].mb = mb;
	else
		s->unknown++;
	s->mb += mb;
	return true;
}

/* Lists the regions.  Returns: HB_OK, or why not. */
static hb_status
ask_regions(WtRemoteTable *r, hb_client *client, bool refresh, WtRemoteSizes *s)
{
	int n = 0;
	hb_status status = hb_table_regions(client, r->name, refresh, count_region, &n);

	if (status != HB_OK)
		return status;
	*s = (WtRemoteSizes) {.cxt = s->cxt, .at = GetCurrentTimestamp(), .max = n};
	MemoryContextReset(s->cxt);
	s->regions = MemoryContextAllocHuge(s->cxt, sizeof(Region) * Max(1, n));
	return hb_table_regions(client, r->name, false, take_region, s);
}

/* Asks for regions, and their sizes.  They live until the next call for the table. */
static hb_status
ask(WtRemoteTable *r, hb_client *client, bool sizes, bool refresh)
{
	WtRemoteSizes *s = r->sizes;
	hb_status status = HB_OK;

	if (s == NULL)
	{
		s = MemoryContextAllocZero(TopMemoryContext, sizeof(WtRemoteSizes));
		s->cxt = AllocSetContextCreate(TopMemoryContext, "widetable regions of HBase",
									   ALLOCSET_SMALL_SIZES);
		r->sizes = s;
	}
	for (int attempt = 0; attempt < 2; attempt++)
	{
		status = ask_regions(r, client, refresh || attempt > 0, s);
		if (status == HB_OK && sizes)
			status = hb_admin_sizes(client, r->name, take_size, s);
		/* a region that is not known: the table has been split since */
		if (status != HB_OK || s->unknown == 0)
			break;
	}
	if (s->failed)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return status;
}

/* Returns: the regions as they are now, with sizes if these are wanted. */
static WtRemoteSizes *
present(WtTable *t, bool sizes, hb_client **client)
{
	WtRemoteTable *r = wt_remote_table(t);
	hb_status status;

	*client = wt_remote_table_client(r);
	status = ask(r, *client, sizes, true);
	if (status != HB_OK)
		wt_remote_table_fail(r, *client, status, "could not look at the regions of", NULL);
	return r->sizes;
}

/* Returns: the regions of the family's table for a plan; NULL: nothing is known. */
static WtRemoteSizes *
for_plan(wide_family_id family)
{
	WtRemoteTable *r = wt_remote_table_of(family, NULL);
	TimestampTz now = GetCurrentTimestamp();
	hb_client *client;
	hb_status status;

	if (!r->there)
		return NULL;
	if (r->sizes != NULL && now < r->sizes->at + PLAN_AGE_US)
		return r->sizes->n > 0 ? r->sizes : NULL;
	client = wt_remote_table_client_of(family);
	hb_client_set_timeout(client, Min(PLAN_PATIENCE, r->place.timeout_ms));
	status = ask(r, client, true, false);
	hb_client_set_timeout(client, r->place.timeout_ms);
	if (status == HB_INTERRUPTED)
		CHECK_FOR_INTERRUPTS();
	/* after a failure it is not asked again at once either */
	r->sizes->at = now;
	return r->sizes->n > 0 ? r->sizes : NULL;
}

/* --------------------------------------------------------------- estimates */

static bool
is_inside(const Region *g, wide_bytes key)
{
	return wt_bytes_cmp(key, g->start) > 0 && (g->end.len == 0 || wt_bytes_cmp(key, g->end) < 0);
}

/* Returns: the key as a fraction, by the bytes behind the first `skip` ones. */
static double
fraction(wide_bytes key, size_t skip)
{
	double f = 0, unit = 1;

	for (size_t i = skip; i < key.len && i < skip + 7; i++)
		f += key.data[i] * (unit /= 256);
	return f;
}

static size_t
common_length(wide_bytes a, wide_bytes b)
{
	size_t n = 0;

	while (n < a.len && n < b.len && a.data[n] == b.data[n])
		n++;
	return n;
}

/* Returns: where in the region the key is, 0 to 1.  Requires: the region has an end. */
static double
position(const Region *g, wide_bytes key)
{
	size_t skip = common_length(g->start, g->end);
	double from = fraction(g->start, skip), to = fraction(g->end, skip);

	return to > from ? Max(0, Min(1, (fraction(key, skip) - from) / (to - from))) : 0.5;
}

/* Returns: the share of the region that the range has. */
static double
share_of(const Region *g, const wide_range *range)
{
	bool lo = range->lo.len > 0 && is_inside(g, range->lo);
	bool hi = range->hi.data != NULL && is_inside(g, range->hi);
	bool bounded = g->start.len > 0 && g->end.len > 0;

	if ((range->lo.len > 0 && g->end.len > 0 && wt_bytes_cmp(range->lo, g->end) >= 0) ||
		(range->hi.data != NULL && wt_bytes_cmp(range->hi, g->start) <= 0))
		return 0;
	if (!lo && !hi)
		return 1;
	if (!bounded)
		return lo && hi ? 1 / ASSUMED_RANGES : 1.0 / 3;
	return Max((hi ? position(g, range->hi) : 1) - (lo ? position(g, range->lo) : 0), 1e-6);
}

/* Returns: rows (layout 'cells': cells) of the table, by its size now and what ANALYZE has seen. */
static double
rows_of(const WtRemoteTable *r, double bytes)
{
	HeapTuple tup = SearchSysCache1(RELOID, ObjectIdGetDatum(r->relid));
	double tuples = -1, before = 0;

	if (HeapTupleIsValid(tup))
	{
		Form_pg_class c = (Form_pg_class) GETSTRUCT(tup);

		tuples = c->reltuples;
		before = Max(0, (double) c->relpages - 1) * BLCKSZ;
		ReleaseSysCache(tup);
	}
	if (tuples < 0)
		return bytes > 0 ? bytes / ASSUMED_ROW : ASSUMED_ROWS;
	if (tuples > 0 && before >= MEGABYTE && bytes >= MEGABYTE)
		return tuples * bytes / before;
	return bytes >= 4 * MEGABYTE ? Max(tuples, bytes / ASSUMED_ROW) : tuples;
}

static bool
is_point(const wide_range *range)
{
	return range != NULL && range->hi.data != NULL && range->hi.len == range->lo.len + 1 &&
		   wt_bytes_cmp((wide_bytes) {range->hi.data, range->lo.len}, range->lo) == 0 &&
		   range->hi.data[range->lo.len] == 0;
}

void
wt_remote_size_estimate(wide_family_id family, const wide_range *range, wide_estimate *out)
{
	WtRemoteTable *r = wt_remote_table_of(family, NULL);
	WtRemoteSizes *s;
	double bytes = 0, rows, share = 1;
	int families = 0;

	if (is_point(range))
	{
		*out = (wide_estimate) {.rows = 1, .cells = 1, .bytes = ASSUMED_ROW, .blocks = 1};
		return;
	}
	for (int i = 0; i < r->nfamilies; i++)
		families += r->families[i].there;
	s = for_plan(family);
	if (s != NULL)
		bytes = s->mb * MEGABYTE;
	rows = rows_of(r, bytes);
	bytes = bytes > 0 ? bytes : rows * ASSUMED_ROW;
	if (range != NULL && s != NULL)
	{
		double all = 0, part = 0;

		for (int i = 0; i < s->n; i++)
		{
			double mb = s->regions[i].mb + SMALL_MB;

			all += mb;
			part += mb * share_of(&s->regions[i], range);
		}
		share = part / all;
	}
	else if (range != NULL && (range->hi.data != NULL || range->lo.len > 0))
		share = range->hi.data != NULL && range->lo.len > 0 ? 1 / ASSUMED_RANGES : 1.0 / 3;
	/* the caller takes the most rows of all families, and the sum of the others */
	families = Max(1, families);
	out->rows = Max(1, rows * share);
	out->cells = Max(1, rows * share / families);
	out->bytes = bytes * share / families;
	out->blocks = Max(1, out->bytes / ASSUMED_BLOCK);
}

int64
wt_remote_size_bytes(WtTable *t)
{
	hb_client *client;

	return (int64) (present(t, true, &client)->mb * MEGABYTE);
}

/* ------------------------------------------------------------------ borders */

wide_bytes *
wt_remote_size_split_keys(WtTable *t, int parts, int *n)
{
	hb_client *client;
	WtRemoteSizes *s = present(t, true, &client);
	wide_bytes *keys = palloc(sizeof(wide_bytes) * Max(1, s->n));
	double all = 0, sum = 0;
	int taken = 0;

	for (int i = 0; i < s->n; i++)
		all += s->regions[i].mb + SMALL_MB;
	*n = 0;
	/* a border where the next part is full; the last ones if there are more regions than parts */
	for (int i = 0; i + 1 < s->n && taken + 1 < parts; i++)
	{
		sum += s->regions[i].mb + SMALL_MB;
		if (s->n > parts && sum < all * (taken + 1) / parts - 1e-9)
			continue;
		keys[(*n)++] = s->regions[i].end;
		taken++;
	}
	return keys;
}

/* ------------------------------------------------------------------- ANALYZE */

/* What is known of the keys and rows of a region. */
typedef struct Look
{
	wide_bytes first, last; /* no bytes: the region has no rows */
	double rows, cells, bytes;
} Look;

/* The smallest and the greatest byte of keys: the digits of which they consist. */
typedef struct Digits
{
	int least, most;
} Digits;

static wide_bytes
copy_key(hb_bytes b)
{
	uint8 *to = palloc(Max(1, b.len));

	wt_bytes_copy(to, b.data, b.len);
	return (wide_bytes) {to, b.len};
}

/* Reads the first or the last rows of a region. */
static void
look_at_rows(WtRemoteTable *r, hb_client *client, const Region *g, bool last, Look *look)
{
	hb_range range = {.start = {g->start.data, g->start.len}, .stop = {g->end.data, g->end.len}};
	hb_scan_spec spec = {.read = {.table = r->name, .no_cache = true},
						 .ranges = &range,
						 .n_ranges = 1,
						 .reversed = last,
						 .limit = last ? 1 : WIDTH_ROWS,
						 .rows_per_call = WIDTH_ROWS,
						 .no_read_ahead = true};
	hb_scan *scan;
	hb_row row;
	hb_status status = hb_scan_open(client, &spec, &scan);

	while (status == HB_OK && (status = hb_scan_next(scan, &row)) == HB_OK)
	{
		if (last)
			look->last = copy_key(row.key);
		else if (look->rows == 0)
			look->first = copy_key(row.key);
		if (last)
			continue;
		look->rows++;
		look->cells += row.n_cells;
		/* as in files: lengths, key, family, qualifier, timestamp, type, value */
		for (int i = 0; i < row.n_cells; i++)
			look->bytes += 20 + row.key.len + row.cells[i].family.len + row.cells[i].qualifier.len +
						   row.cells[i].value.len;
	}
	hb_scan_close(scan);
	if (status != HB_END)
		wt_remote_table_fail(r, client, status, "could not sample", NULL);
}

static void
take_digits(Digits *d, wide_bytes key, size_t skip)
{
	for (size_t i = skip; i < key.len; i++)
	{
		d->least = Min(d->least, key.data[i]);
		d->most = Max(d->most, key.data[i]);
	}
}

/* Returns: a key at the fraction f of the way from a to b, which it has the beginning of. */
static wide_bytes
key_between(wide_bytes a, wide_bytes b, double f)
{
	size_t skip = common_length(a, b), n = skip + 6;
	Digits d = {255, 0};
	uint8 *key = palloc(n);
	double base, from = 0, to = 0, unit = 1;

	take_digits(&d, a, skip);
	take_digits(&d, b, skip);
	base = d.most - d.least + 1;
	for (size_t i = skip; i < n; i++)
	{
		unit /= base;
		from += (i < a.len ? a.data[i] - d.least : 0) * unit;
		to += (i < b.len ? b.data[i] - d.least : 0) * unit;
	}
	f = from + (to - from) * f;
	wt_bytes_copy(key, a.data, skip);
	for (size_t i = skip; i < n; i++)
	{
		double digit = floor(Max(0, Min(f * base, base - 1)));

		key[i] = (uint8) (d.least + digit);
		f = f * base - digit;
	}
	return (wide_bytes) {key, n};
}

/* Appends keys that divide the region into n parts. */
static void
divide(WtRemoteTable *r, hb_client *client, const Region *g, Look *look, int n, wide_bytes *keys,
	   int *nkeys)
{
	if (n > 1 && look->rows == 0)
		look_at_rows(r, client, g, false, look);
	if (n > 1 && look->rows > 0)
		look_at_rows(r, client, g, true, look);
	for (int i = 0; i < n; i++)
	{
		wide_bytes key = i == 0 || look->last.len == 0
							 ? g->start
							 : key_between(look->first, look->last, (double) i / n);

		if (key.len == 0 || (*nkeys > 0 && wt_bytes_cmp(key, keys[*nkeys - 1]) <= 0))
			continue;
		keys[(*nkeys)++] = key;
	}
}

wide_bytes *
wt_remote_size_sample(WtTable *t, int parts, int *n, double *rows, double *cells)
{
	hb_client *client;
	WtRemoteSizes *s = present(t, true, &client);
	WtRemoteTable *r = wt_remote_table(t);
	Look *looks = palloc0(sizeof(Look) * Max(1, s->n)), sum = {0};
	wide_bytes *keys = palloc(sizeof(wide_bytes) * (parts + s->n + 1));
	double bytes = s->mb * MEGABYTE, all = 0, before = 0;
	int step = Max(1, s->n / WIDTH_REGIONS);

	*n = 0;
	*rows = *cells = 0;
	for (int i = 0; i < s->n; i += step)
	{
		CHECK_FOR_INTERRUPTS();
		look_at_rows(r, client, &s->regions[i], false, &looks[i]);
		sum.rows += looks[i].rows;
		sum.cells += looks[i].cells;
		sum.bytes += looks[i].bytes;
	}
	if (sum.rows == 0 || bytes == 0)
		return keys;
	*rows = bytes / (sum.bytes / sum.rows);
	*cells = *rows * sum.cells / sum.rows;
	for (int i = 0; i < s->n; i++)
		all += s->regions[i].mb + SMALL_MB;
	for (int i = 0; i < s->n; i++)
	{
		double after = before + (s->regions[i].mb + SMALL_MB) * parts / all;
		int some = (int) after - (int) before;

		CHECK_FOR_INTERRUPTS();
		if (some > 0)
			divide(r, client, &s->regions[i], &looks[i], some, keys, n);
		before = after;
	}
	return keys;
}

/* -------------------------------------------------------------- maintenance */

void
wt_remote_size_flush(WtTable *t)
{
	WtRemoteTable *r = wt_remote_table(t);
	hb_client *client = wt_remote_table_client(r);
	hb_status status = hb_admin_flush(client, r->name);

	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not flush", NULL);
}

void
wt_remote_size_compact(WtTable *t, bool major)
{
	WtRemoteTable *r = wt_remote_table(t);
	hb_client *client = wt_remote_table_client(r);
	hb_status status = hb_admin_compact(client, r->name, major);

	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not compact", NULL);
}
