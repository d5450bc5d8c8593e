/* The segment: sizes, attaching, locks, waiting, the ends of processes. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "engine/compaction/job.h"
#include "engine/shared/cache.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "test/host/cache_probe.h"
#include "segment_fixture.h"

static const wide_config *cfg = &fixture_small;

static int stop_after; /* interrupted() returns true after so many calls */

static bool
stopped(void *ctx)
{
	return --stop_after < 0;
}

static void
test_fit(void **state)
{
	wide_config c = {0};
	wide_config big;

	wide_config_fit(&c, 0);
	assert_int_equal(c.memtable_size, 16 << 20);
	assert_int_equal(c.cache_size, 128 << 20);
	assert_int_equal(c.max_processes, 256);
	assert_int_equal(c.max_tables, 1000);
	assert_int_equal(c.max_files, 8192 + 6 * 4 * 1000);
	assert_int_equal(c.lock_buckets, 32768);
	big = c;
	for (size_t total = (size_t) 12 << 20; total < (size_t) 300 << 20; total += (size_t) 3 << 20)
	{
		size_t size;

		c = (wide_config) {0};
		wide_config_fit(&c, total);
		size = wide_segment_size(&c);
		assert_true(size <= total);
		/* memory beyond the minimum is used */
		if (total < wide_segment_size(&big))
			assert_true(size > total - total / 50 - (1 << 20));
		assert_true(c.memtable_size >= 1 << 20 && c.cache_size >= 2 << 20);
		assert_true(c.max_files >= 1024 && c.lock_buckets >= 2048 && c.max_tables >= 100);
		assert_int_equal(c.lock_buckets & (c.lock_buckets - 1), 0);
	}
	/* impossible: the minimum of everything */
	c = (wide_config) {0};
	wide_config_fit(&c, 1 << 20);
	assert_int_equal(c.memtable_size, 1 << 20);
	assert_int_equal(c.cache_size, 2 << 20);
	assert_int_equal(c.max_files, 1024);
	/* a value below the minimum that the caller set stays */
	c = *cfg;
	wide_config_fit(&c, 1 << 20);
	assert_int_equal(c.lock_buckets, 64);
}

static void
test_format(void **state)
{
	void *base = fixture_map(cfg);
	segment *seg = base;
	uint64_t parts[] = {seg->slots, seg->files, seg->tables,	 seg->families, seg->bindings,
						seg->locks, seg->cache, seg->cache_pins, seg->regions,	seg->size};
	wide_config bad = *cfg;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
	{
		assert_int_equal(parts[i] % 64, 0);
		if (i > 0)
			assert_true(parts[i] > parts[i - 1]);
	}
	assert_int_equal(seg->size, wide_segment_size(cfg));
	assert_int_equal(wide_segment_state(base), WIDE_EMPTY);
	assert_int_equal(seg->memtables[0].state, MEMTABLE_ACTIVE);
	assert_int_equal(seg->memtables[0].number, 1);
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		assert_int_equal(seg->memtables[i].region, seg->regions + i * cfg->memtable_size);
		assert_int_equal(seg->memtables[i].capacity, cfg->memtable_size);
		if (i > 0)
			assert_int_equal(seg->memtables[i].state, MEMTABLE_FREE);
	}
	bad.max_processes = 1 << 20;
	assert_int_equal(wide_segment_format(base, &bad), WIDE_INVALID);
	assert_int_equal(wide_segment_format((char *) base + 8, cfg), WIDE_INVALID);
	fixture_unmap(base, cfg);
}

static void
test_attach(void **state)
{
	void *base = fixture_map(cfg);
	segment *seg = base;
	wide_db *db[16];
	wide_db *more;
	wide_stats stats;

	for (int i = 0; i < 16; i++)
	{
		db[i] = fixture_attach(base);
		counter_add(db[i], COUNTER_GETS, i + 1);
	}
	assert_int_equal(wide_attach(base, "/x", NULL, NULL, NULL, &more), WIDE_FULL);
	assert_null(more);
	wide_statistics(db[3], &stats);
	assert_int_equal(stats.processes, 16);
	assert_int_equal(stats.gets, 136);
	assert_int_equal(stats.memtable_limit, 4 << 20);
	for (int i = 0; i < 16; i++)
		wide_detach(db[i]);
	db[0] = fixture_attach(base);
	assert_int_equal(counter_sum(db[0], COUNTER_GETS), 136);
	wide_detach(db[0]);
	seg->build++;
	assert_int_equal(wide_attach(base, "/x", NULL, NULL, NULL, &more), WIDE_INVALID);
	seg->build--;
	seg->magic++;
	assert_int_equal(wide_attach(base, "/x", NULL, NULL, NULL, &more), WIDE_INVALID);
	fixture_unmap(base, cfg);
}

/* Several processes increment a plain number under each lock. */
static void
test_locks(void **state)
{
	void *base = fixture_map(cfg);
	segment *seg = base;
	pid_t pid[4];

	for (int p = 0; p < 4; p++)
	{
		pid[p] = unit_fork();
		if (pid[p] == 0)
		{
			wide_db *db = fixture_attach(base);

			for (int i = 0; i < 20000; i++)
			{
				CHILD_CHECK(segment_lock(db, LOCK_MANIFEST) == WIDE_OK);
				CHILD_CHECK(segment_lock(db, LOCK_SET) == WIDE_OK);
				seg->job_serial++;
				segment_unlock(db, LOCK_SET);
				segment_unlock(db, LOCK_MANIFEST);
			}
			wide_detach(db);
			_exit(0);
		}
	}
	for (int p = 0; p < 4; p++)
		fixture_child_ok(pid[p]);
	assert_int_equal(seg->job_serial, 80000);
	fixture_unmap(base, cfg);
}

/* Taking locks against their order is detected. */
static void
test_lock_order(void **state)
{
#ifndef NDEBUG
	void *base = fixture_map(cfg);
	pid_t pid = unit_fork();
	int status;

	if (pid == 0)
	{
		wide_db *db = fixture_attach(base);

		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(1);
		signal(SIGABRT, SIG_DFL);
		segment_lock(db, LOCK_CACHE);
		segment_lock(db, LOCK_SET);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	fixture_unmap(base, cfg);
#endif
}

static void
test_wait(void **state)
{
	void *base = fixture_map(cfg);
	segment *seg = base;
	wide_host host = {.interrupted = stopped};
	wide_db *db;
	_Atomic uint32_t *word = &seg->set.work_word;
	pid_t pid;
	struct timespec a, b;

	assert_int_equal(wide_attach(base, "/x", &host, NULL, NULL, &db), WIDE_OK);
	stop_after = 1000;
	assert_int_equal(segment_wait(db, word, 1, -1, WIDE_WAIT_NONE), WIDE_OK); /* differs already */
	clock_gettime(CLOCK_MONOTONIC, &a);
	assert_int_equal(segment_wait(db, word, 0, 150, WIDE_WAIT_NONE), WIDE_OK); /* timeout */
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_in_range((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000, 149, 5000);
	stop_after = 2;
	assert_int_equal(segment_wait(db, word, 0, -1, WIDE_WAIT_NONE), WIDE_INTERRUPTED);
	stop_after = 1000;
	pid = unit_fork();
	if (pid == 0)
	{
		wide_db *mine = fixture_attach(base);

		usleep(20000);
		segment_wake(mine, word);
		_exit(0);
	}
	assert_int_equal(segment_wait(db, word, 0, -1, WIDE_WAIT_NONE), WIDE_OK);
	assert_int_equal(*word, 1);
	fixture_child_ok(pid);
	/* poison ends a wait */
	pid = unit_fork();
	if (pid == 0)
	{
		wide_db *mine = fixture_attach(base);

		usleep(20000);
		wide_poison(mine, "test says so");
		_exit(0);
	}
	assert_int_equal(segment_wait(db, word, 1, -1, WIDE_WAIT_NONE), WIDE_POISONED);
	assert_non_null(strstr(wide_error_text(), "test says so"));
	fixture_child_ok(pid);
	assert_int_equal(segment_lock(db, LOCK_SET), WIDE_POISONED);
	wide_poison(db, "another reason");
	assert_string_equal(seg->reason, "test says so");
	assert_int_equal(wide_segment_state(base), WIDE_DEAD);
	wide_detach(db);
	assert_int_equal(wide_attach(base, "/x", NULL, NULL, NULL, &db), WIDE_POISONED);
	/* a new segment starts clean */
	assert_int_equal(wide_segment_format(base, cfg), WIDE_OK);
	db = fixture_attach(base);
	assert_int_equal(segment_check(db), WIDE_OK);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* Holds a pin, a row lock and a cached block. */
static void
hold(wide_db *db, wide_bytes row)
{
	uint64_t holder;
	block_ref ref;

	atomic_store(&db->slot->pin, 77);
	CHILD_CHECK(wide_row_lock(db, 1, row, &holder) == WIDE_OK);
	CHILD_CHECK(cache_probe_put(db, 1, 0, "block", 5, false, &ref) == WIDE_OK);
}

enum end
{
	DETACH,
	DETACH_IN_CRITICAL,
	DETACH_IN_JOB,
	KILLED_LOCKED,
	KILLED_IN_CRITICAL
};

/* Runs a child that attaches, holds something, and ends so. */
static void
run_child(void *base, enum end how, wide_bytes row)
{
	pid_t pid = unit_fork();
	int status = 0, job;

	if (pid == 0)
	{
		wide_db *db = fixture_attach(base);

		hold(db, row);
		if (how == KILLED_LOCKED)
			CHILD_CHECK(segment_lock(db, LOCK_SET) == WIDE_OK);
		if (how == DETACH_IN_CRITICAL || how == KILLED_IN_CRITICAL)
			segment_enter_critical(db);
		if (how == DETACH_IN_JOB)
			CHILD_CHECK(job_begin(db, JOB_FLUSH, 0, &job) == WIDE_OK);
		if (how >= KILLED_LOCKED)
			kill(getpid(), SIGKILL);
		wide_detach(db);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(how >= KILLED_LOCKED ? WIFSIGNALED(status) : status == 0);
}

/* A process that detaches leaves nothing; one that detaches in the middle of a change, or dies with
 * a lock, poisons the segment. */
static void
test_ends(void **state)
{
	for (int how = DETACH; how <= KILLED_LOCKED; how++)
	{
		void *base = fixture_map(cfg);
		wide_db *db = fixture_attach(base);
		uint64_t holder;
		wide_bytes row = {(const uint8_t *) "row", 3};

		run_child(base, how, row);
		if (how == KILLED_LOCKED)
			assert_int_equal(segment_lock(db, LOCK_SET), WIDE_POISONED);
		if (how == DETACH)
		{
			assert_int_equal(segment_check(db), WIDE_OK);
			assert_int_equal(layout_processes(db)[1].pid, 0);
			assert_int_equal(layout_processes(db)[1].pin, 0);
			assert_int_equal(wide_row_locks_total(db), 0);
			assert_int_equal(wide_row_lock(db, 1, row, &holder), WIDE_OK);
		}
		else
		{
			assert_int_equal(segment_check(db), WIDE_POISONED);
			assert_int_equal(wide_row_lock(db, 1, row, &holder), WIDE_POISONED);
			/* permanently */
			assert_int_equal(segment_lock(db, LOCK_SET), WIDE_POISONED);
			assert_int_equal(segment_lock(db, LOCK_SET), WIDE_POISONED);
			assert_string_equal(((segment *) base)->reason,
								how == KILLED_LOCKED
									? "a process died while it held a lock"
									: "a process detached while it changed shared memory");
		}
		wide_detach(db);
		fixture_unmap(base, cfg);
	}
}

/* A process was killed and never ends what another one waits for: the wait can be interrupted. */
static void
test_wait_in_vain(void **state)
{
	void *base = fixture_map(cfg);
	wide_host host = {.interrupted = stopped};
	wide_db *db;

	assert_int_equal(wide_attach(base, "/x", &host, NULL, NULL, &db), WIDE_OK);
	run_child(base, KILLED_IN_CRITICAL, (wide_bytes) {(const uint8_t *) "row", 3});
	stop_after = 2;
	assert_int_equal(segment_wait(db, &db->seg->commit.applied_word, 0, -1, WIDE_WAIT_NONE),
					 WIDE_INTERRUPTED);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

static wide_db *ending;

/* A handler that ends the process in order, wherever it is. */
static void
end_in_order(int sig)
{
	wide_detach(ending);
	_exit(1);
}

/* Returns true if the process sleeps. */
static bool
sleeps(pid_t pid)
{
	char path[40];
	char text[512];
	char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && end[2] == 'S';
}

/* A process ends in order while it waits for the lock with which it ends its job: no process
 * would free the job. */
static void
test_end_of_job(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	int job;
	int status;
	pid_t pid = unit_fork();

	if (pid == 0)
	{
		ending = fixture_attach(base);
		signal(SIGTERM, end_in_order);
		CHILD_CHECK(job_begin(ending, JOB_FLUSH, 0, &job) == WIDE_OK);
		while (atomic_load(&db->seg->commit.applied_word) == 0)
			; /* does not sleep */
		job_end(ending, job, WIDE_OK, false);
		_exit(0);
	}
	while (!job_flushing(db))
		usleep(100);
	assert_int_equal(segment_lock(db, LOCK_SET), WIDE_OK);
	atomic_store(&db->seg->commit.applied_word, 1);
	while (!sleeps(pid))
		usleep(100);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	segment_unlock(db, LOCK_SET);
	assert_int_equal(segment_check(db), WIDE_POISONED);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

static void
test_jobs(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	wide_job_info out[JOB_MAX];

	assert_int_equal(wide_jobs(db, out, JOB_MAX), 0);
	for (int i = 0; i < 5; i++)
		db->seg->jobs[(i * 7) % JOB_MAX] = (job_slot) {.serial = i + 1,
													   .info = {.family = i, .state = 1}};
	assert_int_equal(wide_jobs(db, out, JOB_MAX), 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(out[i].family, 4 - i);
	assert_int_equal(wide_jobs(db, out, 2), 2);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),		   cmocka_unit_test(test_format),
		cmocka_unit_test(test_attach),	   cmocka_unit_test(test_locks),
		cmocka_unit_test(test_lock_order), cmocka_unit_test(test_wait),
		cmocka_unit_test(test_ends),	   cmocka_unit_test(test_wait_in_vain),
		cmocka_unit_test(test_end_of_job), cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
