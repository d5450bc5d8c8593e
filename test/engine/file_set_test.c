/*
 * file_set_test.c - the version set: pins and versions, edits and the manifest,
 * removal, damage.  No real sorted files are needed: the files are empty,
 * with an invented meta.
 */
#include "test/host/os_fault.h"
#include "testlib.h"
#include "segment_fixture.h"
#include "engine/wide.h"
#include "engine/base/key.h"
#include "engine/base/os.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_file.h"
#include "engine/set/catalog.h"
#include "engine/set/remove.h"
#include "engine/set/edit.h"
#include "engine/set/file_set.h"
#include "engine/set/file_set_load.h"
#include "engine/set/pin.h"
#include "engine/commit/orphans.h"
#include <fcntl.h>

static wide_config config = {.memtable_size = 256 * 1024,
							 .cache_size = 1 << 20,
							 .max_processes = 8,
							 .max_tables = 20,
							 .max_files = 64,
							 .lock_buckets = 64};
static uint64_t log_synced;
static uint64_t log_at = 1000;

static uint64_t
fake_end(void *ctx)
{
	return log_at;
}

static wide_status
fake_sync(void *ctx, uint64_t lsn)
{
	if (lsn > log_synced)
		log_synced = lsn;
	return WIDE_OK;
}

static void
fake_release(void *ctx, uint64_t lsn)
{
}

static bool
fake_interrupted(void *ctx)
{
	return false;
}

static int64_t
fake_now(void *ctx)
{
	return 1000000;
}

typedef struct store
{
	char dir[64];
	void *base;
	wide_db *db;
} store;

static const wide_log fake_log = {.end = fake_end, .sync = fake_sync, .release = fake_release};
static const wide_host fake_host = {.interrupted = fake_interrupted, .now = fake_now};

static bool looking;				   /* stores are opened without a change */
static void (*opening)(wide_log *log); /* if not NULL: changes the log of a store that is opened */

static wide_status
store_load(store *s, wide_os *os)
{
	wide_log log = fake_log;
	wide_status st;

	if (opening != NULL)
		opening(&log);

	s->base = fixture_map(&config);
	assert_ok(wide_attach(s->base, s->dir, &fake_host, &log, os, &s->db));
	st = looking ? file_set_load_read_only(s->db) : file_set_load(s->db);
	if (st == WIDE_OK)
		atomic_store(&s->db->seg->state, WIDE_RUNNING);
	return st;
}

static void
store_close(store *s)
{
	wide_detach(s->db);
	fixture_unmap(s->base, &config);
}

static void
store_new(store *s)
{
	test_dir_make(s->dir, sizeof s->dir);
	assert_ok(store_load(s, NULL));
}

/* For tests of edits alone: makes the files that they may list. */
static void
make_empty_files(const store *s)
{
	for (uint64_t i = 1; i < 9; i++)
	{
		char path[200];
		int fd;

		snprintf(path, sizeof path, "%s/%08llx.sst", s->dir, (unsigned long long) i);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
}

/* Commits family 1 of table 1, and so on, at seq. */
static void
make_family(wide_db *db, uint32_t id, uint64_t seq)
{
	uint8_t buf[2 * OP_MAX], *p = buf;
	catalog_op t = {.kind = OP_CREATE_TABLE, .table = id, .arg = 5},
			   f = {.kind = OP_CREATE_FAMILY, .table = id, .family = id, .name = "f"};

	snprintf(t.name, sizeof t.name, "t%u", id);
	wide_family_defaults(&f.opt);
	p = catalog_put_op(p, &t);
	p = catalog_put_op(p, &f);
	catalog_apply(db, (wide_bytes) {buf, (size_t) (p - buf)}, seq, false);
	assert_ok(segment_check(db));
}

static void
drop_family(wide_db *db, uint32_t id, uint64_t seq)
{
	uint8_t buf[OP_MAX];
	catalog_op f = {.kind = OP_DROP_FAMILY, .family = id};
	uint8_t *p = catalog_put_op(buf, &f);

	catalog_apply(db, (wide_bytes) {buf, (size_t) (p - buf)}, seq, false);
}

/* Returns a meta with rows [lo, hi], and makes an empty file with that number. */
static file_meta
make_file(wide_db *db, wide_family_id family, int level, const char *lo, const char *hi,
		  uint64_t seq)
{
	file_meta f = {.number = file_set_new_number(db),
				   .family = family,
				   .level = (uint8_t) level,
				   .bytes = 100,
				   .cells = 10,
				   .rows = 5,
				   .blocks = 1,
				   .ts_min = -5,
				   .ts_max = 77,
				   .seq_min = seq,
				   .seq_max = seq};
	char path[200];
	int fd;

	f.min_len = (uint8_t) (key_put_part(f.min_row, (const uint8_t *) lo, strlen(lo)) - f.min_row);
	f.max_len = (uint8_t) (key_put_part(f.max_row, (const uint8_t *) hi, strlen(hi)) - f.max_row);
	sst_file_path(db, f.number, path, sizeof path);
	fd = os_real()->open(os_real(), path, O_RDWR | O_CREAT);
	assert_true(fd >= 0);
	os_real()->close(os_real(), fd);
	return f;
}

static bool
file_exists(wide_db *db, uint64_t number)
{
	char path[200];

	sst_file_path(db, number, path, sizeof path);
	return access(path, F_OK) == 0;
}

static void
add_files(wide_db *db, const file_meta *f, int n)
{
	version_edit e = {.add = f, .nadd = n, .memtable = -1};

	assert_ok(edit_apply(db, &e));
}

static void
remove_file(wide_db *db, uint64_t number)
{
	version_edit e = {.remove = &number, .nremove = 1, .memtable = -1};

	assert_ok(edit_apply(db, &e));
}

static void
remove_all(wide_db *db)
{
	bool did = true;

	while (did)
		assert_ok(remove_unneeded(db, &did));
}

/* ------------------------------------------------------------------- tests */

static void
test_pins_see_their_version(void **state)
{
	store s;
	version_pin a = {0}, b = {0}, c = {0};
	pin_ranges left;
	family_files fa, fb, fc;
	file_meta f[3];

	store_new(&s);
	make_family(s.db, 1, 10);
	f[0] = make_file(s.db, 1, 0, "a", "c", 100);
	f[1] = make_file(s.db, 1, 0, "b", "d", 200);
	f[2] = make_file(s.db, 1, 1, "a", "z", 50);
	add_files(s.db, f, 2);
	assert_ok(pin_take(s.db, &a));
	assert_ok(pin_files(s.db, &a, 1, &fa));
	assert_int_equal(fa.n, 2);
	assert_int_equal(fa.files[0].number, f[1].number); /* newest first */
	remove_file(s.db, f[0].number);
	assert_ok(pin_take(s.db, &b));
	add_files(s.db, &f[2], 1);
	assert_ok(pin_take(s.db, &c));
	/* b reads its list only now, after another change */
	assert_ok(pin_files(s.db, &b, 1, &fb));
	assert_ok(pin_files(s.db, &c, 1, &fc));
	assert_int_equal(fb.n, 1);
	assert_int_equal(fb.files[0].number, f[1].number);
	assert_int_equal(fc.n, 2);
	assert_int_equal(fc.files[1].number, f[2].number);
	assert_int_equal(fc.level_start[1], 1);
	assert_int_equal(fc.level_start[2], 2);
	assert_int_equal(fa.n, 2);
	assert_int_equal(fa.files[1].number, f[0].number);
	/* the removed file stays for pin a, and only for it */
	remove_all(s.db);
	assert_true(file_exists(s.db, f[0].number));
	pin_drop(s.db, &a);
	remove_all(s.db);
	assert_false(file_exists(s.db, f[0].number));
	assert_ok(pin_files(s.db, &b, 1, &fb));
	assert_int_equal(fb.n, 1);
	pin_drop(s.db, &b);
	pin_drop(s.db, &c);
	pin_read(s.db, &left);
	assert_int_equal(left.oldest, UINT64_MAX);
	store_close(&s);
	test_dir_drop(s.dir);
}

/* A file of a backup, or of the cluster before pg_upgrade, may be a hard link to one of the store.
 */
static void
test_hard_link(void **state)
{
	store s;
	file_meta f[2];
	char path[1100], other[1200];
	struct stat before, after;

	store_new(&s);
	make_family(s.db, 1, 10);
	f[0] = make_file(s.db, 1, 0, "a", "c", 100);
	f[1] = make_file(s.db, 1, 0, "b", "d", 200);
	add_files(s.db, f, 2);
	sst_file_path(s.db, f[0].number, path, sizeof path);
	snprintf(other, sizeof other, "%s.link", path);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(stat(other, &before), 0);
	remove_file(s.db, f[0].number);
	remove_all(s.db);
	assert_false(file_exists(s.db, f[0].number));
	assert_int_equal(stat(other, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(unlink(other), 0);
	store_close(&s);
	test_dir_drop(s.dir);
}

static void
test_reload(void **state)
{
	store s;
	version_pin p = {0};
	family_files l;
	file_meta f[2];
	version_edit e = {.memtable = -1, .flushed_seq = 5000, .restart_lsn = 4000};
	wide_table t;

	store_new(&s);
	make_family(s.db, 1, 10);
	f[0] = make_file(s.db, 1, 0, "a", "c", 100);
	f[1] = make_file(s.db, 1, 2, "a", "b", 50);
	f[1].flags = FILE_MAX_CUT | FILE_TS_ORDERED;
	add_files(s.db, f, 2);
	s.db->seg->commit.last_ts = 987654321;
	assert_ok(edit_apply(s.db, &e));
	log_synced = 0;
	make_family(s.db, 2, 6000);
	remove_file(s.db, f[0].number);
	assert_true(log_synced >= 6000); /* the catalog is durable before the manifest has it */
	for (int again = 0; again < 3; again++)
	{
		store_close(&s);
		assert_ok(store_load(&s, NULL));
		assert_int_equal(s.db->seg->set.flushed_seq, 5000);
		assert_int_equal(s.db->seg->set.restart_lsn, 4000);
		assert_int_equal(s.db->seg->commit.last_ts, 987654321);
		assert_true(file_set_new_number(s.db) > f[1].number);
		assert_ok(wide_table_by_id(s.db, NULL, 2, &t));
		assert_string_equal(t.name, "t2");
		assert_ok(pin_take(s.db, &p));
		assert_ok(pin_files(s.db, &p, 1, &l));
		assert_int_equal(l.n, 1);
		assert_memory_equal(&l.files[0], &f[1], sizeof f[1]);
		pin_drop(s.db, &p);
		/* the second round goes through a new manifest, the third through a record after it */
		e.flushed_seq = 0;
		assert_ok(edit_apply(s.db, &e));
	}
	store_close(&s);
	test_dir_drop(s.dir);
}

static void
test_move_keeps_the_file(void **state)
{
	store s;
	version_pin p = {0}, q = {0};
	family_files l;
	file_meta f;
	version_edit e = {.memtable = -1, .nadd = 1, .nremove = 1};
	uint64_t number;

	store_new(&s);
	make_family(s.db, 1, 10);
	f = make_file(s.db, 1, 1, "a", "c", 100);
	number = f.number;
	add_files(s.db, &f, 1);
	assert_ok(pin_take(s.db, &p));
	f.level = 2;
	e.add = &f;
	e.remove = &number;
	assert_ok(edit_apply(s.db, &e));
	assert_ok(pin_take(s.db, &q));
	assert_ok(pin_files(s.db, &p, 1, &l));
	assert_int_equal(l.n, 1);
	assert_int_equal(l.files[0].level, 1);
	assert_ok(pin_files(s.db, &q, 1, &l));
	assert_int_equal(l.n, 1);
	assert_int_equal(l.files[0].level, 2);
	pin_drop(s.db, &p);
	pin_drop(s.db, &q);
	remove_all(s.db);
	assert_true(file_exists(s.db, number));
	assert_int_equal(s.db->seg->set.ndead, 0);
	remove_file(s.db, number);
	remove_all(s.db);
	assert_false(file_exists(s.db, number));
	store_close(&s);
	test_dir_drop(s.dir);
}

static void
test_drop_waits_for_the_manifest(void **state)
{
	store s;
	file_meta f;
	version_edit e = {.memtable = -1};

	store_new(&s);
	make_family(s.db, 1, 10);
	f = make_file(s.db, 1, 0, "a", "c", 100);
	add_files(s.db, &f, 1);
	drop_family(s.db, 1, 2000);
	remove_all(s.db);
	assert_true(file_exists(s.db, f.number));
	assert_true(file_set_dirty(s.db));
	log_synced = 0;
	assert_ok(edit_apply(s.db, &e));
	assert_true(log_synced >= 2000);
	assert_false(file_set_dirty(s.db));
	remove_all(s.db);
	assert_false(file_exists(s.db, f.number));
	store_close(&s);
	assert_ok(store_load(&s, NULL));
	assert_int_equal(s.db->seg->set.nfiles, 0);
	store_close(&s);
	test_dir_drop(s.dir);
}

static void
test_link(void **state)
{
	store s;
	file_meta f;
	version_pin p = {0};
	family_files l;
	version_edit e = {.memtable = -1};

	store_new(&s);
	make_family(s.db, 1, 10);
	f = make_file(s.db, 1, 0, "a", "c", 0);
	assert_ok(file_set_reserve(s.db, 1));
	assert_int_equal(file_set_reserve(s.db, 64), WIDE_FULL);
	f.global_seq = 3000;
	file_set_link(s.db, &f, 1);
	assert_int_equal(s.db->seg->set.reserved_files, 0);
	assert_ok(pin_take(s.db, &p));
	assert_ok(pin_files(s.db, &p, 1, &l));
	assert_int_equal(l.n, 1);
	assert_int_equal(l.files[0].seq_max, 3000);
	pin_drop(s.db, &p);
	log_synced = 0;
	assert_ok(edit_apply(s.db, &e));
	assert_true(log_synced >= 3000);
	store_close(&s);
	assert_ok(store_load(&s, NULL));
	assert_int_equal(s.db->seg->set.nfiles, 1);
	/* replay links it again: it is in the set already */
	atomic_store(&s.db->seg->state, WIDE_RECOVERING);
	file_set_link(s.db, &f, 1);
	assert_int_equal(s.db->seg->set.nfiles, 1);
	/* a file that the manifest does not contain */
	f.number = 1000;
	file_set_link(s.db, &f, 1);
	assert_int_equal(s.db->seg->set.nfiles, 2);
	/* recovery numbers new files in another range */
	assert_true(file_set_new_number(s.db) >= FILE_REPLAYED);
	assert_int_equal(atomic_load(&s.db->seg->set.next_file), 1001);
	/* flushed long ago, and compacted away since */
	s.db->seg->set.flushed_seq = 3000;
	f.number = 2000;
	file_set_link(s.db, &f, 1);
	assert_int_equal(s.db->seg->set.nfiles, 2);
	store_close(&s);
	test_dir_drop(s.dir);
}

static void
test_full(void **state)
{
	store s;
	file_meta f[65];
	version_edit e = {.memtable = -1, .add = f, .nadd = 65};

	store_new(&s);
	make_family(s.db, 1, 10);
	for (int i = 0; i < 65; i++)
		f[i] = make_file(s.db, 1, 0, "a", "b", 100);
	assert_int_equal(edit_apply(s.db, &e), WIDE_FULL);
	assert_ok(segment_check(s.db));
	e.nadd = 64;
	assert_ok(edit_apply(s.db, &e));
	e.nadd = 1;
	assert_int_equal(edit_apply(s.db, &e), WIDE_FULL);
	store_close(&s);
	test_dir_drop(s.dir);
}

static bool
reaches_nothing(void *ctx, uint64_t lsn)
{
	return false;
}

/* The log has nothing from before the newest state. */
static void
log_short(wide_log *log)
{
	log->reaches = reaches_nothing;
}

/* Flips every byte of the manifest in turn, and cuts it everywhere.  copied: its copy is there, and
 * the change has no effect; else loading fails, or the change has no effect on the set. */
static void
damage_manifest(store *s, const char *path, bool copied)
{
	uint8_t data[4096];
	int64_t size;
	int fd = os_real()->open(os_real(), path, O_RDWR), loaded = 0;

	size = os_real()->pread(os_real(), fd, data, sizeof data, 0);
	assert_true(size > 100 && size < (int64_t) sizeof data);
	for (int64_t i = 0; i < size; i++)
	{
		uint8_t bad = data[i] ^ 0x41;
		wide_status st;

		os_real()->pwrite(os_real(), fd, &bad, 1, (uint64_t) i);
		st = store_load(s, NULL);
		assert_true(st == WIDE_OK || (st == WIDE_CORRUPT && !copied));
		if (st == WIDE_OK)
		{
			/* padding, or the last record */
			loaded++;
			assert_true(s->db->seg->set.nfiles == 3 || (s->db->seg->set.nfiles == 2 && !copied));
		}
		store_close(s);
		os_real()->pwrite(os_real(), fd, &data[i], 1, (uint64_t) i);
	}
	assert_true(loaded > 0 && (copied || loaded < 150));
	for (int64_t i = size - 1; i >= 0; i -= 7)
	{
		wide_status st;

		assert_int_equal(os_real()->truncate(os_real(), fd, (uint64_t) i), 0);
		st = store_load(s, NULL);
		assert_true(st == WIDE_OK || (st == WIDE_CORRUPT && !copied));
		if (copied)
			assert_int_equal(s->db->seg->set.nfiles, 3);
		store_close(s);
	}
	assert_int_equal(os_real()->pwrite(os_real(), fd, data, (size_t) size, 0), size);
	os_real()->close(os_real(), fd);
}

static void
test_damage(void **state)
{
	store s;
	file_meta f;
	char path[200], copy[220], current[200], away[200];

	store_new(&s);
	make_family(s.db, 1, 10);
	for (int i = 0; i < 3; i++)
	{
		f = make_file(s.db, 1, 0, "a", "c", 100);
		add_files(s.db, &f, 1);
	}
	snprintf(path, sizeof path, "%s/manifest-%08llx", s.dir,
			 (unsigned long long) s.db->seg->set.manifest_number);
	snprintf(copy, sizeof copy, "%s.copy", path);
	snprintf(current, sizeof current, "%s/CURRENT", s.dir);
	snprintf(away, sizeof away, "%s/away", s.dir);
	store_close(&s);
	opening = log_short;
	looking = true;
	damage_manifest(&s, path, true);
	damage_manifest(&s, copy, true);
	/* without CURRENT the newest manifest counts */
	unlink(current);
	assert_ok(store_load(&s, NULL));
	assert_int_equal(s.db->seg->set.nfiles, 3);
	store_close(&s);
	assert_int_equal(rename(path, away), 0);
	assert_ok(store_load(&s, NULL));
	assert_int_equal(s.db->seg->set.nfiles, 3);
	store_close(&s);
	assert_int_equal(rename(away, path), 0);
	unlink(copy);
	damage_manifest(&s, path, false);
	/* what is missing is written again */
	looking = false;
	assert_ok(store_load(&s, NULL));
	assert_int_equal(s.db->seg->set.manifest_number, 2);
	store_close(&s);
	assert_true(test_exists(current));
	snprintf(path, sizeof path, "%s/manifest-00000002", s.dir);
	snprintf(copy, sizeof copy, "%s.copy", path);
	unlink(copy);
	assert_ok(store_load(&s, NULL));
	store_close(&s);
	unlink(path);
	assert_int_equal(store_load(&s, NULL), WIDE_CORRUPT); /* there are sorted files */
	store_close(&s);
	opening = NULL;
	test_dir_drop(s.dir);
}

/* The same record is damaged in the manifest and in its copy: the state before it, if the log
 * reaches back to that. */
static void
test_damage_of_both(void **state)
{
	store s;
	file_meta f;
	char path[200], copy[220];
	uint64_t at[4];

	store_new(&s);
	make_family(s.db, 1, 10);
	for (int i = 0; i < 3; i++)
	{
		at[i] = s.db->seg->set.manifest_size;
		f = make_file(s.db, 1, 0, "a", "c", 100);
		add_files(s.db, &f, 1);
	}
	snprintf(path, sizeof path, "%s/manifest-%08llx", s.dir,
			 (unsigned long long) s.db->seg->set.manifest_number);
	snprintf(copy, sizeof copy, "%s.copy", path);
	store_close(&s);
	for (int i = 0; i < 2; i++)
	{
		int fd = os_real()->open(os_real(), i == 0 ? path : copy, O_RDWR);

		assert_int_equal(os_real()->pwrite(os_real(), fd, "x", 1, at[1] + 20), 1);
		os_real()->close(os_real(), fd);
	}
	assert_ok(store_load(&s, NULL));
	assert_int_equal(s.db->seg->set.nfiles, 1);
	assert_true(s.db->seg->set.older);
	store_close(&s);
	opening = log_short;
	assert_int_equal(store_load(&s, NULL), WIDE_CORRUPT);
	store_close(&s);
	opening = NULL;
	test_dir_drop(s.dir);
}

/*
 * Every I/O call of a few edits fails, or is the last before a power failure:
 * the set is as before the edit or after it.
 */
static void
test_edit_faults(void **state)
{
	for (int mode = 0; mode < 3; mode++)
		for (uint64_t n = 1; n < 60; n++)
		{
			store s;
			os_fault_plan plan = {.at = n,
								  .error = mode == 0   ? 0
										   : mode == 1 ? 5
													   : 28,
								  .sticky = mode == 2};
			wide_os *os;
			int acked = -1, tried = -1;
			uint64_t calls;
			wide_status st;

			test_dir_make(s.dir, sizeof s.dir);
			os = os_faulty(s.dir, &plan);
			st = store_load(&s, os);
			if (st == WIDE_OK)
			{
				acked = tried = 0;
				make_family(s.db, 1, 10);
				for (int i = 0; i < 4 && st == WIDE_OK; i++)
				{
					file_meta f = {.number = file_set_new_number(s.db), .family = 1};
					version_edit e = {.add = &f, .nadd = 1, .memtable = -1};

					tried++;
					/* sometimes a new manifest */
					if (i == 2)
						s.db->seg->set.manifest_size = UINT64_MAX;
					st = edit_apply(s.db, &e);
					acked += st == WIDE_OK;
				}
				/* refused before anything was written, or poisoned */
				if (st != WIDE_OK && segment_check(s.db) == WIDE_OK)
					assert_int_equal(s.db->seg->set.nfiles, acked);
			}
			calls = os_faulty_calls(os);
			store_close(&s);
			if (mode == 0)
				os_faulty_crash(os, n * 7 + 1);
			os_faulty_free(os);
			if (tried > 0)
				make_empty_files(&s);
			st = store_load(&s, NULL);
			if (st != WIDE_OK)
				fail_msg("mode %d call %llu: %s", mode, (unsigned long long) n, wide_error_text());
			assert_ok(orphans_remove(s.db));
			if (tried < 0)
				assert_int_equal(s.db->seg->set.nfiles, 0);
			else
				assert_true((int) s.db->seg->set.nfiles >= acked &&
							(int) s.db->seg->set.nfiles <= tried);
			/* CURRENT, one manifest and its copy */
			assert_int_equal(test_dir_count(s.dir), 3 + s.db->seg->set.nfiles);
			store_close(&s);
			test_dir_drop(s.dir);
			if (calls < n)
				break;
		}
}

/* If the disk is full for one call, that edit fails, and the same edit succeeds afterwards. */
static void
test_disk_full_for_a_while(void **state)
{
	int alive = 0;

	for (uint64_t n = 1; n < 40; n++)
	{
		store s;
		os_fault_plan plan = {.at = n, .error = 28};
		wide_os *os;
		int failed = 0;
		bool dead = false;

		test_dir_make(s.dir, sizeof s.dir);
		os = os_faulty(s.dir, &plan);
		if (store_load(&s, os) != WIDE_OK)
		{
			/* a failed creation of a store has done no harm either */
			store_close(&s);
			os_faulty_free(os);
			assert_ok(store_load(&s, NULL));
			store_close(&s);
			test_dir_drop(s.dir);
			continue;
		}
		make_family(s.db, 1, 10);
		for (int i = 0; i < 4 && !dead; i++)
		{
			file_meta f = {.number = file_set_new_number(s.db), .family = 1};
			version_edit e = {.add = &f, .nadd = 1, .memtable = -1};

			if (i == 2)
				s.db->seg->set.manifest_size = UINT64_MAX; /* a new manifest */
			if (edit_apply(s.db, &e) == WIDE_OK)
				continue;
			failed++;
			dead = segment_check(s.db) != WIDE_OK;
			if (!dead)
			{
				assert_int_equal(s.db->seg->set.nfiles, i);
				assert_int_equal(s.db->seg->set.reserved_files, 0);
				assert_ok(edit_apply(s.db, &e));
			}
		}
		alive += failed > 0 && !dead;
		store_close(&s);
		os_faulty_free(os);
		make_empty_files(&s);
		assert_ok(store_load(&s, NULL));
		if (!dead)
		{
			assert_int_equal(s.db->seg->set.nfiles, 4);
			assert_int_equal(s.db->seg->catalog.nfamilies, 1);
		}
		assert_ok(orphans_remove(s.db));
		assert_int_equal(test_dir_count(s.dir), 3 + s.db->seg->set.nfiles);
		store_close(&s);
		test_dir_drop(s.dir);
	}
	/*
	 * the writes of three records, and those of a new manifest and CURRENT,
	 * with the calls around them
	 */
	assert_true(alive >= 8);
}

static void
test_overlap(void **state)
{
	file_meta f = {.min_len = 4, .max_len = 2, .flags = FILE_MAX_CUT};

	memcpy(f.min_row, "ab\0\1", 4);
	memcpy(f.max_row, "cd", 2);
	assert_true(file_meta_overlaps_range(&f, NULL, 0, NULL, 0));
	assert_true(file_meta_overlaps_range(&f, (const uint8_t *) "cdzzz\0\1", 7, NULL, 0));
	assert_false(file_meta_overlaps_range(&f, (const uint8_t *) "ce\0\1", 4, NULL, 0));
	assert_false(file_meta_overlaps_range(&f, NULL, 0, (const uint8_t *) "ab\0\1", 4));
	assert_true(file_meta_overlaps_range(&f, NULL, 0, (const uint8_t *) "ab\0\2", 4));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pins_see_their_version),
		cmocka_unit_test(test_hard_link),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_move_keeps_the_file),
		cmocka_unit_test(test_drop_waits_for_the_manifest),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_damage_of_both),
		cmocka_unit_test(test_edit_faults),
		cmocka_unit_test(test_disk_full_for_a_while),
		cmocka_unit_test(test_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
