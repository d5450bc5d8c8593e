/*
 * promise_test.c - guarantees between the steps of a commit: an interrupted
 * prepare can be repeated, and the manifest never claims log positions that
 * could be assigned again after a crash.
 */
#include "engine/batch/batch.h"
#include "engine/scan/scan_state.h"
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

static int
count_cells(store *s, wide_family_id f)
{
	char *got = store_text(s, NULL, &f, 1);
	int n = 0;

	for (char *p = got; *p != 0; p++)
		n += *p == ';';
	free(got);
	return n;
}

static void
interrupted_prepare(int cells, size_t value_size, uint64_t external)
{
	store s;
	wide_family_id f, made;
	wide_family_options opt;
	wide_table t;
	wide_batch *b;
	uint64_t lsn, reserved;
	char row[16], value[2001];

	store_init(&s);
	assert_ok(store_open(&s));
	f = one_family(&s);
	wide_family_defaults(&opt);
	reserved = s.db->seg->commit.reserved;
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_table_by_name(s.db, NULL, 1, "t", &t));
	assert_ok(wide_batch_create_family(b, t.id, "second", &opt, &made));
	memset(value, 'v', sizeof value);
	for (int i = 0; i < cells; i++)
	{
		snprintf(row, sizeof row, "r%05d", i);
		assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, INT64_MIN, 0,
								 bytes(value, value_size)));
	}
	file_log_set_xid(&s.log, external);
	for (int after = 1; after < 3; after++)
	{
		s.interrupt_after = after;
		assert_int_equal(wide_batch_prepare(b, external), WIDE_INTERRUPTED);
		assert_int_equal(s.db->seg->commit.reserved, reserved);
		assert_int_equal(atomic_load(&s.db->slot->prepare_lsn), 0);
	}
	s.interrupt_after = 0;
	assert_ok(wide_batch_prepare(b, external));
	if (external != 0)
		assert_ok(file_log_decide(&s.log, external, true));
	assert_ok(wide_batch_finish(b, &lsn));
	assert_ok(s.log.sync(s.log.ctx, lsn));
	assert_ok(wide_publish(s.db, lsn));
	wide_batch_free(b);
	assert_int_equal(s.db->seg->commit.reserved, reserved);
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(count_cells(&s, f), cells);
		assert_int_equal(store_verify(&s), 0);
		store_close(&s);
		assert_ok(store_open(&s));
	}
	store_drop(&s);
}

static void
test_prepare_again(void **state)
{
	interrupted_prepare(2100, 1, 0);
	interrupted_prepare(2100, 1, 500);
	interrupted_prepare(2100, 2000, 0); /* larger than a memtable: files */
	interrupted_prepare(2100, 2000, 501);
}

/* ---- durability of flushes */

static wide_status (*real_sync)(void *ctx, uint64_t lsn);
static uint64_t synced;

static wide_status
spying_sync(void *ctx, uint64_t lsn)
{
	wide_status st = real_sync(ctx, lsn);

	if (st == WIDE_OK && lsn > synced)
		synced = lsn;
	return st;
}

/*
 * Other writers share the log.  A flush that records "everything up to here
 * is in files" makes the log durable up to that position, not only up to the
 * engine's last record.  Otherwise the log could be shorter after a crash,
 * and its first new commits would be taken for flushed ones.
 */
static void
test_flushed_is_durable(void **state)
{
	store s;
	wide_family_id f;

	store_init(&s);
	assert_ok(store_open(&s));
	real_sync = s.db->log.sync;
	s.db->log.sync = spying_sync;
	synced = 0;
	f = one_family(&s);
	for (int i = 0; i < 3; i++)
	{
		store_put(&s, f, "a", "q", i, "v");
		/* a record of another writer, not synced */
		assert_ok(file_log_decide(&s.log, 900 + (uint64_t) i, true));
		/* with a memtable to flush, then without */
		assert_ok(wide_flush(s.db));
		assert_true(s.db->seg->set.flushed_seq <= synced);
		assert_true(s.db->seg->set.restart_lsn <= synced);
		assert_ok(file_log_decide(&s.log, 800 + (uint64_t) i, true));
		assert_ok(wide_flush(s.db));
		assert_true(s.db->seg->set.flushed_seq <= synced);
		assert_true(s.db->seg->set.restart_lsn <= synced);
	}
	store_drop(&s);
}

/*
 * An interrupted read continues when it is called again (wide.h: nothing is
 * half done, call again).
 */
static void
scan_again(bool reverse)
{
	store s;
	wide_family_id f;
	wide_batch *b;
	char row[16];
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row r;
	wide_status st;
	int interrupts = 0, rows = 0;
	wide_scan_family fam = {.want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_scan_spec spec = {.families = &fam, .nfamilies = 1, .ranges = &all, .nranges = 1};

	store_init(&s);
	s.config.memtable_size = 8 << 20;
	assert_ok(store_open(&s));
	f = fam.id = one_family(&s);
	for (int pass = 0; pass < 2; pass++)
	{
		assert_ok(wide_batch_new(s.db, &b));
		for (int i = 0; i < 20000; i++)
		{
			snprintf(row, sizeof row, "r%05d", i);
			if (pass == 0)
				assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, INT64_MIN, 0, text("v")));
			else if (i % 4000 != 0)
				assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, f, text(row), text("q"),
											WIDE_TS_MAX));
		}
		assert_ok(store_commit(&s, b, NULL));
	}
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	spec.reverse = reverse;
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	s.interrupt_after = 1;
	while ((st = wide_scan_next(scan, &r)) != WIDE_END && interrupts < 2000)
	{
		assert_true(st == WIDE_OK || st == WIDE_INTERRUPTED);
		if (st == WIDE_OK)
		{
			snprintf(row, sizeof row, "r%05d", reverse ? 16000 - 4000 * rows : 4000 * rows);
			assert_int_equal(r.key.len, strlen(row));
			assert_memory_equal(r.key.data, row, r.key.len);
			assert_int_equal(r.ncells, 1);
			rows++;
		}
		interrupts += st == WIDE_INTERRUPTED;
		if (st == WIDE_INTERRUPTED)
			s.interrupt_after = 3;
	}
	assert_int_equal(st, WIDE_END);
	assert_true(interrupts > 0);
	assert_int_equal(rows, 5);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* The same for a range of one row with many cells, which is interrupted while it is read. */
static void
test_get_again(void **state)
{
	store s;
	wide_family_id f;
	wide_batch *b;
	char qual[16];
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row r;
	wide_scan_family fam = {.want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range one = {.lo = text("r"), .hi = {(const uint8_t *) "r", 2}};
	wide_scan_spec spec = {.families = &fam, .nfamilies = 1, .ranges = &one, .nranges = 1};

	(void) state;
	store_init(&s);
	assert_ok(store_open(&s));
	f = fam.id = one_family(&s);
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 1000; i++)
	{
		snprintf(qual, sizeof qual, "q%04d", i);
		assert_ok(wide_batch_put(b, f, text("r"), text(qual), 1, INT64_MIN, 0, text("v")));
	}
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	s.interrupt_after = 2;
	assert_int_equal(wide_scan_next(scan, &r), WIDE_INTERRUPTED);
	assert_ok(wide_scan_next(scan, &r));
	assert_int_equal(r.ncells, 1000);
	assert_int_equal(wide_scan_next(scan, &r), WIDE_END);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	store_drop(&s);
}

static void
test_scan_again(void **state)
{
	scan_again(false);
	scan_again(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prepare_again),
		cmocka_unit_test(test_flushed_is_durable),
		cmocka_unit_test(test_scan_again),
		cmocka_unit_test(test_get_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
