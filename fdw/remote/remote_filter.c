/*
 * remote_filter.c
 *		What a scan of a table of HBase asks the servers to leave out: filters.
 *
 * Cells.  A family whose cells make a row exist, whichever columns are wanted, is in what is read,
 * and a filter lets through one of two: cells that are wanted, and the first cell of a row that is
 * not wanted, without its value.
 *
 * Rows.  Predicates become filters on the newest cell of a column.  The filters see cells in the
 * order of families and columns; one that has decided leaves the rest of the family out.  So the
 * filters on rows stand before those on cells, which stop the evaluation, and let every cell that
 * a predicate tests through.
 *
 * A filter costs a server more than a small row does, most of all in gets, each of which has its
 * own.  So a get of many keys asks for the wanted columns by their names first, and reads only the
 * keys for which nothing comes again with the filter on cells.
 *
 * A filter may let a row through for which the predicate is not true.  Numbers are two's
 * complement, in which unsigned bytes sort the negative ones behind the others: a comparison is
 * one within a sign, and all or none of the other.  Cells of another width than their column's are
 * compared as bytes; the error that decoding them raises is not raised for rows that are left out.
 */
#include "postgres.h"

#include "fdw/remote/remote_filter.h"

#include "nodes/pg_list.h"

#include "fdw/store/bytes.h"

#define MAX_VALUES 200 /* of a list; of a longer one, the least and the greatest are tested */

/* While filters are made. */
typedef struct Build
{
	hb_filters *f;
	const WtRemoteTable *r;
	const wide_scan_spec *spec;
} Build;

/* A list of filters. */
typedef struct Filters
{
	const hb_filter **list;
	int n, max;
} Filters;

static void
add(Filters *to, const hb_filter *one)
{
	if (one == NULL)
		return;
	if (to->n == to->max)
	{
		to->max = Max(8, to->max * 2);
		to->list = to->list == NULL ? palloc(sizeof(*to->list) * to->max)
									: repalloc(to->list, sizeof(*to->list) * to->max);
	}
	to->list[to->n++] = one;
}

/* Returns: the filters in one; NULL: there are none. */
static const hb_filter *
together(const Build *b, bool any, const Filters *list)
{
	if (list->n <= 1)
		return list->n == 0 ? NULL : list->list[0];
	return hb_filter_list(b->f, any, list->list, list->n);
}

static const hb_filter *
two(const Build *b, bool any, const hb_filter *x, const hb_filter *y)
{
	const hb_filter *both[] = {x, y};

	return hb_filter_list(b->f, any, both, 2);
}

static hb_bytes
to_hbase(wide_bytes b)
{
	return (hb_bytes) {b.data, b.len};
}

static hb_comparator
binary(hb_bytes value)
{
	return (hb_comparator) {HB_COMPARE_BINARY, value};
}

static hb_bytes
family_name(const Build *b, int i)
{
	int at;
	const char *name;

	(void) wt_remote_table_of(b->spec->families[i].id, &at);
	name = b->r->families[at].name;
	return (hb_bytes) {(const uint8_t *) name, strlen(name)};
}

/* ------------------------------------------------------------------ columns */

static int
compare_bytes(const void *a, const void *b)
{
	return wt_bytes_cmp(*(const wide_bytes *) a, *(const wide_bytes *) b);
}

/* Returns: the qualifiers of family i that are tested, sorted, each once; *n is their number. */
static wide_bytes *
tested_columns(const wide_scan_spec *spec, int i, int *n)
{
	wide_bytes *list = palloc(sizeof(wide_bytes) * Max(1, spec->npredicates));
	int all = 0;

	for (int p = 0; p < spec->npredicates; p++)
		if (spec->predicates[p].family == i)
			list[all++] = spec->predicates[p].qualifier;
	if (all > 1)
		qsort(list, all, sizeof(wide_bytes), compare_bytes);
	*n = 0;
	for (int k = 0; k < all; k++)
		if (*n == 0 || wt_bytes_cmp(list[*n - 1], list[k]) != 0)
			list[(*n)++] = list[k];
	return list;
}

/* Returns: the single columns of family i that are wanted or tested; *n is their number. */
static wide_bytes *
single_columns(const wide_scan_spec *spec, int i, int *n)
{
	const wide_scan_family *f = &spec->families[i];
	int ntested, nwanted = f->want == WIDE_WANT_COLUMNS ? f->nquals : 0;
	wide_bytes *tested = tested_columns(spec, i, &ntested);
	wide_bytes *list = palloc(sizeof(wide_bytes) * Max(1, ntested + nwanted));

	*n = 0;
	for (int k = 0; k < nwanted; k++)
		list[(*n)++] = f->quals[k];
	for (int k = 0; k < ntested; k++)
		if (nwanted == 0 ||
			bsearch(&tested[k], f->quals, nwanted, sizeof(wide_bytes), compare_bytes) == NULL)
			list[(*n)++] = tested[k];
	return list;
}

/* Returns: true if the family's columns can be named, and no other cell of it is needed. */
static bool
is_listed(const WtRemoteTable *r, const wide_scan_spec *spec, int i)
{
	int n, at;

	(void) wt_remote_table_of(spec->families[i].id, &at);
	if (spec->families[i].want != WIDE_WANT_COLUMNS || spec->families[i].any_exists ||
		r->families[at].whole)
		return false;
	(void) single_columns(spec, i, &n);
	return n > 0;
}

hb_columns *
wt_remote_filter_columns(const WtRemoteTable *r, const wide_scan_spec *spec, int *n)
{
	Build b = {.r = r, .spec = spec};
	hb_columns *list = palloc0(sizeof(hb_columns) * Max(1, spec->nfamilies));

	*n = 0;
	for (int i = 0; i < spec->nfamilies; i++)
	{
		hb_bytes name = family_name(&b, i);
		wide_bytes *columns;
		int k = 0, ncolumns, at;

		(void) wt_remote_table_of(spec->families[i].id, &at);
		if (!r->families[at].stored)
			continue; /* the transaction adds it */
		while (k < *n &&
			   !wt_bytes_equal(list[k].family.data, list[k].family.len, name.data, name.len))
			k++;
		if (k < *n)
		{
			/* the family is listed twice */
			list[k].n_qualifiers = 0;
			continue;
		}
		list[k].family = name;
		++*n;
		if (!is_listed(r, spec, i))
			continue;
		columns = single_columns(spec, i, &ncolumns);
		list[k].qualifiers = palloc(sizeof(hb_bytes) * Max(1, ncolumns));
		for (int q = 0; q < ncolumns; q++)
			((hb_bytes *) list[k].qualifiers)[q] = to_hbase(columns[q]);
		list[k].n_qualifiers = ncolumns;
	}
	return list;
}

/* -------------------------------------------------------------------- cells */

/* Adds filters for cells with each of these qualifiers; other: with another one than each. */
static void
add_columns(const Build *b, const wide_bytes *columns, int n, bool other, Filters *to)
{
	for (int i = 0; i < n; i++)
		add(to, hb_filter_qualifier(b->f, other ? HB_NOT_EQUAL : HB_EQUAL,
									binary(to_hbase(columns[i]))));
}

/* Returns: a filter for the cells of family i, which are known to be of it, that are wanted or
 * tested; NULL: all of them are. */
static const hb_filter *
wanted_in_family(const Build *b, int i)
{
	const wide_scan_family *f = &b->spec->families[i];
	Filters any = {0};
	wide_bytes *columns;
	int n;

	if (f->want == WIDE_WANT_ALL || is_listed(b->r, b->spec, i))
		return NULL;
	columns = single_columns(b->spec, i, &n);
	add_columns(b, columns, n, false, &any);
	if (f->want == WIDE_WANT_RANGE)
		add(&any, hb_filter_column_range(b->f, to_hbase(f->quals[0]), true, to_hbase(f->quals[1]),
										 false));
	return together(b, true, &any);
}

/* Returns: a filter for cells that are not of family i, or are neither wanted nor tested. */
static const hb_filter *
unwanted(const Build *b, int i, bool *none)
{
	const wide_scan_family *f = &b->spec->families[i];
	const hb_filter *elsewhere = hb_filter_family(b->f, HB_NOT_EQUAL, binary(family_name(b, i)));
	Filters not_wanted = {0};
	wide_bytes *columns;
	int n;

	*none = false;
	if (f->want == WIDE_WANT_ALL || is_listed(b->r, b->spec, i))
		return elsewhere;
	columns = single_columns(b->spec, i, &n);
	add_columns(b, columns, n, true, &not_wanted);
	if (f->want == WIDE_WANT_RANGE)
	{
		const hb_filter *before = hb_filter_qualifier(b->f, HB_LESS, binary(to_hbase(f->quals[0])));

		add(&not_wanted, f->quals[1].data == NULL
							 ? before
							 : two(b, true, before,
								   hb_filter_qualifier(b->f, HB_GREATER_OR_EQUAL,
													   binary(to_hbase(f->quals[1])))));
	}
	if (not_wanted.n == 0)
	{
		*none = true;
		return NULL;
	}
	return two(b, true, elsewhere, together(b, false, &not_wanted));
}

/* Returns: a filter for cells that are wanted or tested; NULL: no cell is. */
static const hb_filter *
wanted_cells(const Build *b)
{
	const wide_scan_spec *spec = b->spec;
	Filters any = {0};

	for (int i = 0; i < spec->nfamilies; i++)
	{
		const hb_filter *family = hb_filter_family(b->f, HB_EQUAL, binary(family_name(b, i)));
		const hb_filter *in = wanted_in_family(b, i);
		int n;

		(void) single_columns(spec, i, &n);
		if (spec->families[i].want == WIDE_WANT_EXISTS && n == 0)
			continue;
		add(&any, in == NULL ? family : two(b, false, family, in));
	}
	return together(b, true, &any);
}

/* Returns: a filter for the first cell of a row, without its value, unless it is wanted. */
static const hb_filter *
existence(const Build *b)
{
	Filters all = {0};

	add(&all, hb_filter_first_key(b->f));
	for (int i = 0; i < b->spec->nfamilies; i++)
	{
		bool none;

		add(&all, unwanted(b, i, &none));
	}
	add(&all, hb_filter_key_only(b->f));
	return together(b, false, &all);
}

/* Returns: the filter on cells; NULL: all that is read is wanted. */
static const hb_filter *
cell_filter(const Build *b)
{
	const wide_scan_spec *spec = b->spec;
	bool exists = false, range = false;
	const hb_filter *wanted, *one;

	for (int i = 0; i < spec->nfamilies; i++)
	{
		const wide_scan_family *f = &spec->families[i];

		exists |= f->want == WIDE_WANT_EXISTS || (f->any_exists && f->want != WIDE_WANT_ALL);
		range |= f->want == WIDE_WANT_RANGE;
	}
	if (!exists && !range)
		return NULL;
	if (!exists && spec->nfamilies == 1)
		return wanted_in_family(b, 0);
	wanted = wanted_cells(b);
	if (!exists)
		return wanted;
	one = existence(b);
	return wanted == NULL ? one : two(b, true, wanted, one);
}

/* --------------------------------------------------------------- predicates */

/* Returns: a filter for rows whose newest cell compares so; rows without it are left out. */
static const hb_filter *
test_bytes(const Build *b, const wide_predicate *p, hb_compare op, hb_comparator value)
{
	return hb_filter_column_value(b->f, family_name(b, p->family), to_hbase(p->qualifier), op,
								  value, false, false);
}

static const hb_filter *
test(const Build *b, const wide_predicate *p, hb_compare op, wide_bytes value)
{
	return test_bytes(b, p, op, binary(to_hbase(value)));
}

static const wide_bytes sign = {(const uint8 *) "\x80", 1}; /* the least negative number's start */

/* Returns: a filter for rows whose cell is at least (or at most) the number. */
static const hb_filter *
test_signed(const Build *b, const wide_predicate *p, wide_op op, wide_bytes v)
{
	bool negative = v.len > 0 && v.data[0] >= 0x80;

	if (op == WIDE_OP_LT || op == WIDE_OP_LE)
		return two(b, !negative, test(b, p, HB_GREATER_OR_EQUAL, sign),
				   test(b, p, op == WIDE_OP_LT ? HB_LESS : HB_LESS_OR_EQUAL, v));
	return two(b, negative, test(b, p, HB_LESS, sign),
			   test(b, p, op == WIDE_OP_GT ? HB_GREATER : HB_GREATER_OR_EQUAL, v));
}

/* Returns: true if the bytes of the float are infinite or no number. */
static bool
is_no_float(wide_bytes v)
{
	return v.len == 4 ? (v.data[0] & 0x7f) == 0x7f && v.data[1] >= 0x80
					  : v.len != 8 || ((v.data[0] & 0x7f) == 0x7f && v.data[1] >= 0xf0);
}

static bool
is_zero(wide_bytes v)
{
	for (size_t i = 0; i < v.len; i++)
		if (v.data[i] != 0 && (i > 0 || v.data[i] != 0x80))
			return false;
	return true;
}

/*
 * Returns: a filter for rows whose cell is a float that may compare so.  Bytes of negative floats
 * sort backwards; one that is no number, of either sign, is above all others.  NULL: all may.
 */
static const hb_filter *
test_float(const Build *b, const wide_predicate *p, wide_op op, wide_bytes v)
{
	static const uint8 infinity4[] = {0xff, 0x80, 0, 0};
	static const uint8 infinity8[] = {0xff, 0xf0, 0, 0, 0, 0, 0, 0};
	wide_bytes infinity = {v.len == 4 ? infinity4 : infinity8, v.len};
	bool negative = v.len > 0 && v.data[0] >= 0x80;
	const hb_filter *nan;

	if (is_no_float(v))
		return NULL;
	if (op == WIDE_OP_LT || op == WIDE_OP_LE)
	{
		if (is_zero(v))
			return op == WIDE_OP_LT ? test(b, p, HB_GREATER_OR_EQUAL, sign) : NULL;
		if (negative)
			return test(b, p, HB_GREATER_OR_EQUAL, v);
		return two(b, true, test(b, p, HB_LESS_OR_EQUAL, v), test(b, p, HB_GREATER_OR_EQUAL, sign));
	}
	if (is_zero(v))
		return NULL;
	nan = test(b, p, HB_GREATER, infinity);
	if (negative)
		return two(b, true, test(b, p, HB_LESS_OR_EQUAL, v), nan);
	return two(b, true,
			   two(b, false, test(b, p, HB_GREATER_OR_EQUAL, v), test(b, p, HB_LESS, sign)), nan);
}

/* Returns: a filter for rows that have the cell. */
static const hb_filter *
test_there(const Build *b, const wide_predicate *p)
{
	return test(b, p, HB_GREATER_OR_EQUAL, (wide_bytes) {(const uint8 *) "", 0});
}

/* IN and NOT IN, also = and <> */
static const hb_filter *
test_list(const Build *b, const wide_predicate *p, bool in)
{
	Filters list = {0};
	wide_bytes least, greatest;

	if (p->kind == WIDE_KIND_FLOAT)
		for (int i = 0; i < p->nvalues; i++)
			if (is_zero(p->values[i]) || is_no_float(p->values[i]))
				return test_there(b, p);
	if (p->nvalues <= MAX_VALUES)
	{
		for (int i = 0; i < p->nvalues; i++)
			add(&list, test(b, p, in ? HB_EQUAL : HB_NOT_EQUAL, p->values[i]));
		return together(b, in, &list);
	}
	if (!in)
		return test_there(b, p);
	least = greatest = p->values[0];
	for (int i = 1; i < p->nvalues; i++)
	{
		least = wt_bytes_cmp(p->values[i], least) < 0 ? p->values[i] : least;
		greatest = wt_bytes_cmp(p->values[i], greatest) > 0 ? p->values[i] : greatest;
	}
	return two(b, false, test(b, p, HB_GREATER_OR_EQUAL, least),
			   test(b, p, HB_LESS_OR_EQUAL, greatest));
}

/* Returns: a filter for rows of which the predicate may be true; NULL: it may be true of any. */
static const hb_filter *
predicate_filter(const Build *b, const wide_predicate *p)
{
	static const hb_compare ops[] = {[WIDE_OP_LT] = HB_LESS,
									 [WIDE_OP_LE] = HB_LESS_OR_EQUAL,
									 [WIDE_OP_GT] = HB_GREATER,
									 [WIDE_OP_GE] = HB_GREATER_OR_EQUAL};
	const hb_filter *one;

	if (p->kind == WIDE_KIND_TIME)
		return NULL;
	switch (p->op)
	{
		case WIDE_OP_EQ:
		case WIDE_OP_IN:
			return test_list(b, p, true);
		case WIDE_OP_NE:
		case WIDE_OP_NOT_IN:
			return test_list(b, p, false);
		case WIDE_OP_PREFIX:
			return test_bytes(b, p, HB_EQUAL,
							  (hb_comparator) {HB_COMPARE_PREFIX, to_hbase(p->values[0])});
		case WIDE_OP_IS_NULL:
			/* no value is below the empty one */
			return hb_filter_column_value(b->f, family_name(b, p->family), to_hbase(p->qualifier),
										  HB_LESS, binary((hb_bytes) {(const uint8 *) "", 0}), true,
										  false);
		case WIDE_OP_NOT_NULL:
			return test_there(b, p);
		default:
			break;
	}
	if (p->kind == WIDE_KIND_SIGNED)
		return test_signed(b, p, p->op, p->values[0]);
	if (p->kind == WIDE_KIND_FLOAT)
	{
		one = test_float(b, p, p->op, p->values[0]);
		return one != NULL ? one : test_there(b, p);
	}
	return test(b, p, ops[p->op], p->values[0]);
}

/* Adds a filter for each clause that can be tested. */
static void
add_clauses(const Build *b, Filters *to)
{
	const wide_scan_spec *spec = b->spec;

	for (int p = 0; p < spec->npredicates;)
	{
		Filters any = {0};
		bool all = true;
		int end = p;

		for (;
			 end < spec->npredicates && spec->predicates[end].clause == spec->predicates[p].clause;
			 end++)
		{
			const hb_filter *one = predicate_filter(b, &spec->predicates[end]);

			all = all && one != NULL;
			add(&any, one);
		}
		if (all)
			add(to, together(b, true, &any));
		p = end;
	}
}

const hb_filter *
wt_remote_filter_make(hb_filters *f, const WtRemoteTable *r, const wide_scan_spec *spec)
{
	Build b = {.f = f, .r = r, .spec = spec};
	Filters all = {0};

	add_clauses(&b, &all);
	add(&all, cell_filter(&b));
	return together(&b, false, &all);
}

const hb_filter *
wt_remote_filter_rows(hb_filters *f, const WtRemoteTable *r, const wide_scan_spec *spec)
{
	Build b = {.f = f, .r = r, .spec = spec};
	Filters all = {0};

	add_clauses(&b, &all);
	return together(&b, false, &all);
}

bool
wt_remote_filter_first(hb_filters *f, const WtRemoteTable *r, const wide_scan_spec *spec,
					   const hb_filter **filter, hb_columns **columns, int *n)
{
	Build b = {.f = f, .r = r, .spec = spec};
	wide_scan_spec less = *spec;
	wide_scan_family *list = palloc(sizeof(wide_scan_family) * Max(1, spec->nfamilies));
	wide_predicate *tests = palloc(sizeof(wide_predicate) * Max(1, spec->npredicates));
	Filters all = {0};
	bool fewer = false;

	less.families = list;
	less.nfamilies = 0;
	less.predicates = tests;
	if (spec->npredicates > 0)
		memcpy(tests, spec->predicates, sizeof(wide_predicate) * spec->npredicates);
	for (int i = 0; i < spec->nfamilies; i++)
	{
		wide_scan_family *to = &list[less.nfamilies];
		int columns_of;

		*to = spec->families[i];
		(void) single_columns(spec, i, &columns_of);
		if (to->want == WIDE_WANT_RANGE)
			return false;
		fewer |= to->want == WIDE_WANT_EXISTS || (to->any_exists && to->want != WIDE_WANT_ALL);
		if (to->want != WIDE_WANT_ALL && columns_of == 0)
			continue;
		if (to->want == WIDE_WANT_EXISTS)
			*to = (wide_scan_family) {.id = to->id, .want = WIDE_WANT_COLUMNS};
		to->any_exists = false;
		for (int p = 0; p < spec->npredicates; p++)
			if (spec->predicates[p].family == i)
				tests[p].family = less.nfamilies;
		less.nfamilies++;
	}
	if (!fewer || less.nfamilies == 0)
		return false;
	*columns = wt_remote_filter_columns(r, &less, n);
	add_clauses(&b, &all);
	*filter = together(&b, false, &all);
	return true;
}
