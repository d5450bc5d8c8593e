/* The file log: records, segments, torn tails and damage, group commit, failures. */
#include <errno.h>
#include <fcntl.h>
#include "engine/base/hash.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "test/host/file_log.h"
#include "test/host/kill_point.h"
#include "test/host/os_fault.h"
#include "segment_fixture.h"

static const wide_config *cfg = &fixture_small;

typedef struct seen
{
	int n;
	uint64_t last_lsn;

	struct
	{
		wide_replay_kind kind;
		uint64_t start, lsn, xid, hash;
		size_t len;
	} ev[4000];

	uint64_t end_during[4000];
	wide_log *log; /* if set, note() asks for its end and syncs */
	int stop_at;   /* return WIDE_INTERRUPTED after so many events */
} seen;

static seen *s;

static wide_status
note(void *arg, const wide_replay_event *ev)
{
	seen *to = arg;

	if (to->stop_at > 0 && to->n == to->stop_at)
		return WIDE_INTERRUPTED;
	assert_true(ev->lsn > ev->start && ev->start >= to->last_lsn);
	to->last_lsn = ev->lsn;
	to->ev[to->n].kind = ev->kind;
	to->ev[to->n].start = ev->start;
	to->ev[to->n].lsn = ev->lsn;
	to->ev[to->n].xid = ev->xid;
	to->ev[to->n].len = ev->payload.len;
	to->ev[to->n].hash = hash_xxh3(ev->payload.data, ev->payload.len, 0);
	if (to->log != NULL)
	{
		to->end_during[to->n] = to->log->end(to->log->ctx);
		/* replayed records are on disk, so a sync does not wait */
		assert_int_equal(to->log->sync(to->log->ctx, ev->lsn), WIDE_OK);
	}
	to->n++;
	return WIDE_OK;
}

typedef struct env
{
	void *base;
	file_log_shared *shared;
	char dir[64];
	wide_log log;
	wide_os *os;
} env;

static void
env_open(env *e)
{
	assert_int_equal(file_log_open(e->dir, e->shared, e->base, e->os, &e->log), WIDE_OK);
}

/* Everything but the log. */
static void
env_init(env *e)
{
	memset(e, 0, sizeof(*e));
	e->base = fixture_map(cfg);
	e->shared = file_log_map();
	assert_non_null(e->shared);
	fixture_dir(e->dir, sizeof(e->dir));
}

static void
env_make(env *e)
{
	env_init(e);
	env_open(e);
}

static void
env_format(env *e)
{
	assert_int_equal(wide_segment_format(e->base, cfg), WIDE_OK);
	file_log_reset(e->shared);
}

/*
 * As after a crash of the whole system: a new segment, and a new log on the
 * same directory, not replayed yet.
 */
static void
env_restart(env *e)
{
	file_log_close(&e->log);
	env_format(e);
	env_open(e);
}

static wide_status
env_replay(env *e, uint64_t from)
{
	memset(s, 0, sizeof(*s));
	return e->log.replay(e->log.ctx, from, note, s);
}

static void
env_free(env *e)
{
	file_log_close(&e->log);
	file_log_unmap(e->shared);
	fixture_unmap(e->base, cfg);
	fixture_rmdir(e->dir);
}

/* Payload number i: its bytes and length follow from i; in up to three parts. */
static uint8_t payload[WIDE_LOG_RECORD_MAX + 1];

static size_t
make_payload(int i)
{
	uint64_t rnd = i;
	size_t len = i % 50 == 49 ? fixture_random(&rnd) % 200000 : fixture_random(&rnd) % 300;

	for (size_t k = 0; k < len; k++)
		payload[k] = (uint8_t) (i + k * 7);
	return len;
}

static wide_status
add(env *e, int i, bool external, uint64_t *lsn)
{
	size_t len = make_payload(i);
	wide_bytes parts[3] = {
		{payload, len / 3}, {payload + len / 3, 0}, {payload + len / 3, len - len / 3}};

	return e->log.append(e->log.ctx, external, parts, 3, lsn);
}

static void
check_event(int n, int i)
{
	size_t len = make_payload(i);

	assert_int_equal(s->ev[n].kind, WIDE_REPLAY_RECORD);
	assert_int_equal(s->ev[n].len, len);
	assert_true(s->ev[n].hash == hash_xxh3(payload, len, 0));
}

static char *
file_name(env *e, int number)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/log.%08x", e->dir, number);
	return path;
}

static int64_t
file_size(env *e, int number)
{
	struct stat st;

	return stat(file_name(e, number), &st) == 0 ? st.st_size : -1;
}

static void
flip(env *e, int number, uint64_t at)
{
	int fd = open(file_name(e, number), O_RDWR);
	uint8_t b;

	assert_int_equal(pread(fd, &b, 1, at), 1);
	b ^= 0x10;
	assert_int_equal(pwrite(fd, &b, 1, at), 1);
	close(fd);
}

static void
test_append_replay(void **state)
{
	env e;
	uint64_t lsn[300];

	env_make(&e);
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 0);
	for (int i = 0; i < 300; i++)
	{
		assert_int_equal(add(&e, i, false, &lsn[i]), WIDE_OK);
		assert_int_equal(lsn[i] % 8, 0);
		assert_int_equal(e.log.end(e.log.ctx), lsn[i]);
		if (i > 0)
			assert_true(lsn[i] > lsn[i - 1]);
	}
	/* while the log is in use */
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 300);
	for (int i = 0; i < 300; i++)
	{
		check_event(i, i);
		assert_true(s->ev[i].lsn == lsn[i]);
		assert_int_equal(s->ev[i].xid, 0);
	}
	assert_int_equal(e.log.sync(e.log.ctx, lsn[299]), WIDE_OK);
	assert_int_equal(e.log.sync(e.log.ctx, lsn[299] + 8), WIDE_INVALID);
	/* from the middle, after a restart; then the log continues */
	env_restart(&e);
	assert_int_equal(add(&e, 300, false, &lsn[0]), WIDE_INVALID); /* replay must come first */
	memset(s, 0, sizeof(*s));
	s->log = &e.log;
	assert_int_equal(e.log.replay(e.log.ctx, lsn[99], note, s), WIDE_OK);
	assert_int_equal(s->n, 200);
	for (int i = 0; i < 200; i++)
	{
		check_event(i, i + 100);
		assert_true(s->end_during[i] == s->ev[i].start);
	}
	assert_true(e.log.end(e.log.ctx) == lsn[299]);
	assert_int_equal(add(&e, 300, false, &lsn[0]), WIDE_OK);
	assert_true(lsn[0] > lsn[299]);
	env_restart(&e);
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 301);
	check_event(300, 300);
	/* positions that are not in the log */
	env_restart(&e);
	assert_int_equal(env_replay(&e, lsn[0] + 8), WIDE_CORRUPT);
	assert_int_equal(env_replay(&e, lsn[0]), WIDE_OK);
	assert_int_equal(s->n, 0);
	env_free(&e);
}

static void
test_limits_and_interruption(void **state)
{
	env e;
	uint64_t lsn;
	wide_bytes part = {payload, sizeof(payload)};

	env_make(&e);
	assert_int_equal(e.log.append(e.log.ctx, false, &part, 1, &lsn), WIDE_INVALID);
	part.len--;
	assert_int_equal(e.log.append(e.log.ctx, false, &part, 1, &lsn), WIDE_OK);
	assert_int_equal(e.log.append(e.log.ctx, false, NULL, 0, &lsn), WIDE_OK);
	for (int i = 0; i < 10; i++)
		assert_int_equal(add(&e, i, false, &lsn), WIDE_OK);
	env_restart(&e);
	memset(s, 0, sizeof(*s));
	s->stop_at = 5;
	assert_int_equal(e.log.replay(e.log.ctx, 0, note, s), WIDE_INTERRUPTED);
	assert_int_equal(add(&e, 1, false, &lsn), WIDE_INVALID);
	/* all of it again */
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 12);
	assert_int_equal(s->ev[0].len, WIDE_LOG_RECORD_MAX);
	assert_int_equal(s->ev[1].len, 0);
	check_event(11, 9);
	env_free(&e);
}

static void
test_external(void **state)
{
	env e;
	uint64_t lsn;

	env_make(&e);
	file_log_set_xid(&e.log, 501);
	assert_int_equal(add(&e, 0, true, &lsn), WIDE_OK);
	file_log_set_xid(&e.log, 502);
	assert_int_equal(add(&e, 1, true, &lsn), WIDE_OK);
	assert_int_equal(add(&e, 2, false, &lsn), WIDE_OK);
	assert_int_equal(file_log_decide(&e.log, 501, true), WIDE_OK);
	assert_int_equal(file_log_decide(&e.log, 502, false), WIDE_OK);
	env_restart(&e);
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 5);
	for (int i = 0; i < 3; i++)
		check_event(i, i);
	assert_int_equal(s->ev[0].xid, 501);
	assert_int_equal(s->ev[1].xid, 502);
	assert_int_equal(s->ev[2].xid, 0);
	assert_int_equal(s->ev[3].kind, WIDE_REPLAY_COMMIT);
	assert_int_equal(s->ev[3].xid, 501);
	assert_int_equal(s->ev[4].kind, WIDE_REPLAY_ABORT);
	assert_int_equal(s->ev[4].xid, 502);
	env_free(&e);
}

static void
test_segments(void **state)
{
	env e;
	static uint64_t lsn[1000];
	int files;

	env_make(&e);
	file_log_set_file_bytes(&e.log, 20000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(add(&e, i, false, &lsn[i]), WIDE_OK);
	for (files = 0; file_size(&e, files + 1) >= 0; files++)
		;
	assert_true(files > 10);
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 1000);
	/* unneeded files are removed, needed ones stay */
	e.log.release(e.log.ctx, lsn[500] - 1);
	assert_true(file_size(&e, 1) < 0);
	assert_true(file_size(&e, files) >= 0);
	assert_int_equal(env_replay(&e, 0), WIDE_CORRUPT);
	assert_int_equal(env_replay(&e, lsn[499]), WIDE_OK);
	assert_int_equal(s->n, 500);
	check_event(0, 500);
	env_restart(&e);
	assert_int_equal(env_replay(&e, lsn[499]), WIDE_OK);
	assert_int_equal(s->n, 500);
	file_log_set_file_bytes(&e.log, 20000);
	/* everything is released: the last file stays and is appended to */
	e.log.release(e.log.ctx, lsn[999]);
	assert_true(file_size(&e, files - 1) < 0);
	assert_true(file_size(&e, files) >= 0);
	for (int i = 0; i < 300; i++)
		assert_int_equal(add(&e, i, false, &lsn[i]), WIDE_OK);
	assert_int_equal(env_replay(&e, lsn[999]), WIDE_OK);
	assert_int_equal(s->n, 300);
	/* a file is missing in the middle */
	for (files = 100; file_size(&e, files) < 0; files--)
		;
	assert_int_equal(unlink(file_name(&e, files - 1)), 0);
	file_log_close(&e.log);
	env_format(&e);
	assert_int_equal(file_log_open(e.dir, e.shared, e.base, NULL, &e.log), WIDE_CORRUPT);
	env_free(&e);
}

/* Cut the file at every length: the records before the cut are replayed, and the log continues. */
static void
test_torn(void **state)
{
	env e;
	uint64_t lsn[20];
	int64_t size;
	char copy[100];
	char command[500];

	env_make(&e);
	for (int i = 0; i < 20; i++)
		assert_int_equal(add(&e, i, false, &lsn[i]), WIDE_OK);
	size = file_size(&e, 1);
	assert_int_equal(size, lsn[19]);
	snprintf(copy, sizeof(copy), "%s/copy", e.dir);
	snprintf(command, sizeof(command), "cp %s %s", file_name(&e, 1), copy);
	assert_int_equal(system(command), 0);
	for (int64_t cut = 64; cut <= size; cut += cut < 200 ? 1 : 37)
	{
		int n = 0;
		int fd;
		uint64_t more;

		snprintf(command, sizeof(command), "%s", file_name(&e, 1));
		fd = open(command, O_RDWR);
		assert_int_equal(ftruncate(fd, cut), 0);
		/* garbage where the torn record would have continued */
		if (cut % 3 == 0)
			assert_int_equal(pwrite(fd, payload, 50, cut + 8), 50);
		close(fd);
		while (n < 20 && lsn[n] <= (uint64_t) cut)
			n++;
		env_restart(&e);
		assert_int_equal(env_replay(&e, 0), WIDE_OK);
		assert_int_equal(s->n, n);
		assert_true(file_size(&e, 1) == (int64_t) (n == 0 ? 64 : lsn[n - 1]));
		assert_int_equal(add(&e, 777, false, &more), WIDE_OK);
		env_restart(&e);
		assert_int_equal(env_replay(&e, 0), WIDE_OK);
		assert_int_equal(s->n, n + 1);
		check_event(n, 777);
		rename(copy, file_name(&e, 1));
		snprintf(command, sizeof(command), "cp %s %s", file_name(&e, 1), copy);
		assert_int_equal(system(command), 0);
	}
	env_free(&e);
}

/*
 * One flipped bit anywhere: the log is cut at that record, or, if it had been
 * durable, the damage is reported.
 */
static void
test_damage(void **state)
{
	env e;
	uint64_t lsn[20];

	env_make(&e);
	for (int i = 0; i < 20; i++)
	{
		assert_int_equal(add(&e, i, false, &lsn[i]), WIDE_OK);
		if (i == 9)
			assert_int_equal(e.log.sync(e.log.ctx, lsn[9]), WIDE_OK);
	}
	for (uint64_t at = 0; at < lsn[19]; at += 13)
	{
		wide_status st;
		int n = 0;
		uint8_t saved[8192];
		int fd;

		assert_true(lsn[19] <= sizeof(saved));
		fd = open(file_name(&e, 1), O_RDWR);
		assert_int_equal(pread(fd, saved, sizeof(saved), 0), lsn[19]);
		flip(&e, 1, at);
		file_log_close(&e.log);
		env_format(&e);
		st = file_log_open(e.dir, e.shared, e.base, NULL, &e.log);
		if (st == WIDE_OK)
			st = env_replay(&e, 0);
		while (n < 20 && lsn[n] <= at)
			n++;
		if (at < 64)
			assert_int_equal(st, WIDE_CORRUPT);
		else if (st == WIDE_OK && s->n == 20)
			assert_true(lsn[n] - at <= 7); /* padding: no effect */
		else if (n <= 9)
			assert_int_equal(st, WIDE_CORRUPT);
		else
		{
			assert_int_equal(st, WIDE_OK);
			assert_int_equal(s->n, n);
		}
		assert_int_equal(pwrite(fd, saved, lsn[19], 0), lsn[19]);
		close(fd);
	}
	/* damage in a file that is not the last */
	env_restart(&e);
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 20);
	file_log_set_file_bytes(&e.log, 1000);
	for (int i = 0; i < 20; i++)
		assert_int_equal(add(&e, i, false, &lsn[i]), WIDE_OK);
	assert_true(file_size(&e, 3) > 0);
	flip(&e, 2, file_size(&e, 2) - 60);
	env_restart(&e);
	assert_int_equal(env_replay(&e, 0), WIDE_CORRUPT);
	env_free(&e);
}

/* The creation of a file was interrupted. */
static void
test_torn_creation(void **state)
{
	for (int size = 0; size <= 64; size += 32)
	{
		env e;
		uint64_t lsn;
		int fd;

		env_make(&e);
		assert_int_equal(add(&e, 1, false, &lsn), WIDE_OK);
		fd = open(file_name(&e, 2), O_RDWR | O_CREAT, 0600);
		assert_int_equal(write(fd, payload, size), size);
		close(fd);
		env_restart(&e);
		assert_int_equal(env_replay(&e, 0), WIDE_OK);
		assert_int_equal(s->n, 1);
		assert_true(file_size(&e, 2) < 0);
		assert_int_equal(add(&e, 2, false, &lsn), WIDE_OK);
		file_log_close(&e.log);
		/* the very first file */
		assert_int_equal(truncate(file_name(&e, 1), size / 2), 0);
		env_restart(&e);
		assert_int_equal(env_replay(&e, 0), WIDE_OK);
		assert_int_equal(s->n, 0);
		assert_int_equal(add(&e, 2, false, &lsn), WIDE_OK);
		env_free(&e);
	}
}

/* An os that counts syncs and can fail the n-th write or sync. */
typedef struct test_os
{
	wide_os os;
	int syncs;				   /* in this process */
	int fail_write, fail_sync; /* countdown; 0 = never */
	int sync_ms;
} test_os;

static int
t_sync(wide_os *os, int fd)
{
	test_os *t = (test_os *) os;

	t->syncs++;
	if (t->sync_ms > 0)
		usleep(t->sync_ms * 1000);
	if (t->fail_sync > 0 && --t->fail_sync == 0)
		return -EIO;
	return os_real()->sync(os_real(), fd);
}

static int64_t
t_pwrite(wide_os *os, int fd, const void *buf, size_t n, uint64_t off)
{
	test_os *t = (test_os *) os;

	if (t->fail_write > 0 && --t->fail_write == 0)
		return -ENOSPC;
	return os_real()->pwrite(os_real(), fd, buf, n, off);
}

static void
t_init(test_os *t)
{
	memset(t, 0, sizeof(*t));
	t->os = *os_real();
	t->os.sync = t_sync;
	t->os.pwrite = t_pwrite;
}

static void
test_failures(void **state)
{
	env e;
	test_os t;
	wide_db *db;
	uint64_t lsn, end;

	t_init(&t);
	env_init(&e);
	e.os = &t.os;
	env_open(&e);
	assert_int_equal(add(&e, 0, false, &lsn), WIDE_OK);
	end = lsn;
	t.fail_sync = 1;
	assert_int_equal(e.log.sync(e.log.ctx, lsn), WIDE_IO);
	/* the failure is permanent, although the disk works again */
	assert_int_equal(e.log.sync(e.log.ctx, lsn), WIDE_IO);
	assert_int_equal(add(&e, 1, false, &lsn), WIDE_IO);
	env_restart(&e);
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, 1);
	t.fail_write = 1;
	assert_int_equal(add(&e, 1, false, &lsn), WIDE_IO);
	assert_true(e.log.end(e.log.ctx) == end);
	assert_int_equal(add(&e, 1, false, &lsn), WIDE_IO);
	/* a failure while the log starts a new file */
	for (int fail = 1; fail <= 2; fail++)
	{
		env_restart(&e);
		assert_int_equal(env_replay(&e, 0), WIDE_OK);
		file_log_set_file_bytes(&e.log, 64);
		t.fail_sync = fail;
		assert_int_equal(add(&e, 1, false, &lsn), WIDE_IO);
		env_restart(&e);
		assert_int_equal(env_replay(&e, 0), WIDE_OK);
		assert_int_equal(s->n, 1);
	}
	/* a poisoned segment */
	assert_int_equal(wide_attach(e.base, e.dir, NULL, NULL, NULL, &db), WIDE_OK);
	wide_poison(db, "test");
	wide_detach(db);
	assert_int_equal(e.log.sync(e.log.ctx, e.log.end(e.log.ctx) + 8), WIDE_POISONED);
	assert_int_equal(add(&e, 1, false, &lsn), WIDE_POISONED);
	env_free(&e);
}

/*
 * Power failure at every changing call, with several outcomes each:
 * acknowledged records are there, the records that are there form a prefix,
 * and the log continues.
 */
static void
test_power_failure(void **state)
{
	int crashes = 0;

	for (uint64_t at = 1;; at++)
	{
		bool crashed = false;

		for (uint64_t seed = 1; seed <= 6; seed++)
		{
			env e;
			os_fault_plan plan = {.at = at};
			int acknowledged = 0;
			int n = 0;
			uint64_t lsn;

			env_init(&e);
			e.os = os_faulty(e.dir, &plan);
			assert_non_null(e.os);
			if (file_log_open(e.dir, e.shared, e.base, e.os, &e.log) == WIDE_OK)
			{
				file_log_set_file_bytes(&e.log, 1500);
				for (n = 0; n < 25; n++)
				{
					if (add(&e, n, false, &lsn) != WIDE_OK)
						break;
					if (n % 3 == 2 && e.log.sync(e.log.ctx, lsn) == WIDE_OK)
						acknowledged = n + 1;
				}
			}
			crashed = os_faulty_crashed(e.os);
			crashes += crashed;
			file_log_close(&e.log);
			if (crashed)
				assert_int_equal(os_faulty_crash(e.os, seed * 1000 + at), 0);
			os_faulty_free(e.os);
			e.os = NULL;
			env_format(&e);
			env_open(&e);
			assert_int_equal(env_replay(&e, 0), WIDE_OK);
			/* the record whose append failed may be there */
			assert_in_range(s->n, acknowledged, n + 1);
			for (int i = 0; i < s->n; i++)
				check_event(i, i);
			n = s->n;
			assert_int_equal(add(&e, 99, false, &lsn), WIDE_OK);
			assert_int_equal(e.log.sync(e.log.ctx, lsn), WIDE_OK);
			env_restart(&e);
			assert_int_equal(env_replay(&e, 0), WIDE_OK);
			assert_int_equal(s->n, n + 1);
			check_event(n, 99);
			env_free(&e);
		}
		if (!crashed)
			break;
	}
	assert_true(crashes > 200);
}

#define CHILDREN 6
#define APPENDS	 60

/* Several processes append and sync: records covered by a sync are there, and syncs are shared. */
static void
test_group_commit(void **state)
{
	env e;
	pid_t pid[CHILDREN];
	_Atomic int *syncs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
							  0);
	static int next[CHILDREN];

	env_make(&e);
	file_log_set_file_bytes(&e.log, 10000);
	for (int p = 0; p < CHILDREN; p++)
	{
		pid[p] = unit_fork();
		if (pid[p] == 0)
		{
			env mine = e;
			test_os t;

			t_init(&t);
			t.sync_ms = 1;
			CHILD_CHECK(file_log_open(e.dir, e.shared, e.base, &t.os, &mine.log) == WIDE_OK);
			for (int i = 0; i < APPENDS; i++)
			{
				uint64_t lsn;

				CHILD_CHECK(add(&mine, p * 10000 + i, false, &lsn) == WIDE_OK);
				CHILD_CHECK(mine.log.sync(mine.log.ctx, lsn) == WIDE_OK);
			}
			atomic_fetch_add(syncs, t.syncs);
			file_log_close(&mine.log);
			_exit(0);
		}
	}
	for (int p = 0; p < CHILDREN; p++)
		fixture_child_ok(pid[p]);
	env_restart(&e);
	assert_int_equal(env_replay(&e, 0), WIDE_OK);
	assert_int_equal(s->n, CHILDREN * APPENDS);
	/* the records of each process are in order */
	for (int i = 0; i < s->n; i++)
	{
		int p;

		for (p = 0; p < CHILDREN; p++)
		{
			size_t len = make_payload(p * 10000 + next[p]);

			if (next[p] < APPENDS && len == s->ev[i].len &&
				hash_xxh3(payload, len, 0) == s->ev[i].hash)
				break;
		}
		assert_true(p < CHILDREN);
		next[p]++;
	}
	assert_true(*syncs < CHILDREN * APPENDS * 3 / 4);
	munmap((void *) syncs, 4096);
	env_free(&e);
}

/*
 * A process is killed at a kill point: the others get an error, and written
 * records are recovered.
 */
static void
test_kill(void **state)
{
	const char *point[] = {"log-append", "log-sync"};

	for (int k = 0; k < 2; k++)
	{
		env e;
		pid_t pid;
		int status;
		uint64_t lsn;

		env_make(&e);
		for (int i = 0; i < 5; i++)
			assert_int_equal(add(&e, i, false, &lsn), WIDE_OK);
		assert_int_equal(e.log.sync(e.log.ctx, lsn), WIDE_OK);
		pid = unit_fork();
		if (pid == 0)
		{
			env mine = e;
			kill_point at;

			CHILD_CHECK(file_log_open(e.dir, e.shared, e.base, NULL, &mine.log) == WIDE_OK);
			kill_point_set(&at, point[k]);
			wide_on_injection_point(kill_point_reached, &at);
			add(&mine, 5, false, &lsn);
			mine.log.sync(mine.log.ctx, lsn);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
		if (k == 0)
			/* the killed process held the lock for appending */
			assert_int_equal(add(&e, 6, false, &lsn), WIDE_POISONED);
		else
		{
			/* the killed process was the leader of a group sync */
			assert_int_equal(add(&e, 6, false, &lsn), WIDE_OK);
			assert_int_equal(e.log.sync(e.log.ctx, lsn), WIDE_POISONED);
		}
		env_restart(&e);
		assert_int_equal(env_replay(&e, 0), WIDE_OK);
		/* written records are only lost if the system dies */
		assert_int_equal(s->n, k == 0 ? 6 : 7);
		for (int i = 0; i < 5; i++)
			check_event(i, i);
		env_free(&e);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append_replay), cmocka_unit_test(test_limits_and_interruption),
		cmocka_unit_test(test_external),	  cmocka_unit_test(test_segments),
		cmocka_unit_test(test_torn),		  cmocka_unit_test(test_damage),
		cmocka_unit_test(test_torn_creation), cmocka_unit_test(test_failures),
		cmocka_unit_test(test_power_failure), cmocka_unit_test(test_group_commit),
		cmocka_unit_test(test_kill),
	};

	s = calloc(1, sizeof(*s));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
