/*
 * estimate_test.c - wide_estimate_range compared with the truth:
 * distributions of keys, states of the store, ranges from one row to all
 * rows, with the blocks in the cache and without.
 *
 * WIDE_ESTIMATE_VERBOSE=1 prints a line for each combination.
 */
#include <math.h>
#include "engine/base/bytes.h"
#include "engine/base/os.h"
#include "engine/batch/batch.h"
#include "engine/scan/scan_state.h"
#include "store_fixture.h"

#define RANGES 300

enum keys
{
	UNIFORM,
	DENSE,
	SKEWED,
	URLS,
	COMPOSITE,
	SALTED,
	TIMES,
	WIDE_MIX,
	WIDE,
	NKEYS
};

static const char *const key_names[] = {"uniform", "dense", "skewed",	"urls", "composite",
										"salted",  "times", "wide mix", "wide"};

enum states
{
	MEMTABLE,
	FLUSHED,
	LEVEL0,
	COMPACTED,
	OVERWRITTEN,
	DELETED,
	DELETED_PART,
	DELETED_FILES,
	APPENDED,
	MIXED,
	NSTATES
};

static const char *const state_names[] = {
	"memtable", "flushed",		"level 0",			"compacted", "overwritten",
	"deleted",	"part deleted", "deleted, flushed", "appended",	 "mixed"};

typedef struct data
{
	wide_bytes *rows; /* live rows, sorted */
	int n;
	int cap;
} data;

typedef struct score
{
	int many, many_good; /* ranges of 50 rows and more; within a factor of 2 */
	int few, few_sane;	 /* smaller ranges; not below a quarter */
	int few_high;		 /* estimated at more than 50 rows and 4 times the truth */
	double worst;
} score;

static uint64_t seed = 1;

/* The real system, with reads counted. */
static wide_os counting;
static int reads;

static int64_t
counting_pread(wide_os *os, int fd, void *buf, size_t n, uint64_t off)
{
	reads++;
	return os_real()->pread(os_real(), fd, buf, n, off);
}

static double
uniform(void)
{
	return (double) (rnd(&seed) >> 11) / 9007199254740992.0;
}

static uint32_t
key_bytes(enum keys kind, int i, int n, uint8_t *out)
{
	uint64_t hash = (uint64_t) i * 0x9e3779b97f4a7c15ull;
	double u;

	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9ull;
	hash ^= hash >> 32;
	u = (double) (hash >> 11) / 9007199254740992.0;
	switch (kind)
	{
		case UNIFORM:
			put_u64be(out, (hash >> 20) + (1ull << 63));
			return 8;
		case SKEWED:
			put_u64be(out, ((uint64_t) (pow(u, 4) * 1e12) << 1 | (i & 1)) + (1ull << 63));
			return 8;
		case URLS:
			return (uint32_t)
				sprintf((char *) out,
						"https://www.example.org/path/to/some/directory/page-%06d.html", i * 3);
		case COMPOSITE:
			/* a few of the first parts have most of the second ones */
			put_u64be(out, (uint64_t) (u * u * u * 200) << 32 | (uint32_t) i);
			return 8;
		case SALTED:
			out[0] = (uint8_t) (hash % 8);
			put_u64be(out + 1, (uint64_t) i + (1ull << 63));
			return 9;
		case TIMES:
		{
			time_t t = 1700000000 + i * 41;
			struct tm tm;

			gmtime_r(&t, &tm);
			return (uint32_t) strftime((char *) out, 64, "%Y-%m-%d %H:%M:%S", &tm);
		}
		case DENSE:
		case WIDE_MIX:
		case WIDE:
			break;
		case NKEYS:
			abort();
	}
	put_u64be(out, (uint64_t) i + (1ull << 63));
	return 8;
}

static int
cells_of(enum keys kind, int i, int n)
{
	return kind == WIDE ? 1000 : kind == WIDE_MIX && i > n - n / 200 ? 300 : 1;
}

static void
put_row(wide_batch *b, wide_family_id f, enum keys kind, int i, int n)
{
	uint8_t key[128];
	uint32_t len = key_bytes(kind, i, n, key);

	for (int c = 0; c < cells_of(kind, i, n); c++)
	{
		char qual[80];
		char value[32];

		snprintf(qual, sizeof qual,
				 kind == WIDE_MIX ? "a name so long that few are in a partition of the index %04d"
								  : "q%04d",
				 c);
		snprintf(value, sizeof value, "%d some value", i);
		assert_ok(wide_batch_put(b, f, (wide_bytes) {key, len}, text(qual), WIDE_TS_AUTO, INT64_MIN,
								 0, text(value)));
	}
}

static wide_batch *
begin(store *s)
{
	wide_batch *b;

	assert_ok(wide_batch_new(s->db, &b));
	return b;
}

/* Puts rows from, from + step, ... < to. */
static void
put_rows(store *s, wide_family_id f, enum keys kind, int from, int to, int step, int n)
{
	wide_batch *b = begin(s);

	for (int i = from; i < to; i += step)
		put_row(b, f, kind, i, n);
	assert_ok(store_commit(s, b, NULL));
}

static void
delete_rows(store *s, wide_family_id f, enum keys kind, int from, int to, int step, int n)
{
	wide_batch *b = begin(s);

	for (int i = from; i < to; i += step)
	{
		uint8_t key[128];
		uint32_t len = key_bytes(kind, i, n, key);

		assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, f, (wide_bytes) {key, len}, text(""),
									WIDE_TS_MAX));
	}
	assert_ok(store_commit(s, b, NULL));
}

static void
fill(store *s, wide_family_id f, enum keys kind, enum states state, int n)
{
	switch (state)
	{
		case MEMTABLE:
		case FLUSHED:
		case COMPACTED:
			put_rows(s, f, kind, 0, n, 1, n);
			break;
		case LEVEL0:
			for (int g = 0; g < 5; g++)
			{
				put_rows(s, f, kind, g, n, 5, n);
				assert_ok(wide_flush(s->db));
			}
			break;
		case OVERWRITTEN:
			for (int g = 0; g < 3; g++)
			{
				put_rows(s, f, kind, 0, n, 1, n);
				assert_ok(wide_flush(s->db));
			}
			break;
		case DELETED:
		case DELETED_PART:
		case DELETED_FILES:
			put_rows(s, f, kind, 0, n, 1, n);
			assert_ok(wide_flush(s->db));
			assert_ok(wide_compact(s->db, f));
			if (state == DELETED_PART)
				delete_rows(s, f, kind, 0, n * 2 / 5, 1, n);
			else
				delete_rows(s, f, kind, 0, n, 2, n);
			if (state == DELETED_FILES)
				assert_ok(wide_flush(s->db));
			break;
		case APPENDED:
			for (int g = 0; g < 4; g++)
			{
				put_rows(s, f, kind, g * (n / 4), (g + 1) * (n / 4), 1, n);
				assert_ok(wide_flush(s->db));
			}
			break;
		case MIXED:
			put_rows(s, f, kind, 0, n, 2, n);
			assert_ok(wide_flush(s->db));
			assert_ok(wide_compact(s->db, f));
			put_rows(s, f, kind, 1, n, 4, n);
			assert_ok(wide_flush(s->db));
			delete_rows(s, f, kind, 0, n, 8, n);
			put_rows(s, f, kind, 2, n, 8, n);
			assert_ok(wide_flush(s->db));
			put_rows(s, f, kind, 3, n, 16, n);
			put_rows(s, f, kind, 0, n, 32, n);
			delete_rows(s, f, kind, 4, n, 32, n);
			break;
		case NSTATES:
			abort();
	}
	if (state == FLUSHED || state == COMPACTED)
		assert_ok(wide_flush(s->db));
	if (state == COMPACTED)
		assert_ok(wide_compact(s->db, f));
}

/* Reads all live rows, which also brings their blocks into the cache. */
static void
read_rows(store *s, wide_family_id f, data *d)
{
	wide_scan_family fam = {.id = f, .want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_scan_spec spec = {
		.families = &fam, .nfamilies = 1, .ranges = &all, .nranges = 1, .now = s->now};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	wide_status st;

	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
	{
		if (d->n == d->cap)
		{
			d->cap = d->cap > 0 ? 2 * d->cap : 1024;
			d->rows = realloc(d->rows, (size_t) d->cap * sizeof *d->rows);
			assert_non_null(d->rows);
		}
		d->rows[d->n] = (wide_bytes) {memcpy(malloc(row.key.len), row.key.data, row.key.len),
									  row.key.len};
		d->n++;
	}
	assert_int_equal(st, WIDE_END);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
}

static void
compare(store *s, wide_family_id f, const data *d, score *total, score *part)
{
	for (int i = 0; i < RANGES; i++)
	{
		int truth = i == 0 ? d->n : (int) exp(uniform() * log(d->n));
		int from = (int) (uniform() * (d->n - truth + 1));
		wide_range r = {d->rows[from], {NULL, 0}};
		wide_estimate est;
		double off;

		if (from + truth < d->n)
			r.hi = d->rows[from + truth];
		assert_ok(wide_estimate_range(s->db, f, i == 0 ? NULL : &r, &est));
		/* the planner's minimum */
		if (est.rows < 1)
			est.rows = 1;
		off = est.rows > truth ? est.rows / truth : truth / est.rows;
		for (score *t = total; t != NULL; t = t == total ? part : NULL)
		{
			if (truth >= 50)
			{
				t->many++;
				t->many_good += off <= 2;
				t->worst = off > t->worst ? off : t->worst;
			}
			else
			{
				t->few++;
				t->few_sane += est.rows >= truth / 4.0;
				t->few_high += est.rows > 4.0 * truth + 50;
			}
		}
	}
}

/*
 * Runs one combination, first with an empty cache (if all data is in files),
 * then with everything cached.
 */
static void
combination(enum keys kind, enum states state, score total[2])
{
	bool verbose = getenv("WIDE_ESTIMATE_VERBOSE") != NULL;
	int n = kind == WIDE ? 120 : 24000;
	store s;
	data d = {0};
	wide_family_options opt;
	wide_table_id table;
	wide_family_id f;

	store_init(&s);
	counting = *os_real();
	counting.pread = counting_pread;
	s.os = &counting;
	s.config.memtable_size = 32 << 20;
	s.config.cache_size = 32 << 20;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.block_size = 8192;
	/* rows of different sizes are distinguished by partitions, which exist with many blocks */
	if (kind == WIDE_MIX)
		opt.block_size = 1024;
	store_table(&s, &opt, 1, &table, &f);
	fill(&s, f, kind, state, n);
	read_rows(&s, f, &d);
	for (int warm = 0; warm < 2; warm++)
	{
		score part = {0};

		if (warm == 0)
		{
			wide_range r = {d.rows[d.n / 2], {NULL, 0}};
			wide_estimate est;

			store_close(&s);
			assert_ok(store_open(&s));
			reads = 0;
			/* loads the index that estimates need */
			assert_ok(wide_estimate_range(s.db, f, &r, &est));
		}
		else
		{
			data again = {0};

			read_rows(&s, f, &again);
			assert_int_equal(again.n, d.n);
			for (int i = 0; i < again.n; i++)
				free((void *) again.rows[i].data);
			free(again.rows);
		}
		compare(&s, f, &d, &total[warm], &part);
		/*
		 * for each file: footer, meta block, top index, an index block and a
		 * filter; no data block
		 */
		if (warm == 0 && kind != WIDE_MIX)
			assert_true(reads <= 5 * store_files(&s, f, -1));
		if (verbose)
			printf("%-10s %-16s %s: %5d rows, >= 50 rows: %5.1f %% good, worst %6.1f; < 50: %5.1f "
				   "%% sane, %5.1f %% high\n",
				   key_names[kind], state_names[state], warm ? "warm" : "cold", d.n,
				   100.0 * part.many_good / (part.many > 0 ? part.many : 1), part.worst,
				   100.0 * part.few_sane / (part.few > 0 ? part.few : 1),
				   100.0 * part.few_high / (part.few > 0 ? part.few : 1));
	}
	for (int i = 0; i < d.n; i++)
		free((void *) d.rows[i].data);
	free(d.rows);
	store_drop(&s);
}

static void
test_ranges(void **state)
{
	score total[2] = {{0}, {0}};

	(void) state;
	for (int kind = 0; kind < NKEYS; kind++)
		for (int st = 0; st < NSTATES; st++)
			combination(kind, st, total);
	for (int warm = 0; warm < 2; warm++)
	{
		score *t = &total[warm];

		printf("# %s: %d of %d ranges of at least 50 rows within a factor of 2, worst %.1f; %d of "
			   "%d smaller ones above a quarter, %d far too high\n",
			   warm ? "warm" : "cold", t->many_good, t->many, t->worst, t->few_sane, t->few,
			   t->few_high);
		assert_true(t->many_good >= 0.95 * t->many);
		assert_true(t->few_sane >= 0.99 * t->few);
	}
}

/*
 * Eighty files with a window of time each, of which the planner opens a few: with the same rows,
 * with rows of their own, or with half of each.
 */
static void
test_many_files(void **state)
{
	(void) state;
	for (int own = 0; own <= 2; own++)
	{
		const int64_t hour = 3600000000ll;
		const int windows = 80, rows = 600;
		store s;
		wide_family_options opt;
		wide_family_id f;
		wide_table_id t;
		double truth = own == 0 ? rows : own == 2 ? rows * windows : rows / 2 * (windows + 1);

		store_init(&s);
		counting = *os_real();
		counting.pread = counting_pread;
		s.os = &counting;
		s.config.max_files = 1024;
		s.config.memtable_size = 8 << 20;
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		opt.compaction = WIDE_COMPACT_WINDOW;
		opt.window_us = hour;
		opt.block_size = 1024; /* probes are last keys of blocks */
		store_table(&s, &opt, 1, &t, &f);
		for (int w = 0; w < windows; w++)
		{
			wide_batch *b;

			assert_ok(wide_batch_new(s.db, &b));
			for (int i = 0; i < rows; i++)
			{
				char row[20];
				bool alone = own == 2 || (own == 1 && i % 2 == 0);

				snprintf(row, sizeof row, "r%05d.%02d", i, alone ? w : 0);
				assert_ok(wide_batch_put(b, f, text(row), text("q"), (400000 + w) * hour, INT64_MIN,
										 0, text("value")));
			}
			assert_ok(store_commit(&s, b, NULL));
			assert_ok(wide_flush(s.db));
		}
		assert_int_equal(store_files(&s, f, 0), windows);
		store_close(&s);
		assert_ok(store_open(&s));
		reads = 0;
		for (int part = 1; part <= 10; part++)
		{
			wide_estimate est;
			char hi[20];
			wide_range r = {text(""), {NULL, 0}};

			snprintf(hi, sizeof hi, "r%05d", rows * part / 10);
			r.hi = text(hi);
			assert_ok(wide_estimate_range(s.db, f, &r, &est));
			if (est.rows < truth * part / 10 / 2 || est.rows > truth * part / 10 * 2)
				fail_msg("%.0f rows in %d tenths, estimated are %.0f (%d)", truth * part / 10, part,
						 est.rows, own);
		}
		/* of a few files: footer, meta block, top index, an index block and a filter */
		assert_true(reads <= 5 * 5);
		store_drop(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_many_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
