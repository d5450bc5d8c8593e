/*
 * remote_scan.c
 *		Scans of tables of HBase, with the changes of the transaction.
 *
 * Two sources are merged by row key: the rows that HBase returns, and the rows that the
 * transaction has changed (remote_change.c).  A row that both have is made by remote_row.c.
 * Ranges of single keys are read by gets, many at a time; others by scans.
 *
 * The memory that the scan has lives in a context below TopMemoryContext, and in the client:
 * wt_remote_scan_close() frees both, also after an error.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_scan.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "fdw/remote/connection.h"
#include "fdw/remote/remote_change.h"
#include "fdw/remote/remote_get.h"
#include "fdw/remote/remote_row.h"
#include "fdw/remote/remote_table.h"
#include "fdw/remote/remote_whole.h"
#include "fdw/store/bytes.h"

#define GETS	  1000 /* keys of one call */
#define NEAR_ROWS 200  /* rows that are read before a jump is a new scan */
#define LOOK_ROWS 16   /* rows after which the way to read them is chosen again */

typedef struct RemoteScan
{
	wide_scan door; /* first */
	MemoryContext cxt;
	MemoryContext range_cxt; /* of the ranges */
	WtRemoteWant want;
	WtRemoteRequest request;
	Snapshot pg;

	wide_range *ranges;
	int nranges;
	bool points; /* each range is one key */

	/* from HBase */
	hb_scan *scan;
	bool whole;	  /* it reads rows whole; the request may have ceased to, for gets */
	bool hinted;  /* it asks for as many rows at a time as the caller will probably read */
	uint64 read;  /* rows that it has returned since it was begun */
	uint64 noted; /* rows that were read whole, in all */
	WtRemoteRows gets;
	int next_row; /* in gets */
	WtRemoteAhead ahead;
	int next_get; /* index into the ranges; in reverse order it counts down */
	hb_row row;	  /* the next one, if has_row */
	bool has_row, ended;
	StringInfoData passed; /* key of the last row that was read whole; empty: none was */
	int skipped;		   /* rows that a row filter has skipped since the last jump */

	/* of the transaction */
	bool own;		   /* there are some */
	WtRemoteRow *mine; /* the next one */
	int range;		   /* the range in which it was looked for */
	StringInfoData at; /* key of the last row that was returned; own rows come behind it */

	WtEngineWork work;
} RemoteScan;

static wide_bytes
copy_in(MemoryContext cxt, wide_bytes b)
{
	uint8 *to;

	if (b.data == NULL)
		return b;
	to = MemoryContextAlloc(cxt, Max(1, b.len));
	wt_bytes_copy(to, b.data, b.len);
	return (wide_bytes) {to, b.len};
}

/* ------------------------------------------------------------------- opening */

/* Copies the families and lists of the spec that the scan goes on to use. */
static void
copy_spec(RemoteScan *s, const wide_scan_spec *spec)
{
	wide_scan_family *f = MemoryContextAlloc(s->cxt,
											 sizeof(wide_scan_family) * Max(1, spec->nfamilies));
	wide_predicate *p = MemoryContextAllocHuge(s->cxt,
											   sizeof(wide_predicate) * Max(1, spec->npredicates));

	s->want.spec = *spec;
	for (int i = 0; i < spec->nfamilies; i++)
	{
		wide_bytes *quals = MemoryContextAlloc(s->cxt, sizeof(wide_bytes) *
														   Max(1, spec->families[i].nquals));

		f[i] = spec->families[i];
		for (int q = 0; q < f[i].nquals; q++)
			quals[q] = copy_in(s->cxt, f[i].quals[q]);
		f[i].quals = quals;
	}
	for (int i = 0; i < spec->npredicates; i++)
	{
		wide_bytes *values = MemoryContextAllocHuge(s->cxt,
													sizeof(wide_bytes) *
														Max(1, spec->predicates[i].nvalues));

		p[i] = spec->predicates[i];
		p[i].qualifier = copy_in(s->cxt, p[i].qualifier);
		for (int v = 0; v < p[i].nvalues; v++)
			values[v] = copy_in(s->cxt, p[i].values[v]);
		p[i].values = values;
	}
	s->want.spec.families = f;
	s->want.spec.predicates = p;
	s->want.spec.ranges = NULL;
}

static bool
is_point(const wide_range *r)
{
	return r->hi.data != NULL && r->hi.len == r->lo.len + 1 && r->hi.data[r->lo.len] == 0 &&
		   memcmp(r->lo.data, r->hi.data, r->lo.len) == 0;
}

static void
take_ranges(RemoteScan *s, const wide_range *ranges, int n)
{
	MemoryContextReset(s->range_cxt);
	s->ranges = MemoryContextAlloc(s->range_cxt, sizeof(wide_range) * Max(1, n));
	s->nranges = 0;
	s->points = n > 0;
	for (int i = 0; i < n; i++)
	{
		bool point = is_point(&ranges[i]);

		if (point && !wt_remote_get_may(ranges[i].lo))
			continue;
		s->ranges[s->nranges++] = (wide_range) {copy_in(s->range_cxt, ranges[i].lo),
												copy_in(s->range_cxt, ranges[i].hi)};
		s->points = s->points && point;
	}
}

/* Adds what the open scan of HBase has done, if there is one. */
static void
add_open_scan(const RemoteScan *s, WtEngineWork *to)
{
	const hb_scan_stats *h;

	if (s->scan == NULL)
		return;
	h = hb_scan_statistics(s->scan);
	to->calls += (uint64) h->calls;
	to->bytes += (uint64) h->bytes;
	to->regions += (uint64) h->regions;
	to->retries += (uint64) h->retries;
}

/* Ends the scan of HBase, if there is one; what it has done counts. */
static void
drop_scan(RemoteScan *s)
{
	if (s->scan == NULL)
		return;
	add_open_scan(s, &s->work);
	hb_scan_close(s->scan);
	s->scan = NULL;
}

/* Returns: true if all versions are read, to make the transaction's changes on them. */
static bool
needs_versions(const RemoteScan *s, bool own)
{
	return own && (s->want.spec.ts_min != 0 || s->want.spec.ts_max != 0 ||
				   wt_remote_change_of_versions(s->want.table));
}

/*
 * Sees whether the transaction has changes of the table.  It may have changed what the filter
 * would leave out, and changes of single versions concern others than the newest: what is read of
 * HBase depends on both.
 */
static void
look_for_changes(RemoteScan *s, bool first)
{
	bool own = wt_remote_change_any(s->want.table), versions = needs_versions(s, own);

	if (!first && own == s->own && versions == s->request.versions)
		return;
	s->own = own;
	drop_scan(s);
	wt_remote_get_drop(&s->request, &s->ahead);
	if (own)
		wt_remote_request_all(&s->request, versions);
	else
		wt_remote_request_filter(&s->request,
								 wt_remote_whole_pays(s->want.table, &s->want.spec, s->points));
}

static hb_range *
ranges_for_hbase(const wide_range *ranges, int n)
{
	hb_range *list = palloc0(sizeof(hb_range) * Max(1, n));

	for (int i = 0; i < n; i++)
	{
		/* a longer key is behind its beginning, and before all that is behind that */
		list[i].start_exclusive = ranges[i].lo.len > HB_MAX_ROW;
		list[i].start = (hb_bytes) {ranges[i].lo.data, Min(ranges[i].lo.len, HB_MAX_ROW)};
		if (ranges[i].hi.data == NULL)
			continue;
		list[i].stop_inclusive = ranges[i].hi.len > HB_MAX_ROW;
		list[i].stop = (hb_bytes) {ranges[i].hi.data, Min(ranges[i].hi.len, HB_MAX_ROW)};
	}
	return list;
}

/* Begins to read HBase in these ranges. */
static void
begin_scan(RemoteScan *s, const wide_range *ranges, int n)
{
	hb_range *list = ranges_for_hbase(ranges, n);
	hb_status status;

	s->has_row = false;
	s->ended = n == 0 || !wt_remote_request_finds(&s->request);
	s->skipped = 0;
	s->read = 0;
	if (s->ended)
		return;
	if (s->scan != NULL && s->whole != s->request.whole)
		drop_scan(s);
	s->whole = s->request.whole;
	if (s->scan != NULL)
		status = hb_scan_restart(s->scan, list, n, NULL);
	else
	{
		hb_scan_spec spec = {.read = wt_remote_request_read(&s->request),
							 .ranges = list,
							 .n_ranges = n,
							 .reversed = s->want.spec.reverse,
							 .rows_per_call = s->hinted ? (int) s->want.spec.row_hint
														: s->want.table->place.fetch_rows,
							 .no_read_ahead = s->hinted,
							 .bytes_per_call = (size_t) s->want.table->place.fetch_bytes};

		status = hb_scan_open(s->request.client, &spec, &s->scan);
	}
	pfree(list);
	if (status != HB_OK)
		wt_remote_request_fail(&s->request, status);
}

static void
begin(RemoteScan *s)
{
	s->next_get = s->want.spec.reverse ? s->nranges - 1 : 0;
	s->next_row = 0;
	wt_remote_get_free(&s->request, &s->gets);
	s->mine = NULL;
	s->range = s->want.spec.reverse ? s->nranges : -1;
	resetStringInfo(&s->at);
	resetStringInfo(&s->passed);
	s->has_row = false;
	s->ended = !wt_remote_request_finds(&s->request);
	if (s->points)
		return;
	if (!s->hinted && s->want.spec.row_hint != 0 &&
		s->want.spec.row_hint < (uint64) s->want.table->place.fetch_rows)
	{
		s->hinted = true;
		drop_scan(s);
	}
	begin_scan(s, s->ranges, s->nranges);
}

wide_scan *
wt_remote_scan_open(Snapshot pg, const wide_scan_spec *spec)
{
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "widetable scan of HBase",
											  ALLOCSET_SMALL_SIZES);
	RemoteScan *s = MemoryContextAllocZero(cxt, sizeof(RemoteScan));
	MemoryContext old = MemoryContextSwitchTo(cxt);

	PG_TRY();
	{
		s->cxt = cxt;
		s->range_cxt = AllocSetContextCreate(cxt, "ranges", ALLOCSET_SMALL_SIZES);
		initStringInfo(&s->at);
		initStringInfo(&s->passed);
		s->want.table = wt_remote_table_of(spec->families[0].id, NULL);
		s->request = (WtRemoteRequest) {.cxt = cxt,
										.table = s->want.table,
										.client = wt_remote_table_client_of(spec->families[0].id),
										.spec = &s->want.spec,
										.work = &s->work};
		s->pg = pg;
		copy_spec(s, spec);
		take_ranges(s, spec->ranges, spec->nranges);
		wt_remote_request_init(&s->request);
		look_for_changes(s, true);
		begin(s);
	}
	PG_CATCH();
	{
		wt_remote_scan_close(&s->door);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	return &s->door;
}

void
wt_remote_scan_restart(wide_scan *scan, const wide_range *ranges, int nranges)
{
	RemoteScan *s = (RemoteScan *) scan;

	look_for_changes(s, false);
	take_ranges(s, ranges, nranges);
	begin(s);
}

void
wt_remote_scan_close(wide_scan *scan)
{
	RemoteScan *s = (RemoteScan *) scan;

	hb_scan_close(s->scan);
	wt_remote_get_free(&s->request, &s->gets);
	wt_remote_get_drop(&s->request, &s->ahead);
	wt_remote_request_free(&s->request);
	if (s->want.cells != NULL)
		pfree(s->want.cells);
	if (s->want.merged != NULL)
		pfree(s->want.merged);
	MemoryContextDelete(s->cxt);
}

/* -------------------------------------------------------------- rows of HBase */

void
wt_remote_scan_prefetch(wide_scan *scan, const wide_range *keys, int n)
{
	RemoteScan *s = (RemoteScan *) scan;

	wt_remote_get_ahead(&s->request, &s->ahead, keys, n, s->cxt);
}

/* Takes the row of the scan's only key, if it was read ahead. */
static bool
take_ahead(RemoteScan *s)
{
	const hb_row *row = s->nranges == 1 && s->ahead.n > 0
							? wt_remote_get_find(&s->ahead, s->ranges[0].lo)
							: NULL;

	if (row == NULL || s->next_get != 0)
		return false;
	s->next_get = s->want.spec.reverse ? -1 : 1;
	s->row = *row;
	s->has_row = row->n_cells > 0;
	s->ended = !s->has_row;
	return true;
}

/* Reads the next keys by gets. */
static void
get_some(RemoteScan *s)
{
	bool reverse = s->want.spec.reverse;
	int left = reverse ? s->next_get + 1 : s->nranges - s->next_get, n = Min(left, GETS);
	hb_bytes *keys = palloc(sizeof(hb_bytes) * Max(1, n));

	for (int i = 0; i < n; i++)
	{
		const wide_range *r = &s->ranges[reverse ? s->next_get - i : s->next_get + i];

		keys[i] = (hb_bytes) {r->lo.data, r->lo.len};
	}
	s->next_get += reverse ? -n : n;
	wt_remote_get_free(&s->request, &s->gets);
	s->next_row = 0;
	wt_remote_get(&s->request, keys, n, &s->gets);
	pfree(keys);
}

/* The rows from there on (reverse: before it) are the next ones. */
static void
jump(RemoteScan *s, wide_bytes to)
{
	bool reverse = s->want.spec.reverse;
	wide_range *left = palloc(sizeof(wide_range) * Max(1, s->nranges));
	int n = 0;

	for (int i = 0; i < s->nranges; i++)
	{
		wide_range r = s->ranges[i];

		if (reverse ? wt_bytes_cmp(r.lo, to) >= 0
					: r.hi.data != NULL && wt_bytes_cmp(r.hi, to) <= 0)
			continue;
		if (reverse && (r.hi.data == NULL || wt_bytes_cmp(r.hi, to) > 0))
			r.hi = to;
		else if (!reverse && wt_bytes_cmp(r.lo, to) < 0)
			r.lo = to;
		left[n++] = r;
	}
	begin_scan(s, left, n);
	pfree(left);
}

/* Begins a new scan of HBase behind the row of this key; again: with that row. */
static void
begin_again(RemoteScan *s, wide_bytes key, bool again)
{
	StringInfoData to;

	initStringInfo(&to);
	appendBinaryStringInfo(&to, (const char *) key.data, (int) key.len);
	if (s->want.spec.reverse == again)
		appendStringInfoChar(&to, '\0');
	drop_scan(s);
	jump(s, wt_bytes_of(&to));
	pfree(to.data);
}

/* Rows are read with a filter from here on: behind the row of the key, or again: with it. */
static void
leave_whole(RemoteScan *s, wide_bytes key, bool again)
{
	drop_scan(s);
	wt_remote_request_filter(&s->request, false);
	if (key.len > 0)
		begin_again(s, key, again);
	else
		begin_scan(s, s->ranges, s->nranges);
}

/* Sets s->row to the next row of gets, or s->ended. */
static void
fetch_point(RemoteScan *s)
{
	for (;;)
	{
		while (s->gets.rows != NULL && s->next_row < s->gets.rows->n)
		{
			s->row = s->gets.rows->rows[s->next_row++];
			if (s->row.n_cells > 0)
			{
				s->has_row = true;
				return;
			}
		}
		if (s->want.spec.reverse ? s->next_get < 0 : s->next_get >= s->nranges)
		{
			s->ended = true;
			return;
		}
		if (take_ahead(s))
			return;
		get_some(s);
	}
}

/* Sets s->row to the next row of a scan of rows that are read whole, or s->ended.  Returns: false
 * if rows are not read so any more. */
static bool
fetch_whole(RemoteScan *s)
{
	wide_bytes passed = wt_bytes_of(&s->passed);
	hb_status status = hb_scan_next(s->scan, &s->row);

	/* the cells that are not wanted may be too much for an answer */
	if (status == HB_TOOLARGE)
	{
		leave_whole(s, passed, false);
		return false;
	}
	if (status != HB_OK && status != HB_END)
		wt_remote_request_fail(&s->request, status);
	s->ended = status == HB_END;
	if (s->ended)
		return true;
	resetStringInfo(&s->passed);
	appendBinaryStringInfo(&s->passed, (const char *) s->row.key.data, (int) s->row.key.len);
	if (!wt_remote_whole_note(s->want.table, &s->row) ||
		(++s->noted % LOOK_ROWS == 0 && !wt_remote_whole_pays(s->want.table, &s->want.spec, false)))
	{
		leave_whole(s, wt_bytes_of(&s->passed), true);
		return false;
	}
	s->has_row = true;
	return true;
}

/* Sets s->row to the next row of HBase, or s->ended. */
static void
fetch(RemoteScan *s)
{
	hb_status status;

	if (s->has_row || s->ended)
		return;
	if (s->points)
	{
		fetch_point(s);
		return;
	}
	/* the caller reads more rows than was to be expected: many at a time from here on */
	if (s->hinted && s->read >= s->want.spec.row_hint)
	{
		s->hinted = false;
		begin_again(s, (wide_bytes) {s->row.key.data, s->row.key.len}, false);
		if (s->ended)
			return;
	}
	if (s->request.whole && fetch_whole(s))
	{
		s->read++;
		return;
	}
	if (s->ended)
		return;
	status = hb_scan_next(s->scan, &s->row);
	if (status != HB_OK && status != HB_END)
		wt_remote_request_fail(&s->request, status);
	s->read++;
	s->has_row = status == HB_OK;
	s->ended = status == HB_END;
}

/* ----------------------------------------------------- rows of the transaction */

/* Sets s->mine to the next row that the transaction has changed, in the ranges. */
static void
fetch_mine(RemoteScan *s)
{
	bool reverse = s->want.spec.reverse;

	if (!s->own || s->mine != NULL)
		return;
	for (;;)
	{
		wide_bytes from;

		if (s->range < 0 || s->range >= s->nranges || s->at.len == 0)
		{
			/* into the next range */
			s->range += reverse ? -1 : 1;
			if (s->range < 0 || s->range >= s->nranges)
			{
				s->range = reverse ? -2 : s->nranges + 1;
				return;
			}
			from = reverse ? s->ranges[s->range].hi : s->ranges[s->range].lo;
		}
		else
			from = wt_bytes_of(&s->at);
		s->mine = wt_remote_change_row_from(s->want.table, from, reverse);
		/* in the range? */
		if (s->mine != NULL &&
			(reverse ? wt_bytes_cmp(s->mine->key, s->ranges[s->range].lo) >= 0
					 : s->ranges[s->range].hi.data == NULL ||
						   wt_bytes_cmp(s->mine->key, s->ranges[s->range].hi) < 0))
			return;
		s->mine = NULL;
		resetStringInfo(&s->at);
	}
}

/* The own row was returned: the next one is behind it. */
static void
pass_mine(RemoteScan *s)
{
	resetStringInfo(&s->at);
	appendBinaryStringInfo(&s->at, (const char *) s->mine->key.data, (int) s->mine->key.len);
	if (!s->want.spec.reverse)
		appendStringInfoChar(&s->at, '\0');
	s->mine = NULL;
}

/* ----------------------------------------------------------------- row filter */

/* Returns: true if the filter takes the row; false: it is skipped, and perhaps more, or the scan is
 * at its end. */
static bool
filter_takes(RemoteScan *s, wide_bytes key)
{
	wide_bytes seek;

	if (s->want.spec.row_filter == NULL)
		return true;
	switch (s->want.spec.row_filter(s->want.spec.filter_arg, key, &seek))
	{
		case WIDE_ROW_ACCEPT:
			s->skipped = 0;
			return true;
		case WIDE_ROW_SKIP:
			return false;
		case WIDE_ROW_SEEK:
			if (!s->points && ++s->skipped >= NEAR_ROWS && !s->ended)
				jump(s, seek);
			return false;
		case WIDE_ROW_END:
			s->ended = true;
			s->has_row = false;
			s->own = false;
			s->mine = NULL;
			return false;
	}
	return false;
}

/* -------------------------------------------------------------------- next */

bool
wt_remote_scan_next(wide_scan *scan, wide_row *out)
{
	RemoteScan *s = (RemoteScan *) scan;

	for (;;)
	{
		const hb_row *from = NULL;
		const WtRemoteRow *own = NULL;
		wide_bytes key;
		int c;

		CHECK_FOR_INTERRUPTS();
		fetch(s);
		fetch_mine(s);
		if (!s->has_row && s->mine == NULL)
			return false;
		c = !s->has_row ? 1
			: s->mine == NULL
				? -1
				: wt_bytes_cmp((wide_bytes) {s->row.key.data, s->row.key.len}, s->mine->key);
		if (s->has_row && s->mine != NULL && s->want.spec.reverse)
			c = -c;
		if (c <= 0)
			from = &s->row;
		if (c >= 0)
			own = s->mine;
		key = own != NULL ? own->key : (wide_bytes) {s->row.key.data, s->row.key.len};
		if (own != NULL)
			pass_mine(s);
		/* the row stays where it is until the next one is read */
		if (from != NULL)
			s->has_row = false;
		s->work.cells += from != NULL ? from->n_cells : 0;
		s->work.rows += from != NULL;
		if (!filter_takes(s, key) || !wt_remote_row_make(&s->want, key, from, own, s->pg, out))
			continue;
		return true;
	}
}

void
wt_remote_scan_work(const wide_scan *scan, WtEngineWork *out)
{
	const RemoteScan *s = (const RemoteScan *) scan;

	*out = s->work;
	add_open_scan(s, out);
}

bool
wt_remote_scan_whole(WtTable *t)
{
	return wt_remote_change_any(wt_remote_table(t));
}
