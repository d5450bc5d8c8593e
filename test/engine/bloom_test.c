/*
 * bloom_test.c - Bloom filters: no false negatives, few false positives, and
 * any bytes are safe.
 */
#include "engine/base/hash.h"
#include "engine/sst/bloom.h"
#include "testlib.h"

static void
finds_all(void **state)
{
	static const int sizes[] = {1, 2, 10, 51, 52, 1000, 33000};

	for (size_t z = 0; z < sizeof(sizes) / sizeof(sizes[0]); z++)
	{
		bloom_builder *f = bloom_builder_new();
		wide_bytes out;
		int wrong = 0;

		for (int round = 0; round < 2; round++)
		{
			bloom_builder_reset(f);
			for (int i = 0; i < sizes[z]; i++)
				assert_ok(bloom_builder_add(f, hash_xxh3(&i, sizeof(i), BLOOM_SEED_ROW)));
			assert_ok(bloom_builder_finish(f, &out));
		}
		for (int i = 0; i < sizes[z]; i++)
			assert_true(bloom_may_contain(out.data, (uint32_t) out.len,
										  hash_xxh3(&i, sizeof(i), BLOOM_SEED_ROW)));
		for (int i = 0; i < 20000; i++)
			wrong += bloom_may_contain(out.data, (uint32_t) out.len,
									   hash_xxh3(&i, sizeof(i), BLOOM_SEED_PREFIX));
		/* 1.3 % expected when full */
		assert_in_range(wrong, 0, 500);
		assert_true(out.len <= (size_t) sizes[z] * 10 / 8 + 65);
		bloom_builder_free(f);
	}
}

static void
empty_and_malformed(void **state)
{
	bloom_builder *f = bloom_builder_new();
	wide_bytes out;
	uint64_t s = 1;

	assert_ok(bloom_builder_finish(f, &out));
	assert_int_equal(out.len, 0);
	assert_true(bloom_may_contain(NULL, 0, 5));
	for (uint32_t n = 1; n < 300; n++)
	{
		uint8_t *p = calloc(1, n);

		for (int i = 0; i < 50; i++)
		{
			p[n - 1] = (uint8_t) rnd(&s);
			/* well-formed and without a bit set: definitely absent; otherwise maybe present */
			assert_int_equal(bloom_may_contain(p, n, rnd(&s)),
							 !(n > 64 && n % 64 == 1 && p[n - 1] >= 1 && p[n - 1] <= 16));
		}
		free(p);
	}
	bloom_builder_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(finds_all),
									   cmocka_unit_test(empty_and_malformed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
