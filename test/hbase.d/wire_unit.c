/* wire_unit.c - frames, cell blocks, exceptions, ranges and filters, without a server */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "hbase/cell_block.h"
#include "hbase/exception.h"
#include "hbase/proto/filter.pb-c.h"
#include "hbase/proto/rpc.pb-c.h"
#include "hbase/scan_range.h"
#include "hbase/wire.h"
#include "host.h"

static void
varints(void **state)
{
	static const uint64_t values[] = {0,		 1, 127, 128, 300, UINT32_MAX, (uint64_t) 1 << 63,
									  UINT64_MAX};
	static const uint8_t too_long[] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 2};
	hb_bytes b = {too_long, sizeof too_long};
	uint64_t v;

	(void) state;
	assert_false(hb_wire_varint(&b, &v));
	assert_int_equal(b.len, sizeof too_long);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
	{
		uint8_t buffer[HB_VARINT_MAX];
		size_t n = (size_t) (hb_wire_put_varint(buffer, values[i]) - buffer);

		for (size_t cut = 0; cut < n; cut++)
		{
			b = (hb_bytes) {buffer, cut};
			assert_false(hb_wire_varint(&b, &v));
		}
		b = (hb_bytes) {buffer, n};
		assert_true(hb_wire_varint(&b, &v));
		assert_true(v == values[i]);
		assert_int_equal(b.len, 0);
	}
}

static void
frames(void **state)
{
	Hbp__RequestHeader h = HBP__REQUEST_HEADER__INIT;
	hb_buffer out = {0};
	hb_bytes rest;
	hb_bytes part;
	test_host host;

	(void) state;
	test_host_init(&host);
	h.has_call_id = 1;
	h.call_id = 4711;
	assert_int_equal(hb_wire_frame(&host.host, &out, &h.base, &h.base, text("cells")), HB_OK);
	assert_int_equal(hb_wire_get32(out.data), out.len - 4);
	rest = (hb_bytes) {out.data + 4, out.len - 4};
	assert_true(hb_wire_delimited(&rest, &part));
	assert_int_equal(part.len, 3);
	assert_true(hb_wire_delimited(&rest, &part));
	assert_int_equal(rest.len, 5);
	rest = text("\x05"
				"abc");
	assert_false(hb_wire_delimited(&rest, &part));
	hb_memory_free(&host.host, &out);
	assert_int_equal(host.allocated, 0);
}

static void
cell_blocks(void **state)
{
	hb_cell cell = {text("family"), text(""), text("value"), 1234567890123, HB_CELL_PUT};
	hb_cell back;
	hb_buffer block = {0};
	hb_bytes rest;
	hb_bytes row;
	test_host host;
	unsigned seed = 1;

	(void) state;
	test_host_init(&host);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hb_cell_block_append(&host.host, &block, text("row"), &cell), HB_OK);
	rest = hb_memory_bytes(&block);
	for (int i = 0; i < 3; i++)
	{
		assert_true(hb_cell_block_next(&rest, &row, &back));
		assert_true(hb_memory_equal(row, text("row")));
		assert_true(hb_memory_equal(back.family, cell.family));
		assert_int_equal(back.qualifier.len, 0);
		assert_true(hb_memory_equal(back.value, cell.value));
		assert_true(back.timestamp == cell.timestamp && back.type == cell.type);
	}
	assert_false(hb_cell_block_next(&rest, &row, &back));
	/* hostile bytes: memory of exactly the size, so that a sanitizer sees what is beyond */
	for (int round = 0; round < 200000; round++)
	{
		size_t n = (size_t) rand_r(&seed) % (block.len + 1);
		uint8_t *copy = malloc(n + (n == 0));

		memcpy(copy, block.data, n);
		for (int k = rand_r(&seed) % 4; k > 0 && n > 0; k--)
			copy[(size_t) rand_r(&seed) % (rand_r(&seed) % 2 ? n
										   : n < 16			 ? n
															 : 16)] =
				(uint8_t) (rand_r(&seed) % 3 == 0 ? 255 : rand_r(&seed));
		rest = (hb_bytes) {copy, n};
		while (hb_cell_block_next(&rest, &row, &back))
		{
			const uint8_t *end = copy + n;

			assert_true(row.data >= copy && row.data + row.len <= end);
			assert_true(back.family.data + back.family.len <= end);
			assert_true(back.qualifier.data + back.qualifier.len <= end);
			assert_true(back.value.data + back.value.len <= end);
		}
		free(copy);
	}
	hb_memory_free(&host.host, &block);
}

static void
exceptions(void **state)
{
	static const struct
	{
		const char *name;
		const char *text;
		hb_do_not_retry retry;
		hb_status status;
		hb_cure cure;
	} cases[] = {
		{"org.apache.hadoop.hbase.NotServingRegionException", "", HB_RETRY_ALLOWED, HB_LOST,
		 HB_CURE_RELOCATE},
		{"org.apache.hadoop.hbase.exceptions.RegionMovedException", "", HB_RETRY_UNSAID, HB_LOST,
		 HB_CURE_RELOCATE},
		{"org.apache.hadoop.hbase.UnknownScannerException", "", HB_RETRY_FORBIDDEN, HB_LOST,
		 HB_CURE_REOPEN},
		{"org.apache.hadoop.hbase.CallQueueTooBigException", "", HB_RETRY_ALLOWED, HB_BUSY,
		 HB_CURE_RETRY},
		{"org.apache.hadoop.hbase.quotas.RpcThrottlingException", "", HB_RETRY_FORBIDDEN, HB_BUSY,
		 HB_CURE_NONE},
		{"org.apache.hadoop.hbase.TableNotFoundException", "t", HB_RETRY_FORBIDDEN, HB_NOTABLE,
		 HB_CURE_NONE},
		{"org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException", "", HB_RETRY_UNSAID,
		 HB_NOFAMILY, HB_CURE_NONE},
		{"org.apache.hadoop.hbase.DoNotRetryIOException",
		 "Field is not a long, it's 3 bytes wide\n at", HB_RETRY_UNSAID, HB_NOTNUMBER,
		 HB_CURE_NONE},
		{"org.apache.hadoop.hbase.DoNotRetryIOException", "other\nField is not a long",
		 HB_RETRY_FORBIDDEN, HB_REMOTE, HB_CURE_NONE},
		{"java.io.IOException", "", HB_RETRY_ALLOWED, HB_REMOTE, HB_CURE_RETRY},
		{"java.io.IOException", "", HB_RETRY_FORBIDDEN, HB_REMOTE, HB_CURE_NONE},
		{"", "", HB_RETRY_FORBIDDEN, HB_REMOTE, HB_CURE_NONE},
	};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		hb_cure cure;

		assert_int_equal(hb_exception_meaning(text(cases[i].name), text(cases[i].text),
											  cases[i].retry, &cure),
						 cases[i].status);
		assert_int_equal(cure, cases[i].cure);
	}
}

static void
ranges(void **state)
{
	hb_range r[3] = {{text("a"), text("c"), false, false},
					 {text("c"), text("e"), false, true},
					 {text("e"), text(""), true, false}};
	hb_range within = {text("b"), text("d"), false, false};
	hb_scan_ranges to;
	hb_arena arena;
	test_host host;

	(void) state;
	test_host_init(&host);
	hb_arena_init(&arena, &host.host);
	assert_int_equal(hb_scan_range_copy(&arena, r, 3, NULL, &to), HB_OK);
	assert_int_equal(to.n, 3);
	assert_int_equal(hb_scan_range_copy(&arena, r, 3, &within, &to), HB_OK);
	assert_int_equal(to.n, 2);
	assert_memory_equal(to.ranges[0].start.data, "b", 1);
	assert_memory_equal(to.ranges[1].stop.data, "d", 1);
	assert_false(to.ranges[1].stop_inclusive);
	r[2].start_exclusive = false;
	assert_int_equal(hb_scan_range_copy(&arena, r, 3, NULL, &to), HB_INVALID);
	r[0] = (hb_range) {text("x"), text("x"), false, false};
	assert_int_equal(hb_scan_range_copy(&arena, r, 1, NULL, &to), HB_OK);
	assert_int_equal(to.n, 0);
	assert_int_equal(hb_scan_range_copy(&arena, NULL, 0, &within, &to), HB_OK);
	assert_int_equal(to.n, 1);
	hb_arena_free(&arena);
	assert_int_equal(host.allocated, 0);
}

/* The bytes as HBase's Java client writes them. */
static void
filter_bytes(void **state)
{
	static const char prefix[] = "\x0a\x2b"
								 "org.apache.hadoop.hbase.filter.PrefixFilter"
								 "\x12\x04\x0a\x02"
								 "ab";
	static const char key_only[] = "\x0a\x2c"
								   "org.apache.hadoop.hbase.filter.KeyOnlyFilter"
								   "\x12\x02\x08\x00";
	hb_options o = {.nodes = "127.0.0.1:1"};
	hb_comparator value = {HB_COMPARE_BINARY, text("50")};
	const hb_filter *f;
	hb_client *client;
	hb_filters *filters;
	hb_bytes bytes;
	test_host host;

	(void) state;
	test_host_init(&host);
	assert_int_equal(hb_client_new(&o, &host.host, &client), HB_OK);
	assert_int_equal(hb_filters_new(client, &filters), HB_OK);
	f = hb_filter_prefix(filters, text("ab"));
	assert_int_equal(hb_filter_serialized(filters, f, &bytes), HB_OK);
	assert_int_equal(bytes.len, sizeof prefix - 1);
	assert_memory_equal(bytes.data, prefix, bytes.len);
	f = hb_filter_key_only(filters);
	assert_int_equal(hb_filter_serialized(filters, f, &bytes), HB_OK);
	assert_int_equal(bytes.len, sizeof key_only - 1);
	assert_memory_equal(bytes.data, key_only, bytes.len);
	f = hb_filter_column_value(filters, text("p"), text("q"), HB_GREATER_OR_EQUAL, value, false,
							   false);
	assert_int_equal(hb_filter_serialized(filters, f, &bytes), HB_OK);
	assert_non_null(memmem(bytes.data, bytes.len, "\x0a\x01p\x12\x01q\x18\x04\x22", 9));
	assert_non_null(memmem(bytes.data, bytes.len,
						   "\x12\x06\x0a\x04\x0a\x02"
						   "50\x28\x01\x30\x01",
						   12));
	/* out of memory: the filter says so when it is used */
	host.fail_at = 1;
	for (int i = 0; i < 2000; i++)
		f = hb_filter_prefix(filters, text("a prefix of a row that needs some memory"));
	host.fail_at = 1;
	for (int i = 0; i < 2000 && host.fail_at > 0; i++)
		f = hb_filter_list(filters, false, &f, 1);
	assert_int_equal(hb_filter_serialized(filters, f, &bytes), HB_NOMEM);
	hb_filters_free(filters);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

static void
options(void **state)
{
	static const char *const bad[] = {"",		"host",		  "host:",	  ":1",
									  "host:0", "host:65536", "a:1,,b:2", "host:1x"};
	hb_client *client;
	test_host host;

	(void) state;
	test_host_init(&host);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
	{
		hb_options o = {.nodes = bad[i]};

		assert_int_equal(hb_client_new(&o, &host.host, &client), HB_INVALID);
		assert_null(client);
	}
	assert_int_equal(host.allocated, 0);
	assert_string_equal(hb_status_name(HB_OK), "HB_OK");
	assert_string_equal(hb_status_name(HB_REMOTE), "HB_REMOTE");
	hb_client_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints),	  cmocka_unit_test(frames), cmocka_unit_test(cell_blocks),
		cmocka_unit_test(exceptions), cmocka_unit_test(ranges), cmocka_unit_test(filter_bytes),
		cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
