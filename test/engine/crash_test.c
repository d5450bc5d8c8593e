/*
 * crash_test.c - a power failure or an error at every single I/O call in a
 * short life of a store.  Afterwards every acknowledged batch is there, the
 * others completely or not at all, in order, and nothing is left behind
 * (vector T167).
 *
 * The life is the same each time; the answers of the store after each batch
 * are recorded once, in a run without faults.  WIDE_CRASH_STEP=n: try only
 * every n-th call; WIDE_CRASH_SEED: chooses which unsynced data survives.
 */
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/compaction/gather.h"
#include "engine/compaction/output.h"
#include "engine/batch/batch.h"
#include "test/host/os_fault.h"
#include "store_fixture.h"

#define BATCHES		60
#define EXTERNAL_AT 22 /* this batch belongs to an external transaction */
#define TRUNCATE_AT 33
#define LARGE_AT	43 /* too large for a memtable: becomes files */
#define ABORT_AT	40 /* an external transaction that rolls back */

static char *answers[BATCHES + 2]; /* [k]: the answer after k batches */
static uint64_t seed_base = 12345;

/* Returns all of table "t" as text; "none" without it. */
static char *
answer(store *s)
{
	wide_table t;
	wide_family fams[4];
	wide_family_id ids[4];
	int n;

	if (wide_table_by_name(s->db, NULL, 1, "t", &t) != WIDE_OK)
		return strdup("none");
	n = wide_table_families(s->db, NULL, t.id, fams, 4);
	for (int i = 0; i < n; i++)
		ids[i] = fams[i].id;
	return store_text(s, NULL, ids, n);
}

static void
small_store(store *s)
{
	store_init(s);
	s->config.memtable_size = 64 * 1024;
	output_file_bytes = 16 * 1024;
	gather_files = 4;
}

/* Fills batch k into b. */
static wide_status
fill_batch(store *s, int k, wide_batch *b)
{
	wide_family_options opt;
	wide_table_id id;
	wide_table t;
	wide_family fams[4];
	wide_family_id f;
	char row[16], qual[16], value[200];

	wide_family_defaults(&opt);
	opt.versions = 2;
	opt.block_size = 1024;
	if (k == 0)
	{
		TRY(wide_batch_create_table(b, 1, "t", &id));
		TRY(wide_batch_create_family(b, id, "a", &opt, &f));
		TRY(wide_batch_create_family(b, id, "b", &opt, &f));
		return wide_batch_bind(b, id, 9);
	}
	TRY(wide_table_by_name(s->db, NULL, 1, "t", &t));
	if (k == TRUNCATE_AT)
		TRY(wide_batch_truncate_table(b, t.id));
	wide_table_families(s->db, b, t.id, fams, 4);
	if (k == LARGE_AT)
	{
		uint64_t seed = 99;

		for (int i = 0; i < 300; i++)
		{
			for (size_t c = 0; c < sizeof value; c++)
				value[c] = (char) (33 + rnd(&seed) % 90);
			snprintf(row, sizeof row, "big%d", i);
			TRY(wide_batch_put(b, fams[i % 2].id, text(row), text("q"), k * 10, INT64_MIN, 0,
							   bytes(value, sizeof value)));
		}
		TRY(wide_batch_delete(b, WIDE_DELETE_FAMILY, fams[0].id, text("row3"), text(""),
							  WIDE_TS_MAX));
	}
	snprintf(row, sizeof row, "row%d", k % 7);
	snprintf(qual, sizeof qual, "q%d", k % 3);
	memset(value, 'a' + k % 26, sizeof value);
	snprintf(value, sizeof value, "value %d", k);
	value[strlen(value)] = ' ';
	value[150] = 0;
	if (k % 9 == 8)
	{
		TRY(wide_batch_delete(b, WIDE_DELETE_FAMILY, fams[0].id, text(row), text(""), WIDE_TS_MAX));
		return wide_batch_delete(b, WIDE_DELETE_COLUMN, fams[1].id, text(row), text(qual),
								 k * 10 - 70);
	}
	TRY(wide_batch_put(b, fams[0].id, text(row), text(qual), k * 10, INT64_MIN, 0, text(value)));
	snprintf(row, sizeof row, "row%d", (k + 3) % 7);
	return wide_batch_put(b, fams[1].id, text(row), text(qual), k * 10, INT64_MIN, 0, text(value));
}

static wide_status
external_batch(store *s, wide_batch *b, int k, bool *logged)
{
	uint64_t xid = 1000 + (uint64_t) k, lsn;
	wide_status st;

	file_log_set_xid(&s->log, xid);
	st = wide_batch_prepare(b, xid);
	if (st == WIDE_OK && k == ABORT_AT)
	{
		st = file_log_decide(&s->log, xid, false);
		wide_batch_free(b);
		return st;
	}
	if (st == WIDE_OK)
	{
		*logged = true;
		st = file_log_decide(&s->log, xid, true);
	}
	if (st == WIDE_OK)
		st = wide_batch_finish(b, &lsn);
	if (st == WIDE_OK)
		st = s->db->log.sync(s->db->log.ctx, lsn);
	if (st == WIDE_OK)
		st = wide_publish(s->db, lsn);
	wide_batch_free(b);
	return st;
}

/*
 * Batches published without waiting for the disk: they may be lost, but not
 * partly, and not if a later one is there.
 */
static bool
hurried(int k)
{
	return k % 5 == 3 || k == TRUNCATE_AT;
}

static wide_status
commit_hurried(store *s, wide_batch *b, bool *logged)
{
	uint64_t lsn;
	wide_status st = wide_batch_prepare(b, 0);

	if (st == WIDE_OK)
	{
		*logged = true;
		st = wide_batch_finish(b, &lsn);
	}
	if (st == WIDE_OK)
		st = wide_publish(s->db, lsn);
	wide_batch_free(b);
	return st;
}

static wide_status
one_batch(store *s, int k, bool *logged)
{
	wide_batch *b;
	wide_status st;

	*logged = false;
	TRY(wide_batch_new(s->db, &b));
	/* a large batch and some small ones are spilled */
	if (k % 6 == LARGE_AT % 6)
		wide_batch_command(b, k == LARGE_AT ? 20000 : 100);
	st = fill_batch(s, k, b);
	if (st != WIDE_OK)
	{
		wide_batch_free(b);
		return st;
	}
	if (k == EXTERNAL_AT || k == ABORT_AT)
		return external_batch(s, b, k, logged);
	if (hurried(k))
		return commit_hurried(s, b, logged);
	return store_commit(s, b, logged);
}

/* Maintenance after batch k. */
static wide_status
upkeep(store *s, int k)
{
	wide_table t;
	wide_family fams[4];
	wide_status st;

	if (k % 8 == 7)
		TRY(wide_flush(s->db));
	if (k % 20 == 19)
	{
		TRY(wide_table_by_name(s->db, NULL, 1, "t", &t));
		wide_table_families(s->db, NULL, t.id, fams, 4);
		TRY(wide_compact(s->db, fams[0].id));
	}
	if (k % 11 == 10 || k == TRUNCATE_AT)
		while ((st = wide_work(s->db)) != WIDE_END)
			TRY(st);
	/* the next edit starts a new manifest, in the middle of the life */
	if (k == 35)
		s->db->seg->set.manifest_size = UINT64_MAX;
	return WIDE_OK;
}

/*
 * Runs the life until its end or the first failure; *acked, *tried: batches
 * acknowledged and tried.
 */
static wide_status
live(store *s, int *acked, int *tried, bool note)
{
	wide_status st = WIDE_OK;

	for (int k = 0; k < BATCHES; k++)
	{
		bool logged;

		st = one_batch(s, k, &logged);
		*tried = k + (logged || (st == WIDE_OK));
		if (st != WIDE_OK)
			return st;
		if (!hurried(k))
			*acked = k + 1;
		if (note)
			answers[k + 1] = answer(s);
		if ((st = upkeep(s, k)) != WIDE_OK)
			return st;
	}
	return WIDE_OK;
}

/* Counts unexpected files: all but sorted files, manifests, CURRENT and the log. */
static int
count_strange(void *arg, const char *name)
{
	size_t n = strlen(name);

	if (strcmp(name, "CURRENT") != 0 && strncmp(name, "log.", 4) != 0 &&
		strncmp(name, "manifest-", 9) != 0 && !(n > 4 && strcmp(name + n - 4, ".sst") == 0))
		++*(int *) arg;
	return 0;
}

/* After the fault: opens with the real system, compares, and continues the life for a batch. */
static void
check_after(store *s, int acked, int tried, const char *what, unsigned long long n)
{
	char *got;
	int k, strange = 0;
	bool logged;

	s->os = NULL;
	for (int again = 0; again < 2; again++)
	{
		wide_status st = store_open(s);

		if (st != WIDE_OK)
			fail_msg("%s at call %llu: open: %s", what, n, wide_error_text());
		got = answer(s);
		for (k = tried; k >= acked; k--)
			if (strcmp(got, answers[k]) == 0)
				break;
		if (k < acked)
			fail_msg("%s at call %llu: acknowledged %d, tried %d; found\n%s\nexpected\n%s", what, n,
					 acked, tried, got, answers[acked]);
		free(got);
		if (store_verify(s) != 0)
			fail_msg("%s at call %llu: verify", what, n);
		os_real()->list(os_real(), s->dir, count_strange, &strange);
		if (strange != 0)
			fail_msg("%s at call %llu: litter", what, n);
		acked = tried = k; /* the second time the result is fixed */
		if (again == 0 && n % 2 == 0)
			assert_ok(wide_flush(s->db));
		if (again == 0)
			store_close(s);
	}
	if (k < BATCHES && k > 0)
	{
		assert_ok(one_batch(s, k, &logged));
		got = answer(s);
		if (strcmp(got, answers[k + 1]) != 0)
			fail_msg("%s at call %llu: batch %d after recovery gives\n%s", what, n, k, got);
		free(got);
	}
	assert_ok(wide_flush(s->db));
	store_close(s);
}

/* Runs one life with a fault at call n.  Returns false if the life ended before it. */
static bool
one_life(const os_fault_plan *plan, const char *what)
{
	store s;
	wide_os *os;
	int acked = 0, tried = 0;
	bool reached;

	small_store(&s);
	os = os_faulty(s.dir, plan);
	s.os = os;
	if (store_open(&s) == WIDE_OK)
		(void) live(&s, &acked, &tried, false);
	reached = os_faulty_calls(os) >= plan->at;
	store_close(&s);
	if (plan->error == 0)
		os_faulty_crash(os, seed_base + plan->at);
	os_faulty_free(os);
	if (reached)
		check_after(&s, acked, tried, what, plan->at);
	store_drop(&s);
	return reached;
}

static uint64_t
step(void)
{
	const char *text = getenv("WIDE_CRASH_STEP");

	return text != NULL && atoi(text) > 0 ? (uint64_t) atoi(text) : 1;
}

static void
test_without_faults(void **state)
{
	store s;
	int acked = 0, tried = 0;
	char *got;

	small_store(&s);
	answers[0] = strdup("none");
	assert_ok(store_open(&s));
	assert_ok(live(&s, &acked, &tried, true));
	assert_int_equal(acked, BATCHES); /* the last one is synced */
	store_close(&s);
	assert_ok(store_open(&s));
	got = answer(&s);
	assert_string_equal(got, answers[BATCHES]);
	assert_true(strlen(got) > 500);
	free(got);
	/* the batch that rolled back changed nothing; the others did */
	assert_string_equal(answers[ABORT_AT], answers[ABORT_AT + 1]);
	assert_string_not_equal(answers[EXTERNAL_AT], answers[EXTERNAL_AT + 1]);
	store_drop(&s);
}

static void
test_power_failure(void **state)
{
	os_fault_plan plan = {.error = 0};

	for (plan.at = 1; one_life(&plan, "power failure"); plan.at += step())
		;
	print_message("%llu I/O calls\n", (unsigned long long) plan.at - 1);
	assert_true(plan.at > 200);
}

static void
test_io_errors(void **state)
{
	static const os_fault_plan plans[] = {
		{0, 5, false}, {0, 28, false}, {0, 5, true}, {0, 28, true}};

	for (int i = 0; i < 4; i++)
	{
		os_fault_plan plan = plans[i];

		for (plan.at = 1 + (uint64_t) i; one_life(&plan, "I/O error"); plan.at += 4 * step())
			;
	}
}

/*
 * Power fails during the life, and again at call m of the recovery and of the
 * first flush after it.
 */
static bool
second_failure(uint64_t first, uint64_t m, int error)
{
	store s;
	os_fault_plan plan = {.at = first};
	int acked = 0, tried = 0;
	bool reached;

	small_store(&s);
	s.os = os_faulty(s.dir, &plan);
	if (store_open(&s) == WIDE_OK)
		(void) live(&s, &acked, &tried, false);
	store_close(&s);
	os_faulty_crash(s.os, seed_base + first);
	os_faulty_free(s.os);
	plan = (os_fault_plan) {.at = m, .error = error, .sticky = true};
	s.os = os_faulty(s.dir, &plan);
	if (store_open(&s) == WIDE_OK)
		(void) wide_flush(s.db);
	reached = os_faulty_calls(s.os) >= m;
	store_close(&s);
	if (error == 0)
		os_faulty_crash(s.os, seed_base + m);
	os_faulty_free(s.os);
	check_after(&s, acked, tried, error == 0 ? "second power failure" : "I/O error in recovery", m);
	store_drop(&s);
	return reached;
}

static void
test_failure_in_recovery(void **state)
{
	for (uint64_t first = 20; first < 260; first += 16 * step())
	{
		for (uint64_t m = 1; second_failure(first, m, 0); m++)
			;
		for (uint64_t m = 1; second_failure(first, m, 28); m++)
			;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_faults),
		cmocka_unit_test(test_failure_in_recovery),
		cmocka_unit_test(test_power_failure),
		cmocka_unit_test(test_io_errors),
	};
	int failed;

	if (getenv("WIDE_CRASH_SEED") != NULL)
		seed_base = strtoull(getenv("WIDE_CRASH_SEED"), NULL, 10);
	failed = cmocka_run_group_tests(tests, NULL, NULL);

	for (int i = 0; i <= BATCHES; i++)
		free(answers[i]);
	return failed;
}
