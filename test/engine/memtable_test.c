/* The memtable compared with a sorted array; concurrent inserters. */
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "segment_fixture.h"

#define KEY_MAX 24

typedef struct model_entry
{
	wide_family_id family;
	uint8_t key[KEY_MAX];
	uint32_t klen;
	int64_t ts;
	uint64_t seq;
	uint8_t type;
	uint32_t value; /* number stored in the value */
} model_entry;

typedef struct space
{
	memtable t;
	memtable_handle m;
	uint8_t *base;
	size_t size;
} space;

static void
space_make(space *s, size_t size)
{
	memset(s, 0, sizeof(*s));
	s->size = size;
	s->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
				   -1, 0);
	assert_ptr_not_equal(s->base, MAP_FAILED);
	memtable_init(&s->m, &s->t, s->base, size);
}

static void
space_free(space *s)
{
	munmap(s->base, s->size);
}

static entry
model_as_entry(const model_entry *e)
{
	entry r = {.ukey = e->key,
			   .klen = e->klen,
			   .rowlen = e->klen / 2,
			   .ts = e->ts,
			   .seq = e->seq,
			   .type = e->type,
			   .vlen = sizeof(e->value),
			   .value = (const uint8_t *) &e->value,
			   .ttl_us = e->value * 3};

	return r;
}

static int
model_order(const void *a, const void *b)
{
	const model_entry *x = a, *y = b;
	entry ex = model_as_entry(x), ey = model_as_entry(y);

	return x->family != y->family ? (x->family > y->family) - (x->family < y->family)
								  : key_compare(&ex, &ey);
}

/* Keys over a small alphabet with zero bytes, so that prefixes and equal keys are frequent. */
static void
model_random(model_entry *e, uint64_t *rnd, uint32_t number)
{
	memset(e, 0, sizeof(*e));
	e->family = fixture_random(rnd) % 4 * 3 + 1;
	e->klen = fixture_random(rnd) % (KEY_MAX - 1) + 1;
	for (uint32_t i = 0; i < e->klen; i++)
		e->key[i] = (uint8_t[]) {0, 1, 'a', 255}[i < 6 ? 2 : fixture_random(rnd) % 4];
	if (fixture_random(rnd) % 3 == 0)
		e->key[fixture_random(rnd) % e->klen] = (uint8_t) fixture_random(rnd);
	e->ts = (int64_t) (fixture_random(rnd) % 5) - 2;
	e->seq = fixture_random(rnd) % 4;
	e->type = fixture_random(rnd) % 5;
	e->value = number;
}

static void
check_same(const memtable_cursor *c, const model_entry *e)
{
	entry want = model_as_entry(e);

	assert_true(memtable_valid(c));
	assert_int_equal(c->family, e->family);
	assert_int_equal(key_compare(&c->e, &want), 0);
	assert_int_equal(c->e.rowlen, want.rowlen);
	assert_int_equal(c->e.ttl_us, want.ttl_us);
	assert_int_equal(c->e.vlen, want.vlen);
	assert_memory_equal(c->e.value, want.value, want.vlen);
}

/* Writes a node; returns its offset. */
static uint64_t
write_node(space *s, const model_entry *e)
{
	entry en = model_as_entry(e);
	uint64_t at = s->t.used;
	size_t bytes = memtable_node_bytes_at(at, en.klen, en.vlen);

	assert_true(bytes <= memtable_node_bytes(en.klen, en.vlen));
	assert_int_equal(bytes % 8, 0);
	s->t.used += bytes;
	/* an insert must not write beyond its own bytes */
	memset(s->base + s->t.used, 0xee, 16);
	memtable_write(&s->m, at, e->family, &en);
	for (int i = 0; i < 16; i++)
		assert_int_equal(s->base[s->t.used + i], 0xee);
	return at;
}

#define GROUP 300

/* Inserts entries together, in groups of all sizes up to GROUP, each in order if `ordered`. */
static void
insert_groups(space *s, model_entry *all, int n, bool ordered, uint64_t *rnd)
{
	for (int i = 0, size; i < n; i += size)
	{
		uint64_t at[GROUP];
		memtable_hint hint = {{0}};

		size = (int) (fixture_random(rnd) % (fixture_random(rnd) % GROUP + 1)) + 1;
		size = size < n - i ? size : n - i;
		if (ordered)
			qsort(all + i, size, sizeof(*all), model_order);
		for (int k = 0; k < size; k++)
			at[k] = write_node(s, &all[i + k]);
		/* the hint goes on from one part to the next */
		memtable_link_all(&s->m, at, size / 2, &hint);
		memtable_link_all(&s->m, at + size / 2, size - size / 2, &hint);
	}
}

static void
check_against(space *s, model_entry *model, int n, uint64_t *rnd)
{
	memtable_cursor c;
	int i = 0;

	assert_int_equal(memtable_check(&s->m), WIDE_OK);
	memtable_cursor_open(&c, &s->m);
	for (memtable_first(&c); memtable_valid(&c); memtable_next(&c))
	{
		assert_true(i < n);
		check_same(&c, &model[i++]);
	}
	assert_int_equal(i, n);
	for (int k = 0; k < 3000; k++)
	{
		model_entry t;
		int lo;

		if (k % 2 == 0 && n > 0)
			t = model[fixture_random(rnd) % n];
		else
			model_random(&t, rnd, 0);
		if (k % 5 == 0)
		{
			t.ts = INT64_MAX;
			t.seq = SEQ_MAX;
		}
		t.type = 255;
		for (lo = 0; lo < n && model_order(&model[lo], &t) < 0; lo++)
			;
		memtable_seek(&c, t.family, t.key, t.klen, t.ts, t.seq);
		if (lo == n)
			assert_false(memtable_valid(&c));
		else
			check_same(&c, &model[lo]);
		t.ts = INT64_MAX;
		t.seq = SEQ_MAX;
		while (lo > 0 && model_order(&model[lo - 1], &t) >= 0)
			lo--;
		memtable_seek_before(&c, t.family, t.key, t.klen);
		if (lo == 0)
			assert_false(memtable_valid(&c));
		else
			check_same(&c, &model[lo - 1]);
	}
}

static void
test_model(void **state)
{
	for (int mode = 0; mode < 5; mode++)
	{
		uint64_t rnd = 42 + mode;
		int n = 3000;
		model_entry *all = calloc(n, sizeof(*all));
		int unique = 0;
		int tombstones = 0;
		int64_t ts_min = INT64_MAX, ts_max = INT64_MIN;
		memtable_hint hint = {{0}};
		space s;

		space_make(&s, 1 << 20);
		check_against(&s, all, 0, &rnd);
		for (int i = 0; i < n; i++)
			model_random(&all[i], &rnd, i);
		if (mode == 1) /* ascending, with a hint */
			qsort(all, n, sizeof(*all), model_order);
		/* mode 0: without a hint; 2: with a hint that is mostly wrong; 3 and 4: together */
		for (int i = 0; mode < 3 && i < n; i++)
			memtable_link(&s.m, write_node(&s, &all[i]), mode == 0 ? NULL : &hint);
		if (mode >= 3)
			insert_groups(&s, all, n, mode == 3, &rnd);
		/* in the model the first of equal keys stays */
		for (int i = 0; i < n; i++)
		{
			bool known = false;

			for (int j = 0; j < unique && !known; j++)
				known = model_order(&all[j], &all[i]) == 0;
			if (known)
				continue;
			all[unique++] = all[i];
			tombstones += all[i].type != ENTRY_PUT;
			ts_min = all[i].ts < ts_min ? all[i].ts : ts_min;
			ts_max = all[i].ts > ts_max ? all[i].ts : ts_max;
		}
		assert_true(unique < n);
		qsort(all, unique, sizeof(*all), model_order);
		check_against(&s, all, unique, &rnd);
		assert_int_equal(s.t.cells, unique);
		assert_int_equal(s.t.tombstones, tombstones);
		assert_true(s.t.ts_min == ts_min && s.t.ts_max == ts_max);
		assert_true(s.t.seq_min == 0 && s.t.seq_max == 3);
		/* the memory is used a second time */
		memtable_init(&s.m, &s.t, s.base, s.size);
		check_against(&s, all, 0, &rnd);
		space_free(&s);
		free(all);
	}
}

/* Four processes insert into a shared memtable, one reads all the time. */
typedef struct shared
{
	memtable t;
	_Atomic uint32_t done;
} shared;

#define PER_CHILD 20000

static void
child_insert(shared *sh, uint8_t *base, int number, int children)
{
	memtable_handle m = {base, &sh->t};
	uint64_t rnd = number + 1, group[50];
	memtable_hint hint = {{0}};
	int n = 0;

	for (uint32_t i = 0; i < PER_CHILD; i++)
	{
		uint8_t key[12] = "rowrow";
		uint64_t r = fixture_random(&rnd);
		uint32_t value = i * children + number;
		/* every tenth key is inserted by all children */
		uint32_t k = i % 10 == 0 ? i : (uint32_t) r;
		entry e = {.ukey = key,
				   .klen = sizeof(key),
				   .rowlen = 6,
				   .ts = i % 10 == 0 ? (int64_t) -1 : (int64_t) value,
				   .seq = 7,
				   .type = i % 10 == 1 ? ENTRY_DELETE_COLUMN : ENTRY_PUT,
				   .vlen = 4,
				   .value = (uint8_t *) &value};
		uint64_t bytes = memtable_node_bytes(e.klen, e.vlen);
		uint64_t at = atomic_fetch_add(&sh->t.used, bytes);

		put_u32be(key + 8, number % 2 ? k : i); /* half of them ascending */
		CHILD_CHECK(at + bytes <= sh->t.capacity);
		memtable_write(&m, at, 1 + k % 3, &e);
		if (number < 3)
		{
			memtable_link(&m, at, number < 2 ? &hint : NULL);
			continue;
		}
		group[n++] = at;
		if (n < 50 && i + 1 < PER_CHILD)
			continue;
		memtable_link_all(&m, group, n, &(memtable_hint) {{0}});
		n = 0;
	}
	atomic_fetch_add(&sh->done, 1);
}

static void
child_read(shared *sh, uint8_t *base, int writers)
{
	memtable_handle m = {base, &sh->t};
	uint64_t before = 0;

	for (bool last = false; !last;)
	{
		memtable_cursor c;
		uint8_t key[12];
		int64_t ts = 0;
		wide_family_id family = 0;
		uint64_t n = 0;

		last = atomic_load(&sh->done) == (uint32_t) writers;
		memtable_cursor_open(&c, &m);
		for (memtable_first(&c); memtable_valid(&c); memtable_next(&c), n++)
		{
			int d;

			CHILD_CHECK(c.e.klen == 12 && c.e.vlen == 4 && c.e.seq == 7);
			d = n == 0 || family != c.family ? (int) (family < c.family)
											 : memcmp(c.e.ukey, key, 12);
			CHILD_CHECK(d > 0 || (d == 0 && c.e.ts < ts));
			memcpy(key, c.e.ukey, 12);
			ts = c.e.ts;
			family = c.family;
		}
		CHILD_CHECK(n >= before);
		before = n;
	}
}

static void
test_concurrent(void **state)
{
	size_t size = 4 * PER_CHILD * memtable_node_bytes(12, 4) + 4096;
	uint8_t *base = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
						 0);
	shared *sh = (shared *) (base + size);
	memtable_handle m;
	pid_t pid[5];

	memtable_init(&m, &sh->t, base, size);
	for (int i = 0; i < 5; i++)
	{
		pid[i] = unit_fork();
		if (pid[i] == 0)
		{
			if (i < 4)
				child_insert(sh, base, i, 4);
			else
				child_read(sh, base, 4);
			_exit(0);
		}
	}
	for (int i = 0; i < 5; i++)
		fixture_child_ok(pid[i]);
	assert_int_equal(memtable_check(&m), WIDE_OK);
	/*
	 * Each child has 18000 entries of its own.  The other 2000 are the same
	 * for the children with i as key, and for those with k, which equals i
	 * there.
	 */
	assert_int_equal(sh->t.cells, 4 * PER_CHILD / 10 * 9 + PER_CHILD / 10);
	assert_int_equal(sh->t.tombstones, 4 * PER_CHILD / 10);
	munmap(base, size + 4096);
}

/* memtable_check detects each kind of damage. */
static void
test_check(void **state)
{
	space s;
	uint64_t rnd = 1;
	model_entry e;
	memtable_cursor c;
	uint8_t *key;

	space_make(&s, 1 << 16);
	for (int i = 0; i < 100; i++)
	{
		model_random(&e, &rnd, i);
		memtable_link(&s.m, write_node(&s, &e), NULL);
	}
	assert_int_equal(memtable_check(&s.m), WIDE_OK);
	s.t.cells++;
	assert_int_equal(memtable_check(&s.m), WIDE_CORRUPT);
	s.t.cells--;
	memtable_cursor_open(&c, &s.m);
	memtable_first(&c);
	for (int i = 0; i < 50; i++)
		memtable_next(&c);
	key = (uint8_t *) c.e.ukey;
	key[0] ^= 0x80;
	assert_int_equal(memtable_check(&s.m), WIDE_CORRUPT);
	key[0] ^= 0x80;
	assert_int_equal(memtable_check(&s.m), WIDE_OK);
	/* a link that points outside of the memory */
	((uint32_t *) (s.base + (uint64_t) c.node * 8))[-1] = 1 << 30;
	assert_int_equal(memtable_check(&s.m), WIDE_CORRUPT);
	space_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_concurrent),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
