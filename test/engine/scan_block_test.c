/*
 * scan_block_test.c - rows read from blocks in runs equal rows read one by one:
 * random tables of two families, each question asked both ways.
 */
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/key.h"
#include "engine/batch/batch.h"
#include "engine/compaction/output.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_span.h"
#include "engine/read/source_file.h"
#include "engine/scan/scan_state.h"

#define ROWS  400
#define QUALS 9
#define FAMS  2
#define READ  3 /* families of a question, in which one may come twice */

static wide_family_id fam[FAMS];
static wide_table_id table;
static char qual_name[QUALS][8];

static wide_bytes
row_key(int i, char *buf)
{
	/* with zero bytes, and prefixes of other rows */
	int n = snprintf(buf, 32, "%03d%s", i / 3, i % 3 == 0 ? "" : i % 3 == 1 ? "x" : "xyz");

	if (i % 5 == 0)
		buf[2] = '\0';
	return bytes(buf, (size_t) n + (i % 3 == 1));
}

/* Writes cells of every step-th row in one transaction: dense, or with gaps, versions, deletes and
 * TTLs. */
static void
write_every(store *s, uint64_t *r, int from, int to, int step, int holes, bool rough, int64_t ts)
{
	wide_batch *b;

	assert_ok(wide_batch_new(s->db, &b));
	for (int i = from; i < to; i += step)
	{
		char key[32], value[64];
		/* most rows are in both families */
		int only = (int) (rnd(r) % 6);

		for (int k = 0; k < QUALS; k++)
		{
			uint64_t x = rnd(r);
			int n = (int) (x >> 8 & 0xffff) % (k % 2 == 0 ? 5 : 50);
			wide_family_id to_family = fam[only < FAMS ? only : k % FAMS];

			if ((int) (x % 100) < holes || (k > 5 && x % 7 != 0))
				continue;
			memset(value, 'a' + (int) (x >> 16 & 0xff) % 26, sizeof value);
			if (rough && x % 40 == 0)
				assert_ok(wide_batch_delete(b, x % 3 == 0 ? WIDE_DELETE_FAMILY : WIDE_DELETE_COLUMN,
											to_family, row_key(i, key), text(qual_name[k]),
											WIDE_TS_MAX));
			else
				assert_ok(wide_batch_put(b, to_family, row_key(i, key), text(qual_name[k]),
										 ts == 0 ? WIDE_TS_AUTO : ts + (int64_t) (x >> 40) % 3, 0,
										 rough && x % 30 == 0 ? 1000000000 : 0,
										 bytes(value, (size_t) n)));
		}
	}
	assert_ok(store_commit(s, b, NULL));
}

static void
write_rows(store *s, uint64_t *r, int from, int to, int holes, bool rough, int64_t ts)
{
	write_every(s, r, from, to, 1, holes, rough, ts);
}

typedef struct question
{
	wide_scan_spec spec;
	wide_scan_family f[READ];
	wide_bytes quals[READ][QUALS];
	wide_range ranges[4];
	char keys[8][32];
	wide_predicate p[2];
	wide_bytes value;
	int skip; /* filter */
	char sought[32];
} question;

static wide_row_verdict
filter(void *arg, wide_bytes key, wide_bytes *seek)
{
	question *q = arg;
	int n = key.data[0] * 7 + key.data[1] * 3 + key.data[key.len - 1];

	if (n % q->skip == 0)
		return WIDE_ROW_SKIP;
	if (n % q->skip == 1 && key.data[1] < '9')
	{
		memcpy(q->sought, key.data, 2);
		q->sought[1]++;
		*seek = bytes(q->sought, 2);
		return WIDE_ROW_SEEK;
	}
	return n % 977 == 0 ? WIDE_ROW_END : WIDE_ROW_ACCEPT;
}

static int
compare_bounds(const void *a, const void *b)
{
	const wide_bytes *x = a, *y = b;

	return ukey_compare(x->data, x->len, y->data, y->len);
}

static void
ask_family(question *q, uint64_t *r, int i)
{
	wide_scan_family *f = &q->f[i];

	*f = (wide_scan_family) {.id = fam[rnd(r) % 8 == 0 ? 0 : i % FAMS],
							 .want = (wide_want) (rnd(r) % 4),
							 .quals = q->quals[i],
							 .max_versions = 1 + (int) (rnd(r) % 5 == 0),
							 .any_exists = rnd(r) % 2};
	if (f->want == WIDE_WANT_COLUMNS)
		for (int k = 0; k < QUALS; k++)
			if (rnd(r) % 3 == 0)
				q->quals[i][f->nquals++] = text(qual_name[k]);
	if (f->want == WIDE_WANT_RANGE)
	{
		q->quals[i][0] = text(qual_name[rnd(r) % 4]);
		q->quals[i][1] = rnd(r) % 2 ? text(qual_name[4 + rnd(r) % 4]) : bytes(NULL, 0);
		f->nquals = 2;
	}
}

static void
ask(question *q, uint64_t *r)
{
	int n = 1 + (int) (rnd(r) % 3);
	wide_bytes bound[8];

	memset(q, 0, sizeof *q);
	q->spec = (wide_scan_spec) {.families = q->f,
								.nfamilies = 1 + (int) (rnd(r) % READ),
								.ranges = q->ranges,
								.nranges = n,
								.reverse = rnd(r) % 5 == 0,
								.row_cells = rnd(r) % 4 == 0 ? 3 : 0,
								.row_limit = rnd(r) % 5 == 0 ? 2 : 0,
								.row_hint = rnd(r) % 3 == 0 ? rnd(r) % 100 : 0};
	for (int i = 0; i < q->spec.nfamilies; i++)
		ask_family(q, r, i);
	if (rnd(r) % 6 == 0)
		q->spec.ts_max = 40;
	if (rnd(r) % 6 == 0)
	{
		q->spec.show_min = 11;
		q->spec.show_max = INT64_MAX;
	}
	for (int i = 0; i < (int) (rnd(r) % 3); i++)
	{
		q->value = text("ccc");
		q->p[i] = (wide_predicate) {.family = (int) (rnd(r) % (uint64_t) q->spec.nfamilies),
									.clause = i,
									.op = i == 0 ? (wide_op) (rnd(r) % 6) : WIDE_OP_IS_NULL,
									.kind = WIDE_KIND_BYTES,
									.qualifier = text(qual_name[rnd(r) % QUALS]),
									.values = &q->value,
									.nvalues = 1,
									.width = rnd(r) % 3 == 0 ? 3 : 0};
		if (q->p[i].op == WIDE_OP_IS_NULL)
			q->p[i].nvalues = 0;
		q->spec.npredicates = i + 1;
	}
	q->spec.predicates = q->p;
	if (rnd(r) % 4 == 0 && !q->spec.reverse)
	{
		q->skip = 2 + (int) (rnd(r) % 20);
		q->spec.row_filter = filter;
		q->spec.filter_arg = q;
		q->spec.filter_follows = rnd(r) % 2;
	}
	if (rnd(r) % 3 == 0)
	{
		q->ranges[0] = (wide_range) {{(const uint8_t *) "", 0}, {NULL, 0}};
		q->spec.nranges = 1;
		return;
	}
	for (int i = 0; i < 2 * n; i++)
		bound[i] = row_key((int) (rnd(r) % ROWS), q->keys[i]);
	qsort(bound, (size_t) (2 * n), sizeof *bound, compare_bounds);
	for (int i = 0; i < n; i++)
	{
		q->ranges[i] = (wide_range) {bound[2 * i], bound[2 * i + 1]};
		/* one row only */
		if (rnd(r) % 3 == 0)
		{
			((char *) bound[2 * i].data)[bound[2 * i].len] = '\0';
			q->ranges[i].hi = bytes(bound[2 * i].data, bound[2 * i].len + 1);
		}
	}
}

static void
note(buffer *out, const void *p, size_t n)
{
	assert_ok(buffer_append(out, &n, sizeof n));
	assert_ok(buffer_append(out, p, n));
}

static uint64_t backwards; /* rows that reverse scans took from blocks */

/* Appends the answer as bytes; the scan is parked, interrupted and restarted on the way. */
static void
answer(store *s, const wide_snapshot *snap, question *q, uint64_t seed, buffer *out, uint64_t *rows,
	   uint64_t *taken)
{
	uint64_t r = seed;
	wide_scan *scan;
	wide_row row;
	wide_status st;
	wide_scan_stats stats;
	bool more = false;

	assert_ok(wide_scan_open(s->db, snap, &q->spec, &scan));
	if (rnd(&r) % 2)
	{
		for (int i = (int) (rnd(&r) % 40); i > 0 && wide_scan_next(scan, &row) == WIDE_OK; i--)
			;
		assert_ok(wide_scan_restart(scan, q->spec.ranges, q->spec.nranges, 0));
	}
	for (;;)
	{
		if (!more && rnd(&r) % 7 == 0)
			s->interrupt_after = 1 + (int) (rnd(&r) % 3);
		while ((st = wide_scan_next(scan, &row)) == WIDE_INTERRUPTED)
			;
		s->interrupt_after = 0;
		if (st == WIDE_END)
			break;
		assert_ok(st);
		note(out, row.key.data, row.key.len);
		assert_ok(buffer_append(out, &row.unsure, 1));
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];
			int64_t n[] = {c->family, c->column,		c->version,	   c->ts,
						   c->ttl_us, (int64_t) c->seq, c->provisional};

			note(out, n, sizeof n);
			note(out, c->qualifier.data, c->qualifier.len);
			note(out, c->value.data, c->value.len);
		}
		more = row.more;
		*rows += !more;
		/* from a block */
		if (scan->given > 0 && scan->ahead[scan->given - 1].key.data == row.key.data)
		{
			(*taken)++;
			backwards += q->spec.reverse;
		}
		if (!more && rnd(&r) % 11 == 0)
			wide_scan_park(scan);
	}
	wide_scan_statistics(scan, &stats);
	assert_true(stats.cells_returned >=
				stats.rows_returned * (q->spec.nfamilies == 1 && q->f[0].want == WIDE_WANT_ALL));
	wide_scan_close(scan);
}

/*
 * The answer as values by column, from cells or spans; parked, interrupted and restarted on the
 * way.  *spans: how many rows came in spans.
 */
static void
answer_values(store *s, const wide_snapshot *snap, const question *q, uint64_t seed, buffer *out,
			  uint64_t *spans, wide_scan_stats *stats)
{
	uint64_t r = seed;
	wide_scan *scan;
	wide_row row;
	wide_status st;
	buffer values[READ * QUALS] = {0};
	bool there[READ * QUALS] = {0}, more = false, stop = seed % 2;
	int first[READ], ncolumns = 0, last = -1;

	for (int i = 0; i < q->spec.nfamilies; i++)
	{
		first[i] = ncolumns;
		ncolumns += q->f[i].want == WIDE_WANT_COLUMNS ? q->f[i].nquals : 0;
	}
	assert_ok(wide_scan_open(s->db, snap, &q->spec, &scan));
	for (;;)
	{
		if (stop && !more && rnd(&r) % 19 == 0)
			s->interrupt_after = 1 + (int) (rnd(&r) % 3);
		while ((st = wide_scan_next(scan, &row)) == WIDE_INTERRUPTED)
			last = -1;
		s->interrupt_after = 0;
		if (st == WIDE_END)
			break;
		assert_ok(st);
		if (!more)
		{
			note(out, row.key.data, row.key.len);
			assert_ok(buffer_append(out, &row.unsure, 1));
		}
		if (row.span != NULL)
		{
			assert_true(q->spec.by_column && row.ncells == 0 && !row.more);
			if (!q->spec.reverse)
				assert_int_equal(row.span_row, last + 1);
			else if (last >= 0)
				assert_int_equal(row.span_row, last - 1);
			if (q->spec.reverse)
				assert_true(row.span_end == (row.span_row == 0));
			last = row.span_end ? -1 : row.span_row;
			(*spans)++;
		}
		else
			assert_int_equal(last, -1);
		for (int i = 0; i < ncolumns && row.span != NULL; i++)
		{
			wide_bytes v = row.span[i].values[row.span_row];

			there[i] = row.span[i].there >> row.span_row & 1;
			if (there[i])
				assert_ok(buffer_set(&values[i], v.data, v.len));
		}
		for (int i = 0; i < row.ncells; i++)
		{
			int at = first[row.cells[i].family] + row.cells[i].column;

			assert_ok(buffer_set(&values[at], row.cells[i].value.data, row.cells[i].value.len));
			there[at] = true;
		}
		more = row.more;
		for (int i = 0; i < ncolumns && !more; i++)
		{
			assert_ok(buffer_append(out, &there[i], 1));
			if (there[i])
				note(out, values[i].data, values[i].len);
			there[i] = false;
		}
		if (stop && !more && rnd(&r) % 40 == 0)
		{
			wide_scan_park(scan);
			last = -1;
		}
	}
	wide_scan_statistics(scan, stats);
	wide_scan_close(scan);
	for (int i = 0; i < READ * QUALS; i++)
		buffer_free(&values[i]);
}

/* Asks for the values of columns in spans, and row by row.  Returns: how many rows came in spans.
 */
static uint64_t
ask_values(store *s, const wide_snapshot *snap, question *q, uint64_t seed)
{
	uint64_t spans = 0, none = 0;
	wide_scan_stats x, y;
	buffer a = {0}, b = {0};

	for (int i = 0; i < q->spec.nfamilies; i++)
	{
		q->f[i].max_versions = 1;
		if (q->f[i].want == WIDE_WANT_ALL || q->f[i].want == WIDE_WANT_RANGE)
			q->f[i] = (wide_scan_family) {.id = q->f[i].id, .want = WIDE_WANT_EXISTS};
	}
	q->spec.by_column = true;
	scan_span_least = (int[]) {1, 4, 16}[seed % 3];
	answer_values(s, snap, q, seed, &a, &spans, &x);
	q->spec.by_column = false;
	answer_values(s, snap, q, 2, &b, &none, &y);
	assert_int_equal(none, 0);
	if (a.len != b.len || (a.len > 0 && memcmp(a.data, b.data, a.len) != 0))
		fail_msg("by column: %zu bytes, else %zu", a.len, b.len);
	/* what was read before an interruption counts twice */
	if (seed % 2 == 0)
	{
		assert_int_equal(x.rows_returned, y.rows_returned);
		assert_int_equal(x.cells_returned, y.cells_returned);
	}
	buffer_free(&a);
	buffer_free(&b);
	return spans;
}

static void
both_ways(void **state)
{
	uint64_t ran = 0, rows = 0, spans = 0;

	for (uint64_t seed = 1; seed <= 24; seed++)
	{
		store s;
		wide_family_options opt;
		wide_snapshot *snap = NULL;
		wide_batch *own;
		uint64_t r = seed;

		store_init(&s);
		s.config.memtable_size = 8 << 20;
		s.config.cache_size = 8 << 20;
		/* in some stores each file of a level has one block */
		output_file_bytes = seed % 5 == 1 ? 512 : 64 << 20;
		s.config.max_files = 4096;
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		opt.versions = seed % 3 == 0 ? 3 : 1;
		opt.block_size = seed % 2 ? 1024 : 4096;
		store_table(&s, &opt, FAMS, &table, fam);
		for (int k = 0; k < QUALS; k++)
			snprintf(qual_name[k], sizeof qual_name[k], "%c%d", 'a' + k, k * k);
		write_every(&s, &r, 0, ROWS, seed % 4 < 2 ? 2 : 1, seed % 4 == 0 ? 0 : 20, false,
					seed % 2 ? 10 : 0);
		assert_ok(wide_flush(s.db));
		for (int i = 0; i < FAMS; i++)
			assert_ok(wide_compact(s.db, fam[i]));
		/* files that lie between each other, in rows of their own for the most part */
		if (seed % 4 < 2)
		{
			write_every(&s, &r, 3, ROWS + 200, 7, 20, false, seed % 2 ? 15 : 0);
			assert_ok(wide_flush(s.db));
		}
		if (seed % 3 == 1)
		{
			write_rows(&s, &r, 100, 140, 30, true, seed % 2 ? 20 : 0);
			assert_ok(wide_flush(s.db));
		}
		if (seed % 3 != 2)
			write_rows(&s, &r, 200, 210, 30, seed % 4 != 1, 0);
		assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		/* after the snapshot */
		write_rows(&s, &r, 300, 310, 30, seed % 4 != 1, 0);
		/* in separate rows, so that whole blocks contain only these */
		if (seed % 2)
			write_rows(&s, &r, ROWS, ROWS + 30, 0, false, 0);
		if (seed % 2)
			assert_ok(wide_flush(s.db));
		assert_ok(wide_batch_new(s.db, &own));
		assert_ok(wide_batch_put(own, fam[0], text("05x"), text(qual_name[1]), WIDE_TS_AUTO, 0, 0,
								 text("own")));
		for (int i = 0; i < 120; i++)
		{
			question q;
			buffer a = {0}, b = {0};
			uint64_t ask_seed = seed * 1000 + (uint64_t) i, n = 0;

			ask(&q, &ask_seed);
			if (i % 5 == 0)
			{
				q.spec.own = own;
				q.spec.own_mark = UINT64_MAX;
			}
			scan_block_off = true;
			answer(&s, snap, &q, ask_seed, &b, &n, &n);
			scan_block_off = false;
			answer(&s, snap, &q, ask_seed, &a, &rows, &ran);
			if (a.len != b.len || (a.len > 0 && memcmp(a.data, b.data, a.len) != 0))
				fail_msg("seed %d, question %d: %zu bytes, %zu row by row (%d families, want %d, "
						 "%d ranges, %s%s%s%d predicates, limits %u %u)",
						 (int) seed, i, a.len, b.len, q.spec.nfamilies, q.f[0].want, q.spec.nranges,
						 q.spec.reverse ? "backwards, " : "", q.spec.row_filter ? "filter, " : "",
						 q.spec.own ? "own batch, " : "", q.spec.npredicates, q.spec.row_cells,
						 q.spec.row_limit);
			buffer_free(&a);
			buffer_free(&b);
			spans += ask_values(&s, snap, &q, ask_seed);
		}
		wide_batch_free(own);
		wide_snapshot_release(snap);
		store_drop(&s);
	}
	/* the other way was really used */
	assert_true(rows > 20000);
	assert_true(ran > rows / 5 * 2);
	assert_true(spans > rows / 5);
	assert_true(backwards > 3000);
}

/* Commits rows "<letter><number>" with columns v and w, v only up to number `most`. */
static void
write_numbers(store *s, wide_family_id f, char letter, int from, int to, int step, int most,
			  const char *value)
{
	wide_batch *b;
	char key[16];

	assert_ok(wide_batch_new(s->db, &b));
	for (int i = from; i < to; i += step)
	{
		snprintf(key, sizeof key, "%c%04d", letter, i);
		if (i <= most)
			assert_ok(wide_batch_put(b, f, text(key), text("v"), WIDE_TS_AUTO, INT64_MIN, 0,
									 text(value)));
		assert_ok(wide_batch_put(b, f, text(key), text("w"), WIDE_TS_AUTO, INT64_MIN, 0,
								 text("1")));
	}
	assert_ok(store_commit(s, b, NULL));
}

/*
 * A range ends in the block of one file, where the next row has a number that a row of another
 * file's block has, too; before that one is a row without the column, which is not taken.  None of
 * the rows gets a value from behind the range.
 */
static void
numbers_coincide(void **state)
{
	store s;
	wide_family_options opt;
	wide_snapshot *snap;
	wide_family_id f;
	question q = {0};

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &table, &f);
	write_numbers(&s, f, 'k', 0, 120, 2, 120, "a");
	write_numbers(&s, f, 'z', 0, 40, 1, 40, "z");
	assert_ok(wide_flush(s.db));
	write_numbers(&s, f, 'k', 1, 120, 2, 118, "b");
	write_numbers(&s, f, 'k', 120, 140, 1, 140, "b");
	assert_ok(wide_flush(s.db));
	assert_int_equal(store_files(&s, f, 0), 2);
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	q.quals[0][0] = text("v");
	q.f[0] = (wide_scan_family) {
		.id = f, .want = WIDE_WANT_COLUMNS, .quals = q.quals[0], .nquals = 1, .max_versions = 1};
	q.ranges[0] = (wide_range) {text("k"), text("l")};
	q.spec = (wide_scan_spec) {.families = q.f, .nfamilies = 1, .ranges = q.ranges, .nranges = 1};
	/* seeds that do not stop on the way, with all three values of scan_span_least */
	for (uint64_t seed = 0; seed < 6; seed += 2)
		assert_true(ask_values(&s, snap, &q, seed) > 50);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/*
 * Reverse scans with predicates: a row with a long key and many cells behind one with a short key,
 * of which one family has no cell (under sanitizers: no pointer is left to where a key was); rows
 * that are rejected in a piece that is not taken count once.
 */
static void
rejected_backwards(void **state)
{
	store s;
	wide_family_options opt;
	wide_snapshot *snap;
	wide_family_id f[2];
	char key[300] = {0};
	wide_bytes x = text("x");
	wide_range some = {text("a"), text("n")}, all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_predicate p[2] = {{.family = 0,
							.op = WIDE_OP_EQ,
							.kind = WIDE_KIND_BYTES,
							.qualifier = text("z"),
							.values = &x,
							.nvalues = 1}};
	wide_scan_family fams[2] = {{.want = WIDE_WANT_ALL}, {.want = WIDE_WANT_ALL}};
	wide_scan_spec spec = {.families = fams,
						   .nfamilies = 2,
						   .ranges = &all,
						   .nranges = 1,
						   .reverse = true,
						   .predicates = p,
						   .npredicates = 2};
	wide_scan *scan;
	wide_row row;
	wide_scan_stats stats[2];
	int n = 0;

	p[1] = p[0];
	p[1].family = 1;
	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 2, &table, f);
	fams[0].id = f[0];
	fams[1].id = f[1];
	store_put(&s, f[0], "zz", "z", 1, "x");
	store_put(&s, f[1], "zz", "z", 1, "x");
	memset(key, 'p', 250);
	store_put(&s, f[0], key, "z", 1, "x");
	for (int i = 0; i < 300; i++)
	{
		char qual[8];

		snprintf(qual, sizeof qual, "a%03d", i % 1000);
		store_put(&s, f[0], key, qual, 1, "v");
	}
	for (int i = 0; i < 1000; i++)
	{
		char m[16];

		snprintf(m, sizeof m, "m%05d", i);
		store_put(&s, f[0], m, "z", 1, i % 40 == 0 ? "x" : "y");
		store_put(&s, f[1], m, "b", 1, "y");
	}
	assert_ok(wide_flush(s.db));
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
		n += !row.more;
	assert_int_equal(n, 2 + 25);
	wide_scan_close(scan);
	spec.ranges = &some;
	spec.npredicates = 1;
	for (int off = 0; off < 2; off++)
	{
		scan_block_off = off;
		n = 0;
		assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
		while (wide_scan_next(scan, &row) == WIDE_OK)
			n++;
		assert_int_equal(n, 25);
		wide_scan_statistics(scan, &stats[off]);
		wide_scan_close(scan);
	}
	scan_block_off = false;
	assert_int_equal(stats[0].rows_rejected, 975);
	assert_int_equal(stats[1].rows_rejected, 975);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* The first letter of the row behind which the filter wants the next letter. */
static char seek_at, sought[2];

static wide_row_verdict
seek_from(void *arg, wide_bytes key, wide_bytes *seek)
{
	if (key.data[0] != seek_at)
		return WIDE_ROW_ACCEPT;
	sought[0] = (char) (seek_at + 1);
	*seek = bytes(sought, 1);
	return WIDE_ROW_SEEK;
}

/* The keys of a damaged block do not ascend: a search leads back, and the scan ends all the same.
 */
static void
disorder(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	wide_snapshot *snap;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	char value[100] = {0};

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.block_size = 1024;
	opt.compression = WIDE_COMPRESS_NONE;
	output_file_bytes = 300;
	store_table(&s, &opt, 1, &table, &f);
	for (char c = 'a'; c < 'x'; c++)
	{
		wide_batch *b;

		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_put(b, f, bytes(&c, 1), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
								 bytes(value, sizeof value)));
		assert_ok(store_commit(&s, b, NULL));
	}
	assert_ok(wide_flush(s.db));
	assert_ok(wide_compact(s.db, f));
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	for (int off = 1; off >= 0; off--)
	{
		wide_scan_family fams = {.id = f, .want = WIDE_WANT_ALL};
		wide_scan_spec spec = {.families = &fams,
							   .nfamilies = 1,
							   .ranges = &all,
							   .nranges = 1,
							   .row_filter = seek_from};
		wide_scan *scan;
		wide_row row;
		const block_cursor *b;
		int n = 0;

		scan_block_off = off;
		seek_at = 0;
		assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
		assert_ok(wide_scan_next(scan, &row));
		b = &source_file_of(scan_state_of(scan)->families[0].m->sources[0])->cursor.block;
		assert_true(b->rows > 2);
		/* the first row's key is above all others, and the last row goes on in the next block */
		((uint8_t *) b->row_keys.rest.bytes)[0] = 'z';
		((uint8_t *) b->data)[12] |= BLOCK_ROW_GOES_ON;
		seek_at = (char) ('a' + b->rows - 2);
		assert_ok(wide_scan_restart(scan, &all, 1, 0));
		while (n < 1000 && wide_scan_next(scan, &row) == WIDE_OK)
			n++;
		assert_true(n < 100);
		wide_scan_close(scan);
	}
	wide_snapshot_release(snap);
	store_drop(&s);
	scan_block_off = false;
	output_file_bytes = 64 << 20;
}

/* The filter refuses rows 255 to 279: 1, 2, 4, ... 64, and 64 twice more, are read ahead before
 * them. */
static wide_row_verdict
refuse_some(void *arg, wide_bytes key, wide_bytes *seek)
{
	char digits[4] = {0};
	int n;

	memcpy(digits, key.data + 9, 3);
	n = atoi(digits);
	return n >= 255 && n < 280 ? WIDE_ROW_SKIP : WIDE_ROW_ACCEPT;
}

/*
 * The filter refuses rows of a run, and then a row that lies in a memtable is rejected after cells
 * of it were collected: the memory of keys begins anew, and no key overwrites another.
 */
static void
keys_stay(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	wide_snapshot *snap;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_bytes v = text("bad");
	wide_predicate p = {.op = WIDE_OP_NE,
						.kind = WIDE_KIND_BYTES,
						.qualifier = text("z"),
						.values = &v,
						.nvalues = 1};
	wide_scan_family fams = {.want = WIDE_WANT_ALL};
	wide_scan_spec spec = {.families = &fams,
						   .nfamilies = 1,
						   .ranges = &all,
						   .nranges = 1,
						   .predicates = &p,
						   .npredicates = 1,
						   .row_filter = refuse_some};
	wide_scan *scan;
	wide_row row;
	int n = 0;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.block_size = 1 << 20; /* all rows in one block */
	store_table(&s, &opt, 1, &table, &f);
	fams.id = f;
	for (int i = 0; i < 600; i++)
	{
		char key[16];

		snprintf(key, sizeof key, "long-key-%03d", i);
		store_put(&s, f, key, "a", 1, "value");
		store_put(&s, f, key, "z", 1, "good");
	}
	assert_ok(wide_flush(s.db));
	store_put(&s, f, "long-key-280", "z", 2, "bad");
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	for (; wide_scan_next(scan, &row) == WIDE_OK; n++)
		/* all that are read ahead, before the next call */
		for (int i = scan->given - 1; i < scan->nahead && i >= 0; i++)
		{
			int at = n + i - (scan->given - 1);
			char want[32];

			snprintf(want, sizeof want, "long-key-%03d", at < 255 ? at : at + 26);
			assert_int_equal(scan->ahead[i].key.len, strlen(want));
			assert_memory_equal(scan->ahead[i].key.data, want, strlen(want));
		}
	assert_int_equal(n, 600 - 26);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* As many rows are read ahead as the caller says it reads; then more each time, as without. */
static void
expected_rows(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	wide_snapshot *snap;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family fams = {.want = WIDE_WANT_ALL};
	wide_scan_spec spec = {
		.families = &fams, .nfamilies = 1, .ranges = &all, .nranges = 1, .row_hint = 70};
	const int hinted[] = {64, 6, 1, 2, 4}, reused[] = {3, 1, 2, 4}, parked[] = {1, 2, 4};
	wide_scan *scan;
	wide_row row;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.block_size = 1 << 20; /* all rows in one block */
	store_table(&s, &opt, 1, &table, &f);
	fams.id = f;
	for (int i = 0; i < 200; i++)
	{
		char key[16];

		snprintf(key, sizeof key, "%03d", i);
		store_put(&s, f, key, "a", 1, "value");
	}
	assert_ok(wide_flush(s.db));
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	for (int how = 0; how < 3; how++)
	{
		const int *n = how == 0 ? hinted : how == 1 ? reused : parked;

		for (int i = 0; i < (how == 0 ? 5 : how == 1 ? 4 : 3); i++)
		{
			assert_ok(wide_scan_next(scan, &row));
			assert_int_equal(scan->nahead, n[i]);
			scan->given = scan->nahead;
		}
		if (how == 1)
			wide_scan_park(scan);
		if (how > 0)
			continue;
		assert_true(wide_scan_set_aside(scan));
		assert_ok(wide_scan_reuse(scan, snap, 3));
		assert_ok(wide_scan_restart(scan, &all, 1, 0));
	}
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* A list of one column that each row has once is read as a grid: rows come with their own values,
 * as cells and in spans, forward, backward and one by one. */
static void
one_column(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	wide_snapshot *snap;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_bytes qual = text("a");
	wide_scan_family fams = {
		.want = WIDE_WANT_COLUMNS, .quals = &qual, .nquals = 1, .max_versions = 1};
	wide_scan_spec spec = {.families = &fams, .nfamilies = 1, .ranges = &all, .nranges = 1};

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.block_size = 1 << 20; /* all rows in one block */
	store_table(&s, &opt, 1, &table, &f);
	fams.id = f;
	for (int i = 0; i < 300; i++)
	{
		char key[16], value[32];

		snprintf(key, sizeof key, "%03d", i);
		snprintf(value, sizeof value, "%d%.*s", i, i % 11, "0123456789");
		store_put(&s, f, key, "a", 1 + i % 7, value);
	}
	assert_ok(wide_flush(s.db));
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	for (int how = 0; how < 8; how++)
	{
		wide_scan *scan;
		wide_row row;
		int n = 0;

		scan_block_off = (how & 1) != 0;
		spec.by_column = (how & 2) != 0;
		spec.reverse = (how & 4) != 0;
		assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
		for (; wide_scan_next(scan, &row) == WIDE_OK; n++)
		{
			int i = spec.reverse ? 299 - n : n;
			char want[32];
			wide_bytes got;

			snprintf(want, sizeof want, "%d%.*s", i, i % 11, "0123456789");
			if (row.span != NULL)
			{
				assert_true(row.span[0].there >> row.span_row & 1);
				got = row.span[0].values[row.span_row];
			}
			else
			{
				assert_int_equal(row.ncells, 1);
				assert_int_equal(row.cells[0].ts, 1 + i % 7);
				got = row.cells[0].value;
			}
			assert_int_equal(got.len, strlen(want));
			assert_memory_equal(got.data, want, got.len);
		}
		assert_int_equal(n, 300);
		if (!scan_block_off && !spec.reverse)
			assert_true(scan_state_of(scan)->families[0].runs[0].grid);
		wide_scan_close(scan);
	}
	scan_block_off = false;
	wide_snapshot_release(snap);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_coincide), cmocka_unit_test(rejected_backwards),
		cmocka_unit_test(both_ways),		cmocka_unit_test(disorder),
		cmocka_unit_test(keys_stay),		cmocka_unit_test(expected_rows),
		cmocka_unit_test(one_column)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
