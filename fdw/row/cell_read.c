/*
 * cell_read.c
 *		Reading single cells for a read-modify-write, and small conversions.
 *
 * A read-modify-write locks the row first and reads the newest state then:
 * nobody else can change the row until our transaction ends, so what is read
 * stays true until it is written.  Blind puts of others do not take the lock;
 * they are ordered by their commit, as in any store of this kind.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "fdw/row/cell_read.h"

/* ----------------------------------------------------------------- cells */

static int
compare_refs(const void *a, const void *b)
{
	const WtCellRef *x = *(WtCellRef *const *) a;
	const WtCellRef *y = *(WtCellRef *const *) b;
	size_t		n = Min(x->qual.len, y->qual.len);
	int			c;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	c = n == 0 ? 0 : memcmp(x->qual.data, y->qual.data, n);
	if (c != 0)
		return c;
	return x->qual.len < y->qual.len ? -1 : x->qual.len > y->qual.len;
}

wide_range
wt_row_range(wide_bytes key, StringInfo buf)
{
	wide_range	r;

	resetStringInfo(buf);
	appendBinaryStringInfo(buf, (const char *) key.data, (int) key.len);
	appendStringInfoChar(buf, '\0');
	r.lo.data = (const uint8 *) buf->data;
	r.lo.len = key.len;
	r.hi.data = (const uint8 *) buf->data;
	r.hi.len = key.len + 1;
	return r;
}

/* Copies a cell, with or without its value, into all refs that name it. */
static void
fill_refs(WtCellRef **ord, int from, int to, const wide_cell *c, bool values)
{
	uint8	   *copy = values ? palloc(c->value.len + 1) : NULL;

	if (values && c->value.len > 0)
		memcpy(copy, c->value.data, c->value.len);
	for (int i = from; i < to; i++)
	{
		ord[i]->found = true;
		ord[i]->ts = c->ts;
		ord[i]->seq = c->seq;
		ord[i]->value.data = copy;
		ord[i]->value.len = values ? c->value.len : 0;
	}
}

/* What to ask the engine so that it gives the newest version of each of the cells. */
typedef struct CellRequest
{
	WtCellRef **ord;			/* the refs, sorted */
	wide_bytes *quals;			/* of distinct cells */
	int		   *first;			/* of distinct cell i: its first place in ord */
	wide_scan_family fam[WT_MAX_FAMILIES];
	int			fam_first[WT_MAX_FAMILIES];	/* the first distinct cell of each */
	int			nfam;
} CellRequest;

static void
make_request(CellRequest *q, WtCellRef *refs, int nrefs)
{
	int			ndistinct = 0;

	q->ord = palloc(sizeof(*q->ord) * nrefs);
	q->quals = palloc(sizeof(*q->quals) * nrefs);
	q->first = palloc(sizeof(*q->first) * (nrefs + 1));
	q->nfam = 0;
	for (int i = 0; i < nrefs; i++)
		q->ord[i] = &refs[i];
	if (nrefs > 1)
		qsort(q->ord, nrefs, sizeof(*q->ord), compare_refs);
	for (int i = 0; i < nrefs; i++)
	{
		wide_scan_family *f;

		if (i > 0 && compare_refs(&q->ord[i - 1], &q->ord[i]) == 0)
			continue;
		if (i == 0 || q->ord[i]->family != q->ord[i - 1]->family)
		{
			Assert(q->nfam < WT_MAX_FAMILIES);
			f = &q->fam[q->nfam];
			memset(f, 0, sizeof(*f));
			f->id = q->ord[i]->family;
			f->want = WIDE_WANT_COLUMNS;
			f->quals = &q->quals[ndistinct];
			f->max_versions = 1;
			q->fam_first[q->nfam++] = ndistinct;
		}
		q->fam[q->nfam - 1].nquals++;
		q->first[ndistinct] = i;
		q->quals[ndistinct++] = q->ord[i]->qual;
	}
	q->first[ndistinct] = nrefs;
}

static void
forget_cells(WtCellRef *refs, int nrefs)
{
	for (int i = 0; i < nrefs; i++)
	{
		refs[i].found = false;
		refs[i].ts = PG_INT64_MIN;
		refs[i].seq = 0;
		refs[i].value.data = NULL;
		refs[i].value.len = 0;
	}
}

/* Distributes what the scan finds to the refs. */
static void
fill_from(CellRequest *q, WtScan *scan, bool values)
{
	wide_row	row;

	while (wt_scan_next(scan, &row))
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];
			int			d;

			if (c->version != 0 || c->column < 0)
				continue;
			d = q->fam_first[c->family] + c->column;
			fill_refs(q->ord, q->first[d], q->first[d + 1], c, values);
		}
}

void
wt_read_cells(Snapshot snapshot, wide_bytes key, WtCellRef *refs, int nrefs)
{
	CellRequest q;
	wide_range	range;
	StringInfoData buf;
	wide_scan_spec spec = {0};
	WtScan	   *scan;

	if (nrefs == 0)
		return;
	forget_cells(refs, nrefs);
	make_request(&q, refs, nrefs);
	initStringInfo(&buf);
	range = wt_row_range(key, &buf);
	spec.families = q.fam;
	spec.nfamilies = q.nfam;
	spec.ranges = &range;
	spec.nranges = 1;
	scan = wt_scan_open(snapshot, &spec);
	fill_from(&q, scan, true);
	wt_scan_close(scan);
	pfree(buf.data);
	pfree(q.ord);
	pfree(q.quals);
	pfree(q.first);
}

struct WtFloorReader
{
	MemoryContext cxt;			/* of all that follows */
	WtCellRef  *refs;			/* what is asked for */
	int			nrefs;
	CellRequest request;
	StringInfoData range;
	WtScan	   *scan;
};

static bool
same_refs(const WtFloorReader *r, const WtCellRef *refs, int nrefs)
{
	if (r->nrefs != nrefs)
		return false;
	for (int i = 0; i < nrefs; i++)
		if (refs[i].family != r->refs[i].family ||
			!wt_bytes_equal(refs[i].qual.data, refs[i].qual.len, r->refs[i].qual.data, r->refs[i].qual.len))
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
	{
		uint8	   *copy = palloc(refs[i].qual.len + 1);

		if (refs[i].qual.len > 0)
			memcpy(copy, refs[i].qual.data, refs[i].qual.len);
		r->refs[i].qual.data = copy;
	}
	make_request(&r->request, r->refs, nrefs);
	initStringInfo(&r->range);
	MemoryContextSwitchTo(old);
	return r;
}

void
wt_floors_close(WtFloorReader *r)
{
	if (r == NULL)
		return;
	wt_scan_close(r->scan);
	MemoryContextDelete(r->cxt);
}

void
wt_read_floors(WtFloorReader **reader, MemoryContext cxt, wide_bytes key, WtCellRef *refs, int nrefs)
{
	WtFloorReader *r = *reader;
	wide_range	range;

	if (nrefs == 0)
		return;
	if (r != NULL && !same_refs(r, refs, nrefs))
	{
		*reader = NULL;
		wt_floors_close(r);
		r = NULL;
	}
	if (r == NULL)
		r = *reader = make_floors(cxt, refs, nrefs);
	forget_cells(r->refs, nrefs);
	range = wt_row_range(key, &r->range);
	if (r->scan == NULL)
	{
		wide_scan_spec spec = {.families = r->request.fam, .nfamilies = r->request.nfam, .ranges = &range, .nranges = 1};

		r->scan = wt_scan_open(NULL, &spec);
	}
	else
		wt_scan_restart(r->scan, &range, 1);
	fill_from(&r->request, r->scan, false);
	for (int i = 0; i < nrefs; i++)
	{
		refs[i].found = r->refs[i].found;
		refs[i].ts = r->refs[i].ts;
		refs[i].seq = r->refs[i].seq;
	}
}

bool
wt_row_exists_again(WtScan **scan, WtEngine *e, wide_bytes key, StringInfo buf)
{
	wide_range	range = wt_row_range(key, buf);
	wide_row	row;

	if (*scan != NULL)
		wt_scan_restart(*scan, &range, 1);
	else
	{
		wide_scan_family fam[WT_MAX_FAMILIES];
		wide_scan_spec spec = {.families = fam, .nfamilies = e->nall, .ranges = &range, .nranges = 1};

		memset(fam, 0, sizeof(fam[0]) * e->nall);
		for (int i = 0; i < e->nall; i++)
		{
			fam[i].id = e->all[i];
			fam[i].want = WIDE_WANT_EXISTS;
		}
		*scan = wt_scan_open(NULL, &spec);
	}
	return wt_scan_next(*scan, &row);
}

/* All versions of a cell in the newest state; the bytes of the range live in buf. */
static WtScan *
open_versions(wide_family_id family, wide_bytes key, wide_bytes qual, StringInfo buf)
{
	wide_scan_family fam = {.id = family, .want = WIDE_WANT_COLUMNS, .quals = &qual, .nquals = 1, .max_versions = PG_INT32_MAX};
	wide_range	range = wt_row_range(key, buf);
	wide_scan_spec spec = {.families = &fam, .nfamilies = 1, .ranges = &range, .nranges = 1};

	return wt_scan_open(NULL, &spec);
}

bool
wt_is_provisional(wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts, int64 *floor)
{
	StringInfoData buf;
	WtScan	   *scan;
	wide_row	row;
	bool		found = false;

	*floor = PG_INT64_MIN;
	initStringInfo(&buf);
	scan = open_versions(family, key, qual, &buf);
	while (wt_scan_next(scan, &row))
		for (int i = 0; i < row.ncells; i++)
		{
			if (row.cells[i].ts == ts)
				found = row.cells[i].provisional;
			else if (row.cells[i].ts < ts)
				*floor = Max(*floor, row.cells[i].ts);
		}
	wt_scan_close(scan);
	pfree(buf.data);
	return found;
}

bool
wt_row_exists(WtTable *t, WtEngine *e, wide_bytes key)
{
	StringInfoData buf;
	WtScan	   *scan = NULL;
	bool		found;

	initStringInfo(&buf);
	found = wt_row_exists_again(&scan, e, key, &buf);
	wt_scan_close(scan);
	pfree(buf.data);
	return found;
}

bool
wt_cell_versions(wide_family_id family, wide_bytes key, wide_bytes qual, StringInfo ts)
{
	StringInfoData buf;
	WtScan	   *scan;
	wide_row	row;
	bool		provisional = false;

	initStringInfo(&buf);
	scan = open_versions(family, key, qual, &buf);
	while (wt_scan_next(scan, &row))
		for (int i = 0; i < row.ncells; i++)
		{
			if (row.cells[i].provisional)
				provisional = true;
			else
				appendBinaryStringInfo(ts, (const char *) &row.cells[i].ts, sizeof(int64));
		}
	wt_scan_close(scan);
	pfree(buf.data);
	return provisional;
}

/* -------------------------------------------------------------- families */

wide_family *
wt_families(WtEngine *e, int *n)
{
	wide_family *f = palloc(sizeof(wide_family) * WT_MAX_FAMILIES);

	*n = wide_table_families(wt_db(), wt_batch(false), e->table, f, WT_MAX_FAMILIES);
	*n = Min(*n, WT_MAX_FAMILIES);
	return f;
}

wide_family_id
wt_family_by_name(WtTable *t, WtEngine *e, const char *name)
{
	int			i = wt_family_index(t, name);
	wide_family_id id = 0;
	wide_family *f;
	int			n;

	if (i >= 0)
		return e->families[i];
	f = wt_families(e, &n);
	for (i = 0; i < n && id == 0; i++)
	{
		if (strcmp(f[i].name, name) == 0)
			id = f[i].id;
	}
	pfree(f);
	return id;
}

/* --------------------------------------------------------- bytes and text */

bool
wt_bytes_are_text(const uint8 *data, size_t len)
{
	if (len == 0)
		return true;
	return memchr(data, 0, len) == NULL &&
		pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true);
}

char *
wt_bytes_show(wide_bytes b)
{
	char	   *s;

	if (wt_bytes_are_text(b.data, b.len))
		return b.len == 0 ? pstrdup("") : pnstrdup((const char *) b.data, b.len);
	s = palloc(b.len * 2 + 3);
	s[0] = '\\';
	s[1] = 'x';
	hex_encode((const char *) b.data, b.len, s + 2);
	s[b.len * 2 + 2] = '\0';
	return s;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Text stands for itself; \x… stands for bytes only where these bytes are not
 * text, because only then are they shown that way.
 */
void
wt_bytes_unshow(const char *text, size_t len, StringInfo out)
{
	int			start = out->len;

	if (len > 2 && len % 2 == 0 && text[0] == '\\' && text[1] == 'x')
	{
		size_t		i;

		for (i = 2; i < len; i += 2)
		{
			int			hi = hex_digit(text[i]);
			int			lo = hex_digit(text[i + 1]);

			if (hi < 0 || lo < 0)
				break;
			appendStringInfoCharMacro(out, (char) (hi << 4 | lo));
		}
		if (i == len && !wt_bytes_are_text((uint8 *) out->data + start, out->len - start))
			return;
		out->len = start;
	}
	appendBinaryStringInfo(out, text, (int) len);
}

char *
wt_qualifier_show(wide_bytes b)
{
	static const char digits[] = "0123456789abcdef";
	char	   *s,
			   *p;

	if (wt_bytes_are_text(b.data, b.len))
		return b.len == 0 ? pstrdup("") : pnstrdup((const char *) b.data, b.len);
	p = s = palloc(b.len * 4 + 1);
	for (size_t i = 0; i < b.len; i++)
	{
		*p++ = '\\';
		*p++ = 'x';
		*p++ = digits[b.data[i] >> 4];
		*p++ = digits[b.data[i] & 15];
	}
	*p = '\0';
	return s;
}

/* Text stands for itself; \xHH for bytes only where nothing else is there and the bytes are not text. */
void
wt_qualifier_unshow(const char *text, size_t len, StringInfo out)
{
	int			start = out->len;
	size_t		i;

	for (i = 0; i + 4 <= len && text[i] == '\\' && text[i + 1] == 'x'; i += 4)
	{
		int			hi = hex_digit(text[i + 2]);
		int			lo = hex_digit(text[i + 3]);

		if (hi < 0 || lo < 0)
			break;
		appendStringInfoCharMacro(out, (char) (hi << 4 | lo));
	}
	if (len > 0 && i == len && !wt_bytes_are_text((uint8 *) out->data + start, out->len - start))
		return;
	out->len = start;
	appendBinaryStringInfo(out, text, (int) len);
}

char *
wt_qualifier_argument(wide_bytes b)
{
	char	   *shown = wt_qualifier_show(b);
	StringInfoData s;
	uint32		n;
	uint8	   *read;

	if (strchr(shown, '\\') == NULL)
		return shown;
	read = wt_unescape_argument(shown, &n);
	if (wt_bytes_equal(read, n, b.data, b.len))
		return shown;
	initStringInfo(&s);
	for (const char *p = shown; *p; p++)
	{
		if (*p == '\\')
			appendStringInfoCharMacro(&s, '\\');
		appendStringInfoCharMacro(&s, *p);
	}
	return s.data;
}

bool
wt_json_text(const JsonbValue *v, StringInfo out)
{
	switch (v->type)
	{
		case jbvNull:
			return false;
		case jbvString:
			appendBinaryStringInfo(out, v->val.string.val, v->val.string.len);
			return true;
		case jbvNumeric:
			appendStringInfoString(out, DatumGetCString(DirectFunctionCall1(numeric_out,
																			 NumericGetDatum(v->val.numeric))));
			return true;
		case jbvBool:
			appendStringInfoString(out, v->val.boolean ? "true" : "false");
			return true;
		case jbvBinary:
			JsonbToCString(out, v->val.binary.data, v->val.binary.len);
			return true;
		default:
			elog(ERROR, "unexpected kind %d of JSON value", (int) v->type);
	}
	return false;				/* keep compiler quiet */
}

int64
wt_timestamp_arg(Oid typid, Datum value, const char *column)
{
	int64		ts = DatumGetInt64(value);

	if (typid == TIMESTAMPTZOID || typid == TIMESTAMPOID)
	{
		if (TIMESTAMP_NOT_FINITE(ts) || pg_add_s64_overflow(ts, WT_EPOCH_DIFF, &ts))
			ereport(ERROR,
					(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
					 errmsg("timestamp of a cell out of range"),
					 column ? errdetail("Column \"%s\".", column) : 0));
	}
	if (ts < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp of a cell must not be negative: " INT64_FORMAT, ts),
				 column ? errdetail("Column \"%s\".", column) : 0,
				 errhint("Timestamps count microseconds since 1970.")));
	return ts;
}
