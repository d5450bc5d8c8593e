/* key_test.c - escaped keys: order, decoding, malformed bytes. */
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "testlib.h"

static size_t
random_raw(uint64_t *s, uint8_t *p, size_t max)
{
	static const uint8_t some[] = {0, 0, 1, 2, 0xff, 'a'};
	size_t n = rnd(s) % (max + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = some[rnd(s) % sizeof(some)];
	return n;
}

static int
sign(int c)
{
	return (c > 0) - (c < 0);
}

static int
raw_compare(wide_bytes a, wide_bytes b)
{
	return sign(ukey_compare(a.data, a.len, b.data, b.len));
}

static void
vectors(void **state)
{
	buffer b = {0};

	assert_ok(key_make(&b, bytes("a\0b", 3), bytes("", 0)));
	assert_int_equal(b.len, 8);
	assert_memory_equal(b.data, "\x61\x00\xff\x62\x00\x01\x00\x01", 8);
	assert_int_equal(key_row_length(b.data, b.len), 6);
	assert_ok(key_make_family(&b, text("r")));
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "r\x00\x01\x00\x00", 5);
	assert_ok(key_make_row(&b, text("r")));
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "r\x00\x01", 3);
	buffer_free(&b);
}

/* memcmp over keys gives the order of (row, qualifier), family deletes first. */
static void
order(void **state)
{
	uint64_t s = 3;
	buffer a = {0}, b = {0}, lo = {0}, hi = {0};

	for (int i = 0; i < 200000; i++)
	{
		uint8_t r1[6], r2[6], q1[6], q2[6];
		wide_bytes row1 = bytes(r1, random_raw(&s, r1, 5)), row2 = bytes(r2, random_raw(&s, r2, 5));
		wide_bytes qual1 = bytes(q1, random_raw(&s, q1, 5)),
				   qual2 = bytes(q2, random_raw(&s, q2, 5));
		bool f1 = rnd(&s) % 8 == 0, f2 = rnd(&s) % 8 == 0;
		int expected = raw_compare(row1, row2);

		if (expected == 0)
			expected = f1 != f2 ? (f1 ? -1 : 1) : f1 ? 0 : raw_compare(qual1, qual2);
		assert_ok(f1 ? key_make_family(&a, row1) : key_make(&a, row1, qual1));
		assert_ok(f2 ? key_make_family(&b, row2) : key_make(&b, row2, qual2));
		assert_int_equal(sign(ukey_compare(a.data, a.len, b.data, b.len)), expected);
		/* between the bounds of a row exactly if the key belongs to that row */
		assert_ok(key_make_row(&lo, row2));
		assert_ok(buffer_set(&hi, lo.data, lo.len));
		hi.data[hi.len - 1] = 0x02;
		assert_int_equal(ukey_compare(a.data, a.len, lo.data, lo.len) >= 0 &&
							 ukey_compare(a.data, a.len, hi.data, hi.len) < 0,
						 raw_compare(row1, row2) == 0);
		assert_int_equal(key_row_length(b.data, b.len), lo.len);
	}
	buffer_free(&a);
	buffer_free(&b);
	buffer_free(&lo);
	buffer_free(&hi);
}

/* key_compare equals one memcmp over the whole internal key. */
static void
whole_key(void **state)
{
	entries es = entries_random(5, 400, 20, 8, 4, false);
	uint64_t s = 9;

	for (int i = 0; i < 20000; i++)
	{
		const entry *e[2] = {&es.e[rnd(&s) % (uint64_t) es.n], &es.e[rnd(&s) % (uint64_t) es.n]};
		uint8_t k[2][64];
		size_t n[2];

		for (int j = 0; j < 2; j++)
		{
			memcpy(k[j], e[j]->ukey, e[j]->klen);
			put_u64be(k[j] + e[j]->klen, ~((uint64_t) e[j]->ts ^ (uint64_t) 1 << 63));
			put_u64be(k[j] + e[j]->klen + 8, ~(e[j]->seq << 8 | e[j]->type));
			n[j] = e[j]->klen + 16;
		}
		assert_int_equal(sign(key_compare(e[0], e[1])), sign(ukey_compare(k[0], n[0], k[1], n[1])));
	}
	entries_free(&es);
}

static void
decoding(void **state)
{
	uint64_t s = 4;
	buffer key = {0}, b = {0};

	for (int i = 0; i < 20000; i++)
	{
		uint8_t r[40], q[40];
		wide_bytes row = bytes(r, random_raw(&s, r, 39)), qual = bytes(q, random_raw(&s, q, 39));
		wide_bytes out1, out2;
		uint32_t n;
		uint8_t *exact;

		assert_ok(key_make(&key, row, qual));
		exact = memcpy(malloc(key.len), key.data, key.len);
		n = key_row_length(exact, key.len);
		b.len = 0;
		assert_ok(buffer_reserve(&b, 2 * KEY_DECODED_MAX(key.len)));
		assert_ok(key_decode_part(exact, n, &b, &out1));
		assert_ok(key_decode_part(exact + n, key.len - n, &b, &out2));
		assert_int_equal(raw_compare(row, out1), 0);
		assert_int_equal(raw_compare(qual, out2), 0);
		/* zero copy if there is nothing to unescape */
		if (row.len > 0 && memchr(r, 0, row.len) == NULL)
			assert_ptr_equal(out1.data, exact);
		assert_int_equal(key_valid(exact, key.len), row.len > 0);
		free(exact);
	}
	buffer_free(&key);
	buffer_free(&b);
}

/* Bytes are accepted as a key exactly if decoding and encoding gives the same bytes. */
static void
malformed(void **state)
{
	static const uint8_t some[] = {0, 0, 0, 1, 1, 2, 0xff, 0xff, 'a'};
	uint64_t s = 8;
	buffer again = {0}, b = {0};
	int valid = 0;

	assert_false(key_valid(NULL, 0));
	assert_int_equal(key_row_length(NULL, 0), 0);
	for (int i = 0; i < 300000; i++)
	{
		size_t n = rnd(&s) % 12;
		uint8_t *p = malloc(n > 0 ? n : 1);
		wide_bytes row, qual;
		uint32_t rl;
		bool ok;

		for (size_t k = 0; k < n; k++)
			p[k] = some[rnd(&s) % sizeof(some)];
		rl = key_row_length(p, n);
		assert_true(rl <= n);
		b.len = 0;
		assert_ok(buffer_reserve(&b, 64));
		ok = rl > 2 && key_decode_part(p, rl, &b, &row) == WIDE_OK;
		if (ok && n == rl + 2 && p[rl] == 0 && p[rl + 1] == 0)
			assert_ok(key_make_family(&again, row));
		else if (ok && key_decode_part(p + rl, n - rl, &b, &qual) == WIDE_OK)
			assert_ok(key_make(&again, row, qual));
		else
			ok = false;
		assert_int_equal(key_valid(p, n), ok);
		if (ok)
			assert_int_equal(ukey_compare(p, n, again.data, again.len), 0);
		valid += ok;
		free(p);
	}
	assert_in_range(valid, 100, 299900);
	buffer_free(&again);
	buffer_free(&b);
}

static void
limits(void **state)
{
	buffer b = {0};
	uint8_t *raw = calloc(1, WIDE_MAX_QUALIFIER + 1);

	assert_ok(key_make(&b, bytes(raw, WIDE_MAX_ROW), bytes(raw, WIDE_MAX_QUALIFIER)));
	assert_int_equal(b.len, KEY_UKEY_MAX);
	assert_true(key_valid(b.data, b.len));
	assert_ok(key_make(&b, bytes(raw, WIDE_MAX_ROW + 1), bytes(raw, 0)));
	assert_false(key_valid(b.data, b.len));
	assert_ok(key_make(&b, bytes(raw, 1), bytes(raw, WIDE_MAX_QUALIFIER + 1)));
	assert_false(key_valid(b.data, b.len));
	free(raw);
	buffer_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(vectors),	cmocka_unit_test(order),
									   cmocka_unit_test(whole_key), cmocka_unit_test(decoding),
									   cmocka_unit_test(malformed), cmocka_unit_test(limits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
