/*
 * sst_test.c - sorted files: every cursor movement compared with a list,
 * filters, descriptions, damage of every byte, failing and crashing writes.
 */
#include <errno.h>
#include <signal.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/key.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/sst/block.h"
#include "engine/sst/bloom.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"
#include "engine/sst/sst_verify.h"
#include "engine/sst/sst_writer.h"
#include "engine/set/snapshot.h"
#include "test/host/cache_probe.h"
#include "test/host/kill_point.h"
#include "test/host/os_fault.h"
#include "testlib.h"
/* the .c file, for its static functions */
#include "engine/sst/sst_estimate.c"

#define FAMILY 7

static test_store store;
static wide_db *db;

static int
setup(void **state)
{
	memset(&store, 0, sizeof(store));
	test_store_open(&store, 4 * 1024 * 1024, NULL);
	db = store.db;
	return 0;
}

static int
teardown(void **state)
{
	test_store_close(&store);
	test_dir_drop(store.dir);
	return 0;
}

static wide_family_options
options(uint32_t block_size, int bloom, int compression)
{
	wide_family_options o;

	wide_family_defaults(&o);
	o.block_size = block_size;
	o.bloom = (uint8_t) bloom;
	o.bloom_prefix = 2;
	o.compression = (uint8_t) compression;
	return o;
}

static wide_status
try_write(wide_db *d, uint64_t number, const entries *es, const wide_family_options *o, bool global,
		  file_meta *meta)
{
	sst_writer *w;
	wide_status st = sst_writer_open(d, number, FAMILY, 1, o, global, &w);
	uint64_t bytes = 0;

	if (st != WIDE_OK)
		return st;
	for (int i = 0; i < es->n && st == WIDE_OK; i++)
	{
		st = sst_writer_add(w, &es->e[i]);
		assert_true(st != WIDE_OK || sst_writer_bytes(w) >= bytes);
		bytes = sst_writer_bytes(w);
	}
	/* fails if an add has failed */
	return sst_writer_finish(w, meta, NULL);
}

static file_meta
write_file(uint64_t number, const entries *es, const wide_family_options *o, bool global)
{
	file_meta meta;

	assert_ok(try_write(db, number, es, o, global, &meta));
	assert_ok(sst_file_sync_dir(db));
	return meta;
}

static wide_status
count_problem(void *arg, const char *object, const char *problem)
{
	++*(int *) arg;
	if (getenv("SHOW_PROBLEMS"))
		fprintf(stderr, "%s: %s\n", object, problem);
	return WIDE_OK;
}

static int
problems(const file_meta *meta)
{
	int n = 0;

	assert_ok(sst_verify(db, meta, count_problem, &n));
	return n;
}

static int
lower_bound(const entries *es, const entry *target)
{
	entry t = *target;
	int lo = 0, hi = es->n;

	t.type = UINT8_MAX;
	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if (key_compare(&es->e[mid], &t) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
check_at(const sst_cursor *c, const entries *es, int i)
{
	if (i < 0 || i >= es->n)
		assert_false(c->valid);
	else
	{
		assert_true(c->valid);
		assert_entry(sst_cursor_entry(c), &es->e[i]);
	}
}

/* Checks all movements; es has the sequence numbers that readers see. */
static void
check_cursor(const file_meta *meta, const entries *es, int flags, uint64_t seed)
{
	sst_reader *r;
	sst_cursor c;
	entries probes = entries_random(seed + 5000, 200, 100, 30, 3, false);
	uint64_t s = seed;

	assert_ok(sst_reader_get(db, meta, &r));
	assert_ok(sst_cursor_open(db, r, flags, &c));
	assert_ok(sst_cursor_next(&c));
	assert_false(c.valid);
	assert_ok(sst_cursor_first(&c));
	for (int i = 0; i <= es->n; i++)
	{
		check_at(&c, es, i);
		assert_ok(sst_cursor_next(&c));
	}
	for (int k = 0; k < 3000; k++)
	{
		entry t = rnd(&s) % 4 ? es->e[rnd(&s) % (uint64_t) es->n]
							  : probes.e[rnd(&s) % (uint64_t) probes.n];
		int at;

		switch (rnd(&s) % 6)
		{
			case 0:
				t.seq = t.seq > 0 ? t.seq - 1 : 0;
				break;
			case 1:
				t.seq = t.seq + 1;
				break;
			case 2:
				t.ts = INT64_MAX;
				t.seq = SEQ_MAX;
				break;
			case 3:
				t.ts = INT64_MIN;
				t.seq = 0;
				break;
		}
		/* sometimes a short way forward, within the same block */
		if (rnd(&s) % 3 == 0 && c.valid)
		{
			entry target = c.block.e;

			at = lower_bound(es, &target);
			if (at + 3 < es->n)
				t = es->e[at + (int) (rnd(&s) % 3)];
		}
		if (rnd(&s) % 4 != 0)
		{
			assert_ok(sst_cursor_seek(&c, t.ukey, t.klen, t.ts, t.seq));
			at = lower_bound(es, &t);
		}
		else
		{
			t.ts = INT64_MAX;
			t.seq = SEQ_MAX;
			assert_ok(sst_cursor_seek_before(&c, t.ukey, t.klen));
			at = lower_bound(es, &t) - 1;
		}
		check_at(&c, es, at);
		if (at >= 0)
		{
			for (int m = (int) (rnd(&s) % 40); m > 0; m--)
			{
				assert_ok(sst_cursor_next(&c));
				check_at(&c, es, ++at);
			}
		}
	}
	assert_true(c.blocks_read + c.blocks_cached > 0);
	sst_cursor_close(&c);
	sst_reader_put(db, r);
	entries_free(&probes);
}

static void
moving(void **state)
{
	static const struct
	{
		uint32_t block_size;
		int n, rows, keylen, vlen;
		bool global;
	} cases[] = {
		{16384, 1, 1, 10, 10, false},		 {16384, 3000, 300, 20, 100, false},
		{1024, 4000, 50, 20, 30, false},	 /* rows over many blocks */
		{1024, 3000, 2000, 900, 100, false}, /* several partitions */
		{1024, 3000, 20, 300, 100, true},	 {4096, 2000, 3, 2000, 4000, true},
		{1024, 1500, 3, 5000, 4000, false}, /* an entry is larger than a block */
	};

	uint64_t number = 1;

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
	{
		entries es = entries_random(k + 1, cases[k].n, cases[k].rows, cases[k].keylen,
									cases[k].vlen, cases[k].global);
		wide_family_options o = options(cases[k].block_size, (int) (k % 4), (int) (k % 2));
		file_meta meta = write_file(++number, &es, &o, cases[k].global);

		assert_int_equal(problems(&meta), 0);
		if (cases[k].global)
		{
			meta.global_seq = 5000;
			for (int i = 0; i < es.n; i++)
				es.e[i].seq = 5000;
			assert_int_equal(problems(&meta), 0);
		}
		check_cursor(&meta, &es, SST_NO_CACHE, k);
		check_cursor(&meta, &es, 0, k);
		check_cursor(&meta, &es, SST_NO_CACHE, k + 9);
		assert_int_equal(cache_probe_pinned(db), 0);
		entries_free(&es);
	}
}

static void
description(void **state)
{
	entries es = {0};
	wide_family_options o = options(1024, WIDE_BLOOM_ROW, WIDE_COMPRESS_NONE);
	uint8_t long_row[200];
	file_meta m;
	sst_writer *w;

	entries_add(&es, text("b"), text("q"), 50, 9, ENTRY_PUT, 0, text("12345"));
	entries_add(&es, text("b"), text("q"), 40, 8, ENTRY_PUT, 0, text(""));
	entries_add(&es, text("b"), text("r"), INT64_MAX, 12, ENTRY_DELETE_COLUMN, 0, text(""));
	entries_add(&es, text("a"), text(""), -5, 7, ENTRY_PUT, 0, text("x"));
	entries_sort(&es);
	m = write_file(1, &es, &o, false);
	assert_int_equal(m.number, 1);
	assert_int_equal(m.family, FAMILY);
	assert_int_equal(m.level, 1);
	assert_int_equal(m.cells, 4);
	assert_int_equal(m.rows, 2);
	assert_int_equal(m.tombstones, 1);
	assert_int_equal(m.blocks, 1);
	assert_int_equal(m.raw_bytes, 3 * 6 + 5 + 6);
	assert_true(m.ts_min == -5 && m.ts_max == INT64_MAX);
	assert_true(m.seq_min == 7 && m.seq_max == 12);
	assert_int_equal(m.min_len, 3);
	assert_memory_equal(m.min_row, "a\0\1", 3);
	assert_memory_equal(m.max_row, "b\0\1", 3);
	assert_int_equal(m.flags, FILE_TS_ORDERED);
	{
		char path[SST_PATH];
		struct stat st;

		sst_file_path(db, 1, path, sizeof(path));
		assert_int_equal(stat(path, &st), 0);
		assert_true((uint64_t) st.st_size == m.bytes);
	}
	/* an older version that is written later */
	entries_add(&es, text("a"), text(""), -6, 20, ENTRY_PUT, 0, text("x"));
	memset(long_row, 'z', sizeof(long_row));
	entries_add(&es, bytes(long_row, 200), text(""), 0, 20, ENTRY_PUT, 0, text("x"));
	entries_sort(&es);
	m = write_file(2, &es, &o, false);
	assert_int_equal(m.flags, FILE_MAX_CUT);
	assert_int_equal(m.max_len, FILE_BOUND);
	assert_memory_equal(m.max_row, long_row, FILE_BOUND);
	/* a wrong description is detected */
	m.cells++;
	assert_true(problems(&m) > 0);
	m.cells--;
	m.ts_max--;
	assert_true(problems(&m) > 0);
	m.ts_max++;
	m.max_row[1] ^= 1;
	assert_true(problems(&m) > 0);
	m.max_row[1] ^= 1;
	m.flags |= FILE_TS_ORDERED;
	assert_true(problems(&m) > 0);
	m.flags &= ~FILE_TS_ORDERED;
	assert_int_equal(problems(&m), 0);

	/* entries must be in order, and a file needs an entry */
	assert_ok(sst_writer_open(db, 3, FAMILY, 0, &o, false, &w));
	assert_ok(sst_writer_add(w, &es.e[1]));
	assert_int_equal(sst_writer_add(w, &es.e[1]), WIDE_INVALID);
	assert_int_equal(sst_writer_add(w, &es.e[2]), WIDE_INVALID);
	assert_int_equal(sst_writer_finish(w, &m, NULL), WIDE_INVALID);
	assert_ok(sst_writer_open(db, 3, FAMILY, 0, &o, false, &w));
	assert_int_equal(sst_writer_finish(w, &m, NULL), WIDE_INVALID);
	assert_ok(sst_writer_open(db, 3, FAMILY, 0, &o, true, &w));
	assert_int_equal(sst_writer_add(w, &es.e[1]), WIDE_INVALID);
	sst_writer_abandon(w);
	assert_int_equal(test_dir_count(store.dir), 2);
	entries_free(&es);
}

/* Rows r0000.., with every third one missing; long rows, so that there are partitions. */
static void
filters(void **state)
{
	uint8_t row[700];
	int skipped[4] = {0};

	for (int bloom = 0; bloom <= WIDE_BLOOM_PREFIX; bloom++)
	{
		entries es = {0};
		wide_family_options o = options(1024, bloom, WIDE_COMPRESS_ZSTD);
		file_meta m;
		sst_reader *r;
		bool may;
		buffer k = {0};

		memset(row, 'x', sizeof(row));
		o.bloom_prefix = 5;
		for (int i = 0; i < 900; i++)
		{
			if (i % 3 == 0)
				continue;
			snprintf((char *) row, sizeof(row), "r%04d", i);
			row[5] = 0;
			for (int q = 0; q < 3; q++)
				entries_add(&es, bytes(row, 600), bytes(&q, 1), 5, 5, ENTRY_PUT, 0, text("v"));
			/* a row that spans partitions, with family deletes before it */
			if (i % 300 == 1)
			{
				entries_add(&es, bytes(row, 600), text(""), 5, 5, ENTRY_DELETE_FAMILY, 0, text(""));
				for (int q = 0; q < 150; q++)
				{
					uint8_t qual[400] = {1, (uint8_t) q};

					entries_add(&es, bytes(row, 600), bytes(qual, 400), 5, 5, ENTRY_PUT, 0,
								text("v"));
				}
			}
		}
		entries_sort(&es);
		m = write_file((uint64_t) bloom + 1, &es, &o, false);
		assert_int_equal(problems(&m), 0);
		assert_ok(sst_reader_get(db, &m, &r));
		assert_true(r->nparts > 5);
		for (int i = 0; i < 900; i++)
		{
			bool present = i % 3 != 0;
			bool deletes = i % 300 == 1;

			snprintf((char *) row, sizeof(row), "r%04d", i);
			row[5] = 0;
			assert_ok(key_make_row(&k, bytes(row, 600)));
			assert_ok(sst_reader_may_have_row(r, k.data, (uint32_t) k.len, &may));
			assert_true(may || !present);
			skipped[bloom] += !may;
			for (int q = 0; q < 6; q++)
			{
				uint32_t rowlen;

				assert_ok(key_make(&k, bytes(row, 600), bytes(&q, 1)));
				rowlen = key_row_length(k.data, k.len);
				assert_ok(sst_reader_may_have_column(r, k.data, (uint32_t) k.len, rowlen, &may));
				assert_true(may || !(present && (q < 3 || deletes || bloom != WIDE_BLOOM_ROWCOL)));
				if (bloom == WIDE_BLOOM_ROWCOL)
					skipped[bloom] += !may;
			}
			/* the first 599 bytes of the row: one of them is a zero, encoded in two bytes */
			assert_ok(key_make_row(&k, bytes(row, 599)));
			assert_ok(sst_reader_may_have_prefix(r, k.data, (uint32_t) k.len - 2, &may));
			assert_true(may || !present);
			assert_true(may || bloom == WIDE_BLOOM_PREFIX);
			if (bloom == WIDE_BLOOM_PREFIX)
				skipped[bloom] += !may;
			assert_ok(sst_reader_may_have_prefix(r, row, 4, &may));
			assert_true(may);
		}
		/* after the last key no filter is needed */
		assert_ok(key_make_row(&k, text("s")));
		assert_ok(sst_reader_may_have_row(r, k.data, (uint32_t) k.len, &may));
		assert_int_equal(may, bloom == WIDE_BLOOM_NONE);
		sst_reader_put(db, r);
		buffer_free(&k);
		entries_free(&es);
	}
	assert_int_equal(skipped[WIDE_BLOOM_NONE], 0);
	assert_in_range(skipped[WIDE_BLOOM_ROW], 280, 300);
	/* 300 absent rows, 1800 of their columns, 597 * 3 absent columns of the others */
	assert_in_range(skipped[WIDE_BLOOM_ROWCOL], 3700, 300 + 1800 + 1791);
	assert_in_range(skipped[WIDE_BLOOM_PREFIX], 560, 600);
	assert_int_equal(cache_probe_pinned(db), 0);
	assert_true(counter_sum(db, COUNTER_BLOOM_CHECKS) > counter_sum(db, COUNTER_BLOOM_SKIPS));
	assert_true(counter_sum(db, COUNTER_BLOOM_SKIPS) > 4000);
}

static void
prefixes(void **state)
{
	uint64_t h1, h2;

	/* of the raw bytes, regardless of escapes */
	assert_true(bloom_prefix_hash((const uint8_t *) "a\0\xff"
													"bc\0\1",
								  7, 3, &h1));
	assert_true(h1 == hash_xxh3("a\0b", 3, BLOOM_SEED_PREFIX));
	assert_true(bloom_prefix_hash((const uint8_t *) "a\0\xff\0\1", 5, 2, &h2));
	assert_true(h2 == hash_xxh3("a\0", 2, BLOOM_SEED_PREFIX));
	assert_false(bloom_prefix_hash((const uint8_t *) "a\0\xff\0\1", 5, 3, &h2));
	assert_false(bloom_prefix_hash((const uint8_t *) "ab\0\1", 4, 3, &h2));
	assert_true(bloom_prefix_hash((const uint8_t *) "abc\0\1", 5, 3, &h2));
}

/*
 * For every prefix of the rows of a range, and wherever partitions are cut: a
 * file with such a row says so.
 */
static void
prefix_questions(void **state)
{
	static const uint8_t byte[] = {0, 1, 'm', 0xfe, 0xff};
	static uint8_t rows[3000][512];
	uint64_t seed = 99;

	for (int n = 1; n <= 5; n += 2)
	{
		entries es = {0};
		wide_family_options o = options(1024, WIDE_BLOOM_PREFIX, WIDE_COMPRESS_NONE);
		file_meta m;
		sst_reader *r;
		int skipped = 0;

		o.bloom_prefix = (uint16_t) n;
		for (int i = 0; i < 3000; i++)
		{
			/*
			 * some are shorter than the prefix; most differ late, so that
			 * index entries are long and partitions many
			 */
			memset(rows[i], 'x', sizeof rows[i]);
			for (int k = 0; k < 4; k++)
				rows[i][k] = byte[rnd(&seed) % 5];
			/* so that there are prefixes of each length without rows */
			rows[i][0] = rows[i][0] == 'm' ? 0 : rows[i][0];
			rows[i][2] = rows[i][1];
			for (int k = 504; k < 508; k++)
				rows[i][k] = (uint8_t) rnd(&seed);
			rows[i][509] = i % 10 == 0 ? (uint8_t) (rnd(&seed) % 4) : 252; /* length, less 256 */
			entries_add(&es, bytes(rows[i], i % 10 == 0 ? 1u + rows[i][509] : 508), text("q"), 5, 5,
						ENTRY_PUT, 0, text("v"));
		}
		entries_sort(&es);
		/* a short row may have been added twice */
		for (int i = 1; i < es.n; i++)
			if (key_compare(&es.e[i - 1], &es.e[i]) == 0)
				memmove(&es.e[i], &es.e[i + 1], (size_t) (--es.n - i) * sizeof(entry)), i--;
		m = write_file(70 + (uint64_t) n, &es, &o, false);
		assert_int_equal(problems(&m), 0);
		assert_ok(sst_reader_get(db, &m, &r));
		assert_true(r->nparts > 4);
		for (int i = 0; i < 20000; i++)
		{
			const uint8_t *like = rows[rnd(&seed) % 3000];
			uint8_t raw[512];
			size_t len = rnd(&seed) % 4 == 0 ? 500 + rnd(&seed) % 8 : 1 + rnd(&seed) % 7;
			bool present = false, may;
			buffer k = {0};

			memcpy(raw, like, sizeof raw);
			if (rnd(&seed) % 2)
				raw[rnd(&seed) % len] = byte[rnd(&seed) % 5];
			for (int j = 0; j < 3000 && !present; j++)
			{
				size_t rowlen = j % 10 == 0 ? 1u + rows[j][509] : 508;

				present = rowlen >= len && memcmp(rows[j], raw, len) == 0;
			}
			assert_ok(key_make_row(&k, bytes(raw, len)));
			assert_ok(sst_reader_may_have_prefix(r, k.data, (uint32_t) k.len - 2, &may));
			assert_true(may || !present);
			skipped += !may;
			buffer_free(&k);
		}
		assert_true(skipped > 300);
		sst_reader_put(db, r);
		entries_free(&es);
	}
}

static wide_status
collect_key(void *arg, const uint8_t *ukey, uint32_t klen)
{
	entries *es = arg;
	wide_bytes b = {ukey, klen};

	entries_add(es, b, text(""), 0, 0, ENTRY_PUT, 0, text(""));
	return WIDE_OK;
}

/* The fraction of the file's data blocks before the first key >= ukey. */
static wide_status
position(sst_reader *r, const uint8_t *ukey, uint32_t klen, double *fraction)
{
	sst_cursor c;
	place p;
	wide_status st;

	TRY(sst_cursor_open(r->db, r, SST_CACHED, &c));
	st = find_place(&c, ukey, klen, &p);
	*fraction = p.blocks / (double) r->prop.meta.blocks;
	sst_cursor_close(&c);
	return st;
}

static void
estimates(void **state)
{
	entries es = entries_random(3, 3000, 1500, 600, 100, false);
	wide_family_options o = options(1024, WIDE_BLOOM_ROW, WIDE_COMPRESS_ZSTD);
	file_meta m = write_file(1, &es, &o, false);
	sst_reader *r;
	double f = 0, last = 0;
	entries sample = {0};

	assert_ok(sst_reader_get(db, &m, &r));
	assert_true(r->nparts > 3);
	for (int i = 0; i < es.n; i++)
	{
		assert_ok(position(r, es.e[i].ukey, es.e[i].klen, &f));
		assert_true(f >= last && f <= 1.0);
		assert_true(f - (double) i / es.n < 0.03 && f - (double) i / es.n > -0.03);
		last = f;
	}
	assert_ok(position(r, (const uint8_t *) "", 0, &f));
	assert_true(f == 0.0);
	assert_ok(position(r, (const uint8_t *) "\xff\xff", 2, &f));
	assert_true(f == 1.0);
	assert_ok(sst_estimate_sample_keys(r, 10, collect_key, &sample));
	assert_in_range(sample.n, m.blocks / 10, m.blocks / 10 + 1);
	for (int i = 1; i < sample.n; i++)
		assert_true(key_compare(&sample.e[i - 1], &sample.e[i]) <= 0);
	entries_free(&sample);
	sst_reader_put(db, r);
	entries_free(&es);
}

static int left;

static void
keep(void *arg, block_ref *ref)
{
	block_ref *kept = arg;

	kept[left++] = *ref;
}

/* The callback of leave gets each block once, with its pin. */
static void
leaving(void **state)
{
	entries es = entries_random(2, 1000, 100, 10, 60, false);
	wide_family_options o = options(1024, WIDE_BLOOM_NONE, WIDE_COMPRESS_ZSTD);
	file_meta m = write_file(1, &es, &o, false);
	block_ref *kept = calloc(m.blocks, sizeof(*kept));
	const uint8_t **values = calloc((size_t) es.n, sizeof(*values));

	for (int flags = 0; flags <= SST_NO_CACHE; flags++)
	{
		sst_reader *r;
		sst_cursor c;

		left = 0;
		assert_ok(sst_reader_get(db, &m, &r));
		assert_ok(sst_cursor_open(db, r, flags, &c));
		sst_reader_put(db, r);
		c.leave = keep;
		c.leave_arg = kept;
		assert_ok(sst_cursor_first(&c));
		for (int i = 0; i < es.n; i++)
		{
			values[i] = sst_cursor_entry(&c)->value;
			assert_ok(sst_cursor_next(&c));
		}
		sst_cursor_close(&c);
		assert_int_equal(left, m.blocks);
		for (int i = 0; i < es.n; i++)
			assert_memory_equal(values[i], es.e[i].value, es.e[i].vlen);
		for (int i = 0; i < left; i++)
			cache_unpin(db, &kept[i]);
		assert_int_equal(cache_probe_pinned(db), 0);
	}
	free(kept);
	free(values);
	entries_free(&es);
}

static void
giant(void **state)
{
	entries es = {0};
	size_t n = 20 * 1024 * 1024;
	uint8_t *big = malloc(n);
	uint64_t s = 1;
	file_meta m;

	for (size_t i = 0; i < n; i++)
		big[i] = i % 3 ? (uint8_t) rnd(&s) : 7;
	entries_add(&es, text("a"), text("q"), 1, 1, ENTRY_PUT, 0, text("small"));
	entries_add(&es, text("b"), text("q"), 1, 1, ENTRY_PUT, 0, bytes(big, n));
	entries_add(&es, text("c"), text("q"), 1, 1, ENTRY_PUT, 0, text("small"));
	entries_sort(&es);
	for (int k = 0; k < 2; k++)
	{
		wide_family_options o = options(16384, WIDE_BLOOM_ROW, k);

		m = write_file((uint64_t) k + 1, &es, &o, false);
		assert_int_equal(m.blocks, 3);
		assert_int_equal(problems(&m), 0);
		for (int flags = 0; flags <= SST_NO_CACHE; flags++)
		{
			sst_reader *r;
			sst_cursor c;

			assert_ok(sst_reader_get(db, &m, &r));
			assert_ok(sst_cursor_open(db, r, flags, &c));
			assert_ok(sst_cursor_seek(&c, es.e[1].ukey, es.e[1].klen, INT64_MAX, SEQ_MAX));
			check_at(&c, &es, 1);
			assert_int_equal(c.block_ref.segment, UINT32_MAX);
			assert_ok(sst_cursor_next(&c));
			check_at(&c, &es, 2);
			sst_cursor_close(&c);
			sst_reader_put(db, r);
		}
	}
	assert_true(cache_used(db) < 1024 * 1024);
	free(big);
	entries_free(&es);
}

static int
open_descriptors(void)
{
	return test_dir_count("/proc/self/fd");
}

static void
many_files(void **state)
{
	wide_family_options o = options(1024, WIDE_BLOOM_ROW, WIDE_COMPRESS_NONE);
	file_meta metas[300];
	sst_reader *pinned;
	sst_reader *r;
	entries es = entries_random(2, 10, 5, 10, 10, false);
	int before = open_descriptors();
	uint64_t s = 1;

	for (uint64_t i = 0; i < 300; i++)
		metas[i] = write_file(i + 1, &es, &o, false);
	assert_int_equal(open_descriptors(), before);
	assert_ok(sst_reader_get(db, &metas[0], &pinned));
	for (int i = 0; i < 3000; i++)
	{
		const file_meta *m = &metas[rnd(&s) % 300];

		assert_ok(sst_reader_get(db, m, &r));
		assert_int_equal(r->number, m->number);
		sst_reader_put(db, r);
	}
	assert_int_equal(open_descriptors(), before + 256);
	/* the pinned reader is unchanged */
	assert_ok(sst_reader_get(db, &metas[0], &r));
	assert_ptr_equal(r, pinned);
	sst_reader_forget(db, 1);
	sst_reader_forget(db, 1);
	sst_reader_forget(db, 999);
	assert_int_equal(open_descriptors(), before + 256);
	sst_reader_put(db, r);
	sst_reader_put(db, pinned);
	assert_int_equal(open_descriptors(), before + 255);
	sst_reader_detach(db);
	assert_int_equal(open_descriptors(), before);
	entries_free(&es);
}

static void
wrong_files(void **state)
{
	entries es = entries_random(2, 100, 20, 10, 10, false);
	wide_family_options o = options(1024, WIDE_BLOOM_ROW, WIDE_COMPRESS_NONE);
	file_meta m = write_file(1, &es, &o, false);
	file_meta other = m;
	char from[SST_PATH], to[SST_PATH];
	sst_reader *r;

	other.number = 2;
	assert_int_equal(sst_reader_get(db, &other, &r), WIDE_CORRUPT);
	assert_non_null(strstr(wide_error_text(), "missing"));
	sst_file_path(db, 1, from, sizeof(from));
	sst_file_path(db, 2, to, sizeof(to));
	assert_int_equal(link(from, to), 0);
	assert_int_equal(sst_reader_get(db, &other, &r), WIDE_CORRUPT);
	assert_non_null(strstr(wide_error_text(), "of another file"));
	assert_int_equal(problems(&other), 1);
	other = m;
	other.family++;
	assert_int_equal(sst_reader_get(db, &other, &r), WIDE_CORRUPT);
	other = m;
	other.cells++;
	assert_int_equal(sst_reader_get(db, &other, &r), WIDE_CORRUPT);
	other = m;
	other.bytes++;
	assert_int_equal(sst_reader_get(db, &other, &r), WIDE_CORRUPT);
	/* a global sequence number for a file whose entries have their own */
	other = m;
	other.global_seq = 77;
	assert_int_equal(sst_reader_get(db, &other, &r), WIDE_CORRUPT);
	assert_ok(sst_reader_get(db, &m, &r));
	sst_reader_put(db, r);
	other = m;
	other.family++;
	assert_int_equal(sst_reader_get(db, &other, &r), WIDE_CORRUPT);
	entries_free(&es);
}

/* Reads the file in every way; each result must be right or WIDE_CORRUPT. */
static wide_status
read_all(const file_meta *m, const entries *es)
{
	sst_reader *r;
	sst_cursor c = {0};
	bool may;
	double f;
	wide_status st;

	TRY(sst_reader_get(db, m, &r));
	TRY_GOTO(sst_cursor_open(db, r, SST_NO_CACHE | SST_DISK, &c));
	TRY_GOTO(sst_cursor_first(&c));
	for (int i = 0; i < es->n; i++)
	{
		check_at(&c, es, i);
		TRY_GOTO(sst_cursor_next(&c));
	}
	assert_false(c.valid);
	for (int i = 0; i < es->n; i += 7)
	{
		TRY_GOTO(sst_cursor_seek(&c, es->e[i].ukey, es->e[i].klen, es->e[i].ts, es->e[i].seq));
		TRY_GOTO(sst_cursor_seek_before(&c, es->e[i].ukey, es->e[i].klen));
		TRY_GOTO(sst_reader_may_have_column(r, es->e[i].ukey, es->e[i].klen, es->e[i].rowlen,
											&may));
		assert_true(may);
		TRY_GOTO(position(r, es->e[i].ukey, es->e[i].klen, &f));
	}
done:
	sst_cursor_close(&c);
	sst_reader_put(db, r);
	return st;
}

static void
damage(void **state)
{
	entries es = entries_random(6, 120, 30, 12, 20, false);
	wide_family_options o = options(1024, WIDE_BLOOM_ROWCOL, WIDE_COMPRESS_ZSTD);
	file_meta m = write_file(1, &es, &o, false);
	file_meta blind = m;
	char path[SST_PATH];
	buffer b;
	uint64_t s = 1;

	sst_file_path(db, 1, path, sizeof(path));
	b = test_read_file(path);
	assert_int_equal(b.len, m.bytes);
	assert_in_range(b.len, 2000, 20000);
	assert_ok(read_all(&m, &es));
	for (size_t i = 0; i < b.len; i++)
	{
		uint8_t was = b.data[i];
		wide_status st;

		b.data[i] = rnd(&s) % 2 ? was ^ (uint8_t) (1 << rnd(&s) % 8)
								: (uint8_t) (was + 1 + rnd(&s) % 255);
		test_write_file(path, b.data, b.len);
		b.data[i] = was;
		sst_reader_forget(db, 1);
		cache_forget_files(db, &(uint64_t) {1}, 1);
		st = read_all(&m, &es);
		/* a checksum covers every byte, and every byte is read here or by verify */
		assert_true(st == WIDE_OK || st == WIDE_CORRUPT);
		if (st == WIDE_CORRUPT)
			assert_non_null(strstr(wide_error_text(), "00000001.sst"));
		assert_true(problems(&m) > 0);
	}
	/* truncated at every length, also if the meta does not give the size */
	blind.bytes = 0;
	for (size_t n = 0; n < b.len; n++)
	{
		test_write_file(path, b.data, n);
		sst_reader_forget(db, 1);
		cache_forget_files(db, &(uint64_t) {1}, 1);
		assert_int_equal(read_all(n % 2 ? &m : &blind, &es), WIDE_CORRUPT);
		assert_true(problems(&m) > 0);
	}
	test_write_file(path, b.data, b.len);
	sst_reader_forget(db, 1);
	assert_int_equal(problems(&m), 0);
	/* two blocks swapped: each has a valid checksum, for the other place */
	{
		sst_reader *r;
		sst_handle h[2];
		sst_cursor c;
		buffer x = {0};

		assert_ok(sst_reader_get(db, &m, &r));
		assert_ok(sst_cursor_open(db, r, 0, &c));
		assert_ok(sst_cursor_first(&c));
		assert_ok(sst_reader_handle(r, &c.index.e, &h[0]));
		sst_cursor_close(&c);
		sst_reader_put(db, r);
		/* a copy of the block in front of it */
		assert_ok(buffer_append(&x, b.data, h[0].len + SST_TRAILER));
		assert_ok(buffer_append(&x, b.data, b.len - h[0].len - SST_TRAILER));
		memcpy(x.data + x.len - SST_FOOTER, b.data + b.len - SST_FOOTER, SST_FOOTER);
		test_write_file(path, x.data, x.len);
		sst_reader_forget(db, 1);
		assert_true(problems(&m) > 0);
		buffer_free(&x);
	}
	buffer_free(&b);
	entries_free(&es);
}

/*
 * Damage with valid checksums: each byte of each block is changed, and the
 * checksum recomputed.  Reading must not crash.
 */
static void
forged(void **state)
{
	entries es = entries_random(6, 100, 30, 12, 20, false);
	wide_family_options o = options(1024, WIDE_BLOOM_ROW, WIDE_COMPRESS_NONE);
	file_meta m = write_file(1, &es, &o, false);
	char path[SST_PATH];
	buffer b;
	uint64_t s = 1;
	int seen = 0;
	sst_reader *r;
	sst_handle blocks[64];
	int n = 0;

	assert_ok(sst_reader_get(db, &m, &r));
	{
		sst_cursor c;
		uint8_t *f;

		assert_ok(sst_cursor_open(db, r, 0, &c));
		assert_ok(sst_cursor_first(&c));
		for (; c.index.valid && n < 60; n++)
		{
			assert_ok(sst_reader_handle(r, &c.index.e, &blocks[n]));
			assert_ok(block_next(&c.index));
		}
		sst_cursor_close(&c);
		blocks[n++] = r->parts[0].index;
		blocks[n++] = r->parts[0].filter;
		sst_file_path(db, 1, path, sizeof(path));
		b = test_read_file(path);
		f = b.data + b.len - SST_FOOTER;
		blocks[n].off = get_u64le(f + 16);
		blocks[n++].len = get_u32le(f + 24);
		blocks[n].off = get_u64le(f + 32);
		blocks[n++].len = get_u32le(f + 28);
	}
	sst_reader_put(db, r);
	for (int k = 0; k < n; k++)
	{
		uint8_t *p = b.data + blocks[k].off;
		uint32_t len = blocks[k].len;

		for (uint32_t i = 0; i < len + 5; i++)
		{
			uint8_t was = p[i];
			sst_cursor c = {0};
			int steps = 0;

			/* a raw length that requests much memory is not an error */
			p[i] = rnd(&s) % 2 ? was ^ (uint8_t) (1 << rnd(&s) % 8) : (uint8_t) rnd(&s);
			put_u64le(p + len + 5, hash_xxh3(p, len + 5, sst_file_seed(1, blocks[k].off)));
			test_write_file(path, b.data, b.len);
			sst_reader_forget(db, 1);
			cache_forget_files(db, &(uint64_t) {1}, 1);
			if (sst_reader_get(db, &m, &r) == WIDE_OK)
			{
				assert_ok(sst_cursor_open(db, r, SST_NO_CACHE | SST_DISK, &c));
				if (sst_cursor_first(&c) == WIDE_OK)
				{
					while (c.valid && sst_cursor_next(&c) == WIDE_OK)
						assert_true(++steps < 100000);
				}
				for (int j = 0; j < es.n; j += 9)
				{
					bool may;

					sst_cursor_seek(&c, es.e[j].ukey, es.e[j].klen, es.e[j].ts, es.e[j].seq);
					sst_cursor_seek_before(&c, es.e[j].ukey, es.e[j].klen);
					sst_reader_may_have_row(r, es.e[j].ukey, es.e[j].rowlen, &may);
				}
				sst_cursor_close(&c);
				sst_reader_put(db, r);
			}
			seen += problems(&m) > 0;
			p[i] = was;
			put_u64le(p + len + 5, hash_xxh3(p, len + 5, sst_file_seed(1, blocks[k].off)));
		}
	}
	/* verify still finds most of it; it cannot detect wrong values */
	assert_true(seen > (int) m.bytes / 3);
	buffer_free(&b);
	entries_free(&es);
}

static void
failing_writes(void **state)
{
	entries es = entries_random(3, 4000, 1000, 200, 300, false);
	wide_family_options o = options(4096, WIDE_BLOOM_ROW, WIDE_COMPRESS_NONE);
	uint64_t calls;
	wide_os *real = db->os;

	assert_int_equal(test_dir_count(store.dir), 0);
	for (uint64_t at = 1;; at++)
	{
		os_fault_plan plan = {at, ENOSPC, false};
		wide_os *os = os_faulty(store.dir, &plan);
		file_meta m;
		wide_status st;

		db->os = os;
		st = try_write(db, 1, &es, &o, false, &m);
		calls = os_faulty_calls(os);
		db->os = real;
		os_faulty_free(os);
		if (calls < at)
		{
			assert_ok(st);
			assert_int_equal(problems(&m), 0);
			break;
		}
		assert_int_equal(st, WIDE_NOSPACE);
		/* no file remains, not even under the temporary name */
		assert_int_equal(test_dir_count(store.dir), 0);
	}
	/* open, several writes, sync, rename */
	assert_true(calls > 5);
	entries_free(&es);
}

/* After a crash at any call: no file, a leftover, or a complete file. */
static void
crashing_writes(void **state)
{
	entries es = entries_random(3, 3000, 1000, 100, 300, false);
	wide_family_options o = options(4096, WIDE_BLOOM_ROW, WIDE_COMPRESS_ZSTD);
	wide_os *real = db->os;
	bool done = false;
	int whole = 0;

	for (uint64_t at = 1; !done; at++)
	{
		for (uint64_t seed = 0; seed < 6; seed++)
		{
			os_fault_plan plan = {at, 0, false};
			wide_os *os = os_faulty(store.dir, &plan);
			char path[SST_PATH];
			file_meta m = {0};
			wide_status st;

			db->os = os;
			st = try_write(db, 1, &es, &o, false, &m);
			if (st == WIDE_OK)
				st = sst_file_sync_dir(db);
			done = !os_faulty_crashed(os);
			assert_int_equal(st, done ? WIDE_OK : WIDE_IO);
			assert_int_equal(os_faulty_crash(os, seed * 100 + at), 0);
			db->os = real;
			os_faulty_free(os);
			sst_file_path(db, 1, path, sizeof(path));
			if (done)
				assert_true(test_exists(path));
			if (test_exists(path))
			{
				m.number = 1;
				m.family = FAMILY;
				assert_int_equal(problems(&m), 0);
				whole++;
			}
			sst_reader_forget(db, 1);
			test_dir_clear(store.dir);
		}
	}
	/* also some whose name was not durable yet */
	assert_true(whole > 6);
	entries_free(&es);
}

static void
kill_points(void **state)
{
	static const char *const points[] = {"sst-written", "sst-synced", "sst-renamed"};
	entries es = entries_random(3, 100, 10, 10, 30, false);
	wide_family_options o = options(4096, WIDE_BLOOM_ROW, WIDE_COMPRESS_ZSTD);
	char path[SST_PATH], tmp[SST_PATH + 4];

	sst_file_path(db, 1, path, sizeof(path));
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	for (int i = 0; i < 3; i++)
	{
		pid_t pid = unit_fork();
		int ws;

		if (pid == 0)
		{
			file_meta m;
			kill_point k;

			kill_point_set(&k, points[i]);
			wide_on_injection_point(kill_point_reached, &k);
			try_write(db, 1, &es, &o, false, &m);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &ws, 0), pid);
		assert_true(WIFSIGNALED(ws) && WTERMSIG(ws) == SIGKILL);
		assert_int_equal(test_exists(path), i == 2);
		assert_int_equal(test_exists(tmp), i != 2);
	}
	entries_free(&es);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(moving),	  T(description), T(filters),		 T(prefixes),		 T(prefix_questions),
		T(estimates), T(leaving),	  T(giant),			 T(many_files),		 T(wrong_files),
		T(damage),	  T(forged),	  T(failing_writes), T(crashing_writes), T(kill_points)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
