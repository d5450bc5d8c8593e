/* Row locks: exclusion, overflow, many processes. */
#include <sched.h>
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "segment_fixture.h"

static const wide_config *cfg = &fixture_small; /* 64 buckets: 448 entries */

static wide_status
lock_row(wide_db *db, wide_table_id table, uint32_t row, uint64_t *holder)
{
	return wide_row_lock(db, table, (wide_bytes) {(const uint8_t *) &row, sizeof(row)}, holder);
}

static void
test_basic(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint64_t holder;

	wide_set_owner(a, 1001);
	wide_set_owner(b, 1002);
	assert_int_equal(lock_row(a, 1, 5, &holder), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 5, &holder), WIDE_OK);
	assert_int_equal(wide_row_locks_held(a), 1);
	assert_int_equal(lock_row(b, 1, 5, &holder), WIDE_BUSY);
	assert_string_equal(wide_error_text(), "another transaction holds the lock of the row");
	assert_int_equal(holder, 1001);
	assert_int_equal(lock_row(b, 2, 5, &holder), WIDE_OK); /* another table */
	assert_int_equal(lock_row(b, 1, 6, &holder), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 6, &holder), WIDE_BUSY);
	assert_int_equal(holder, 1002);
	assert_int_equal(wide_row_locks_total(a), 3);
	assert_int_equal(counter_sum(a, COUNTER_ROW_LOCK_WAITS), 2);
	wide_row_unlock(a, 0);
	assert_int_equal(wide_row_locks_held(a), 0);
	assert_int_equal(wide_row_locks_total(a), 2);
	assert_int_equal(lock_row(b, 1, 5, &holder), WIDE_OK);
	wide_detach(b); /* releases its locks */
	assert_int_equal(wide_row_locks_total(a), 0);
	wide_detach(a);
	fixture_unmap(base, cfg);
}

typedef struct seen_locks
{
	wide_lock_info lock[600];
	char row[WIDE_LOCK_ROW + 1]; /* the row of the last waiting lock */
	int n, waiting, whole;
} seen_locks;

static void
see_lock(void *arg, const wide_lock_info *lock)
{
	seen_locks *s = arg;

	s->lock[s->n++] = *lock;
	s->waiting += !lock->granted;
	s->whole += lock->whole;
	if (!lock->granted)
	{
		memset(s->row, 0, sizeof s->row);
		memcpy(s->row, lock->row.data, lock->row.len);
	}
}

/* The view of locks: held locks with their table, and for each waiter its row and the holder. */
static void
test_look(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	char name[200];
	wide_bytes row = {(const uint8_t *) name, sizeof name};
	seen_locks s = {.n = 0};
	uint64_t holder;

	(void) state;
	for (int i = 0; i < 200; i++)
		name[i] = (char) ('a' + i % 26);
	assert_int_equal(wide_row_lock(a, 7, row, &holder), WIDE_OK);
	assert_int_equal(lock_row(b, 8, 1, &holder), WIDE_OK);
	assert_int_equal(wide_row_lock(b, 7, row, &holder), WIDE_BUSY);
	wide_row_lock_waits(b, 7, row);
	assert_int_equal(wide_row_locks_each(a, see_lock, &s), WIDE_OK);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.waiting, 1);
	assert_false(s.lock[2].granted);
	assert_int_equal(s.lock[0].table + s.lock[1].table, 15);
	assert_int_equal(s.lock[2].table, 7);
	assert_int_equal(s.lock[2].row_len, 200);
	assert_int_equal(strlen(s.row), WIDE_LOCK_ROW);
	assert_memory_equal(s.row, name, WIDE_LOCK_ROW);
	assert_int_equal(s.lock[2].holder, getpid());
	for (int i = 0; i < 2; i++)
		if (s.lock[i].table == 7)
			assert_true(s.lock[i].tag == s.lock[2].tag && s.lock[i].bucket == s.lock[2].bucket);
	wide_row_lock_waits(b, 0, row);
	wide_row_unlock(a, 0);
	memset(&s, 0, sizeof s);
	assert_int_equal(wide_row_locks_each(a, see_lock, &s), WIDE_OK);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.lock[0].table, 8);
	/* so many that they become locks on whole buckets */
	wide_row_unlock(b, 0);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
	memset(&s, 0, sizeof s);
	assert_int_equal(wide_row_locks_each(b, see_lock, &s), WIDE_OK);
	assert_int_equal(s.whole, 64);
	assert_int_equal(s.n, 64);
	/* a session that ends while waiting leaves nothing to the next owner of its slot */
	wide_row_lock_waits(b, 7, row);
	wide_detach(b);
	b = fixture_attach(base);
	memset(&s, 0, sizeof s);
	assert_int_equal(wide_row_locks_each(a, see_lock, &s), WIDE_OK);
	assert_int_equal(s.waiting, 0);
	wide_row_lock_waits(b, 9, row);
	memset(&s, 0, sizeof s);
	assert_int_equal(wide_row_locks_each(a, see_lock, &s), WIDE_OK);
	assert_int_equal(s.waiting, 1);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/*
 * The next owner of a lock that was released early learns which batch to wait
 * for, in entries and in whole buckets.
 */
static void
test_early(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint64_t holder;

	for (uint32_t rows = 1; rows <= 10000; rows *= 100)
	{
		for (uint32_t i = 0; i < rows; i++)
			assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
		wide_row_unlock(a, 1000 + rows);
		assert_int_equal(wide_row_locks_after(a), 0);
		assert_int_equal(wide_row_locks_after(b), 0);
		for (uint32_t i = 0; i < rows; i++)
		{
			assert_int_equal(lock_row(b, 1, i, &holder), WIDE_OK);
			assert_int_equal(wide_row_locks_after(b), 1000 + rows);
			/* neither an older batch nor none replaces it */
			if (i % 2 == 0)
				wide_row_unlock(b, 5);
			else
				wide_row_unlock(b, 0);
			assert_int_equal(wide_row_locks_after(b), 0);
		}
	}
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/*
 * One owner locks far more rows than there are entries: all of them exclude
 * the other owner, all are released.
 */
static void
test_overflow(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint64_t holder;

	wide_set_owner(a, 7);
	wide_set_owner(b, 8);
	for (int round = 0; round < 3; round++)
	{
		for (uint32_t i = 0; i < 10000; i++)
			assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
		assert_int_equal(wide_row_locks_held(a), 64); /* every bucket */
		assert_int_equal(wide_row_locks_total(a), 64);
		for (uint32_t i = 0; i < 10000; i++)
		{
			assert_int_equal(lock_row(b, 1, i, &holder), WIDE_BUSY);
			assert_int_equal(holder, 7);
		}
		for (uint32_t i = 0; i < 10000; i++)
			assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
		wide_row_unlock(a, 0);
		assert_int_equal(wide_row_locks_total(a), 0);
		assert_int_equal(lock_row(b, 1, 77, &holder), WIDE_OK);
		wide_row_unlock(b, 0);
	}
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/*
 * A full bucket with entries of several owners: BUSY names one of the others;
 * the bucket is never taken over.
 */
static void
test_full_bucket(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint64_t holder;
	size_t busy = 0;

	wide_set_owner(a, 7);
	wide_set_owner(b, 8);
	for (uint32_t i = 0; i < 64 * 3; i++)
		assert_int_equal(lock_row(b, 1, i, &holder), WIDE_OK);
	for (uint32_t i = 1000; i < 3000; i++)
	{
		wide_status st = lock_row(a, 1, i, &holder);

		if (st == WIDE_BUSY)
		{
			busy++;
			assert_int_equal(holder, 8);
		}
		else
			assert_int_equal(st, WIDE_OK);
	}
	assert_true(busy > 1000);
	/* b still holds its rows, none are lost */
	for (uint32_t i = 0; i < 64 * 3; i++)
	{
		assert_int_equal(lock_row(a, 1, i, &holder), WIDE_BUSY);
		assert_int_equal(lock_row(b, 1, i, &holder), WIDE_OK);
	}
	assert_int_equal(wide_row_locks_held(b), 64 * 3);
	wide_row_unlock(b, 0);
	/* now a can take everything: first the entries, then the buckets */
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
	wide_row_unlock(a, 0);
	assert_int_equal(wide_row_locks_total(a), 0);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* Counts entries and whole buckets, for wide_row_locks_each. */
static void
count_locks(void *arg, const wide_lock_info *lock)
{
	size_t *n = arg;

	n[lock->whole ? 1 : 0]++;
}

#define TRACKED 6000

/* Returns whether another process can lock the row. */
static bool
is_free(wide_db *other, uint32_t row)
{
	uint64_t holder;
	wide_status st = lock_row(other, 1, row, &holder);

	if (st == WIDE_OK)
		wide_row_unlock(other, 0);
	return st == WIDE_OK;
}

/* A rollback to a savepoint gives back the locks that were taken after it, and no others. */
static void
test_savepoint(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint64_t holder;

	assert_int_equal(lock_row(a, 1, 1, &holder), WIDE_OK);
	assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 1, &holder), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 2, &holder), WIDE_OK);
	assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 2, &holder), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 3, &holder), WIDE_OK);
	assert_int_equal(wide_row_locks_held(a), 3);
	wide_row_lock_undo(a);
	assert_int_equal(wide_row_locks_held(a), 2);
	assert_true(is_free(b, 3));
	assert_false(is_free(b, 2));
	/* kept locks belong to the savepoint around */
	assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 4, &holder), WIDE_OK);
	wide_row_lock_keep(a);
	assert_false(is_free(b, 4));
	wide_row_lock_undo(a);
	assert_true(is_free(b, 4) && is_free(b, 2));
	assert_false(is_free(b, 1));
	/* or to the transaction */
	assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 4, &holder), WIDE_OK);
	wide_row_lock_keep(a);
	assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
	wide_row_lock_undo(a);
	assert_false(is_free(b, 4));
	/* the end of the transaction ends savepoints too */
	assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
	assert_int_equal(lock_row(a, 1, 5, &holder), WIDE_OK);
	wide_row_unlock(a, 0);
	assert_int_equal(wide_row_locks_total(a), 0);
	assert_int_equal(lock_row(a, 1, 6, &holder), WIDE_OK);
	assert_int_equal(wide_row_locks_held(a), 1);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* What was read under a lock that was given back is known to the end of the transaction. */
static void
test_savepoint_after(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint64_t holder;

	assert_int_equal(lock_row(a, 1, 1, &holder), WIDE_OK);
	wide_row_unlock(a, 77);
	assert_int_equal(wide_row_lock_savepoint(b), WIDE_OK);
	assert_int_equal(lock_row(b, 1, 1, &holder), WIDE_OK);
	wide_row_lock_undo(b);
	assert_int_equal(wide_row_locks_held(b), 0);
	assert_int_equal(wide_row_locks_after(b), 77);
	wide_row_unlock(b, 0);
	assert_int_equal(wide_row_locks_after(b), 0);
	/* the number stays with the bucket */
	assert_int_equal(lock_row(a, 1, 1, &holder), WIDE_OK);
	assert_int_equal(wide_row_locks_after(a), 77);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/*
 * Random locks and savepoints, with few rows and with so many that buckets become
 * whole: a rollback leaves the lock table as it was at the savepoint.
 */
static void
test_savepoint_random(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint8_t *table = (uint8_t *) base + a->seg->locks;
	uint64_t rnd = 4711, holder;
	bool whole_undone = false;

	for (int round = 0; round < 300; round++)
	{
		struct
		{
			size_t held, seen[2];
			bool free[40];
		} at[8];

		int depth = 0, others = (int) (fixture_random(&rnd) % 3) * 20;
		uint32_t rows = round % 3 == 0 ? TRACKED : round % 3 == 1 ? 500 : 40;

		/* another process has some rows */
		for (int i = 0; i < others; i++)
			(void) lock_row(b, 1, fixture_random(&rnd) % rows, &holder);
		for (int step = 0; step < 60; step++)
		{
			switch (fixture_random(&rnd) % 8)
			{
				case 0:
					if (depth == 8)
						break;
					assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
					at[depth].held = wide_row_locks_held(a);
					memset(at[depth].seen, 0, sizeof at[depth].seen);
					assert_int_equal(wide_row_locks_each(a, count_locks, at[depth].seen), WIDE_OK);
					for (uint32_t i = 0; i < 40 && others == 0; i++)
						at[depth].free[i] = is_free(b, i);
					depth++;
					break;
				case 1:
					if (depth > 0)
					{
						size_t seen[2] = {0}, before[2] = {0};

						assert_int_equal(wide_row_locks_each(a, count_locks, before), WIDE_OK);
						wide_row_lock_undo(a);
						depth--;
						assert_int_equal(wide_row_locks_held(a), at[depth].held);
						assert_int_equal(wide_row_locks_each(a, count_locks, seen), WIDE_OK);
						assert_int_equal(seen[0], at[depth].seen[0]);
						assert_int_equal(seen[1], at[depth].seen[1]);
						whole_undone |= before[1] > seen[1] && seen[0] > 0;
						for (uint32_t i = 0; i < 40 && others == 0; i++)
							assert_int_equal(is_free(b, i), at[depth].free[i]);
					}
					break;
				case 2:
					if (depth > 0)
					{
						wide_row_lock_keep(a);
						depth--;
					}
					break;
				default:
					for (int n = (int) (fixture_random(&rnd) % (rows / 4)); n >= 0; n--)
					{
						wide_status st = lock_row(a, 1, fixture_random(&rnd) % rows, &holder);

						assert_true(st == WIDE_OK || (st == WIDE_BUSY && others > 0));
					}
			}
		}
		wide_row_unlock(a, 0);
		wide_row_unlock(b, 0);
		assert_int_equal(wide_row_locks_total(a), 0);
		for (size_t i = 0; i < (size_t) cfg->lock_buckets; i++)
			assert_int_equal(((uint32_t *) (table + i * 64))[0] |
								 ((uint32_t *) (table + i * 64))[1],
							 0);
	}
	assert_true(whole_undone);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* Plain counters, each protected by the lock of its row. */
static void
test_processes(void **state)
{
	void *base = fixture_map(cfg);
	volatile uint32_t *count = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
									-1, 0);
	pid_t pid[4];
	uint64_t sum = 0;
	wide_db *db;

	for (int p = 0; p < 4; p++)
	{
		pid[p] = unit_fork();
		if (pid[p] == 0)
		{
			uint64_t rnd = p + 1;

			db = fixture_attach(base);
			wide_set_owner(db, p + 1);
			for (int i = 0; i < 5000; i++)
			{
				/* few rows: contention; many: full and owned buckets */
				int n = 1 + fixture_random(&rnd) % 12;

				for (int k = 0; k < n; k++)
				{
					uint32_t row = fixture_random(&rnd) % (i % 2 ? 2000 : 20);
					uint64_t holder;
					wide_status st;

					/* a part of the locks is given back early */
					if (i % 3 == 0 && k == n / 2)
						CHILD_CHECK(wide_row_lock_savepoint(db) == WIDE_OK);
					st = lock_row(db, 1, row, &holder);
					CHILD_CHECK(st == WIDE_OK || st == WIDE_BUSY);
					CHILD_CHECK(st == WIDE_OK ||
								(holder >= 1 && holder <= 4 && holder != (uint64_t) p + 1));
					if (st == WIDE_OK)
					{
						uint32_t old = count[row];

						/*
						 * only sometimes: on a busy machine each call waits
						 * for the time slices of all others
						 */
						if (k == 0 && i % 16 < 2)
							sched_yield();
						count[row] = old + 1;
						count[10000 + p]++;
					}
				}
				if (i % 3 == 0 && i % 2 == 0)
					wide_row_lock_undo(db);
				else if (i % 3 == 0)
					wide_row_lock_keep(db);
				wide_row_unlock(db, 0);
				CHILD_CHECK(wide_row_locks_held(db) == 0);
			}
			wide_detach(db);
			_exit(0);
		}
	}
	for (int p = 0; p < 4; p++)
		fixture_child_ok(pid[p]);
	for (int i = 0; i < 2000; i++)
		sum += count[i];
	for (int p = 0; p < 4; p++)
		sum -= count[10000 + p];
	assert_int_equal(sum, 0);
	db = fixture_attach(base);
	assert_int_equal(wide_row_locks_total(db), 0);
	wide_detach(db);
	munmap((void *) count, 65536);
	fixture_unmap(base, cfg);
}

/* A process died inside a bucket: poison ends the spinning of others. */
static void
test_death_inside(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	pid_t pid = unit_fork();
	uint64_t holder;
	_Atomic uint32_t *bucket;
	wide_status st = WIDE_OK;

	if (pid == 0)
	{
		wide_db *mine = fixture_attach(base);

		/* the state inside bucket_enter, in all buckets */
		for (uint32_t i = 0; i < 64; i++)
		{
			bucket = (_Atomic uint32_t *) ((uint8_t *) base + mine->seg->locks + i * 64);
			*bucket = mine->slot_index + 1;
		}
		segment_enter_critical(mine);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	pid = unit_fork();
	if (pid == 0)
	{
		wide_db *mine = fixture_attach(base);

		usleep(20000);
		wide_poison(mine, "test says so");
		_exit(0);
	}
	st = lock_row(db, 1, 1, &holder);
	fixture_child_ok(pid);
	assert_int_equal(st, WIDE_POISONED);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basic),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_full_bucket),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_savepoint),
		cmocka_unit_test(test_savepoint_after),
		cmocka_unit_test(test_savepoint_random),
		cmocka_unit_test(test_death_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
