/*
 * seeing_test.c - what the engine tells its host: timestamps that are ahead, waits, progress,
 * counters over a restart.
 */
#include "engine/shared/host.h"
#include "engine/set/memtable.h"
#include "store_fixture.h"

static wide_family_id
one_family(store *s)
{
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;

	wide_family_defaults(&opt);
	store_table(s, &opt, 1, &t, &f);
	return f;
}

/* ------------------------------------------------------------- timestamps */

/* Timestamps are lowered only if no cell is above; a crash does not bring them back. */
static void
test_lower(void **state)
{
	store s;
	wide_family_id f, above;
	wide_batch *b;
	int64_t now;

	store_init(&s);
	assert_ok(store_open(&s));
	f = one_family(&s);
	now = s.now;
	s.now = now + 1000000000;
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "ahead");
	s.now = now;
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "later");
	assert_true(wide_timestamp_newest(s.db) > now + 1000000000);
	assert_int_equal(wide_timestamp_lower(s.db, now, &above), WIDE_CONFLICT);
	assert_int_equal(above, f);
	assert_true(wide_timestamp_newest(s.db) > now + 1000000000);

	/* the family is dropped with all that is ahead */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_drop_family(b, f));
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_tidy(s.db));
	assert_ok(wide_timestamp_lower(s.db, now + 1, &above));
	assert_int_equal(wide_timestamp_newest(s.db), now + 1);
	store_close(&s);
	assert_ok(store_open(&s));
	assert_int_equal(wide_timestamp_newest(s.db), now + 1);
	store_drop(&s);
}

/* A batch that has chosen its timestamps, or is about to, keeps them. */
static void
test_lower_waits(void **state)
{
	store s;
	wide_family_id f, above;
	wide_batch *b;
	uint64_t lsn;

	store_init(&s);
	assert_ok(store_open(&s));
	f = one_family(&s);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, f, text("r"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0, text("v")));
	assert_ok(wide_batch_prepare(b, 0));
	assert_int_equal(wide_timestamp_lower(s.db, s.now, &above), WIDE_BUSY);
	assert_ok(wide_batch_finish(b, &lsn));
	assert_ok(wide_publish(s.db, lsn));
	wide_batch_free(b);
	assert_ok(wide_timestamp_lower(s.db, wide_timestamp_newest(s.db), &above));
	/* it is not raised */
	lsn = (uint64_t) wide_timestamp_newest(s.db);
	assert_ok(wide_timestamp_lower(s.db, INT64_MAX - 1, &above));
	assert_int_equal(wide_timestamp_newest(s.db), lsn);
	store_drop(&s);
}

/* A batch that is prepared while timestamps are ahead and finished after they were lowered does not
 * get the timestamp that another of its puts states. */
static void
test_avoids_lowered(void **state)
{
	store s;
	wide_family_id f;
	wide_batch *b;
	int64_t now;

	store_init(&s);
	assert_ok(store_open(&s));
	f = one_family(&s);
	now = s.now;
	s.db->seg->commit.last_ts = now + 1000000;
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, f, text("r"), text("q"), now, INT64_MIN, 0, text("stated")));
	assert_ok(wide_batch_put(b, f, text("r"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
							 text("automatic")));
	assert_ok(wide_batch_prepare(b, 0));
	/* as if lowered between its list and its reservation */
	s.db->seg->commit.last_ts = now - 1;
	{
		uint64_t lsn;

		assert_ok(wide_batch_finish(b, &lsn));
		assert_ok(wide_publish(s.db, lsn));
	}
	wide_batch_free(b);
	assert_true(wide_timestamp_newest(s.db) > now);
	store_drop(&s);
}

/* ------------------------------------------------------------------ waits */

static int waits[WIDE_WAIT_COUNT];
static int waiting;

static void
note_wait(void *ctx, wide_wait what)
{
	waits[what]++;
	waiting = (int) what;
}

/* A wait begins and ends, and says what for. */
static void
test_waits(void **state)
{
	store s;
	wide_family_id f;
	char *got;

	store_init(&s);
	assert_ok(store_open(&s));
	s.db->host.waits = note_wait;
	f = one_family(&s);
	memset(waits, 0, sizeof waits);
	assert_ok(segment_wait(s.db, &s.db->seg->commit.space_word,
						   atomic_load(&s.db->seg->commit.space_word), 1, WIDE_WAIT_MEMORY));
	assert_int_equal(waits[WIDE_WAIT_MEMORY], 1);
	assert_int_equal(waiting, WIDE_WAIT_NONE);
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "v");
	assert_ok(wide_flush(s.db));
	assert_true(waits[WIDE_WAIT_SYNC] > 0);
	got = store_text(&s, NULL, &f, 1);
	free(got);
	assert_true(waits[WIDE_WAIT_READ] > 0);
	assert_int_equal(waiting, WIDE_WAIT_NONE);
	store_drop(&s);
}

/* --------------------------------------------------------------- progress */

static wide_status
no_problem(void *arg, const char *object, const char *problem)
{
	fail_msg("%s: %s", object, problem);
	return WIDE_OK;
}

static int begun;

static void
look_at_progress(void *arg, const char *name)
{
	if (strcmp(name, "verify-file") == 0)
		begun++;
}

static void
test_progress(void **state)
{
	store s;
	wide_progress p[4];

	store_init(&s);
	assert_ok(store_open(&s));
	assert_int_equal(wide_progress_list(s.db, p, 4), 0);
	wide_progress_begin(s.db, WIDE_PROGRESS_SALVAGE, 7, 100);
	wide_progress_add(s.db, 30);
	wide_progress_add(s.db, 12);
	assert_int_equal(wide_progress_list(s.db, p, 4), 1);
	assert_int_equal(wide_progress_list(s.db, p, 0), 0);
	assert_int_equal(p[0].kind, WIDE_PROGRESS_SALVAGE);
	assert_int_equal(p[0].pid, getpid());
	assert_int_equal(p[0].object, 7);
	assert_int_equal(p[0].total, 100);
	assert_int_equal(p[0].done, 42);
	assert_int_equal(p[0].started, s.now);
	wide_progress_end(s.db);
	assert_int_equal(wide_progress_list(s.db, p, 4), 0);

	store_put(&s, one_family(&s), "r", "q", WIDE_TS_AUTO, "v");
	assert_ok(wide_flush(s.db));
	wide_on_injection_point(look_at_progress, NULL);
	assert_ok(wide_verify(s.db, 0, no_problem, NULL));
	wide_on_injection_point(NULL, NULL);
	assert_int_equal(begun, 1);
	assert_int_equal(wide_progress_list(s.db, p, 4), 0);
	store_drop(&s);
}

/* --------------------------------------------------------------- counters */

static void
test_counters(void **state)
{
	store s;
	wide_family_id f;
	wide_stats stats;
	uint64_t values[WIDE_COUNTERS_MAX];
	uint64_t commits;
	int64_t since;
	int n;

	store_init(&s);
	assert_ok(store_open(&s));
	f = one_family(&s);
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "v");
	wide_counters_load(s.db, NULL, 0, 5);
	wide_statistics(s.db, &stats);
	commits = stats.commits;
	assert_true(commits > 0);
	n = wide_counters_save(s.db, values, &since);
	assert_int_equal(since, 5);
	store_close(&s);
	assert_ok(store_open(&s));
	wide_counters_load(s.db, values, n, since);
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "v");
	wide_statistics(s.db, &stats);
	assert_int_equal(stats.commits, commits + 1);
	assert_int_equal(stats.counters_reset, 5);
	wide_counters_reset(s.db, 6);
	wide_statistics(s.db, &stats);
	assert_int_equal(stats.commits, 0);
	assert_int_equal(stats.counters_reset, 6);
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "v");
	wide_statistics(s.db, &stats);
	assert_int_equal(stats.commits, 1);
	store_drop(&s);
}

/* ---------------------------------------------------------------- holders */

static void
test_holders(void **state)
{
	store s;
	wide_stats stats;
	wide_snapshot *snap;

	store_init(&s);
	assert_ok(store_open(&s));
	wide_statistics(s.db, &stats);
	assert_int_equal(stats.oldest_snapshot_pid, 0);
	assert_int_equal(stats.memtable_holder_pid, 0);
	assert_ok(wide_snapshot_take_at(s.db, &(wide_moment) {0}, &snap));
	wide_statistics(s.db, &stats);
	assert_int_equal(stats.oldest_snapshot_pid, getpid());
	wide_snapshot_release(snap);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lower),		   cmocka_unit_test(test_lower_waits),
		cmocka_unit_test(test_avoids_lowered), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_progress),	   cmocka_unit_test(test_counters),
		cmocka_unit_test(test_holders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
