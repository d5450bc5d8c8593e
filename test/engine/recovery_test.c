/*
 * recovery_test.c - opening: which process may, what is recovered, what is
 * refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include "test/host/kill_point.h"
#include "test/host/os_fault.h"
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/edit.h"
#include "engine/set/file_set.h"
#include "engine/batch/batch_state.h"

static void
test_empty_and_again(void **state)
{
	store s;

	store_init(&s);
	for (int i = 0; i < 3; i++)
	{
		assert_ok(store_open(&s));
		assert_int_equal(wide_segment_state(s.base), WIDE_RUNNING);
		assert_int_equal(wide_recover(s.db), WIDE_INVALID);
		assert_int_equal(wide_work(s.db), WIDE_END);
		store_close(&s);
	}
	store_drop(&s);
}

/* Creates an empty file. */
static void
touch(const char *dir, const char *name)
{
	char path[1200];
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static bool
is_there(const char *dir, const char *name)
{
	char path[1200];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return access(path, F_OK) == 0;
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

/* Sorted files are in a directory of their own. */
static void
test_files_directory(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	char files[1024], number[40];
	char *got;
	buffer out = {0};

	store_init(&s);
	test_dir_make(files, sizeof files);
	s.files = files;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "a", "q", 1, "one");
	assert_ok(wide_flush(s.db));
	store_put(&s, f, "b", "q", 1, "two");
	snprintf(number, sizeof number, "%08llx.sst",
			 (unsigned long long) atomic_load(&s.db->seg->set.next_file) - 1);
	assert_true(is_there(files, number));
	assert_false(is_there(s.dir, number));
	assert_true(is_there(s.dir, "CURRENT"));
	store_close(&s);

	/* orphans are removed where sorted files are; those in the other place are not the store's */
	touch(files, "000000ff.sst");
	touch(files, "000000fe.sst.tmp");
	touch(s.dir, "000000fd.sst");
	touch(s.dir, "manifest-000000ff.tmp");
	assert_ok(store_open(&s));
	assert_false(is_there(files, "000000ff.sst"));
	assert_false(is_there(files, "000000fe.sst.tmp"));
	assert_true(is_there(s.dir, "000000fd.sst"));
	assert_false(is_there(s.dir, "manifest-000000ff.tmp"));
	assert_int_equal(store_verify(&s), 0);
	got = store_text(&s, NULL, &f, 1);
	assert_non_null(strstr(got, "one"));
	assert_non_null(strstr(got, "two"));
	free(got);
	assert_ok(wide_flush(s.db));
	store_close(&s);

	/* without its files it is damaged, not empty */
	s.files = NULL;
	s.opening = log_short;
	assert_int_equal(store_open(&s), WIDE_CORRUPT);
	s.files = files;
	assert_ok(store_open(&s));
	/* a single file that is missing is one that was lost */
	assert_ok(wide_compact(s.db, f));
	store_close(&s);
	s.files = NULL;
	assert_ok(store_open(&s));
	assert_int_equal(store_read(&s, NULL, &f, 1, &out), WIDE_CORRUPT);
	buffer_free(&out);
	store_close(&s);
	s.files = files;
	assert_ok(store_open(&s));
	got = store_text(&s, NULL, &f, 1);
	assert_non_null(strstr(got, "two"));
	free(got);
	store_drop(&s);
	test_dir_drop(files);
}

static void
test_log_and_files(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	char *got;
	uint64_t flushed;
	int64_t last_ts;
	wide_batch *b;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.versions = 100;
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "a", "q", 1, "one");
	assert_ok(wide_flush(s.db));
	flushed = s.db->seg->set.flushed_seq;
	assert_true(flushed > 0);
	store_put(&s, f, "a", "q", 2, "two");
	store_delete(&s, WIDE_DELETE_COLUMN, f, "a", "q", 1);
	store_put(&s, f, "b", "q", WIDE_TS_AUTO, "auto");
	last_ts = s.db->seg->commit.last_ts;
	assert_int_equal(last_ts, s.now);
	/* prepared, not finished: it is gone */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, f, text("c"), text("q"), 1, INT64_MIN, 0, text("no")));
	assert_ok(wide_batch_prepare(b, 0));
	wide_batch_free(b);
	for (int i = 0; i < 3; i++)
	{
		store_close(&s);
		assert_ok(store_open(&s));
		assert_int_equal(s.db->seg->commit.last_ts, last_ts);
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, "0/a/q@2=two;0/b/q@1700000000000000=auto;");
		free(got);
		assert_int_equal(store_verify(&s), 0);
		if (i == 1)
			assert_ok(wide_flush(s.db));
		/* the host's clock went back, timestamps do not */
		s.now -= 1000000;
	}
	store_put(&s, f, "d", "q", WIDE_TS_AUTO, "later");
	assert_true(s.db->seg->commit.last_ts > last_ts);
	store_drop(&s);
}

/*
 * Puts n rows of 800 bytes, "mark000000" and so on: into the batch, or (NULL)
 * each with a separate commit.
 */
static void
put_rows(store *s, wide_batch *b, wide_family_id f, const char *mark, int n)
{
	char key[24], value[800];

	memset(value, 'v', sizeof value - 1);
	value[sizeof value - 1] = 0;
	for (int i = 0; i < n; i++)
	{
		snprintf(key, sizeof key, "%s%06d", mark, i);
		if (b == NULL)
			store_put(s, f, key, "q", WIDE_TS_AUTO, value);
		else
			assert_ok(wide_batch_put(b, f, text(key), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
									 text(value)));
	}
}

/* Everything reads as before, and verify finds no problems. */
static void
assert_stays(store *s, wide_family_id f, const char *before)
{
	char *after = store_text(s, NULL, &f, 1);

	assert_string_equal(before, after);
	free(after);
	assert_int_equal(store_verify(s), 0);
}

/* Memtables are smaller than when the log was written: batches that do not fit become files. */
static void
test_smaller_memtables(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;
	char *before;

	store_init(&s);
	s.config.memtable_size = 8 * 1024 * 1024;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	/* the large batch itself creates the family */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "t", &t));
	assert_ok(wide_batch_bind(b, t, 77));
	assert_ok(wide_batch_create_family(b, t, "f0", &opt, &f));
	put_rows(&s, b, f, "", 3000);
	assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, f, text("000001"), text("q"), WIDE_TS_MAX));
	assert_ok(store_commit(&s, b, NULL));
	assert_int_equal(s.db->seg->set.nfiles, 0);
	store_put(&s, f, "000002", "q", WIDE_TS_AUTO, "newer");
	before = store_text(&s, NULL, &f, 1);
	s.config.memtable_size = 1024 * 1024;
	for (int i = 0; i < 3; i++)
	{
		store_close(&s);
		assert_ok(store_open(&s));
		assert_stays(&s, f, before);
		assert_true(s.db->seg->set.nfiles > 0);
		if (i == 1)
			assert_ok(wide_compact(s.db, f));
	}
	free(before);
	store_drop(&s);
}

/*
 * The same in the middle of a long log: recovery writes files for the large
 * batch and for memtables.  No file written later may have one of their
 * numbers.
 */
static void
test_numbers_afterwards(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;
	char *before;

	store_init(&s);
	s.config.memtable_size = 8 * 1024 * 1024;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	assert_ok(wide_batch_new(s.db, &b));
	put_rows(&s, b, f, "large", 1000);
	assert_ok(store_commit(&s, b, NULL));
	put_rows(&s, NULL, f, "small", 2000);
	assert_int_equal(s.db->seg->set.nfiles, 0);
	before = store_text(&s, NULL, &f, 1);
	store_close(&s);
	s.config.memtable_size = 256 * 1024;
	assert_ok(store_open(&s));
	assert_true(s.db->seg->set.nfiles > 2);
	assert_stays(&s, f, before);
	free(before);
	for (int i = 0; i < 10; i++)
	{
		put_rows(&s, NULL, f, "later", i + 1);
		assert_ok(wide_flush(s.db));
	}
	assert_true(atomic_load(&s.db->seg->set.next_file) < FILE_REPLAYED);
	before = store_text(&s, NULL, &f, 1);
	assert_int_equal(store_verify(&s), 0);
	store_close(&s);
	assert_ok(store_open(&s));
	assert_stays(&s, f, before);
	free(before);
	store_drop(&s);
}

/*
 * The parts of an external batch are older than the memtable that is active
 * at its finish, and the batch is not in that memtable: it becomes files, or
 * creates a table. Recovery flushes on the way, then crashes; the next
 * recovery needs the parts again.
 */
static void
test_parts_stay(void **state)
{
	for (int kind = 0; kind < 2; kind++)
	{
		store s;
		wide_family_options opt;
		wide_table_id t, t2;
		wide_family_id f;
		wide_batch *b;
		char *before;
		uint64_t lsn;

		store_init(&s);
		s.config.memtable_size = 8 * 1024 * 1024;
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		store_table(&s, &opt, 1, &t, &f);
		assert_ok(wide_batch_new(s.db, &b));
		if (kind == 0)
			put_rows(&s, b, f, "large", 1000);
		else
			assert_ok(wide_batch_create_table(b, 1, "t2", &t2));
		file_log_set_xid(&s.log, 100);
		assert_ok(wide_batch_prepare(b, 100));
		assert_int_equal(b->prepared.nfiles, 0);
		/* more than several memtables of the next start */
		put_rows(&s, NULL, f, "small", 1500);
		assert_ok(file_log_decide(&s.log, 100, true));
		assert_ok(wide_batch_finish(b, &lsn));
		assert_ok(s.db->log.sync(s.db->log.ctx, lsn));
		assert_ok(wide_publish(s.db, lsn));
		wide_batch_free(b);
		/* so that memtables from before the finish are flushed after it */
		put_rows(&s, NULL, f, "later", 300);
		assert_int_equal(s.db->seg->set.nfiles, 0);
		before = store_text(&s, NULL, &f, 1);
		s.config.memtable_size = 256 * 1024;
		for (int i = 0; i < 3; i++)
		{
			store_close(&s);
			assert_ok(store_open(&s));
			assert_stays(&s, f, before);
		}
		free(before);
		store_drop(&s);
	}
}

/* The log contains more than fits into memtables: replay flushes as it goes. */
static void
test_long_log(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	char row[20], value[2001];
	char *before, *after;
	uint64_t seed = 5;

	store_init(&s);
	s.config.memtable_size = 2 * 1024 * 1024;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	for (int i = 0; i < 900; i++)
	{
		snprintf(row, sizeof row, "r%05d", (int) (rnd(&seed) % 100000));
		memset(value, 'a' + i % 26, 2000);
		value[2000] = 0;
		store_put(&s, f, row, "q", i, value);
	}
	before = store_text(&s, NULL, &f, 1);
	/* the segment of the next start is smaller */
	store_close(&s);
	s.config.memtable_size = 128 * 1024;
	assert_ok(store_open(&s));
	after = store_text(&s, NULL, &f, 1);
	assert_string_equal(before, after);
	free(after);
	assert_true(store_files(&s, f, -1) > 0);
	/* and the start after that begins half-way */
	store_close(&s);
	assert_ok(store_open(&s));
	after = store_text(&s, NULL, &f, 1);
	assert_string_equal(before, after);
	assert_int_equal(store_verify(&s), 0);
	free(before);
	free(after);
	store_drop(&s);
}

static void
test_external(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;
	char *got;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	for (int i = 0; i < 3; i++)
	{
		char row[8];

		snprintf(row, sizeof row, "x%d", i);
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, INT64_MIN, 0, text("v")));
		store_put(&s, f, "y", "q", i, "v");
		file_log_set_xid(&s.log, 100 + (uint64_t) i);
		assert_ok(wide_batch_prepare(b, 100 + (uint64_t) i));
		/* a flush between prepare and the decision must keep the log */
		assert_ok(wide_flush(s.db));
		assert_true(s.db->seg->set.restart_lsn <= atomic_load(&s.db->slot->prepare_lsn));
		if (i < 2)
			assert_ok(file_log_decide(&s.log, 100 + (uint64_t) i, i == 0));
		/* the process dies here: no finish (and freeing the batch logs nothing) */
		wide_batch_free(b);
		store_close(&s);
		assert_ok(store_open(&s));
		got = store_text(&s, NULL, &f, 1);
		assert_non_null(strstr(got, "x0/q@1=v"));
		assert_null(strstr(got, "x1"));
		assert_null(strstr(got, "x2"));
		free(got);
	}
	store_drop(&s);
}

/* The position up to which the log was synced, by any caller. */
static struct
{
	wide_log log;
	uint64_t upto;
} synced;

static wide_status
noting_sync(void *ctx, uint64_t lsn)
{
	if (lsn > synced.upto)
		synced.upto = lsn;
	return synced.log.sync(ctx, lsn);
}

/* Prepares and decides an external transaction that puts rows.  Returns the LSN of the decision. */
static uint64_t
decided(store *s, wide_family_id f, uint64_t xid, const char *const *rows, wide_batch **b)
{
	uint64_t lsn;

	assert_ok(wide_batch_new(s->db, b));
	for (; *rows != NULL; rows++)
		assert_ok(wide_batch_put(*b, f, text(*rows), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
								 text("v")));
	file_log_set_xid(&s->log, xid);
	assert_ok(wide_batch_prepare(*b, xid));
	assert_ok(file_log_decide(&s->log, xid, true));
	lsn = s->db->log.end(s->db->log.ctx);
	wide_batch_note_decided(*b, lsn);
	return lsn;
}

static uint64_t
finished(store *s, wide_batch *b)
{
	uint64_t lsn;

	assert_ok(wide_batch_finish(b, &lsn));
	assert_ok(wide_publish(s->db, lsn));
	wide_batch_free(b);
	return lsn;
}

/*
 * Finish records of external transactions are not synced, except where
 * recovery would give another result without them: two transactions have
 * written the same row and were finished in another order than decided, or
 * the manifest has a later timestamp.
 */
static void
test_finish_records(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *one, *two;
	uint64_t lsn;
	version_edit edit = {.memtable = -1};
	static const char *const rows[][3] = {{"a", "b"}, {"b", "c"}, {"c"}, {"d"}};

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	synced.log = s.db->log;
	s.db->log.sync = noting_sync;
	for (uint64_t i = 0; i < 8; i++)
	{
		bool same = i & 1, in_order = i & 2, between = i & 4; /* others finish in between */
		wide_batch *other = NULL;

		decided(&s, f, 100 + 10 * i, rows[0], &one);
		if (between)
			decided(&s, f, 102 + 10 * i, rows[3], &other);
		decided(&s, f, 101 + 10 * i, same ? rows[1] : rows[2], &two);
		finished(&s, in_order ? one : two);
		if (between)
			finished(&s, other);
		synced.upto = 0;
		lsn = finished(&s, in_order ? two : one);
		assert_int_equal(synced.upto >= lsn, same && !in_order);
		/* a commit does not wait for records that are durable already */
		decided(&s, f, 103 + 10 * i, rows[0], &one);
		synced.upto = 0;
		lsn = finished(&s, one);
		assert_true(synced.upto < lsn);
	}
	assert_ok(edit_apply(s.db, &edit));
	assert_true(synced.upto >= lsn);
	s.db->log = synced.log;
	store_drop(&s);
}

/*
 * A large batch gets its automatic timestamps when its files are written,
 * from a clock that uncommitted batches had moved.  After a crash before its
 * finish record the clock is not behind them, so no timestamp is assigned
 * twice.
 */
static void
test_loaded_clock(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;
	char value[900], expect[200];
	int64_t loaded = 0;
	char *got;

	store_init(&s);
	s.config.memtable_size = 64 * 1024;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.versions = 10;
	store_table(&s, &opt, 1, &t, &f);
	memset(value, 'x', sizeof value);
	for (uint64_t xid = 100; xid < 102; xid++)
	{
		assert_ok(wide_batch_new(s.db, &b));
		for (int i = 0; i < 100; i++)
		{
			char row[8];

			snprintf(row, sizeof row, "r%d", i);
			assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, INT64_MIN, 0,
									 bytes(value, sizeof value)));
		}
		assert_ok(wide_batch_put(b, f, text("a"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
								 text("one")));
		file_log_set_xid(&s.log, xid);
		assert_ok(wide_batch_prepare(b, xid));
		assert_true(b->prepared.nfiles > 0);
		loaded = b->prepared.files_ts;
		assert_ok(file_log_decide(&s.log, xid, xid == 101));
		if (xid == 100)
			wide_batch_free(b);
	}
	assert_true(loaded > s.now);
	/* the process dies here */
	b->phase = BATCH_FINISHED;
	store_close(&s);
	free(b->prepared.files);
	b->prepared.files = NULL;
	wide_batch_free(b);
	for (int i = 0; i < 2; i++)
	{
		assert_ok(store_open(&s));
		assert_true(s.db->seg->commit.last_ts >= loaded);
		if (i == 0)
			store_close(&s);
	}
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, f, text("a"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0, text("two")));
	assert_ok(store_commit(&s, b, NULL));
	got = store_text(&s, NULL, &f, 1);
	snprintf(expect, sizeof expect, "0/a/q@%lld=two;0/a/q@%lld=one;",
			 (long long) s.db->seg->commit.last_ts, (long long) loaded);
	assert_memory_equal(got, expect, strlen(expect));
	free(got);
	store_drop(&s);
}

static wide_status (*real_replay)(void *ctx, uint64_t from, wide_replay_fn fn, void *arg);

/* Replays the log, and says at its end that the program that wrote it has ended. */
static wide_status
replay_and_restart(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	wide_replay_event restart = {.kind = WIDE_REPLAY_RESTART};
	wide_status st = real_replay(ctx, from, fn, arg);

	return st == WIDE_OK ? fn(arg, &restart) : st;
}

static void
restart_at_end(wide_log *log)
{
	real_replay = log->replay;
	log->replay = replay_and_restart;
}

/*
 * What waits in replay when the program that wrote the log has ended: undecided batches are
 * dropped, those that committed are finished.  The address sanitizer shows a use of what was
 * dropped.
 */
static void
test_restart_in_log(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b[3];
	char *got;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "a", "q", 1, "v");
	for (int committed = 0; committed < 2; committed++)
	{
		for (int i = 0; i < 3; i++)
		{
			char row[] = {(char) ('b' + i), 0};
			uint64_t xid = (uint64_t) (100 * committed + i + 77);

			assert_ok(wide_batch_new(s.db, &b[i]));
			assert_ok(wide_batch_put(b[i], f, text(row), text("q"), 1, INT64_MIN, 0, text("v")));
			file_log_set_xid(&s.log, xid);
			assert_ok(wide_batch_prepare(b[i], xid));
			if (committed && i == 1)
				assert_ok(file_log_decide(&s.log, xid, true));
		}
		/* the processes die here */
		for (int i = 0; i < 3; i++)
			b[i]->phase = BATCH_FINISHED;
		store_close(&s);
		for (int i = 0; i < 3; i++)
			wide_batch_free(b[i]);
		s.opening = restart_at_end;
		assert_ok(store_open(&s));
		s.opening = NULL;
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, committed ? "0/a/q@1=v;0/c/q@1=v;" : "0/a/q@1=v;");
		free(got);
	}
	store_drop(&s);
}

/* Returns a prepared batch of 3000 rows, too large for a memtable. */
static wide_batch *
large(store *s, wide_family_id f, const char *mark, bool log)
{
	wide_batch *b;
	char value[900], row[16];
	uint64_t seed = 7;

	assert_ok(wide_batch_new(s->db, &b));
	wide_batch_log_files(b, log);
	for (int i = 0; i < 3000; i++)
	{
		/* incompressible: the files take several log records */
		for (size_t c = 0; c < sizeof value; c++)
			value[c] = (char) (33 + rnd(&seed) % 90);
		memcpy(value, mark, strlen(mark));
		snprintf(row, sizeof row, "r%05d", i);
		assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, INT64_MIN, 0,
								 bytes(value, sizeof value)));
	}
	assert_ok(wide_batch_prepare(b, 0));
	assert_true(b->prepared.nfiles > 0);
	return b;
}

static void
finish_large(store *s, wide_batch *b)
{
	uint64_t lsn;

	assert_ok(wide_batch_finish(b, &lsn));
	assert_ok(s->db->log.sync(s->db->log.ctx, lsn));
	assert_ok(wide_publish(s->db, lsn));
	assert_int_equal(atomic_load(&s->db->slot->prepare_lsn), 0);
	wide_batch_free(b);
}

/* Removes the file, or damages it as a crash may damage one that was never synced. */
static bool
spoil(store *s, uint64_t number, int how)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof path, "%s/%08llx.sst", s->dir, (unsigned long long) number);
	if (how == 0)
		return unlink(path) == 0;
	if (how == 1)
		return truncate(path, 100000) == 0;
	f = fopen(path, "r+");
	if (f == NULL)
		return false;
	for (int i = 0; i < 5000; i++)
		fputc(0, f);
	fclose(f);
	return true;
}

/*
 * Failing opens of a file for its sync, or of the directory: the first `skip`
 * opens find no file, then all fail with `error` while it is set.
 */
static struct
{
	int skip, error;
	bool directory;
} no_open;

static int
failing_open(wide_os *os, const char *path, int flags)
{
	size_t n = strlen(path);

	if (no_open.error != 0 && !no_open.directory && n > 4 && strcmp(path + n - 4, ".sst") == 0 &&
		(flags & O_ACCMODE) == O_RDWR)
		return no_open.skip-- > 0 ? -ENOENT : -no_open.error;
	return os_real()->open(os_real(), path, flags);
}

static int
failing_syncdir(wide_os *os, const char *path)
{
	if (no_open.error != 0 && no_open.directory)
		return -no_open.error;
	return os_real()->syncdir(os_real(), path);
}

/*
 * A process that runs out of file descriptors while it adds the files of a
 * large batch to the manifest gets an error, and no other process is
 * affected.  The test makes the edit itself fail: the syncs before it skip
 * files that are gone.
 */
static void
test_out_of_descriptors(void **state)
{
	store s;
	wide_os os = *os_real();
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	char *want, *got;

	os.open = failing_open;
	os.syncdir = failing_syncdir;
	store_init(&s);
	s.os = &os;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	for (int i = 0; i < 4; i++)
	{
		wide_batch *b = large(&s, f, i % 2 ? "two" : "one", true);
		int n = b->prepared.nfiles;

		finish_large(&s, b);
		want = store_text(&s, NULL, &f, 1);
		no_open.skip = n;
		no_open.error = i < 2 ? EMFILE : i == 2 ? ENFILE : EACCES;
		no_open.directory = i == 1;
		assert_int_not_equal(wide_flush(s.db), WIDE_OK);
		no_open.error = 0;
		assert_ok(segment_check(s.db));
		assert_ok(wide_flush(s.db));
		store_close(&s);
		assert_ok(store_open(&s));
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, want);
		free(got);
		free(want);
	}
	assert_int_equal(store_verify(&s), 0);
	store_drop(&s);
}

/*
 * The log contains the bytes of the files: recovery does not need those on
 * disk until the manifest lists them.
 */
static void
test_logged_files(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;
	char *want, *got;
	uint64_t start, number;

	for (int how = 0; how < 3; how++)
	{
		store_init(&s);
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		store_table(&s, &opt, 1, &t, &f);
		store_put(&s, f, "a", "q", 1, "small");
		b = large(&s, f, "one", true);
		start = atomic_load(&s.db->slot->prepare_lsn);
		number = b->prepared.files[b->prepared.nfiles - 1].number;
		assert_true(start > 0);
		/* a flush in between does not release the log */
		assert_ok(wide_flush(s.db));
		assert_true(s.db->seg->set.restart_lsn <= start);
		finish_large(&s, b);
		want = store_text(&s, NULL, &f, 1);
		assert_true(strlen(want) > 3000 * 40);
		for (int again = 0; again < 3; again++)
		{
			store_close(&s);
			assert_true(spoil(&s, number, how));
			assert_ok(store_open(&s));
			got = store_text(&s, NULL, &f, 1);
			assert_string_equal(got, want);
			free(got);
			assert_int_equal(store_verify(&s), 0);
		}
		/* once listed the file is synced, and the log can be released */
		assert_ok(wide_flush(s.db));
		assert_true(s.db->seg->set.restart_lsn > start);
		store_close(&s);
		assert_ok(store_open(&s));
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, want);
		free(got);
		free(want);
		/*
		 * compacted away while the log is still there: replay skips the
		 * bytes, or writes and removes the file again
		 */
		b = large(&s, f, "two", true);
		finish_large(&s, b);
		assert_ok(wide_compact(s.db, f));
		want = store_text(&s, NULL, &f, 1);
		assert_non_null(strstr(want, "=two"));
		store_work(&s);
		store_close(&s);
		assert_ok(store_open(&s));
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, want);
		free(got);
		/* without its link record: nothing remains, and its number is not used again */
		b = large(&s, f, "three", true);
		number = b->prepared.files[0].number;
		b->phase = BATCH_FINISHED; /* as if the process died: nothing is released */
		store_close(&s);
		free(b->prepared.files);
		b->prepared.files = NULL;
		wide_batch_free(b);
		assert_ok(store_open(&s));
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, want);
		free(got);
		free(want);
		assert_int_equal(store_verify(&s), 0);
		assert_true(file_set_new_number(s.db) > number);
		assert_int_equal(atomic_load(&s.db->slot->prepare_lsn), 0);
		store_drop(&s);
	}
}

static uint64_t kept; /* log position kept at the end of the replay */
static size_t sorted_files;
static wide_db *following;
static wide_status (*real_replay)(void *ctx, uint64_t from, wide_replay_fn fn, void *arg);

static int
count_sorted(void *arg, const char *name)
{
	sorted_files += strstr(name, ".sst") != NULL;
	return 0;
}

/* Looks at the state at the end of the replay, where a standby would be. */
static wide_status
replay_and_look(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	wide_status st = real_replay(ctx, from, fn, arg);

	following = arg;
	kept = atomic_load(&following->seg->follow.parked);
	sorted_files = 0;
	following->os->list(following->os, following->dir, count_sorted, NULL);
	return st;
}

/* A large batch that fails after its files were logged: a reader of the log keeps nothing of it. */
static void
test_given_up(void **state)
{
	for (int way = 0; way < 3; way++)
	{
		store s;
		wide_family_options opt;
		wide_table_id t;
		wide_family_id f;
		wide_batch *b;
		wide_host host = {0};

		store_init(&s);
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		store_table(&s, &opt, 1, &t, &f);
		b = large(&s, f, "one", true);
		/*
		 * way 0: the process dies and its fate is not logged; 1 and 2: it
		 * fails, before more commits or after them
		 */
		if (way == 0)
		{
			b->phase = BATCH_FINISHED;
			atomic_store(&s.db->slot->prepare_lsn, 0);
			free(b->prepared.files);
			b->prepared.files = NULL;
		}
		wide_batch_free(b);
		if (way == 2)
			store_put(&s, f, "r", "q", 1, "v");
		/* recover by hand, to look at the state at the end of the replay */
		host = s.db->host;
		wide_detach(s.db);
		assert_ok(wide_segment_format(s.base, &s.config));
		file_log_close(&s.log);
		file_log_reset(s.log_shared);
		assert_ok(file_log_open(s.dir, s.log_shared, s.base, NULL, &s.log));
		real_replay = s.log.replay;
		s.log.replay = replay_and_look;
		assert_ok(wide_attach(s.base, s.dir, &host, &s.log, NULL, &s.db));
		assert_ok(wide_recover(s.db));
		assert_int_equal(kept != 0, way == 0);
		assert_int_equal(sorted_files, way == 0 ? 1 : 0);
		assert_int_equal(store_verify(&s), 0);
		store_drop(&s);
	}
}

/*
 * A file in the manifest is lost and restored from the log: a later power
 * failure must not leave half of it.
 */
static void
test_lost_and_restored(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++)
	{
		store s;
		wide_family_options opt;
		wide_table_id t;
		wide_family_id f;
		wide_batch *b;
		uint64_t number;
		os_fault_plan none = {0};
		char *want, *got;

		store_init(&s);
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		store_table(&s, &opt, 1, &t, &f);
		b = large(&s, f, "one", true);
		number = b->prepared.files[0].number;
		finish_large(&s, b);
		assert_ok(wide_flush(s.db));
		want = store_text(&s, NULL, &f, 1);
		store_close(&s);
		assert_true(spoil(&s, number, 0));
		s.os = os_faulty(s.dir, &none);
		assert_non_null(s.os);
		assert_ok(store_open(&s));
		assert_true(s.db->seg->set.older);
		store_close(&s);
		assert_int_equal(os_faulty_crash(s.os, seed), 0);
		os_faulty_free(s.os);
		s.os = NULL;
		assert_ok(store_open(&s));
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, want);
		free(got);
		free(want);
		assert_int_equal(store_verify(&s), 0);
		store_drop(&s);
	}
}

/* Files that are not logged: synced before the commit, and only on disk. */
static void
test_unlogged_files(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;
	char *want, *got;
	buffer out = {0};
	uint64_t end, number;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	end = s.log.end(s.log.ctx);
	b = large(&s, f, "one", false);
	number = b->prepared.files[0].number;
	assert_int_equal(atomic_load(&s.db->slot->prepare_lsn), 0);
	finish_large(&s, b);
	assert_true(s.log.end(s.log.ctx) < end + 10000);
	want = store_text(&s, NULL, &f, 1);
	store_close(&s);
	assert_ok(store_open(&s));
	got = store_text(&s, NULL, &f, 1);
	assert_string_equal(got, want);
	free(got);
	free(want);
	store_close(&s);
	assert_true(spoil(&s, number, 0));
	assert_ok(store_open(&s));
	assert_int_equal(store_read(&s, NULL, &f, 1, &out), WIDE_CORRUPT);
	buffer_free(&out);
	store_drop(&s);
}

/* Without CURRENT the newest manifest counts; without that, too, the store is refused. */
static void
test_refuses_damage(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	char path[200], away[200], manifest[200], copy[220], *got;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "a", "q", 1, "one");
	assert_ok(wide_flush(s.db));
	snprintf(manifest, sizeof manifest, "%s/manifest-%08llx", s.dir,
			 (unsigned long long) s.db->seg->set.manifest_number);
	snprintf(copy, sizeof copy, "%s.copy", manifest);
	store_close(&s);
	snprintf(path, sizeof path, "%s/CURRENT", s.dir);
	snprintf(away, sizeof away, "%s/away", s.dir);
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(rename(manifest, path), 0);
	assert_int_equal(unlink(copy), 0);
	assert_int_equal(store_open(&s), WIDE_CORRUPT);
	assert_null(s.db);
	assert_int_equal(rename(path, manifest), 0);
	assert_ok(store_open(&s));
	got = store_text(&s, NULL, &f, 1);
	assert_string_equal(got, "0/a/q@1=one;");
	free(got);
	store_close(&s);
	assert_int_equal(rename(away, path), 0);
	assert_ok(store_open(&s));
	store_drop(&s);
}

/* The host recovers to a point before records with an LSN above this. */
static struct
{
	wide_log log;
	wide_replay_fn fn;
	void *arg;
	uint64_t upto;
} target;

static wide_status
marked_event(void *arg, const wide_replay_event *ev)
{
	wide_replay_event e = *ev;

	e.beyond = e.kind == WIDE_REPLAY_RECORD && e.lsn > target.upto;
	return target.fn(target.arg, &e);
}

static wide_status
replay_to_target(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	target.fn = fn;
	target.arg = arg;
	return target.log.replay(ctx, from, marked_event, NULL);
}

static void
with_target(wide_log *log)
{
	target.log = *log;
	log->replay = replay_to_target;
}

/*
 * Records beyond the host's target: batches of the engine alone do not count, whether they are one
 * record, several, or link files; external transactions count as the host has decided.
 */
static void
test_beyond(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b, *unfinished;
	char *got, *value = calloc(1, 200000), row[16];
	static const char *const rows[][2] = {{"decided"}, {"unfinished"}};

	assert_non_null(value);
	memset(value, 'v', 199999);
	store_init(&s);
	s.config.memtable_size = 8 << 20;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "before", "q", 1, "v");
	decided(&s, f, 100, rows[0], &b);
	decided(&s, f, 101, rows[1], &unfinished);
	target.upto = s.db->log.end(s.db->log.ctx);
	/* beyond: the FINISH record of the external one, a batch of one record, one of several, one of
	 * files */
	finished(&s, b);
	store_put(&s, f, "one", "q", 1, "v");
	for (int cells = 8; cells <= 40; cells += 32)
	{
		assert_ok(wide_batch_new(s.db, &b));
		for (int i = 0; i < cells; i++)
		{
			snprintf(row, sizeof row, "large%d-%d", cells, i);
			assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, INT64_MIN, 0, text(value)));
		}
		assert_ok(store_commit(&s, b, NULL));
	}
	assert_int_equal(s.db->seg->set.nfiles, 1);
	/* the process dies before it finishes the other external one */
	wide_batch_free(unfinished);
	store_close(&s);
	s.opening = with_target;
	assert_ok(store_open(&s));
	got = store_text(&s, NULL, &f, 1);
	assert_non_null(strstr(got, "before/"));
	assert_non_null(strstr(got, "decided/"));
	assert_non_null(strstr(got, "unfinished/"));
	assert_null(strstr(got, "one/"));
	assert_null(strstr(got, "large"));
	free(got);
	/* what was not flushed is there again for a later target */
	store_close(&s);
	s.opening = NULL;
	assert_ok(store_open(&s));
	got = store_text(&s, NULL, &f, 1);
	assert_non_null(strstr(got, "one/"));
	assert_non_null(strstr(got, "large8-7/"));
	assert_non_null(strstr(got, "large40-39/"));
	free(got);
	free(value);
	store_drop(&s);
}

/* As the host does: recovery ends, and the store is flushed once. */
static wide_status
replay_to_target_and_flush(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	wide_replay_event end = {.kind = WIDE_REPLAY_RESTART};
	wide_status st = replay_to_target(ctx, from, fn, arg);

	if (st == WIDE_OK)
		st = fn(arg, &end);
	if (st == WIDE_OK)
	{
		uint64_t end = target.log.end(ctx);

		st = wide_follow_show(arg, end, end);
	}
	return st == WIDE_OK ? wide_flush(arg) : st;
}

static void
with_target_and_flush(wide_log *log)
{
	with_target(log);
	log->replay = replay_to_target_and_flush;
}

/*
 * A batch is beyond the target, and behind an external one that is decided but not finished, which
 * keeps restart_lsn where it is.  After the flush it stays out.
 */
static void
test_beyond_behind_unfinished(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *unfinished;
	char *got;
	static const char *const rows[] = {"unfinished", NULL};

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "before", "q", 1, "v");
	decided(&s, f, 100, rows, &unfinished);
	target.upto = s.db->log.end(s.db->log.ctx);
	store_put(&s, f, "one", "q", 1, "v");
	/* as the host ends its recovery with a record */
	assert_ok(file_log_decide(&s.log, 999, false));
	wide_batch_free(unfinished);
	for (int again = 0; again < 3; again++)
	{
		store_close(&s);
		s.opening = again == 0 ? with_target_and_flush : NULL;
		assert_ok(store_open(&s));
		got = store_text(&s, NULL, &f, 1);
		assert_non_null(strstr(got, "before/"));
		assert_non_null(strstr(got, "unfinished/"));
		assert_null(strstr(got, "one/"));
		free(got);
	}
	store_drop(&s);
}

/*
 * A batch that links files is beyond the target, and the flush that keeps it out is interrupted
 * between two edits.  The next recovery does not know the target: it needs the files' bytes.
 */
static void
test_beyond_with_files(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;
	char *got;
	pid_t pid;
	int status;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	b = large(&s, f, "one", true);
	store_put(&s, f, "before", "q", 1, "v");
	target.upto = s.db->log.end(s.db->log.ctx);
	finish_large(&s, b);
	store_close(&s);
	pid = unit_fork();
	if (pid == 0)
	{
		kill_point at;

		kill_point_set(&at, "flush-manifest");
		wide_on_injection_point(kill_point_reached, &at);
		s.opening = with_target_and_flush;
		store_open(&s);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_ok(store_open(&s));
	assert_int_equal(store_verify(&s), 0);
	got = store_text(&s, NULL, &f, 1);
	assert_non_null(strstr(got, "before/"));
	assert_non_null(strstr(got, "r02999/"));
	free(got);
	/* without the interruption it stays out */
	store_drop(&s);
	store_init(&s);
	assert_ok(store_open(&s));
	store_table(&s, &opt, 1, &t, &f);
	b = large(&s, f, "one", true);
	store_put(&s, f, "before", "q", 1, "v");
	target.upto = s.db->log.end(s.db->log.ctx);
	finish_large(&s, b);
	/* as the host ends its recovery with a record */
	assert_ok(file_log_decide(&s.log, 999, false));
	for (int again = 0; again < 3; again++)
	{
		store_close(&s);
		s.opening = again == 0 ? with_target_and_flush : NULL;
		assert_ok(store_open(&s));
		assert_int_equal(store_verify(&s), 0);
		got = store_text(&s, NULL, &f, 1);
		assert_string_equal(got, "0/before/q@1=v;");
		free(got);
	}
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_and_again),
		cmocka_unit_test(test_files_directory),
		cmocka_unit_test(test_log_and_files),
		cmocka_unit_test(test_restart_in_log),
		cmocka_unit_test(test_smaller_memtables),
		cmocka_unit_test(test_numbers_afterwards),
		cmocka_unit_test(test_parts_stay),
		cmocka_unit_test(test_long_log),
		cmocka_unit_test(test_external),
		cmocka_unit_test(test_finish_records),
		cmocka_unit_test(test_loaded_clock),
		cmocka_unit_test(test_logged_files),
		cmocka_unit_test(test_out_of_descriptors),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_lost_and_restored),
		cmocka_unit_test(test_unlogged_files),
		cmocka_unit_test(test_refuses_damage),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_beyond_behind_unfinished),
		cmocka_unit_test(test_beyond_with_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
