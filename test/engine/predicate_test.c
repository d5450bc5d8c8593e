/*
 * predicate_test.c - scans with predicates compared with the same scan
 * without them plus a naive evaluation of its cells; the same for row
 * filters; and the amount of data read.
 */
#include <math.h>
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/batch/batch.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_state.h"

#define QUALS 5
#define ROWS  60

static wide_family_id fam[3];
static wide_table_id table;

/* The newest version of each column, by scan entry; data NULL: absent. */
typedef struct newest_cells
{
	wide_bytes value[3][QUALS];
	int64_t ts[3][QUALS];
} newest_cells;

static void
begin(store *s, int nfamilies, int versions)
{
	wide_family_options opt;

	store_init(s);
	s->config.memtable_size = 4 << 20;
	s->config.cache_size = 8 << 20;
	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	opt.versions = versions;
	opt.block_size = 1024;
	opt.compression = WIDE_COMPRESS_NONE;
	store_table(s, &opt, nfamilies, &table, fam);
}

/* ------------------------------------------------------------ naive model */

enum truth
{
	NO,
	YES,
	UNSURE
};

static double
float_of(wide_bytes v)
{
	double d;
	float f;
	uint64_t u8;
	uint32_t u4;

	if (v.len == 8)
	{
		u8 = get_u64be(v.data);
		memcpy(&d, &u8, 8);
		return d;
	}
	u4 = get_u32be(v.data);
	memcpy(&f, &u4, 4);
	return f;
}

static int64_t
int_of(wide_bytes v)
{
	int64_t n = (int8_t) v.data[0];

	for (size_t i = 1; i < v.len; i++)
		n = n * 256 + v.data[i];
	return n;
}

static int
naive_compare(wide_kind kind, wide_bytes a, wide_bytes b)
{
	double x, y;

	if (kind == WIDE_KIND_SIGNED || kind == WIDE_KIND_TIME)
		return int_of(a) < int_of(b) ? -1 : int_of(a) > int_of(b);
	if (kind == WIDE_KIND_FLOAT)
	{
		x = float_of(a);
		y = float_of(b);
		if (isnan(x) || isnan(y))
			return (isnan(x) != 0) - (isnan(y) != 0);
		return x < y ? -1 : x > y;
	}
	for (size_t i = 0; i < a.len && i < b.len; i++)
		if (a.data[i] != b.data[i])
			return a.data[i] < b.data[i] ? -1 : 1;
	return a.len < b.len ? -1 : a.len > b.len;
}

static enum truth
naive_one(const wide_predicate *p, const wide_bytes *v, int64_t ts)
{
	int c = 0;
	uint8_t time[8];
	wide_bytes as_value = {time, 8};

	if (p->op == WIDE_OP_IS_NULL || v == NULL)
		return p->op == WIDE_OP_IS_NULL && v == NULL ? YES : NO;
	if (p->op == WIDE_OP_NOT_NULL)
		return YES;
	if (p->nvalues == 0)
		return p->op == WIDE_OP_NOT_IN ? YES : NO;
	put_u64be(time, (uint64_t) ts);
	if (p->kind == WIDE_KIND_TIME)
		v = &as_value;
	if (p->kind == WIDE_KIND_BYTES ? p->width != 0 && v->len != p->width
								   : v->len != p->values[0].len)
		return UNSURE;
	if (p->op == WIDE_OP_IN || p->op == WIDE_OP_NOT_IN)
	{
		for (int i = 0; i < p->nvalues; i++)
			if (naive_compare(p->kind, *v, p->values[i]) == 0)
				return p->op == WIDE_OP_IN ? YES : NO;
		return p->op == WIDE_OP_IN ? NO : YES;
	}
	if (p->op == WIDE_OP_PREFIX)
		return v->len >= p->values[0].len &&
			   memcmp(v->data, p->values[0].data, p->values[0].len) == 0;
	c = naive_compare(p->kind, *v, p->values[0]);
	return p->op == WIDE_OP_EQ	 ? c == 0
		   : p->op == WIDE_OP_NE ? c != 0
		   : p->op == WIDE_OP_LT ? c < 0
		   : p->op == WIDE_OP_LE ? c <= 0
		   : p->op == WIDE_OP_GT ? c > 0
								 : c >= 0;
}

static enum truth
naive(const wide_predicate *p, int n, const newest_cells *newest)
{
	enum truth all = YES;

	for (int i = 0; i < n; i++)
	{
		enum truth any = NO;

		for (int k = 0; k < n; k++)
		{
			int q = p[k].qualifier.data[0] - 'a';
			const wide_bytes *v = &newest->value[p[k].family][q];
			enum truth one = p[k].clause == p[i].clause
								 ? naive_one(&p[k], v->data != NULL ? v : NULL,
											 newest->ts[p[k].family][q])
								 : NO;

			if (one == YES || (one == UNSURE && any == NO))
				any = one;
		}
		if (any == NO)
			return NO;
		if (any == UNSURE)
			all = UNSURE;
	}
	return all;
}

/* ------------------------------------------------------------ random data */

static uint8_t pool[64][8];
static wide_bytes values[64];
static uint8_t times[16][8];

/* A few values of each kind, with the special ones among them. */
static void
make_values(void)
{
	static const double floats[] = {0.0, -0.0,	 1.5,	  -1.5,	 INFINITY, -INFINITY,
									NAN, 5e-324, -5e-324, 1e300, -1e300,   2.5};
	static const int64_t ints[] = {0,	1,	  -1,		 2,			100,   -100,
								   127, -128, INT64_MAX, INT64_MIN, 32767, -32768};
	int n = 0;

	for (int i = 0; i < 12; i++, n += 2)
	{
		float f = (float) floats[i];
		uint64_t u8;
		uint32_t u4;

		memcpy(&u8, &floats[i], 8);
		memcpy(&u4, &f, 4);
		put_u64be(pool[n], u8);
		values[n] = bytes(pool[n], 8);
		put_u32be(pool[n + 1], u4);
		values[n + 1] = bytes(pool[n + 1], 4);
	}
	for (int i = 0; i < 12; i++, n++)
	{
		int width = 1 << (i % 4);

		for (int k = 0; k < width; k++)
			pool[n][k] = (uint8_t) ((uint64_t) ints[i] >> (8 * (width - 1 - k)));
		values[n] = bytes(pool[n], (size_t) width);
	}
	for (; n < 64; n++)
	{
		for (int k = 0; k < 4; k++)
			pool[n][k] = (uint8_t) (n * 7 % 3 + k % 2);
		values[n] = bytes(pool[n], (size_t) (n % 5));
	}
}

/* Later epochs write later timestamps, and sometimes earlier ones. */
static int epoch;

static void
change(store *s, uint64_t *r, int nfamilies, wide_batch *into, int n)
{
	wide_batch *b = into;

	if (into == NULL)
		assert_ok(wide_batch_new(s->db, &b));
	for (int i = 0; i < n; i++)
	{
		char row[16], qual[2] = {(char) ('a' + rnd(r) % QUALS), 0};
		wide_family_id f = fam[rnd(r) % (uint64_t) nfamilies];
		int what = (int) (rnd(r) % 12);
		int64_t ts = 1000 + 12 * epoch + (int64_t) (rnd(r) % 20);
		/* a file with a delete without timestamp is never skipped */
		int64_t until = epoch == 4 && rnd(r) % 2 ? WIDE_TS_MAX : ts;

		snprintf(row, sizeof row, "r%03d", (int) (rnd(r) % ROWS));
		if (what == 0)
			assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, f, text(row), text(""), until));
		else if (what == 1)
			assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, f, text(row), text(qual), until));
		else if (what == 2)
			assert_ok(wide_batch_delete(b,
										rnd(r) % 2 ? WIDE_DELETE_VERSION
												   : WIDE_DELETE_FAMILY_VERSION,
										f, text(row), text(qual), ts));
		else
			assert_ok(wide_batch_put(b, f, text(row), text(qual), ts, INT64_MIN,
									 rnd(r) % 20 == 0 ? 1 : 0, values[rnd(r) % 64]));
	}
	if (into == NULL)
		assert_ok(store_commit(s, b, NULL));
}

static void
random_values(uint64_t *r, wide_predicate *p, wide_bytes *v)
{
	p->nvalues = p->op == WIDE_OP_IN || p->op == WIDE_OP_NOT_IN ? (int) (rnd(r) % 6) : 1;
	p->width = rnd(r) % 3 == 0 ? (uint32_t) (rnd(r) % 5) : 0; /* ignored for numbers */
	p->values = v;
	if (p->kind == WIDE_KIND_TIME)
	{
		for (int i = 0; i < p->nvalues; i++)
		{
			uint8_t *t = times[rnd(r) % 16];

			/* the newest timestamp of one round of changes, or any */
			put_u64be(t, rnd(r) % 2 ? 1019 + 12 * (rnd(r) % 6) : 1000 + rnd(r) % 90);
			v[i] = bytes(t, 8);
		}
		return;
	}
	do
	{
		int width;

		v[0] = values[rnd(r) % 64];
		width = (int) v[0].len;
		if (p->kind == WIDE_KIND_BYTES || width == 8 || width == 4 ||
			(p->kind == WIDE_KIND_SIGNED && (width == 1 || width == 2)))
			break;
	} while (true);
	for (int i = 1; i < p->nvalues; i++)
		do
			v[i] = values[rnd(r) % 64];
		while (p->kind != WIDE_KIND_BYTES && v[i].len != v[0].len);
}

typedef struct question
{
	wide_scan_family f[3];
	wide_bytes quals[3][QUALS];
	wide_predicate p[6];
	wide_bytes v[6][6];
	uint64_t files_skipped;
	uint8_t name[QUALS];
	wide_scan_spec spec;
	wide_range ranges[4];
	char bounds[8][16];
	/* rows that the filter accepts: some of the numbers in [from, to); nspans 0 = no filter */
	int from[3], to[3], nspans;
	char sought[16];
} question;

static int
number_of_row(wide_bytes key)
{
	return atoi((const char *) memcpy((char[8]) {0}, key.data + 1, 3));
}

static bool
is_wanted(const question *q, int row)
{
	bool in = q->nspans == 0;

	for (int i = 0; i < q->nspans; i++)
		in |= row >= q->from[i] && row < q->to[i] && row * 7 % 3 != 0;
	return in;
}

static wide_row_verdict
filter(void *arg, wide_bytes key, wide_bytes *seek)
{
	question *q = arg;
	int row = number_of_row(key);

	assert_int_equal(key.len, 4);
	for (int i = 0; i < q->nspans; i++)
	{
		int at = q->spec.reverse ? q->nspans - 1 - i : i;

		if (row >= q->from[at] && row < q->to[at])
			return is_wanted(q, row) ? WIDE_ROW_ACCEPT : WIDE_ROW_SKIP;
		if (q->spec.reverse ? row < q->to[at] : row >= q->to[at])
			continue;
		snprintf(q->sought, sizeof q->sought, "r%03d", q->spec.reverse ? q->to[at] : q->from[at]);
		*seek = text(q->sought);
		return WIDE_ROW_SEEK;
	}
	return WIDE_ROW_END;
}

/*
 * Adds a condition on time: in an entry with one column, maybe with other
 * entries of the same family.
 */
static void
since_one(question *q, uint64_t *r, int nentries, int n)
{
	int i = (int) (rnd(r) % (uint64_t) nentries);
	wide_scan_family *f = &q->f[i];
	wide_predicate *p = &q->p[n];

	p->family = i;
	p->clause = 100;
	p->op = rnd(r) % 2 ? WIDE_OP_GE : rnd(r) % 2 ? WIDE_OP_GT : WIDE_OP_EQ;
	p->kind = WIDE_KIND_TIME;
	p->qualifier = bytes(&q->name[rnd(r) % QUALS], 1);
	random_values(r, p, q->v[n]);
	f->max_versions = 1 + (int) (rnd(r) % 2);
	if (rnd(r) % 3 == 0)
	{
		/* one that the engine may not use to skip files, because the entry has another column */
		f->want = WIDE_WANT_COLUMNS;
		f->nquals = 2;
		q->quals[i][0] = p->qualifier = bytes(&q->name[0], 1);
		q->quals[i][1] = bytes(&q->name[1 + rnd(r) % (QUALS - 1)], 1);
		return;
	}
	f->want = rnd(r) % 3 == 0 ? WIDE_WANT_EXISTS : WIDE_WANT_COLUMNS;
	f->nquals = 0;
	if (f->want == WIDE_WANT_COLUMNS && rnd(r) % 2)
		q->quals[i][f->nquals++] = p->qualifier;
	for (int k = 0; k < n; k++)
		if (q->p[k].family == i)
			q->p[k].qualifier = p->qualifier;
	if (rnd(r) % 2)
	{
		/* an OR, often of the same kind */
		q->p[0].clause = 100;
		if (rnd(r) % 2)
		{
			q->p[0].family = i;
			q->p[0].qualifier = p->qualifier;
			q->p[0].kind = WIDE_KIND_TIME;
			q->p[0].op = WIDE_OP_GE;
			random_values(r, &q->p[0], q->v[0]);
		}
	}
}

static void
ask(question *q, uint64_t *r, int nfamilies)
{
	int at = 0, n = 1 + (int) (rnd(r) % 5);
	bool twice = rnd(r) % 2;
	int nentries = twice ? 3 : nfamilies;

	memset(q, 0, sizeof *q);
	for (int i = 0; i < QUALS; i++)
		q->name[i] = (uint8_t) ('a' + i);
	for (int i = 0; i < nentries; i++)
	{
		wide_scan_family *f = &q->f[i];

		/* often one family is in several entries */
		*f = (wide_scan_family) {
			.id = fam[twice ? rnd(r) % 2 % (uint64_t) nfamilies : (uint64_t) i],
			.want = (wide_want) (rnd(r) % 4),
			.quals = q->quals[i],
			.max_versions = 1 + (int) (rnd(r) % 3),
			.any_exists = rnd(r) % 3 == 0};
		for (int k = 0; k < QUALS; k++)
			if (f->want == WIDE_WANT_COLUMNS && rnd(r) % 2)
				q->quals[i][f->nquals++] = bytes(&q->name[k], 1);
		if (f->want == WIDE_WANT_RANGE)
		{
			int lo = (int) (rnd(r) % QUALS);

			q->quals[i][f->nquals++] = bytes(&q->name[lo], 1);
			q->quals[i][f->nquals++] =
				rnd(r) % 3 == 0 ? (wide_bytes) {NULL, 0}
								: bytes(&q->name[lo + (int) (rnd(r) % (uint64_t) (QUALS - lo))], 1);
		}
	}
	for (int i = 0; i < n; i++)
	{
		wide_predicate *p = &q->p[i];

		p->family = (int) (rnd(r) % (uint64_t) nentries);
		p->clause = 10 - (int) (rnd(r) % (uint64_t) n);
		p->op = (wide_op) (rnd(r) % (WIDE_OP_NOT_NULL + 1));
		p->kind = rnd(r) % 3 == 0 ? WIDE_KIND_TIME : (wide_kind) (rnd(r) % 3);
		if (p->op == WIDE_OP_PREFIX)
			p->kind = WIDE_KIND_BYTES;
		p->qualifier = bytes(&q->name[rnd(r) % QUALS], 1);
		random_values(r, p, q->v[i]);
	}
	if (rnd(r) % 3 == 0)
		since_one(q, r, nentries, n);
	n = (int) (rnd(r) % 4);
	if (n == 0 || n == 3)
		q->spec.nranges = 1;
	else
		for (int lo = 0; lo < ROWS && q->spec.nranges < 4;)
		{
			int hi;
			char *a = q->bounds[at++], *b = q->bounds[at++];

			lo += (int) (rnd(r) % 12);
			hi = lo + 1 + (int) (rnd(r) % 15);
			snprintf(a, 16, "r%03d", lo);
			if (n == 1)
				q->ranges[q->spec.nranges++] = (wide_range) {text(a), bytes(a, strlen(a) + 1)};
			else
			{
				snprintf(b, 16, "r%03d", hi);
				q->ranges[q->spec.nranges++] = (wide_range) {text(a), text(b)};
			}
			lo = n == 1 ? lo + 1 : hi;
		}
	for (int lo = 0; n != 0 && lo < ROWS && q->nspans < 3; lo = q->to[q->nspans++])
	{
		q->from[q->nspans] = lo + (int) (rnd(r) % 25);
		q->to[q->nspans] = q->from[q->nspans] + 1 + (int) (rnd(r) % 20);
	}
	q->spec.families = q->f;
	q->spec.nfamilies = nentries;
	q->spec.predicates = q->p;
	q->spec.npredicates = 0;
	for (int i = 0; i < 6 && q->p[i].qualifier.data != NULL; i++)
		q->spec.npredicates++;
	q->spec.ranges = q->ranges;
	q->spec.reverse = rnd(r) % 2;
	q->spec.row_cells = rnd(r) % 2 ? 1 + (uint32_t) (rnd(r) % 4) : 0;
	if (rnd(r) % 4 == 0)
	{
		q->spec.show_min = 1000 + (int64_t) (rnd(r) % 30);
		q->spec.show_max = rnd(r) % 2 ? INT64_MAX : q->spec.show_min + 20;
	}
	if (nentries == 1 && rnd(r) % 3 == 0)
		q->spec.row_limit = 1 + (uint32_t) (rnd(r) % 4);
	if (rnd(r) % 3 == 0)
	{
		q->spec.ts_min = 1000 + (int64_t) (rnd(r) % 50);
		q->spec.ts_max = q->spec.ts_min + 20;
	}
}

/* ---------------------------------------------------------------- answers */

/* Rows as bytes: key, unsure, cells by family. */
typedef struct answer
{
	buffer text;
	int rows, unsure;
} answer;

static void
add_text(buffer *b, const void *p, size_t n)
{
	assert_ok(buffer_append(b, &n, sizeof n));
	if (n > 0)
		assert_ok(buffer_append(b, p, n));
}

static void
add_cell(buffer *b, const wide_cell *c)
{
	add_text(b, &c->column, sizeof c->column);
	add_text(b, &c->version, sizeof c->version);
	add_text(b, &c->ts, sizeof c->ts);
	add_text(b, c->qualifier.data, c->qualifier.len);
	add_text(b, c->value.data, c->value.len);
}

/*
 * Reads a whole row, in parts, and collects the cells of each family
 * separately.  Returns false at the end.
 */
static bool
next_row(store *s, wide_scan *scan, buffer *key, buffer cells[3], bool *unsure,
		 newest_cells *newest, buffer *hold)
{
	wide_row row;
	wide_status st;
	bool more = false;

	for (int i = 0; i < 3; i++)
		cells[i].len = 0;
	key->len = 0;
	do
	{
		if (!more && rnd(&(uint64_t) {(uint64_t) s->now++}) % 5 == 0)
			s->interrupt_after = 1 + (int) (s->now % 3);
		while ((st = wide_scan_next(scan, &row)) == WIDE_INTERRUPTED)
			;
		s->interrupt_after = 0;
		if (st == WIDE_END)
			return false;
		assert_ok(st);
		assert_true(!more || key->len == row.key.len);
		key->len = 0;
		assert_ok(buffer_append(key, row.key.data, row.key.len));
		*unsure = row.unsure;
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];

			add_cell(&cells[c->family], c);
			/* the first one returned, which is not version 0 if version 0 is filtered out */
			if (newest != NULL && newest->value[c->family][c->qualifier.data[0] - 'a'].data == NULL)
			{
				uint8_t *p;

				assert_true(hold->cap - hold->len > c->value.len);
				p = hold->data + hold->len;
				if (c->value.len > 0)
					memcpy(p, c->value.data, c->value.len);
				hold->len += c->value.len;
				newest->value[c->family][c->qualifier.data[0] - 'a'] = (wide_bytes) {p,
																					 c->value.len};
				newest->ts[c->family][c->qualifier.data[0] - 'a'] = c->ts;
			}
		}
		more = row.more;
		if (!more && s->now % 11 == 0)
			wide_scan_park(scan);
	} while (more);
	return true;
}

static void
add_row(answer *a, const buffer *key, bool unsure, buffer cells[3])
{
	a->rows++;
	a->unsure += unsure;
	add_text(&a->text, key->data, key->len);
	add_text(&a->text, &unsure, 1);
	for (int i = 0; i < 3; i++)
		add_text(&a->text, cells[i].data, cells[i].len);
}

static void
scan_with(store *s, const wide_snapshot *snap, question *q, answer *a)
{
	buffer key = {0}, cells[3] = {{0}};
	wide_scan *scan;
	wide_scan_stats stats;
	bool unsure;

	scan_block_off = rnd(&(uint64_t) {(uint64_t) s->now}) % 4 == 0;
	q->spec.row_filter = q->nspans > 0 ? filter : NULL;
	q->spec.filter_arg = q;
	assert_ok(wide_scan_open(s->db, snap, &q->spec, &scan));
	q->spec.row_filter = NULL;
	while (next_row(s, scan, &key, cells, &unsure, NULL, NULL))
		add_row(a, &key, unsure, cells);
	wide_scan_statistics(scan, &stats);
	q->files_skipped = q->spec.ts_min == 0 && q->spec.show_min == 0 ? stats.files_skipped_time : 0;
	wide_scan_close(scan);
	buffer_free(&key);
	for (int i = 0; i < 3; i++)
		buffer_free(&cells[i]);
}

/* Reads every row completely for the model, then the wanted cells of the rows that pass. */
static void
scan_naive(store *s, const wide_snapshot *snap, const question *q, answer *a)
{
	question all = *q;
	wide_scan_family wanted[3];
	buffer key = {0}, hold = {0}, cells[3] = {{0}};
	wide_scan *scan, *one;
	bool unsure;
	newest_cells newest;

	all.spec.npredicates = 0;
	all.spec.row_limit = 0;
	all.spec.families = all.f;
	for (int i = 0; i < q->spec.nfamilies; i++)
		all.f[i] = (wide_scan_family) {
			.id = q->f[i].id, .want = WIDE_WANT_ALL, .max_versions = q->f[i].max_versions};
	memcpy(wanted, q->f, sizeof wanted);
	assert_ok(buffer_reserve(&hold, 4096));
	assert_ok(wide_scan_open(s->db, snap, &all.spec, &scan));
	while (memset(&newest, 0, sizeof newest), hold.len = 0,
		   next_row(s, scan, &key, cells, &unsure, &newest, &hold))
	{
		enum truth in = naive(q->p, q->spec.npredicates, &newest);
		wide_range point;
		question here = *q;
		buffer end = {0}, again = {0};
		bool exists = false;

		assert_false(unsure);
		if (in == NO || !is_wanted(q, number_of_row((wide_bytes) {key.data, key.len})))
			continue;
		for (int i = 0; i < q->spec.npredicates; i++)
			exists |= newest.value[q->p[i].family][q->p[i].qualifier.data[0] - 'a'].data != NULL;
		assert_ok(buffer_append(&end, key.data, key.len));
		assert_ok(buffer_append(&end, "", 1));
		point = (wide_range) {{end.data, key.len}, {end.data, end.len}};
		here.spec.npredicates = 0;
		here.spec.ranges = &point;
		here.spec.nranges = 1;
		here.spec.row_cells = 0;
		assert_ok(wide_scan_open(s->db, snap, &here.spec, &one));
		for (int i = 0; i < 3; i++)
			cells[i].len = 0;
		if (next_row(s, one, &again, cells, &unsure, NULL, NULL) || exists)
			add_row(a, &key, in == UNSURE, cells);
		wide_scan_close(one);
		buffer_free(&end);
		buffer_free(&again);
	}
	wide_scan_close(scan);
	buffer_free(&key);
	buffer_free(&hold);
	for (int i = 0; i < 3; i++)
		buffer_free(&cells[i]);
}

static void
test_random(void **state)
{
	uint64_t r = 1;
	int rows = 0, unsure = 0, none = 0;
	uint64_t skipped = 0;

	(void) state;
	make_values();
	for (int round = 0; round < 12; round++)
	{
		int nfamilies = 1 + round % 3;
		wide_snapshot *snap;
		wide_batch *own;
		store s;

		begin(&s, nfamilies, 1 + round % 3);
		for (int i = 0; i < 6; i++)
		{
			epoch = i;
			change(&s, &r, nfamilies, NULL, 120);
			if (i % 2 == round % 2)
				assert_ok(wide_flush(s.db));
		}
		if (round % 4 == 3)
			for (int i = 0; i < nfamilies; i++)
				assert_ok(wide_compact(s.db, fam[i]));
		assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		change(&s, &r, nfamilies, NULL, 50);
		assert_ok(wide_batch_new(s.db, &own));
		change(&s, &r, nfamilies, own, 40);
		for (int i = 0; i < 300; i++)
		{
			question q;
			answer got = {0}, want = {0};

			ask(&q, &r, nfamilies);
			q.spec.now = s.now;
			if (i % 3 == 0)
			{
				q.spec.own = own;
				q.spec.own_mark = wide_batch_mark(own) - (uint64_t) (i % 20);
			}
			scan_with(&s, snap, &q, &got);
			scan_naive(&s, snap, &q, &want);
			if (got.rows != want.rows || got.text.len != want.text.len ||
				(got.rows > 0 && memcmp(got.text.data, want.text.data, got.text.len) != 0))
				fail_msg("round %d question %d: %d rows (%d unsure), not %d (%d)", round, i,
						 got.rows, got.unsure, want.rows, want.unsure);
			rows += got.rows;
			unsure += got.unsure;
			none += got.rows == 0;
			skipped += q.files_skipped;
			buffer_free(&got.text);
			buffer_free(&want.text);
		}
		wide_batch_free(own);
		wide_snapshot_release(snap);
		store_drop(&s);
	}
	/* the questions are neither trivial nor unsatisfiable */
	assert_true(rows > 8000 && unsure > 500 && none < 2400 && skipped > 500);
}

/* ---------------------------------------------------- amount of data read */

/* Writes n rows: number i as 4 bytes in fam[0]:a, long values in fam[1]:b and c. */
static void
fill(store *s, int n)
{
	char big[200];
	wide_batch *b = NULL;

	memset(big, 'x', sizeof big);
	for (int i = 0; i < n; i++)
	{
		char row[16];
		uint8_t number[4];

		if (b == NULL)
			assert_ok(wide_batch_new(s->db, &b));
		snprintf(row, sizeof row, "r%06d", i);
		put_u32be(number, (uint32_t) i);
		assert_ok(wide_batch_put(b, fam[0], text(row), text("a"), 1, INT64_MIN, 0,
								 bytes(number, 4)));
		assert_ok(wide_batch_put(b, fam[1], text(row), text("b"), 1, INT64_MIN, 0,
								 bytes(big, sizeof big)));
		assert_ok(wide_batch_put(b, fam[1], text(row), text("c"), 1, INT64_MIN, 0,
								 bytes(big, sizeof big)));
		if (i % 2000 == 1999 || i + 1 == n)
		{
			assert_ok(store_commit(s, b, NULL));
			b = NULL;
			assert_ok(wide_flush(s->db));
		}
	}
	assert_ok(wide_compact(s->db, fam[0]));
	assert_ok(wide_compact(s->db, fam[1]));
}

static uint64_t
blocks_of(store *s, const wide_scan_spec *spec, int rows, wide_scan_stats *stats)
{
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	int n = 0;

	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
	{
		assert_false(row.unsure);
		n++;
	}
	assert_int_equal(n, rows);
	wide_scan_statistics(scan, stats);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	return stats->blocks_read + stats->blocks_cached;
}

/* The family of the predicate is read completely; of the other one only the rows that pass. */
static void
test_load_on_demand(void **state)
{
	store s;
	wide_scan_family f[2] = {{.want = WIDE_WANT_ALL}, {.want = WIDE_WANT_ALL}};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}}, points[50];
	char keys[50][16];
	uint8_t numbers[6][4];
	wide_bytes in[4], one;
	wide_predicate p = {.family = 0,
						.op = WIDE_OP_IN,
						.kind = WIDE_KIND_SIGNED,
						.qualifier = text("a"),
						.values = in,
						.nvalues = 4};
	wide_scan_spec spec = {.families = f, .nfamilies = 2, .ranges = &all, .nranges = 1};
	wide_scan_stats stats;
	uint64_t without, with, narrow;
	const int n = 6000;

	(void) state;
	begin(&s, 2, 1);
	fill(&s, n);
	f[0].id = fam[0];
	f[1].id = fam[1];
	without = blocks_of(&s, &spec, n, &stats);
	spec.nfamilies = 1;
	narrow = blocks_of(&s, &spec, n, &stats);
	assert_true(without > 4 * narrow);
	spec.nfamilies = 2;
	for (int i = 0; i < 4; i++)
	{
		put_u32be(numbers[i], (uint32_t) ((i * 1700 + 5) % n));
		in[3 - i] = bytes(numbers[i], 4);
	}
	spec.predicates = &p;
	spec.npredicates = 1;
	for (int reverse = 0; reverse < 2; reverse++)
	{
		spec.reverse = reverse;
		with = blocks_of(&s, &spec, 4, &stats);
		/* one block of the other family for each row, maybe two */
		assert_true(with <= (reverse ? 2 : 1) * narrow + 8);
		assert_int_equal(stats.cells_returned, 12);
	}
	spec.reverse = false;
	/* in the other order, and for existence only */
	f[0] = (wide_scan_family) {.id = fam[1], .want = WIDE_WANT_EXISTS};
	f[1] = (wide_scan_family) {.id = fam[0], .want = WIDE_WANT_COLUMNS};
	p.family = 1;
	with = blocks_of(&s, &spec, 4, &stats);
	assert_true(with == narrow);
	/* gets of rows that fail */
	f[0].want = WIDE_WANT_ALL;
	put_u32be(numbers[4], 100000);
	one = bytes(numbers[4], 4);
	p.op = WIDE_OP_GT;
	p.values = &one;
	p.nvalues = 1;
	for (int i = 0; i < 50; i++)
	{
		snprintf(keys[i], 16, "r%06d", i * 100);
		points[i] = (wide_range) {text(keys[i]), bytes(keys[i], strlen(keys[i]) + 1)};
	}
	spec.ranges = points;
	spec.nranges = 50;
	assert_true(blocks_of(&s, &spec, 0, &stats) <= 50);
	store_drop(&s);
}

static void
test_wrong(void **state)
{
	store s;
	wide_scan_family f = {.want = WIDE_WANT_ALL};
	wide_bytes v[2] = {text("1234"), text("12345678")};
	wide_predicate p = {.op = WIDE_OP_EQ, .qualifier = text("a"), .values = v, .nvalues = 1};
	wide_scan_spec spec = {.families = &f, .nfamilies = 1, .predicates = &p, .npredicates = 1};
	wide_snapshot *snap;
	wide_scan *scan;

	(void) state;
	begin(&s, 1, 1);
	f.id = fam[0];
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	p.family = 1;
	assert_int_equal(wide_scan_open(s.db, snap, &spec, &scan), WIDE_INVALID);
	p.family = 0;
	p.nvalues = 2;
	assert_int_equal(wide_scan_open(s.db, snap, &spec, &scan), WIDE_INVALID);
	p.op = WIDE_OP_IN;
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	wide_scan_close(scan);
	p.kind = WIDE_KIND_SIGNED;
	assert_int_equal(wide_scan_open(s.db, snap, &spec, &scan), WIDE_INVALID);
	p.nvalues = 1;
	p.op = WIDE_OP_PREFIX;
	assert_int_equal(wide_scan_open(s.db, snap, &spec, &scan), WIDE_INVALID);
	p.op = WIDE_OP_LT;
	v[0] = text("123");
	assert_int_equal(wide_scan_open(s.db, snap, &spec, &scan), WIDE_INVALID);
	v[0] = text("12");
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	wide_scan_close(scan);
	p.kind = WIDE_KIND_FLOAT;
	assert_int_equal(wide_scan_open(s.db, snap, &spec, &scan), WIDE_INVALID);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* State of a filter for SELECT DISTINCT of a prefix: the last row returned. */
typedef struct distinct
{
	char last[8];
	char seek[8];
	bool reverse;
	int asked;
} distinct;

static wide_row_verdict
distinct_filter(void *arg, wide_bytes key, wide_bytes *seek)
{
	distinct *d = arg;

	d->asked++;
	if (memcmp(d->last, key.data, 3) != 0)
		return WIDE_ROW_ACCEPT;
	memcpy(d->seek, key.data, 3);
	d->seek[2] += !d->reverse;
	*seek = bytes(d->seek, 3);
	return WIDE_ROW_SEEK;
}

/* 100 prefixes of 1000 rows each: about one seek for each, in memory and in a file. */
static void
test_distinct(void **state)
{
	store s;
	wide_scan_family f = {.want = WIDE_WANT_EXISTS};
	distinct d = {.last = ""};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {.families = &f,
						   .nfamilies = 1,
						   .ranges = &all,
						   .nranges = 1,
						   .row_filter = distinct_filter,
						   .filter_follows = true,
						   .filter_arg = &d};

	(void) state;
	begin(&s, 1, 1);
	f.id = fam[0];
	for (int i = 0; i < 100; i++)
	{
		wide_batch *b;

		assert_ok(wide_batch_new(s.db, &b));
		for (int k = 0; k < 1000; k++)
		{
			char row[16];

			snprintf(row, sizeof row, "p%02d%04d", i, k);
			row[2]++; /* so that its successor is one byte */
			assert_ok(wide_batch_put(b, fam[0], text(row), text("a"), 1, INT64_MIN, 0, text("v")));
		}
		assert_ok(store_commit(&s, b, NULL));
		store_work(&s);
	}
	assert_ok(wide_flush(s.db));
	assert_ok(wide_compact(s.db, fam[0]));
	for (int reverse = 0; reverse < 2; reverse++)
	{
		wide_snapshot *snap;
		wide_scan *scan;
		wide_scan_stats stats;
		wide_row row;
		int n = 0;

		spec.reverse = d.reverse = reverse;
		d.last[0] = '\0';
		d.asked = 0;
		assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
		while (wide_scan_next(scan, &row) == WIDE_OK)
		{
			assert_true(memcmp(d.last, row.key.data, 3) != 0);
			memcpy(d.last, row.key.data, 3);
			n++;
		}
		assert_int_equal(n, 100);
		wide_scan_statistics(scan, &stats);
		assert_true(d.asked <= 200);
		assert_true(stats.cells_scanned <= 100);
		assert_true(stats.seeks <= 100 + (reverse ? 301 : 1));
		assert_true(stats.blocks_read + stats.blocks_cached <= (reverse ? 400 : 205));
		wide_scan_close(scan);
		wide_snapshot_release(snap);
	}
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_load_on_demand),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
