/*
 * cell_read.c
 *		Single cells and rows that are read before they are written.
 *
 * A read-modify-write locks the row, then reads the newest state.  No other
 * transaction can change the row under a lock until this one ends, so what was read
 * is still true when it is written.  Blind puts of other transactions do not take
 * the lock; their order is that of their commits.
 */
#include "postgres.h"

#include "fdw/row/cell_read.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapshot.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/store/bytes.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

static inline int
compare_refs(const WtCellRef *x, const WtCellRef *y)
{
	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	return wt_bytes_cmp(x->qual, y->qual);
}

typedef WtCellRef *CellRefPointer;

/* A map may have a million cells. */
#define ST_SORT			 sort_refs
#define ST_ELEMENT_TYPE	 CellRefPointer
#define ST_COMPARE(a, b) compare_refs(*(a), *(b))
#define ST_SCOPE		 static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

wide_range
wt_cell_read_row_range(wide_bytes key, StringInfo buf)
{
	wide_range r;

	resetStringInfo(buf);
	appendBinaryStringInfo(buf, (const char *) key.data, (int) key.len);
	appendStringInfoChar(buf, '\0');
	r.lo = (wide_bytes) {(const uint8 *) buf->data, key.len};
	r.hi = (wide_bytes) {(const uint8 *) buf->data, key.len + 1};
	return r;
}

WtColumn *
wt_cell_read_column(WtTable *t, WtRole role, int family, wide_bytes qual)
{
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		if (c->role == role && c->family == family &&
			wt_bytes_equal(c->qual, c->qual_len, qual.data, qual.len))
			return c;
	}
	return NULL;
}

wide_bytes
wt_cell_read_copy_bytes(MemoryContext cxt, wide_bytes b)
{
	uint8 *copy = MemoryContextAllocHuge(cxt, b.len + 1);

	wt_bytes_copy(copy, b.data, b.len);
	return (wide_bytes) {copy, b.len};
}

/* Copies a cell, with or without its value, into all refs that name it. */
static void
fill_refs(WtCellRef **ord, int from, int to, const wide_cell *c, bool values)
{
	wide_bytes value = {NULL, 0};

	if (values)
		value = wt_cell_read_copy_bytes(CurrentMemoryContext, c->value);
	for (int i = from; i < to; i++)
	{
		ord[i]->found = true;
		ord[i]->provisional = c->provisional;
		ord[i]->ts = c->ts;
		ord[i]->floor_ts = c->floor_ts;
		ord[i]->seq = c->seq;
		ord[i]->value = value;
	}
}

/* What a scan for the newest version of each cell asks for */
typedef struct CellRequest
{
	WtCellRef **ord;   /* the refs, sorted */
	wide_bytes *quals; /* of distinct cells */
	int *first;		   /* by distinct cell: its first ref in ord; one more entry */
	wide_scan_family fam[WT_MAX_FAMILIES];
	int fam_first[WT_MAX_FAMILIES]; /* by family: its first distinct cell */
	int nfam;
} CellRequest;

static void
make_request(CellRequest *q, WtCellRef *refs, int nrefs)
{
	int ndistinct = 0;

	q->ord = palloc(sizeof(*q->ord) * nrefs);
	q->quals = palloc(sizeof(*q->quals) * nrefs);
	q->first = palloc(sizeof(*q->first) * (nrefs + 1));
	q->nfam = 0;
	for (int i = 0; i < nrefs; i++)
		q->ord[i] = &refs[i];
	if (nrefs > 1)
		sort_refs(q->ord, nrefs);
	for (int i = 0; i < nrefs; i++)
	{
		if (i > 0 && compare_refs(q->ord[i - 1], q->ord[i]) == 0)
			continue;
		if (i == 0 || q->ord[i]->family != q->ord[i - 1]->family)
		{
			Assert(q->nfam < WT_MAX_FAMILIES);
			q->fam[q->nfam] = (wide_scan_family) {.id = q->ord[i]->family,
												  .want = WIDE_WANT_COLUMNS,
												  .quals = &q->quals[ndistinct],
												  .max_versions = 1};
			q->fam_first[q->nfam++] = ndistinct;
		}
		q->fam[q->nfam - 1].nquals++;
		q->first[ndistinct] = i;
		q->quals[ndistinct++] = q->ord[i]->qual;
	}
	q->first[ndistinct] = nrefs;
}

static wide_scan_spec
request_spec(const CellRequest *q, const wide_range *range)
{
	return (wide_scan_spec) {
		.families = q->fam, .nfamilies = q->nfam, .ranges = range, .nranges = 1};
}

/* Marks all cells as not found. */
static void
forget_cells(WtCellRef *refs, int nrefs)
{
	for (int i = 0; i < nrefs; i++)
	{
		refs[i].found = refs[i].provisional = false;
		refs[i].ts = refs[i].floor_ts = PG_INT64_MIN;
		refs[i].seq = 0;
		refs[i].value = (wide_bytes) {NULL, 0};
	}
}

/* Copies the cells that the scan returns to the refs. */
static void
fill_from(CellRequest *q, WtEngineScan *scan, bool values)
{
	wide_row row;

	while (wt_engine_scan_next(scan, &row))
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];
			int d;

			if (c->version != 0 || c->column < 0)
				continue;
			d = q->fam_first[c->family] + c->column;
			fill_refs(q->ord, q->first[d], q->first[d + 1], c, values);
		}
}

void
wt_cell_read_newest(Snapshot snapshot, wide_bytes key, WtCellRef *refs, int nrefs)
{
	CellRequest q;
	wide_range range;
	StringInfoData buf;
	wide_scan_spec spec;
	WtEngineScan *scan;

	if (nrefs == 0)
		return;
	forget_cells(refs, nrefs);
	make_request(&q, refs, nrefs);
	initStringInfo(&buf);
	range = wt_cell_read_row_range(key, &buf);
	spec = request_spec(&q, &range);
	scan = wt_engine_scan_open(snapshot, &spec);
	fill_from(&q, scan, true);
	wt_engine_scan_close(scan);
	pfree(buf.data);
	pfree(q.ord);
	pfree(q.quals);
	pfree(q.first);
}

struct WtFloorReader
{
	MemoryContext cxt; /* of the reader, without its scan */
	WtCellRef *refs;   /* copies */
	int nrefs;
	CellRequest request;
	StringInfoData range;
	WtEngineScan *scan;
};

static bool
same_refs(const WtFloorReader *r, const WtCellRef *refs, int nrefs)
{
	if (r->nrefs != nrefs)
		return false;
	for (int i = 0; i < nrefs; i++)
		if (refs[i].family != r->refs[i].family || wt_bytes_cmp(refs[i].qual, r->refs[i].qual) != 0)
			return false;
	return true;
}

static WtFloorReader *
make_floors(MemoryContext parent, const WtCellRef *refs, int nrefs)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "widetable floors", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	WtFloorReader *r = palloc0(sizeof(WtFloorReader));

	r->cxt = cxt;
	r->nrefs = nrefs;
	r->refs = palloc(sizeof(WtCellRef) * nrefs);
	memcpy(r->refs, refs, sizeof(WtCellRef) * nrefs);
	for (int i = 0; i < nrefs; i++)
		r->refs[i].qual = wt_cell_read_copy_bytes(cxt, refs[i].qual);
	make_request(&r->request, r->refs, nrefs);
	initStringInfo(&r->range);
	MemoryContextSwitchTo(old);
	return r;
}

void
wt_cell_read_floors_close(WtFloorReader *r)
{
	if (r == NULL)
		return;
	wt_engine_scan_close(r->scan);
	MemoryContextDelete(r->cxt);
}

void
wt_cell_read_floors(WtFloorReader **reader, MemoryContext cxt, wide_bytes key, WtCellRef *refs,
					int nrefs)
{
	WtFloorReader *r = *reader;
	wide_range range;

	if (nrefs == 0)
		return;
	if (r != NULL && !same_refs(r, refs, nrefs))
	{
		*reader = NULL;
		wt_cell_read_floors_close(r);
		r = NULL;
	}
	if (r == NULL)
		r = *reader = make_floors(cxt, refs, nrefs);
	forget_cells(r->refs, nrefs);
	range = wt_cell_read_row_range(key, &r->range);
	if (r->scan == NULL)
	{
		wide_scan_spec spec = request_spec(&r->request, &range);

		r->scan = wt_engine_scan_open(NULL, &spec);
	}
	else
		wt_engine_scan_restart(r->scan, &range, 1);
	fill_from(&r->request, r->scan, false);
	for (int i = 0; i < nrefs; i++)
	{
		refs[i].found = r->refs[i].found;
		refs[i].provisional = r->refs[i].provisional;
		refs[i].ts = r->refs[i].ts;
		refs[i].floor_ts = r->refs[i].floor_ts;
		refs[i].seq = r->refs[i].seq;
	}
}

bool
wt_cell_read_row_exists_again(WtEngineScan **scan, WtEngineTable *e, wide_bytes key, StringInfo buf)
{
	wide_range range = wt_cell_read_row_range(key, buf);
	wide_row row;

	if (*scan != NULL)
		wt_engine_scan_restart(*scan, &range, 1);
	else
	{
		wide_scan_family fam[WT_MAX_FAMILIES];
		wide_scan_spec spec = {
			.families = fam, .nfamilies = e->nall, .ranges = &range, .nranges = 1};

		for (int i = 0; i < e->nall; i++)
			fam[i] = (wide_scan_family) {.id = e->all[i], .want = WIDE_WANT_EXISTS};
		*scan = wt_engine_scan_open(NULL, &spec);
	}
	return wt_engine_scan_next(*scan, &row);
}

/* Opens a scan of all versions of a cell in the newest state; buf is room for the key. */
static WtEngineScan *
open_versions(wide_family_id family, wide_bytes key, wide_bytes qual, StringInfo buf)
{
	wide_scan_family fam = {.id = family,
							.want = WIDE_WANT_COLUMNS,
							.quals = &qual,
							.nquals = 1,
							.max_versions = PG_INT32_MAX};
	wide_range range = wt_cell_read_row_range(key, buf);
	wide_scan_spec spec = {.families = &fam, .nfamilies = 1, .ranges = &range, .nranges = 1};

	return wt_engine_scan_open(NULL, &spec);
}

bool
wt_cell_read_is_provisional(wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
							int64 *floor_ts)
{
	StringInfoData buf;
	WtEngineScan *scan;
	wide_row row;
	bool found = false;

	initStringInfo(&buf);
	scan = open_versions(family, key, qual, &buf);
	while (wt_engine_scan_next(scan, &row))
		for (int i = 0; i < row.ncells; i++)
			if (row.cells[i].ts == ts && row.cells[i].provisional)
			{
				found = true;
				*floor_ts = row.cells[i].floor_ts;
			}
	wt_engine_scan_close(scan);
	pfree(buf.data);
	return found;
}

int64
wt_cell_read_next_newest(wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts)
{
	StringInfoData buf;
	WtEngineScan *scan;
	wide_row row;
	int64 newest = PG_INT64_MIN;

	initStringInfo(&buf);
	scan = open_versions(family, key, qual, &buf);
	while (wt_engine_scan_next(scan, &row))
		for (int i = 0; i < row.ncells; i++)
			if (row.cells[i].ts < ts)
				newest = Max(newest, row.cells[i].ts);
	wt_engine_scan_close(scan);
	pfree(buf.data);
	return newest;
}

bool
wt_cell_read_row_exists(WtEngineTable *e, wide_bytes key)
{
	StringInfoData buf;
	WtEngineScan *scan = NULL;
	bool found;

	initStringInfo(&buf);
	found = wt_cell_read_row_exists_again(&scan, e, key, &buf);
	wt_engine_scan_close(scan);
	pfree(buf.data);
	return found;
}

bool
wt_cell_read_versions(wide_family_id family, wide_bytes key, wide_bytes qual, StringInfo ts)
{
	StringInfoData buf;
	WtEngineScan *scan;
	wide_row row;
	bool provisional = false;

	initStringInfo(&buf);
	scan = open_versions(family, key, qual, &buf);
	while (wt_engine_scan_next(scan, &row))
		for (int i = 0; i < row.ncells; i++)
		{
			if (row.cells[i].provisional)
				provisional = true;
			else
				appendBinaryStringInfo(ts, (const char *) &row.cells[i].ts, sizeof(int64));
		}
	wt_engine_scan_close(scan);
	pfree(buf.data);
	return provisional;
}
