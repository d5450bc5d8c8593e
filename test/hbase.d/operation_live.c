/* operation_live.c - row operations, filters and administration on a cluster that is quiet */
#include <endian.h>
#include "hbase/state.h"
#include "live.h"

#define T "hbt_operation"

static hb_filters *filters;

/* ---- row operations ---- */

static int64_t
number(const hb_cell *cell)
{
	uint64_t v;

	assert_int_equal(cell->value.len, 8);
	memcpy(&v, cell->value.data, 8);
	return (int64_t) be64toh(v);
}

static void
increments_and_appends(void **state)
{
	uint64_t five = htobe64(5);
	hb_bytes amount = {(const uint8_t *) &five, 8};
	hb_change c[] = {{HB_INCREMENT, text("f"), text("n"), amount, HB_TS_LATEST, 0},
					 {HB_INCREMENT, text("f"), text("m"), amount, HB_TS_LATEST, 0},
					 {HB_APPEND, text("g"), text("s"), text("xy"), HB_TS_LATEST, 0},
					 {HB_PUT, text("g"), text("t"), text("put"), HB_TS_LATEST, 0}};
	hb_mutation m = {text("counter"), c, 1};
	hb_rows *rows;

	(void) state;
	make_table(T, NULL, 0);
	for (int i = 1; i <= 3; i++)
	{
		assert_ok(hb_row_change(client, T, &m, &rows));
		assert_int_equal(rows->rows[0].n_cells, 1);
		assert_int_equal(number(&rows->rows[0].cells[0]), 5 * i);
		hb_rows_free(client, rows);
	}
	m.n_changes = 4;
	assert_ok(hb_row_change(client, T, &m, &rows));
	assert_int_equal(rows->rows[0].n_cells, 3);
	hb_rows_free(client, rows);
	m.n_changes = 3;
	assert_ok(hb_row_change(client, T, &m, &rows));
	for (int i = 0; i < 3; i++)
	{
		const hb_cell *cell = &rows->rows[0].cells[i];

		if (cell->qualifier.data[0] == 's')
			assert_memory_equal(cell->value.data, "xyxy", 4);
		else
			assert_int_equal(number(cell), cell->qualifier.data[0] == 'n' ? 25 : 10);
	}
	hb_rows_free(client, rows);
	c[0].qualifier = text("t");
	c[0].family = text("g");
	m.n_changes = 1;
	assert_status(hb_row_change(client, T, &m, &rows), HB_NOTNUMBER);
	assert_null(rows);
}

/* A call that is repeated because its answer was lost has the same nonce: it is done once. */
static void
repeated(void **state)
{
	uint64_t one = htobe64(1);
	hb_change c[] = {
		{HB_INCREMENT, text("f"), text("n"), {(const uint8_t *) &one, 8}, HB_TS_LATEST, 0},
		{HB_APPEND, text("g"), text("s"), text("a"), HB_TS_LATEST, 0}};
	hb_mutation m = {text("again"), c, 1};
	hb_rows *rows;

	(void) state;
	for (int n = 1; n <= 2; n++)
	{
		m.n_changes = n;
		for (int i = 0; i < 3; i++)
		{
			assert_ok(hb_row_change(client, T, &m, &rows));
			client->nonce -= (uint64_t) n;
			hb_rows_free(client, rows);
		}
		client->nonce += (uint64_t) n;
	}
	c[0].value = text("\0\0\0\0\0\0\0\0");
	c[0].value.len = 8;
	m.n_changes = 1;
	assert_ok(hb_row_change(client, T, &m, &rows));
	assert_int_equal(number(&rows->rows[0].cells[0]), 2);
	hb_rows_free(client, rows);
}

/* Returns true if the check on "check" f:v = "50" says so. */
static bool
check(hb_condition condition, const char *then)
{
	hb_change c = {HB_PUT, text("g"), text("then"), text(then), HB_TS_LATEST, 0};
	hb_mutation m = {text("check"), &c, 1};
	bool matched;

	assert_ok(hb_check_and_mutate(client, T, &condition, &m, &matched, NULL));
	return matched;
}

static void
checks(void **state)
{
	hb_change c = {HB_PUT, text("f"), text("v"), text("50"), 5000, 0};
	hb_mutation m = {text("check"), &c, 1};
	hb_condition k = {.family = text("f"), .qualifier = text("v")};

	(void) state;
	assert_ok(hb_mutate(client, T, &m, 1, NULL));
	for (int op = HB_LESS; op <= HB_GREATER; op++)
	{
		static const bool below[] = {true, true, false, true, false, false}; /* 50 op 60 */
		static const bool same[] = {false, true, true, false, true, false};
		static const bool above[] = {false, false, false, true, true, true};

		k.op = op;
		k.value = (hb_comparator) {HB_COMPARE_BINARY, text("60")};
		assert_int_equal(check(k, "1"), below[op]);
		k.value.value = text("50");
		assert_int_equal(check(k, "2"), same[op]);
		k.value.value = text("40");
		assert_int_equal(check(k, "3"), above[op]);
	}
	k.op = HB_EQUAL;
	k.value = (hb_comparator) {HB_COMPARE_NULL, {0}};
	assert_false(check(k, "4"));
	k.op = HB_NOT_EQUAL;
	assert_true(check(k, "4"));
	k.qualifier = text("absent");
	assert_false(check(k, "4"));
	k.op = HB_EQUAL;
	assert_true(check(k, "4"));
	k.qualifier = text("v");
	k.value = (hb_comparator) {HB_COMPARE_BINARY, text("50")};
	k.time_range = true;
	k.min_time = 4000;
	k.max_time = 5000;
	assert_false(check(k, "5"));
	k.max_time = 5001;
	assert_true(check(k, "5"));
	k.time_range = false;
	k.filter = hb_filter_column_value(filters, text("f"), text("v"), HB_EQUAL, k.value, false,
									  false);
	assert_true(check(k, "6"));
	k.filter = hb_filter_column_value(filters, text("f"), text("v"), HB_NOT_EQUAL, k.value, false,
									  false);
	assert_false(check(k, "7"));
}

/* A condition with a list of changes of all kinds, and its results. */
static void
check_with_list(void **state)
{
	uint64_t one = htobe64(1);
	hb_change c[] = {
		{HB_INCREMENT, text("f"), text("n"), {(const uint8_t *) &one, 8}, HB_TS_LATEST, 0},
		{HB_PUT, text("f"), text("v"), text("51"), HB_TS_LATEST, 0},
		{HB_DELETE_COLUMN, text("g"), text("then"), {0}, HB_TS_LATEST, 0}};
	hb_mutation m = {text("check"), c, 3};
	hb_condition k = {.family = text("f"),
					  .qualifier = text("v"),
					  .op = HB_EQUAL,
					  .value = {HB_COMPARE_BINARY, text("50")}};
	hb_rows *rows;
	bool matched;

	(void) state;
	assert_ok(hb_check_and_mutate(client, T, &k, &m, &matched, &rows));
	assert_true(matched);
	assert_int_equal(rows->rows[0].n_cells, 1);
	assert_int_equal(number(&rows->rows[0].cells[0]), 1);
	hb_rows_free(client, rows);
	assert_ok(hb_check_and_mutate(client, T, &k, &m, &matched, &rows));
	assert_false(matched);
	assert_int_equal(rows->rows[0].n_cells, 0);
	hb_rows_free(client, rows);
}

/* ---- filters ---- */

static int64_t
rows_with(const hb_filter *f)
{
	hb_range r = {text("r"), text("s"), false, false};
	hb_scan_spec spec = {.read = {.table = T, .filter = f}, .ranges = &r, .n_ranges = 1};

	return count_rows(&spec);
}

static int64_t
cells_with(const hb_filter *f, size_t *bytes)
{
	hb_range r = {text("r"), text("s"), false, false};
	hb_scan_spec spec = {.read = {.table = T, .filter = f}, .ranges = &r, .n_ranges = 1};
	hb_scan *scan;
	hb_row row;
	int64_t n = 0;

	*bytes = 0;
	assert_ok(hb_scan_open(client, &spec, &scan));
	while (hb_scan_next(scan, &row) == HB_OK)
	{
		n += row.n_cells;
		for (int i = 0; i < row.n_cells; i++)
			*bytes += row.cells[i].value.len;
	}
	hb_scan_close(scan);
	return n;
}

static hb_comparator
binary(const char *s)
{
	return (hb_comparator) {HB_COMPARE_BINARY, text(s)};
}

static void
filter_rows(void **state)
{
	hb_filters *f = filters;
	const hb_filter *list[2];
	hb_range r[2] = {{text("r000100"), text("r000110"), false, false},
					 {text("r000500"), text("r000500"), false, true}};
	static const uint8_t mask[7] = {0, 0, 0, 0, 1, 1, 0};
	hb_bytes pattern = text("r000007");
	hb_bytes m = {mask, 7};

	(void) state;
	write_rows(T, 0, 1000);
	assert_int_equal(rows_with(hb_filter_prefix(f, text("r0002"))), 100);
	assert_int_equal(rows_with(hb_filter_row(f, HB_LESS, binary("r000010"))), 10);
	assert_int_equal(rows_with(hb_filter_ranges(f, r, 2)), 11);
	assert_int_equal(rows_with(hb_filter_fuzzy(f, &pattern, &m, 1)), 100);
	assert_int_equal(rows_with(hb_filter_page(f, 17)), 17);
	list[0] = hb_filter_column_value(f, text("f"), text("a"), HB_GREATER_OR_EQUAL, binary("000990"),
									 false, false);
	assert_int_equal(rows_with(list[0]), 10);
	list[1] = hb_filter_column_value(f, text("f"), text("a"), HB_LESS, binary("000003"), false,
									 false);
	assert_int_equal(rows_with(hb_filter_list(f, true, list, 2)), 13);
	assert_int_equal(rows_with(hb_filter_list(f, false, list, 2)), 0);
	list[1] = hb_filter_column_value(f, text("f"), text("zz"), HB_EQUAL, binary("1"), true, false);
	assert_int_equal(rows_with(list[1]), 1000);
	list[1] = hb_filter_column_value(f, text("f"), text("zz"), HB_EQUAL, binary("1"), false, false);
	assert_int_equal(rows_with(list[1]), 0);
	list[0] = hb_filter_column_value(f, text("f"), text("a"), HB_EQUAL,
									 (hb_comparator) {HB_COMPARE_PREFIX, text("0001")}, false,
									 false);
	assert_int_equal(rows_with(list[0]), 100);
	list[0] = hb_filter_column_value(f, text("f"), text("a"), HB_EQUAL,
									 (hb_comparator) {HB_COMPARE_SUBSTRING, text("77")}, false,
									 false);
	assert_int_equal(rows_with(list[0]), 19);
	list[0] = hb_filter_column_value(f, text("f"), text("a"), HB_EQUAL,
									 (hb_comparator) {HB_COMPARE_REGEX, text("0007[0-4].")}, false,
									 false);
	assert_int_equal(rows_with(list[0]), 50);
}

static void
filter_cells(void **state)
{
	hb_filters *f = filters;
	hb_bytes prefixes[2] = {text("a"), text("q")};
	const hb_filter *list[2] = {hb_filter_first_key(f), hb_filter_key_only(f)};
	hb_bytes open = {NULL, 0};
	size_t bytes;

	(void) state;
	assert_int_equal(cells_with(NULL, &bytes), 2000);
	assert_int_equal(bytes, 7000);
	assert_int_equal(cells_with(hb_filter_list(f, false, list, 2), &bytes), 1000);
	assert_int_equal(bytes, 0);
	assert_int_equal(cells_with(hb_filter_column_prefix(f, text("b")), &bytes), 1000);
	assert_int_equal(cells_with(hb_filter_column_prefixes(f, prefixes, 2), &bytes), 1000);
	assert_int_equal(cells_with(hb_filter_column_range(f, text("a"), false, open, false), &bytes),
					 1000);
	assert_int_equal(cells_with(hb_filter_family(f, HB_EQUAL, binary("g")), &bytes), 1000);
	assert_int_equal(cells_with(hb_filter_qualifier(f, HB_NOT_EQUAL, binary("a")), &bytes), 1000);
	assert_int_equal(cells_with(hb_filter_value(f, HB_EQUAL, binary("x")), &bytes), 1000);
}

/* ---- administration ---- */

static bool
find_table(void *ctx, const char *table)
{
	*(int *) ctx += strcmp(table, T) == 0;
	return true;
}

typedef struct description
{
	char versions[8];
	int families;
} description;

static void
take_table(void *ctx, const hb_table *t)
{
	description *d = ctx;

	memset(d, 0, sizeof *d);
	d->families = t->n_families;
	for (int i = 0; i < t->n_families; i++)
	{
		for (int k = 0; k < t->families[i].n_attributes; k++)
		{
			if (strcmp(t->families[i].name, "g") == 0 &&
				strcmp(t->families[i].attributes[k].key, "VERSIONS") == 0)
				snprintf(d->versions, sizeof d->versions, "%s", t->families[i].attributes[k].value);
		}
	}
}

static bool
count_region(void *ctx, const hb_region *region)
{
	*(int *) ctx += region->host[0] != 0 && strlen(region->encoded) == 32;
	return true;
}

static bool
add_size(void *ctx, const hb_region_size *size)
{
	int64_t *sums = ctx;

	sums[0]++;
	sums[1] += size->store_mb + size->memstore_mb;
	return true;
}

static void
tables(void **state)
{
	hb_attribute versions = {"VERSIONS", "9"};
	hb_family g = {.name = "g", .attributes = &versions, .n_attributes = 1};
	hb_family h = {.name = "h"};
	hb_table again = {.name = T, .families = &h, .n_families = 1};
	hb_scan_spec spec = {.read = {.table = T}};
	hb_bytes key = text("r000000");
	description d;
	hb_cluster cluster;
	hb_rows *rows;
	bool enabled;
	int n = 0;

	(void) state;
	assert_ok(hb_admin_cluster(client, &cluster));
	assert_true(cluster.servers >= 1);
	assert_int_equal(strlen(cluster.id), 36);
	assert_int_equal(cluster.version[0], '2');
	assert_ok(hb_admin_list(client, "default", find_table, &n));
	assert_int_equal(n, 1);
	assert_ok(hb_admin_list(client, NULL, find_table, &n));
	assert_int_equal(n, 2);
	assert_status(hb_admin_create(client, &again, NULL, 0), HB_EXISTS);
	assert_ok(hb_admin_add_family(client, T, &h));
	assert_ok(hb_admin_modify_family(client, T, &g));
	assert_ok(hb_admin_describe(client, T, take_table, &d));
	assert_int_equal(d.families, 3);
	assert_string_equal(d.versions, "9");
	assert_ok(hb_admin_drop_family(client, T, "h"));
	assert_status(hb_admin_drop_family(client, T, "h"), HB_NOFAMILY);
	assert_status(hb_admin_describe(client, "hbt_nothing", take_table, &d), HB_NOTABLE);
	assert_ok(hb_admin_disable(client, T));
	assert_status(hb_get_many(client, &spec.read, &key, 1, &rows), HB_DISABLED);
	assert_ok(hb_admin_is_enabled(client, T, &enabled));
	assert_false(enabled);
	assert_ok(hb_admin_enable(client, T));
	assert_ok(hb_admin_is_enabled(client, T, &enabled));
	assert_true(enabled);
	assert_true(count_rows(&spec) > 1000);
}

/* A table that another client disables or drops while its regions are known. */
static void
behind_the_back(void **state)
{
	hb_options o = {.nodes = getenv("HB_NODES"), .timeout_ms = 30000};
	hb_scan_spec spec = {.read = {.table = T}};
	hb_bytes key = text("r000000");
	hb_bytes keys[2] = {text("r000000"), text("r000001")};
	hb_client *other;
	hb_client *first = client;
	hb_rows *rows;

	(void) state;
	if (o.nodes == NULL)
		o.nodes = "127.0.0.1:56001";
	assert_int_equal(hb_client_new(&o, &the_host.host, &other), HB_OK);
	assert_true(count_rows(&spec) > 0);
	assert_int_equal(hb_admin_disable(other, T), HB_OK);
	assert_status(hb_get_many(client, &spec.read, &key, 1, &rows), HB_DISABLED);
	assert_int_equal(hb_admin_enable(other, T), HB_OK);
	assert_ok(hb_get_many(client, &spec.read, keys, 2, &rows));
	hb_rows_free(client, rows);
	client = other;
	make_table("hbt_other", NULL, 0);
	client = first;
	spec.read.table = "hbt_other";
	assert_int_equal(count_rows(&spec), 0);
	assert_int_equal(hb_admin_drop(other, "hbt_other"), HB_OK);
	assert_status(hb_get_many(client, &spec.read, keys, 2, &rows), HB_NOTABLE);
	hb_client_free(other);
}

static void
splits_and_sizes(void **state)
{
	hb_scan_spec spec = {.read = {.table = T}};
	int64_t sums[2] = {0, 0};
	int n = 0;

	(void) state;
	assert_ok(hb_admin_flush(client, T));
	assert_ok(hb_admin_split(client, T, text("r000500")));
	assert_ok(hb_table_regions(client, T, true, count_region, &n));
	assert_int_equal(n, 2);
	assert_ok(hb_admin_compact(client, T, true));
	for (int i = 0; i < 100 && sums[0] == 0; i++)
	{
		/* servers report to the master from time to time */
		host_wait(&the_host, NULL, 0, 100);
		assert_ok(hb_admin_sizes(client, T, add_size, sums));
	}
	assert_true(sums[0] >= 1);
	assert_true(count_rows(&spec) >= 1000);
	assert_ok(hb_admin_truncate(client, T, true));
	assert_int_equal(count_rows(&spec), 0);
	n = 0;
	assert_ok(hb_table_regions(client, T, true, count_region, &n));
	assert_int_equal(n, 2);
	assert_ok(hb_admin_truncate(client, T, false));
	n = 0;
	assert_ok(hb_table_regions(client, T, true, count_region, &n));
	assert_int_equal(n, 1);
	assert_ok(hb_admin_drop(client, T));
	assert_status(hb_admin_drop(client, T), HB_NOTABLE);
}

static void
interrupt(void **state)
{
	hb_scan_spec spec = {.read = {.table = "hbt_nothing2"}};
	hb_table t = {.name = "hbt_nothing2", .families = NULL};
	hb_family f = {.name = "f"};
	int64_t begun;

	(void) state;
	t.families = &f;
	t.n_families = 1;
	begun = host_now(NULL);
	the_host.interrupt_us = begun + 30000;
	assert_status(hb_admin_create(client, &t, NULL, 0), HB_INTERRUPTED);
	assert_true(host_now(NULL) - begun < 200000);
	the_host.interrupt_us = 0;
	/* it goes on in the cluster */
	for (int i = 0; i < 100 && hb_admin_drop(client, t.name) != HB_OK; i++)
		host_wait(&the_host, NULL, 0, 100);
	(void) spec;
}

static int
setup(void **state)
{
	return live_setup(state) == 0 && hb_filters_new(client, &filters) == HB_OK ? 0 : -1;
}

static int
teardown(void **state)
{
	hb_filters_free(filters);
	return live_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(increments_and_appends),
		cmocka_unit_test(repeated),
		cmocka_unit_test(checks),
		cmocka_unit_test(check_with_list),
		cmocka_unit_test(filter_rows),
		cmocka_unit_test(filter_cells),
		cmocka_unit_test(tables),
		cmocka_unit_test(behind_the_back),
		cmocka_unit_test(splits_and_sizes),
		cmocka_unit_test(interrupt),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
