/*
 * segment_fixture.h - a shared segment in an anonymous mapping, a temporary
 * directory, and child processes that must exit with status 0.
 */
#ifndef SEGMENT_FIXTURE_H
#define SEGMENT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "unit.h"
#include "engine/wide.h"
#include "engine/shared/layout.h"

static const wide_config fixture_small = {.memtable_size = 1 << 20,
										  .cache_size = 2 << 20,
										  .max_processes = 16,
										  .max_tables = 100,
										  .max_files = 1024,
										  .lock_buckets = 64};

static inline void *
fixture_map(const wide_config *config)
{
	void *base = mmap(NULL, wide_segment_size(config), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(base, MAP_FAILED);
	assert_int_equal(wide_segment_format(base, config), WIDE_OK);
	return base;
}

static inline wide_db *
fixture_attach(void *base)
{
	wide_db *db = NULL;

	assert_int_equal(wide_attach(base, "/nonexistent", NULL, NULL, NULL, &db), WIDE_OK);
	return db;
}

static inline void
fixture_unmap(void *base, const wide_config *config)
{
	munmap(base, wide_segment_size(config));
}

/* For children only: a failed check ends the child with status 1. */
#define CHILD_CHECK(cond)                                                         \
	do                                                                            \
	{                                                                             \
		if (!(cond))                                                              \
		{                                                                         \
			fprintf(stderr, "child: %s:%d: %s (%s)\n", __FILE__, __LINE__, #cond, \
					wide_error_text());                                           \
			_exit(1);                                                             \
		}                                                                         \
	} while (0)

static inline void
fixture_child_ok(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static inline char *
fixture_dir(char *buf, size_t size)
{
	snprintf(buf, size, "/tmp/widetest.XXXXXX");
	assert_non_null(mkdtemp(buf));
	return buf;
}

static inline void
fixture_rmdir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[512];

	while (d != NULL && (e = readdir(d)) != NULL)
	{
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		unlink(path);
	}
	if (d != NULL)
		closedir(d);
	rmdir(dir);
}

/* A small, fast generator: the same numbers in each run. */
static inline uint64_t
fixture_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	uint64_t z = *state;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

#endif /* SEGMENT_FIXTURE_H */
