/*
 * copy_test.c - a copy of the directory taken while the store is in use, and
 * stores that belong to another log.
 *
 * The copy is made as PostgreSQL's base backup makes it: the directory is
 * listed once, then each file is copied at some later time, or left out if it
 * is gone; meanwhile the store flushes, compacts and starts new manifests.
 * The log is copied last.  The copy must open, and have everything that the
 * log has.
 */
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/set/pin.h"

static bool held;
static bool gap; /* the host reports that the start of the log is lost */
static wide_status (*real_replay)(void *ctx, uint64_t from, wide_replay_fn fn, void *arg);
static uint64_t log_id;
static uint32_t log_branch;
static uint64_t log_past;		 /* other branches belong to this log up to here */
static uint64_t log_predecessor; /* id of the log before this one */

static uint64_t
pick(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 8;
}

static bool
files_are_held(void *ctx)
{
	return held;
}

static void
identify(void *ctx, uint64_t *id, uint32_t *branch)
{
	*id = log_id;
	*branch = log_branch;
}

static bool
contains(void *ctx, uint32_t branch, uint64_t lsn)
{
	return branch == 0 || branch == log_branch || (branch < log_branch && lsn <= log_past);
}

static uint64_t
log_before(void *ctx)
{
	return log_predecessor;
}

static wide_status
replay_with_gap(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	wide_replay_event ev = {.kind = WIDE_REPLAY_GAP, .start = from, .lsn = from};

	if (gap)
		TRY(fn(arg, &ev));
	return real_replay(ctx, from, fn, arg);
}

/* store_open with the callbacks of this file */
static wide_status
open_store(store *s)
{
	wide_host host = {
		.ctx = s, .interrupted = store_interrupted, .now = store_now, .files_held = files_are_held};
	size_t size = wide_segment_size(&s->config);
	wide_status st;

	s->db = NULL;
	s->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(s->base, MAP_FAILED);
	assert_ok(wide_segment_format(s->base, &s->config));
	s->log_shared = file_log_map();
	assert_non_null(s->log_shared);
	assert_ok(file_log_open(s->dir, s->log_shared, s->base, NULL, &s->log));
	s->log.identity = identify;
	s->log.contains = contains;
	s->log.predecessor = log_before;
	real_replay = s->log.replay;
	s->log.replay = replay_with_gap;
	assert_ok(wide_attach(s->base, s->dir, &host, &s->log, NULL, &s->db));
	st = wide_recover(s->db);
	if (st == WIDE_OK)
		return st;
	wide_detach(s->db);
	file_log_close(&s->log);
	file_log_unmap(s->log_shared);
	munmap(s->base, size);
	s->db = NULL;
	return st;
}

/* ------------------------------------------------------------------ copying */

typedef struct listing
{
	int n;
	char name[400][40];
} listing;

static int
list_name(void *arg, const char *name)
{
	listing *l = arg;

	if (name[0] == '.' || strncmp(name, "log.", 4) == 0)
		return 0;
	assert_true(l->n < 400 && strlen(name) < sizeof l->name[0]);
	strcpy(l->name[l->n++], name);
	return 0;
}

/* Returns false if the file is gone. */
static bool
copy_file(const char *from, const char *to, const char *name)
{
	char path[300], buf[8192];
	FILE *in, *out;
	size_t n;

	snprintf(path, sizeof path, "%s/%s", from, name);
	in = fopen(path, "rb");
	if (in == NULL)
		return false;
	snprintf(path, sizeof path, "%s/%s", to, name);
	out = fopen(path, "wb");
	assert_non_null(out);
	while ((n = fread(buf, 1, sizeof buf, in)) > 0)
		assert_int_equal(fwrite(buf, 1, n, out), n);
	fclose(in);
	fclose(out);
	return true;
}

static int
copy_log(void *arg, const char *name)
{
	char **dirs = arg;

	if (strncmp(name, "log.", 4) == 0)
		assert_true(copy_file(dirs[0], dirs[1], name));
	return 0;
}

/* One random change of the store. */
static void
live(store *s, wide_family_id *f, uint64_t *seed)
{
	uint64_t what = pick(seed) % 20;
	char row[16], value[40];

	snprintf(row, sizeof row, "r%d", (int) (pick(seed) % 50));
	snprintf(value, sizeof value, "v%d", (int) (pick(seed) % 1000));
	if (what < 12)
		store_put(s, f[pick(seed) % 2], row, "q", WIDE_TS_AUTO, value);
	else if (what < 14)
		store_delete(s, WIDE_DELETE_COLUMN, f[pick(seed) % 2], row, "q", WIDE_TS_MAX);
	else if (what < 17)
		assert_ok(wide_flush(s->db));
	else if (what < 18)
		assert_ok(wide_compact(s->db, f[pick(seed) % 2]));
	else if (what < 19)
		store_work(s);
	else
		s->db->seg->set.manifest_size = pick(seed) % 2 ? (uint64_t) 8 << 20
													   : s->db->seg->set.manifest_size;
	s->now += 1000;
}

/* copy_round() uses manifest_size only as a limit: restore a real one before an edit */
static void
settle_manifest(store *s)
{
	if (s->db->seg->set.manifest_size == (uint64_t) 8 << 20)
		s->db->seg->set.manifest_size = UINT64_MAX;
}

static void
copy_round(uint64_t *seed, int *older)
{
	store s, c;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f[2];
	listing *l = calloc(1, sizeof *l);
	char *dirs[2], *want, *got;

	store_init(&s);
	assert_ok(open_store(&s));
	wide_family_defaults(&opt);
	opt.versions = 3;
	store_table(&s, &opt, 2, &t, f);
	for (int i = (int) (pick(seed) % 60); i > 0; i--)
	{
		live(&s, f, seed);
		settle_manifest(&s);
	}
	/* from here on a copy depends on the log; the flush writes at least one edit to the manifest */
	held = true;
	assert_ok(wide_flush(s.db));
	os_real()->list(os_real(), s.dir, list_name, l);
	store_init(&c);
	for (int i = 0; i < l->n; i++)
	{
		int k = i + (int) (pick(seed) % (uint64_t) (l->n - i));
		char name[40];

		strcpy(name, l->name[k]);
		memmove(l->name[k], l->name[i], sizeof name);
		copy_file(s.dir, c.dir, name);
		for (int n = (int) (pick(seed) % 6); n > 0; n--)
		{
			live(&s, f, seed);
			/* while files are held, only recovery starts a new manifest */
			if (s.db->seg->set.manifest_size == (uint64_t) 8 << 20)
			{
				store_close(&s);
				assert_ok(open_store(&s));
			}
		}
	}
	dirs[0] = s.dir;
	dirs[1] = c.dir;
	os_real()->list(os_real(), s.dir, copy_log, dirs);
	want = store_text(&s, NULL, f, 2);
	held = false;
	store_work(&s);
	store_close(&s);
	assert_ok(open_store(&s));
	assert_int_equal(store_verify(&s), 0);
	got = store_text(&s, NULL, f, 2);
	assert_string_equal(got, want);
	free(got);
	store_drop(&s);

	if (open_store(&c) != WIDE_OK)
		fail_msg("the copy does not open: %s", wide_error_text());
	for (int i = 0; i < 2; i++)
	{
		got = store_text(&c, NULL, f, 2);
		assert_string_equal(got, want);
		free(got);
		assert_int_equal(store_verify(&c), 0);
		store_put(&c, f[0], "own", "q", 1, "x");
		store_delete(&c, WIDE_DELETE_VERSION, f[0], "own", "q", 1);
		assert_ok(wide_flush(c.db));
		store_close(&c);
		assert_ok(open_store(&c));
	}
	*older += 1;
	store_drop(&c);
	free(want);
	free(l);
}

static void
test_copies(void **state)
{
	uint64_t seed = 20260101;
	int rounds = 0;

	log_id = 4711;
	log_branch = 1;
	while (rounds < 60)
		copy_round(&seed, &rounds);
}

/* If a file is missing, an older state is used; if there is no such state, what the file has is
 * lost. */
static void
test_missing(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	family_files files;
	version_pin pin = {0};
	char newest[200], oldest[200], *got;
	buffer read = {0};

	store_init(&s);
	assert_ok(open_store(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	for (int i = 0; i < 3; i++)
	{
		char value[2] = {(char) ('a' + i)};

		store_put(&s, f, "r", value, 1, value);
		assert_ok(wide_flush(s.db));
	}
	assert_ok(pin_take(s.db, &pin));
	assert_ok(pin_files(s.db, &pin, f, &files));
	assert_int_equal(files.n, 3);
	sst_file_path(s.db, files.files[0].number, newest, sizeof newest);
	sst_file_path(s.db, files.files[2].number, oldest, sizeof oldest);
	pin_drop(s.db, &pin);
	store_close(&s);
	/*
	 * A log without its start does not affect the newest state, but an older
	 * state would lack newer files.
	 */
	gap = true;
	assert_ok(open_store(&s));
	store_close(&s);
	unlink(newest);
	assert_int_equal(open_store(&s), WIDE_CORRUPT);
	assert_non_null(strstr(wide_error_text(), "missing"));
	gap = false;
	assert_ok(open_store(&s));
	got = store_text(&s, NULL, &f, 1);
	assert_string_equal(got, "0/r/a@1=a;0/r/b@1=b;0/r/c@1=c;");
	free(got);
	assert_ok(wide_flush(s.db));
	store_close(&s);
	/* the manifest was restarted with these files: no state exists without them */
	unlink(oldest);
	assert_ok(open_store(&s));
	assert_int_equal(store_read(&s, NULL, &f, 1, &read), WIDE_CORRUPT);
	assert_non_null(strstr(wide_error_text(), "missing"));
	buffer_free(&read);
	store_close(&s);
	test_dir_drop(s.dir);
}

static void
test_other_log(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	uint64_t position;

	log_id = 1;
	log_branch = 1;
	store_init(&s);
	assert_ok(open_store(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "r", "q", 1, "v");
	assert_ok(wide_flush(s.db));
	position = s.db->seg->set.flushed_seq;
	store_close(&s);
	log_id = 2;
	assert_int_equal(open_store(&s), WIDE_CONFLICT);
	log_id = 1;
	log_branch = 2;
	log_past = position - 1;
	assert_int_equal(open_store(&s), WIDE_CONFLICT);
	log_past = position;
	assert_ok(open_store(&s));
	store_put(&s, f, "r", "q", 2, "w");
	assert_ok(wide_flush(s.db));
	store_close(&s);
	/* the store is on the new branch now */
	log_past = 0;
	assert_ok(open_store(&s));
	store_close(&s);
	log_branch = 1;
	assert_int_equal(open_store(&s), WIDE_CONFLICT);
	test_dir_drop(s.dir);
}

/* A store whose log has ended becomes one of the log that begins after it, and of no other. */
static void
test_taken_over(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	uint64_t position;

	log_id = 1;
	log_branch = 5;
	store_init(&s);
	assert_ok(open_store(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "r", "q", 1, "v");
	assert_ok(wide_flush(s.db));
	position = s.db->seg->set.flushed_seq;
	store_close(&s);
	log_id = 2;
	log_branch = 1;
	log_predecessor = 3;
	assert_int_equal(open_store(&s), WIDE_CONFLICT);
	log_predecessor = 1;
	assert_ok(open_store(&s));
	/* nothing of the other log is needed */
	assert_true(s.db->seg->set.restart_lsn >= position);
	assert_true(s.db->seg->set.flushed_seq >= position);
	store_put(&s, f, "r", "q", 2, "w");
	store_close(&s);
	/* the manifest says so already: the log before it does not count any more */
	log_predecessor = 0;
	assert_ok(open_store(&s));
	assert_true(s.db->seg->memtables[s.db->seg->commit.active].cells > 0);
	store_close(&s);
	log_id = 1;
	log_branch = 5;
	assert_int_equal(open_store(&s), WIDE_CONFLICT);
	log_predecessor = 0;
	test_dir_drop(s.dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_other_log),
		cmocka_unit_test(test_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
