/* block_test.c - blocks: searching against a list, and hostile bytes. */
#include "testlib.h"

static uint8_t *
build(const entries *es, int n, uint32_t *len)
{
	block_builder *b = block_builder_new();
	wide_bytes	out;
	uint8_t    *p;

	for (int round = 0; round < 2; round++)
	{
		block_builder_reset(b);
		for (int i = 0; i < n; i++)
		{
			size_t		bound = block_builder_size_with(b, &es->e[i]);

			assert_ok(block_builder_add(b, &es->e[i]));
			assert_true(block_builder_size(b) <= bound);
		}
		assert_int_equal(block_builder_count(b), n);
		assert_ok(block_builder_finish(b, &out));
		assert_int_equal(out.len, block_builder_size(b));
	}
	/* of the exact size, for the address sanitizer */
	p = memcpy(malloc(out.len), out.data, out.len);
	*len = (uint32_t) out.len;
	block_builder_free(b);
	return p;
}

/* First entry >= the target in a list, n when there is none. */
static int
lower_bound(const entries *es, int n, const entry *target)
{
	entry		t = *target;
	int			i = 0;

	/* above all types */
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

/* From entries up to `before`, the last below the target's ukey, to the one behind that. */
static void
check_pass(block_cursor *c, const entries *es, int n, int before, const entry *t, int from)
{
	for (int i = 0; i < 3 && before >= 0; i++)
	{
		int			at = i == 0 ? before : i == 1 ? 0 : from % (before + 1);

		assert_ok(block_seek(c, es->e[at].ukey, es->e[at].klen, es->e[at].ts, es->e[at].seq));
		while (key_compare(&c->e, &es->e[at]) != 0)
			assert_ok(block_next(c));
		assert_ok(block_pass(c, t->ukey, t->klen, n + 1));
		check_at(c, es, n, before + 1);
		/* and goes on from there */
		assert_ok(block_next(c));
		check_at(c, es, n, before + 1 < n ? before + 2 : n);
		/* it stops when it is far, and a search finds the place */
		assert_ok(block_seek(c, es->e[at].ukey, es->e[at].klen, es->e[at].ts, es->e[at].seq));
		assert_ok(block_pass(c, t->ukey, t->klen, 3));
		if (before - at > 8)
		{
			assert_true(c->valid);
			assert_true(ukey_compare(c->e.ukey, c->e.klen, t->ukey, t->klen) < 0);
		}
		assert_ok(block_seek(c, t->ukey, t->klen, INT64_MAX, SEQ_MAX));
		check_at(c, es, n, before + 1);
	}
}

static void
check_block(const entries *es, int n, uint64_t seed)
{
	block_cursor c = {0};
	uint32_t	len;
	uint8_t    *p = build(es, n, &len);
	entries		probes = entries_random(seed + 1000, 60, 30, 20, 3, false);

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
		entry		t = k < n ? es->e[k] : probes.e[k - n];
		int			before = -1;

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
			/* and goes on from there */
			assert_ok(block_next(&c));
			check_at(&c, es, n, lower_bound(es, n, &t) + 1);
		}
		while (before + 1 < n && ukey_compare(es->e[before + 1].ukey, es->e[before + 1].klen, t.ukey, t.klen) < 0)
			before++;
		assert_ok(block_seek_before(&c, t.ukey, t.klen));
		check_at(&c, es, n, before);
		check_pass(&c, es, n, before, &t, (int) (seed + (uint64_t) k));
	}
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
			entries		es = entries_random(seed, 2 * sizes[z] + 1, 30, seed == 3 ? 400 : 20, seed == 2 ? 500 : 9, seed == 1);
			int			n = es.n < sizes[z] ? es.n : sizes[z];

			check_block(&es, n, seed);
			entries_free(&es);
		}
	}
}

/* A loaded cell costs four bytes over key suffix and value. */
static void
compact(void **state)
{
	entries		es = {0};
	uint32_t	len;
	size_t		plain = 0;
	uint8_t    *p;

	for (int i = 0; i < 160; i++)
	{
		char		row[16];

		snprintf(row, sizeof(row), "row%05d", i);
		entries_add(&es, text(row), text("q"), 1700000000000000, 123456789, ENTRY_PUT, 0, text("value"));
	}
	entries_sort(&es);
	p = build(&es, es.n, &len);
	/* suffix: at most 3 digits, row end, qualifier with end */
	plain = 150 * (4 + 8 + 5) + 10 * (4 + 13 + 5 + 9 + 5 + 1 + 4) + 4;
	assert_in_range(len, 1, plain);
	free(p);
	entries_free(&es);
}

static void
large(void **state)
{
	entries		es = {0};
	size_t		n = 3 * 1024 * 1024;
	uint8_t    *raw = calloc(1, n);
	uint32_t	len;
	block_cursor c = {0};
	uint8_t    *p;

	entries_add(&es, bytes(raw, WIDE_MAX_ROW), bytes(raw, WIDE_MAX_QUALIFIER), INT64_MIN, SEQ_MAX, ENTRY_PUT, INT64_MAX,
				bytes(raw, n));
	entries_add(&es, bytes(raw, WIDE_MAX_ROW), bytes(raw, WIDE_MAX_QUALIFIER), INT64_MAX, 0, ENTRY_DELETE_COLUMN, 0,
				bytes(raw, 0));
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

/* Any outcome but a crash, an endless loop, or another failure than "corrupt". */
static int
abuse(const uint8_t *p, uint32_t len, const entry *target)
{
	block_cursor c = {0};
	wide_status st = block_open(&c, p, len);
	int			steps = 0;
	int			bad = st != WIDE_OK;

	if (st == WIDE_OK)
	{
		for (st = block_first(&c); st == WIDE_OK && c.valid; st = block_next(&c))
		{
			touch(&c);
			assert_true(++steps <= (int) len);
		}
		bad |= st != WIDE_OK;
		for (int k = 1; k < 100 && st == WIDE_OK; k += 13)
		{
			st = block_first(&c);
			if (st == WIDE_OK && c.valid && ukey_compare(c.e.ukey, c.e.klen, target->ukey, target->klen) < 0)
				st = block_pass(&c, target->ukey, target->klen, k);
			assert_true(st == WIDE_OK || (st == WIDE_CORRUPT && !c.valid));
			if (c.valid && ukey_compare(c.e.ukey, c.e.klen, target->ukey, target->klen) >= 0)
				touch(&c);
		}
		bad |= st != WIDE_OK;
		for (int k = 0; k < 3; k++)
		{
			st = k == 0 ? block_last(&c) : k == 1 ? block_seek(&c, target->ukey, target->klen, target->ts, target->seq)
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
	entries		es = entries_random(7, 70, 8, 12, 9, false);
	uint32_t	len;
	uint8_t    *p = build(&es, es.n, &len);
	int			found = 0;
	uint64_t	s = 1;

	for (uint32_t i = 0; i < len; i++)
	{
		uint8_t		was = p[i];

		for (int bit = 0; bit < 9; bit++)
		{
			p[i] = bit < 8 ? was ^ (uint8_t) (1 << bit) : (uint8_t) rnd(&s);
			found += abuse(p, len, &es.e[i % (uint32_t) es.n]);
		}
		p[i] = was;
	}
	/* a good part of the damage is seen even without a checksum */
	assert_true(found > (int) len);
	for (uint32_t n = 0; n < len; n++)
	{
		uint8_t    *cut = memcpy(malloc(n > 0 ? n : 1), p, n);

		abuse(cut, n, &es.e[n % (uint32_t) es.n]);
		free(cut);
	}
	assert_int_equal(abuse(p, len, &es.e[0]), 0);
	for (int i = 0; i < 20000; i++)
	{
		uint32_t	n = (uint32_t) (rnd(&s) % 64);
		uint8_t    *r = malloc(n > 0 ? n : 1);

		for (uint32_t k = 0; k < n; k++)
			r[k] = (uint8_t) (rnd(&s) % 3 == 0 ? rnd(&s) : rnd(&s) % 8);
		if (n >= 8)
		{
			put_u32le(r + n - 4, 1);
			put_u32le(r + n - 8, 0);
		}
		abuse(r, n, &es.e[0]);
		free(r);
	}
	free(p);
	entries_free(&es);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(searching), cmocka_unit_test(compact), cmocka_unit_test(large), cmocka_unit_test(hostile)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
