/*
 * reader.c
 *		Row readers: assemble SQL rows from the engine's cells.
 *
 * A row reader knows which cells a set of columns needs, and decodes them.  Scans,
 * SQL functions and UPDATE use it.
 *
 * Existence.  With existence 'any' a row exists if any family has a live cell of
 * it, whichever columns are read.  So each family of the engine's table that is not
 * read as a whole is asked for existence besides the wanted columns, unless the
 * planner has found a family in which every row of the result must have a cell.
 */
#include "postgres.h"

#include "fdw/row/reader.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/key/cell_version.h"
#include "fdw/key/key_interval.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/row/map.h"
#include "fdw/row/reader_key.h"
#include "fdw/row/reader_span.h"
#include "fdw/row/reader_value.h"
#include "fdw/row/scan_set.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/decode.h"
#include "fdw/table/lookup.h"
#include "fdw/table/marker.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

static wide_bytes
column_qual(const WtColumn *c)
{
	return (wide_bytes) {c->qual ? c->qual : (const uint8 *) "", c->qual_len};
}

/* Returns true if the column shows a cell's value or timestamp, or the original of a digest. */
static bool
is_of_cell(const WtColumn *c)
{
	return c->family >= 0 &&
		   (c->role == WT_CELL || c->role == WT_TIMESTAMP_OF || c->role == WT_KEY);
}

static int
mapped_cmp(const void *a, const void *b)
{
	return wt_bytes_cmp(((const WtMappedCell *) a)->qual, ((const WtMappedCell *) b)->qual);
}

/* Fills in rf->mapped: the qualifiers that columns map; with all, also those of unwanted columns.
 */
static void
collect_mapped(WtRowReader *r, WtReadFamily *rf, bool all)
{
	WtTable *t = r->t;
	int n = 0;

	rf->mapped = palloc0(sizeof(WtMappedCell) * Max(1, t->natts));
	for (int a = 0; a < t->natts; a++)
	{
		WtColumn *c = &t->columns[a];
		WtMappedCell *m = NULL;

		if (!is_of_cell(c) || c->family != rf->family || !(all || r->wanted[a]))
			continue;
		for (int i = 0; i < n && m == NULL; i++)
			if (wt_bytes_cmp(rf->mapped[i].qual, column_qual(c)) == 0)
				m = &rf->mapped[i];
		if (m == NULL)
		{
			m = &rf->mapped[n++];
			m->qual = column_qual(c);
		}
		if (r->wanted[a])
		{
			WtTarget *target = palloc(sizeof(WtTarget));

			target->att = a;
			target->column = c;
			target->width = wt_reader_integer_width(c);
			target->text = c->role == WT_CELL && wt_is_text(c->typid) && c->enc == WT_ENC_TEXT;
			target->bytes = c->role == WT_CELL && c->typid == BYTEAOID && c->enc == WT_ENC_BYTES;
			target->fixed = c->role == WT_CELL && !c->nested && wt_decode_is_fixed(c);
			if (c->role == WT_KEY)
			{
				/* the original of a digest is stored as text */
				WtColumn *original = palloc(sizeof(WtColumn));

				*original = *c;
				original->enc = WT_ENC_TEXT;
				target->column = original;
			}
			target->next = m->targets;
			m->targets = target;
		}
	}
	rf->nmapped = n;
	if (n > 1)
		qsort(rf->mapped, n, sizeof(WtMappedCell), mapped_cmp);
}

/* Fills in rf->maps. */
static void
collect_maps(WtRowReader *r, WtReadFamily *rf)
{
	rf->maps = palloc(sizeof(int) * Max(1, r->t->natts));
	rf->nmaps = 0;
	for (int a = 0; a < r->t->natts; a++)
		if (r->wanted[a] && r->t->columns[a].role == WT_MAP &&
			r->t->columns[a].family == rf->family)
			rf->maps[rf->nmaps++] = a;
}

/* Reads the wanted columns of a family.  Returns false if it has none. */
static bool
read_family(WtRowReader *r, int family, wide_family_id id, wide_scan_family *sf, WtReadFamily *rf)
{
	WtColumn *map;
	wide_bytes *quals;

	*sf = (wide_scan_family) {.id = id, .max_versions = 1};
	*rf = (WtReadFamily) {.family = family};
	collect_maps(r, rf);
	collect_mapped(r, rf, false);
	if (rf->nmaps == 0)
	{
		if (rf->nmapped == 0)
			return false;
		sf->want = WIDE_WANT_COLUMNS;
		quals = palloc(sizeof(wide_bytes) * rf->nmapped);
		for (int i = 0; i < rf->nmapped; i++)
			quals[i] = rf->mapped[i].qual;
		sf->quals = quals;
		sf->nquals = rf->nmapped;
		return true;
	}
	sf->want = WIDE_WANT_ALL;
	map = &r->t->columns[rf->maps[0]];
	if (rf->nmaps == 1 && rf->nmapped == 0 && map->qual_len > 0)
	{
		StringInfoData end;

		initStringInfo(&end);
		quals = palloc0(sizeof(wide_bytes) * 2);
		quals[0] = column_qual(map);
		if (wt_rowkey_prefix_end(map->qual, map->qual_len, &end))
			quals[1] = wt_bytes_of(&end);
		sf->want = WIDE_WANT_RANGE;
		sf->quals = quals;
		sf->nquals = 2;
	}
	collect_mapped(r, rf, true);
	return true;
}

/* Reads nothing of a family but whether rows exist in it. */
static void
add_existence(wide_scan_family *sf, WtReadFamily *rf, wide_family_id id)
{
	*sf = (wide_scan_family) {.id = id, .want = WIDE_WANT_EXISTS};
	*rf = (WtReadFamily) {.family = -1};
}

#define SPARE_FAMILIES 2 /* for entries that predicates add */

/* Allocates entries for n families, and SPARE_FAMILIES more. */
static wide_scan_family *
make_room(WtRowReader *r, int n)
{
	r->families_cap = n + SPARE_FAMILIES;
	r->families = palloc(sizeof(WtReadFamily) * r->families_cap);
	return palloc(sizeof(wide_scan_family) * r->families_cap);
}

/* Layout rows: which families are read, and what of them. */
static wide_scan_family *
choose_families(WtRowReader *r, WtEngineTable *e, int strict_family)
{
	WtTable *t = r->t;
	wide_scan_family *fams = make_room(r, t->nfamilies + e->nall);
	wide_scan_family *read[WT_MAX_FAMILIES] = {NULL}; /* by index into e->all */
	int n = 0;

	for (int f = 0; f < t->nfamilies; f++)
	{
		if (e->families[f] == 0 || !read_family(r, f, e->families[f], &fams[n], &r->families[n]))
			continue;
		for (int i = 0; i < e->nall; i++)
			if (e->all[i] == e->families[f])
				read[i] = &fams[n];
		n++;
	}
	if (strict_family < 0 || e->families[strict_family] == 0)
	{
		bool any = n > 0;

		for (int i = 0; i < e->nall; i++)
		{
			/* as in HBase: only the families that are read, or if there is none, the first */
			if (t->existence_projected && !(any ? read[i] != NULL : e->all[i] == e->families[0]))
				continue;
			if (read[i] != NULL)
				read[i]->any_exists = true;
			else
			{
				add_existence(&fams[n], &r->families[n], e->all[i]);
				n++;
			}
		}
	}
	r->nfamilies = n;
	return fams;
}

/* Returns true if the bytes are in one of the intervals. */
static bool
in_intervals(const WtIntervals *p, wide_bytes b)
{
	if (!p->restricted)
		return true;
	for (int i = 0; i < p->n; i++)
		if (wt_bytes_cmp(p->iv[i].lo, b) <= 0 && (p->iv[i].inf || wt_bytes_cmp(b, p->iv[i].hi) < 0))
			return true;
	return false;
}

static int
family_name_cmp(const void *a, const void *b)
{
	return strcmp(((const wide_family *) a)->name, ((const wide_family *) b)->name);
}

/* Layout cells: which columns of a family, by the qualifiers that pass the tests: points, or one
 * interval, because <> is not tested on qualifiers. */
static void
choose_quals(wide_scan_family *sf, WtReadFamily *rf, const WtIntervals *quals)
{
	wide_bytes *want;

	if (!quals->restricted)
	{
		sf->want = WIDE_WANT_ALL;
		return;
	}
	want = palloc0(sizeof(wide_bytes) * Max(2, quals->n));
	sf->quals = want;
	if (quals->iv[0].point)
	{
		sf->want = WIDE_WANT_COLUMNS;
		sf->nquals = rf->nmapped = quals->n;
		rf->mapped = palloc0(sizeof(WtMappedCell) * quals->n);
		for (int q = 0; q < quals->n; q++)
			rf->mapped[q].qual = want[q] = quals->iv[q].lo;
	}
	else
	{
		sf->want = WIDE_WANT_RANGE;
		sf->nquals = 2;
		want[0] = quals->iv[0].lo;
		if (!quals->iv[0].inf)
			want[1] = quals->iv[0].hi;
	}
}

/* Layout cells: which families, and what of them, by the tests on family and qualifier. */
static wide_scan_family *
choose_cells(WtRowReader *r, WtEngineTable *e, const WtTest *tests, int ntests, const WtArg *args)
{
	WtTable *t = r->t;
	WtIntervals families = wt_key_interval_of_part(t, tests, ntests, args, WT_PART_FAMILY(t));
	WtIntervals quals = wt_key_interval_of_part(t, tests, ntests, args, WT_PART_QUALIFIER(t));
	int versions = wt_cell_version_limit(tests, ntests, args, WT_PART_VERSION(t));
	int nall, n = 0;
	wide_family *all = wt_engine_table_families(e, &nall);
	wide_scan_family *fams = make_room(r, Min(nall, WT_MAX_FAMILIES));

	/* scan_path.c relies on the order of their names */
	qsort(all, nall, sizeof(wide_family), family_name_cmp);
	if (quals.restricted && quals.n == 0)
		nall = 0;
	for (int i = 0; i < nall && n < WT_MAX_FAMILIES; i++)
	{
		wide_bytes name = {(const uint8 *) all[i].name, strlen(all[i].name)};

		if (!in_intervals(&families, name))
			continue;
		r->families[n] = (WtReadFamily) {.family = -1, .name = all[i].name};
		fams[n] = (wide_scan_family) {.id = all[i].id, .max_versions = versions};
		choose_quals(&fams[n], &r->families[n], &quals);
		n++;
	}
	r->nfamilies = n;
	return fams;
}

/* Of a roll-up: leaves out groups that have no rows left (fdw/derived/rollup.h). */
static void
hide_empty_groups(WtRowReader *r, WtEngineTable *e, wide_scan_spec *spec)
{
	static const uint8 zero[sizeof(uint64)] = {0};
	wide_predicate *p;
	wide_bytes *value;

	if (e->families[0] == 0)
		return;
	p = palloc0(sizeof(wide_predicate));
	value = palloc(sizeof(wide_bytes));
	*value = (wide_bytes) {zero, sizeof(zero)};
	*p = (wide_predicate) {.clause = -1,
						   .op = WIDE_OP_NE,
						   .kind = WIDE_KIND_SIGNED,
						   .qualifier = {(const uint8 *) "", 0},
						   .values = value,
						   .nvalues = 1,
						   .width = sizeof(zero)};
	p->family = wt_reader_family(r, spec, e->families[0]);
	spec->predicates = p;
	spec->npredicates = 1;
}

WtRowReader *
wt_reader_make(WtTable *t, WtEngineTable *e, const bool *columns, int strict_family,
			   const WtTest *tests, int ntests, const WtArg *args, wide_scan_spec *spec)
{
	WtRowReader *r = palloc0(sizeof(WtRowReader));
	wide_scan_family *fams = NULL;

	r->t = t;
	r->wanted = palloc0(sizeof(bool) * Max(1, t->natts));
	r->need_part = palloc0(sizeof(bool) * t->nkeys);
	r->part_values = palloc0(sizeof(Datum) * t->nkeys);
	r->part_nulls = palloc0(sizeof(bool) * t->nkeys);
	r->maps = palloc0(sizeof(JsonbParseState *) * Max(1, t->natts));
	initStringInfo(&r->key);
	for (int a = 0; a < t->natts; a++)
	{
		r->wanted[a] = (columns == NULL || columns[a]) && t->columns[a].role != WT_DROPPED;
		if (r->wanted[a] && t->columns[a].role == WT_KEY)
			r->need_part[t->columns[a].part] = true;
	}
	wt_reader_key_note(r);
	if (t->cells_layout)
	{
		WtTimes times = wt_cell_version_times(t, tests, ntests, args, &spec->show_min,
											  &spec->show_max);

		fams = times != WT_TIMES_NONE ? choose_cells(r, e, tests, ntests, args) : make_room(r, 0);
		if (times != WT_TIMES_SOME)
			spec->show_min = spec->show_max = 0;
		spec->row_limit = (uint32_t) wt_cell_version_limit(tests, ntests, args, WT_PART_NO(t));
	}
	else
	{
		fams = choose_families(r, e, strict_family);
		wt_reader_span_number(r);
	}
	spec->families = fams;
	spec->nfamilies = r->nfamilies;
	if (t->rollup_of != NULL)
		hide_empty_groups(r, e, spec);
	return r;
}

int
wt_reader_family(WtRowReader *r, wide_scan_spec *spec, wide_family_id id)
{
	for (int i = 0; i < spec->nfamilies; i++)
		if (spec->families[i].id == id)
			return i;
	return wt_reader_add(r, spec, id);
}

int
wt_reader_add(WtRowReader *r, wide_scan_spec *spec, wide_family_id id)
{
	wide_scan_family *fams = (wide_scan_family *) spec->families;
	int n = spec->nfamilies;

	if (n == r->families_cap)
	{
		r->families_cap *= 2;
		r->families = repalloc(r->families, sizeof(WtReadFamily) * r->families_cap);
		spec->families = fams = repalloc(fams, sizeof(wide_scan_family) * r->families_cap);
	}
	add_existence(&fams[n], &r->families[n], id);
	fams[n].want = WIDE_WANT_COLUMNS;
	spec->nfamilies = r->nfamilies = n + 1;
	return n;
}

/* Returns a cell's timestamp as a value of the column; out of PostgreSQL's range: infinity. */
static Datum
timestamp_datum(const WtColumn *c, int64 ts)
{
	TimestampTz t;

	if (c->typid != TIMESTAMPTZOID)
		return Int64GetDatum(ts);
	if (pg_sub_s64_overflow(ts, WT_EPOCH_DIFF, &t) || t < MIN_TIMESTAMP)
		t = DT_NOBEGIN;
	else if (!IS_VALID_TIMESTAMP(t))
		t = DT_NOEND;
	return TimestampTzGetDatum(t);
}

/* Sets v to a string: the text that data is, or what show makes of it.  copy: the cell's memory
 * does not last until the row is complete. */
static void
json_string(JsonbValue *v, const uint8 *data, size_t len, bool copy, char *(*show)(wide_bytes))
{
	v->type = jbvString;
	if (!wt_bytes_text_is_valid(data, len))
	{
		v->val.string.val = show((wide_bytes) {data, len});
		v->val.string.len = strlen(v->val.string.val);
		return;
	}
	v->val.string.val = copy ? pnstrdup((const char *) data, len) : (char *) data;
	v->val.string.len = len;
}

/* Adds a cell to the maps of its family that show it. */
static void
add_to_maps(WtRowReader *r, WtReadFamily *rf, const wide_cell *cell, bool copy)
{
	if (wt_marker_is(r->t, rf->family, cell->qualifier, cell->value))
		return;
	for (int i = 0; i < rf->nmaps; i++)
	{
		int a = rf->maps[i];
		const WtColumn *c = &r->t->columns[a];
		JsonbValue v;

		if (!wt_lookup_map_shows(r->t, c, cell->qualifier))
			continue;
		if (r->maps[a] == NULL)
			(void) pushJsonbValue(&r->maps[a], WJB_BEGIN_OBJECT, NULL);
		json_string(&v, cell->qualifier.data + c->qual_len, cell->qualifier.len - c->qual_len, copy,
					wt_bytes_text_show_qualifier);
		(void) pushJsonbValue(&r->maps[a], WJB_KEY, &v);
		json_string(&v, cell->value.data, cell->value.len, copy, wt_bytes_text_show);
		(void) pushJsonbValue(&r->maps[a], WJB_VALUE, &v);
	}
}

WtWidth
wt_reader_integer_width(const WtColumn *c)
{
	WtWidth w = {0, 0};
	int bytes = c->typid == INT2OID ? 2 : c->typid == INT4OID ? 4 : c->typid == INT8OID ? 8 : 0;

	if (c->role != WT_CELL || bytes == 0 ||
		(c->enc != WT_ENC_BINARY && c->enc != WT_ENC_ORDERED && c->enc != WT_ENC_COUNTER))
		return w;
	w.bytes = bytes;
	if (c->enc == WT_ENC_ORDERED)
		w.flip = UINT64CONST(1) << (bytes * 8 - 1);
	return w;
}

/* Sets the columns that a cell fills. */
static inline void
set_targets(WtRowReader *r, const WtTarget *target, wide_bytes key, const wide_cell *cell,
			Datum *values, bool *nulls)
{
	for (; target != NULL; target = target->next)
	{
		if (r->floors != NULL)
		{
			r->floors[target->att] = cell->floor_ts;
			if (r->floor_only[target->att])
				continue;
		}
		if (target->column->role == WT_TIMESTAMP_OF)
			values[target->att] = timestamp_datum(target->column, cell->ts);
		else if (!wt_reader_value_short(r, target, cell->value, &values[target->att]))
			values[target->att] = wt_cell_value_decode(target->column, r->t, key, cell->value.data,
													   cell->value.len);
		nulls[target->att] = false;
	}
}

/* Sets the time to live of its own that the cell has for the columns which show it. */
static void
note_own_ttl(WtRowReader *r, const wide_cell *cell)
{
	const WtReadFamily *rf = &r->families[cell->family];
	WtMappedCell wanted, *m;

	wanted.qual = cell->qualifier;
	if (cell->column >= 0)
		m = &rf->mapped[cell->column];
	else
		m = rf->nmapped == 0
				? NULL
				: bsearch(&wanted, rf->mapped, rf->nmapped, sizeof(WtMappedCell), mapped_cmp);
	for (const WtTarget *t = m != NULL ? m->targets : NULL; t != NULL; t = t->next)
		r->own_ttl[t->att] = cell->ttl_us;
	for (int i = 0; m == NULL && i < rf->nmaps; i++)
	{
		int64 *ttl = &r->own_ttl[rf->maps[i]];

		if (wt_lookup_map_shows(r->t, &r->t->columns[rf->maps[i]], cell->qualifier))
			*ttl = Max(*ttl, cell->ttl_us);
	}
}

/* Adds a cell to the hash that tells this version of the row from others. */
static void
add_to_fingerprint(WtRowReader *r, const wide_cell *cell)
{
	uint32 h = hash_bytes((const unsigned char *) &cell->seq, sizeof(cell->seq));

	h = hash_combine(h, (uint32) cell->family);
	h = hash_combine(h, (uint32) cell->column);
	if (cell->qualifier.len > 0)
		h = hash_combine(h, hash_bytes(cell->qualifier.data, cell->qualifier.len));
	/* cells of this transaction may have no timestamp yet */
	if (cell->seq != 0)
		h = hash_combine(h, hash_bytes((const unsigned char *) &cell->ts, sizeof(cell->ts)));
	else
		r->own_cells++;
	/* a sum, because two scans may return the cells in different orders: cells that predicates
	 * test come first */
	r->fingerprint += murmurhash32(h);
}

/* Sets the columns, or adds to the maps, that show a cell. */
static void
decode_cell(WtRowReader *r, wide_bytes key, const wide_cell *cell, bool copy, Datum *values,
			bool *nulls)
{
	WtReadFamily *rf = &r->families[cell->family];
	WtMappedCell wanted, *m;

	if (cell->column >= 0)
	{
		set_targets(r, rf->mapped[cell->column].targets, key, cell, values, nulls);
		return;
	}
	wanted.qual = cell->qualifier;
	m = rf->nmapped == 0
			? NULL
			: bsearch(&wanted, rf->mapped, rf->nmapped, sizeof(WtMappedCell), mapped_cmp);
	if (m != NULL)
		set_targets(r, m->targets, key, cell, values, nulls);
	else
		add_to_maps(r, rf, cell, copy);
}

static void
keep_key(WtRowReader *r, wide_bytes key)
{
	resetStringInfo(&r->key);
	appendBinaryStringInfo(&r->key, (const char *) key.data, key.len);
}

/* Sets the key columns.  Returns false if the row is left out because its key does not decode. */
static bool
decode_key(WtRowReader *r, wide_bytes key, Datum *values, bool *nulls)
{
	WtTable *t = r->t;

	if (wt_reader_key_decode(r, key, values, nulls))
		return true;
	/* decode all parts, because which keys are skipped must not depend on the wanted columns */
	if (!wt_rowkey_decode(t, key, t->bad_key_skip ? NULL : r->need_part, r->part_values,
						  r->part_nulls))
	{
		r->bad_keys++;
		return false;
	}
	for (int p = 0; p < t->nkeys; p++)
	{
		int a = t->keys[p];

		if (r->wanted[a])
		{
			values[a] = r->part_values[p];
			nulls[a] = r->part_nulls[p];
		}
	}
	return true;
}

/* Layout rows: the next row, of all its parts. */
static bool
next_row(WtRowReader *r, WtScanSet *s, Datum *values, bool *nulls)
{
	WtTable *t = r->t;
	wide_row row;
	WtEngineScan *from;
	bool good;

	do
	{
		if (!wt_scan_set_next(s, &row, &from))
			return false;
		memset(nulls, true, sizeof(bool) * t->natts);
		r->fingerprint = 0;
		r->own_cells = 0;
		if (r->own_ttl != NULL)
			memset(r->own_ttl, 0, sizeof(int64) * t->natts);
		for (int a = 0; r->floors != NULL && a < t->natts; a++)
			r->floors[a] = PG_INT64_MIN;
		r->unsure = row.unsure;
		if (r->track || row.unsure)
			keep_key(r, row.key);
		good = decode_key(r, row.key, values, nulls);
		if (row.span != NULL)
		{
			if (good)
				wt_reader_span_take(r, &row, values, nulls);
			continue;
		}
		for (;;)
		{
			for (int i = 0; i < row.ncells && good; i++)
			{
				if (r->track)
					add_to_fingerprint(r, &row.cells[i]);
				if (r->own_ttl != NULL && row.cells[i].ttl_us > 0)
					note_own_ttl(r, &row.cells[i]);
				decode_cell(r, row.key, &row.cells[i], row.more, values, nulls);
			}
			if (!row.more)
				break;
			/* the engine does not check between the parts of a row */
			CHECK_FOR_INTERRUPTS();
			if (!wt_engine_scan_next(from, &row))
				break;
		}
	} while (!good);
	r->at = row.key;
	for (int f = 0; f < r->nfamilies; f++)
		for (int i = 0; i < r->families[f].nmaps; i++)
		{
			int a = r->families[f].maps[i];

			if (r->maps[a] == NULL)
				continue;
			values[a] = JsonbPGetDatum(JsonbValueToJsonb(wt_map_end(&r->maps[a])));
			nulls[a] = false;
			r->maps[a] = NULL;
		}
	return true;
}

wide_bytes
wt_reader_qual(const WtRowReader *r, const wide_cell *cell)
{
	return cell->column >= 0 ? r->families[cell->family].mapped[cell->column].qual
							 : cell->qualifier;
}

/* Layout cells: finds the next version of a cell, r->row.cells[r->next_cell], and sets the key
 * columns.  Returns false at the end. */
static bool
find_cell(WtRowReader *r, WtScanSet *s, Datum *values, bool *nulls)
{
	for (;;)
	{
		while (r->row_scan == NULL || r->next_cell >= r->row.ncells)
		{
			if (r->row_scan != NULL && r->row.more)
			{
				r->row_before += r->row.ncells;
				if (!wt_engine_scan_next(r->row_scan, &r->row))
					r->row_scan = NULL;
			}
			else if (!wt_scan_set_next(s, &r->row, &r->row_scan))
			{
				r->row_scan = NULL;
				return false;
			}
			else
				r->row_before = 0;
			r->next_cell = 0;
		}
		memset(nulls, true, sizeof(bool) * r->t->natts);
		if (decode_key(r, r->row.key, values, nulls))
			return true;
		r->next_cell = r->row.ncells;
	}
}

/* Layout cells: the value of a column that is not in the key. */
static Datum
cell_datum(WtRowReader *r, const WtColumn *c, const wide_cell *cell, bool *isnull)
{
	wide_bytes qual;

	*isnull = false;
	switch (c->role)
	{
		case WT_CELL_FAMILY:
			return CStringGetTextDatum(r->families[cell->family].name);
		case WT_CELL_QUALIFIER:
			qual = wt_reader_qual(r, cell);
			if (c->typid == BYTEAOID || wt_bytes_text_is_valid(qual.data, qual.len))
				return wt_decode_varlena(qual.data, qual.len);
			return CStringGetTextDatum(wt_bytes_text_show_qualifier(qual));
		case WT_CELL_TS:
			return timestamp_datum(c, cell->ts);
		case WT_CELL_VALUE:
			/* all kinds of cells are shown as text: bytes that are not text as in a map */
			if (wt_is_text(c->typid) && !wt_bytes_text_is_valid(cell->value.data, cell->value.len))
				return CStringGetTextDatum(wt_bytes_text_show(cell->value));
			return wt_cell_value_decode(c, r->t, r->row.key, cell->value.data, cell->value.len);
		case WT_CELL_VERSION:
			return Int32GetDatum(cell->version + 1);
		case WT_CELL_NO:
			return Int32GetDatum((int32) Min(r->row_before + r->next_cell, PG_INT32_MAX));
		default:
			*isnull = true;
			return (Datum) 0;
	}
}

/* Layout cells: one SQL row for each version of each cell. */
static bool
next_cell(WtRowReader *r, WtScanSet *s, Datum *values, bool *nulls)
{
	WtTable *t = r->t;
	const wide_cell *cell;

	if (!find_cell(r, s, values, nulls))
		return false;
	cell = r->cell = &r->row.cells[r->next_cell++];
	wt_engine_scan_hold_row(r->row_scan, r->next_cell < r->row.ncells ? &r->row : NULL);
	r->at = r->row.key;
	if (r->track)
	{
		keep_key(r, r->row.key);
		r->fingerprint = 0;
		r->own_cells = 0;
		add_to_fingerprint(r, cell);
	}
	for (int a = 0; a < t->natts; a++)
		if (r->wanted[a] && t->columns[a].role != WT_KEY)
			values[a] = cell_datum(r, &t->columns[a], cell, &nulls[a]);
	return true;
}

bool
wt_reader_next(WtRowReader *r, WtScanSet *s, Datum *values, bool *nulls)
{
	/* the memory of the last row's texts may have been reset */
	r->room_left = 0;
	/* an error may have left maps unfinished */
	memset(r->maps, 0, sizeof(JsonbParseState *) * r->t->natts);
	if (r->t->cells_layout)
		return next_cell(r, s, values, nulls);
	return next_row(r, s, values, nulls);
}

bool
wt_reader_next_of_scan(WtRowReader *r, WtEngineScan *scan, Datum *values, bool *nulls)
{
	WtScanSet s = {.n = 1, .scans = &scan};

	return wt_reader_next(r, &s, values, nulls);
}
