/*
 * durable_test.c - many processes make their commits durable together: nobody
 * comes back too early, nobody is forgotten, and they share the syncs.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include "store_fixture.h"
#include "batch.h"

#define PROCESSES	6
#define ROUNDS		300

/* What the log has done, for all processes. */
typedef struct seen
{
	_Atomic uint64_t synced, syncs;
	_Atomic uint64_t fail_at;	/* the sync with this number fails */
	uint64_t	beyond;			/* LSNs from here on are invented by the test */
} seen;

static wide_log real;
static seen *shared;

/* As a disk: it takes a while, and what is appended meanwhile is not on it. */
static wide_status
slow_sync(void *ctx, uint64_t lsn)
{
	uint64_t	number = atomic_fetch_add(&shared->syncs, 1) + 1;
	uint64_t	old;

	if (number == atomic_load(&shared->fail_at))
		return wide_fail(WIDE_IO, "no more disk");
	if (shared->beyond == 0 || lsn < shared->beyond)
		TRY(real.sync(ctx, lsn));
	usleep(200);
	old = atomic_load(&shared->synced);
	while (old < lsn && !atomic_compare_exchange_weak(&shared->synced, &old, lsn))
		;
	return WIDE_OK;
}

static uint64_t
slow_synced(void *ctx)
{
	(void) ctx;
	return atomic_load(&shared->synced);
}

static void
begin(store *s, wide_family_id *fam)
{
	wide_table_id table;
	wide_family_options opt;

	store_init(s);
	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	store_table(s, &opt, 1, &table, fam);
	real = s->log;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	s->log.sync = slow_sync;
	s->db->log = s->log;
}

static wide_status
commit_one(wide_db *db, wide_family_id fam, int p, int i, uint64_t *lsn)
{
	wide_batch *b;
	char		row[32];

	snprintf(row, sizeof row, "p%d-%d", p, i);
	TRY(wide_batch_new(db, &b));
	TRY(wide_batch_put(b, fam, text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0, text("v")));
	TRY(wide_batch_prepare(b, 0));
	TRY(wide_batch_finish(b, lsn));
	wide_batch_free(b);
	return WIDE_OK;
}

static void
many(bool log_tells)
{
	store		s;
	wide_family_id fam;
	pid_t		pids[PROCESSES];

	begin(&s, &fam);
	if (log_tells)
		s.log.synced = slow_synced;
	for (int p = 0; p < PROCESSES; p++)
		if ((pids[p] = unit_fork()) == 0)
		{
			wide_host	host = s.db->host;
			wide_db    *db;

			if (wide_attach(s.base, s.dir, &host, &s.log, NULL, &db) != WIDE_OK)
				_exit(2);
			for (int i = 0; i < ROUNDS; i++)
			{
				uint64_t	lsn;

				if (commit_one(db, fam, p, i, &lsn) != WIDE_OK || wide_make_durable(db, lsn) != WIDE_OK)
					_exit(3);
				if (atomic_load(&shared->synced) < lsn)
					_exit(4);
				if (wide_publish(db, lsn) != WIDE_OK)
					_exit(5);
			}
			wide_detach(db);
			_exit(0);
		}
	for (int p = 0; p < PROCESSES; p++)
	{
		int			status;

		assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
		assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 99, 0);
	}
	/* one sync for each commit is what it would be without */
	assert_true(atomic_load(&shared->syncs) < PROCESSES * ROUNDS * 3 / 4);
	/* a process may be held up by the machine, but nobody is left alone as a rule */
	assert_true(atomic_load(&s.db->seg->commit.durable_alone) < PROCESSES * ROUNDS / 50);
	assert_int_equal(atomic_load(&s.db->seg->commit.durable_leader), 0);
	store_drop(&s);
}

static void
test_together(void **state)
{
	(void) state;
	many(false);
}

static void
test_log_tells(void **state)
{
	(void) state;
	many(true);
}

/*
 * Another process waits for an LSN that no sync of ours covers.  called: we were
 * called to lead and leave, as ours is durable already.  Else: we lead.  In both
 * cases it has to be called.  The machine may hold us up for longer than it is
 * patient: several attempts.
 */
static void
call(bool called)
{
	store		s;
	wide_family_id fam;
	uint64_t	lsn;
	bool		good = false;

	begin(&s, &fam);
	assert_ok(commit_one(s.db, fam, 0, 0, &lsn));
	shared->beyond = lsn + 1;
	for (int i = 0; i < 20 && !good; i++)
	{
		commit_state *commit = &s.db->seg->commit;
		uint64_t	want = lsn + 1 + (uint64_t) i;
		pid_t		pid;
		int			status;

		atomic_store(&commit->durable_alone, 0);
		atomic_store(&commit->durable_seq, called ? lsn : lsn - 1);
		atomic_store(&commit->durable_leader, 7);
		if ((pid = unit_fork()) == 0)
		{
			wide_host	host = s.db->host;
			wide_db    *db;

			if (wide_attach(s.base, s.dir, &host, &s.log, NULL, &db) != WIDE_OK)
				_exit(2);
			if (wide_make_durable(db, want) != WIDE_OK || atomic_load(&shared->synced) < want)
				_exit(3);
			wide_detach(db);
			_exit(0);
		}
		for (bool waits = false; !waits;)
			for (uint32_t k = 0; k < shm_slots_used(s.db); k++)
				waits |= atomic_load(&shm_slots(s.db)[k].durable_wait) == want;
		usleep(5000);
		atomic_store(&commit->durable_called, called ? s.db->slot_index + 1 : 0);
		atomic_store(&commit->durable_leader, 0);
		assert_ok(wide_make_durable(s.db, lsn));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 99, 0);
		good = atomic_load(&commit->durable_alone) == 0;
	}
	assert_true(good);
	store_drop(&s);
}

static void
test_call(void **state)
{
	(void) state;
	call(false);
	call(true);
}

/* The leader disappears: the next one does it himself, after a while. */
static void
test_leader_lost(void **state)
{
	store		s;
	wide_family_id fam;
	uint64_t	lsn;

	(void) state;
	begin(&s, &fam);
	assert_ok(commit_one(s.db, fam, 0, 0, &lsn));
	atomic_store(&s.db->seg->commit.durable_leader, 7);
	assert_ok(wide_make_durable(s.db, lsn));
	assert_true(atomic_load(&shared->synced) >= lsn);
	assert_int_equal(atomic_load(&s.db->seg->commit.durable_leader), 0);
	/* it is known, so nothing is done again */
	assert_int_equal(atomic_load(&shared->syncs), 1);
	assert_ok(wide_make_durable(s.db, lsn));
	assert_int_equal(atomic_load(&shared->syncs), 1);
	store_drop(&s);
}

/* A failed sync is told, makes nothing durable and does not stop the others. */
static void
test_failure(void **state)
{
	store		s;
	wide_family_id fam;
	uint64_t	lsn;

	(void) state;
	begin(&s, &fam);
	assert_ok(commit_one(s.db, fam, 0, 0, &lsn));
	atomic_store(&shared->fail_at, 1);
	assert_int_equal(wide_make_durable(s.db, lsn), WIDE_IO);
	assert_true(atomic_load(&s.db->seg->commit.durable_seq) < lsn);
	assert_int_equal(atomic_load(&s.db->seg->commit.durable_leader), 0);
	assert_ok(wide_make_durable(s.db, lsn));
	assert_true(atomic_load(&shared->synced) >= lsn);
	wide_poison(s.db, "for the test");
	assert_int_equal(wide_make_durable(s.db, lsn + 1), WIDE_POISONED);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_log_tells),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_leader_lost),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
