/*
 * scheduler_test.c - flush and compaction never change an answer; which process
 * does which job; levels, windows, loads, interruption, estimates.
 */
#include <signal.h>
#include <time.h>
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/os.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/set/pin.h"
#include "engine/compaction/compact.h"
#include "engine/compaction/level.h"
#include "engine/compaction/output.h"
#include "engine/batch/batch.h"
#include "engine/batch/bulk.h"

/* Opens a store with one family and small files; files: room in the table of files. */
static void
start_with(store *s, uint32_t files, wide_family_options *opt, wide_family_id *f)
{
	wide_table_id t;

	store_init(s);
	if (files > 0)
		s->config.max_files = files;
	s->config.max_tables = 64;
	s->config.memtable_size = 1 << 20;
	output_file_bytes = 8 * 1024;
	level_bytes = 24 * 1024;
	assert_ok(store_open(s));
	store_table(s, opt, 1, &t, f);
}

static void
start(store *s, wide_family_options *opt, wide_family_id *f)
{
	start_with(s, 0, opt, f);
}

static void
options(wide_family_options *opt, int versions)
{
	wide_family_defaults(opt);
	opt->versions = versions;
	opt->block_size = 1024;
}

/* Puts n rows with incompressible values in one batch. */
static void
fill(store *s, wide_family_id f, int from, int n, int64_t ts, uint64_t *seed)
{
	wide_batch *b;
	char row[20], value[120];

	assert_ok(wide_batch_new(s->db, &b));
	for (int i = from; i < from + n; i++)
	{
		snprintf(row, sizeof row, "row%05d", i);
		for (int k = 0; k < 100; k++)
			value[k] = (char) (33 + rnd(seed) % 90);
		assert_ok(wide_batch_put(b, f, text(row), text("q"), ts, INT64_MIN, 0, bytes(value, 100)));
	}
	assert_ok(store_commit(s, b, NULL));
}

static void
test_answers_stay(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 42;
	wide_snapshot *snap = NULL;
	char *then = NULL;

	options(&opt, 3);
	start(&s, &opt, &f);
	for (int round = 0; round < 40; round++)
	{
		char *before, *after;

		for (int i = 0; i < 30; i++)
		{
			char row[8], qual[8], value[16];
			int kind = (int) (rnd(&seed) % 10);
			int64_t ts = (int64_t) (rnd(&seed) % 50);

			snprintf(row, sizeof row, "r%d", (int) (rnd(&seed) % 12));
			snprintf(qual, sizeof qual, "q%d", (int) (rnd(&seed) % 3));
			snprintf(value, sizeof value, "%d.%d", round, i);
			if (kind < 7)
				store_put(&s, f, row, qual, ts, value);
			else
				store_delete(&s, (wide_delete) (rnd(&seed) % 4), f, row, qual,
							 kind == 9 ? WIDE_TS_MAX : ts);
		}
		before = store_text(&s, NULL, &f, 1);
		assert_ok(wide_flush(s.db));
		after = store_text(&s, NULL, &f, 1);
		assert_string_equal(before, after);
		free(after);
		store_work(&s);
		after = store_text(&s, NULL, &f, 1);
		assert_string_equal(before, after);
		free(after);
		if (round % 8 == 7)
		{
			assert_ok(wide_compact(s.db, f));
			after = store_text(&s, NULL, &f, 1);
			assert_string_equal(before, after);
			free(after);
		}
		/* an old snapshot is unaffected, too */
		if (snap != NULL)
		{
			after = store_text(&s, snap, &f, 1);
			assert_string_equal(then, after);
			free(after);
		}
		if (round % 10 == 3)
		{
			if (snap != NULL)
				wide_snapshot_release(snap);
			free(then);
			assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
			then = store_text(&s, snap, &f, 1);
		}
		if (round % 10 == 9)
		{
			free(then);
			then = NULL;
			wide_snapshot_release(snap);
			snap = NULL;
			store_close(&s);
			assert_ok(store_open(&s));
			after = store_text(&s, NULL, &f, 1);
			assert_string_equal(before, after);
			free(after);
		}
		free(before);
	}
	if (snap != NULL)
		wide_snapshot_release(snap);
	free(then);
	store_work(&s);
	assert_int_equal(store_verify(&s), 0);
	store_drop(&s);
}

static void
test_levels(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 7;
	wide_family_info info;
	wide_estimate est;
	char *before, *after;

	options(&opt, 1);
	start(&s, &opt, &f);
	for (int round = 0; round < 24; round++)
	{
		fill(&s, f, (round * 137) % 900, 150, round, &seed);
		assert_ok(wide_flush(s.db));
		if (round % 4 == 3)
			store_work(&s);
	}
	store_work(&s);
	before = store_text(&s, NULL, &f, 1);
	assert_ok(wide_family_statistics(s.db, f, &info));
	assert_true(info.files_per_level[0] < 4);
	assert_true(info.files_per_level[2] > 3); /* ten times the target size of level 1 */
	assert_int_equal(store_verify(&s), 0);
	/* about a tenth of the rows */
	assert_ok(wide_compact(s.db, f));
	assert_ok(wide_estimate_range(s.db, f,
								  &(wide_range) {.lo = text("row00300"), .hi = text("row00400")},
								  &est));
	assert_true(est.rows > 60 && est.rows < 150);
	assert_ok(wide_estimate_range(s.db, f, NULL, &est));
	assert_ok(wide_family_statistics(s.db, f, &info));
	assert_true(est.rows > 0.9 * (double) info.rows && est.rows < 1.1 * (double) info.rows);
	assert_int_equal(info.files_per_level[0], 0);
	after = store_text(&s, NULL, &f, 1);
	assert_string_equal(before, after);
	free(before);
	free(after);
	/* everything deleted: nothing remains, not even tombstones */
	for (int i = 0; i < 1100; i++)
	{
		char row[20];

		snprintf(row, sizeof row, "row%05d", i);
		store_delete(&s, WIDE_DELETE_FAMILY, f, row, "", WIDE_TS_MAX);
	}
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(store_files(&s, f, -1), 0);
	store_work(&s);
	assert_int_equal(test_dir_count(s.dir), 4); /* CURRENT, manifest, its copy, log */
	store_drop(&s);
}

/*
 * Returns the size of the files now, divided by their size after a major
 * compaction, which changes no answer.
 */
static double
amplification(store *s, wide_family_id f)
{
	uint64_t now = store_bytes(s, f);
	char *before = store_text(s, NULL, &f, 1), *after;

	assert_int_equal(store_verify(s), 0);
	assert_ok(wide_compact(s->db, f));
	after = store_text(s, NULL, &f, 1);
	assert_string_equal(before, after);
	free(before);
	free(after);
	return (double) now / (double) store_bytes(s, f);
}

/* Space is reclaimed when the family is idle; while files are being made it is not considered. */
static void
test_space(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 5, bytes;
	wide_stats stats;

	for (int kind = 0; kind < 3; kind++)
	{
		options(&opt, 1);
		if (kind == 1)
		{
			opt.compaction = WIDE_COMPACT_WINDOW;
			opt.window_us = (int64_t) 86400 * 1000000;
		}
		start(&s, &opt, &f);
		for (int round = 0; round < 35; round++)
		{
			/* kind 2: little data that never fills level 0 */
			for (int i = 0; i < (kind == 2 ? 1 : 10); i++)
				fill(&s, f, (int) (rnd(&seed) % 40) * 10, 10, s.now + round, &seed);
			if (kind == 2 && round == 3)
				break;
			assert_ok(wide_flush(s.db));
			store_work(&s);
		}
		assert_ok(wide_flush(s.db));
		store_work(&s);
		bytes = store_bytes(&s, f);
		s.now += 1000000;
		store_work(&s);
		assert_true(bytes == store_bytes(&s, f));
		s.now += 4000000;
		store_work(&s);
		assert_true(kind == 2 || bytes > store_bytes(&s, f));
		/* the work comes to an end */
		wide_statistics(s.db, &stats);
		bytes = stats.compactions;
		s.now += 40 * 1000000;
		store_work(&s);
		wide_statistics(s.db, &stats);
		assert_true(bytes == stats.compactions);
		assert_true(amplification(&s, f) < 1.3);
		store_drop(&s);
	}
}

/* A few bytes of deletes hide much data. */
static void
test_space_deletes(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 6;
	char row[20];

	options(&opt, 1);
	start(&s, &opt, &f);
	fill(&s, f, 0, 1000, 1, &seed);
	assert_ok(wide_compact(s.db, f));
	for (int i = 0; i < 500; i++)
	{
		snprintf(row, sizeof row, "row%05d", 2 * i);
		store_delete(&s, WIDE_DELETE_FAMILY, f, row, "", WIDE_TS_MAX);
	}
	assert_ok(wide_flush(s.db));
	store_work(&s);
	s.now += 5000000;
	store_work(&s);
	assert_true(amplification(&s, f) < 1.3);
	store_drop(&s);
}

/* A file is not kept for its newest cell if most of it has expired, nor rewritten for nothing. */
static void
test_space_expired(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 8;
	const int64_t hour = 3600000000ll;
	wide_stats stats;
	uint64_t read;
	wide_snapshot *snap;

	for (int window = 0; window < 2; window++)
	{
		options(&opt, 1);
		opt.ttl_us = 10 * hour;
		if (window)
		{
			opt.compaction = WIDE_COMPACT_WINDOW;
			opt.window_us = 24 * hour;
		}
		start(&s, &opt, &f);
		s.now = 1000 * 24 * hour;
		for (int i = 0; i < 10; i++)
		{
			fill(&s, f, 0, 1, s.now, &seed);
			for (int k = 0; k < 20; k++)
				fill(&s, f, (int) (rnd(&seed) % 100) * 10, 2, s.now, &seed);
			s.now += hour;
		}
		assert_ok(wide_compact(s.db, f));
		read = store_bytes(&s, f);
		assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		s.now += 6 * hour;
		/* a reader with an earlier clock still sees all of it */
		store_work(&s);
		assert_true(store_bytes(&s, f) == read);
		wide_snapshot_release(snap);
		s.now += 60 * 1000000;
		store_work(&s);
		assert_true(store_bytes(&s, f) < read);
		wide_statistics(s.db, &stats);
		read = stats.compact_read_bytes;
		s.now += 60 * 1000000;
		store_work(&s);
		wide_statistics(s.db, &stats);
		assert_true(stats.compact_read_bytes == read);
		assert_true(amplification(&s, f) < 1.3);
		store_drop(&s);
	}
}

/*
 * Windows share flushes: versions displaced in one window are dropped,
 * although other windows have cells of the same flushes.
 */
static void
test_space_windows(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 10;
	const int64_t hour = 3600000000ll;

	options(&opt, 2);
	opt.compaction = WIDE_COMPACT_WINDOW;
	opt.window_us = hour;
	start(&s, &opt, &f);
	s.now = 400001 * hour + 1000000;
	for (int round = 0; round < 20; round++)
	{
		for (int w = 0; w < 2; w++)
			fill(&s, f, 0, 50, (400000 + w) * hour + round, &seed);
		assert_ok(wide_flush(s.db));
		store_work(&s);
	}
	s.now += 5000000;
	store_work(&s);
	/* two versions in each of two windows; a major compaction leaves two */
	assert_true(amplification(&s, f) < 2.6);
	store_drop(&s);
}

/*
 * Files of a major compaction are ordered by their numbers where truncated
 * bounds cannot tell, in windowed families, too.
 */
static void
test_space_expired_neighbours(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 9;
	const int64_t hour = 3600000000ll;
	char *before, *after;
	wide_stats stats;
	uint64_t read;

	options(&opt, 1);
	opt.ttl_us = 10 * hour;
	opt.compaction = WIDE_COMPACT_WINDOW;
	opt.window_us = 24 * hour;
	start(&s, &opt, &f);
	s.now = 1000 * 24 * hour;
	for (int i = 0; i < 10; i++)
	{
		wide_batch *b;
		char row[120], value[100];

		assert_ok(wide_batch_new(s.db, &b));
		for (int k = 0; k < 100; k++)
		{
			/* longer than the bounds kept in memory */
			memset(row, 'p', 100);
			snprintf(row + 100, sizeof row - 100, "%05d", k * 10 + i);
			for (int n = 0; n < 100; n++)
				value[n] = (char) (33 + rnd(&seed) % 90);
			assert_ok(wide_batch_put(b, f, text(row), text("q"), s.now, INT64_MIN, 0,
									 bytes(value, 100)));
		}
		assert_ok(store_commit(&s, b, NULL));
		s.now += hour;
	}
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(store_files(&s, f, 0), 0);
	assert_true(store_files(&s, f, -1) > 3);
	s.now += 6 * hour;
	before = store_text(&s, NULL, &f, 1);
	wide_statistics(s.db, &stats);
	read = stats.compact_read_bytes;
	store_work(&s);
	wide_statistics(s.db, &stats);
	assert_true(stats.compact_read_bytes > read);
	assert_int_equal(store_verify(&s), 0);
	after = store_text(&s, NULL, &f, 1);
	assert_string_equal(before, after);
	free(before);
	free(after);
	store_drop(&s);
}

/* More windows than the table has room for: old ones are joined, and work continues. */
static void
test_window_many(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 11;
	const int64_t minute = 60000000;
	char *before, *after;
	wide_stats stats;

	for (int kind = 0; kind < 3; kind++)
	{
		options(&opt, 1);
		opt.compaction = WIDE_COMPACT_WINDOW;
		opt.window_us = minute;
		start(&s, &opt, &f);
		for (int i = 0; i < 600; i++)
		{
			/* kind 0: as time goes on; 1: spread over a year; 2: writers do all the work */
			for (int k = 0; k < 4; k++)
				fill(&s, f, i % 150, 2,
					 kind != 1 ? s.now : s.now - (int64_t) (rnd(&seed) % (365 * 24 * 60)) * minute,
					 &seed);
			assert_ok(wide_flush(s.db));
			if (kind < 2)
				store_work(&s);
			s.now += minute;
			assert_true(store_files(&s, f, -1) < 200);
		}
		before = store_text(&s, NULL, &f, 1);
		s.now += 10 * minute;
		store_work(&s);
		after = store_text(&s, NULL, &f, 1);
		assert_string_equal(before, after);
		assert_int_equal(store_verify(&s), 0);
		/* without rewriting everything again and again */
		wide_statistics(s.db, &stats);
		assert_true(stats.compactions > 10);
		assert_true(stats.compact_read_bytes < 3 * stats.flush_bytes);
		free(before);
		free(after);
		store_drop(&s);
	}
}

static wide_status
note_split(void *arg, wide_bytes key)
{
	buffer *b = arg;

	assert_ok(buffer_append(b, key.data, key.len));
	return buffer_append(b, " ", 1);
}

static void
test_split_keys(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 7;
	buffer keys = {0};
	int k[3];

	options(&opt, 1);
	start(&s, &opt, &f);
	fill(&s, f, 0, 1000, 5, &seed);
	for (int flushed = 0; flushed < 2; flushed++)
	{
		keys.len = 0;
		assert_ok(wide_split_keys(s.db, f, 4, false, note_split, &keys));
		assert_ok(buffer_append(&keys, "", 1));
		assert_int_equal(sscanf((char *) keys.data, "row%d row%d row%d", &k[0], &k[1], &k[2]), 3);
		assert_in_range(k[0], 200, 300);
		assert_in_range(k[1], 440, 560);
		assert_in_range(k[2], 690, 810);
		assert_ok(wide_flush(s.db));
	}
	buffer_free(&keys);
	store_drop(&s);
}

static void
test_windows(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	const int64_t hour = 3600000000ll;
	wide_stats stats;
	uint64_t read;
	char *got;

	options(&opt, 1);
	opt.compaction = WIDE_COMPACT_WINDOW;
	opt.window_us = hour;
	opt.ttl_us = 10 * hour;
	start(&s, &opt, &f);
	for (int h = 0; h < 24; h++)
	{
		for (int i = 0; i < 5; i++)
		{
			char row[20];

			snprintf(row, sizeof row, "h%02d.%d", h, i);
			store_put(&s, f, row, "q", s.now, "v");
			assert_ok(wide_flush(s.db));
			s.now += hour / 5;
		}
		store_work(&s);
		assert_true(store_files(&s, f, -1) < 20);
	}
	/* one file for each past hour, expired ones dropped as files */
	assert_true(store_files(&s, f, 0) >= 10);
	got = store_text(&s, NULL, &f, 1);
	assert_non_null(strstr(got, "h15.0"));
	assert_null(strstr(got, "h12"));
	free(got);
	/* as whole files: nothing is read */
	wide_statistics(s.db, &stats);
	read = stats.compact_read_bytes;
	s.now += 100 * hour;
	store_work(&s);
	wide_statistics(s.db, &stats);
	assert_true(stats.files_deleted > 0);
	assert_true(stats.compact_read_bytes == read);
	/* workers check again only after a while */
	s.now += hour;
	store_work(&s);
	assert_int_equal(store_files(&s, f, -1), 0);
	store_drop(&s);
}

/*
 * Each window has separate files from the flush on, in whatever order cells
 * arrive: so files are skipped and dropped as a whole.
 */
static void
test_window_files(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	const int64_t hour = 3600000000ll;
	char *before, *after;
	wide_stats stats;
	uint64_t read;

	for (int windows = 5; windows <= 40; windows += 35)
	{
		wide_batch *b;
		char row[20];

		options(&opt, 1);
		opt.compaction = WIDE_COMPACT_WINDOW;
		opt.window_us = hour;
		opt.ttl_us = 100 * hour;
		/* so many that windows are split */
		start_with(&s, 1024, &opt, &f);
		s.now = (400000 + 50) * hour;
		assert_ok(wide_batch_new(s.db, &b));
		for (int i = 0; i < 20 * windows; i++)
		{
			snprintf(row, sizeof row, "row%05d", i * 7919 % 1000);
			assert_ok(wide_batch_put(b, f, text(row), text("q"), (400000 + i % windows) * hour + i,
									 INT64_MIN, 0, text("v")));
		}
		assert_ok(store_commit(&s, b, NULL));
		store_delete(&s, WIDE_DELETE_FAMILY, f, "row00000", "", WIDE_TS_MAX);
		before = store_text(&s, NULL, &f, 1);
		assert_ok(wide_flush(s.db));
		after = store_text(&s, NULL, &f, 1);
		assert_string_equal(before, after);
		free(after);
		/* plus one for the delete */
		assert_int_equal(store_files(&s, f, 0),
						 windows < OUTPUT_LANES ? windows + 1 : OUTPUT_LANES);
		for (int round = 0; round < 3; round++)
		{
			store_put(&s, f, "x", "q", 400000 * hour + round, "late");
			store_put(&s, f, "y", "q", 400001 * hour + round, "late");
			assert_ok(wide_flush(s.db));
			s.now += 60 * 1000000;
			store_work(&s);
		}
		free(before);
		before = store_text(&s, NULL, &f, 1);
		assert_int_equal(store_verify(&s), 0);
		s.now += 20 * 60 * 1000000ll;
		store_work(&s);
		after = store_text(&s, NULL, &f, 1);
		assert_string_equal(before, after);
		free(after);
		wide_statistics(s.db, &stats);
		read = stats.compact_read_bytes;
		/* windows that had to share a file have been given their own; four of them are dropped
		 * without being read, the others stay */
		assert_int_equal(store_files(&s, f, 0), windows + 1);
		s.now = (400000 + 104) * hour + 1;
		store_work(&s);
		assert_int_equal(store_files(&s, f, 0), windows + 1 - 4);
		wide_statistics(s.db, &stats);
		assert_true(stats.compact_read_bytes == read);
		free(before);
		s.now += 1000 * hour;
		store_work(&s);
		before = store_text(&s, NULL, &f, 1);
		assert_string_equal(before, "");
		free(before);
		store_drop(&s);
	}
}

static void
test_interrupt(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 9;
	wide_job_info jobs[4];
	int files;

	options(&opt, 1);
	start(&s, &opt, &f);
	fill(&s, f, 0, 1000, 1, &seed);
	s.interrupt_after = 2;
	assert_int_equal(wide_flush(s.db), WIDE_INTERRUPTED);
	assert_int_equal(store_files(&s, f, -1), 0);
	assert_int_equal(test_dir_count(s.dir), 4); /* no files are left behind */
	assert_ok(wide_flush(s.db));
	files = store_files(&s, f, -1);
	assert_true(files > 5);
	s.interrupt_after = 3;
	assert_int_equal(wide_compact(s.db, f), WIDE_INTERRUPTED);
	assert_int_equal(store_files(&s, f, -1), files);
	assert_int_equal(wide_jobs(s.db, jobs, 4), 3);
	assert_int_equal(jobs[0].kind, 1);
	assert_int_equal(jobs[0].state, 2);
	assert_int_equal(jobs[1].state, 1);
	assert_int_equal(store_verify(&s), 0);
	assert_ok(wide_compact(s.db, f));
	store_drop(&s);
}

/* Long common prefixes: the truncated bounds in memory cannot tell the files apart. */
static void
test_long_rows(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 3;
	char row[400], value[60];
	char *before, *after;

	options(&opt, 1);
	start(&s, &opt, &f);
	level_bytes = 8 * 1024;
	memset(row, 'x', sizeof row);
	for (int round = 0; round < 12; round++)
	{
		wide_batch *b;

		assert_ok(wide_batch_new(s.db, &b));
		for (int i = 0; i < 120; i++)
		{
			snprintf(row + 300, 20, "%06d", (int) (rnd(&seed) % 400));
			for (int k = 0; k < 50; k++)
				value[k] = (char) (33 + rnd(&seed) % 90);
			assert_ok(wide_batch_put(b, f, text(row), text("q"), round, INT64_MIN, 0,
									 bytes(value, 50)));
		}
		assert_ok(store_commit(&s, b, NULL));
		before = store_text(&s, NULL, &f, 1);
		assert_ok(wide_flush(s.db));
		store_work(&s);
		after = store_text(&s, NULL, &f, 1);
		assert_string_equal(before, after);
		free(before);
		free(after);
		assert_int_equal(store_verify(&s), 0);
	}
	store_drop(&s);
}

/* ------------------------------------------------------------------- loads */

typedef struct load_input
{
	wide_family_id family;
	int i;
	int n;
	buffer key;
} load_input;

static wide_status
load_next(void *arg, wide_family_id *family, entry *e)
{
	load_input *in = arg;
	char row[20];

	if (in->i == in->n)
		return WIDE_END;
	snprintf(row, sizeof row, "row%05d", in->i++);
	assert_ok(key_make(&in->key, text(row), text("q")));
	memset(e, 0, sizeof *e);
	e->ukey = in->key.data;
	e->klen = (uint32_t) in->key.len;
	e->rowlen = key_row_length(e->ukey, e->klen);
	e->ts = 5;
	e->value =
		(const uint8_t *) "loaded-loaded-loaded-loaded-loaded-loaded-loaded-loaded-loaded-loaded";
	e->vlen = 60;
	*family = in->family;
	return WIDE_OK;
}

static void
test_load(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	load_input in = {.n = 3000};
	file_meta *files;
	uint64_t total = 0;
	int n;

	options(&opt, 1);
	opt.compression = WIDE_COMPRESS_NONE;
	start(&s, &opt, &f);
	in.family = f;
	assert_ok(bulk_write(s.db, load_next, &in, true, INT64_MAX, INT64_MIN, NULL, &files, &n));
	assert_true(n > 3);
	for (int i = 0; i < n; i++)
	{
		total += files[i].cells;
		assert_int_equal(files[i].level, 0);
	}
	assert_int_equal(total, 3000);
	assert_int_equal(store_verify(&s), 0); /* not reported as litter while the batch is open */
	bulk_discard(s.db, files, n);
	free(files);
	assert_int_equal(test_dir_count(s.dir), 4);
	in.i = 0;
	s.interrupt_after = 5;
	assert_int_equal(bulk_write(s.db, load_next, &in, true, INT64_MAX, INT64_MIN, NULL, &files, &n),
					 WIDE_INTERRUPTED);
	assert_null(files);
	assert_int_equal(test_dir_count(s.dir), 4);
	in.i = 0;
	in.family = 4711;
	/* a family that the batch has dropped */
	assert_ok(bulk_write(s.db, load_next, &in, true, INT64_MAX, INT64_MIN, NULL, &files, &n));
	assert_int_equal(n, 0);
	assert_int_equal(test_dir_count(s.dir), 4);
	free(files);
	buffer_free(&in.key);
	store_drop(&s);
}

/* ---------------------------------------------------------- many processes */

/* In a child: makes a separate attachment to the parent's segment. */
static void
child_attach(store *s)
{
	wide_host host = {.ctx = s, .interrupted = store_interrupted, .now = store_now};

	if (file_log_open(s->dir, s->log_shared, s->base, NULL, &s->log) != WIDE_OK ||
		wide_attach(s->base, s->dir, &host, &s->log, NULL, &s->db) != WIDE_OK)
		_exit(10);
}

/* Each batch sets all ten rows of this writer to the same number. */
static void
child_write(store *s, wide_family_id f, int who)
{
	for (int i = 1; i <= 400; i++)
	{
		wide_batch *b;
		uint64_t lsn;
		char row[16], value[300];

		memset(value, 'x', sizeof value);
		snprintf(value, sizeof value, "%d", i);
		if (wide_batch_new(s->db, &b) != WIDE_OK)
			_exit(11);
		for (int r = 0; r < 10; r++)
		{
			snprintf(row, sizeof row, "w%d.%d", who, r);
			if (wide_batch_put(b, f, text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
							   bytes(value, 250)) != WIDE_OK)
				_exit(12);
		}
		if (wide_batch_prepare(b, 0) != WIDE_OK || wide_batch_finish(b, &lsn) != WIDE_OK ||
			wide_publish(s->db, lsn) != WIDE_OK)
		{
			fprintf(stderr, "writer: %s\n", wide_error_text());
			_exit(13);
		}
		wide_batch_free(b);
	}
	_exit(0);
}

static void
child_work(store *s, wide_family_id f)
{
	for (int64_t until = time(NULL) + 60; time(NULL) < until;)
	{
		wide_status st = wide_work(s->db);

		if (st != WIDE_OK && st != WIDE_END && st != WIDE_BUSY)
		{
			fprintf(stderr, "worker: %s\n", wide_error_text());
			_exit(14);
		}
		if (st == WIDE_END)
			usleep(1000);
		if (atomic_load(&s->db->seg->set.replay_file) == 77) /* the parent's signal to stop */
			_exit(0);
	}
	_exit(15);
}

/* In every snapshot the ten rows of a writer are equal, and never older than in an earlier one. */
static void
check_snapshot(store *s, wide_family_id f, int *newest)
{
	char *all = store_text(s, NULL, &f, 1);
	int seen[2][10];
	int n[2] = {0, 0};

	for (char *p = all; *p != 0; p = strchr(p, ';') + 1)
	{
		int w = p[3] - '0';
		char *v = strchr(p, '=') + 1;

		assert_true(n[w] < 10);
		seen[w][n[w]++] = atoi(v);
	}
	for (int w = 0; w < 2; w++)
	{
		assert_true(n[w] == 0 || n[w] == 10);
		for (int i = 0; i < n[w]; i++)
			assert_int_equal(seen[w][i], seen[w][0]);
		if (n[w] > 0)
		{
			assert_true(seen[w][0] >= newest[w]);
			newest[w] = seen[w][0];
		}
	}
	free(all);
}

static void
test_processes(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	pid_t pid[4];
	int newest[2] = {0, 0}, left = 2, status;
	wide_stats stats;

	options(&opt, 1);
	start(&s, &opt, &f);
	store_close(&s);
	s.config.memtable_size = 128 * 1024; /* flushes all the time */
	assert_ok(store_open(&s));
	for (int i = 0; i < 4; i++)
		if ((pid[i] = unit_fork()) == 0)
		{
			child_attach(&s);
			if (i < 2)
				child_write(&s, f, i);
			child_work(&s, f);
		}
	while (left > 0)
	{
		check_snapshot(&s, f, newest);
		for (int i = 0; i < 2; i++)
			if (pid[i] > 0 && waitpid(pid[i], &status, WNOHANG) == pid[i])
			{
				assert_true(WIFEXITED(status));
				assert_int_equal(WEXITSTATUS(status), 0);
				pid[i] = 0;
				left--;
			}
	}
	atomic_store(&s.db->seg->set.replay_file, 77);
	for (int i = 2; i < 4; i++)
	{
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	check_snapshot(&s, f, newest);
	assert_int_equal(newest[0], 400);
	assert_int_equal(newest[1], 400);
	wide_statistics(s.db, &stats);
	assert_true(stats.flushes > 5);
	assert_ok(wide_flush(s.db));
	store_work(&s);
	assert_int_equal(store_verify(&s), 0);
	assert_ok(wide_compact(s.db, f));
	check_snapshot(&s, f, newest);
	store_close(&s);
	assert_ok(store_open(&s));
	check_snapshot(&s, f, newest);
	store_drop(&s);
}

static void
test_litter_and_missing(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	char path[200];
	uint64_t seed = 1;
	int fd;

	options(&opt, 1);
	start(&s, &opt, &f);
	fill(&s, f, 0, 10, 1, &seed);
	assert_ok(wide_flush(s.db));
	assert_int_equal(store_verify(&s), 0);
	snprintf(path, sizeof path, "%s/00000999.sst", s.dir);
	fd = os_real()->open(os_real(), path, 0102);
	os_real()->close(os_real(), fd);
	assert_int_equal(store_verify(&s), 1);
	store_close(&s);
	assert_ok(store_open(&s));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(store_verify(&s), 0);
	for (int i = 1; i < 20; i++)
	{
		sst_file_path(s.db, (uint64_t) i, path, sizeof path);
		unlink(path);
	}
	assert_true(store_verify(&s) > 0);
	store_drop(&s);
}

/* An idle reader keeps the memtables that it has pinned, but no later ones: writers continue. */
static void
test_resting_reader(void **state)
{
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	version_pin early = {0}, late = {0};
	char key[16];

	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "first", "q", 1, "v");
	assert_ok(pin_take(s.db, &early));
	assert_int_equal(early.nmemtables, 1);
	for (int i = 0; i < 3 * WIDE_MEMTABLES; i++)
	{
		snprintf(key, sizeof key, "%d", i);
		store_put(&s, f, key, "q", 1, "v");
		assert_ok(wide_flush(s.db));
		assert_int_equal(atomic_load(&s.db->seg->memtables[early.memtables[0]].state),
						 MEMTABLE_FLUSHED);
	}
	/* a new reader holds another memtable */
	store_put(&s, f, "last", "q", 1, "v");
	assert_ok(pin_take(s.db, &late));
	assert_int_equal(late.nmemtables, 1);
	assert_true(late.memtables[0] != early.memtables[0]);
	assert_ok(wide_flush(s.db));
	assert_int_equal(atomic_load(&s.db->seg->memtables[late.memtables[0]].state), MEMTABLE_FLUSHED);
	pin_drop(s.db, &early);
	store_put(&s, f, "later", "q", 1, "v");
	assert_ok(wide_flush(s.db));
	assert_true(atomic_load(&s.db->seg->memtables[early.memtables[0]].state) != MEMTABLE_FLUSHED);
	assert_int_equal(atomic_load(&s.db->seg->memtables[late.memtables[0]].state), MEMTABLE_FLUSHED);
	pin_drop(s.db, &late);
	store_drop(&s);
}

static bool
working(void *ctx)
{
	return true;
}

/* Returns how long a batch of about 5 KB waits, in microseconds. */
static uint64_t
waited(store *s, wide_family_id f, uint64_t *seed)
{
	wide_stats before, after;

	wide_statistics(s->db, &before);
	fill(s, f, 0, 20, 1, seed);
	wide_statistics(s->db, &after);
	assert_int_equal(before.stalls, after.stalls);
	return after.stall_us - before.stall_us;
}

/*
 * Writers are slowed down before memory is full: a little for each write,
 * more the more memory waits to be flushed.
 */
static void
test_pace(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f;
	uint64_t seed = 1, us[WIDE_MEMTABLES];

	store_init(&s);
	s.config.memtable_size = 128 * 1024;
	assert_ok(store_open(&s));
	options(&opt, 1);
	{
		wide_table_id t;

		store_table(&s, &opt, 1, &t, &f);
	}
	s.db->host.worker_works = working;
	for (int waiting = 0; waiting < WIDE_MEMTABLES; waiting++)
	{
		uint64_t number = s.db->seg->commit.memtable_number;

		atomic_store(&s.db->seg->commit.flush_us, 4000000);
		us[waiting] = waited(&s, f, &seed);
		if (waiting == WIDE_MEMTABLES - 1)
			break;
		atomic_store(&s.db->seg->commit.flush_us, 0);
		while (s.db->seg->commit.memtable_number == number)
			assert_int_equal(waited(&s, f, &seed), 0);
	}
	assert_int_equal(us[0], 0);
	assert_int_equal(us[1], 0);
	assert_in_range(us[2], 2000, 30000);
	assert_in_range(us[3], us[2] + 2000, 60000);
	/* but the wait is limited */
	atomic_store(&s.db->seg->commit.flush_us, 4000000000);
	assert_in_range(waited(&s, f, &seed), 90000, 100000);
	/* no worker is active: waiting would not help */
	s.db->host.worker_works = NULL;
	assert_int_equal(waited(&s, f, &seed), 0);
	assert_ok(wide_flush(s.db));
	assert_in_range(atomic_load(&s.db->seg->commit.flush_us), 1, 1000000000);
	store_drop(&s);
}

/*
 * A pin taken in the middle of a switch: the new memtable is active, the
 * version is still the old one.  The pin does not protect that memtable from
 * reuse, so it must not read it.
 */
static void
test_pin_in_switch(void **state)
{
	store s;
	memtable *t;
	version_pin pin = {0};

	store_init(&s);
	assert_ok(store_open(&s));
	t = &s.db->seg->memtables[(s.db->seg->commit.active + 1) % WIDE_MEMTABLES];
	assert_int_equal(atomic_load(&t->state), MEMTABLE_FREE);
	t->made_version = atomic_load(&s.db->seg->set.version) + 1;
	t->freed_version = t->made_version + 5;
	t->number = s.db->seg->commit.memtable_number + 1;
	atomic_store(&t->state, MEMTABLE_ACTIVE);
	assert_ok(pin_take(s.db, &pin));
	assert_false(pin_has_memtable(s.db, t));
	assert_int_equal(pin.nmemtables, 1);
	assert_int_equal(pin.memtables[0], s.db->seg->commit.active);
	pin_drop(s.db, &pin);
	atomic_fetch_add(&s.db->seg->set.version, 1);
	assert_ok(pin_take(s.db, &pin));
	assert_true(pin_has_memtable(s.db, t));
	assert_int_equal(pin.nmemtables, 2);
	pin_drop(s.db, &pin);
	atomic_store(&t->state, MEMTABLE_FREE);
	store_drop(&s);
}

/* When time alone makes work. */
static void
test_due(void **state)
{
	const int64_t hour = (int64_t) 3600 * 1000000;
	store s;
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	version_pin pin = {0};
	int64_t due;

	store_init(&s);
	assert_ok(store_open(&s));
	s.now += hour;
	store_work(&s);
	assert_true(wide_work_due(s.db) == INT64_MAX);
	wide_family_defaults(&opt);
	opt.ttl_us = 10 * hour;
	store_table(&s, &opt, 1, &t, &f);
	store_put(&s, f, "a", "q", WIDE_TS_AUTO, "one");
	assert_ok(wide_flush(s.db));
	store_work(&s);
	/* first the store comes to rest */
	due = wide_work_due(s.db);
	assert_true(due > 0 && due <= 3 * 1000000);
	s.now += due;
	store_work(&s);
	/* then the file expires, not before */
	due = wide_work_due(s.db);
	assert_true(due > 9 * hour && due <= 10 * hour);
	s.now += due - 1;
	store_work(&s);
	assert_true(store_bytes(&s, f) > 0);
	assert_int_equal(wide_work_due(s.db), 1);
	s.now += 1;
	/* a reader holds the file */
	assert_ok(pin_take(s.db, &pin));
	store_work(&s);
	assert_int_equal(store_bytes(&s, f), 0);
	assert_int_equal(wide_work_due(s.db), 0);
	pin_drop(s.db, &pin);
	store_work(&s);
	s.now += hour;
	assert_true(wide_work_due(s.db) == INT64_MAX);
	store_drop(&s);
}

/* Makes n families in the batch, thirty in a table. */
static void
create_families(wide_batch *b, const wide_family_options *opt, int n, wide_family_id *ids)
{
	wide_table_id t = 0;
	char name[20];

	for (int i = 0; i < n; i++)
	{
		snprintf(name, sizeof name, "f%d", i);
		if (i % 30 == 0)
			assert_ok(wide_batch_create_table(b, 1, name, &t));
		assert_ok(wide_batch_create_family(b, t, name, opt, &ids[i]));
	}
}

/*
 * While more than half of the table of files is in use, files of several windows are written on
 * purpose: they are not split, or that would have no end, and they do not keep windows from being
 * joined when the table is full.
 */
static void
test_crowded_windows(void **state)
{
	store s;
	wide_family_options opt, leveled;
	wide_family_id f, others[242];
	wide_batch *b;
	const int64_t hour = 3600000000ll;
	wide_stats stats;
	char name[20];
	int n = 0;

	options(&opt, 1);
	options(&leveled, 1);
	opt.compaction = WIDE_COMPACT_WINDOW;
	opt.window_us = hour;
	start_with(&s, 256, &opt, &f);
	s.now = 400050 * hour;
	assert_ok(wide_batch_new(s.db, &b));
	/* so many families that the table is full while the windowed one has few files */
	create_families(b, &leveled, 242, others);
	for (int i = 0; i < 242; i++)
		assert_ok(wide_batch_put(b, others[i], text("row"), text("q"), s.now, INT64_MIN, 0,
								 text("v")));
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_flush(s.db));
	store_put(&s, f, "row", "q", 400000 * hour, "v");
	store_put(&s, f, "other", "q", 400001 * hour, "v");
	assert_ok(wide_flush(s.db));
	assert_int_equal(store_files(&s, f, 0), 1);
	while (wide_work(s.db) == WIDE_OK)
		assert_in_range(++n, 1, 20);
	assert_int_equal(store_files(&s, f, 0), 1);
	for (int i = 0; i < 100; i++)
	{
		snprintf(name, sizeof name, "row%d", i);
		store_put(&s, f, name, "q", (400002 + i) * hour, "v");
		assert_ok(wide_flush(s.db));
	}
	wide_statistics(s.db, &stats);
	assert_true(stats.files > stats.max_files / 2 && stats.files <= stats.max_files);
	assert_int_equal(store_verify(&s), 0);
	store_drop(&s);
}

/* Small families with files of many windows: one job is not made of so many that the table of files
 * has no room for what it makes. */
static void
test_group_of_windows(void **state)
{
	store s;
	wide_family_options opt;
	wide_family_id f, all[60];
	wide_batch *b;
	const int64_t hour = 3600000000ll;
	wide_status st;
	char name[20];
	int n = 0;

	options(&opt, 1);
	opt.compaction = WIDE_COMPACT_WINDOW;
	opt.window_us = hour;
	start_with(&s, 800, &opt, &f);
	s.now = 400050 * hour;
	assert_ok(wide_batch_new(s.db, &b));
	create_families(b, &opt, 60, all);
	assert_ok(store_commit(&s, b, NULL));
	for (int r = 0; r < 2; r++)
	{
		assert_ok(wide_batch_new(s.db, &b));
		for (int i = 0; i < 60; i++)
			for (int w = 0; w < 15; w++)
			{
				snprintf(name, sizeof name, "row%d.%d", r, w);
				assert_ok(wide_batch_put(b, all[i], text(name), text("q"), (400000 + w) * hour,
										 INT64_MIN, 0, text("v")));
			}
		assert_ok(store_commit(&s, b, NULL));
		assert_ok(wide_flush(s.db));
	}
	while ((st = wide_work(s.db)) == WIDE_OK)
		assert_in_range(++n, 1, 300);
	assert_int_equal(st, WIDE_END);
	assert_true(n > 0);
	assert_int_equal(store_verify(&s), 0);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_stay),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_space_deletes),
		cmocka_unit_test(test_space_expired),
		cmocka_unit_test(test_space_windows),
		cmocka_unit_test(test_space_expired_neighbours),
		cmocka_unit_test(test_split_keys),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_window_files),
		cmocka_unit_test(test_window_many),
		cmocka_unit_test(test_crowded_windows),
		cmocka_unit_test(test_group_of_windows),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_long_rows),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_litter_and_missing),
		cmocka_unit_test(test_resting_reader),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_pin_in_switch),
		cmocka_unit_test(test_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
