/* block_test.c - blocks: searches compared with a list, and damaged bytes. */
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/sst/block.h"
#include "engine/sst/block_builder.h"
#include "testlib.h"

static uint8_t *
build(const entries *es, int n, uint32_t *len)
{
	block_builder *b = block_builder_new();
	wide_bytes out;
	uint8_t *p;

	for (int round = 0; round < 2; round++)
	{
		block_builder_reset(b);
		for (int i = 0; i < n; i++)
		{
			size_t bound = block_builder_size_with(b, &es->e[i]);

			assert_ok(block_builder_add(b, &es->e[i]));
			assert_true(block_builder_size(b) <= bound);
		}
		assert_int_equal(block_builder_count(b), n);
		assert_ok(block_builder_finish(b, false, &out));
		assert_true(out.len <= block_builder_size(b));
	}
	/* allocate the exact size, for the address sanitizer */
	p = memcpy(malloc(out.len), out.data, out.len);
	*len = (uint32_t) out.len;
	block_builder_free(b);
	return p;
}

/* Returns the first entry >= the target in a list, n if there is none. */
static int
lower_bound(const entries *es, int n, const entry *target)
{
	entry t = *target;
	int i = 0;

	/* sorts after all types */
	t.type = UINT8_MAX;
	while (i < n && key_compare(&es->e[i], &t) < 0)
		i++;
	return i;
}

static void
check_at(const block_cursor *c, const entries *es, int n, int i)
{
	if (i < 0 || i >= n)
		assert_false(c->valid);
	else
	{
		assert_true(c->valid);
		assert_entry(&c->e, &es->e[i]);
	}
}

/*
 * Checks whole rows: their keys, the position of a key or bound, and the
 * number of entries before it.
 */
static void
check_rows(block_cursor *c, const entries *es, int n, const entry *t)
{
	uint32_t row = 0, at;
	int first = n;

	for (int i = 0; i < n; i++)
	{
		const entry *e = &es->e[i];
		bool new = i == 0 || e->rowlen != es->e[i - 1].rowlen ||
				   memcmp(e->ukey, es->e[i - 1].ukey, e->rowlen) != 0;

		if (!new)
			continue;
		assert_ok(block_seek_row(c, row));
		check_at(c, es, n, i);
		assert_int_equal(c->row, row);
		assert_ok(block_entries_before(c, &at));
		assert_int_equal(at, i);
		if (first == n && (ukey_compare(e->ukey, e->rowlen, t->ukey, t->klen) >= 0 ||
						   (t->klen > e->rowlen && memcmp(t->ukey, e->ukey, e->rowlen) == 0)))
			first = (int) row;
		row++;
	}
	assert_int_equal(c->rows, row);
	assert_ok(block_seek_row(c, row));
	assert_false(c->valid);
	/* from every starting point of the search */
	for (uint32_t from = 0; from <= row; from += from < 3 ? 1 : 7)
	{
		assert_ok(block_row_at(c, from, t->ukey, t->klen, &at));
		assert_int_equal(at, first == n ? (int) row : first);
	}
}

static void
check_block(const entries *es, int n, uint64_t seed)
{
	block_cursor c = {0};
	uint32_t len;
	uint8_t *p = build(es, n, &len);
	entries probes = entries_random(seed + 1000, 60, 30, 20, 3, false);

	assert_ok(block_open(&c, p, len));
	assert_ok(block_first(&c));
	for (int i = 0; i < n; i++)
	{
		check_at(&c, es, n, i);
		assert_ok(block_next(&c));
	}
	assert_false(c.valid);
	assert_ok(block_next(&c));
	assert_false(c.valid);
	assert_ok(block_last(&c));
	check_at(&c, es, n, n - 1);
	for (int k = 0; k < n + probes.n; k++)
	{
		entry t = k < n ? es->e[k] : probes.e[k - n];
		int before = -1;

		for (int v = 0; v < 4; v++)
		{
			if (v == 1)
				t.seq = t.seq > 0 ? t.seq - 1 : 0;
			if (v == 2)
				t.seq = SEQ_MAX;
			if (v == 3)
				t.ts = INT64_MAX;
			assert_ok(block_seek(&c, t.ukey, t.klen, t.ts, t.seq));
			check_at(&c, es, n, lower_bound(es, n, &t));
			/* iteration continues from there */
			assert_ok(block_next(&c));
			check_at(&c, es, n, lower_bound(es, n, &t) + 1);
		}
		while (before + 1 < n &&
			   ukey_compare(es->e[before + 1].ukey, es->e[before + 1].klen, t.ukey, t.klen) < 0)
			before++;
		assert_ok(block_seek_before(&c, t.ukey, t.klen));
		check_at(&c, es, n, before);
		check_rows(&c, es, n, &t);
		assert_ok(block_seek_entry(&c, (uint32_t) k));
		check_at(&c, es, n, k < n ? k : n - 1);
		if (c.valid)
		{
			uint32_t i;

			assert_ok(block_entries_before(&c, &i));
			assert_int_equal(i, k < n ? k : n - 1);
		}
	}
	assert_ok(block_check(&c));
	block_close(&c);
	entries_free(&probes);
	free(p);
}

static void
searching(void **state)
{
	static const int sizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 200, 333};

	for (size_t z = 0; z < sizeof(sizes) / sizeof(sizes[0]); z++)
	{
		for (uint64_t seed = 1; seed < 4; seed++)
		{
			entries es = entries_random(seed, 2 * sizes[z] + 1, 30, seed == 3 ? 400 : 20,
										seed == 2 ? 500 : 9, seed == 1);
			int n = es.n < sizes[z] ? es.n : sizes[z];

			check_block(&es, n, seed);
			entries_free(&es);
		}
	}
}

/*
 * A loaded cell costs two bytes besides the key bytes that it does not share
 * and its value: each qualifier is stored once.
 */
static void
compact(void **state)
{
	entries es = {0};
	uint32_t len;
	size_t plain = 0;
	uint8_t *p;

	for (int i = 0; i < 160; i++)
	{
		char row[16];

		snprintf(row, sizeof(row), "row%05d", i);
		entries_add(&es, text(row), text("q"), 1700000000000000, 123456789, ENTRY_PUT, 0,
					text("value"));
	}
	entries_sort(&es);
	p = build(&es, es.n, &len);
	/* at most 3 digits, row end */
	plain = 150 * (2 + 5 + 5) + 10 * (2 + 10 + 5 + 2) + BLOCK_HEAD + BLOCK_SLACK + 5;
	assert_in_range(len, 1, plain);
	free(p);
	entries_free(&es);
}

/* Returns n rows of `columns` columns, each present with a probability of `percent`. */
static entries
table_of(int n, int columns, int percent, int versions, uint64_t seed)
{
	entries es = {0};

	for (int i = 0; i < n; i++)
		for (int k = 0; k < columns; k++)
			for (int v = 0; v < versions; v++)
			{
				char row[40], qual[16], value[64];
				uint64_t r = rnd(&seed);

				if (r % 100 >= (uint64_t) percent)
					continue;
				snprintf(row, sizeof(row), "%.*s%06d", i % 2 * 9, "customers", i * 3);
				snprintf(qual, sizeof(qual), "c%d", k * 2);
				snprintf(value, sizeof(value), "%.*s", (int) (r >> 16) % (k % 3 == 0 ? 60 : 1),
						 "it was a dark and stormy night, and nobody saw the rain fall");
				entries_add(&es, text(row), text(qual),
							(int64_t) (seed & 1 ? i : (int) (r >> 20 & 1023)) - v * 2000,
							(uint64_t) i, ENTRY_PUT, 0, text(value));
			}
	entries_sort(&es);
	return es;
}

/* Both block forms with all field widths: the flags show that each occurred. */
static void
forms(void **state)
{
	/* rows, columns, percent, versions; the first five are grids */
	static const int shapes[][4] = {
		{130, 5, 100, 1}, {130, 5, 80, 1}, {128, 40, 70, 1}, {64, 2, 90, 1},   {65, 3, 100, 1},
		{130, 5, 80, 2},  {40, 80, 50, 1}, {130, 1, 100, 1}, {1, 300, 100, 1}, {3, 100, 30, 3}};
	int grids = 0;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
	{
		entries es = table_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], i + 1);
		uint32_t len;
		uint8_t *p = build(&es, es.n, &len);

		assert_int_equal((p[12] & BLOCK_GRID) != 0, i < 5);
		assert_int_equal((p[12] & BLOCK_DISTINCT) != 0, shapes[i][3] == 1);
		grids += (p[12] & BLOCK_GRID) != 0;
		check_block(&es, es.n < 400 ? es.n : 400, i);
		free(p);
		entries_free(&es);
	}
	assert_int_equal(grids, 5);
}

static void
large(void **state)
{
	entries es = {0};
	size_t n = 3 * 1024 * 1024;
	uint8_t *raw = calloc(1, n);
	uint32_t len;
	block_cursor c = {0};
	uint8_t *p;

	entries_add(&es, bytes(raw, WIDE_MAX_ROW), bytes(raw, WIDE_MAX_QUALIFIER), INT64_MIN, SEQ_MAX,
				ENTRY_PUT, INT64_MAX, bytes(raw, n));
	entries_add(&es, bytes(raw, WIDE_MAX_ROW), bytes(raw, WIDE_MAX_QUALIFIER), INT64_MAX, 0,
				ENTRY_DELETE_COLUMN, 0, bytes(raw, 0));
	entries_sort(&es);
	p = build(&es, es.n, &len);
	assert_ok(block_open(&c, p, len));
	assert_ok(block_first(&c));
	check_at(&c, &es, 2, 0);
	assert_ok(block_next(&c));
	check_at(&c, &es, 2, 1);
	block_close(&c);
	free(p);
	free(raw);
	entries_free(&es);
}

static volatile uint64_t sink;

static void
touch(const block_cursor *c)
{
	if (!c->valid)
		return;
	assert_true(c->e.rowlen <= c->e.klen);
	assert_true(c->e.type <= ENTRY_DELETE_FAMILY_VERSION);
	for (uint32_t i = 0; i < c->e.klen; i++)
		sink += c->e.ukey[i];
	for (uint32_t i = 0; i < c->e.vlen; i++)
		sink += c->e.value[i];
}

/* Reads a damaged block: must not crash, loop, or fail with anything but WIDE_CORRUPT. */
static int
abuse(const uint8_t *p, uint32_t len, const entry *target)
{
	block_cursor c = {0};
	wide_status st = block_open(&c, p, len);
	int steps = 0;
	int bad = st != WIDE_OK;

	if (st == WIDE_OK)
	{
		for (st = block_first(&c); st == WIDE_OK && c.valid; st = block_next(&c))
		{
			touch(&c);
			assert_true(++steps <= (int) len * BLOCK_GRID_COLUMNS);
		}
		bad |= st != WIDE_OK;
		for (uint32_t row = 0; row < c.rows && st == WIDE_OK; row += 3)
		{
			st = block_seek_row(&c, row);
			assert_true(st == WIDE_OK || (st == WIDE_CORRUPT && !c.valid));
			touch(&c);
			if (st == WIDE_OK)
				st = block_seek_entry(&c, row * 7);
			touch(&c);
		}
		bad |= st != WIDE_OK;
		st = block_check(&c);
		bad |= st != WIDE_OK;
		for (int k = 0; k < 3; k++)
		{
			st = k == 0	  ? block_last(&c)
				 : k == 1 ? block_seek(&c, target->ukey, target->klen, target->ts, target->seq)
						  : block_seek_before(&c, target->ukey, target->klen);
			assert_true(st == WIDE_OK || (st == WIDE_CORRUPT && !c.valid));
			touch(&c);
			bad |= st != WIDE_OK;
		}
	}
	assert_true(st == WIDE_OK || st == WIDE_CORRUPT);
	block_close(&c);
	return bad;
}

static void
hostile(void **state)
{
	for (int form = 0; form < 2; form++)
	{
		entries es = form == 0 ? entries_random(7, 70, 8, 12, 9, false) : table_of(60, 4, 90, 1, 3);
		uint32_t len;
		uint8_t *p = build(&es, es.n, &len);
		int found = 0;
		uint64_t s = 1;

		assert_int_equal((p[12] & BLOCK_GRID) != 0, form);
		for (uint32_t i = 0; i < len; i++)
		{
			uint8_t was = p[i];

			for (int bit = 0; bit < 9; bit++)
			{
				p[i] = bit < 8 ? was ^ (uint8_t) (1 << bit) : (uint8_t) rnd(&s);
				found += abuse(p, len, &es.e[i % (uint32_t) es.n]);
			}
			p[i] = was;
		}
		/* damage to offsets is detected without a checksum: most of the head */
		assert_true(found > 4 * BLOCK_HEAD);
		for (uint32_t n = 0; n < len; n++)
		{
			uint8_t *cut = memcpy(malloc(n > 0 ? n : 1), p, n);

			abuse(cut, n, &es.e[n % (uint32_t) es.n]);
			free(cut);
		}
		assert_int_equal(abuse(p, len, &es.e[0]), 0);
		/* several bytes at once, in the head and elsewhere */
		for (int i = 0; i < 20000; i++)
		{
			uint8_t *r = memcpy(malloc(len), p, len);

			for (int k = 0; k < 4; k++)
				r[rnd(&s) % (k % 2 == 0 ? BLOCK_HEAD : len)] =
					(uint8_t) (rnd(&s) % 3 == 0 ? rnd(&s) : rnd(&s) % 8);
			abuse(r, len, &es.e[i % es.n]);
			free(r);
		}
		free(p);
		entries_free(&es);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(searching), cmocka_unit_test(compact),
									   cmocka_unit_test(forms), cmocka_unit_test(large),
									   cmocka_unit_test(hostile)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
