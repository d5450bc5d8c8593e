/*
 * fake_unit.c - a server that answers garbage, closes in the middle, or hangs
 *
 *     HB_ROUNDS=n  HB_SEED=n   the rounds of each kind of damage, and the first seed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fake_server.h"

static fake_server server;

static hb_client *
new_client(test_host *host, int timeout_ms, size_t max_response)
{
	static char nodes[64];
	hb_options o = {.nodes = nodes,
					.timeout_ms = timeout_ms,
					.call_timeout_ms = timeout_ms / 2,
					.connect_timeout_ms = timeout_ms,
					.max_response = max_response};
	hb_client *client;

	snprintf(nodes, sizeof nodes, "127.0.0.1:1,127.0.0.1:%d", server.port);
	if (hb_client_new(&o, &host->host, &client) != HB_OK)
		return NULL;
	return client;
}

static hb_status
read_scan(hb_client *client, int *n)
{
	hb_scan_spec spec = {.read = {.table = "t"}};
	hb_scan *scan;
	hb_row row;
	hb_status st = hb_scan_open(client, &spec, &scan);
	long sum = 0;

	*n = 0;
	if (st != HB_OK)
		return st;
	while ((st = hb_scan_next(scan, &row)) == HB_OK && *n < 1000)
	{
		++*n;
		for (int i = 0; i < row.n_cells; i++)
		{
			for (size_t k = 0; k < row.cells[i].value.len; k++)
				sum += row.cells[i].value.data[k];
		}
	}
	hb_scan_close(scan);
	return sum < 0 ? HB_INVALID : st;
}

static bool
name_length(void *ctx, const char *name)
{
	*(size_t *) ctx += strlen(name);
	return true;
}

/* All kinds of calls; returns the first failure. */
static hb_status
use(hb_client *client)
{
	hb_read read = {.table = "t"};
	hb_bytes keys[] = {text("k1"), text("k2"), text("k3")};
	hb_change c = {HB_PUT, text("f"), text("a"), text("1"), HB_TS_LATEST, 0};
	hb_mutation m[2] = {{text("k1"), &c, 1}, {text("k2"), &c, 1}};
	hb_rows *rows;
	hb_status worst = HB_OK;
	hb_status st;
	size_t length = 0;
	int n;

	st = read_scan(client, &n);
	worst = st != HB_END ? st : worst;
	st = hb_get_many(client, &read, keys, 3, &rows);
	worst = st != HB_OK ? st : worst;
	hb_rows_free(client, rows);
	st = hb_get_many(client, &read, keys, 1, &rows);
	worst = st != HB_OK ? st : worst;
	hb_rows_free(client, rows);
	st = hb_mutate(client, "t", m, 2, NULL);
	worst = st != HB_OK ? st : worst;
	st = hb_row_change(client, "t", m, &rows);
	worst = st != HB_OK ? st : worst;
	hb_rows_free(client, rows);
	st = hb_admin_list(client, NULL, name_length, &length);
	return st != HB_OK ? st : worst;
}

static void
good(void **state)
{
	test_host host;
	hb_client *client;
	int n;

	(void) state;
	server.mode = FAKE_GOOD;
	test_host_init(&host);
	client = new_client(&host, 2000, 0);
	assert_int_equal(read_scan(client, &n), HB_END);
	assert_int_equal(n, 5);
	assert_int_equal(use(client), HB_OK);
	hb_client_close_idle(client);
	assert_int_equal(use(client), HB_OK);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

/* Whatever the server sends: an end in time, a status, nothing leaked. */
static void
damage(void **state)
{
	int rounds = number_of("HB_ROUNDS", 60);
	int seed = number_of("HB_SEED", 1);
	long statuses[HB_REMOTE + 1] = {0};

	(void) state;
	for (int mode = FAKE_FLIP; mode < FAKE_MODES; mode++)
	{
		int n = mode == FAKE_HANG ? rounds / 20 + 1 : rounds;

		for (int i = 0; i < n; i++)
		{
			test_host host;
			hb_client *client;
			int64_t begun;

			test_host_init(&host);
			server.seed = (unsigned) (seed + i);
			server.chance = 1 + i % 7;
			server.mode = mode;
			client = new_client(&host, 60, 1 << 20);
			begun = host_now(NULL);
			statuses[use(client)]++;
			/* six operations of 60 ms, the last calls of which may be under way */
			assert_true(host_now(NULL) - begun < 3000000);
			server.mode = FAKE_GOOD;
			hb_client_free(client);
			assert_int_equal(host.allocated, 0);
		}
	}
	print_statuses(statuses);
}

static void
what_it_is_called(void **state)
{
	static const struct
	{
		fake_mode mode;
		hb_status status;
	} cases[] = {{FAKE_CUT, HB_LOST},
				 {FAKE_HANG, HB_TIMEOUT},
				 {FAKE_RANDOM, HB_PROTOCOL},
				 {FAKE_EXCEPTION, HB_REMOTE}};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		test_host host;
		hb_client *client;
		hb_read read = {.table = "t"};
		hb_bytes key = text("k");
		hb_rows *rows;

		test_host_init(&host);
		server.mode = cases[i].mode;
		server.only = "Get";
		server.chance = 1;
		server.seed = 4;
		client = new_client(&host, 300, 1 << 20);
		assert_int_equal(hb_get_many(client, &read, &key, 1, &rows), cases[i].status);
		assert_int_equal(hb_client_error(client)->status, cases[i].status);
		if (cases[i].mode == FAKE_EXCEPTION)
		{
			assert_string_equal(hb_client_error(client)->message, "first line");
			assert_string_equal(hb_client_error(client)->java_class, "java.lang.Nonsense");
		}
		server.mode = FAKE_GOOD;
		server.only = NULL;
		hb_client_free(client);
	}
}

static void
too_large(void **state)
{
	test_host host;
	hb_client *client;
	int n;

	(void) state;
	test_host_init(&host);
	server.mode = FAKE_GOOD;
	client = new_client(&host, 300, 100);
	assert_int_equal(read_scan(client, &n), HB_TOOLARGE);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

/* An interrupt ends the wait at once; the client can be used afterwards. */
static void
interrupts(void **state)
{
	test_host host;
	hb_client *client;
	int64_t begun;
	int n;

	(void) state;
	test_host_init(&host);
	client = new_client(&host, 20000, 0);
	server.mode = FAKE_HANG;
	server.only = "Scan";
	server.chance = 1;
	begun = host_now(NULL);
	host.interrupt_us = begun + 100000;
	assert_int_equal(read_scan(client, &n), HB_INTERRUPTED);
	assert_true(host_now(NULL) - begun < 300000);
	server.mode = FAKE_GOOD;
	server.only = NULL;
	host.interrupt_us = 0;
	assert_int_equal(read_scan(client, &n), HB_END);
	assert_int_equal(n, 5);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

/* Each allocation fails once. */
static void
no_memory(void **state)
{
	long i;

	(void) state;
	server.mode = FAKE_GOOD;
	for (i = 1; i < 1000; i++)
	{
		test_host host;
		hb_client *client;
		hb_status st;
		bool failed;

		test_host_init(&host);
		host.fail_at = i;
		client = new_client(&host, 2000, 0);
		st = client == NULL ? HB_NOMEM : use(client);
		failed = host.fail_at == 0;
		hb_client_free(client);
		assert_int_equal(host.allocated, 0);
		if (!failed)
			break;
		assert_true(st == HB_NOMEM || st == HB_OK);
	}
	assert_true(i > 20 && i < 1000);
	print_message("    %ld allocations\n", i - 1);
}

static void
nobody(void **state)
{
	hb_options o = {.nodes = "127.0.0.1:1,127.0.0.1:2", .connect_timeout_ms = 300};
	test_host host;
	hb_client *client;
	int64_t begun = host_now(NULL);
	int n;

	(void) state;
	test_host_init(&host);
	assert_int_equal(hb_client_new(&o, &host.host, &client), HB_OK);
	assert_int_equal(read_scan(client, &n), HB_CONNECT);
	assert_true(host_now(NULL) - begun < 1000000);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

static int
setup(void **state)
{
	(void) state;
	return fake_start(&server) ? 0 : -1;
}

static int
teardown(void **state)
{
	(void) state;
	fake_stop(&server);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),		 cmocka_unit_test(what_it_is_called),
		cmocka_unit_test(too_large), cmocka_unit_test(interrupts),
		cmocka_unit_test(no_memory), cmocka_unit_test(nobody),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
