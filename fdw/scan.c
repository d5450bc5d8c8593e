/*
 * scan.c
 *		Reading rows: the engine's cells become SQL rows.
 *
 * The row reader knows which cells a set of columns needs and puts a row
 * together from them; scans, the functions and UPDATE share it.  A scan of the
 * executor is the reader, one engine scan (or one for each salt bucket, merged
 * by key when order is asked for), and the key ranges, which are computed when
 * the first row is asked for and again when parameters change.
 *
 * Existence.  With existence 'any' a row is there when any family has a live
 * cell of it, whatever is projected.  So each family of the engine's table that
 * is not read as a whole is asked for existence beside the columns wanted of
 * it, unless the planner found a family in which every row of the result must
 * have a cell.
 *
 * Locking.  A scan for UPDATE, DELETE or FOR UPDATE finds rows in the
 * statement's snapshot; each one that passes the quals is locked and read again
 * in the newest state, and that version is returned (the executor tests the
 * quals again).  In REPEATABLE READ a row that has changed is an error.
 *
 * Memory: values of a row live in rowcxt, reset at the next row; the bytes of
 * the key ranges in rangecxt, reset when they are computed again.
 */
#include "pushdown.h"
#include "rmw.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "executor/executor.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* --------------------------------------------------------------- reader */

/* An attribute that a cell fills; several may share a cell. */
typedef struct Target
{
	int			att;			/* index into columns */
	const WtColumn *column;		/* how to decode */
	struct Target *next;
} Target;

/* A qualifier that columns of the table map. */
typedef struct MappedCell
{
	wide_bytes	qual;
	Target	   *targets;		/* of the attributes wanted; NULL: only left out of maps */
} MappedCell;

/* One entry of the scan specification's families. */
typedef struct ReadFamily
{
	int			family;			/* index into the table's families, -1: not stated there */
	char	   *name;			/* layout cells */
	int			nmapped;
	MappedCell *mapped;			/* sorted by qualifier; WANT_COLUMNS: in step with quals */
	int			nmaps;
	int		   *maps;			/* attributes: maps of this family */
} ReadFamily;

struct WtRowReader
{
	WtTable    *t;
	bool	   *wanted;			/* by attribute */
	bool	   *need_part;		/* by key part */
	Datum	   *part_values;
	bool	   *part_nulls;
	uint64		bad_keys;		/* rows left out by on_bad_key 'skip' */
	int			nfamilies;
	ReadFamily *families;		/* in step with the specification's */
	JsonbParseState **maps;		/* by attribute, while a row is put together */
	MemoryContext cxt;			/* where copies of keys live */
	bool		track;			/* for locking: fill in the next three */
	StringInfoData key;			/* of the row last returned */
	uint32		print;			/* a hash of its cells */
	int			own;			/* of them, cells of this transaction */
	/* layout cells: the part of the row that is being shown */
	wide_row	row;
	int			next_cell;
	int64		row_before;		/* cells of the row before this part */
	WtScan	   *row_scan;		/* NULL: none */
	const wide_cell *cell;		/* last returned */
};

/* The engine scans behind a reader: one, or several that are merged by key. */
typedef struct Source
{
	int			n;
	WtScan	  **scans;
	bool		merge;
	bool		reverse;
	wide_row   *heads;			/* merge: the next row of each */
	binaryheap *heap;			/* of those that have one */
	int			last;			/* scan whose row was handed out; -1 none */
	bool		started;
} Source;

static int
bytes_cmp(wide_bytes a, wide_bytes b)
{
	int			c = a.len && b.len ? memcmp(a.data, b.data, Min(a.len, b.len)) : 0;

	if (c != 0)
		return c;
	return a.len < b.len ? -1 : a.len > b.len;
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

static wide_bytes
column_qual(const WtColumn *c)
{
	return (wide_bytes) {c->qual ? c->qual : (const uint8 *) "", c->qual_len};
}

/* Does the column show a cell: its value or its timestamp, or a key's original? */
static bool
is_of_cell(const WtColumn *c)
{
	return c->family >= 0 && (c->role == WT_CELL || c->role == WT_TIMESTAMP_OF || c->role == WT_KEY);
}

static int
mapped_cmp(const void *a, const void *b)
{
	return bytes_cmp(((const MappedCell *) a)->qual, ((const MappedCell *) b)->qual);
}

/* The mapped qualifiers of a family; all of them, or only those of wanted attributes. */
static void
collect_mapped(WtRowReader *r, ReadFamily *rf, bool all)
{
	WtTable    *t = r->t;
	int			n = 0;

	rf->mapped = palloc0(sizeof(MappedCell) * Max(1, t->natts));
	for (int a = 0; a < t->natts; a++)
	{
		WtColumn   *c = &t->columns[a];
		MappedCell *m = NULL;

		if (!is_of_cell(c) || c->family != rf->family || !(all || r->wanted[a]))
			continue;
		for (int i = 0; i < n && m == NULL; i++)
			if (bytes_cmp(rf->mapped[i].qual, column_qual(c)) == 0)
				m = &rf->mapped[i];
		if (m == NULL)
		{
			m = &rf->mapped[n++];
			m->qual = column_qual(c);
		}
		if (r->wanted[a])
		{
			Target	   *target = palloc(sizeof(Target));

			target->att = a;
			target->column = c;
			if (c->role == WT_KEY)
			{
				/* the original of a digest is stored as the text it is */
				WtColumn   *original = palloc(sizeof(WtColumn));

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
		qsort(rf->mapped, n, sizeof(MappedCell), mapped_cmp);
}

static void
collect_maps(WtRowReader *r, ReadFamily *rf)
{
	rf->maps = palloc(sizeof(int) * Max(1, r->t->natts));
	rf->nmaps = 0;
	for (int a = 0; a < r->t->natts; a++)
		if (r->wanted[a] && r->t->columns[a].role == WT_MAP && r->t->columns[a].family == rf->family)
			rf->maps[rf->nmaps++] = a;
}

/* A family of which the wanted columns are read: false when nothing is wanted of it. */
static bool
read_family(WtRowReader *r, int family, wide_family_id id, wide_scan_family *sf, ReadFamily *rf)
{
	WtColumn   *map;
	wide_bytes *quals;

	memset(sf, 0, sizeof(*sf));
	memset(rf, 0, sizeof(*rf));
	rf->family = family;
	sf->id = id;
	sf->max_versions = 1;
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
		if (wt_prefix_end(map->qual, map->qual_len, &end))
			quals[1] = wt_bytes_of(&end);
		sf->want = WIDE_WANT_RANGE;
		sf->quals = quals;
		sf->nquals = 2;
	}
	collect_mapped(r, rf, true);
	return true;
}

static void
add_existence(wide_scan_family *sf, ReadFamily *rf, wide_family_id id)
{
	memset(sf, 0, sizeof(*sf));
	memset(rf, 0, sizeof(*rf));
	rf->family = -1;
	sf->id = id;
	sf->want = WIDE_WANT_EXISTS;
}

/* Layout rows: which families, and what of them. */
static void
choose_families(WtRowReader *r, WtEngine *e, int strict_family, wide_scan_family *fams)
{
	WtTable    *t = r->t;
	wide_scan_family *read[WT_MAX_FAMILIES] = {NULL};	/* by index into e->all */
	int			n = 0;

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
		bool		any = n > 0;

		for (int i = 0; i < e->nall; i++)
		{
			/* HBase's meaning: only the families that are read, or the first one */
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
}

/* Does one of the intervals hold the bytes? */
static bool
in_intervals(const WtInterval *iv, int n, wide_bytes b)
{
	for (int i = 0; i < n; i++)
		if (bytes_cmp(iv[i].lo, b) <= 0 && (iv[i].inf || bytes_cmp(b, iv[i].hi) < 0))
			return true;
	return false;
}

static int
family_name_cmp(const void *a, const void *b)
{
	return strcmp(((const wide_family *) a)->name, ((const wide_family *) b)->name);
}

/* Layout cells: all families and qualifiers that the conditions leave. */
static void
choose_cells(WtRowReader *r, WtEngine *e, const WtTest *tests, int ntests, const WtArg *args, wide_scan_family *fams)
{
	WtInterval *families,
			   *quals;
	int			nf,
				nq;
	bool		some_families = wt_part_intervals(r->t, tests, ntests, args, WT_PART_FAMILY(r->t), &families, &nf);
	bool		some_quals = wt_part_intervals(r->t, tests, ntests, args, WT_PART_QUALIFIER(r->t), &quals, &nq);
	int			nall;
	wide_family *all = wt_families(e, &nall);
	int			versions = wt_count_limit(tests, ntests, args, WT_PART_VERSION(r->t));
	int			n = 0;

	/* plan.c counts on the order of their names */
	qsort(all, nall, sizeof(wide_family), family_name_cmp);
	for (int i = 0; i < nall && n < WT_MAX_FAMILIES; i++)
	{
		wide_scan_family *sf = &fams[n];
		ReadFamily *rf = &r->families[n];
		wide_bytes *want;

		if (some_families && !in_intervals(families, nf, (wide_bytes) {(const uint8 *) all[i].name, strlen(all[i].name)}))
			continue;
		if (some_quals && nq == 0)
			continue;
		memset(sf, 0, sizeof(*sf));
		memset(rf, 0, sizeof(*rf));
		rf->family = -1;
		rf->name = all[i].name;
		sf->id = all[i].id;
		sf->max_versions = versions;
		n++;
		if (!some_quals)
		{
			sf->want = WIDE_WANT_ALL;
			continue;
		}
		want = palloc0(sizeof(wide_bytes) * Max(2, nq));
		sf->quals = want;
		if (quals[0].point)
		{
			sf->want = WIDE_WANT_COLUMNS;
			sf->nquals = nq;
			rf->nmapped = nq;
			rf->mapped = palloc0(sizeof(MappedCell) * nq);
			for (int q = 0; q < nq; q++)
				rf->mapped[q].qual = want[q] = quals[q].lo;
		}
		else
		{
			sf->want = WIDE_WANT_RANGE;
			sf->nquals = 2;
			want[0] = quals[0].lo;
			if (!quals[0].inf)
				want[1] = quals[0].hi;
		}
	}
	r->nfamilies = n;
}

static WtRowReader *
make_reader(WtTable *t, WtEngine *e, const bool *columns, int strict_family,
			const WtTest *tests, int ntests, const WtArg *args, wide_scan_spec *spec)
{
	WtRowReader *r = palloc0(sizeof(WtRowReader));
	wide_scan_family *fams = palloc0(sizeof(wide_scan_family) * 2 * WT_MAX_FAMILIES);

	r->t = t;
	r->cxt = CurrentMemoryContext;
	r->wanted = palloc0(sizeof(bool) * Max(1, t->natts));
	r->need_part = palloc0(sizeof(bool) * t->nkeys);
	r->part_values = palloc0(sizeof(Datum) * t->nkeys);
	r->part_nulls = palloc0(sizeof(bool) * t->nkeys);
	r->maps = palloc0(sizeof(JsonbParseState *) * Max(1, t->natts));
	r->families = palloc0(sizeof(ReadFamily) * 2 * WT_MAX_FAMILIES);
	initStringInfo(&r->key);
	for (int a = 0; a < t->natts; a++)
	{
		r->wanted[a] = (columns == NULL || columns[a]) && t->columns[a].role != WT_DROPPED;
		if (r->wanted[a] && t->columns[a].role == WT_KEY)
			r->need_part[t->columns[a].part] = true;
	}
	if (t->cells_layout)
	{
		WtTimes		times = wt_times(t, tests, ntests, args, &spec->show_min, &spec->show_max);

		if (times != WT_TIMES_NONE)
			choose_cells(r, e, tests, ntests, args, fams);
		if (times != WT_TIMES_SOME)
			spec->show_min = spec->show_max = 0;
		spec->row_limit = (uint32_t) wt_count_limit(tests, ntests, args, WT_PART_NO(t));
	}
	else
		choose_families(r, e, strict_family, fams);
	spec->families = fams;
	spec->nfamilies = r->nfamilies;
	return r;
}

WtRowReader *
wt_row_reader(WtTable *t, WtEngine *e, const bool *columns, int strict_family, wide_scan_spec *spec)
{
	return make_reader(t, e, columns, strict_family, NULL, 0, NULL, spec);
}

/* ---------------------------------------------------------------- source */

static int
head_cmp(Datum a, Datum b, void *arg)
{
	Source	   *s = arg;
	wide_bytes	x = s->heads[DatumGetInt32(a)].key,
				y = s->heads[DatumGetInt32(b)].key;
	int			c;

	/* the salt is not part of the order */
	x.data++, x.len--;
	y.data++, y.len--;
	c = bytes_cmp(x, y);
	/* binaryheap has the largest on top */
	return s->reverse ? c : -c;
}

static bool
source_next(Source *s, wide_row *row, WtScan **from)
{
	if (!s->merge)
	{
		for (; s->last < s->n; s->last++)
		{
			if (s->last < 0)
				continue;
			if (wt_scan_next(s->scans[s->last], row))
			{
				*from = s->scans[s->last];
				return true;
			}
		}
		return false;
	}
	if (!s->started)
	{
		binaryheap_reset(s->heap);
		for (int i = 0; i < s->n; i++)
			if (wt_scan_next(s->scans[i], &s->heads[i]))
				binaryheap_add_unordered(s->heap, Int32GetDatum(i));
		binaryheap_build(s->heap);
		s->started = true;
	}
	else if (s->last >= 0)
	{
		/* only now: what was handed out lived in the scan's memory */
		if (wt_scan_next(s->scans[s->last], &s->heads[s->last]))
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
	return true;
}

/* -------------------------------------------------------------- one row */

/* A cell's timestamp as the column has it; beyond PostgreSQL's range: infinity. */
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

static void
json_string(JsonbValue *v, const uint8 *data, size_t len, bool copy, char *(*show) (wide_bytes))
{
	v->type = jbvString;
	if (!wt_bytes_are_text(data, len))
	{
		v->val.string.val = show((wide_bytes) {data, len});
		v->val.string.len = strlen(v->val.string.val);
		return;
	}
	v->val.string.val = copy ? pnstrdup((const char *) data, len) : (char *) data;
	v->val.string.len = len;
}

static bool
has_prefix(const WtColumn *map, wide_bytes q)
{
	return q.len >= map->qual_len && (map->qual_len == 0 || memcmp(q.data, map->qual, map->qual_len) == 0);
}

bool
wt_map_shows(WtTable *t, const WtColumn *map, wide_bytes qualifier)
{
	if (!has_prefix(map, qualifier))
		return false;
	for (int i = 0; i < t->natts; i++)
	{
		const WtColumn *o = &t->columns[i];

		if (o->role == WT_MAP && o->family == map->family && o->qual_len > map->qual_len && has_prefix(o, qualifier))
			return false;
	}
	return true;
}

static void
add_to_maps(WtRowReader *r, ReadFamily *rf, const wide_cell *cell, bool copy)
{
	for (int i = 0; i < rf->nmaps; i++)
	{
		int			a = rf->maps[i];
		const WtColumn *c = &r->t->columns[a];
		JsonbValue	v;

		if (!wt_map_shows(r->t, c, cell->qualifier))
			continue;
		if (r->maps[a] == NULL)
			(void) pushJsonbValue(&r->maps[a], WJB_BEGIN_OBJECT, NULL);
		json_string(&v, cell->qualifier.data + c->qual_len, cell->qualifier.len - c->qual_len, copy,
					wt_qualifier_show);
		(void) pushJsonbValue(&r->maps[a], WJB_KEY, &v);
		json_string(&v, cell->value.data, cell->value.len, copy, wt_bytes_show);
		(void) pushJsonbValue(&r->maps[a], WJB_VALUE, &v);
	}
}

static void
set_targets(WtRowReader *r, const Target *target, wide_bytes key, const wide_cell *cell, Datum *values, bool *nulls)
{
	for (; target != NULL; target = target->next)
	{
		if (target->column->role == WT_TIMESTAMP_OF)
			values[target->att] = timestamp_datum(target->column, cell->ts);
		else
			values[target->att] = wt_decode(target->column, r->t, key, cell->value.data, cell->value.len);
		nulls[target->att] = false;
	}
}

/* What tells this version of the row from another one. */
static void
add_to_print(WtRowReader *r, const wide_cell *cell)
{
	uint32		h = hash_bytes((const unsigned char *) &cell->seq, sizeof(cell->seq));

	h = hash_combine(h, (uint32) cell->family);
	h = hash_combine(h, (uint32) cell->column);
	if (cell->qualifier.len > 0)
		h = hash_combine(h, hash_bytes(cell->qualifier.data, cell->qualifier.len));
	/* the transaction's own cells have no timestamp yet */
	if (cell->seq != 0)
		h = hash_combine(h, hash_bytes((const unsigned char *) &cell->ts, sizeof(cell->ts)));
	else
		r->own++;
	r->print = hash_combine(r->print, h);
}

static void
decode_cell(WtRowReader *r, wide_bytes key, const wide_cell *cell, bool copy, Datum *values, bool *nulls)
{
	ReadFamily *rf = &r->families[cell->family];
	MappedCell	sought,
			   *m;

	if (cell->column >= 0)
	{
		set_targets(r, rf->mapped[cell->column].targets, key, cell, values, nulls);
		return;
	}
	sought.qual = cell->qualifier;
	m = rf->nmapped == 0 ? NULL : bsearch(&sought, rf->mapped, rf->nmapped, sizeof(MappedCell), mapped_cmp);
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

static bool
decode_key(WtRowReader *r, wide_bytes key, Datum *values, bool *nulls)
{
	WtTable    *t = r->t;

	/* which keys are skipped must not depend on what is projected */
	if (!wt_key_decode(t, key, t->bad_key_skip ? NULL : r->need_part, r->part_values, r->part_nulls))
	{
		r->bad_keys++;
		return false;
	}
	for (int p = 0; p < t->nkeys; p++)
	{
		int			a = t->keys[p];

		if (r->wanted[a])
		{
			values[a] = r->part_values[p];
			nulls[a] = r->part_nulls[p];
		}
	}
	return true;
}

/* Layout rows: the next row, from all its parts. */
static bool
next_row(WtRowReader *r, Source *s, Datum *values, bool *nulls, uint64_t *max_seq)
{
	WtTable    *t = r->t;
	wide_row	row;
	WtScan	   *from;
	bool		good;

	do
	{
		if (!source_next(s, &row, &from))
			return false;
		memset(nulls, true, sizeof(bool) * t->natts);
		*max_seq = 0;
		r->print = 0;
		r->own = 0;
		if (r->track)
			keep_key(r, row.key);
		good = decode_key(r, row.key, values, nulls);
		for (;;)
		{
			for (int i = 0; i < row.ncells && good; i++)
			{
				*max_seq = Max(*max_seq, row.cells[i].seq);
				if (r->track)
					add_to_print(r, &row.cells[i]);
				decode_cell(r, row.key, &row.cells[i], row.more, values, nulls);
			}
			if (!row.more || !wt_scan_next(from, &row))
				break;
		}
	} while (!good);
	for (int f = 0; f < r->nfamilies; f++)
		for (int i = 0; i < r->families[f].nmaps; i++)
		{
			int			a = r->families[f].maps[i];

			if (r->maps[a] == NULL)
				continue;
			values[a] = JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&r->maps[a], WJB_END_OBJECT, NULL)));
			nulls[a] = false;
			r->maps[a] = NULL;
		}
	return true;
}

static wide_bytes
cell_qual(const WtRowReader *r, const wide_cell *cell)
{
	return cell->column >= 0 ? r->families[cell->family].mapped[cell->column].qual : cell->qualifier;
}

/* Layout cells: one SQL row for each version of each cell. */
static bool
next_cell(WtRowReader *r, Source *s, Datum *values, bool *nulls, uint64_t *max_seq)
{
	WtTable    *t = r->t;
	const wide_cell *cell;
	ReadFamily *rf;
	wide_bytes	qual;

	for (;;)
	{
		while (r->row_scan == NULL || r->next_cell >= r->row.ncells)
		{
			if (r->row_scan != NULL && r->row.more)
			{
				r->row_before += r->row.ncells;
				if (!wt_scan_next(r->row_scan, &r->row))
					r->row_scan = NULL;
			}
			else if (!source_next(s, &r->row, &r->row_scan))
			{
				r->row_scan = NULL;
				return false;
			}
			else
				r->row_before = 0;
			r->next_cell = 0;
		}
		memset(nulls, true, sizeof(bool) * t->natts);
		if (decode_key(r, r->row.key, values, nulls))
			break;
		r->next_cell = r->row.ncells;
	}
	cell = r->cell = &r->row.cells[r->next_cell++];
	rf = &r->families[cell->family];
	qual = cell_qual(r, cell);
	*max_seq = cell->seq;
	if (r->track)
	{
		keep_key(r, r->row.key);
		r->print = 0;
		r->own = 0;
		add_to_print(r, cell);
	}
	for (int a = 0; a < t->natts; a++)
	{
		const WtColumn *c = &t->columns[a];

		if (!r->wanted[a] || c->role == WT_KEY)
			continue;
		nulls[a] = false;
		switch (c->role)
		{
			case WT_CELL_FAMILY:
				values[a] = CStringGetTextDatum(rf->name);
				break;
			case WT_CELL_QUALIFIER:
				if (c->typid == BYTEAOID || wt_bytes_are_text(qual.data, qual.len))
					values[a] = PointerGetDatum(cstring_to_text_with_len((const char *) qual.data, qual.len));
				else
					values[a] = CStringGetTextDatum(wt_qualifier_show(qual));
				break;
			case WT_CELL_TS:
				values[a] = timestamp_datum(c, cell->ts);
				break;
			case WT_CELL_VALUE:
				/* cells of all kinds are shown as text: those that are not text as a map shows them */
				if (is_text(c->typid) && !wt_bytes_are_text(cell->value.data, cell->value.len))
					values[a] = CStringGetTextDatum(wt_bytes_show(cell->value));
				else
					values[a] = wt_decode(c, t, r->row.key, cell->value.data, cell->value.len);
				break;
			case WT_CELL_VERSION:
				values[a] = Int32GetDatum(cell->version + 1);
				break;
			case WT_CELL_NO:
				values[a] = Int32GetDatum((int32) Min(r->row_before + r->next_cell, PG_INT32_MAX));
				break;
			default:
				nulls[a] = true;
		}
	}
	return true;
}

static bool
reader_next(WtRowReader *r, Source *s, Datum *values, bool *nulls, uint64_t *max_seq)
{
	/* an error may have left these behind */
	memset(r->maps, 0, sizeof(JsonbParseState *) * r->t->natts);
	if (r->t->cells_layout)
		return next_cell(r, s, values, nulls, max_seq);
	return next_row(r, s, values, nulls, max_seq);
}

bool
wt_row_next(WtRowReader *r, WtScan *scan, Datum *values, bool *nulls, uint64_t *max_seq)
{
	Source		s = {.n = 1, .scans = &scan};
	uint64_t	seq;

	return reader_next(r, &s, values, nulls, max_seq ? max_seq : &seq);
}

/* ------------------------------------------------------- executor's scan */

/* Layout cells, with a limit: cells that the engine hands out at a time. */
#define MIN_ROW_CELLS	64
#define MAX_ROW_CELLS	4096

typedef struct WtScanState
{
	WtTable    *t;
	WtEngine	e;
	bool		exists;			/* the engine has the table */
	WtScan	   *held;			/* the statement's snapshot */
	int64		as_of;			/* PG_INT64_MAX: not set */
	WtTest	   *tests;
	int			ntests;
	WtArg	   *args;
	int			nargs;
	List	   *exprs;			/* expression states of args */
	bool		fixed;			/* all arguments are constants */
	bool	   *columns;
	int			strict;
	bool		reverse;
	bool		ordered;
	double		limit;			/* rows that are asked for at most; 0: not known */
	WtLock		lock;
	WtRowReader *reader;
	wide_scan_spec spec;
	Source		source;
	wide_scan_stats past;		/* of scans that were closed to read something else */
	uint64		past_bad_keys;	/* of their readers */
	bool		ready;			/* ranges computed, engine scans positioned */
	bool		opened;
	bool		restarted;		/* the scan has been restarted: rows may come twice */
	MemoryContext cxt;			/* of the scan */
	MemoryContext opencxt;		/* of the readers and what belongs to them */
	bool		cell_tests;		/* layout cells: conditions decide what the readers read */
	MemoryContext rowcxt;
	MemoryContext rangecxt;
	WtRanges	ranges;
	/* locking */
	WtRowReader *again;			/* reads the newest state */
	WtScan	   *again_scan;
	wide_scan_spec again_spec;
	StringInfoData again_hi;
	/* layout cells: again_scan goes on from one cell of a row to the next */
	StringInfoData again_key;	/* of that row */
	SubTransactionId again_subid;	/* that has locked it; Invalid: begin anew */
	bool		again_end;		/* no cells left */
	bool		missed;			/* the last cell sought was not there: missed_family, missed_qual */
	int			missed_family;
	StringInfoData missed_qual;
} WtScanState;

void
wtBeginForeignScan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List	   *private = plan->fdw_private;
	WtScanState  *st;
	ListCell   *lc;
	int			i = 0;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	st = palloc0(sizeof(WtScanState));
	node->fdw_state = st;
	st->cxt = CurrentMemoryContext;
	st->t = wt_table(RelationGetRelid(node->ss.ss_currentRelation));
	st->exists = wt_engine(st->t, false, &st->e);
	if (st->exists)
		st->held = wt_snapshot_hold(node->ss.ps.state->es_snapshot);
	st->tests = wt_plan_tests(private, &st->ntests);
	st->nargs = list_length(plan->fdw_exprs);
	st->args = palloc0(sizeof(WtArg) * Max(1, st->nargs));
	st->exprs = ExecInitExprList(plan->fdw_exprs, &node->ss.ps);
	st->fixed = true;
	foreach(lc, plan->fdw_exprs)
		st->fixed = st->fixed && IsA(lfirst(lc), Const);
	foreach(lc, (List *) list_nth(private, WtPrivateTypes))
		st->args[i++].type = lfirst_oid(lc);
	st->columns = palloc0(sizeof(bool) * Max(1, st->t->natts));
	foreach(lc, (List *) list_nth(private, WtPrivateColumns))
		if (lfirst_int(lc) <= st->t->natts)
			st->columns[lfirst_int(lc) - 1] = true;
	st->strict = wt_flag(private, WtFlagStrictFamily);
	st->reverse = wt_flag(private, WtFlagReverse);
	st->ordered = wt_flag(private, WtFlagOrdered);
	st->limit = atof(strVal(list_nth(private, WtPrivateLimit)));
	st->lock = wt_flag(private, WtFlagLock);
	/* as the snapshot: a cursor keeps what was in force when it was opened */
	st->as_of = wt_as_of_us();
	if (st->lock != WT_LOCK_NONE && st->as_of != PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change or lock rows of \"%s\" while widetable.as_of is set",
						RelationGetRelationName(node->ss.ss_currentRelation)),
				 errhint("RESET widetable.as_of.")));
	for (int k = 0; k < st->ntests; k++)
		st->cell_tests = st->cell_tests || st->tests[k].part >= st->t->nkeys;
	st->opencxt = AllocSetContextCreate(st->cxt, "widetable readers", ALLOCSET_DEFAULT_SIZES);
	st->rowcxt = AllocSetContextCreate(st->cxt, "widetable row", ALLOCSET_DEFAULT_SIZES);
	st->rangecxt = AllocSetContextCreate(st->cxt, "widetable ranges", ALLOCSET_SMALL_SIZES);
}

/*
 * In REPEATABLE READ a row that anybody has changed since is a conflict, also
 * in columns that the statement does not read: all is read then.
 */
static bool
reads_all(WtScanState *st)
{
	return st->lock != WT_LOCK_NONE && IsolationUsesXactSnapshot() && !st->t->cells_layout;
}

static void
whole_families(WtRowReader *r, wide_scan_spec *spec)
{
	wide_scan_family *fams = (wide_scan_family *) spec->families;

	for (int i = 0; i < spec->nfamilies; i++)
	{
		if (fams[i].want == WIDE_WANT_ALL)
			continue;
		fams[i].want = WIDE_WANT_ALL;
		fams[i].max_versions = 1;
	}
	/* by qualifier now, also of families that had a list of columns; each family once */
	for (int i = 0, n = spec->nfamilies; i < n; i++)
		for (int j = i + 1; j < n; j++)
			if (fams[j].id == fams[i].id)
			{
				memmove(&fams[j], &fams[j + 1], sizeof(wide_scan_family) * (n - j - 1));
				memmove(&r->families[j], &r->families[j + 1], sizeof(ReadFamily) * (n - j - 1));
				spec->nfamilies = r->nfamilies = --n;
				j--;
			}
}

static WtRowReader *
scan_reader(WtScanState *st, wide_scan_spec *spec)
{
	WtRowReader *r = make_reader(st->t, &st->e, st->columns, reads_all(st) ? -1 : st->strict,
								 st->tests, st->ntests, st->args, spec);

	r->track = st->lock != WT_LOCK_NONE;
	if (reads_all(st))
		whole_families(r, spec);
	return r;
}

/* The parameters' values now, and the key ranges that follow. */
static void
compute_ranges(WtScanState *st, ExprContext *econtext)
{
	MemoryContext old;
	ListCell   *lc;
	int			i = 0;

	MemoryContextReset(st->rangecxt);
	old = MemoryContextSwitchTo(st->rangecxt);
	foreach(lc, st->exprs)
	{
		WtArg	   *arg = &st->args[i++];

		arg->value = ExecEvalExpr((ExprState *) lfirst(lc), econtext, &arg->isnull);
		arg->known = true;
	}
	wt_ranges(st->t, st->tests, st->ntests, st->args, &st->ranges);
	MemoryContextSwitchTo(old);
}

/* Without order, or without salt, one engine scan reads all ranges one after the other. */
static void
flatten_ranges(WtScanState *st)
{
	WtRanges   *r = &st->ranges;
	wide_range *all;
	Size		total = 0,
				n = 0;

	if (r->nbuckets == 1 || st->ordered)
		return;
	for (int b = 0; b < r->nbuckets; b++)
		total += r->n[b];
	all = MemoryContextAllocHuge(st->rangecxt, sizeof(wide_range) * Max(1, total));
	for (int b = 0; b < r->nbuckets; b++)
	{
		memcpy(&all[n], r->ranges[b], sizeof(wide_range) * r->n[b]);
		n += r->n[b];
	}
	r->nbuckets = 1;
	r->n[0] = (int) n;
	r->ranges[0] = all;
}

static void
open_scans(WtScanState *st, Snapshot snapshot)
{
	MemoryContext old = MemoryContextSwitchTo(st->opencxt);
	Source	   *s = &st->source;

	memset(&st->spec, 0, sizeof(st->spec));
	st->reader = scan_reader(st, &st->spec);
	st->spec.reverse = st->reverse;
	if (st->t->cells_layout && st->limit > 0 && st->limit < MAX_ROW_CELLS)
		st->spec.row_cells = (uint32_t) Max(st->limit, MIN_ROW_CELLS);
	if (st->as_of != PG_INT64_MAX)
	{
		st->spec.ts_min = PG_INT64_MIN;
		st->spec.ts_max = st->as_of + 1;
	}
	s->n = st->ranges.nbuckets;
	s->scans = palloc0(sizeof(WtScan *) * s->n);
	s->merge = s->n > 1;
	s->reverse = st->reverse;
	if (s->merge)
	{
		s->heads = palloc0(sizeof(wide_row) * s->n);
		s->heap = binaryheap_allocate(s->n, head_cmp, s);
	}
	for (int b = 0; b < s->n && st->spec.nfamilies > 0; b++)
	{
		st->spec.ranges = st->ranges.ranges[b];
		st->spec.nranges = st->ranges.n[b];
		s->scans[b] = wt_scan_open(snapshot, &st->spec);
	}
	if (st->spec.nfamilies == 0)
		s->n = 0, s->merge = false;
	st->opened = true;
	MemoryContextSwitchTo(old);
}

static void
add_statistics(const Source *s, wide_scan_stats *out)
{
	for (int b = 0; b < s->n; b++)
	{
		wide_scan_stats one;

		wt_scan_stats(s->scans[b], &one);
		out->files_read += one.files_read;
		out->files_skipped_key += one.files_skipped_key;
		out->files_skipped_time += one.files_skipped_time;
		out->files_skipped_bloom += one.files_skipped_bloom;
		out->blocks_read += one.blocks_read;
		out->blocks_cached += one.blocks_cached;
		out->cells_scanned += one.cells_scanned;
		out->cells_returned += one.cells_returned;
		out->rows_returned += one.rows_returned;
		out->tombstones += one.tombstones;
		out->seeks += one.seeks;
	}
}

static void
close_scans(WtScanState *st)
{
	add_statistics(&st->source, &st->past);
	if (st->reader != NULL)
		st->past_bad_keys += st->reader->bad_keys;
	for (int b = 0; b < st->source.n; b++)
		wt_scan_close(st->source.scans[b]);
	wt_scan_close(st->again_scan);
	st->again_scan = NULL;
	st->again = NULL;
	st->again_subid = InvalidSubTransactionId;
	st->reader = NULL;
	st->source.n = 0;
	st->opened = false;
	MemoryContextReset(st->opencxt);
}

/* Make the scan ready for its first row. false: there are no rows. */
static bool
start_scan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;
	Source	   *s = &st->source;
	bool		anything = false;

	if (!st->exists)
		return false;
	if (!st->fixed || st->ranges.n == NULL)
	{
		compute_ranges(st, node->ss.ps.ps_ExprContext);
		flatten_ranges(st);
	}
	for (int b = 0; b < st->ranges.nbuckets; b++)
		anything = anything || st->ranges.n[b] > 0;
	if (!anything)
		return false;
	/* they may ask for other families now */
	if (st->opened && st->cell_tests && !st->fixed)
		close_scans(st);
	if (!st->opened)
		open_scans(st, node->ss.ps.state->es_snapshot);
	else
		for (int b = 0; b < s->n; b++)
			wt_scan_restart(s->scans[b], st->ranges.ranges[b], st->ranges.n[b]);
	s->last = s->merge ? -1 : 0;
	s->started = false;
	st->reader->row_scan = NULL;
	st->ready = true;
	return s->n > 0;
}

/* ---------------------------------------------------------------- locking */

static void
raise_changed(ForeignScanState *node)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update"),
			 errdetail("A row of \"%s\" was changed by another transaction.",
					   RelationGetRelationName(node->ss.ss_currentRelation))));
}

/* Position the reader of the newest state on one row. */
static void
read_again(ForeignScanState *node, wide_bytes key)
{
	WtScanState  *st = node->fdw_state;
	MemoryContext old = MemoryContextSwitchTo(st->opencxt);
	wide_range	range;

	if (st->again == NULL)
	{
		initStringInfo(&st->again_hi);
		memset(&st->again_spec, 0, sizeof(st->again_spec));
		st->again = scan_reader(st, &st->again_spec);
	}
	range = wt_row_range(key, &st->again_hi);
	if (st->again_scan == NULL)
	{
		st->again_spec.ranges = &range;
		st->again_spec.nranges = 1;
		st->again_spec.own_mark = wt_own_mark(node->ss.ps.state->es_snapshot);
		if (st->again_spec.own_mark == 0)
			st->again_spec.own_mark = WT_OWN_NONE;
		st->again_scan = wt_scan_open(NULL, &st->again_spec);
	}
	else
		wt_scan_restart(st->again_scan, &range, 1);
	st->again->row_scan = NULL;
	MemoryContextSwitchTo(old);
}

/* Layout cells: the order of the columns in which two readers of a row are. */
static int
column_cmp(const WtRowReader *a, const WtRowReader *b)
{
	/* by name: the families may be others since the first one was opened */
	int			c = strcmp(a->families[a->cell->family].name, b->families[b->cell->family].name);

	return c != 0 ? c : bytes_cmp(cell_qual(a, a->cell), cell_qual(b, b->cell));
}

/* Layout cells: is the reader at the version of the cell that the scan has shown? */
static bool
same_cell(WtRowReader *a, WtRowReader *b)
{
	const wide_cell *x = a->cell,
			   *y = b->cell;

	/* both see the same of our own writes, also provisional timestamps */
	return column_cmp(a, b) == 0 && x->ts == y->ts;
}

/*
 * Layout cells: the newest state of the cell that the scan has shown.  Nobody
 * else changes a row that we have locked, so the reader of the newest state
 * goes on along the row as the scan does: a row of a million cells is read once
 * more, not once for each of its cells.  It begins anew when the row is another
 * one, when the lock may have been given up in between (with the subtransaction
 * that took it), and for another version of a column it has already gone past.
 */
static bool
cell_again(ForeignScanState *node, Datum *values, bool *nulls)
{
	WtScanState *st = node->fdw_state;
	WtRowReader *r = st->reader;
	wide_bytes	key = wt_bytes_of(&r->key);
	wide_bytes	qual = cell_qual(r, r->cell);
	uint64_t	seq;

	if (st->again_key.data == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(st->cxt);

		initStringInfo(&st->again_key);
		initStringInfo(&st->missed_qual);
		MemoryContextSwitchTo(old);
	}
	if (st->again_subid != GetCurrentSubTransactionId() || bytes_cmp(key, wt_bytes_of(&st->again_key)) != 0 ||
		(st->missed && st->missed_family == r->cell->family && bytes_cmp(wt_bytes_of(&st->missed_qual), qual) == 0))
	{
		read_again(node, key);
		st->again_subid = GetCurrentSubTransactionId();
		st->again_end = false;
		resetStringInfo(&st->again_key);
		appendBinaryStringInfo(&st->again_key, (const char *) key.data, key.len);
	}
	st->missed = false;
	while (!st->again_end)
	{
		int			c;

		if (!wt_row_next(st->again, st->again_scan, values, nulls, &seq))
		{
			st->again_end = true;
			break;
		}
		if (same_cell(r, st->again))
			return true;
		c = column_cmp(r, st->again);
		if (c < 0)
		{
			/* it has gone past; this one will be looked at again */
			st->again->next_cell--;
			break;
		}
	}
	st->missed = true;
	st->missed_family = r->cell->family;
	resetStringInfo(&st->missed_qual);
	appendBinaryStringInfo(&st->missed_qual, (const char *) qual.data, qual.len);
	return false;
}

/*
 * Lock the row that the scan has found and put its newest version into the
 * slot.  false: it is gone, or skipped.
 */
static bool
lock_row(ForeignScanState *node, TupleTableSlot *slot)
{
	WtScanState  *st = node->fdw_state;
	wide_bytes	key = wt_bytes_of(&st->reader->key);
	uint64_t	seq;
	bool		found;

	if (!wt_row_lock(st->e.table, key, st->lock != WT_LOCK_WAIT))
	{
		if (st->lock == WT_LOCK_SKIP)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on row in relation \"%s\"",
						RelationGetRelationName(node->ss.ss_currentRelation))));
	}
	if (st->t->cells_layout)
		found = cell_again(node, slot->tts_values, slot->tts_isnull);
	else
	{
		read_again(node, key);
		found = wt_row_next(st->again, st->again_scan, slot->tts_values, slot->tts_isnull, &seq);
	}
	if (!found)
	{
		/* deleted by another transaction; or by this very command, when the scan runs again */
		if (IsolationUsesXactSnapshot() && !st->restarted)
			raise_changed(node);
		return false;
	}
	if (st->again->print == st->reader->print)
		return true;
	/* a row that this command itself has changed already is not changed twice */
	if (st->again->own > st->reader->own)
		return false;
	if (IsolationUsesXactSnapshot())
		raise_changed(node);
	return true;
}

/* ------------------------------------------------------------------- rows */

TupleTableSlot *
wtIterateForeignScan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	MemoryContext old;
	uint64_t	seq;

	ExecClearTuple(slot);
	if (!st->ready && !start_scan(node))
	{
		st->ready = false;
		return slot;
	}
	for (;;)
	{
		MemoryContextReset(st->rowcxt);
		old = MemoryContextSwitchTo(st->rowcxt);
		if (!reader_next(st->reader, &st->source, slot->tts_values, slot->tts_isnull, &seq))
		{
			MemoryContextSwitchTo(old);
			return ExecClearTuple(slot);
		}
		if (st->lock == WT_LOCK_NONE)
			break;
		/* only rows that the statement is about are locked */
		ExecStoreVirtualTuple(slot);
		econtext->ecxt_scantuple = slot;
		MemoryContextSwitchTo(old);
		ResetExprContext(econtext);
		if (node->ss.ps.qual != NULL && !ExecQual(node->ss.ps.qual, econtext))
		{
			InstrCountFiltered1(node, 1);
			ExecClearTuple(slot);
			continue;
		}
		ExecClearTuple(slot);
		(void) MemoryContextSwitchTo(st->rowcxt);
		if (lock_row(node, slot))
			break;
		MemoryContextSwitchTo(old);
	}
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

void
wtReScanForeignScan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;

	if (st == NULL)
		return;
	st->restarted = st->restarted || st->opened;
	st->again_subid = InvalidSubTransactionId;
	st->ready = false;
}

void
wtEndForeignScan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;

	if (st == NULL)
		return;
	close_scans(st);
	wt_scan_close(st->held);
}

/*
 * EvalPlanQual: the tuple is a copy; the executor tests fdw_recheck_quals,
 * which are the clauses that the key ranges answered.
 */
bool
wtRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot)
{
	return true;
}

/* What the engine did for this scan so far; false: it was never run. */
bool
wt_scan_statistics(ForeignScanState *node, wide_scan_stats *out, uint64 *bad_keys)
{
	WtScanState  *st = node->fdw_state;

	*bad_keys = 0;
	if (st == NULL)
		return false;
	*bad_keys = st->past_bad_keys + (st->reader ? st->reader->bad_keys : 0);
	*out = st->past;
	add_statistics(&st->source, out);
	return true;
}
