/* base_test.c - status text, integers, buffers, hash, defaults. */
#include <errno.h>
#include "engine/base/buffer.h"
#include "engine/base/hash.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "testlib.h"

static void
status(void **state)
{
	assert_int_equal(status_fail(WIDE_IO, "disk %d", 7), WIDE_IO);
	assert_string_equal(wide_error_text(), "disk 7");
	/* the current text may be an argument of the new one */
	status_fail(WIDE_CORRUPT, "file x: %s", wide_error_text());
	assert_string_equal(wide_error_text(), "file x: disk 7");
	/* long texts are cut off and do not overrun */
	{
		char big[2000];

		memset(big, 'y', sizeof(big) - 1);
		big[sizeof(big) - 1] = '\0';
		status_fail(WIDE_IO, "%s", big);
		assert_in_range(strlen(wide_error_text()), 100, 1000);
	}
	assert_int_equal(os_fail(-ENOSPC, "write", "f"), WIDE_NOSPACE);
	assert_int_equal(os_fail(ENOMEM, "read", "f"), WIDE_NOMEM);
	assert_int_equal(os_fail(-EIO, "read", "f"), WIDE_IO);
	assert_non_null(strstr(wide_error_text(), "\"f\""));
}

static void
varints(void **state)
{
	uint64_t s = 1;
	uint8_t b[VARINT_MAX + 1];

	for (int i = 0; i < 20000; i++)
	{
		uint64_t v = i < 300 ? (uint64_t) i : rnd(&s) >> (rnd(&s) % 64);
		uint64_t w;
		uint8_t *end = varint_put(b, i == 300 ? UINT64_MAX : v);

		if (i == 300)
			v = UINT64_MAX;
		assert_true(end - b <= VARINT_MAX);
		assert_ptr_equal(varint_get(b, end, &w), end);
		assert_true(v == w);
		/* every shorter end is detected */
		for (uint8_t *e = b; e < end; e++)
			assert_null(varint_get(b, e, &w));
	}
	/* too long, and too large for 64 bits */
	memset(b, 0x80, sizeof(b));
	{
		uint64_t w;

		assert_null(varint_get(b, b + sizeof(b), &w));
		memset(b, 0xff, 9);
		b[9] = 2;
		assert_null(varint_get(b, b + 10, &w));
		b[9] = 1;
		assert_non_null(varint_get(b, b + 10, &w));
		assert_true(w == UINT64_MAX);
	}
	for (int i = 0; i < 1000; i++)
	{
		int64_t v = (int64_t) rnd(&s) >> (rnd(&s) % 64);

		assert_true(unzigzag(zigzag(v)) == v);
	}
	assert_true(zigzag(0) == 0 && zigzag(-1) == 1 && zigzag(1) == 2);
	assert_true(unzigzag(zigzag(INT64_MIN)) == INT64_MIN &&
				unzigzag(zigzag(INT64_MAX)) == INT64_MAX);
}

static void
buffers(void **state)
{
	buffer b = {0};

	assert_ok(buffer_append(&b, NULL, 0));
	for (int i = 0; i < 10000; i++)
		assert_ok(buffer_append(&b, &i, sizeof(i)));
	assert_int_equal(b.len, 10000 * sizeof(int));
	for (int i = 0; i < 10000; i++)
		assert_memory_equal(b.data + (size_t) i * sizeof(i), &i, sizeof(i));
	assert_int_equal(buffer_reserve(&b, SIZE_MAX / 2), WIDE_NOMEM);
	assert_int_equal(buffer_reserve(&b, SIZE_MAX - 5), WIDE_NOMEM);
	assert_int_equal(b.len, 10000 * sizeof(int));
	buffer_free(&b);
	assert_null(b.data);
	assert_int_equal(b.cap, 0);
}

static void
hashing(void **state)
{
	/* xxh3-64 of the empty string: the file format depends on this function */
	assert_true(hash_xxh3("", 0, 0) == 0x2d06800538d394c2ull);
	assert_true(hash_xxh3("abc", 3, 0) == 0x78af5f94892f3950ull);
	assert_true(hash_xxh3("abc", 3, 1) != hash_xxh3("abc", 3, 0));
}

static void
defaults(void **state)
{
	wide_family_options o;

	wide_family_defaults(&o);
	assert_int_equal(o.versions, 1);
	assert_int_equal(o.block_size, 16384);
	assert_int_equal(o.bloom, WIDE_BLOOM_ROW);
	assert_int_equal(o.compression, WIDE_COMPRESS_ZSTD);
	assert_true(o.ttl_us == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(status), cmocka_unit_test(varints),
									   cmocka_unit_test(buffers), cmocka_unit_test(hashing),
									   cmocka_unit_test(defaults)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
