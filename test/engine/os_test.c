/* os_test.c - real calls, failing calls and simulated crashes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "test/host/os_fault.h"
#include "testlib.h"

static char dir[256];

static const char *
in_dir(const char *name)
{
	static char path[4][300];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, 300, "%s/%s", dir, name);
	return p;
}

static int
setup(void **state)
{
	strcpy(dir, "");
	test_dir_make(dir, sizeof(dir));
	return 0;
}

static int
teardown(void **state)
{
	test_dir_drop(dir);
	return 0;
}

static void
real_calls(void **state)
{
	wide_os *os = os_real();
	char b[16] = {0};
	int fd;

	assert_int_equal(os->open(os, in_dir("a"), O_RDONLY), -ENOENT);
	fd = os->open(os, in_dir("a"), O_RDWR | O_CREAT | O_EXCL);
	assert_true(fd >= 0);
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	assert_int_equal(os->pwrite(os, fd, "hello", 5, 3), 5);
	assert_int_equal(os->size(os, fd), 8);
	assert_int_equal(os->pread(os, fd, b, 16, 3), 5);
	assert_memory_equal(b, "hello", 5);
	assert_int_equal(os->pread(os, fd, b, 16, 100), 0);
	assert_int_equal(os->sync(os, fd), 0);
	assert_int_equal(os->truncate(os, fd, 4), 0);
	assert_int_equal(os->size(os, fd), 4);
	assert_int_equal(os->links(os, fd), 1);
	assert_int_equal(os->close(os, fd), 0);
	assert_int_equal(os->close(os, fd), -EBADF);
	assert_int_equal(os->open(os, in_dir("a"), O_RDWR | O_CREAT | O_EXCL), -EEXIST);
	{
		struct stat st;

		assert_int_equal(stat(in_dir("a"), &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	assert_int_equal(os->rename(os, in_dir("a"), in_dir("b")), 0);
	assert_int_equal(os->rename(os, in_dir("a"), in_dir("b")), -ENOENT);
	assert_int_equal(os->mkdir(os, in_dir("d")), 0);
	assert_int_equal(os->mkdir(os, in_dir("d")), -EEXIST);
	assert_int_equal(os->syncdir(os, dir), 0);
	assert_int_equal(os->syncdir(os, in_dir("none")), -ENOENT);
	assert_int_equal(test_dir_count(dir), 2);
	assert_int_equal(os->list(os, in_dir("none"), test_count_one, NULL), -ENOENT);
	rmdir(in_dir("d"));
	assert_int_equal(os->unlink(os, in_dir("b")), 0);
	assert_int_equal(os->unlink(os, in_dir("b")), -ENOENT);
}

/* Makes a file with a synced part and maybe more; returns the first failure. */
static int
workload(wide_os *os)
{
	int fd = os->open(os, in_dir("f.tmp"), O_RDWR | O_CREAT | O_TRUNC);
	int64_t r;

	if (fd < 0)
		return fd;
	r = os->pwrite(os, fd, "synced", 6, 0);
	if (r >= 0)
		r = os->sync(os, fd);
	if (r >= 0)
		r = os->rename(os, in_dir("f.tmp"), in_dir("f"));
	if (r >= 0)
		r = os->syncdir(os, dir);
	os->close(os, fd);
	return r < 0 ? (int) r : 0;
}

static void
failing(void **state)
{
	for (uint64_t at = 1; at <= 6; at++)
	{
		os_fault_plan plan = {at, ENOSPC, false};
		wide_os *os = os_faulty(dir, &plan);

		assert_int_equal(workload(os), at <= 5 ? -ENOSPC : 0);
		assert_int_equal(os_faulty_calls(os), at <= 5 ? at : 5);
		assert_false(os_faulty_crashed(os));
		/* a failed write leaves half of the data */
		if (at == 2)
		{
			buffer b = test_read_file(in_dir("f.tmp"));

			assert_int_equal(b.len, 3);
			buffer_free(&b);
		}
		/* not sticky: the next attempt succeeds */
		if (at <= 5)
			assert_int_equal(workload(os), 0);
		os_faulty_free(os);
		test_dir_clear(dir);
	}
	{
		os_fault_plan plan = {2, EIO, true};
		wide_os *os = os_faulty(dir, &plan);

		assert_int_equal(workload(os), -EIO);
		assert_int_equal(workload(os), -EIO);
		os_faulty_free(os);
	}
}

static void
synced_survives(void **state)
{
	for (uint64_t seed = 0; seed < 50; seed++)
	{
		wide_os *os = os_faulty(dir, NULL);
		buffer b;

		assert_int_equal(workload(os), 0);
		assert_int_equal(os_faulty_crash(os, seed), 0);
		assert_true(os_faulty_crashed(os));
		assert_int_equal(os->open(os, in_dir("f"), O_RDONLY), -EIO);
		b = test_read_file(in_dir("f"));
		assert_int_equal(b.len, 6);
		assert_memory_equal(b.data, "synced", 6);
		buffer_free(&b);
		assert_false(test_exists(in_dir("f.tmp")));
		os_faulty_free(os);
		test_dir_clear(dir);
	}
}

/* Unsynced data survives with some seeds and is lost with others. */
static void
unsynced_varies(void **state)
{
	int old_only = 0, all = 0, torn = 0, zeros = 0, gone = 0, tmp = 0, final = 0, both = 0,
		removed = 0;

	for (uint64_t seed = 0; seed < 300; seed++)
	{
		os_fault_plan none = {0};
		wide_os *os;
		buffer b;
		int fd;

		/* existed before: durable */
		test_write_file(in_dir("keep"), (const uint8_t *) "old", 3);
		test_write_file(in_dir("dead"), (const uint8_t *) "dead", 4);
		os = os_faulty(dir, &none);
		fd = os->open(os, in_dir("keep"), O_RDWR);
		assert_int_equal(os->pwrite(os, fd, "NEWNEW", 6, 3), 6);
		os->close(os, fd);
		assert_int_equal(os->unlink(os, in_dir("dead")), 0);
		fd = os->open(os, in_dir("n.tmp"), O_RDWR | O_CREAT);
		os->pwrite(os, fd, "x", 1, 0);
		os->sync(os, fd);
		os->close(os, fd);
		assert_int_equal(os->rename(os, in_dir("n.tmp"), in_dir("n")), 0);
		assert_int_equal(os_faulty_crash(os, seed), 0);
		os_faulty_free(os);

		b = test_read_file(in_dir("keep"));
		assert_true(b.len >= 3 && b.len <= 9);
		assert_memory_equal(b.data, "old", 3);
		if (b.len == 3)
			old_only++;
		else if (b.len == 9 && memcmp(b.data, "oldNEWNEW", 9) == 0)
			all++;
		else if (b.len < 9)
			torn++;
		else
			zeros++;
		buffer_free(&b);
		gone += !test_exists(in_dir("n")) && !test_exists(in_dir("n.tmp"));
		tmp += test_exists(in_dir("n.tmp"));
		final += test_exists(in_dir("n"));
		both += test_exists(in_dir("n.tmp")) && test_exists(in_dir("n"));
		removed += !test_exists(in_dir("dead"));
		/* the content was synced, even if the name was not */
		if (test_exists(in_dir("n")))
		{
			b = test_read_file(in_dir("n"));
			assert_int_equal(b.len, 1);
			buffer_free(&b);
		}
		test_dir_clear(dir);
	}
	assert_true(old_only > 20 && all > 20 && torn > 20 && zeros > 5);
	assert_true(gone > 20 && tmp > 20 && final > 20 && removed > 20 && removed < 280);
	assert_int_equal(both, 0);
}

static void
crashing(void **state)
{
	for (uint64_t at = 1; at <= 5; at++)
	{
		os_fault_plan plan = {at, 0, false};
		wide_os *os = os_faulty(dir, &plan);

		assert_int_equal(workload(os), -EIO);
		assert_true(os_faulty_crashed(os));
		assert_int_equal(workload(os), -EIO);
		assert_int_equal(os_faulty_calls(os), at);
		assert_int_equal(os_faulty_crash(os, at), 0);
		/* renamed after the sync: complete under its final name */
		if (test_exists(in_dir("f")))
		{
			buffer b = test_read_file(in_dir("f"));

			assert_int_equal(b.len, 6);
			buffer_free(&b);
		}
		os_faulty_free(os);
		test_dir_clear(dir);
	}
}

/* A name that exists is taken over, never written through: not a file, nor a link to one. */
static void
created_in_place(void **state)
{
	wide_os *os = os_real();
	struct stat st;
	char b[8];
	int fd, old;

	fd = os_create(os, in_dir("victim"));
	assert_int_equal(os->pwrite(os, fd, "victim", 6, 0), 6);
	assert_int_equal(os->close(os, fd), 0);
	assert_int_equal(symlink(in_dir("victim"), in_dir("a")), 0);
	assert_int_equal(os->open(os, in_dir("a"), O_RDONLY), -ELOOP);
	assert_int_equal(os->open(os, in_dir("a"), O_RDWR | O_CREAT), -ELOOP);
	assert_int_equal(link(in_dir("victim"), in_dir("b")), 0);
	for (const char *name = "a"; name != NULL; name = strcmp(name, "a") == 0 ? "b" : NULL)
	{
		fd = os_create(os, in_dir(name));
		assert_true(fd >= 0);
		assert_int_equal(os->size(os, fd), 0);
		assert_int_equal(os->pwrite(os, fd, "new", 3, 0), 3);
		assert_int_equal(os->close(os, fd), 0);
		assert_int_equal(lstat(in_dir(name), &st), 0);
		assert_true(S_ISREG(st.st_mode));
		old = os->open(os, in_dir("victim"), O_RDONLY);
		assert_int_equal(os->pread(os, old, b, 6, 0), 6);
		assert_memory_equal(b, "victim", 6);
		assert_int_equal(os->close(os, old), 0);
	}
	assert_int_equal(os->mkdir(os, in_dir("d")), 0);
	assert_true(os_create(os, in_dir("d")) < 0);
	assert_int_equal(rmdir(in_dir("d")), 0);
}

static void
modes_of_host(void **state)
{
	wide_os *os = os_real();
	mode_t before = umask(0);
	struct stat st;

	os_set_modes(0640, 0750);
	assert_int_equal(os->close(os, os_create(os, in_dir("group"))), 0);
	assert_int_equal(os->mkdir(os, in_dir("groupdir")), 0);
	os_set_modes(0600, 0700);
	umask(before);
	assert_int_equal(stat(in_dir("group"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(stat(in_dir("groupdir"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	rmdir(in_dir("groupdir"));
}

static void
outside_is_left_alone(void **state)
{
	os_fault_plan plan = {1, EIO, true};
	wide_os *os = os_faulty(in_dir("elsewhere"), &plan);
	int fd = os->open(os, in_dir("g"), O_RDWR | O_CREAT);

	assert_true(fd >= 0);
	assert_int_equal(os->pwrite(os, fd, "abc", 3, 0), 3);
	assert_int_equal(os->sync(os, fd), 0);
	assert_int_equal(os_faulty_calls(os), 0);
	os->close(os, fd);
	os_faulty_free(os);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(real_calls), T(failing),			T(synced_survives), T(unsynced_varies),
		T(crashing),   T(created_in_place), T(modes_of_host),	T(outside_is_left_alone)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
