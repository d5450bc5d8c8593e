/*
 * helper_test.c - work that a helper thread does for the process: jobs, files
 * whose blocks it compresses, and how both end.  Run it with SAN=thread, too.
 */
#include <errno.h>
#include <signal.h>
#include "engine/wide.h"
#include "engine/base/helper.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/os.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_writer.h"
#include "engine/set/snapshot.h"
#include "test/host/os_fault.h"
#include "test/host/threads.h"
#include "testlib.h"

#define FAMILY 7

static test_store store;
static wide_db *db;

static int
setup(void **state)
{
	memset(&store, 0, sizeof(store));
	test_store_open(&store, 4 * 1024 * 1024, NULL);
	db = store.db;
	return 0;
}

static int
teardown(void **state)
{
	test_store_close(&store);
	test_dir_drop(store.dir);
	return 0;
}

static int threads_idle; /* threads of the process without a helper */

static int
threads(void)
{
	return test_dir_count("/proc/self/task");
}

/* /proc shows a thread for a moment after it was joined. */
static void
assert_threads(int n)
{
	for (int i = 0; i < 5000 && threads() != n; i++)
		usleep(1000);
	assert_int_equal(threads(), n);
}

/* ------------------------------------------------------------------- jobs */

typedef struct job
{
	helper_job j;
	int number;
	int *last;	  /* number of the last job run: jobs run in order */
	bool blocked; /* signals were blocked where the job ran */
} job;

static void
run_job(helper_job *j)
{
	job *me = (job *) j;
	sigset_t set;

	assert_int_equal(*me->last, me->number - 1);
	*me->last = me->number;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	me->blocked = sigismember(&set, SIGINT) == 1 && sigismember(&set, SIGTERM) == 1 &&
				  sigismember(&set, SIGUSR1) == 1;
}

static void
jobs(void **state)
{
	for (int refused = 0; refused < 2; refused++)
	{
		int last = -1;
		job j[200];
		helper *a = helper_new();
		sigset_t set;

		threads_refused = refused;
		assert_non_null(a);
		for (int i = 0; i < 200; i++)
		{
			j[i] = (job) {.j.run = run_job, .number = i, .last = &last};
			helper_submit(a, &j[i].j);
			assert_threads(threads_idle + !refused);
			if (refused)
				assert_true(helper_done(&j[i].j));
			if (i % 7 == 0)
			{
				helper_wait(a, &j[i / 2].j);
				assert_true(helper_done(&j[i / 2].j));
			}
		}
		helper_wait(a, &j[150].j);
		/* freeing runs the remaining jobs */
		helper_free(a);
		assert_int_equal(last, 199);
		assert_threads(threads_idle);
		for (int i = 0; i < 200; i++)
			assert_int_equal(j[i].blocked, !refused);
		/* signals are not blocked in this thread */
		pthread_sigmask(SIG_SETMASK, NULL, &set);
		assert_int_equal(sigismember(&set, SIGINT), 0);
		threads_refused = false;
	}
	/* without jobs no thread is started */
	helper_free(helper_new());
	helper_free(NULL);
}

/* ------------------------------------------------------------------ files */

/*
 * Long and short rows, some over several blocks, with deletes before them,
 * and values that compress or not.
 */
static entries
make_entries(int rows)
{
	static uint8_t noise[300000];
	uint64_t x = 88172645463325252ull;
	entries es = {0};

	for (size_t i = 0; i < sizeof(noise); i++)
	{
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		noise[i] = (uint8_t) x;
	}
	for (int i = 0; i < rows; i++)
	{
		char row[300];
		int len = snprintf(row, sizeof(row), "%c%c row %05d ", 'a' + i / 400 % 26, 'a' + i / 50 % 8,
						   i);

		memset(row + len, 'x', sizeof(row) - (size_t) len);
		len = i % 3 == 0 ? (int) sizeof(row) : len;
		if (i % 50 == 7)
			entries_add(&es, bytes(row, (size_t) len), text(""), 5, 0, ENTRY_DELETE_FAMILY, 0,
						text(""));
		for (int q = 0; q < (i % 50 == 7 ? 120 : 4); q++)
		{
			char qual[8];
			size_t n = i == rows / 2 && q == 2 ? sizeof(noise) : (size_t) (i % 5) * 20;

			snprintf(qual, sizeof(qual), "q%03d", q);
			entries_add(&es, bytes(row, (size_t) len), text(qual), 5, 0, ENTRY_PUT, 0,
						q % 2 == 0 ? bytes(noise + (n < sizeof(noise) ? i * 7 % 1000 : 0), n)
								   : bytes(row, (size_t) len));
		}
	}
	entries_sort(&es);
	return es;
}

enum way
{
	INLINE,
	THREAD,
	REFUSED
};

static wide_status
write_file(const entries *es, const wide_family_options *o, enum way way, int stop, file_meta *m)
{
	helper *a = way == INLINE ? NULL : helper_new();
	uint64_t before = threads_started;
	sst_writer *w;
	wide_status st;

	threads_refused = way == REFUSED;
	sst_writer_helper_after = 3;
	st = sst_writer_open(db, 1, FAMILY, 1, o, true, &w);
	if (st == WIDE_OK)
	{
		sst_writer_use_helper(w, a);
		for (int i = 0; i < es->n && st == WIDE_OK && i != stop; i++)
			st = sst_writer_add(w, &es->e[i]);
		if (stop >= 0 && st == WIDE_OK)
			sst_writer_abandon(w);
		else
			st = sst_writer_finish(w, m, NULL);
	}
	helper_free(a);
	threads_refused = false;
	if (stop < 0 && st == WIDE_OK)
		assert_int_equal(threads_started - before,
						 way == THREAD && o->compression == WIDE_COMPRESS_ZSTD);
	return st;
}

static buffer
content(void)
{
	char path[SST_PATH];

	sst_file_path(db, 1, path, sizeof(path));
	return test_read_file(path);
}

/* The file has the same bytes, whichever thread compresses its blocks. */
static void
same_bytes(void **state)
{
	entries es = make_entries(6000);

	for (int bloom = WIDE_BLOOM_NONE; bloom <= WIDE_BLOOM_PREFIX; bloom++)
		for (int compression = WIDE_COMPRESS_NONE; compression <= WIDE_COMPRESS_ZSTD; compression++)
		{
			wide_family_options o;
			buffer want = {0};
			file_meta m = {0};

			wide_family_defaults(&o);
			o.block_size = 4096;
			o.bloom = (uint8_t) bloom;
			o.bloom_prefix = 1;
			o.compression = (uint8_t) compression;
			for (int way = INLINE; way <= REFUSED; way++)
			{
				buffer got;

				assert_ok(write_file(&es, &o, way, -1, &m));
				got = content();
				assert_int_equal(got.len, m.bytes);
				if (way == INLINE)
				{
					want = got;
					continue;
				}
				assert_int_equal(got.len, want.len);
				assert_memory_equal(got.data, want.data, want.len);
				buffer_free(&got);
			}
			buffer_free(&want);
		}
	entries_free(&es);
}

/* A writer abandoned at any point leaves no file and no thread. */
static void
abandoned(void **state)
{
	entries es = make_entries(1500);
	wide_family_options o;

	wide_family_defaults(&o);
	o.block_size = 1024;
	for (int stop = 0; stop < es.n; stop += es.n / 40)
	{
		file_meta m;

		assert_ok(write_file(&es, &o, THREAD, stop, &m));
		assert_int_equal(test_dir_count(store.dir), 0);
		assert_threads(threads_idle);
	}
	entries_free(&es);
}

/* Each write call fails in turn. */
static void
writes_fail(void **state)
{
	entries es = make_entries(8000);
	wide_family_options o;
	wide_os *real = db->os;
	bool reached = true;
	int failed = 0;

	wide_family_defaults(&o);
	o.block_size = 2048;
	for (uint64_t at = 1; reached; at++)
	{
		wide_os *os = os_faulty(store.dir,
								&(os_fault_plan) {.at = at, .error = ENOSPC, .sticky = true});
		file_meta m;
		wide_status st;

		db->os = os;
		st = write_file(&es, &o, THREAD, -1, &m);
		reached = os_faulty_calls(os) >= at;
		assert_int_equal(st, reached ? WIDE_NOSPACE : WIDE_OK);
		failed += st != WIDE_OK;
		db->os = real;
		os_faulty_free(os);
		assert_threads(threads_idle);
		test_dir_clear(store.dir);
	}
	assert_true(failed > 3);
	entries_free(&es);
}

static void
do_nothing(helper_job *j)
{
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	helper_job first = {.run = do_nothing};
	helper *a = helper_new();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs),
		T(same_bytes),
		T(abandoned),
		T(writes_fail),
	};

	/*
	 * a sanitizer starts a thread of its own with the first one: do that
	 * before threads are counted
	 */
	helper_submit(a, &first);
	helper_free(a);
	threads_idle = threads();
	for (int i = 0; i < 100; i++)
	{
		int n = threads();

		threads_idle = n < threads_idle ? n : threads_idle;
		usleep(1000);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
