/*
 * Reading files that are larger than the cache: how much is read, and that
 * nothing is missed by skipping.
 */
#include <errno.h>
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/batch/batch.h"
#include "engine/scan/scan_state.h"
#include "store_fixture.h"

#define ROWS  20000
#define VALUE 1000

/* Counts reads from files. */
static wide_os counting;

static struct
{
	uint64_t calls, bytes;
	uint64_t hints; /* announcements */
} reads;

static int64_t
count_pread(wide_os *os, int fd, void *buf, size_t n, uint64_t off)
{
	reads.calls++;
	reads.bytes += n;
	return os_real()->pread(os_real(), fd, buf, n, off);
}

static void
count_hint(wide_os *os, int fd, uint64_t off, uint64_t n)
{
	assert_true(n > 0);
	reads.hints++;
}

/* Opens a store with a cache of 1 MB and memtables that hold all data of a test. */
static void
open_small(store *s)
{
	store_init(s);
	s->config.memtable_size = 64u << 20;
	counting = *os_real();
	counting.pread = count_pread;
	counting.will_read = count_hint;
	s->os = &counting;
	assert_ok(store_open(s));
}

static wide_family_options
plain(void)
{
	wide_family_options o;

	wide_family_defaults(&o);
	o.compression = WIDE_COMPRESS_NONE;
	return o;
}

static void
row_name(char *to, int i)
{
	snprintf(to, 16, "r%06d", i);
}

/* Writes rows r000000, r000010, ...: the value follows from the number. */
static void
fill(store *s, wide_family_id f, int rows)
{
	char row[16];
	uint8_t value[VALUE];
	uint64_t seed = f;

	for (int i = 0; i < rows;)
	{
		wide_batch *b;

		assert_ok(wide_batch_new(s->db, &b));
		for (int n = 0; n < 1000 && i < rows; n++, i++)
		{
			row_name(row, 10 * i);
			for (int k = 0; k < VALUE; k += 8)
				memcpy(value + k, (uint64_t[]) {rnd(&seed)}, 8);
			assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, INT64_MIN, 0,
									 bytes(value, VALUE)));
		}
		assert_ok(store_commit(s, b, NULL));
	}
	assert_ok(wide_flush(s->db));
}

/*
 * Reads all rows of [lo, hi), or of several ranges; hi NULL: no end.  Returns
 * their number and appends their keys.
 */
static int
scan_rows(store *s, wide_family_id f, const wide_range *ranges, int n, bool reverse,
		  wide_scan_stats *stats, buffer *keys)
{
	wide_scan_family fam = {.id = f, .want = WIDE_WANT_ALL, .max_versions = 1};
	wide_scan_spec spec = {.families = &fam,
						   .nfamilies = 1,
						   .ranges = ranges,
						   .nranges = n,
						   .now = s->now,
						   .reverse = reverse};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	wide_status st;
	int rows = 0;

	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
	{
		rows++;
		if (keys != NULL)
		{
			assert_ok(buffer_append(keys, row.key.data, row.key.len));
			assert_ok(buffer_append(keys, "/", 1));
		}
	}
	assert_int_equal(st, WIDE_END);
	if (stats != NULL)
		wide_scan_statistics(scan, stats);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	return rows;
}

static int
scan_all(store *s, wide_family_id f, wide_scan_stats *stats)
{
	wide_range all = {.lo = bytes("", 0)};

	return scan_rows(s, f, &all, 1, false, stats, NULL);
}

/* Returns true if the row exists.  *read: increased by the data blocks read from the file. */
static bool
get(store *s, wide_family_id f, int i, uint64_t *read)
{
	char row[16] = {0};
	wide_range r;
	wide_scan_stats stats;
	int n;

	row_name(row, i);
	r = (wide_range) {bytes(row, 7), bytes(row, 8)};
	n = scan_rows(s, f, &r, 1, false, &stats, NULL);
	if (read != NULL)
		*read += stats.blocks_read;
	return n == 1;
}

/*
 * A file of twenty times the cache: indexes and filters stay cached, and a
 * get reads at most one block of each kind.
 */
static void
test_small_cache(void **state)
{
	store s;
	wide_table_id t;
	wide_family_id f;
	wide_family_options o = plain();
	uint64_t seed = 1;
	uint64_t before, most = 0;

	open_small(&s);
	store_table(&s, &o, 1, &t, &f);
	fill(&s, f, ROWS);
	memset(&reads, 0, sizeof(reads));
	for (int i = 0; i < 3000; i++)
	{
		if (i == 500)
			memset(&reads, 0, sizeof(reads));
		before = reads.calls;
		assert_true(get(&s, f, (int) (rnd(&seed) % ROWS) * 10, NULL));
		if (reads.calls - before > most && i > 0)
			most = reads.calls - before;
	}
	assert_in_range(most, 1, 3);
	assert_in_range(reads.calls, 2000, 2700);
	assert_in_range(reads.bytes, 0, 2500 * (uint64_t) 18000);
	/* missing rows read no data block, and with the filters in memory almost nothing */
	memset(&reads, 0, sizeof(reads));
	for (int i = 0; i < 2500; i++)
		assert_false(get(&s, f, (int) (rnd(&seed) % ROWS) * 10 + 1, NULL));
	assert_in_range(reads.calls, 0, 150);
	store_drop(&s);
}

/*
 * Rows in use and a family with in_memory survive the scan of a family that
 * is twenty times the cache.
 */
static void
test_scan_leaves(void **state)
{
	store s;
	wide_table_id t;
	wide_family_id f[2];
	wide_family_options o = plain();
	wide_family_options in_memory = plain();
	wide_batch *b;
	wide_scan_stats stats;
	uint64_t read = 0;

	open_small(&s);
	store_table(&s, &o, 1, &t, &f[0]);
	in_memory.in_memory = 1;
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_family(b, t, "m", &in_memory, &f[1]));
	assert_ok(store_commit(&s, b, NULL));
	fill(&s, f[0], ROWS);
	fill(&s, f[1], 200);
	assert_int_equal(scan_all(&s, f[1], &stats), 200);
	assert_in_range(stats.blocks_read, 10, 30);
	for (int round = 0; round < 4; round++)
	{
		for (int twice = 0; twice < 2; twice++)
		{
			read = 0;
			for (int i = 0; i < 20; i++)
				assert_true(get(&s, f[0], 10 * (i * 997 + 5), &read));
			/* except the first time */
			if (round > 0)
				assert_in_range(read, 0, 2);
		}
		assert_int_equal(scan_all(&s, f[0], &stats), ROWS);
		assert_true(stats.blocks_read > 1000);
	}
	assert_int_equal(scan_all(&s, f[1], &stats), 200);
	assert_in_range(stats.blocks_read, 0, 1);
	store_drop(&s);
}

/* A compaction reads its file in large pieces and announces each of them once. */
static void
test_compaction_ahead(void **state)
{
	store s;
	wide_table_id t;
	wide_family_id f;
	wide_family_options o = plain();

	open_small(&s);
	store_table(&s, &o, 1, &t, &f);
	fill(&s, f, ROWS);
	assert_int_equal(store_files(&s, f, -1), 1);
	memset(&reads, 0, sizeof(reads));
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(store_files(&s, f, -1), 1);
	/* 20 MB are 80 pieces; also indexes, filters and the footer */
	assert_in_range(reads.calls, 80, 120);
	assert_in_range(reads.bytes, 20000000, 22000000);
	assert_in_range(reads.hints, 75, 85);
	store_drop(&s);
}

/* ------------------------------------------------- filters that do not pay */

/*
 * Returns how often filters are checked by that many gets of every `step`-th
 * row from `first` on.
 */
static uint64_t
asked(store *s, wide_family_id f, int gets, int first, int step, uint64_t *skips)
{
	wide_stats before, after;

	wide_statistics(s->db, &before);
	for (int i = 0; i < gets; i++)
		assert_int_equal(get(s, f, first + i % 2000 * step, NULL), first % 10 == 0);
	wide_statistics(s->db, &after);
	*skips = after.bloom_skips - before.bloom_skips;
	return after.bloom_checks - before.bloom_checks;
}

/* A filter that skipped nothing for a long time is checked less often, until it skips again. */
static void
test_filter_rests(void **state)
{
	store s;
	wide_table_id t;
	wide_family_id f;
	wide_family_options o = plain();
	uint64_t skips;

	open_small(&s);
	store_table(&s, &o, 1, &t, &f);
	fill(&s, f, 2000);
	assert_int_equal(asked(&s, f, 1000, 0, 10, &skips), 1000);
	assert_in_range(asked(&s, f, 8000, 0, 10, &skips), 900, 1100);
	assert_int_equal(skips, 0);
	/*
	 * missing rows: seven are looked up in vain, then one in a hundred as
	 * always, before or after the first "no"
	 */
	assert_in_range(asked(&s, f, 1000, 5, 10, &skips), 985, 1000);
	assert_in_range(skips, 960, 1000);
	assert_int_equal(asked(&s, f, 1000, 0, 10, &skips), 1000);
	store_drop(&s);
}

/* ----------------------------------------------------------- prefix filters */

/* Returns the end of all keys that begin with the n bytes, NULL if there is none. */
static const uint8_t *
prefix_end(const uint8_t *p, size_t n, size_t *len)
{
	static uint8_t end[64];

	memcpy(end, p, n);
	while (n > 0 && end[n - 1] == 0xff)
		n--;
	if (n == 0)
		return NULL;
	end[n - 1]++;
	*len = n;
	return end;
}

#define FILES 4

/* Makes a key of up to 8 of the bytes 00, 01, 7f, fe and ff, so that equal prefixes are
 * frequent. */
static size_t
random_key(uint64_t *seed, uint8_t *key)
{
	static const uint8_t byte[] = {0, 1, 0x7f, 0xfe, 0xff};
	size_t n = 1 + rnd(seed) % 8;

	for (size_t i = 0; i < n; i++)
		key[i] = byte[rnd(seed) % 5];
	return n;
}

/* Two families with the same rows in several files: f[0] has filters for prefixes of three
 * bytes, f[1] has none. */
static void
fill_prefixes(store *s, wide_family_id *f, uint64_t *seed)
{
	wide_table_id t;
	wide_family_options o = plain();
	wide_batch *b;

	o.bloom = WIDE_BLOOM_NONE;
	store_table(s, &o, 1, &t, &f[1]);
	o.bloom = WIDE_BLOOM_PREFIX;
	o.bloom_prefix = 3;
	o.block_size = 1024;
	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_create_family(b, t, "p", &o, &f[0]));
	assert_ok(store_commit(s, b, NULL));
	for (int file = 0; file < FILES; file++)
	{
		assert_ok(wide_batch_new(s->db, &b));
		for (int i = 0; i < 60; i++)
		{
			uint8_t key[8];
			size_t n = random_key(seed, key);

			for (int k = 0; k < 2; k++)
				assert_ok(wide_batch_put(b, f[k], bytes(key, n), text("q"), 1, INT64_MIN, 0,
										 text("a value that is a little longer")));
		}
		assert_ok(store_commit(s, b, NULL));
		assert_ok(wide_flush(s->db));
	}
	assert_int_equal(store_files(s, f[0], 0), FILES);
}

static void
test_prefix(void **state)
{
	store s;
	wide_family_id f[2];
	uint64_t seed = 7;
	uint64_t skipped = 0, read = 0, checks, skips;
	int empty = 0;
	buffer a = {0}, b = {0};
	wide_stats stats;

	open_small(&s);
	fill_prefixes(&s, f, &seed);
	wide_statistics(s.db, &stats);
	checks = stats.bloom_checks;
	skips = stats.bloom_skips;
	for (int i = 0; i < 20000; i++)
	{
		uint8_t lo[4][8], hi[4][8];
		wide_range r[4];
		int n = 0;
		bool reverse = rnd(&seed) % 2;
		bool prefix = i % 4 != 0;
		wide_scan_stats st;

		/* sorted ranges, most of them prefixes */
		do
		{
			size_t len = random_key(&seed, lo[n]);
			const uint8_t *end;

			if (prefix)
			{
				if (len > 4)
					len = 3 + len % 2;
				end = prefix_end(lo[n], len, &r[n].hi.len);
				if (end == NULL)
					break;
				memcpy(hi[n], end, r[n].hi.len);
			}
			else
				r[n].hi.len = random_key(&seed, hi[n]);
			r[n].lo = bytes(lo[n], len);
			r[n].hi.data = hi[n];
			if (n > 0 &&
				(memcmp(lo[n], hi[n - 1], len < r[n - 1].hi.len ? len : r[n - 1].hi.len) <= 0))
				break;
			n++;
		} while (n < 4 && rnd(&seed) % 2);
		if (n == 0)
			continue;
		a.len = b.len = 0;
		scan_rows(&s, f[0], r, n, reverse, &st, &a);
		skipped += st.files_skipped_bloom;
		if (a.len == 0 && prefix && n == 1 && r[0].lo.len == 3)
		{
			empty++;
			read += st.blocks_read + st.blocks_cached;
		}
		scan_rows(&s, f[1], r, n, reverse, &st, &b);
		assert_int_equal(st.files_skipped_bloom, 0);
		assert_int_equal(a.len, b.len);
		if (a.len > 0)
			assert_memory_equal(a.data, b.data, a.len);
	}
	/*
	 * a scan of a prefix without rows reads nothing, except with a chance of
	 * one in a hundred for each file
	 */
	assert_true(empty > 300);
	assert_in_range(read, 0, (uint64_t) empty * FILES / 25);
	/* each question is counted once */
	wide_statistics(s.db, &stats);
	assert_int_equal(stats.bloom_skips - skips, skipped);
	assert_true(stats.bloom_checks - checks > skipped);
	buffer_free(&a);
	buffer_free(&b);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_cache),		 cmocka_unit_test(test_scan_leaves),
		cmocka_unit_test(test_compaction_ahead), cmocka_unit_test(test_filter_rests),
		cmocka_unit_test(test_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
