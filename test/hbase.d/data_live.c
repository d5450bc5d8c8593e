/* data_live.c - reads and writes on a cluster that is quiet */
#include "live.h"

#define T "hbt_data"

static const char *const splits[] = {"r002000", "r004000", "r006000", "r008000"};

static void
put_get_scan(void **state)
{
	hb_scan_spec spec = {.read = {.table = T}};
	hb_bytes keys[3] = {text("r000000"), text("r009999"), text("nothing")};
	hb_rows *rows;

	(void) state;
	make_table(T, splits, 4);
	write_rows(T, 0, 10000);
	assert_int_equal(count_rows(&spec), 10000);
	assert_ok(hb_get_many(client, &spec.read, keys, 3, &rows));
	assert_int_equal(rows->n, 3);
	assert_int_equal(rows->rows[0].n_cells, 2);
	assert_memory_equal(rows->rows[1].cells[0].value.data, "009999", 6);
	assert_int_equal(rows->rows[2].n_cells, 0);
	hb_rows_free(client, rows);
	assert_ok(hb_get_many(client, &spec.read, keys, 1, &rows));
	assert_int_equal(rows->rows[0].n_cells, 2);
	assert_memory_equal(rows->rows[0].cells[1].family.data, "g", 1);
	hb_rows_free(client, rows);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_get_scan),
	};

	return cmocka_run_group_tests(tests, live_setup, live_teardown);
}
