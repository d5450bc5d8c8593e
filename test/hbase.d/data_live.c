/* data_live.c - reads and writes on a cluster that is quiet */
#include "live.h"

#define T "hbt_data"

static const char *const splits[] = {"r002000", "r004000", "r006000", "r008000"};

static hb_range
range(const char *start, bool exclusive, const char *stop, bool inclusive)
{
	return (hb_range) {text(start), text(stop), exclusive, inclusive};
}

/* The same row written, and its cells read back. */
static void
put_one(const char *key, const char *qualifier, const char *value, int64_t timestamp)
{
	hb_change c = {HB_PUT, text("f"), text(qualifier), text(value), timestamp, 0};
	hb_mutation m = {text(key), &c, 1};

	assert_ok(hb_mutate(client, T, &m, 1, NULL));
}

static hb_rows *
get_one(const char *key, int versions)
{
	hb_read read = {.table = T, .max_versions = versions};
	hb_bytes k = text(key);
	hb_rows *rows;

	assert_ok(hb_get_many(client, &read, &k, 1, &rows));
	return rows;
}

static void
assert_value(const hb_cell *cell, const char *qualifier, const char *value)
{
	assert_int_equal(cell->qualifier.len, strlen(qualifier));
	assert_memory_equal(cell->qualifier.data, qualifier, strlen(qualifier));
	assert_int_equal(cell->value.len, strlen(value));
	assert_memory_equal(cell->value.data, value, strlen(value));
}

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
	rows = get_one("r000000", 1);
	assert_int_equal(rows->rows[0].n_cells, 2);
	assert_memory_equal(rows->rows[0].cells[1].family.data, "g", 1);
	hb_rows_free(client, rows);
}

/* Ranges, with and without their ends, within one region and across borders, both ways. */
static void
ranges(void **state)
{
	static const struct
	{
		const char *start;
		const char *stop;
		int both; /* rows with both ends */
	} cases[] = {{"r000010", "r000020", 11},   {"r001990", "r002000", 11},
				 {"r001999", "r006000", 4002}, {"r002000", "r004000", 2001},
				 {"r009990", "r009999", 10},   {"r004000", "r004000", 1}};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		for (int way = 0; way < 8; way++)
		{
			hb_range r = range(cases[i].start, way & 1, cases[i].stop, way & 2);
			hb_scan_spec spec = {.read = {.table = T}, .ranges = &r, .n_ranges = 1};
			int expected = cases[i].both - (way & 1 ? 1 : 0) - (way & 2 ? 0 : 1);

			spec.reversed = way & 4;
			spec.rows_per_call = i % 2 == 0 ? 7 : 0;
			assert_int_equal(count_rows(&spec), expected < 0 ? 0 : expected);
		}
	}
	for (int way = 0; way < 2; way++)
	{
		hb_range r = range("", false, "r002000", false);
		hb_scan_spec spec = {.read = {.table = T}, .ranges = &r, .n_ranges = 1};

		spec.reversed = way;
		assert_int_equal(count_rows(&spec), 2000);
		r = range("r005000", true, "", false);
		assert_int_equal(count_rows(&spec), 4999);
		spec.n_ranges = 0;
		assert_int_equal(count_rows(&spec), 10000);
		spec.rows_per_call = 100;
		spec.no_read_ahead = true;
		assert_int_equal(count_rows(&spec), 10000);
	}
}

static void
many_ranges(void **state)
{
	enum
	{
		N = 1500
	};

	static hb_range r[N];
	static char keys[N][2][16];
	hb_scan_spec spec = {.read = {.table = T}, .ranges = r, .n_ranges = N};
	hb_range within = range("r002000", false, "r004000", false);

	(void) state;
	for (int i = 0; i < N; i++)
	{
		snprintf(keys[i][0], sizeof keys[i][0], "r%06d", i * 6);
		snprintf(keys[i][1], sizeof keys[i][1], "r%06d", i * 6 + 2);
		r[i] = range(keys[i][0], i % 2, keys[i][1], i % 3 == 0);
	}
	/* of 0, 1 and 2: the first unless i is odd, the second, the third if 3 divides i */
	assert_int_equal(count_rows(&spec), N / 2 + N + N / 3);
	spec.rows_per_call = 10;
	assert_int_equal(count_rows(&spec), N / 2 + N + N / 3);
	spec.reversed = true;
	assert_int_equal(count_rows(&spec), N / 2 + N + N / 3);
	spec.reversed = false;
	spec.limit = 777;
	assert_int_equal(count_rows(&spec), 777);
	spec.limit = 0;
	spec.ranges = NULL;
	spec.n_ranges = 0;
	spec.within = &within;
	assert_int_equal(count_rows(&spec), 2000);
	/* points, the first and last of which are borders */
	for (int i = 0; i < 5; i++)
	{
		snprintf(keys[i][0], sizeof keys[i][0], "r%06d", i * 2000);
		r[i] = range(keys[i][0], false, keys[i][0], true);
	}
	spec.within = NULL;
	spec.ranges = r;
	spec.n_ranges = 5;
	assert_int_equal(count_rows(&spec), 5);
	spec.reversed = true;
	assert_int_equal(count_rows(&spec), 5);
	r[0] = range("r5", false, "r6", false);
	r[1] = range("r55", false, "r7", false);
	spec.n_ranges = 2;
	{
		hb_scan *scan;

		assert_status(hb_scan_open(client, &spec, &scan), HB_INVALID);
	}
}

static void
limits(void **state)
{
	hb_scan_spec spec = {.read = {.table = T}};
	hb_scan *scan;
	hb_row row;

	(void) state;
	spec.limit = 10;
	assert_ok(hb_scan_open(client, &spec, &scan));
	for (int i = 0; i < 10; i++)
		assert_ok(hb_scan_next(scan, &row));
	assert_status(hb_scan_next(scan, &row), HB_END);
	assert_int_equal(hb_scan_statistics(scan)->calls, 1);
	assert_ok(hb_scan_restart(scan, NULL, 0, NULL));
	assert_ok(hb_scan_next(scan, &row));
	assert_memory_equal(row.key.data, "r000000", 7);
	hb_scan_close(scan);
	spec.limit = 2500;
	assert_int_equal(count_rows(&spec), 2500);
	spec.reversed = true;
	spec.rows_per_call = 300;
	assert_int_equal(count_rows(&spec), 2500);
	/* not read to its end, many times */
	spec.limit = 0;
	for (int i = 0; i < 200; i++)
	{
		assert_ok(hb_scan_open(client, &spec, &scan));
		for (int k = 0; k < i; k++)
			assert_ok(hb_scan_next(scan, &row));
		hb_scan_close(scan);
	}
}

static void
columns_and_versions(void **state)
{
	hb_bytes q = text("b");
	hb_columns f[] = {{text("g"), NULL, 0}, {text("f"), &q, 1}};
	hb_scan_spec spec = {.read = {.table = T, .families = f, .n_families = 1}};
	hb_rows *rows;
	hb_bytes key = text("ver");

	(void) state;
	for (int i = 1; i <= 7; i++)
	{
		char v[8];

		snprintf(v, sizeof v, "v%d", i);
		put_one("ver", "b", v, i * 1000);
		put_one("ver", "c", v, i * 1000);
	}
	rows = get_one("ver", 100);
	assert_int_equal(rows->rows[0].n_cells, 10);
	assert_value(&rows->rows[0].cells[0], "b", "v7");
	assert_value(&rows->rows[0].cells[4], "b", "v3");
	assert_int_equal(rows->rows[0].cells[4].timestamp, 3000);
	hb_rows_free(client, rows);
	f[0] = f[1];
	spec.read.max_versions = 3;
	spec.read.time_range = true;
	spec.read.min_time = 4000;
	spec.read.max_time = 7000;
	assert_ok(hb_get_many(client, &spec.read, &key, 1, &rows));
	assert_int_equal(rows->rows[0].n_cells, 3);
	assert_value(&rows->rows[0].cells[0], "b", "v6");
	hb_rows_free(client, rows);
	assert_int_equal(count_rows(&spec), 1);
	f[0] = (hb_columns) {text("nofamily"), NULL, 0};
	assert_status(hb_get_many(client, &spec.read, &key, 1, &rows), HB_NOFAMILY);
	{
		hb_scan *scan;
		hb_row row;

		assert_ok(hb_scan_open(client, &spec, &scan));
		assert_status(hb_scan_next(scan, &row), HB_NOFAMILY);
		hb_scan_close(scan);
	}
}

static void
deletes(void **state)
{
	hb_change c[4] = {{HB_DELETE_VERSION, text("f"), text("b"), {0}, 6000, 0},
					  {HB_DELETE_COLUMN, text("f"), text("c"), {0}, 5000, 0},
					  {HB_PUT, text("g"), text("z"), text("new"), HB_TS_LATEST, 0}};
	hb_mutation m = {text("ver"), c, 3};
	hb_scan_spec raw = {.read = {.table = T, .max_versions = 100}, .raw = true};
	hb_range r = range("ver", false, "ver", true);
	hb_rows *rows;
	hb_scan *scan;
	hb_row row;
	int markers = 0;

	(void) state;
	assert_ok(hb_mutate(client, T, &m, 1, NULL));
	rows = get_one("ver", 100);
	/* b: 7, 5, 4, 3 (and 2 with five versions counted after deletes); c: 7, 6; z */
	assert_true(rows->rows[0].n_cells >= 7 && rows->rows[0].n_cells <= 8);
	assert_value(&rows->rows[0].cells[1], "b", "v5");
	hb_rows_free(client, rows);
	raw.ranges = &r;
	raw.n_ranges = 1;
	assert_ok(hb_scan_open(client, &raw, &scan));
	assert_ok(hb_scan_next(scan, &row));
	for (int i = 0; i < row.n_cells; i++)
		markers += row.cells[i].type != HB_CELL_PUT;
	assert_int_equal(markers, 2);
	assert_status(hb_scan_next(scan, &row), HB_END);
	hb_scan_close(scan);
	c[0] = (hb_change) {HB_DELETE_FAMILY, text("f"), text(""), {0}, HB_TS_LATEST, 0};
	c[1] = (hb_change) {HB_DELETE_FAMILY_VERSION, text("g"), text(""), {0}, 4711, 0};
	m.n_changes = 2;
	assert_ok(hb_mutate(client, T, &m, 1, NULL));
	rows = get_one("ver", 100);
	assert_int_equal(rows->rows[0].n_cells, 1);
	assert_value(&rows->rows[0].cells[0], "z", "new");
	hb_rows_free(client, rows);
	c[0] = (hb_change) {HB_DELETE_FAMILY, text("g"), text(""), {0}, HB_TS_LATEST, 0};
	m.n_changes = 1;
	assert_ok(hb_mutate(client, T, &m, 1, NULL));
	rows = get_one("ver", 100);
	assert_int_equal(rows->rows[0].n_cells, 0);
	hb_rows_free(client, rows);
}

/* Rows of several MB, which come in parts, between small ones; values with all bytes. */

enum
{
	LARGE_CELLS = 60,
	LARGE_SIZE = 100 * 1024
};

static uint8_t large_value[LARGE_SIZE];
static char large_qualifiers[LARGE_CELLS][8];

static void
write_large_rows(void)
{
	static hb_change c[LARGE_CELLS];

	for (int i = 0; i < LARGE_SIZE; i++)
		large_value[i] = (uint8_t) (i * 31);
	for (int i = 0; i < LARGE_CELLS; i++)
	{
		char *q = large_qualifiers[i];

		snprintf(q, sizeof large_qualifiers[i], "q%03d", i);
		c[i] = (hb_change) {HB_PUT, text("f"), text(q), {large_value, LARGE_SIZE}, HB_TS_LATEST, 0};
	}
	for (int i = 0; i < 3; i++)
	{
		char key[16];
		hb_mutation m = {{0}, c, LARGE_CELLS};

		snprintf(key, sizeof key, "r00%d999+", i + 2);
		m.key = text(key);
		assert_ok(hb_mutate(client, T, &m, 1, NULL));
	}
}

/* Returns 1 if it is one of these rows, which must be whole. */
static int
check_large_row(const hb_row *row)
{
	if (row->n_cells == 2)
		return 0;
	assert_int_equal(row->n_cells, LARGE_CELLS);
	for (int i = 0; i < LARGE_CELLS; i++)
	{
		assert_memory_equal(row->cells[i].qualifier.data, large_qualifiers[i], 4);
		assert_int_equal(row->cells[i].value.len, LARGE_SIZE);
		assert_memory_equal(row->cells[i].value.data, large_value, LARGE_SIZE);
	}
	return 1;
}

static void
large_rows(void **state)
{
	hb_range r = range("r003", false, "r005", false);
	hb_scan_spec spec = {.read = {.table = T}, .ranges = &r, .n_ranges = 1};
	hb_bytes keys[] = {text("r002999+"), text("r003999+"), text("r004999+"), text("r000001")};
	hb_scan *scan;
	hb_rows *rows;
	hb_row row;
	hb_status st;

	(void) state;
	write_large_rows();
	for (int way = 0; way < 3; way++)
	{
		int n = 0;
		int large = 0;

		spec.bytes_per_call = way == 0 ? 100000 : way == 1 ? 1000000 : 0;
		spec.reversed = way == 2;
		assert_ok(hb_scan_open(client, &spec, &scan));
		for (; (st = hb_scan_next(scan, &row)) == HB_OK; n++)
			large += check_large_row(&row);
		assert_status(st, HB_END);
		hb_scan_close(scan);
		assert_int_equal(large, 2);
		assert_int_equal(n, 2002);
	}
	assert_ok(hb_get_many(client, &spec.read, keys, 4, &rows));
	for (int i = 0; i < 4; i++)
		assert_int_equal(check_large_row(&rows->rows[i]), i < 3);
	hb_rows_free(client, rows);
}

static void
ttl(void **state)
{
	hb_change c[2] = {{HB_PUT, text("f"), text("short"), text("1"), HB_TS_LATEST, 300},
					  {HB_PUT, text("f"), text("stays"), text("1"), HB_TS_LATEST, 0}};
	hb_mutation m = {text("ttl"), c, 2};
	hb_rows *rows;

	(void) state;
	assert_ok(hb_mutate(client, T, &m, 1, NULL));
	host_wait(&the_host, NULL, 0, 800);
	rows = get_one("ttl", 1);
	assert_int_equal(rows->rows[0].n_cells, 1);
	assert_value(&rows->rows[0].cells[0], "stays", "1");
	hb_rows_free(client, rows);
}

static void
failures(void **state)
{
	hb_change good = {HB_PUT, text("f"), text("a"), text("1"), HB_TS_LATEST, 0};
	hb_change bad = {HB_PUT, text("nofamily"), text("a"), text("1"), HB_TS_LATEST, 0};
	hb_change increment = {HB_INCREMENT, text("f"), text("a"), text("12345678"), HB_TS_LATEST, 0};
	hb_mutation m[3] = {{text("e1"), &good, 1}, {text("e2"), &bad, 1}, {text("e3"), &good, 1}};
	hb_mutate_result result;
	hb_scan_spec spec = {.read = {.table = "hbt_nothing"}};
	hb_scan *scan;
	hb_row row;

	(void) state;
	assert_status(hb_mutate(client, T, m, 3, &result), HB_NOFAMILY);
	assert_int_equal(result.failed_row, 1);
	assert_int_equal(result.written, 2);
	m[1].changes = &increment;
	assert_status(hb_mutate(client, T, m, 3, &result), HB_INVALID);
	assert_int_equal(result.failed_row, 1);
	m[1] = (hb_mutation) {text(""), &good, 1};
	assert_status(hb_mutate(client, T, m, 3, &result), HB_INVALID);
	assert_ok(hb_scan_open(client, &spec, &scan));
	assert_status(hb_scan_next(scan, &row), HB_NOTABLE);
	hb_scan_close(scan);
	assert_status(hb_mutate(client, "hbt_nothing", m, 1, &result), HB_NOTABLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_get_scan),
		cmocka_unit_test(ranges),
		cmocka_unit_test(many_ranges),
		cmocka_unit_test(limits),
		cmocka_unit_test(columns_and_versions),
		cmocka_unit_test(deletes),
		cmocka_unit_test(failures),
		cmocka_unit_test(large_rows),
		cmocka_unit_test(ttl),
	};

	return cmocka_run_group_tests(tests, live_setup, live_teardown);
}
