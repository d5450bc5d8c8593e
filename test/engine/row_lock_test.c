/* Row locks: exclusion, more rows than fit into the buckets, many processes, limits of memory. */
#include <sched.h>
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/lock_bucket.h"
#include "engine/shared/lock_memory.h"
#include "engine/shared/segment.h"
#include "test/host/lock_chunks.h"
#include "segment_fixture.h"

static const wide_config *cfg = &fixture_small; /* 64 buckets: 448 entries without blocks */

/* Maps a segment, and attaches handles with memory for row locks. */
static void *
locks_map(void)
{
	lock_chunks_map();
	lock_chunks_limit = (size_t) 1 << 30;
	lock_chunks_fail_create = lock_chunks_fail_map = false;
	return fixture_map(cfg);
}

static wide_db *
locks_attach(void *base)
{
	wide_host host = {0};
	wide_db *db = NULL;

	lock_chunks_fill(&host);
	assert_int_equal(wide_attach(base, "/nonexistent", &host, NULL, NULL, &db), WIDE_OK);
	return db;
}

/* Calls fn for all locks. */
static void
each_lock(wide_db *db, void (*fn)(void *arg, const wide_lock_info *lock), void *arg)
{
	uint32_t part = 0;
	wide_status st;

	do
	{
		st = wide_row_locks_each(db, &part, fn, arg);
		assert_true(st == WIDE_OK || st == WIDE_END);
	} while (st == WIDE_OK);
}

static wide_status
lock_row(wide_db *db, wide_table_id table, uint32_t row, uint64_t *holder)
{
	return wide_row_lock(db, table, (wide_bytes) {(const uint8_t *) &row, sizeof(row)}, holder);
}

static void
test_basic(void **state)
{
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
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
	wide_lock_info lock[600];	 /* the first ones */
	char row[WIDE_LOCK_ROW + 1]; /* the row of the last waiting lock */
	int n, waiting;
} seen_locks;

static void
see_lock(void *arg, const wide_lock_info *lock)
{
	seen_locks *s = arg;

	if (s->n < 600)
		s->lock[s->n] = *lock;
	s->n++;
	s->waiting += !lock->granted;
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
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
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
	each_lock(a, see_lock, &s);
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
	each_lock(a, see_lock, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.lock[0].table, 8);
	/* more than fit into the buckets; seen by a process that has not mapped the rest */
	wide_row_unlock(b, 0);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
	memset(&s, 0, sizeof s);
	each_lock(b, see_lock, &s);
	assert_int_equal(s.n, 10000);
	assert_int_equal(s.waiting, 0);
	for (int i = 0; i < 600; i++)
		assert_int_equal(s.lock[i].table, 1);
	/* a session that ends while waiting leaves nothing to the next owner of its slot */
	wide_row_lock_waits(b, 7, row);
	wide_detach(b);
	b = locks_attach(base);
	memset(&s, 0, sizeof s);
	each_lock(a, see_lock, &s);
	assert_int_equal(s.waiting, 0);
	wide_row_lock_waits(b, 9, row);
	memset(&s, 0, sizeof s);
	each_lock(a, see_lock, &s);
	assert_int_equal(s.waiting, 1);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/*
 * The next owner of a lock that was released early learns which batch to wait
 * for, in buckets and in blocks.
 */
static void
test_early(void **state)
{
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
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

/* One owner locks far more rows than fit into the buckets: all of them exclude the other owner,
 * no other row does, and all are released. */
static void
test_many(void **state)
{
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
	uint64_t holder;

	wide_set_owner(a, 7);
	wide_set_owner(b, 8);
	for (int round = 0; round < 3; round++)
	{
		for (uint32_t i = 0; i < 100000; i++)
			assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
		assert_int_equal(wide_row_locks_held(a), 100000);
		assert_int_equal(wide_row_locks_total(b), 100000);
		for (uint32_t i = 0; i < 100000; i++)
		{
			assert_int_equal(lock_row(b, 1, i, &holder), WIDE_BUSY);
			assert_int_equal(holder, 7);
			/* another table, and other rows */
			if (round > 0)
				assert_int_equal(lock_row(b, 2, i, &holder), WIDE_OK);
			assert_int_equal(lock_row(b, 1, 100000 + i, &holder), WIDE_OK);
			if (round == 2 && i % 10 == 9)
				wide_row_unlock(b, 0);
		}
		for (uint32_t i = 0; i < 100000; i++)
			assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
		assert_true(a->seg->lock_memory.bytes >= 100000 * 12);
		assert_true(a->seg->lock_memory.bytes <= 400000 * 28 + (4 << 20));
		assert_int_equal(a->seg->lock_memory.bytes, lock_chunks_bytes());
		wide_row_unlock(round == 0 ? a : b, 0);
		wide_row_unlock(round == 0 ? b : a, 0);
		assert_int_equal(wide_row_locks_total(a), 0);
		wide_row_lock_trim(a);
		wide_row_lock_trim(b);
		assert_true(lock_chunks_bytes() <= 4 << 20);
		assert_int_equal(a->seg->lock_memory.used, 0);
		assert_int_equal(lock_row(b, 1, 77, &holder), WIDE_OK);
		wide_row_unlock(b, 0);
	}
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* Some locks stay when those of a large transaction around them go: they do not keep its memory. */
static void
test_shrink(void **state)
{
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
	uint64_t holder;

	for (int round = 0; round < 3; round++)
	{
		if (round == 1)
			assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
		for (uint32_t i = 0; i < 1000000; i++)
		{
			assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
			if (i % 500 == 0)
				assert_int_equal(lock_row(b, 2, i, &holder), WIDE_OK);
		}
		if (round == 1)
			wide_row_lock_undo(a);
		wide_row_unlock(a, 0);
		wide_row_lock_trim(a);
		assert_true(a->seg->lock_memory.used <= 256 * 1024);
		assert_true(lock_chunks_bytes() <= 4 << 20);
		for (uint32_t i = 0; i < 1000000; i += 500)
			assert_int_equal(lock_row(a, 2, i, &holder), WIDE_BUSY);
		assert_int_equal(wide_row_locks_total(a), 2000);
		assert_int_equal(wide_row_locks_held(b), 2000);
		wide_row_unlock(b, 0);
		wide_row_lock_trim(b);
		assert_int_equal(wide_row_locks_total(a), 0);
		assert_int_equal(a->seg->lock_memory.used, 0);
	}
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* Some locks of others are between those of one with many: nobody loses any. */
static void
test_between(void **state)
{
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
	uint64_t holder;

	wide_set_owner(a, 7);
	wide_set_owner(b, 8);
	for (uint32_t i = 0; i < 200000; i++)
		assert_int_equal(lock_row(i % 5 == 0 ? b : a, 1, i, &holder), WIDE_OK);
	for (int round = 0; round < 2; round++)
	{
		for (uint32_t i = 0; i < 200000; i++)
		{
			bool of_b = i % 5 == 0;

			assert_int_equal(lock_row(of_b ? b : a, 1, i, &holder), WIDE_OK);
			if (round == 0 || of_b)
			{
				assert_int_equal(lock_row(of_b ? a : b, 1, i, &holder), WIDE_BUSY);
				assert_int_equal(holder, of_b ? 8 : 7);
			}
		}
		assert_int_equal(wide_row_locks_held(b), 40000);
		assert_int_equal(wide_row_locks_total(a), 200000);
		/* b's stay, and the memory that they are in */
		wide_row_unlock(a, 0);
		assert_true(lock_chunks_bytes() > 4 << 20);
		wide_row_lock_trim(a);
		assert_int_equal(wide_row_locks_total(a), 40000);
	}
	wide_row_unlock(b, 0);
	assert_int_equal(wide_row_locks_total(a), 0);
	assert_int_equal(a->seg->lock_memory.used, 0);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* At the limit: an error for the one with many locks, room for those with few, no wrong lock. */
static void
test_limit(void **state)
{
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
	uint64_t holder;
	uint32_t n = 0, few = 0;
	wide_status st;

	lock_chunks_limit = 1 << 20;
	while ((st = lock_row(a, 1, n, &holder)) == WIDE_OK)
		n++;
	assert_int_equal(st, WIDE_LIMIT);
	assert_non_null(strstr(wide_error_text(), "may use 1024 kB"));
	/* 7/8 of a megabyte; up to 28 bytes for a lock */
	assert_true(n > (7 << 17) / 28 && n < (7 << 17) / 12);
	assert_true(lock_chunks_bytes() <= 1 << 20);
	assert_int_equal(wide_row_locks_held(a), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(lock_row(b, 1, i, &holder), WIDE_BUSY);
	/* transactions of 100 rows, ten at a time */
	for (int t = 0; t < 10; t++)
	{
		for (uint32_t i = 0; i < 1000; i++)
			few += lock_row(b, 2, few, &holder) == WIDE_OK;
		wide_row_unlock(b, 0);
	}
	assert_int_equal(few, 10000);
	/* b becomes one with many, and gets the error as well; what it has it keeps */
	while ((st = lock_row(b, 3, few, &holder)) == WIDE_OK)
		few++;
	assert_int_equal(st, WIDE_LIMIT);
	assert_int_equal(wide_row_locks_held(b), few - 10000);
	wide_row_unlock(a, 0);
	assert_int_equal(lock_row(b, 3, few, &holder), WIDE_OK);
	assert_int_equal(lock_row(b, 1, 0, &holder), WIDE_OK);
	/* a higher limit counts at once */
	for (n = 0; lock_row(a, 4, n, &holder) == WIDE_OK; n++)
		;
	lock_chunks_limit = 8 << 20;
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(lock_row(a, 5, i, &holder), WIDE_OK);
	wide_detach(a);
	wide_detach(b);

	/* the host has no memory */
	lock_chunks_fail_create = true;
	a = locks_attach(base);
	assert_int_equal(wide_row_locks_total(a), 0);
	wide_row_lock_trim(a);
	for (n = 0; (st = lock_row(a, 1, n, &holder)) == WIDE_OK; n++)
		;
	assert_int_equal(st, WIDE_NOMEM);
	assert_string_equal(wide_error_text(),
						"could not get shared memory for row locks: the test says so");
	lock_chunks_fail_create = false;
	assert_int_equal(lock_row(a, 1, n, &holder), WIDE_OK);
	wide_detach(a);
	fixture_unmap(base, cfg);
}

/* A host without such memory: the buckets themselves are exact. */
static void
test_no_memory(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *a = fixture_attach(base);
	wide_db *b = fixture_attach(base);
	uint64_t holder;
	uint32_t n = 0;

	while (lock_row(a, 1, n, &holder) == WIDE_OK)
		n++;
	assert_true(n >= 64);
	for (uint32_t i = 0; i < 3 * n; i++)
		assert_int_not_equal(lock_row(b, 2, i, &holder), WIDE_BUSY);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/*
 * Entries are moved to a chunk that their owner cannot map: its release makes them void, and it
 * locks nothing before they are removed.  Rollback to a savepoint keeps such rows locked.
 */
static void
test_unmapped(void **state)
{
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
	seen_locks *s = calloc(1, sizeof *s);
	uint64_t holder;

	for (int round = 0; round < 3; round++)
	{
		uint32_t extra = 0;
		wide_status st;

		/* without mappings of an earlier round */
		wide_detach(a);
		a = locks_attach(base);
		wide_set_owner(a, 7);
		for (uint32_t i = 0; i < 2000; i++)
		{
			if (i == 1000)
				assert_int_equal(wide_row_lock_savepoint(a), WIDE_OK);
			assert_int_equal(lock_row(a, 1, i, &holder), WIDE_OK);
		}
		for (uint32_t i = 0; i < 100000; i++)
			assert_int_equal(lock_row(b, 2, i, &holder), WIDE_OK);
		lock_chunks_fail_map = true;
		while ((st = lock_row(a, 3, extra, &holder)) == WIDE_OK)
			extra++;
		assert_int_equal(st, WIDE_NOMEM);
		wide_row_lock_undo(a);
		assert_true(wide_row_locks_held(a) > 1000 && wide_row_locks_held(a) <= 2000 + extra);
		for (uint32_t i = 0; i < 1000; i++)
			assert_int_equal(lock_row(b, 1, i, &holder), WIDE_BUSY);
		/* the next holder learns of the batch, whichever way it gets the lock */
		wide_row_unlock(a, 1000 + round);
		for (uint32_t i = 0; i < 2000; i += 2)
			assert_int_equal(lock_row(b, 1, i, &holder), WIDE_OK);
		assert_int_equal(wide_row_locks_after(b), 1000 + round);
		assert_int_equal(lock_row(a, 3, 1, &holder), WIDE_NOMEM);
		if (round == 1)
		{
			wide_detach(a);
			a = locks_attach(base);
			wide_set_owner(a, 7);
			assert_int_equal(lock_row(a, 3, 1, &holder), WIDE_NOMEM);
		}
		lock_chunks_fail_map = false;
		/* void locks are not shown */
		memset(s, 0, sizeof *s);
		each_lock(b, see_lock, s);
		assert_int_equal(s->n, 101000);
		assert_int_equal(lock_row(a, 3, 1, &holder), WIDE_OK);
		assert_int_equal(wide_row_locks_total(a), 101001);
		for (uint32_t i = 0; i < 2000; i++)
			assert_int_equal(lock_row(a, 1, i, &holder), i % 2 == 0 ? WIDE_BUSY : WIDE_OK);
		if (round == 2)
		{
			wide_detach(b);
			b = locks_attach(base);
		}
		wide_row_unlock(b, 0);
		wide_row_unlock(a, 0);
		assert_int_equal(wide_row_locks_total(a), 0);
		wide_row_lock_trim(b);
		wide_row_lock_trim(a);
	}
	free(s);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* Blocks do not overlap, and come back. */
static void
test_memory(void **state)
{
	enum
	{
		BLOCKS = 500
	};

	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
	uint64_t rnd = 99;

	struct
	{
		lock_ref ref;
		size_t bytes;
	} block[BLOCKS] = {0};

	for (int i = 0; i < 60000; i++)
	{
		int n = (int) (fixture_random(&rnd) % BLOCKS);
		wide_db *db = fixture_random(&rnd) % 2 ? a : b;
		uint32_t order = (uint32_t) (fixture_random(&rnd) % 8 * (fixture_random(&rnd) % 3 == 0));
		uint8_t *p;

		if (block[n].ref == 0)
		{
			assert_int_equal(lock_memory_allocate(db, order, true, &block[n].ref), WIDE_OK);
			block[n].bytes = (size_t) LOCK_UNIT << order;
			p = lock_memory_at(db, block[n].ref);
			assert_non_null(p);
			memset(p, n & 0xff, block[n].bytes);
			continue;
		}
		p = lock_memory_at(db, block[n].ref);
		if (p == NULL)
		{
			assert_int_equal(lock_memory_map(db, block[n].ref), WIDE_OK);
			p = lock_memory_at(db, block[n].ref);
		}
		for (size_t k = 0; k < block[n].bytes; k++)
			assert_int_equal(p[k], n & 0xff);
		lock_memory_free(db, block[n].ref);
		block[n].ref = 0;
		if (fixture_random(&rnd) % 100 == 0)
			lock_memory_trim(db);
		/* now and then everything is freed */
		for (int k = 0; k < BLOCKS && i % 20000 == 19999; k++)
			if (block[k].ref != 0 && (lock_memory_at(a, block[k].ref) != NULL ||
									  lock_memory_map(a, block[k].ref) == WIDE_OK))
				lock_memory_free(a, block[k].ref), block[k].ref = 0;
	}
	for (int k = 0; k < BLOCKS; k++)
		if (block[k].ref != 0 && (lock_memory_at(a, block[k].ref) != NULL ||
								  lock_memory_map(a, block[k].ref) == WIDE_OK))
			lock_memory_free(a, block[k].ref);
	assert_int_equal(a->seg->lock_memory.used, 0);
	lock_memory_trim(a);
	assert_true(lock_chunks_bytes() <= 4 << 20);
	wide_detach(a);
	wide_detach(b);
	fixture_unmap(base, cfg);
}

/* ------------------------------------------------------- against a model */

#define HOLDERS	   5
#define MODEL_ROWS 30000

/* What must hold, for each row: who has it, when that one got it, what was left under it. */
typedef struct lock_model
{
	int owner[MODEL_ROWS]; /* -1 = none */
	int order[MODEL_ROWS]; /* the owner's count of locks when it took this one */
	uint64_t left[MODEL_ROWS];

	struct
	{
		wide_db *db;
		int taken; /* count of locks taken in this transaction */
		int held, depth, savepoint[6];
		uint64_t after; /* at least this */
	} at[HOLDERS];
} lock_model;

static void
model_lock(lock_model *m, int who, uint32_t row)
{
	uint64_t holder;
	wide_status st = lock_row(m->at[who].db, 1 + row % 3, row, &holder);

	if (m->owner[row] >= 0 && m->owner[row] != who)
	{
		assert_true(st == WIDE_BUSY || (lock_chunks_fail_map && st == WIDE_NOMEM));
		if (st == WIDE_BUSY)
			assert_int_equal(holder, 100 + m->owner[row]);
		return;
	}
	if (st != WIDE_OK)
	{
		assert_true((st == WIDE_LIMIT && lock_chunks_limit < 1 << 24) ||
					(st == WIDE_NOMEM && (lock_chunks_fail_map || lock_chunks_fail_create)));
		return;
	}
	if (m->owner[row] < 0)
	{
		m->owner[row] = who;
		m->order[row] = m->at[who].taken++;
		m->at[who].held++;
	}
	if (m->left[row] > m->at[who].after)
		m->at[who].after = m->left[row];
	assert_true(wide_row_locks_after(m->at[who].db) >= m->at[who].after);
}

/* Frees the model's locks of a holder that were taken since its count was `from`. */
static void
model_free(lock_model *m, int who, int from, uint64_t left)
{
	for (int row = 0; row < MODEL_ROWS; row++)
		if (m->owner[row] == who && m->order[row] >= from)
		{
			m->owner[row] = -1;
			m->at[who].held--;
			if (left > m->left[row])
				m->left[row] = left;
		}
}

static void
model_end(lock_model *m, int who, uint64_t left)
{
	wide_row_unlock(m->at[who].db, left);
	model_free(m, who, 0, left);
	assert_int_equal(m->at[who].held, 0);
	m->at[who].taken = m->at[who].depth = 0;
	m->at[who].after = 0;
	if (left % 3 == 0)
		wide_row_lock_trim(m->at[who].db);
}

/* All rows are free or locked as the model says. */
static void
model_check(lock_model *m)
{
	size_t all = 0;

	for (int i = 0; i < HOLDERS; i++)
	{
		assert_int_equal(wide_row_locks_held(m->at[i].db), m->at[i].held);
		all += (size_t) m->at[i].held;
	}
	assert_int_equal(wide_row_locks_total(m->at[0].db), all);
	for (uint32_t row = 0; row < MODEL_ROWS; row++)
		if (m->owner[row] >= 0)
		{
			uint64_t holder;
			int other = (m->owner[row] + 1) % HOLDERS;

			assert_int_equal(lock_row(m->at[other].db, 1 + row % 3, row, &holder), WIDE_BUSY);
			assert_int_equal(holder, 100 + m->owner[row]);
		}
}

/* Random locks, savepoints, early releases, limits, and processes that come and go. */
static void
test_model(void **state)
{
	void *base = locks_map();
	lock_model *m = calloc(1, sizeof *m);
	const char *seed = getenv("WIDE_SEED");
	uint64_t rnd = seed != NULL ? strtoull(seed, NULL, 10) : 12345, lsn = 1000;

	for (int row = 0; row < MODEL_ROWS; row++)
		m->owner[row] = -1;
	for (int i = 0; i < HOLDERS; i++)
	{
		m->at[i].db = locks_attach(base);
		wide_set_owner(m->at[i].db, 100 + i);
	}
	for (int step = 0; step < 6000; step++)
	{
		int who = (int) (fixture_random(&rnd) % HOLDERS), what = (int) (fixture_random(&rnd) % 20);
		wide_db *db = m->at[who].db;
		uint32_t rows = fixture_random(&rnd) % 3 == 0 ? 500 : MODEL_ROWS;
		/* phases: few locks, many, at the limit, no new memory */
		int phase = step / 500 % 4;
		int most = phase == 0 ? 30 : 3000;

		lock_chunks_limit = phase == 2 ? (size_t) 600 << 10 : (size_t) 1 << 30;
		lock_chunks_fail_create = phase == 3;
		if (what < 10)
			for (int n = 1 + (int) (fixture_random(&rnd) % (uint32_t) most); n > 0; n--)
				model_lock(m, who, (uint32_t) (fixture_random(&rnd) % rows));
		else if (what < 13 && m->at[who].depth < 6)
		{
			assert_int_equal(wide_row_lock_savepoint(db), WIDE_OK);
			m->at[who].savepoint[m->at[who].depth++] = m->at[who].taken;
		}
		else if (what < 15 && m->at[who].depth > 0)
		{
			wide_row_lock_undo(db);
			model_free(m, who, m->at[who].savepoint[--m->at[who].depth], 0);
			assert_true(wide_row_locks_after(db) >= m->at[who].after);
		}
		else if (what < 16 && m->at[who].depth > 0)
		{
			wide_row_lock_keep(db);
			m->at[who].depth--;
		}
		else if (what < 18)
			model_end(m, who, fixture_random(&rnd) % 2 ? ++lsn : 0);
		else if (what == 18 && step % 7 == 0)
		{
			model_end(m, who, 0);
			wide_detach(db);
			m->at[who].db = locks_attach(base);
			wide_set_owner(m->at[who].db, 100 + who);
		}
		if (step % 100 == 99)
			model_check(m);
	}
	for (int i = 0; i < HOLDERS; i++)
		model_end(m, i, 0);
	model_check(m);
	assert_int_equal(m->at[0].db->seg->lock_memory.used, 0);
	for (int i = 0; i < HOLDERS; i++)
		wide_detach(m->at[i].db);
	lock_chunks_fail_create = false;
	free(m);
	fixture_unmap(base, cfg);
}

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
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
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
	void *base = locks_map();
	wide_db *a = locks_attach(base);
	wide_db *b = locks_attach(base);
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

/* Plain counters, each protected by the lock of its row. */
static void
test_processes(void **state)
{
	void *base = locks_map();
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

			db = locks_attach(base);
			wide_set_owner(db, p + 1);
			for (int i = 0; i < 5000; i++)
			{
				/* few rows: contention; many: blocks that grow and go */
				int n = 1 + fixture_random(&rnd) % (i % 500 == 0 ? 5000 : 12);

				for (int k = 0; k < n; k++)
				{
					uint32_t row = fixture_random(&rnd) % (i % 2 ? 2000 : n > 12 ? 9000 : 20);
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
				if (i % 5 == 0)
					wide_row_lock_trim(db);
				CHILD_CHECK(wide_row_locks_held(db) == 0);
			}
			wide_detach(db);
			_exit(0);
		}
	}
	for (int p = 0; p < 4; p++)
		fixture_child_ok(pid[p]);
	for (int i = 0; i < 9000; i++)
		sum += count[i];
	for (int p = 0; p < 4; p++)
		sum -= count[10000 + p];
	assert_int_equal(sum, 0);
	db = locks_attach(base);
	assert_int_equal(wide_row_locks_total(db), 0);
	wide_detach(db);
	munmap((void *) count, 65536);
	fixture_unmap(base, cfg);
}

/* A process died inside a bucket: poison ends the spinning of others. */
static void
test_death_inside(void **state)
{
	void *base = locks_map();
	wide_db *db = locks_attach(base);
	pid_t pid = unit_fork();
	uint64_t holder;
	_Atomic uint32_t *bucket;
	wide_status st = WIDE_OK;

	if (pid == 0)
	{
		wide_db *mine = locks_attach(base);

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
		wide_db *mine = locks_attach(base);

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
		cmocka_unit_test(test_basic),		 cmocka_unit_test(test_look),
		cmocka_unit_test(test_early),		 cmocka_unit_test(test_many),
		cmocka_unit_test(test_shrink),		 cmocka_unit_test(test_between),
		cmocka_unit_test(test_limit),		 cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_unmapped),	 cmocka_unit_test(test_memory),
		cmocka_unit_test(test_model),		 cmocka_unit_test(test_processes),
		cmocka_unit_test(test_savepoint),	 cmocka_unit_test(test_savepoint_after),
		cmocka_unit_test(test_death_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
