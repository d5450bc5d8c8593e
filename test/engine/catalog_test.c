/*
 * catalog_test.c - tables and families: lookups through a batch, rewinding,
 * names, limits, dump and restore, replay of records already applied.
 */
#include <sys/mman.h>
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/edit.h"
#include "engine/batch/batch.h"
#include "engine/scan/scan_state.h"

static void
test_batch_sees_its_own(void **state)
{
	store s;
	wide_batch *b;
	wide_table_id t, u;
	wide_family_id f, g;
	wide_table out;
	wide_family fams[4];
	uint32_t objects[4];
	wide_family_options opt;
	uint64_t mark, generation;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	generation = wide_catalog_generation(s.db);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "users", &t));
	assert_int_equal(wide_batch_create_table(b, 1, "users", &u), WIDE_EXISTS);
	assert_ok(wide_batch_create_table(b, 2, "users", &u));
	assert_ok(wide_batch_create_family(b, t, "a", &opt, &f));
	assert_int_equal(wide_batch_create_family(b, t, "a", &opt, &g), WIDE_EXISTS);
	assert_ok(wide_batch_bind(b, t, 100));
	mark = wide_batch_mark(b);
	assert_ok(wide_batch_rename_table(b, t, "people"));
	assert_ok(wide_batch_create_family(b, t, "b", &opt, &g));
	assert_ok(wide_table_by_name(s.db, b, 1, "people", &out));
	assert_int_equal(out.id, t);
	assert_int_equal(out.nfamilies, 2);
	assert_int_equal(wide_table_by_name(s.db, b, 1, "users", &out), WIDE_NOTFOUND);
	assert_int_equal(wide_table_by_name(s.db, NULL, 1, "people", &out), WIDE_NOTFOUND);
	wide_batch_rewind(b, mark);
	assert_ok(wide_table_by_name(s.db, b, 1, "users", &out));
	assert_int_equal(out.nfamilies, 1);
	assert_int_equal(wide_table_families(s.db, b, t, fams, 4), 1);
	assert_string_equal(fams[0].name, "a");
	assert_ok(wide_table_by_binding(s.db, b, 1, 100, &out));
	assert_int_equal(out.id, t);
	assert_int_equal(wide_table_by_binding(s.db, NULL, 1, 100, &out), WIDE_NOTFOUND);
	assert_int_equal(wide_catalog_generation(s.db), generation);
	assert_ok(store_commit(&s, b, NULL));
	assert_true(wide_catalog_generation(s.db) > generation);
	assert_ok(wide_table_by_binding(s.db, NULL, 1, 100, &out));
	assert_int_equal(out.nbindings, 1);
	assert_int_equal(wide_table_bindings(s.db, NULL, t, objects, 4), 1);
	assert_int_equal(objects[0], 100);
	/* the last unbind drops the table */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_bind(b, t, 101));
	assert_ok(wide_batch_unbind(b, t, 100));
	assert_ok(wide_table_by_id(s.db, b, t, &out));
	assert_ok(wide_batch_unbind(b, t, 101));
	assert_int_equal(wide_table_by_id(s.db, b, t, &out), WIDE_NOTFOUND);
	assert_int_equal(wide_table_families(s.db, b, t, fams, 4), 0);
	assert_ok(wide_table_by_id(s.db, NULL, t, &out));
	assert_ok(store_commit(&s, b, NULL));
	assert_int_equal(wide_table_by_id(s.db, NULL, t, &out), WIDE_NOTFOUND);
	assert_int_equal(wide_table_bindings(s.db, NULL, t, objects, 4), 0);
	store_drop(&s);
}

static void
test_truncate(void **state)
{
	store s;
	wide_batch *b;
	wide_table_id t;
	wide_family_id f[2];
	wide_family fams[4];
	wide_family_options opt;
	char *got;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.versions = 3;
	store_table(&s, &opt, 2, &t, f);
	store_put(&s, f[0], "r", "q", 5, "old");
	assert_ok(wide_flush(s.db));
	store_put(&s, f[1], "r", "q", 5, "old");
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_truncate_table(b, t));
	assert_int_equal(wide_table_families(s.db, b, t, fams, 4), 2);
	assert_true(fams[0].id > f[1] && fams[1].id > fams[0].id);
	assert_string_equal(fams[0].name, "f0");
	assert_int_equal(fams[1].opt.versions, 3);
	assert_ok(wide_batch_put(b, fams[0].id, text("r"), text("q"), 6, INT64_MIN, 0, text("new")));
	/* twice in one transaction */
	assert_ok(wide_batch_truncate_table(b, t));
	assert_int_equal(wide_table_families(s.db, b, t, fams, 4), 2);
	assert_string_equal(fams[1].name, "f1");
	assert_ok(wide_batch_put(b, fams[1].id, text("r"), text("q"), 6, INT64_MIN, 0, text("newer")));
	assert_ok(store_commit(&s, b, NULL));
	f[0] = fams[0].id;
	f[1] = fams[1].id;
	for (int again = 0; again < 3; again++)
	{
		assert_int_equal(wide_table_families(s.db, NULL, t, fams, 4), 2);
		assert_int_equal(fams[0].id, f[0]);
		got = store_text(&s, NULL, f, 2);
		assert_string_equal(got, "1/r/q@6=newer;");
		free(got);
		if (again == 1)
			assert_ok(wide_flush(s.db));
		store_close(&s);
		assert_ok(store_open(&s));
	}
	store_work(&s);
	assert_int_equal(store_verify(&s), 0);
	store_drop(&s);
}

static void
test_limits_and_promises(void **state)
{
	store s;
	wide_batch *b, *c;
	wide_table_id t;
	wide_table out;
	wide_family_id f;
	wide_family_options opt;
	uint32_t cursor = 0, object;
	char name[20];
	int n = 0;

	wide_family_defaults(&opt);
	store_init(&s);
	assert_ok(store_open(&s));
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 16; i++)
	{
		snprintf(name, sizeof name, "t%d", i);
		assert_ok(wide_batch_create_table(b, 1, name, &t));
	}
	assert_ok(wide_batch_prepare(b, 0));
	/* another transaction finds no room and no free names: they are promised */
	assert_ok(wide_batch_new(s.db, &c));
	assert_ok(wide_batch_create_table(c, 1, "other", &t));
	assert_int_equal(wide_batch_prepare(c, 0), WIDE_FULL);
	wide_batch_free(c);
	wide_batch_free(b); /* rolled back: the promises are released */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "t3", &t));
	assert_ok(wide_batch_prepare(b, 0));
	assert_ok(wide_batch_new(s.db, &c));
	assert_ok(wide_batch_create_table(c, 1, "t3", &t));
	assert_int_equal(wide_batch_prepare(c, 0), WIDE_EXISTS);
	wide_batch_free(c);
	wide_batch_free(b);
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 16; i++)
	{
		snprintf(name, sizeof name, "t%d", i);
		assert_ok(wide_batch_create_table(b, 1, name, &t));
	}
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "more", &t));
	assert_int_equal(store_commit(&s, b, NULL), WIDE_FULL);
	assert_ok(segment_check(s.db));
	/* the same at once, and with room to leave */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_leave_room(b, 0));
	assert_ok(wide_batch_leave_room(b, 50));
	assert_ok(wide_table_by_name(s.db, b, 1, "t0", &out));
	assert_ok(wide_batch_create_family(b, out.id, "f", &opt, &f));
	assert_ok(wide_batch_leave_room(b, 50)); /* there are tables enough, but no more of them */
	assert_ok(wide_batch_create_table(b, 1, "more", &t));
	assert_int_equal(wide_batch_leave_room(b, 0), WIDE_FULL);
	wide_batch_free(b);
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 4; i++)
	{
		snprintf(name, sizeof name, "t%d", i);
		assert_ok(wide_table_by_name(s.db, b, 1, name, &out));
		assert_ok(wide_batch_drop_table(b, out.id));
	}
	assert_ok(wide_batch_leave_room(b, 100)); /* it adds nothing */
	assert_ok(store_commit(&s, b, NULL));
	/* 12 of 16: 25 percent are left */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "t0", &t));
	assert_ok(wide_batch_leave_room(b, 1)); /* one table */
	assert_ok(wide_batch_create_table(b, 1, "t1", &t));
	assert_ok(wide_batch_leave_room(b, 18)); /* two: none is left over */
	assert_int_equal(wide_batch_leave_room(b, 19), WIDE_FULL);
	assert_int_equal(store_commit(&s, b, NULL), WIDE_FULL);
	for (int i = 0; i < 4; i++)
	{
		snprintf(name, sizeof name, "t%d", i);
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_create_table(b, 1, name, &t));
		assert_ok(wide_batch_bind(b, t, (uint32_t) i));
		assert_ok(store_commit(&s, b, NULL));
	}
	for (n = 0; wide_binding_next(s.db, &cursor, &t, &object) == WIDE_OK; n++)
		assert_int_equal(object, n);
	assert_int_equal(n, 4);
	n = cursor = 0;
	while (wide_table_next(s.db, NULL, &cursor, &out) == WIDE_OK)
		n++;
	assert_int_equal(n, 16);
	/* a batch sees its own tables after the committed ones, with the names that it gives */
	assert_ok(wide_batch_new(s.db, &b));
	cursor = 0;
	assert_ok(wide_table_next(s.db, b, &cursor, &out));
	assert_ok(wide_batch_drop_table(b, out.id));
	assert_ok(wide_table_next(s.db, b, &cursor, &out));
	assert_ok(wide_batch_rename_table(b, out.id, "renamed"));
	assert_ok(wide_batch_create_table(b, 1, "own", &t));
	n = cursor = 0;
	for (; wide_table_next(s.db, b, &cursor, &out) == WIDE_OK; n++)
		assert_true(n != 0 || strcmp(out.name, "renamed") == 0);
	assert_int_equal(n, 16);
	assert_int_equal(out.id, t);
	assert_string_equal(out.name, "own");
	wide_batch_free(b);
	cursor = 0;
	for (n = 0; wide_table_next(s.db, NULL, &cursor, &out) == WIDE_OK; n++)
		assert_string_not_equal(out.name, "own");
	assert_int_equal(n, 16);
	assert_ok(wide_batch_new(s.db, &b));
	assert_int_equal(wide_batch_create_table(b, 1, "", &t), WIDE_LIMIT);
	wide_batch_free(b);
	store_drop(&s);
}

static void
test_replay_is_idempotent(void **state)
{
	store s;
	wide_batch *b;
	wide_table_id t, first = 0;
	wide_table out;
	wide_family_id f;
	wide_family_options opt;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	/* the same name again and again, more often than there are catalog entries */
	for (int i = 0; i < 40; i++)
	{
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_create_table(b, 1, "x", &t));
		assert_ok(wide_batch_create_family(b, t, "f", &opt, &f));
		assert_ok(wide_batch_put(b, f, text("r"), text("q"), i, INT64_MIN, 0, text("v")));
		assert_ok(store_commit(&s, b, NULL));
		if (first == 0)
			first = t;
		if (i == 39)
			break;
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_drop_table(b, t));
		assert_ok(store_commit(&s, b, NULL));
		/* an edit with the catalog but without the cells */
		if (i == 20)
		{
			version_edit e = {.memtable = -1};

			assert_ok(edit_apply(s.db, &e));
		}
	}
	for (int again = 0; again < 2; again++)
	{
		uint32_t cursor = 0;
		char *got;

		store_close(&s);
		assert_ok(store_open(&s));
		assert_ok(wide_table_next(s.db, NULL, &cursor, &out));
		assert_int_equal(out.id, t);
		assert_int_equal(wide_table_next(s.db, NULL, &cursor, &out), WIDE_END);
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, "0/r/q@39=v;");
		free(got);
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_create_table(b, 1, "y", &first));
		assert_true(first > t); /* ids are not reused */
		wide_batch_free(b);
		assert_ok(wide_flush(s.db));
	}
	store_drop(&s);
}

/* Returns the number of versions that a reader sees, with its own batch. */
static int
count_versions(store *s, wide_family_id f, wide_batch *own)
{
	wide_scan_family fam = {.id = f, .want = WIDE_WANT_ALL, .max_versions = 10};
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_scan_spec spec = {
		.families = &fam, .nfamilies = 1, .ranges = &all, .nranges = 1, .now = s->now, .own = own};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	int n = 0;

	if (own != NULL)
		spec.own_mark = wide_batch_mark(own);
	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
		n += row.ncells;
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	return n;
}

static void
alter(store *s, wide_family_id f, const wide_family_options *opt)
{
	wide_batch *b;

	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_alter_family(b, f, opt));
	assert_ok(store_commit(s, b, NULL));
}

static void
test_floors(void **state)
{
	store s;
	wide_batch *b;
	wide_table_id t;
	wide_family_id f;
	wide_family fam;
	family_floor floors[FAMILY_FLOORS], *last = &floors[FAMILY_FLOORS - 1];
	wide_family_options opt;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.versions = 1;
	opt.ttl_us = 1000;
	store_table(&s, &opt, 1, &t, &f);
	assert_true(catalog_family(s.db, f, &fam, floors));
	assert_int_equal(floors[0].seq, 0);
	for (int i = 2; i < FAMILY_FLOORS + 2; i++)
	{
		opt.versions = i;
		opt.ttl_us += i == FAMILY_FLOORS + 1;
		alter(&s, f, &opt);
	}
	assert_true(catalog_family(s.db, f, &fam, floors));
	assert_int_equal(fam.opt.versions, FAMILY_FLOORS + 1);
	assert_int_equal(floors[0].versions, 1);
	assert_int_equal(last->versions, FAMILY_FLOORS);
	assert_true(floors[0].seq < floors[1].seq && last[-1].seq < last->seq);
	assert_int_equal(last->expired_before, s.now - 1000);
	assert_int_equal(last->now, s.now);
	/* only versions changed: nothing lives longer */
	assert_int_equal(floors[0].expired_before, INT64_MIN);
	/* no room; but a change that needs no floor is possible */
	opt.versions++;
	assert_ok(wide_batch_new(s.db, &b));
	assert_int_equal(wide_batch_alter_family(b, f, &opt), WIDE_FULL);
	opt.versions--;
	opt.block_size = 1024;
	assert_ok(wide_batch_alter_family(b, f, &opt));
	assert_ok(store_commit(&s, b, NULL));
	store_close(&s);
	assert_ok(store_open(&s));
	assert_true(catalog_family(s.db, f, &fam, floors));
	assert_int_equal(last->versions, FAMILY_FLOORS);
	opt.block_size = 1;
	assert_ok(wide_batch_new(s.db, &b));
	assert_int_equal(wide_batch_alter_family(b, f, &opt), WIDE_INVALID);
	wide_batch_free(b);
	store_drop(&s);
}

static int
floors_of(store *s, wide_family_id f)
{
	family_floor floors[FAMILY_FLOORS];
	wide_family fam;

	assert_true(catalog_family(s->db, f, &fam, floors));
	return catalog_floors_used(floors);
}

/*
 * A compaction of everything retires the floors of option changes, except
 * those that older snapshots need.
 */
static void
test_retire(void **state)
{
	store s;
	wide_batch *b, *other;
	wide_snapshot *snap;
	wide_table_id t;
	wide_family_id f;
	wide_family_options opt;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	for (int i = 2; i < 7; i++)
	{
		opt.versions = i;
		alter(&s, f, &opt);
		store_put(&s, f, "r", "q", 10 * i, "v");
	}
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	for (int i = 7; i < 10; i++)
	{
		opt.versions = i;
		alter(&s, f, &opt);
	}
	assert_int_equal(floors_of(&s, f), FAMILY_FLOORS);
	assert_ok(wide_flush(s.db));
	assert_int_equal(floors_of(&s, f), FAMILY_FLOORS);
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(floors_of(&s, f), 3);
	wide_snapshot_release(snap);
	/* it is in the manifest */
	store_close(&s);
	assert_ok(store_open(&s));
	assert_int_equal(floors_of(&s, f), 3);
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(floors_of(&s, f), 0);
	assert_int_equal(count_versions(&s, f, NULL), 5);
	/* two transactions want the last place: the second one is refused at prepare */
	for (int i = 10; i < 9 + FAMILY_FLOORS; i++)
	{
		opt.versions = i;
		alter(&s, f, &opt);
	}
	assert_int_equal(floors_of(&s, f), FAMILY_FLOORS - 1);
	opt.versions = 90;
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_new(s.db, &other));
	assert_ok(wide_batch_alter_family(b, f, &opt));
	opt.versions = 91;
	assert_ok(wide_batch_alter_family(other, f, &opt));
	assert_ok(wide_batch_prepare(other, 0));
	assert_int_equal(wide_batch_prepare(b, 0), WIDE_FULL);
	wide_batch_free(b);
	wide_batch_free(other);
	alter(&s, f, &opt);
	/* an empty family retires them as well */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, f, text("r"), text(""), WIDE_TS_MAX));
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(floors_of(&s, f), 0);
	opt.versions = 5;
	alter(&s, f, &opt);
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(floors_of(&s, f), 0);
	store_drop(&s);
}

/* The error for another format names both formats. */
static void
test_dump_format(void **state)
{
	store s;
	buffer dump = {0};

	store_init(&s);
	assert_ok(store_open(&s));
	assert_ok(catalog_dump(s.db, &dump));
	dump.data[0]--;
	assert_int_equal(catalog_restore(s.db, (wide_bytes) {dump.data, dump.len}), WIDE_CORRUPT);
	assert_non_null(strstr(wide_error_text(),
						   "has format 2, this version of widetable reads format 3 only"));
	dump.data[0]++;
	assert_ok(catalog_restore(s.db, (wide_bytes) {dump.data, dump.len}));
	buffer_free(&dump);
	store_drop(&s);
}

/* A transaction that changes options sees what all readers will see after its commit. */
static void
test_own_alter(void **state)
{
	store s;
	wide_batch *b;
	wide_table_id t;
	wide_family_id f;
	wide_family_options opt;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	for (int i = 0; i < 3; i++)
		store_put(&s, f, "r", "q", 10 * i, "v");
	assert_int_equal(count_versions(&s, f, NULL), 1);
	opt.versions = 3;
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_alter_family(b, f, &opt));
	assert_int_equal(count_versions(&s, f, b), 1);
	for (int i = 3; i < 6; i++)
	{
		assert_int_equal(count_versions(&s, f, b), i - 2 > 3 ? 3 : i - 2);
		assert_ok(wide_batch_put(b, f, text("r"), text("q"), 10 * i, INT64_MIN, 0, text("v")));
	}
	assert_int_equal(count_versions(&s, f, b), 3);
	assert_ok(store_commit(&s, b, NULL));
	assert_int_equal(count_versions(&s, f, NULL), 3);
	/* several changes in one transaction: the options before the transaction count */
	assert_ok(wide_batch_new(s.db, &b));
	opt.versions = 1;
	assert_ok(wide_batch_alter_family(b, f, &opt));
	assert_int_equal(count_versions(&s, f, b), 1);
	opt.versions = 5;
	assert_ok(wide_batch_alter_family(b, f, &opt));
	assert_int_equal(count_versions(&s, f, b), 3);
	assert_ok(store_commit(&s, b, NULL));
	assert_int_equal(count_versions(&s, f, NULL), 3);
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(count_versions(&s, f, NULL), 3);
	store_drop(&s);
}

/* Any byte of a dump changed or missing: an error or a valid catalog, never a crash. */
static void
test_hostile_dump(void **state)
{
	store s;
	wide_table_id t;
	wide_family_id f[2];
	wide_family_options opt;
	buffer dump = {0};
	uint64_t seed = 1;
	uint8_t *page;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 2, &t, f);
	assert_ok(catalog_dump(s.db, &dump));
	/* the byte behind the copies cannot be read */
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0);
	for (size_t i = 1; i < dump.len; i++)
	{
		memcpy(page + 4096 - i, dump.data, i);
		assert_int_equal(catalog_restore(s.db, (wide_bytes) {page + 4096 - i, i}), WIDE_CORRUPT);
	}
	munmap(page, 8192);
	/* a large number wherever one may be, also that of the tables: not WIDE_FULL, which makes
	 * callers ask for larger tables */
	for (size_t i = 1; i < dump.len; i++)
	{
		buffer large = {0};

		assert_ok(buffer_append(&large, dump.data, i));
		assert_ok(buffer_append_varint(&large, 1000000));
		assert_int_not_equal(catalog_restore(s.db, (wide_bytes) {large.data, large.len}),
							 WIDE_FULL);
		buffer_free(&large);
	}
	for (int k = 0; k < 20000; k++)
	{
		uint8_t *copy = malloc(dump.len);

		memcpy(copy, dump.data, dump.len);
		for (int c = 0; c < 3; c++)
			copy[rnd(&seed) % dump.len] = (uint8_t) rnd(&seed);
		(void) catalog_restore(s.db, (wide_bytes) {copy, dump.len});
		free(copy);
	}
	assert_ok(catalog_restore(s.db, (wide_bytes) {dump.data, dump.len}));
	buffer_free(&dump);
	store_drop(&s);
}

/* Decodes numbers as a dump, or as changes. */
static bool
decodes(store *s, const uint64_t *numbers, int n, bool change)
{
	buffer b = {0};
	bool good;

	for (int i = 0; i < n; i++)
		assert_ok(buffer_append_varint(&b, numbers[i]));
	good = change ? catalog_check((wide_bytes) {b.data, b.len})
				  : catalog_restore(s->db, (wide_bytes) {b.data, b.len}) == WIDE_OK;
	buffer_free(&b);
	return good;
}

/* 0 is no id, and the greatest has no next one: with either, two tables would get the same. */
static void
test_hostile_ids(void **state)
{
	store s;

	store_init(&s);
	assert_ok(store_open(&s));
	assert_true(decodes(&s, (uint64_t[]) {3, 0, 1, 1, 0, 0, 0}, 7, false));
	assert_false(decodes(&s, (uint64_t[]) {3, 0, 0, 1, 0, 0, 0}, 7, false));
	assert_false(decodes(&s, (uint64_t[]) {3, 0, 1, 0, 0, 0, 0}, 7, false));
	assert_true(decodes(&s, (uint64_t[]) {3, 7}, 2, true));
	for (int kind = 1; kind <= 9; kind++)
		for (int bad = 0; bad < 2; bad++)
		{
			uint64_t id = bad == 0 ? 0 : UINT32_MAX;

			assert_false(decodes(&s, (uint64_t[]) {(uint64_t) kind, id, 1, 1, 'x'}, 5, true));
			assert_false(decodes(&s, (uint64_t[]) {(uint64_t) kind, id}, 2, true));
			assert_false(decodes(&s, (uint64_t[]) {(uint64_t) kind, id, 1}, 3, true));
		}
	assert_true(decodes(&s, (uint64_t[]) {9, 7, 8}, 3, true));
	assert_false(decodes(&s, (uint64_t[]) {9, 7, 0}, 3, true));
	assert_false(decodes(&s, (uint64_t[]) {9, 7, UINT32_MAX}, 3, true));
	store_drop(&s);
}

/* Names of the greatest length, and longer ones whose bytes are there. */
static void
test_hostile_names(void **state)
{
	store s;

	store_init(&s);
	assert_ok(store_open(&s));
	for (size_t n = WIDE_MAX_NAME - 1; n <= WIDE_MAX_NAME + 1; n++)
	{
		buffer b = {0};

		/* RENAME_TABLE */
		assert_ok(buffer_append_varint(&b, 2));
		assert_ok(buffer_append_varint(&b, 1));
		assert_ok(buffer_append_varint(&b, n));
		for (size_t i = 0; i < n; i++)
			assert_ok(buffer_append(&b, "n", 1));
		assert_int_equal(catalog_check((wide_bytes) {b.data, b.len}), n <= WIDE_MAX_NAME);
		buffer_free(&b);
	}
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_ids),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_batch_sees_its_own),
		cmocka_unit_test(test_truncate),
		cmocka_unit_test(test_limits_and_promises),
		cmocka_unit_test(test_replay_is_idempotent),
		cmocka_unit_test(test_floors),
		cmocka_unit_test(test_retire),
		cmocka_unit_test(test_dump_format),
		cmocka_unit_test(test_own_alter),
		cmocka_unit_test(test_hostile_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
