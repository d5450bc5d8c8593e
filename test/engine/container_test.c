/*
 * container_test.c - many small families: their sorted files share containers.
 *
 * What a flush writes, and how many syncs it takes, does not depend on the number of
 * families; the directory always has exactly the files that the set lists; a container
 * lives until nothing in it is needed any more; a table of files that is nearly full
 * does not stop flushes, compactions and drops.  Random lives of many families are
 * compared with a model: one value for each family and row.
 *
 *     WIDE_OPS=n    steps of the random lives (default: as many as take a few seconds)
 *     WIDE_SEED=n
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/compaction/compact.h"
#include "engine/compaction/gather.h"
#include "engine/compaction/output.h"
#include "engine/set/file_set.h"
#include "engine/sst/sst_verify.h"
#include "engine/set/pin.h"
#include "test/host/kill_point.h"
#include "store_fixture.h"

#define TABLE_FAMILIES 40

/* A store with many tables. */
typedef struct many
{
	store s;
	wide_os os; /* counts syncs */
	int syncs;
	wide_table_id tables[64];
	wide_family_id *families;
	int ntables, nfamilies;
} many;

static many *counted;

static int
counted_sync(wide_os *os, int fd)
{
	counted->syncs++;
	return os_real()->sync(os_real(), fd);
}

/* Adds a table with TABLE_FAMILIES families. */
static void
add_table(many *m)
{
	wide_family_options opt;
	wide_batch *b;
	char name[16];

	wide_family_defaults(&opt);
	opt.block_size = 1024;
	assert_ok(wide_batch_new(m->s.db, &b));
	snprintf(name, sizeof name, "t%d", m->ntables);
	assert_ok(wide_batch_create_table(b, 1, name, &m->tables[m->ntables]));
	assert_ok(wide_batch_bind(b, m->tables[m->ntables], 100 + (uint32_t) m->ntables));
	for (int i = 0; i < TABLE_FAMILIES; i++)
	{
		snprintf(name, sizeof name, "f%d", i);
		assert_ok(wide_batch_create_family(b, m->tables[m->ntables], name, &opt,
										   &m->families[m->nfamilies++]));
	}
	assert_ok(store_commit(&m->s, b, NULL));
	m->ntables++;
}

static void
many_open(many *m, int tables)
{
	memset(m, 0, sizeof *m);
	store_init(&m->s);
	counted = m;
	m->os = *os_real();
	m->os.sync = counted_sync;
	m->s.os = &m->os;
	m->s.config.max_tables = 400;
	m->s.config.max_files = 16384;
	m->s.config.memtable_size = 1 << 20;
	m->families = calloc((size_t) tables * TABLE_FAMILIES, sizeof *m->families);
	assert_ok(store_open(&m->s));
	for (int i = 0; i < tables; i++)
		add_table(m);
}

static void
many_drop(many *m)
{
	store_drop(&m->s);
	free(m->families);
}

/* Writes a row to each of these families, in one batch. */
static void
put_all(many *m, int from, int to, const char *row, const char *value)
{
	wide_batch *b;

	assert_ok(wide_batch_new(m->s.db, &b));
	for (int i = from; i < to; i++)
		assert_ok(wide_batch_put(b, m->families[i], text(row), text("q"), WIDE_TS_AUTO, INT64_MIN,
								 0, text(value)));
	assert_ok(store_commit(&m->s, b, NULL));
}

/* Returns the number of sorted files in the directory. */
static int
count_files(const store *s)
{
	DIR *d = opendir(s->dir);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += strstr(e->d_name, ".sst") != NULL;
	closedir(d);
	return n;
}

static void
expect_rows(many *m, int family, const char *want)
{
	char *got = store_text(&m->s, NULL, &m->families[family], 1);
	buffer b = {0};

	/* without the timestamps */
	for (const char *p = got; *p != 0; p++)
	{
		if (*p == '@')
			p += strcspn(p, "=");
		assert_ok(buffer_append(&b, p, 1));
	}
	assert_ok(buffer_append(&b, "", 1));
	assert_string_equal((char *) b.data, want);
	buffer_free(&b);
	free(got);
}

/* The file, of the family's first one. */
static wide_status
first_file(void *arg, const wide_file_info *f)
{
	*(wide_file_info *) arg = *f;
	return WIDE_END;
}

static wide_file_info
file_of(many *m, int family)
{
	wide_file_info f = {0};

	assert_int_equal(wide_file_each(m->s.db, m->families[family], first_file, &f), WIDE_END);
	return f;
}

/* ------------------------------------------------------------------- flush */

/* A flush of 520 families writes one file and syncs it, the manifest and the directory. */
static void
test_flush(void **state)
{
	many m;

	many_open(&m, 13);
	assert_int_equal(m.nfamilies, 520);
	for (int round = 0; round < 3; round++)
	{
		put_all(&m, 0, m.nfamilies, round == 0 ? "a" : "b", round == 2 ? "z" : "y");
		m.syncs = 0;
		assert_ok(wide_flush(m.s.db));
		assert_int_equal(count_files(&m.s), round + 1);
		assert_true(m.syncs <= 4);
	}
	for (int i = 0; i < m.nfamilies; i += 37)
		expect_rows(&m, i, "0/a/q=y;0/b/q=z;");
	assert_int_equal(store_verify(&m.s), 0);
	/* the fourth one makes them due: one job, one file */
	put_all(&m, 0, m.nfamilies, "c", "x");
	assert_ok(wide_flush(m.s.db));
	m.syncs = 0;
	store_work(&m.s);
	assert_int_equal(count_files(&m.s), 1);
	assert_true(m.syncs <= 8);
	for (int i = 0; i < m.nfamilies; i += 37)
	{
		assert_int_equal(store_files(&m.s, m.families[i], 0), 0);
		assert_int_equal(store_files(&m.s, m.families[i], 1), 1);
	}
	assert_int_equal(store_verify(&m.s), 0);
	store_close(&m.s);
	assert_ok(store_open(&m.s));
	for (int i = 0; i < m.nfamilies; i += 37)
		expect_rows(&m, i, "0/a/q=y;0/b/q=z;0/c/q=x;");
	assert_int_equal(count_files(&m.s), 1);
	assert_int_equal(store_verify(&m.s), 0);
	many_drop(&m);
}

/* A family that is alone, or large, has a file of its own. */
static void
test_own_files(void **state)
{
	many m;
	wide_batch *b;
	char row[16], value[2000];
	uint64_t r = 5;
	wide_file_info f;

	many_open(&m, 1);
	put_all(&m, 7, 8, "a", "v");
	assert_ok(wide_flush(m.s.db));
	f = file_of(&m, 7);
	assert_true(f.container == f.number && f.offset == 0);
	put_all(&m, 0, 3, "a", "v");
	assert_ok(wide_batch_new(m.s.db, &b));
	for (int i = 0; i < 200; i++)
	{
		for (size_t c = 0; c < sizeof value; c++)
			value[c] = (char) (33 + rnd(&r) % 90);
		snprintf(row, sizeof row, "r%d", i);
		assert_ok(wide_batch_put(b, m.families[1], text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
								 bytes(value, sizeof value)));
	}
	assert_ok(store_commit(&m.s, b, NULL));
	assert_ok(wide_flush(m.s.db));
	f = file_of(&m, 1);
	assert_true(f.container == f.number && f.offset == 0 && f.bytes > 300000);
	assert_true(file_of(&m, 0).container == file_of(&m, 2).container);
	assert_true(file_of(&m, 0).container != file_of(&m, 0).number);
	assert_true(file_of(&m, 0).offset != file_of(&m, 2).offset);
	assert_int_equal(count_files(&m.s), 3);
	assert_int_equal(store_verify(&m.s), 0);
	many_drop(&m);
}

/* ---------------------------------------------------------------- deletion */

/* A container lives until the last of its files is removed and nothing reads that. */
static void
test_last_one(void **state)
{
	many m;
	version_pin pin = {0};
	family_files files;
	wide_batch *b;
	bool did;
	wide_file_info f;
	char path[200];

	many_open(&m, 2);
	put_all(&m, 0, m.nfamilies, "a", "v");
	assert_ok(wide_flush(m.s.db));
	assert_int_equal(count_files(&m.s), 1);
	f = file_of(&m, 0);
	snprintf(path, sizeof path, "%s/%08llx.sst", m.s.dir, (unsigned long long) f.container);
	/* all families of the first table */
	assert_ok(wide_batch_new(m.s.db, &b));
	assert_ok(wide_batch_drop_table(b, m.tables[0]));
	assert_ok(store_commit(&m.s, b, NULL));
	store_work(&m.s);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(m.s.db->seg->set.ndead, 0);
	expect_rows(&m, TABLE_FAMILIES, "0/a/q=v;");
	/* the others, while one of them is pinned */
	assert_ok(pin_take_files(m.s.db, &pin));
	assert_ok(wide_batch_new(m.s.db, &b));
	assert_ok(wide_batch_drop_table(b, m.tables[1]));
	assert_ok(store_commit(&m.s, b, NULL));
	store_work(&m.s);
	assert_int_equal(access(path, F_OK), 0);
	assert_ok(pin_files(m.s.db, &pin, m.families[m.nfamilies - 1], &files));
	assert_int_equal(files.n, 1);
	pin_drop(m.s.db, &pin);
	store_work(&m.s);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(count_files(&m.s), 0);
	assert_int_equal(m.s.db->seg->set.ncontainers, 0);
	assert_int_equal(wide_work(m.s.db), WIDE_END);
	(void) did;
	many_drop(&m);
}

/* ------------------------------------------------------------------ gather */

/* Where each flush is of other families the number of files stays flat, and old containers do not
 * keep their room. */
static void
test_flat(void **state)
{
	many m;
	char value[16];
	int most = 0;

	many_open(&m, 10);
	for (int round = 0; round < 400; round++)
	{
		snprintf(value, sizeof value, "%d", round);
		/* three families, of which two are written again and again */
		put_all(&m, round % 380 + 20, round % 380 + 21, "a", value);
		put_all(&m, 0, 2, "a", value);
		assert_ok(wide_flush(m.s.db));
		store_work(&m.s);
		most = count_files(&m.s) > most ? count_files(&m.s) : most;
	}
	assert_in_range(most, 8, gather_files + 4);
	for (int i = 20; i < 400; i += 13)
	{
		snprintf(value, sizeof value, "0/a/q=%d;", i < 40 ? i + 360 : i - 20);
		expect_rows(&m, i, value);
	}
	assert_int_equal(store_verify(&m.s), 0);
	store_close(&m.s);
	assert_ok(store_open(&m.s));
	assert_int_equal(store_verify(&m.s), 0);
	expect_rows(&m, 100, "0/a/q=80;");
	many_drop(&m);
}

/* A reader of an old version reads a file where it was, one of a new version where it is. */
static void
test_moved(void **state)
{
	many m;
	wide_snapshot *before;
	wide_file_info f, g;
	char *text_before;
	version_pin pin = {0};

	gather_files = 4;
	many_open(&m, 1);
	for (int round = 0; round < 3; round++)
	{
		put_all(&m, 3 * round, 3 * round + 3, "a", "v");
		assert_ok(wide_flush(m.s.db));
	}
	store_work(&m.s);
	f = file_of(&m, 0);
	expect_rows(&m, 0, "0/a/q=v;");
	assert_ok(pin_take_files(m.s.db, &pin));
	assert_ok(snapshot_take(m.s.db, NULL, NULL, &before));
	text_before = store_text(&m.s, before, &m.families[0], 1);
	put_all(&m, 20, 22, "a", "v");
	assert_ok(wide_flush(m.s.db));
	store_work(&m.s);
	g = file_of(&m, 0);
	assert_true(g.number == f.number && g.container != f.container && g.bytes == f.bytes);
	/* both places exist; what came after the pin and went is gone */
	assert_int_equal(count_files(&m.s), 4);
	assert_true(file_set_has_container(m.s.db, f.container));
	expect_rows(&m, 0, "0/a/q=v;");
	pin_drop(m.s.db, &pin);
	store_work(&m.s);
	assert_int_equal(count_files(&m.s), 2);
	expect_rows(&m, 0, "0/a/q=v;");
	free(text_before);
	wide_snapshot_release(before);
	assert_int_equal(store_verify(&m.s), 0);
	many_drop(&m);
	gather_files = 64;
}

/* A damaged file stays where it is; the others of its container are moved, merged and read. */
static void
test_damage(void **state)
{
	many m;
	wide_file_info f, other;
	char path[200];
	int fd, problems = 0;
	wide_status st;

	gather_files = 4;
	many_open(&m, 1);
	for (int round = 0; round < 3; round++)
	{
		put_all(&m, 3 * round, 3 * round + 3, "a", "v");
		assert_ok(wide_flush(m.s.db));
	}
	f = file_of(&m, 1);
	snprintf(path, sizeof path, "%s/%08llx.sst", m.s.dir, (unsigned long long) f.container);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "damage", 6, (off_t) f.offset + 20), 6);
	close(fd);
	put_all(&m, 20, 22, "a", "v");
	assert_ok(wide_flush(m.s.db));
	while ((st = wide_work(m.s.db)) == WIDE_OK)
		;
	assert_true(st == WIDE_END || st == WIDE_CORRUPT);
	assert_int_equal(file_of(&m, 1).container, f.container);
	/* the gathering marks it: a later one does not read it again */
	assert_true(file_set_slot_by_number(m.s.db, f.number)->meta.flags & FILE_DAMAGED);
	for (int i = 0; i < 3; i++)
	{
		m.s.now += 70000000;
		assert_int_equal(wide_work(m.s.db), WIDE_END);
	}
	other = file_of(&m, 0);
	assert_true(other.container != f.container);
	expect_rows(&m, 0, "0/a/q=v;");
	expect_rows(&m, 2, "0/a/q=v;");
	assert_ok(wide_verify(m.s.db, 0, store_problem, &problems));
	assert_int_equal(problems, 1);
	/* three more make them due, in one job */
	for (int round = 0; round < 3; round++)
	{
		put_all(&m, 0, 3, "b", "v");
		assert_ok(wide_flush(m.s.db));
	}
	while ((st = wide_work(m.s.db)) == WIDE_OK)
		;
	assert_int_equal(store_files(&m.s, m.families[0], 0), 0);
	assert_int_equal(store_files(&m.s, m.families[1], 0), 4);
	assert_int_equal(store_files(&m.s, m.families[2], 0), 0);
	expect_rows(&m, 2, "0/a/q=v;0/b/q=v;");
	many_drop(&m);
	gather_files = 64;
}

/* --------------------------------------------------------------- the limit */

/* A table of files that the flushes of a few rounds would fill: each flush finds room, and what
 * makes files fewer always can. */
static void
test_nearly_full(void **state)
{
	many m;
	wide_batch *b;
	char row[16];

	many_open(&m, 4);
	store_close(&m.s);
	m.s.config.max_files = 400; /* 160 families */
	assert_ok(store_open(&m.s));
	m.s.reports = 0;
	for (int round = 0; round < 20; round++)
	{
		snprintf(row, sizeof row, "%d", round % 5);
		put_all(&m, 0, m.nfamilies, row, "v");
		assert_ok(wide_flush(m.s.db));
		assert_true(file_set_room(m.s.db, true) >= 400 / 16);
	}
	/* one warning each time that it fills up */
	assert_true(m.s.reports >= 1 && m.s.reports <= 20);
	assert_non_null(strstr(m.s.report, "max_tables"));
	for (int i = 0; i < m.nfamilies; i += 13)
		expect_rows(&m, i, "0/0/q=v;0/1/q=v;0/2/q=v;0/3/q=v;0/4/q=v;");
	assert_int_equal(store_verify(&m.s), 0);
	/* a drop, and a compaction of what is left */
	assert_ok(wide_batch_new(m.s.db, &b));
	assert_ok(wide_batch_drop_table(b, m.tables[0]));
	assert_ok(store_commit(&m.s, b, NULL));
	for (int i = TABLE_FAMILIES; i < m.nfamilies; i++)
		assert_ok(wide_compact(m.s.db, m.families[i]));
	store_work(&m.s);
	assert_int_equal(m.s.db->seg->set.nfiles, 3 * TABLE_FAMILIES);
	many_drop(&m);
}

/* While a reader pins what is removed there is no room; the flush says so, and goes on afterwards.
 */
static void
test_pinned_full(void **state)
{
	many m;
	version_pin pin = {0};
	wide_status st = WIDE_OK;
	char row[16], want[200] = "0/r/q=v;";

	many_open(&m, 4);
	store_close(&m.s);
	m.s.config.max_files = 400;
	assert_ok(store_open(&m.s));
	put_all(&m, 0, m.nfamilies, "r", "v");
	assert_ok(wide_flush(m.s.db));
	assert_ok(pin_take_files(m.s.db, &pin));
	for (int round = 0; round < 8 && st == WIDE_OK; round++)
	{
		snprintf(row, sizeof row, "r%d", round);
		put_all(&m, 0, m.nfamilies, row, "v");
		snprintf(want + strlen(want), sizeof want - strlen(want), "0/%s/q=v;", row);
		st = wide_flush(m.s.db);
	}
	assert_int_equal(st, WIDE_FULL);
	assert_non_null(strstr(wide_error_text(), "removed when no statement reads them"));
	pin_drop(m.s.db, &pin);
	assert_ok(wide_flush(m.s.db));
	store_work(&m.s);
	expect_rows(&m, 3, want);
	assert_int_equal(store_verify(&m.s), 0);
	many_drop(&m);
}

/* A reader pins the files of its version only: what comes and goes later does not fill the table.
 */
static void
test_pinned_long(void **state)
{
	many m;
	version_pin pin = {0}, second = {0};
	family_files files;
	char row[16];

	many_open(&m, 4);
	store_close(&m.s);
	m.s.config.max_files = 160 * 10;
	assert_ok(store_open(&m.s));
	put_all(&m, 0, m.nfamilies, "r", "v");
	assert_ok(wide_flush(m.s.db));
	assert_ok(pin_take_files(m.s.db, &pin));
	for (int round = 0; round < 40; round++)
	{
		snprintf(row, sizeof row, "r%d", round % 5);
		put_all(&m, 0, m.nfamilies, row, "v");
		assert_ok(wide_flush(m.s.db));
		/* a second pin of this process protects what lies between */
		if (round == 20)
			assert_ok(pin_take_files(m.s.db, &second));
		if (round == 22)
			pin_drop(m.s.db, &second);
		store_work(&m.s);
	}
	assert_ok(pin_files(m.s.db, &pin, m.families[5], &files));
	assert_int_equal(files.n, 1);
	assert_non_null(file_set_slot_by_number(m.s.db, files.files[0].number));
	assert_int_equal(m.s.db->seg->set.ndead, m.nfamilies);
	assert_int_equal(count_files(&m.s), m.s.db->seg->set.ncontainers);
	pin_drop(m.s.db, &pin);
	store_work(&m.s);
	assert_int_equal(m.s.db->seg->set.ndead, 0);
	assert_int_equal(count_files(&m.s), m.s.db->seg->set.ncontainers);
	expect_rows(&m, 3, "0/r/q=v;0/r0/q=v;0/r1/q=v;0/r2/q=v;0/r3/q=v;0/r4/q=v;");
	assert_int_equal(store_verify(&m.s), 0);
	many_drop(&m);
}

static bool
held_files(void *ctx)
{
	return true;
}

/* While the host holds files for a copy of the directory no file is unlinked, but slots are freed:
 * flushes go on for as long as the copy takes. */
static void
test_files_held(void **state)
{
	many m;
	char row[16];
	int most;

	many_open(&m, 4);
	store_close(&m.s);
	m.s.config.max_files = 160 * 6;
	assert_ok(store_open(&m.s));
	m.s.db->host.files_held = held_files;
	for (int round = 0; round < 60; round++)
	{
		snprintf(row, sizeof row, "r%d", round % 5);
		put_all(&m, 0, m.nfamilies, row, "v");
		assert_ok(wide_flush(m.s.db));
		store_work(&m.s);
	}
	most = count_files(&m.s);
	assert_true(most > 60);
	assert_int_equal(most, m.s.db->seg->set.ncontainers);
	m.s.db->host.files_held = NULL;
	store_work(&m.s);
	assert_int_equal(m.s.db->seg->set.ndead, 0);
	assert_int_equal(count_files(&m.s), m.s.db->seg->set.ncontainers);
	assert_true(count_files(&m.s) < 10);
	expect_rows(&m, 3, "0/r0/q=v;0/r1/q=v;0/r2/q=v;0/r3/q=v;0/r4/q=v;");
	assert_int_equal(store_verify(&m.s), 0);
	many_drop(&m);
}

/* Large transactions over all families write a file for each, which cannot be merged before the
 * next flush.  They leave the flush its room. */
static void
test_large_full(void **state)
{
	many m;
	wide_batch *b;
	wide_status st = WIDE_OK;
	char value[4096];
	uint64_t r = 7;

	many_open(&m, 4);
	store_close(&m.s);
	m.s.config.max_files = 400;
	assert_ok(store_open(&m.s));
	for (size_t c = 0; c < sizeof value; c++)
		value[c] = (char) (33 + rnd(&r) % 90);
	for (int round = 0; round < 20; round++)
	{
		put_all(&m, 0, m.nfamilies, "a", "v");
		for (int large = 0; large < 4 && st == WIDE_OK; large++)
		{
			assert_ok(wide_batch_new(m.s.db, &b));
			for (int i = 0; i < m.nfamilies; i++)
				assert_ok(wide_batch_put(b, m.families[i], text("b"), text("q"), WIDE_TS_AUTO,
										 INT64_MIN, 0, bytes(value, sizeof value)));
			st = store_commit(&m.s, b, NULL);
		}
		/* not a failure of the store: the transaction is told */
		assert_int_equal(st, WIDE_FULL);
		assert_non_null(strstr(wide_error_text(), "max_files"));
		st = WIDE_OK;
		assert_ok(wide_flush(m.s.db));
		store_work(&m.s);
		assert_int_equal(m.s.db->seg->set.reserved_files, 0);
	}
	assert_int_equal(store_verify(&m.s), 0);
	many_drop(&m);
}

/* A store that does not fit is not opened: the message says what to set.  Nothing is changed. */
static void
test_too_small(void **state)
{
	many m;
	char row[16];

	many_open(&m, 30); /* 1,200 families */
	for (int i = 0; i < 10; i++)
	{
		snprintf(row, sizeof row, "r%d", i);
		put_all(&m, 0, m.nfamilies, row, "v");
		assert_ok(wide_flush(m.s.db));
	}
	store_close(&m.s);
	m.s.config.max_tables = 20;
	assert_int_equal(store_open(&m.s), WIDE_FULL);
	assert_non_null(strstr(wide_error_text(), "max_tables 20"));
	assert_non_null(strstr(wide_error_text(), "at least 30"));
	m.s.config.max_tables = 100; /* 400 families */
	assert_int_equal(store_open(&m.s), WIDE_FULL);
	assert_non_null(strstr(wide_error_text(), "max_tables 100 "));
	assert_non_null(strstr(wide_error_text(), "at least 300"));
	m.s.config.max_tables = 300;
	m.s.config.max_files = 5000;
	assert_int_equal(store_open(&m.s), WIDE_FULL);
	assert_non_null(strstr(wide_error_text(), "12000 sorted files"));
	m.s.config.max_files = 0;
	assert_ok(store_open(&m.s));
	assert_int_equal(m.s.db->seg->set.nfiles, 12000);
	expect_rows(&m, 7,
				"0/r0/q=v;0/r1/q=v;0/r2/q=v;0/r3/q=v;0/r4/q=v;0/r5/q=v;0/r6/q=v;0/r7/q=v;"
				"0/r8/q=v;0/r9/q=v;");
	many_drop(&m);
}

/* ------------------------------------------------------------------- kills */

/* Kills a process at each passage of each point on the way of a flush, a job of many families, and
 * a gathering.  Afterwards everything is there, and the directory has nothing else. */
static void
test_kill(void **state)
{
	static const char *const points[] = {
		"container-added",	"sst-written",	 "sst-synced",		"sst-renamed",	  "flush-files",
		"manifest-append",	"manifest-sync", "manifest-switch", "flush-manifest", "compact-files",
		"compact-manifest", "gather-files",	 "gather-manifest", "remove-unlink"};
	int killed_at = 0;

	gather_files = 4;
	for (size_t p = 0; p < sizeof points / sizeof *points; p++)
	{
		int killed = 1;

		for (int pass = 1; killed; pass += pass < 6 ? 1 : 23)
		{
			many m;
			pid_t pid;
			int status;

			many_open(&m, 1);
			fflush(NULL);
			pid = fork();
			if (pid == 0)
			{
				kill_point k = {0};
				char spec[64];

				snprintf(spec, sizeof spec, "%s:%d", points[p], pass);
				kill_point_set(&k, spec);
				wide_on_injection_point(kill_point_reached, &k);
				for (int round = 0; round < 9; round++)
				{
					put_all(&m, 0, round % 2 == 0 ? m.nfamilies : 2, "a", "v");
					assert_ok(wide_flush(m.s.db));
					store_work(&m.s);
				}
				_exit(0);
			}
			assert_int_equal(waitpid(pid, &status, 0), pid);
			killed = WIFSIGNALED(status);
			killed_at += killed;
			/* a log and a directory that are as the process has left them */
			store_close(&m.s);
			assert_ok(store_open(&m.s));
			expect_rows(&m, 0, "0/a/q=v;");
			for (int i = 3; i < m.nfamilies; i += 5)
				expect_rows(&m, i, "0/a/q=v;");
			assert_int_equal(store_verify(&m.s), 0);
			assert_int_equal(count_files(&m.s), m.s.db->seg->set.ncontainers);
			put_all(&m, 0, m.nfamilies, "b", "w");
			assert_ok(wide_flush(m.s.db));
			store_work(&m.s);
			expect_rows(&m, 3, "0/a/q=v;0/b/q=w;");
			assert_int_equal(store_verify(&m.s), 0);
			many_drop(&m);
		}
	}
	gather_files = 64;
	assert_true(killed_at > 40);
}

/* ------------------------------------------------------- several processes */

/* Reads what the pin has of some families, and whether it is still in its place. */
static wide_status
read_pinned(wide_db *db, const many *m, const version_pin *pin, uint64_t *r)
{
	for (int i = 0; i < 5; i++)
	{
		family_files f;

		TRY(pin_files(db, pin, m->families[rnd(r) % (uint32_t) m->nfamilies], &f));
		for (int k = 0; k < f.n; k++)
			TRY(sst_verify(db, &f.files[k], NULL, NULL));
	}
	return WIDE_OK;
}

/* Holds pins that are old and pins that are new, until *stop is set. */
static int
hold_pins(many *m, uint64_t seed, const _Atomic uint32_t *stop)
{
	wide_host host = m->s.db->host;
	version_pin pins[4] = {0};
	wide_status st = WIDE_OK;
	uint64_t r = seed;
	wide_db *db;

	if (wide_attach(m->s.base, m->s.dir, &host, &m->s.log, NULL, &db) != WIDE_OK)
		return 2;
	while (!atomic_load(stop) && st == WIDE_OK)
	{
		int at = (int) (rnd(&r) % 4);

		if (pins[at].serial == 0)
			st = pin_take_files(db, &pins[at]);
		else if (rnd(&r) % 3 == 0)
			pin_drop(db, &pins[at]);
		for (int i = 0; i < 4 && st == WIDE_OK; i++)
			if (pins[i].serial != 0)
				st = read_pinned(db, m, &pins[i], &r);
	}
	if (st != WIDE_OK)
		fprintf(stderr, "reader: %s\n", wide_error_text());
	for (int i = 0; i < 4; i++)
		pin_drop(db, &pins[i]);
	wide_detach(db);
	return st == WIDE_OK ? 0 : 3;
}

/* Four processes do the background work of many families at once, while this one writes, and two
 * hold pins: what these have stays, and no job
 * brings back what another one has removed. */
static void
test_workers(void **state)
{
	enum
	{
		WORKERS = 4,
		READERS = 2,
		ROUNDS = 150
	};

	many m;
	pid_t pids[WORKERS + READERS];
	_Atomic uint32_t *stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
								  -1, 0);
	char row[16], value[16], want[2000];
	int status;

	gather_files = 4;
	many_open(&m, 2);
	for (int w = 0; w < WORKERS; w++)
		if ((pids[w] = fork()) == 0)
		{
			wide_host host = m.s.db->host;
			wide_status st = WIDE_OK;
			wide_db *db;

			if (wide_attach(m.s.base, m.s.dir, &host, &m.s.log, NULL, &db) != WIDE_OK)
				_exit(2);
			while (!atomic_load(stop) && (st == WIDE_OK || st == WIDE_END || st == WIDE_BUSY))
				if ((st = wide_work(db)) == WIDE_END)
					usleep(100);
			if (st != WIDE_OK && st != WIDE_END && st != WIDE_BUSY)
				fprintf(stderr, "worker: %s\n", wide_error_text());
			wide_detach(db);
			_exit(st == WIDE_OK || st == WIDE_END || st == WIDE_BUSY ? 0 : 3);
		}
	for (int w = WORKERS; w < WORKERS + READERS; w++)
		if ((pids[w] = fork()) == 0)
			_exit(hold_pins(&m, (uint64_t) w, stop));
	for (int round = 0; round < ROUNDS; round++)
	{
		snprintf(row, sizeof row, "r%02d", round % 20);
		snprintf(value, sizeof value, "%d", round);
		put_all(&m, 0, m.nfamilies, row, value);
		assert_ok(wide_flush(m.s.db));
	}
	atomic_store(stop, 1);
	for (int w = 0; w < WORKERS + READERS; w++)
	{
		assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	want[0] = 0;
	for (int r = 0; r < 20; r++)
		snprintf(want + strlen(want), sizeof want - strlen(want), "0/r%02d/q=%d;", r,
				 r < 10 ? ROUNDS - 10 + r : ROUNDS - 30 + r);
	for (int i = 0; i < m.nfamilies; i++)
		expect_rows(&m, i, want);
	assert_int_equal(store_verify(&m.s), 0);
	store_work(&m.s);
	assert_int_equal(store_verify(&m.s), 0);
	assert_int_equal(count_files(&m.s), m.s.db->seg->set.ncontainers);
	munmap((void *) stop, 4096);
	many_drop(&m);
	gather_files = 64;
}

/* ------------------------------------------------------------ random lives */

#define MODEL_ROWS 4

/* Puts, deletes, truncations, flushes, compactions, crashes, in many families at random. */
static void
test_random(void **state)
{
	const char *ops = getenv("WIDE_OPS"), *given = getenv("WIDE_SEED");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 1;
	long left = ops != NULL ? strtol(ops, NULL, 10) : 6000;

	for (; left > 0; seed++)
	{
		many m;
		int *model, nsnap = 0, steps = 300 + (int) (seed * 97 % 500);
		uint64_t r = seed * 77 + 1;
		version_pin pin = {0};

		printf("# seed %llu\n", (unsigned long long) seed);
		gather_files = 3 + seed % 9;
		output_file_bytes = seed % 3 == 0 ? 8192 : (uint64_t) 64 << 20;
		many_open(&m, 1 + (int) (seed % 4));
		/* a table of files that is sometimes hardly large enough */
		if (seed % 2 == 0)
		{
			store_close(&m.s);
			m.s.config.max_files = (uint32_t) m.nfamilies * 3;
			assert_ok(store_open(&m.s));
		}
		model = calloc((size_t) m.nfamilies * MODEL_ROWS, sizeof *model);
		for (int step = 0; step < steps && left > 0; step++, left--)
		{
			uint32_t what = rnd(&r) % 100;

			if (what < 45)
			{
				/* a few families, or all */
				int from = (int) (rnd(&r) % (uint32_t) m.nfamilies);
				int n = rnd(&r) % 8 == 0 ? m.nfamilies : 1 + (int) (rnd(&r) % 5);
				int row = (int) (rnd(&r) % MODEL_ROWS), value = 1 + (int) (rnd(&r) % 1000);
				bool erase = rnd(&r) % 5 == 0;
				wide_batch *b;
				char name[16], v[16];

				snprintf(name, sizeof name, "r%d", row);
				snprintf(v, sizeof v, "%d", value);
				assert_ok(wide_batch_new(m.s.db, &b));
				for (int i = from; i < from + n && i < m.nfamilies; i++)
				{
					if (erase)
						assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, m.families[i],
													text(name), text(""), WIDE_TS_MAX));
					else
						assert_ok(wide_batch_put(b, m.families[i], text(name), text("q"),
												 WIDE_TS_AUTO, INT64_MIN, 0, text(v)));
					model[i * MODEL_ROWS + row] = erase ? 0 : value;
				}
				assert_ok(store_commit(&m.s, b, NULL));
				m.s.now += 1000;
			}
			else if (what < 65)
			{
				wide_status st = wide_flush(m.s.db);

				/* what a pin holds may fill the table of files */
				if (st != WIDE_FULL || pin.serial == 0)
					assert_ok(st);
			}
			else if (what < 80)
			{
				for (int i = 0; i < 3; i++)
				{
					wide_status st = wide_work(m.s.db);

					if (st != WIDE_END && (st != WIDE_FULL || pin.serial == 0))
						assert_ok(st);
				}
				/* sometimes the store is at rest */
				m.s.now += rnd(&r) % 3 == 0 ? 70000000 : 0;
			}
			else if (what < 83)
			{
				wide_status st = wide_compact(m.s.db, m.families[rnd(&r) % (uint32_t) m.nfamilies]);

				if (st != WIDE_FULL || pin.serial == 0)
					assert_ok(st);
			}
			else if (what < 86)
			{
				/* a table begins anew */
				int t = (int) (rnd(&r) % (uint32_t) m.ntables);
				wide_family fams[TABLE_FAMILIES];
				wide_batch *b;

				assert_ok(wide_batch_new(m.s.db, &b));
				assert_ok(wide_batch_truncate_table(b, m.tables[t]));
				assert_ok(store_commit(&m.s, b, NULL));
				assert_int_equal(wide_table_families(m.s.db, NULL, m.tables[t], fams,
													 TABLE_FAMILIES),
								 TABLE_FAMILIES);
				for (int i = 0; i < TABLE_FAMILIES; i++)
				{
					int at = t * TABLE_FAMILIES + atoi(fams[i].name + 1);

					m.families[at] = fams[i].id;
					memset(&model[at * MODEL_ROWS], 0, MODEL_ROWS * sizeof *model);
				}
			}
			else if (what < 90)
			{
				if (pin.serial != 0)
					pin_drop(m.s.db, &pin);
				else
					assert_ok(pin_take_files(m.s.db, &pin));
			}
			else if (what < 93)
			{
				/* a crash; the log is synced by each commit */
				pin = (version_pin) {0};
				store_close(&m.s);
				assert_ok(store_open(&m.s));
				assert_int_equal(count_files(&m.s), m.s.db->seg->set.ncontainers);
			}
			else
			{
				int i = (int) (rnd(&r) % (uint32_t) m.nfamilies);
				char want[200] = "";

				for (int row = 0; row < MODEL_ROWS; row++)
					if (model[i * MODEL_ROWS + row] != 0)
						snprintf(want + strlen(want), sizeof want - strlen(want), "0/r%d/q=%d;",
								 row, model[i * MODEL_ROWS + row]);
				expect_rows(&m, i, want);
			}
			nsnap++;
		}
		if (pin.serial != 0)
			pin_drop(m.s.db, &pin);
		for (int i = 0; i < m.nfamilies; i++)
		{
			char want[200] = "";

			for (int row = 0; row < MODEL_ROWS; row++)
				if (model[i * MODEL_ROWS + row] != 0)
					snprintf(want + strlen(want), sizeof want - strlen(want), "0/r%d/q=%d;", row,
							 model[i * MODEL_ROWS + row]);
			expect_rows(&m, i, want);
		}
		store_work(&m.s);
		assert_int_equal(store_verify(&m.s), 0);
		assert_int_equal(count_files(&m.s), m.s.db->seg->set.ncontainers);
		free(model);
		many_drop(&m);
	}
	gather_files = 64;
	output_file_bytes = (uint64_t) 64 << 20;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flush),		cmocka_unit_test(test_own_files),
		cmocka_unit_test(test_last_one),	cmocka_unit_test(test_flat),
		cmocka_unit_test(test_moved),		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_nearly_full), cmocka_unit_test(test_pinned_full),
		cmocka_unit_test(test_pinned_long), cmocka_unit_test(test_files_held),
		cmocka_unit_test(test_large_full),	cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_kill),		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
