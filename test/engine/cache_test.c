/* The shared block cache: lookup, eviction, pins, many processes. */
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "test/host/cache_probe.h"
#include "segment_fixture.h"

static void (*pause_fn)(void);
#define CACHE_PAUSE()                    \
	do                                   \
	{                                    \
		if (pause_fn != NULL)            \
		{                                \
			void (*fn)(void) = pause_fn; \
			pause_fn = NULL;             \
			fn();                        \
		}                                \
	} while (0)
#include "engine/shared/cache.c"

static const wide_config *cfg = &fixture_small; /* 2 MiB: 32 segments of 64 KiB */

/* The bytes of a block follow from its key, so every reader can check them. */
static uint64_t
block_seed(uint64_t file, uint64_t offset)
{
	return file * 1000003 + offset * 7 + 1;
}

static uint32_t
block_len(uint64_t file, uint64_t offset)
{
	uint64_t s = block_seed(file, offset);

	return 100 + fixture_random(&s) % 12000;
}

static void
block_fill(uint64_t file, uint64_t offset, uint8_t *p, uint32_t len)
{
	uint64_t s = block_seed(file, offset);
	uint8_t add = (uint8_t) fixture_random(&s);

	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t) (add + i * 31 + (i >> 8));
}

static bool
block_right(uint64_t file, uint64_t offset, const block_ref *r)
{
	uint64_t s = block_seed(file, offset);
	uint8_t add = (uint8_t) fixture_random(&s);

	if (r->len != block_len(file, offset))
		return false;
	for (uint32_t i = 0; i < r->len; i++)
		if (r->data[i] != (uint8_t) (add + i * 31 + (i >> 8)))
			return false;
	return true;
}

static wide_status
put(wide_db *db, uint64_t file, uint64_t offset, bool high, block_ref *r)
{
	uint8_t buf[16384];
	uint32_t len = block_len(file, offset);

	block_fill(file, offset, buf, len);
	return cache_probe_put(db, file, offset, buf, len, high, r);
}

static void
test_basic(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	block_ref a, b, c;

	assert_false(cache_get(db, 1, 0, &a));
	assert_null(a.data);
	cache_unpin(db, &a); /* no effect */
	assert_int_equal(put(db, 1, 0, false, &a), WIDE_OK);
	assert_true(a.segment != UINT32_MAX);
	assert_true(block_right(1, 0, &a));
	assert_int_equal((uintptr_t) a.data % 8, 0);
	assert_true(cache_get(db, 1, 0, &b));
	assert_ptr_equal(a.data, b.data);
	/* the same key again: returns the cached block */
	assert_int_equal(put(db, 1, 0, false, &c), WIDE_OK);
	assert_ptr_equal(a.data, c.data);
	assert_int_equal(cache_probe_pinned(db), 3);
	cache_unpin(db, &a);
	cache_unpin(db, &b);
	cache_unpin(db, &c);
	cache_unpin(db, &c); /* zeroed by the first unpin */
	assert_int_equal(cache_probe_pinned(db), 0);
	assert_false(cache_get(db, 1, 1, &a));
	assert_false(cache_get(db, 2, 0, &a));
	assert_int_equal(counter_sum(db, COUNTER_CACHE_HITS), 1);
	assert_int_equal(counter_sum(db, COUNTER_CACHE_MISSES), 3);
	assert_true(cache_used(db) >= block_len(1, 0));
	/* file 1 is forgotten, file 2 stays */
	assert_int_equal(put(db, 2, 0, false, &a), WIDE_OK);
	cache_unpin(db, &a);
	cache_forget_files(db, &(uint64_t) {1}, 1);
	assert_false(cache_get(db, 1, 0, &a));
	assert_true(cache_get(db, 2, 0, &a));
	assert_true(block_right(2, 0, &a));
	cache_unpin(db, &a);
	cache_forget_files(db, &(uint64_t) {2}, 1);
	assert_int_equal(cache_used(db), 0);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/*
 * A block built in a reserved place is found after it is published, not
 * before, and never after an abandon.
 */
static void
test_places(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	cache_place p, q;
	block_ref r, other;
	uint32_t len = block_len(1, 0);

	assert_int_equal(cache_reserve(db, 1, 0, len, false, &p, &r), WIDE_OK);
	assert_non_null(p.to);
	assert_null(r.data);
	assert_false(cache_get(db, 1, 0, &other));
	assert_int_equal(cache_probe_pinned(db), 1);
	cache_abandon(db, &p);
	assert_int_equal(cache_probe_pinned(db), 0);
	assert_false(cache_get(db, 1, 0, &r));
	assert_int_equal(cache_used(db), 0);
	/* two processes at the same time: the first to publish wins */
	assert_int_equal(cache_reserve(db, 1, 0, len, false, &p, &r), WIDE_OK);
	assert_int_equal(cache_reserve(db, 1, 0, len, false, &q, &other), WIDE_OK);
	assert_true(p.to + len <= q.to || q.to + len <= p.to);
	block_fill(1, 0, p.to, len);
	block_fill(1, 0, q.to, len);
	assert_int_equal(cache_publish(db, &q, &other), WIDE_OK);
	assert_ptr_equal(other.data, q.to);
	assert_int_equal(cache_publish(db, &p, &r), WIDE_OK);
	assert_ptr_equal(r.data, q.to);
	cache_unpin(db, &r);
	/* the next one finds the block and builds none */
	assert_int_equal(cache_reserve(db, 1, 0, len, false, &p, &r), WIDE_OK);
	assert_null(p.to);
	assert_ptr_equal(r.data, q.to);
	assert_true(block_right(1, 0, &r));
	cache_unpin(db, &r);
	cache_unpin(db, &other);
	/* a block that is too large for the cache */
	for (int publish = 0; publish < 2; publish++)
	{
		assert_int_equal(cache_reserve(db, 3, 0, 100000, false, &p, &r), WIDE_OK);
		memset(p.to, 5, 100000);
		if (!publish)
			cache_abandon(db, &p);
		else
			assert_int_equal(cache_publish(db, &p, &r), WIDE_OK);
	}
	assert_int_equal(r.len, 100000);
	assert_int_equal(r.data[99999], 5);
	cache_unpin(db, &r);
	assert_int_equal(cache_probe_pinned(db), 0);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

static void
test_large(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	uint8_t *big = calloc(1, 100000);
	block_ref r;

	/* the filter of a partition, slightly over 40 KB, fits into a segment of the smallest cache */
	assert_int_equal(cache_probe_put(db, 2, 0, big, 41200, true, &r), WIDE_OK);
	assert_true(r.segment != UINT32_MAX);
	cache_unpin(db, &r);
	big[99999] = 7;
	assert_int_equal(cache_probe_put(db, 1, 0, big, 100000, false, &r), WIDE_OK);
	assert_true(r.segment == UINT32_MAX);
	assert_int_equal(r.data[99999], 7);
	cache_unpin(db, &r);
	assert_null(r.data);
	assert_false(cache_get(db, 1, 0, &r));
	cache_private(big, 100000, &r);
	cache_unpin(db, &r);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* More blocks than space: pinned blocks never change, frequently used ones stay. */
static void
test_eviction(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	block_ref pinned, r;
	int hot = 0, cold = 0;

	assert_int_equal(put(db, 9, 9, false, &pinned), WIDE_OK);
	for (int i = 0; i < 20000; i++)
	{
		if (!cache_get(db, 1, i, &r))
			assert_int_equal(put(db, 1, i, false, &r), WIDE_OK);
		assert_true(r.segment != UINT32_MAX);
		assert_true(block_right(1, i, &r));
		cache_unpin(db, &r);
		/* 20 blocks are looked up all the time */
		if (cache_get(db, 2, i % 20, &r))
			hot += i >= 1000;
		else
			assert_int_equal(put(db, 2, i % 20, false, &r), WIDE_OK);
		assert_true(block_right(2, i % 20, &r));
		cache_unpin(db, &r);
		assert_true(cache_used(db) <= 2100000);
	}
	assert_true(cache_used(db) > 1200000);
	assert_true(hot > 18800);
	assert_true(block_right(9, 9, &pinned));
	/* the entry may be gone, but not the bytes */
	if (cache_get(db, 9, 9, &r))
		assert_ptr_equal(r.data, pinned.data);
	cache_unpin(db, &r);
	cache_unpin(db, &pinned);
	/* a block that is not looked up again is evicted */
	for (int i = 0; i < 20000; i++)
		if (cache_get(db, 1, i, &r))
		{
			cold++;
			cache_unpin(db, &r);
		}
	assert_in_range(cold, 50, 400);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* High-priority blocks survive a scan that sweeps the others out. */
static void
test_priority(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	block_ref r;
	int high = 0, low = 0;

	for (int i = 0; i < 20; i++)
	{
		assert_int_equal(put(db, 1, i, true, &r), WIDE_OK);
		cache_unpin(db, &r);
		assert_int_equal(put(db, 2, i, false, &r), WIDE_OK);
		cache_unpin(db, &r);
	}
	for (int i = 0; i < 700; i++)
	{
		assert_int_equal(put(db, 3, i, false, &r), WIDE_OK);
		cache_unpin(db, &r);
	}
	for (int i = 0; i < 20; i++)
	{
		if (cache_get(db, 1, i, &r))
			high++;
		cache_unpin(db, &r);
		if (cache_get(db, 2, i, &r))
			low++;
		cache_unpin(db, &r);
	}
	assert_int_equal(low, 0);
	assert_true(high >= 16);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

static int
count_hits(wide_db *db, uint64_t file, int n)
{
	block_ref r;
	int hits = 0;

	for (int i = 0; i < n; i++)
	{
		if (cache_get(db, file, i, &r))
		{
			assert_true(block_right(file, i, &r));
			hits++;
		}
		cache_unpin(db, &r);
	}
	return hits;
}

static void
read_once(wide_db *db, uint64_t file, int from, int n)
{
	block_ref r;

	for (int i = from; i < from + n; i++)
	{
		if (!cache_get(db, file, i, &r))
			assert_int_equal(put(db, file, i, false, &r), WIDE_OK);
		cache_unpin(db, &r);
	}
}

/*
 * Blocks looked up twice survive a scan of four times the cache, although
 * they are not looked up meanwhile.
 */
static void
test_scan(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);

	read_once(db, 1, 0, 100);
	read_once(db, 1, 0, 100);
	read_once(db, 2, 0, 1400);
	assert_true(count_hits(db, 1, 100) >= 95);
	/* the scan keeps few of its own blocks */
	assert_true(count_hits(db, 2, 1400) < 350);
	/* newly used blocks displace those no longer used */
	for (int i = 0; i < 12; i++)
	{
		read_once(db, 5 + i, 0, 150);
		read_once(db, 5 + i, 0, 150);
		read_once(db, 20, 400 * i, 400);
	}
	assert_true(count_hits(db, 16, 150) >= 130);
	assert_int_equal(count_hits(db, 1, 100), 0);
	/* but not for ever: with scans alone, one that nearly fits gets its space */
	for (int i = 0; i < 20; i++)
		read_once(db, 30, 0, 240);
	assert_true(count_hits(db, 30, 240) >= 230);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* Space in kept segments is reused at once when its files are forgotten. */
static void
test_forgotten(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);

	for (int f = 1; f < 30; f++)
	{
		/* 1.2 MB are kept, more than half of the cache, then their file is forgotten */
		for (int i = 0; i < 3; i++)
		{
			read_once(db, f, 0, 200);
			read_once(db, f, 0, 200);
		}
		read_once(db, 100, f * 400, 200);
		assert_true(count_hits(db, f, 200) >= 165);
		cache_forget_files(db, &(uint64_t) {f}, 1);
		/* the same amount, looked up only once */
		read_once(db, 200 + f, 0, 200);
		assert_true(count_hits(db, 200 + f, 200) >= 185);
		cache_forget_files(db, &(uint64_t) {200 + f}, 1);
	}
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* Everything pinned: the cache hands out private copies, and recovers afterwards. */
static void
test_all_pinned(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	static block_ref refs[1000];
	int private = 0;
	block_ref r;

	for (int i = 0; i < 1000; i++)
	{
		assert_int_equal(put(db, 1, i, false, &refs[i]), WIDE_OK);
		private += refs[i].segment == UINT32_MAX;
	}
	assert_in_range(private, 400, 900);
	for (int i = 0; i < 1000; i++)
	{
		assert_true(block_right(1, i, &refs[i]));
		cache_unpin(db, &refs[i]);
	}
	assert_int_equal(cache_probe_pinned(db), 0);
	assert_int_equal(put(db, 2, 0, false, &r), WIDE_OK);
	assert_true(r.segment != UINT32_MAX);
	/* a pin left at detach is released */
	wide_detach(db);
	db = fixture_attach(base);
	for (int i = 0; i < 5000; i++)
	{
		assert_int_equal(put(db, 3, i, false, &r), WIDE_OK);
		cache_unpin(db, &r);
	}
	assert_false(cache_get(db, 2, 0, &r));
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* Children look up, insert, hold pins for a while and check every byte; one child forgets files. */
static void
child_hammer(void *base, int number)
{
	wide_db *db = fixture_attach(base);
	uint64_t rnd = number * 77 + 5;

	struct
	{
		block_ref r;
		uint64_t file, offset;
	} held[8] = {{{0}, 0, 0}};

	uint64_t hits = 0;

	for (int i = 0; i < 30000; i++)
	{
		int h = fixture_random(&rnd) % 8;
		uint64_t x = fixture_random(&rnd);
		uint64_t file = 1 + x % 3;
		/* a few hot blocks among many */
		uint64_t offset = x % 4 ? (x >> 8) % 64 : (x >> 8) % 1000;

		if (held[h].r.data != NULL)
			CHILD_CHECK(block_right(held[h].file, held[h].offset, &held[h].r));
		cache_unpin(db, &held[h].r);
		if (cache_get(db, file, offset, &held[h].r))
			hits++;
		else
			CHILD_CHECK(put(db, file, offset, x % 16 == 0, &held[h].r) == WIDE_OK);
		held[h].file = file;
		held[h].offset = offset;
		CHILD_CHECK(block_right(file, offset, &held[h].r));
		if (number == 0 && i % 500 == 0)
			cache_forget_files(db, &(uint64_t) {1 + i / 500 % 3}, 1);
	}
	for (int h = 0; h < 8; h++)
	{
		CHILD_CHECK(block_right(held[h].file, held[h].offset, &held[h].r));
		cache_unpin(db, &held[h].r);
	}
	CHILD_CHECK(hits > 5000);
	CHILD_CHECK(cache_probe_pinned(db) == 0);
	wide_detach(db);
}

static void
test_hammer(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db;
	pid_t pid[5];

	for (int i = 0; i < 5; i++)
	{
		pid[i] = unit_fork();
		if (pid[i] == 0)
		{
			child_hammer(base, i);
			_exit(0);
		}
	}
	for (int i = 0; i < 5; i++)
		fixture_child_ok(pid[i]);
	db = fixture_attach(base);
	for (int f = 1; f <= 3; f++)
		cache_forget_files(db, &(uint64_t) {f}, 1);
	assert_int_equal(cache_used(db), 0);
	/* no pins remain */
	for (uint32_t s = 0; s < cfg->max_processes; s++)
		for (size_t i = 0; i < cache_pins_bytes(cfg->cache_size); i++)
			assert_int_equal(((uint8_t *) base + db->seg->cache_pins +
							  s * cache_pins_bytes(cfg->cache_size))[i],
							 0);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* A reader is paused after it has read the entry, while others make changes that it must detect. */
static wide_db *pause_db;

static void
replace_all(void)
{
	block_ref r;

	for (int i = 0; i < 3000; i++)
	{
		assert_int_equal(put(pause_db, 5, i, false, &r), WIDE_OK);
		cache_unpin(pause_db, &r);
	}
}

static void
forget(void)
{
	cache_forget_files(pause_db, &(uint64_t) {1}, 1);
}

static void
test_stalled_reader(void **state)
{
	void *base = fixture_map(cfg);
	wide_db *db = fixture_attach(base);
	block_ref r;

	pause_db = fixture_attach(base);
	for (int i = 0; i < 200; i++)
	{
		assert_int_equal(put(db, 1, i, false, &r), WIDE_OK);
		cache_unpin(db, &r);
		pause_fn = i % 2 ? replace_all : forget;
		/* its block may have moved or gone: a miss, or the right bytes */
		if (cache_get(db, 1, i, &r))
			assert_true(block_right(1, i, &r));
		assert_null(pause_fn);
		assert_int_equal(cache_probe_pinned(db), r.data != NULL);
		cache_unpin(db, &r);
	}
	wide_detach(pause_db);
	wide_detach(db);
	fixture_unmap(base, cfg);
}

/* Every size gives a cache that works within its memory. */
static void
test_sizes(void **state)
{
	for (size_t size = 1; size < (size_t) 300 << 20; size = size * 3 + 1000)
	{
		wide_config c = *cfg;
		uint8_t *base;
		wide_db *db;
		block_ref r;
		size_t bytes;

		c.cache_size = size;
		bytes = wide_segment_size(&c);
		base = fixture_map(&c);
		db = fixture_attach(base);
		assert_int_equal(wide_segment_size(&c), bytes);
		for (int i = 0; i < 400; i++)
		{
			assert_int_equal(put(db, 1, i, false, &r), WIDE_OK);
			assert_true(block_right(1, i, &r));
			if (r.segment != UINT32_MAX)
				assert_true(r.data > base + db->seg->cache &&
							r.data + r.len <= base + db->seg->cache_pins);
			cache_unpin(db, &r);
		}
		if (size >= (size_t) 8 << 20)
			for (int i = 0; i < 400; i++)
			{
				assert_true(cache_get(db, 1, i, &r));
				cache_unpin(db, &r);
			}
		wide_detach(db);
		fixture_unmap(base, &c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basic),	  cmocka_unit_test(test_places),
		cmocka_unit_test(test_large),	  cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_priority),  cmocka_unit_test(test_scan),
		cmocka_unit_test(test_forgotten), cmocka_unit_test(test_all_pinned),
		cmocka_unit_test(test_hammer),	  cmocka_unit_test(test_stalled_reader),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
