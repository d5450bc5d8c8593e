/*
 * scan_test.c - properties that metamorphic_test does not check: how much a
 * scan reads, how long its bytes stay valid, wide rows, long columns,
 * parking, interruption.
 */
#include "test/host/cache_probe.h"
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/shared/cache.h"
#include "engine/batch/batch.h"
#include "engine/scan/scan_state.h"

static wide_family_id fam[2];
static wide_table_id table;

static void
begin(store *s, int versions, int bloom)
{
	wide_family_options opt;

	store_init(s);
	s->config.memtable_size = 8 << 20;
	s->config.cache_size = 8 << 20;
	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	opt.versions = versions;
	opt.bloom = (uint8_t) bloom;
	opt.block_size = 1024;
	opt.compression = WIDE_COMPRESS_NONE;
	store_table(s, &opt, 2, &table, fam);
}

static wide_range
point(const char *row)
{
	/* a string's terminator is the zero byte that ends the range */
	return (wide_range) {text(row), bytes(row, strlen(row) + 1)};
}

static wide_scan *
open_scan(store *s, wide_snapshot **snap, const wide_scan_family *f, int n,
		  const wide_range *ranges, int nranges, uint32_t row_cells)
{
	wide_scan_spec spec = {.families = f,
						   .nfamilies = n,
						   .ranges = ranges,
						   .nranges = nranges,
						   .row_cells = row_cells};
	wide_scan *scan;

	assert_ok(snapshot_take(s->db, NULL, NULL, snap));
	assert_ok(wide_scan_open(s->db, *snap, &spec, &scan));
	return scan;
}

/* Writes n rows of one cell in each generation, and each generation to a separate file. */
static void
fill(store *s, int n, int generations)
{
	for (int g = 0; g < generations; g++)
	{
		wide_batch *b;

		assert_ok(wide_batch_new(s->db, &b));
		for (int i = g; i < n; i += generations)
		{
			char row[32], value[64];

			snprintf(row, sizeof row, "row%05d", i);
			snprintf(value, sizeof value, "value %d", i);
			assert_ok(wide_batch_put(b, fam[0], text(row), text("q"), 100 * (g + 1), 0, 0,
									 text(value)));
		}
		assert_ok(store_commit(s, b, NULL));
		assert_ok(wide_flush(s->db));
	}
}

static void
test_gets_skip_files(void **state)
{
	(void) state;
	for (int bloom = 0; bloom < 3; bloom++)
	{
		store s;
		wide_bytes q = text("q");
		wide_scan_family f = {.id = fam[0], .want = WIDE_WANT_COLUMNS, .quals = &q, .nquals = 1};
		wide_snapshot *snap;
		wide_scan *scan;
		wide_scan_stats stats;
		wide_stats all;
		wide_row row;
		char key[32] = "row00000";
		wide_range r = point(key);

		begin(&s, 1, bloom);
		f.id = fam[0];
		fill(&s, 900, 3);
		scan = open_scan(&s, &snap, &f, 1, &r, 1, 0);
		for (int i = 0; i < 900; i++)
		{
			snprintf(key, sizeof key, "row%05d", i);
			r = point(key);
			assert_ok(wide_scan_restart(scan, &r, 1, 0));
			assert_ok(wide_scan_next(scan, &row));
			assert_int_equal(row.ncells, 1);
			assert_int_equal(row.key.len, 8);
			assert_int_equal(atoi((const char *) row.cells[0].value.data + 6), i);
			assert_int_equal(wide_scan_next(scan, &row), WIDE_END);
		}
		wide_scan_statistics(scan, &stats);
		assert_int_equal(stats.rows_returned, 900);
		/* two of three files lack the row; their bounds alone do not show it */
		if (bloom == WIDE_BLOOM_NONE)
			assert_int_equal(stats.files_skipped_bloom, 0);
		else
			assert_true(stats.files_skipped_bloom > 1700);
		assert_true(stats.blocks_read + stats.blocks_cached <=
					(bloom == WIDE_BLOOM_NONE ? 2800 : 1000));
		wide_statistics(s.db, &all);
		assert_true(all.gets >= 900);
		wide_scan_close(scan);
		wide_snapshot_release(snap);
		wide_statistics(s.db, &all);
		assert_int_equal(all.rows_read, 900);
		store_drop(&s);
	}
}

/* Checks the newest versions of r:q, as text, and the number of files read. */
static void
expect_get(store *s, int versions, const char *want, uint64_t files)
{
	wide_bytes q = text("q");
	wide_scan_family f = {.id = fam[0],
						  .want = WIDE_WANT_COLUMNS,
						  .quals = &q,
						  .nquals = 1,
						  .max_versions = versions};
	wide_range r = point("r");
	wide_snapshot *snap;
	wide_scan *scan = open_scan(s, &snap, &f, 1, &r, 1, 0);
	wide_scan_stats stats;
	wide_row row;
	char got[100] = "";

	while (wide_scan_next(scan, &row) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++)
			snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s ",
					 (int) row.cells[i].value.len, row.cells[i].value.data);
	wide_scan_statistics(scan, &stats);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	assert_string_equal(got, want);
	assert_int_equal(stats.files_read, files);
}

/* One column of a row: files are skipped if memory has newer versions than all in them. */
static void
test_gets_leave_files(void **state)
{
	store s;
	wide_batch *b;

	(void) state;
	begin(&s, 3, WIDE_BLOOM_ROW);
	store_put(&s, fam[0], "r", "a", 100, "other");
	store_put(&s, fam[0], "r", "q", 100, "old");
	assert_ok(wide_flush(s.db));
	expect_get(&s, 1, "old ", 1);
	store_put(&s, fam[0], "r", "q", 50, "older");
	expect_get(&s, 1, "old ", 1);
	store_put(&s, fam[0], "r", "q", 100, "same");
	expect_get(&s, 1, "same ", 1);
	store_put(&s, fam[0], "r", "q", 200, "new");
	expect_get(&s, 1, "new ", 0);
	expect_get(&s, 3, "new same older ", 1);
	expect_get(&s, 2, "new same ", 1);
	/* a tombstone over the newest version makes the file necessary again */
	store_delete(&s, WIDE_DELETE_VERSION, fam[0], "r", "q", 200);
	expect_get(&s, 1, "same ", 1);
	store_put(&s, fam[0], "r", "q", 300, "again");
	expect_get(&s, 1, "again ", 0);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, fam[0], text("r"), text("q"), 400, INT64_MIN, 1, text("expired")));
	assert_ok(store_commit(&s, b, NULL));
	s.now += 1000000;
	expect_get(&s, 1, "again ", 1);
	store_drop(&s);

	/* a delete in the file hides versions after the newest one */
	begin(&s, 3, WIDE_BLOOM_ROW);
	store_put(&s, fam[0], "r", "q", 100, "old");
	assert_ok(wide_flush(s.db));
	store_delete(&s, WIDE_DELETE_FAMILY, fam[0], "r", "", 150);
	store_put(&s, fam[0], "r", "q", 120, "kept");
	assert_ok(wide_flush(s.db));
	store_put(&s, fam[0], "r", "q", 200, "new");
	expect_get(&s, 3, "new kept ", 2);
	store_drop(&s);

	/* a cell of another column comes first; deletes in the file */
	begin(&s, 1, WIDE_BLOOM_ROW);
	store_put(&s, fam[0], "r", "q", 100, "old");
	assert_ok(wide_flush(s.db));
	store_put(&s, fam[0], "r", "a", 200, "other");
	expect_get(&s, 1, "old ", 1);
	store_put(&s, fam[0], "r", "q", 90, "older");
	store_delete(&s, WIDE_DELETE_FAMILY, fam[0], "r", "", 95);
	assert_ok(wide_flush(s.db));
	store_put(&s, fam[0], "r", "q", 94, "late");
	expect_get(&s, 1, "old ", 2);
	store_put(&s, fam[0], "r", "q", 110, "new");
	expect_get(&s, 1, "new ", 2);
	store_drop(&s);
}

static void
test_time_and_key_skip_files(void **state)
{
	store s;
	wide_range r = {text("row00800"), {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL};
	wide_scan_spec spec = {.families = &f, .nfamilies = 1, .ranges = &r, .nranges = 1};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_scan_stats stats;
	wide_row row;

	(void) state;
	begin(&s, 1, WIDE_BLOOM_ROW);
	f.id = fam[0];
	fill(&s, 900, 3);
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	/* as a time range, as a filter, and as both: the narrower one counts */
	for (int how = 0; how < 3; how++)
	{
		int n = 0;

		spec.ts_min = how == 0 ? 250 : how == 1 ? 0 : 50;
		spec.ts_max = how == 1 ? 0 : INT64_MAX;
		spec.show_min = how == 0 ? 0 : 250;
		spec.show_max = how == 0 ? 0 : INT64_MAX;
		r = (wide_range) {text("row00800"), {NULL, 0}};
		assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
		while (wide_scan_next(scan, &row) == WIDE_OK)
			n++;
		assert_int_equal(n, 34);
		wide_scan_statistics(scan, &stats);
		assert_int_equal(stats.files_skipped_time, 2);
		assert_int_equal(stats.files_read, 1);
		/* the last tenth of one file */
		assert_true(stats.blocks_read + stats.blocks_cached < 5);
		r = (wide_range) {text("zzz"), {NULL, 0}};
		assert_ok(wide_scan_restart(scan, &r, 1, 0));
		assert_int_equal(wide_scan_next(scan, &row), WIDE_END);
		wide_scan_close(scan);
	}
	wide_snapshot_release(snap);
	store_drop(&s);
}

/*
 * A time filter: versions still count and deletes still mask, also in files
 * and memtables that the filter could skip.
 */
static void
test_time_filter(void **state)
{
	static const struct
	{
		int64_t min, max;
		const char *want; /* version number, timestamp */
	} ask[] = {{0, 0, "0@40 1@30 0@5"},		{30, INT64_MAX, "0@40 1@30"},
			   {INT64_MIN, 40, "1@30 0@5"}, {30, 31, "1@30"},
			   {INT64_MIN, 30, "0@5"},		{10, 21, ""},
			   {41, INT64_MAX, ""},			{40, 30, ""}};

	store s;
	wide_batch *b;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL, .max_versions = 9};
	wide_scan_spec spec = {.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_scan_stats stats;
	wide_row row;

	(void) state;
	begin(&s, 2, WIDE_BLOOM_ROW);
	f.id = fam[0];
	/*
	 * two versions are kept: 30 and 40 displace 10 and 20; of column c the
	 * delete leaves what is written later
	 */
	for (int i = 1; i <= 4; i++)
	{
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_put(b, fam[0], text("r"), text("a"), 10 * i, 0, 0, text("v")));
		if (i == 1)
			assert_ok(wide_batch_put(b, fam[0], text("r"), text("c"), 12, 0, 0, text("v")));
		if (i == 3)
			assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam[0], text("r"), text("c"), 35));
		if (i == 4)
			assert_ok(wide_batch_put(b, fam[0], text("r"), text("c"), 5, 0, 0, text("v")));
		assert_ok(store_commit(&s, b, NULL));
		if (i < 4)
			assert_ok(wide_flush(s.db));
	}
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	for (size_t i = 0; i < sizeof ask / sizeof *ask; i++)
	{
		char got[100] = "";

		spec.show_min = ask[i].min;
		spec.show_max = ask[i].max;
		assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
		while (wide_scan_next(scan, &row) == WIDE_OK)
			for (int k = 0; k < row.ncells; k++)
				snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d@%d", *got ? " " : "",
						 row.cells[k].version, (int) row.cells[k].ts);
		assert_string_equal(got, ask[i].want);
		wide_scan_statistics(scan, &stats);
		/* three files up to 12, 20 and 35 (a delete); the rest is in memory, up to 40 */
		assert_int_equal(stats.files_skipped_time, ask[i].min > 35 ? 3 : ask[i].min > 20 ? 2 : 0);
		if (ask[i].min > 40)
			assert_int_equal(stats.cells_scanned, 0);
		wide_scan_close(scan);
	}
	wide_snapshot_release(snap);
	store_drop(&s);
}

#define OLD_VERSIONS 3000 /* room for what a question returns */

typedef struct old_version
{
	int column, version;
	int64_t ts;
	uint64_t seq;
} old_version;

/* Reads all versions of row "r"; returns their number. */
static int
read_versions(store *s, const wide_snapshot *snap, const wide_scan_spec *spec, old_version *out,
			  uint64_t *scanned)
{
	wide_scan *scan;
	wide_scan_stats stats;
	wide_row row;
	int n = 0;

	assert_ok(wide_scan_open(s->db, snap, spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];

			assert_true(n < OLD_VERSIONS);
			out[n++] = (old_version) {c->qualifier.data[0], c->version, c->ts, c->seq};
		}
	wide_scan_statistics(scan, &stats);
	*scanned = stats.cells_scanned;
	wide_scan_close(scan);
	return n;
}

/* Of all versions, those that the question is for. */
static int
choose_versions(const wide_scan_spec *spec, const old_version *all, int n, old_version *out)
{
	int found = 0, number = 0;

	for (int i = 0; i < n; i++)
	{
		int64_t ts = all[i].ts;

		if (i == 0 || all[i].column != all[i - 1].column)
			number = 0;
		if (spec->ts_max != 0 && (ts < spec->ts_min || ts >= spec->ts_max))
			continue;
		if (number >= spec->families->max_versions)
			continue;
		if (spec->show_max == 0 || (ts >= spec->show_min && ts < spec->show_max))
		{
			out[found] = all[i];
			out[found++].version = number;
		}
		number++;
	}
	return found;
}

/* Some hundred versions of two columns, in files and in memory. */
static void
write_versions(store *s, uint64_t *r, int batches, int rough)
{
	for (int i = 0; i < batches; i++)
	{
		wide_batch *b;
		int64_t from = rnd(r) % 3 == 0 ? (int64_t) (rnd(r) % 500) : 0;

		assert_ok(wide_batch_new(s->db, &b));
		for (int k = 0; k < 60; k++)
		{
			uint64_t x = rnd(r);
			int64_t ts = 1 + from + (int64_t) (x % 300);
			wide_bytes q = text((x >> 20 & 7) == 0 ? "0" : x >> 20 & 1 ? "a" : "b");

			/* all of the first column is newer than the other ones */
			ts += q.data[0] == '0' ? 1000 : 0;
			if ((int) (x >> 32 & 1023) < rough)
				assert_ok(wide_batch_delete(b,
											x >> 50 & 3 ? WIDE_DELETE_VERSION : WIDE_DELETE_COLUMN,
											fam[0], text("r"), q, x >> 54 & 1 ? ts : ts / 2 + 1));
			else
				assert_ok(wide_batch_put(b, fam[0], text("r"), q, ts, 0,
										 rough == 10 && (x >> 42 & 255) < 3 ? 1 : 0, text("v")));
		}
		assert_ok(store_commit(s, b, NULL));
		if (rnd(r) % 2 == 0)
			assert_ok(wide_flush(s->db));
	}
}

/* Old versions, behind many newer ones that are passed over together: what a read of all versions
 * has of them. */
static void
test_old_versions(void **state)
{
	static const int rough[] = {0, 10, 100, 400};
	static old_version all[OLD_VERSIONS], want[OLD_VERSIONS], got[OLD_VERSIONS];
	wide_range any = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL};
	wide_scan_spec spec = {.families = &f, .nfamilies = 1, .ranges = &any, .nranges = 1};

	(void) state;
	for (uint64_t seed = 1; seed <= 150; seed++)
	{
		uint64_t r = seed * 7919, scanned, entries;
		wide_snapshot *snap[2];
		store s;
		int n;

		begin(&s, seed % 3 == 0 ? 40 : seed % 3 == 1 ? 150 : 100000, WIDE_BLOOM_ROW);
		f.id = fam[0];
		write_versions(&s, &r, 4 + (int) (seed % 5), seed % 2 == 0 ? 0 : (int) (rnd(&r) % 200));
		assert_ok(snapshot_take(s.db, NULL, NULL, &snap[0]));
		if (seed % 3 == 0)
			assert_ok(wide_compact(s.db, fam[0]));
		write_versions(&s, &r, 3, rough[seed % 4]);
		if (seed % 7 == 0)
			assert_ok(wide_compact(s.db, fam[0]));
		assert_ok(snapshot_take(s.db, NULL, NULL, &snap[1]));
		for (int i = 0; i < 40; i++)
		{
			uint64_t x = rnd(&r);
			int m;

			f.max_versions = OLD_VERSIONS;
			spec.ts_min = spec.ts_max = spec.show_min = spec.show_max = 0;
			n = read_versions(&s, snap[i % 2], &spec, all, &entries);
			if (x % 4 < 3)
			{
				spec.ts_min = x % 4 == 0 ? INT64_MIN : (int64_t) (x >> 8 & 127);
				spec.ts_max = 1 + (int64_t) (x >> 16 & (x >> 48 & 1 ? 511 : 63));
			}
			if (x % 4 > 1)
			{
				spec.show_min = x % 16 < 8 ? INT64_MIN : (int64_t) (x >> 26 & 255);
				spec.show_max = 1 + (int64_t) (x >> 36 & (x >> 49 & 1 ? 511 : 63));
			}
			f.max_versions = x >> 46 & 1 ? OLD_VERSIONS : 1 + (int) (x >> 47 & 127);
			n = choose_versions(&spec, all, n, want);
			m = read_versions(&s, snap[i % 2], &spec, got, &scanned);
			assert_int_equal(m, n);
			assert_memory_equal(got, want, (size_t) n * sizeof *got);
			assert_true(scanned <= entries);
		}
		wide_snapshot_release(snap[0]);
		wide_snapshot_release(snap[1]);
		store_drop(&s);
	}
}

/* The newer versions of a column are passed over together, and the snapshot has none of them before
 * that: the next column begins anew. */
static void
test_unseen_versions(void **state)
{
	wide_scan_family f = {.want = WIDE_WANT_ALL, .max_versions = 10};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {.families = &f,
						   .nfamilies = 1,
						   .ranges = &all,
						   .nranges = 1,
						   .ts_min = INT64_MIN,
						   .ts_max = 1500};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	store s;

	(void) state;
	begin(&s, 10, WIDE_BLOOM_ROW);
	f.id = fam[0];
	for (int i = 0; i < 6; i++)
		store_put(&s, fam[0], "r", "a", 2000 + i, "x");
	for (int i = 0; i < 9; i++)
		store_put(&s, fam[0], "r", "b", 1000 + i, "y");
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	for (int i = 0; i < 3; i++)
		store_put(&s, fam[0], "r", "a", 3000 + i, "z");
	assert_ok(wide_flush(s.db));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	assert_ok(wide_scan_next(scan, &row));
	assert_int_equal(row.ncells, 9);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* A row of many blocks: all its bytes stay valid until the next call, in one piece or in parts. */
static void
test_wide_row(void **state)
{
	store s;
	wide_batch *b;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	uint32_t parts[] = {0, 7, 1000, 4096};

	(void) state;
	begin(&s, 1, WIDE_BLOOM_ROW);
	f.id = fam[0];
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 3000; i++)
	{
		char q[16], value[200];

		snprintf(q, sizeof q, "q%05d", i);
		memset(value, 'a' + i % 26, sizeof value);
		memcpy(value, q, 6);
		assert_ok(wide_batch_put(b, fam[0], text("wide"), text(q), 1, 0, 0,
								 bytes(value, sizeof value)));
	}
	assert_ok(wide_batch_put(b, fam[0], text("zzz"), text("last"), 1, 0, 0, text("z")));
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_flush(s.db));
	for (int k = 0; k < 4; k++)
	{
		int n = 0;

		scan = open_scan(&s, &snap, &f, 1, &all, 1, parts[k]);
		do
		{
			assert_ok(wide_scan_next(scan, &row));
			assert_true(row.ncells > 0);
			assert_int_equal(row.key.len, 4);
			if (parts[k] == 0)
				assert_int_equal(row.ncells, 3000);
			else
				assert_true((uint32_t) row.ncells <= parts[k]);
			for (int i = 0; i < row.ncells; i++, n++)
			{
				const wide_cell *c = &row.cells[i];
				char q[16];

				snprintf(q, sizeof q, "q%05d", n);
				assert_int_equal(c->qualifier.len, 6);
				assert_memory_equal(c->qualifier.data, q, 6);
				assert_int_equal(c->value.len, 200);
				assert_memory_equal(c->value.data, q, 6);
				for (int x = 6; x < 200; x++)
					assert_int_equal(c->value.data[x], 'a' + n % 26);
			}
		} while (row.more);
		assert_int_equal(n, 3000);
		/* a bounded number of pins */
		assert_true(cache_probe_pinned(s.db) < 40);
		assert_ok(wide_scan_next(scan, &row));
		assert_memory_equal(row.cells[0].qualifier.data, "last", 4);
		assert_int_equal(wide_scan_next(scan, &row), WIDE_END);
		wide_scan_close(scan);
		wide_snapshot_release(snap);
		assert_int_equal(cache_probe_pinned(s.db), 0);
	}
	store_drop(&s);
}

/*
 * One version of a column with very many, one column of a row with very many:
 * a few steps and a seek.
 */
static void
test_seeks(void **state)
{
	store s;
	wide_batch *b;
	wide_bytes quals[2] = {text("q01000"), text("q04000")};
	wide_scan_family f[2] = {{.want = WIDE_WANT_COLUMNS, .quals = quals, .nquals = 2},
							 {.want = WIDE_WANT_EXISTS}};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_scan_stats stats;
	wide_row row;
	int rows = 0;

	(void) state;
	begin(&s, 1000, WIDE_BLOOM_ROW);
	f[0].id = fam[0];
	f[1].id = fam[1];
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 5000; i++)
	{
		char q[16];

		snprintf(q, sizeof q, "q%05d", i);
		assert_ok(wide_batch_put(b, fam[0], text("a"), text(q), 1, 0, 0, text("v")));
		assert_ok(wide_batch_put(b, fam[1], text("a"), text(q), 1, 0, 0, text("v")));
	}
	for (int i = 0; i < 900; i++)
		assert_ok(wide_batch_put(b, fam[0], text("b"), text("q01000"), i, 0, 0, text("v")));
	assert_ok(wide_batch_put(b, fam[1], text("c"), text("x"), 1, 0, 0, text("v")));
	assert_ok(store_commit(&s, b, NULL));
	for (int round = 0; round < 2; round++)
	{
		scan = open_scan(&s, &snap, f, 2, &all, 1, 0);
		for (rows = 0; wide_scan_next(scan, &row) == WIDE_OK; rows++)
			assert_int_equal(row.ncells, rows == 0 ? 2 : rows == 1 ? 1 : 0);
		assert_int_equal(rows, 3);
		wide_scan_statistics(scan, &stats);
		assert_true(stats.cells_scanned < 200);
		wide_scan_close(scan);
		wide_snapshot_release(snap);
		assert_ok(wide_flush(s.db));
	}
	store_drop(&s);
}

/* While a scan is parked, or between two calls, memtables are flushed and reused. */
static void
test_moves_on(void **state)
{
	(void) state;
	for (int park = 0; park < 2; park++)
		for (int reverse = 0; reverse < 2; reverse++)
		{
			store s;
			wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
			wide_scan_family f = {.want = WIDE_WANT_ALL};
			wide_scan_spec spec = {
				.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1, .reverse = reverse};
			wide_snapshot *snap;
			wide_scan *scan;
			wide_row row;
			wide_family_options opt;
			char big[3000];

			memset(big, 'x', sizeof big);
			store_init(&s);
			assert_ok(store_open(&s));
			wide_family_defaults(&opt);
			store_table(&s, &opt, 2, &table, fam);
			f.id = fam[0];
			for (int i = 0; i < 100; i++)
			{
				char key[16];

				snprintf(key, sizeof key, "row%03d", i);
				store_put(&s, fam[0], key, "q", 1, "v");
			}
			assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
			assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
			for (int i = 0; i < 100; i++)
			{
				wide_batch *b;
				char key[16];

				assert_ok(wide_scan_next(scan, &row));
				snprintf(key, sizeof key, "row%03d", reverse ? 99 - i : i);
				assert_int_equal(row.key.len, 6);
				assert_memory_equal(row.key.data, key, 6);
				assert_int_equal(row.ncells, 1);
				assert_int_equal(row.cells[0].ts, 1);
				if (park)
					wide_scan_park(scan);
				/* newer versions of all rows, enough to fill memtables several times */
				assert_ok(wide_batch_new(s.db, &b));
				for (int k = 0; k < 30; k++)
				{
					snprintf(key, sizeof key, "row%03d", (i * 30 + k) % 100);
					assert_ok(wide_batch_put(b, fam[0], text(key), text("q"), 2 + i, 0, 0,
											 bytes(big, sizeof big)));
				}
				assert_ok(store_commit(&s, b, NULL));
				/*
				 * an unparked scan releases memtables when it continues, so
				 * they must be flushed by then
				 */
				if (!park)
					store_work(&s);
			}
			assert_int_equal(wide_scan_next(scan, &row), WIDE_END);
			wide_scan_close(scan);
			wide_snapshot_release(snap);
			store_drop(&s);
		}
}

static void
test_interrupt(void **state)
{
	store s;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	wide_status st;
	int n = 0;

	(void) state;
	begin(&s, 1, WIDE_BLOOM_ROW);
	f.id = fam[0];
	fill(&s, 2000, 1);
	scan = open_scan(&s, &snap, &f, 1, &all, 1, 0);
	s.interrupt_after = 2;
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
		n++;
	assert_int_equal(st, WIDE_INTERRUPTED);
	assert_true(n < 2000);
	/* an interrupted scan does not report its end, and continues where it stopped */
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK || st == WIDE_INTERRUPTED)
		n += st == WIDE_OK;
	assert_int_equal(st, WIDE_END);
	assert_int_equal(n, 2000);
	assert_ok(wide_scan_restart(scan, &all, 1, 0));
	assert_ok(wide_scan_next(scan, &row));
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	store_drop(&s);
}

static wide_status
count_raw(void *arg, const wide_raw_cell *c)
{
	char *out = arg;

	snprintf(out + strlen(out), 200 - strlen(out), "%.*s:%d@%lld ", (int) c->qualifier.len,
			 c->qualifier.data, c->type, c->ts == WIDE_TS_MAX ? -1LL : (long long) c->ts);
	return WIDE_OK;
}

static void
test_tombstones_and_raw(void **state)
{
	store s;
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_scan_stats stats;
	wide_row row;
	char raw[200];

	(void) state;
	begin(&s, 3, WIDE_BLOOM_ROW);
	f.id = fam[0];
	store_put(&s, fam[0], "r", "q", 10, "a");
	store_put(&s, fam[0], "r", "q", 20, "b");
	store_put(&s, fam[0], "r", "q", 30, "c");
	store_delete(&s, WIDE_DELETE_COLUMN, fam[0], "r", "q", 20);
	for (int i = 0; i < 50; i++)
	{
		char key[16];

		snprintf(key, sizeof key, "s%d", i);
		store_delete(&s, WIDE_DELETE_FAMILY, fam[0], key, "", WIDE_TS_MAX);
	}
	raw[0] = '\0';
	assert_ok(wide_raw_row(s.db, fam[0], text("r"), count_raw, raw));
	assert_string_equal(raw, "q:0@30 q:2@20 q:0@20 q:0@10 ");
	scan = open_scan(&s, &snap, &f, 1, &all, 1, 0);
	assert_ok(wide_scan_next(scan, &row));
	assert_int_equal(row.ncells, 1);
	assert_int_equal(wide_scan_next(scan, &row), WIDE_END);
	wide_scan_statistics(scan, &stats);
	assert_int_equal(stats.tombstones, 50); /* not the one of the row: one version was wanted */
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	assert_ok(wide_compact(s.db, fam[0]));
	raw[0] = '\0';
	assert_ok(wide_raw_row(s.db, fam[0], text("r"), count_raw, raw));
	assert_string_equal(raw, "q:0@30 ");
	raw[0] = '\0';
	assert_ok(wide_raw_row(s.db, fam[0], text("s7"), count_raw, raw));
	assert_string_equal(raw, "");
	store_drop(&s);
}

static bool
untouched(store *s, int nfamilies, const char *key)
{
	bool is;

	assert_ok(wide_row_untouched(s->db, fam, nfamilies, text(key), &is));
	return is;
}

/* A row is touched by values, deleted or not, and by deletes, in memtables and files; not by those
 * of other rows, nor by a batch that is not committed. */
static void
test_untouched(void **state)
{
	store s;
	wide_batch *b;

	(void) state;
	begin(&s, 3, WIDE_BLOOM_ROW);
	store_put(&s, fam[0], "a", "q", 10, "v");
	store_put(&s, fam[1], "b", "q", 10, "v");
	store_delete(&s, WIDE_DELETE_FAMILY, fam[0], "c", "", WIDE_TS_MAX);
	store_put(&s, fam[0], "d", "q", 10, "v");
	store_delete(&s, WIDE_DELETE_COLUMN, fam[0], "d", "q", 20);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, fam[0], text("bb"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
							 text("v")));
	for (int files = 0; files < 2; files++)
	{
		assert_false(untouched(&s, 2, "a"));
		assert_false(untouched(&s, 2, "b"));
		assert_true(untouched(&s, 1, "b")); /* it has something in the other family only */
		assert_false(untouched(&s, 2, "c"));
		assert_false(untouched(&s, 2, "d"));
		assert_true(untouched(&s, 2, "0"));
		assert_true(untouched(&s, 2, "bb"));
		assert_true(untouched(&s, 2, "e"));
		assert_ok(wide_flush(s.db));
	}
	wide_batch_free(b);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gets_skip_files),
		cmocka_unit_test(test_gets_leave_files),
		cmocka_unit_test(test_time_and_key_skip_files),
		cmocka_unit_test(test_time_filter),
		cmocka_unit_test(test_old_versions),
		cmocka_unit_test(test_unseen_versions),
		cmocka_unit_test(test_wide_row),
		cmocka_unit_test(test_seeks),
		cmocka_unit_test(test_moves_on),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_tombstones_and_raw),
		cmocka_unit_test(test_untouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
