/*
 * merge_test.c - sources and their merge, compared with a sorted array:
 * memtables, single files and runs of files, with entries that are in several
 * of them.
 */
#include "testlib.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_writer.h"
#include "engine/set/memtable.h"
#include "engine/read/merge.h"
#include "engine/read/source_file.h"
#include "engine/read/source_memtable.h"

#define NENTRIES 3000
#define FAMILY	 7

typedef struct fixture
{
	test_store t;
	entries all;
	memtable tables[2];
	memtable_handle mems[2];
	uint8_t *regions[2];
	file_meta files[8];
	int nfiles;
	merge *m;
} fixture;

#define REGION ((size_t) 4 << 20)

static void
mem_put(fixture *f, int i, wide_family_id family, const entry *e)
{
	uint64_t at = atomic_load(&f->tables[i].used);

	at = (at + 7) & ~(uint64_t) 7;
	assert_true(at + memtable_node_bytes(e->klen, e->vlen) < REGION);
	atomic_store(&f->tables[i].used, at + memtable_node_bytes(e->klen, e->vlen));
	memtable_write(&f->mems[i], at, family, e);
	memtable_link(&f->mems[i], at, NULL);
}

/* Entry i goes to one or more of: memtables 0 and 1; single files 0 and 1; a run of four files. */
static void
fill(fixture *f, uint64_t seed)
{
	wide_family_options opt;
	sst_writer *w[3] = {NULL};
	int in_run = 0;
	uint64_t r = seed;
	source *s;

	wide_family_defaults(&opt);
	opt.block_size = 1024;
	f->all = entries_random(seed, NENTRIES, 300, seed % 2 ? 20 : 200, 40, false);
	for (int i = 0; i < 2; i++)
	{
		f->regions[i] = malloc(REGION);
		memtable_init(&f->mems[i], &f->tables[i], f->regions[i], REGION);
	}
	for (int i = 0; i < 3; i++)
		assert_ok(sst_writer_open(f->t.db, (uint64_t) i + 1, FAMILY, i == 2, &opt, false, &w[i]));
	for (int i = 0; i < f->all.n; i++)
	{
		const entry *e = &f->all.e[i];
		uint32_t where = 1 + (uint32_t) (rnd(&r) % 31);

		if (rnd(&r) % 3)
			where = 1u << (rnd(&r) % 5);
		for (int k = 0; k < 2; k++)
			if (where & (1u << k))
				mem_put(f, k, FAMILY, e);
		/* neighbours in the list that belong to other families */
		mem_put(f, 0, FAMILY - 1, e);
		mem_put(f, 1, FAMILY + 1, e);
		for (int k = 0; k < 2; k++)
			if (where & (4u << k))
				assert_ok(sst_writer_add(w[k], e));
		if (where & 16)
		{
			/* the files of a run may end between any two rows */
			if (++in_run > 100 && f->nfiles < 3 && i > 0 &&
				ukey_compare(e->ukey, e->rowlen, f->all.e[i - 1].ukey, f->all.e[i - 1].rowlen))
			{
				assert_ok(sst_writer_finish(w[2], &f->files[2 + f->nfiles++], NULL));
				assert_ok(sst_writer_open(f->t.db, 10 + (uint64_t) f->nfiles, FAMILY, 1, &opt,
										  false, &w[2]));
				in_run = 0;
			}
			assert_ok(sst_writer_add(w[2], e));
		}
	}
	assert_ok(sst_writer_finish(w[0], &f->files[0], NULL));
	assert_ok(sst_writer_finish(w[1], &f->files[1], NULL));
	assert_ok(sst_writer_finish(w[2], &f->files[2 + f->nfiles++], NULL));
	assert_true(f->nfiles > 2);
	assert_ok(merge_new(f->t.db, &f->m));
	for (int i = 0; i < 2; i++)
	{
		assert_ok(source_memtable_new(f->t.db, &f->mems[i], FAMILY, &s));
		assert_ok(merge_add(f->m, s));
		assert_ok(source_file_new(f->t.db, &f->files[i], 1, 0, &s));
		assert_ok(merge_add(f->m, s));
	}
	assert_ok(source_file_new(f->t.db, &f->files[2], f->nfiles, 0, &s));
	assert_ok(merge_add(f->m, s));
}

static void
drop(fixture *f)
{
	merge_free(f->m);
	entries_free(&f->all);
	for (int i = 0; i < 2; i++)
		free(f->regions[i]);
	test_store_close(&f->t);
	test_dir_drop(f->t.dir);
}

static void
expect_from(fixture *f, int i, int most)
{
	for (; most > 0 && i < f->all.n; i++, most--)
	{
		assert_non_null(merge_entry(f->m));
		assert_entry(merge_entry(f->m), &f->all.e[i]);
		assert_ok(merge_next(f->m));
	}
	if (i == f->all.n)
		assert_null(merge_entry(f->m));
}

static int
first_at(const fixture *f, const entry *to)
{
	int i = 0;

	while (i < f->all.n && key_compare(&f->all.e[i], to) < 0)
		i++;
	return i;
}

static void
test_order_and_seeks(void **state)
{
	(void) state;
	for (uint64_t seed = 1; seed <= 4; seed++)
	{
		fixture f = {0};
		uint64_t r = seed;

		test_store_open(&f.t, 1 << 20, NULL);
		fill(&f, seed);
		assert_ok(merge_first(f.m));
		expect_from(&f, 0, f.all.n + 1);
		for (int k = 0; k < 300; k++)
		{
			entry to = f.all.e[rnd(&r) % (uint64_t) f.all.n];

			/* before the entry, its column or its row, or after them */
			switch (rnd(&r) % 5)
			{
				case 0:
					break;
				case 1:
					to.ts = INT64_MAX;
					to.seq = SEQ_MAX;
					break;
				case 2:
					to.ts = INT64_MIN;
					to.seq = 0;
					break;
				case 3:
					to.klen = to.rowlen;
					break;
				default:
					to.klen -= (uint32_t) (rnd(&r) % to.klen);
			}
			to.type = UINT8_MAX;
			assert_ok(merge_seek(f.m, to.ukey, to.klen, to.ts, to.seq));
			expect_from(&f, first_at(&f, &to), 20);
			if (rnd(&r) % 2)
			{
				/* forwards without going back */
				const entry *here = merge_entry(f.m);
				entry far = f.all.e[f.all.n - 1 - (int) (rnd(&r) % 50)];

				far.type = UINT8_MAX;
				if (here != NULL && key_compare(here, &far) < 0)
				{
					assert_ok(merge_skip(f.m, far.ukey, far.klen, far.ts, far.seq));
					expect_from(&f, first_at(&f, &far), 20);
				}
			}
		}
		drop(&f);
	}
}

static void
test_rows_backwards(void **state)
{
	fixture f = {0};
	buffer row = {0}, bound = {0};
	int i;

	(void) state;
	test_store_open(&f.t, 1 << 20, NULL);
	fill(&f, 5);
	i = f.all.n - 1;
	assert_ok(buffer_append(&bound, "\xff\xff\xff\xff", 4));
	while (i >= 0)
	{
		const entry *e = &f.all.e[i];

		assert_ok(merge_row_before(f.m, bound.data, (uint32_t) bound.len, &row));
		assert_int_equal(row.len, e->rowlen);
		assert_memory_equal(row.data, e->ukey, e->rowlen);
		/* reading the row in between has no effect */
		assert_ok(merge_seek(f.m, row.data, (uint32_t) row.len, INT64_MAX, SEQ_MAX));
		assert_memory_equal(merge_entry(f.m)->ukey, row.data, row.len);
		while (i >= 0 && f.all.e[i].rowlen == row.len &&
			   memcmp(f.all.e[i].ukey, row.data, row.len) == 0)
			i--;
		bound.len = 0;
		assert_ok(buffer_append(&bound, row.data, row.len));
	}
	assert_int_equal(merge_row_before(f.m, bound.data, (uint32_t) bound.len, &row), WIDE_END);
	buffer_free(&row);
	buffer_free(&bound);
	drop(&f);
}

/* With the limits of a get the answer for that row stays the same, and files are skipped. */
static void
test_limits(void **state)
{
	fixture f = {0};
	wide_scan_stats stats = {0};
	source_limits l = {0};
	uint64_t r = 9;

	(void) state;
	test_store_open(&f.t, 1 << 20, NULL);
	fill(&f, 3);
	for (int k = 0; k < 200; k++)
	{
		int at = (int) (rnd(&r) % (uint64_t) f.all.n);
		entry to = f.all.e[at];

		l = (source_limits) {.row = to.ukey, .rowlen = to.rowlen, .stats = &stats};
		to.klen = to.rowlen;
		to.ts = INT64_MAX;
		to.seq = SEQ_MAX;
		merge_limits(f.m, &l);
		assert_ok(merge_seek(f.m, to.ukey, to.klen, to.ts, to.seq));
		for (at = first_at(&f, &to); at < f.all.n && f.all.e[at].rowlen == to.rowlen &&
									 memcmp(f.all.e[at].ukey, to.ukey, to.rowlen) == 0;
			 at++)
		{
			assert_entry(merge_entry(f.m), &f.all.e[at]);
			assert_ok(merge_next(f.m));
		}
	}
	merge_statistics(f.m);
	assert_true(stats.files_skipped_bloom > 0);
	assert_true(stats.files_skipped_key > 0);
	assert_true(stats.blocks_read + stats.blocks_cached > 0);
	merge_limits(f.m, &source_no_limits);
	drop(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_seeks),
		cmocka_unit_test(test_rows_backwards),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
