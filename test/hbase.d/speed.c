/* speed.c - how fast the client is: rows per second of puts, scans and gets; no test */
#include <setjmp.h>
#include "live.h"

#define T "hbt_speed"

static double
seconds_since(int64_t begun)
{
	return (double) (host_now(NULL) - begun) / 1e6;
}

static void
scan_speed(int rows_per_call)
{
	hb_scan_spec spec = {.read = {.table = T}, .rows_per_call = rows_per_call};
	int64_t begun = host_now(NULL);
	int64_t n = 0;

	do
		n += count_rows(&spec);
	while (seconds_since(begun) < 2);
	print_message("scan, %5d rows a call: %9.0f rows/s\n", rows_per_call,
				  (double) n / seconds_since(begun));
}

static void
get_speed(int keys_per_call, int n)
{
	static char keys[1000][16];
	static hb_bytes k[1000];
	hb_read read = {.table = T};
	int64_t begun = host_now(NULL);
	long rows = 0;
	hb_rows *r;

	do
	{
		for (int i = 0; i < keys_per_call; i++)
		{
			snprintf(keys[i], sizeof keys[i], "r%06ld", (rows + i) * 7919 % n);
			k[i] = text(keys[i]);
		}
		assert_ok(hb_get_many(client, &read, k, keys_per_call, &r));
		hb_rows_free(client, r);
		rows += keys_per_call;
	} while (seconds_since(begun) < 2);
	print_message("get,  %5d keys a call: %9.0f rows/s\n", keys_per_call,
				  (double) rows / seconds_since(begun));
}

static void
speed(void **state)
{
	static const char *const splits[] = {"r050000", "r100000", "r150000"};
	int n = 200000;
	int64_t begun;

	(void) state;
	make_table(T, splits, 3);
	begun = host_now(NULL);
	write_rows(T, 0, n);
	print_message("put of two cells:       %9.0f rows/s\n", n / seconds_since(begun));
	scan_speed(100);
	scan_speed(1000);
	scan_speed(10000);
	get_speed(1, n);
	get_speed(100, n);
	assert_ok(hb_admin_drop(client, T));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(speed)};

	return cmocka_run_group_tests(tests, live_setup, live_teardown);
}
