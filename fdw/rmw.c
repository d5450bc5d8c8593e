/*
 * rmw.c
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
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "rmw.h"

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

/* Copies a cell into all refs that name it. */
static void
fill_refs(WtCellRef **ord, int from, int to, const wide_cell *c)
{
	uint8	   *copy = palloc(c->value.len + 1);

	if (c->value.len > 0)
		memcpy(copy, c->value.data, c->value.len);
	for (int i = from; i < to; i++)
	{
		ord[i]->found = true;
		ord[i]->ts = c->ts;
		ord[i]->seq = c->seq;
		ord[i]->value.data = copy;
		ord[i]->value.len = c->value.len;
	}
}

void
wt_read_cells(Snapshot snapshot, wide_bytes key, WtCellRef *refs, int nrefs)
{
	WtCellRef **ord;
	wide_bytes *quals;
	int		   *first;			/* of distinct cell i: its first place in ord */
	int			ndistinct = 0;
	wide_scan_family fam[WT_MAX_FAMILIES];
	int			fam_first[WT_MAX_FAMILIES];
	int			nfam = 0;
	wide_range	range;
	StringInfoData buf;
	wide_scan_spec spec = {0};
	WtScan	   *scan;
	wide_row	row;

	if (nrefs == 0)
		return;
	ord = palloc(sizeof(*ord) * nrefs);
	quals = palloc(sizeof(*quals) * nrefs);
	first = palloc(sizeof(*first) * (nrefs + 1));
	for (int i = 0; i < nrefs; i++)
	{
		ord[i] = &refs[i];
		refs[i].found = false;
		refs[i].ts = PG_INT64_MIN;
		refs[i].seq = 0;
		refs[i].value.data = NULL;
		refs[i].value.len = 0;
	}
	if (nrefs > 1)
		qsort(ord, nrefs, sizeof(*ord), compare_refs);

	for (int i = 0; i < nrefs; i++)
	{
		if (i > 0 && compare_refs(&ord[i - 1], &ord[i]) == 0)
			continue;
		if (i == 0 || ord[i]->family != ord[i - 1]->family)
		{
			Assert(nfam < WT_MAX_FAMILIES);
			memset(&fam[nfam], 0, sizeof(fam[nfam]));
			fam[nfam].id = ord[i]->family;
			fam[nfam].want = WIDE_WANT_COLUMNS;
			fam[nfam].quals = &quals[ndistinct];
			fam[nfam].max_versions = 1;
			fam_first[nfam++] = ndistinct;
		}
		fam[nfam - 1].nquals++;
		first[ndistinct] = i;
		quals[ndistinct++] = ord[i]->qual;
	}
	first[ndistinct] = nrefs;

	initStringInfo(&buf);
	range = wt_row_range(key, &buf);
	spec.families = fam;
	spec.nfamilies = nfam;
	spec.ranges = &range;
	spec.nranges = 1;
	scan = wt_scan_open(snapshot, &spec);
	while (wt_scan_next(scan, &row))
	{
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];

			if (c->version == 0 && c->column >= 0)
			{
				int			d = fam_first[c->family] + c->column;

				fill_refs(ord, first[d], first[d + 1], c);
			}
		}
	}
	wt_scan_close(scan);
	pfree(buf.data);
	pfree(ord);
	pfree(quals);
	pfree(first);
}

bool
wt_is_provisional(wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts, int64 *floor)
{
	wide_scan_family fam = {.id = family, .want = WIDE_WANT_COLUMNS, .quals = &qual, .nquals = 1, .max_versions = PG_INT32_MAX};
	wide_scan_spec spec = {.families = &fam, .nfamilies = 1, .nranges = 1};
	StringInfoData buf;
	wide_range	range;
	WtScan	   *scan;
	wide_row	row;
	bool		found = false;

	*floor = PG_INT64_MIN;
	initStringInfo(&buf);
	range = wt_row_range(key, &buf);
	spec.ranges = &range;
	scan = wt_scan_open(NULL, &spec);
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
	wide_scan_family fam[WT_MAX_FAMILIES];
	StringInfoData buf;
	wide_range	range;
	wide_scan_spec spec = {0};
	WtScan	   *scan;
	wide_row	row;
	bool		found;

	memset(fam, 0, sizeof(fam[0]) * e->nall);
	for (int i = 0; i < e->nall; i++)
	{
		fam[i].id = e->all[i];
		fam[i].want = WIDE_WANT_EXISTS;
	}
	initStringInfo(&buf);
	range = wt_row_range(key, &buf);
	spec.families = fam;
	spec.nfamilies = e->nall;
	spec.ranges = &range;
	spec.nranges = 1;
	scan = wt_scan_open(NULL, &spec);
	found = wt_scan_next(scan, &row);
	wt_scan_close(scan);
	pfree(buf.data);
	return found;
}

bool
wt_cell_versions(wide_family_id family, wide_bytes key, wide_bytes qual, StringInfo ts)
{
	wide_scan_family fam = {.id = family, .want = WIDE_WANT_COLUMNS, .quals = &qual, .nquals = 1, .max_versions = PG_INT32_MAX};
	wide_scan_spec spec = {.families = &fam, .nfamilies = 1, .nranges = 1};
	StringInfoData buf;
	wide_range	range;
	WtScan	   *scan;
	wide_row	row;
	bool		provisional = false;

	initStringInfo(&buf);
	range = wt_row_range(key, &buf);
	spec.ranges = &range;
	scan = wt_scan_open(NULL, &spec);
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
