/*
 * prepared_test.c - prepared transactions: visibility, row locks, the log that they need, and what
 * a replay makes of their records.
 */
#include "engine/batch/payload.h"
#include "engine/scan/scan_state.h"
#include "store_fixture.h"

#define XID		77
#define RECORDS 4096

static store s;
static wide_table_id table;
static wide_family_id family;

/* ------------------------------------------------------------------ the log */

/* The records since the last opening, for log->read. */
static struct
{
	uint64_t start, lsn;
	buffer bytes;
} records[RECORDS];

static int nrecords;
static wide_log real; /* the log of the file */

/* Events that the host's own records would be, when the log is replayed. */
static uint64_t prepared_at; /* behind the record that ends here: XID is prepared; 0: never */
static uint64_t restarted_at;

/* Another process logs the first DATA record of a batch in front of each PREPARED record. */
static bool crowded;
static bool sync_fails;
/* The log is followed, and the host says that XID has committed. */
static bool followed;

static wide_status
capture(void *ctx, bool external, const wide_bytes *parts, int n, uint64_t *lsn)
{
	uint64_t start;

	if (crowded && parts[0].data[0] == RECORD_PREPARED)
	{
		uint8_t data[RECORD_DATA_HEAD + 1] = {0};

		crowded = false;
		payload_record_data(data, 0, 0);
		assert_ok(capture(ctx, false, &(wide_bytes) {data, sizeof data}, 1, lsn));
		crowded = true;
	}
	start = real.end(ctx);
	assert_ok(real.append(ctx, external, parts, n, lsn));
	assert_true(nrecords < RECORDS);
	records[nrecords].start = start;
	records[nrecords].lsn = *lsn;
	records[nrecords].bytes.len = 0;
	for (int i = 0; i < n; i++)
		assert_ok(buffer_append(&records[nrecords].bytes, parts[i].data, parts[i].len));
	nrecords++;
	return WIDE_OK;
}

static wide_status
read_log(void *ctx, uint64_t from, uint64_t to, wide_replay_fn fn, void *arg)
{
	for (int i = 0; i < nrecords; i++)
	{
		const buffer *b = &records[i].bytes;
		wide_replay_event ev = {.kind = WIDE_REPLAY_RECORD,
								.start = records[i].start,
								.lsn = records[i].lsn,
								.payload = {b->data, b->len}};

		if (ev.start >= from && ev.lsn <= to)
			TRY(fn(arg, &ev));
	}
	return WIDE_OK;
}

static wide_status
sync_log(void *ctx, uint64_t lsn)
{
	return sync_fails ? WIDE_IO : real.sync(ctx, lsn);
}

static bool
committed(void *ctx, uint64_t xid)
{
	return xid == XID;
}

typedef struct replaying
{
	wide_replay_fn fn;
	void *arg;
} replaying;

/* Passes an event on, and keeps a record for log->read. */
static wide_status
pass(void *arg, const wide_replay_event *ev)
{
	replaying *r = arg;
	wide_db *db = r->arg;

	if (followed && atomic_load(&db->seg->state) == WIDE_RECOVERING)
	{
		db->host.committed = committed;
		assert_ok(wide_follow_show(db, ev->start, ev->start));
	}
	if (ev->kind == WIDE_REPLAY_RECORD)
	{
		records[nrecords].start = ev->start;
		records[nrecords].lsn = ev->lsn;
		records[nrecords].bytes.len = 0;
		assert_ok(buffer_append(&records[nrecords].bytes, ev->payload.data, ev->payload.len));
		nrecords++;
	}
	TRY(r->fn(r->arg, ev));
	if (ev->lsn == prepared_at)
		TRY(r->fn(r->arg,
				  &(wide_replay_event) {
					  .kind = WIDE_REPLAY_PREPARED, .start = ev->lsn, .lsn = ev->lsn, .xid = XID}));
	if (ev->lsn == restarted_at)
		TRY(r->fn(r->arg, &(wide_replay_event) {
							  .kind = WIDE_REPLAY_RESTART, .start = ev->lsn, .lsn = ev->lsn}));
	return WIDE_OK;
}

static wide_status
replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	replaying r = {fn, arg};

	return real.replay(ctx, from, pass, &r);
}

static void
opening(wide_log *log)
{
	real = *log;
	log->append = capture;
	log->replay = replay;
	log->read = read_log;
	log->sync = sync_log;
	nrecords = 0;
}

/* ------------------------------------------------------------------ helpers */

static void
begin_store(size_t memtable, uint32_t buckets)
{
	wide_family_options opt;

	store_init(&s);
	s.config.memtable_size = memtable;
	s.config.lock_buckets = buckets;
	s.opening = opening;
	prepared_at = restarted_at = 0;
	crowded = followed = sync_fails = false;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &table, &family);
	store_put(&s, family, "a", "q", 1, "old");
}

/* As after a crash: what is not in the log or in files is lost. */
static void
crash(void)
{
	store_close(&s);
	assert_ok(store_open(&s));
}

static wide_status
lock(const char *row)
{
	uint64_t holder;
	wide_status st = wide_row_lock(s.db, table, text(row), &holder);

	if (st == WIDE_BUSY)
		assert_int_equal(holder, WIDE_HOLDER_PREPARED | XID);
	return st;
}

/* Row b is put, and a is locked. */
static void
prepare(void)
{
	wide_batch *b;

	file_log_set_xid(&s.log, XID);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, family, text("b"), text("q"), 2, INT64_MIN, 0, text("new")));
	assert_ok(lock("a"));
	assert_ok(wide_prepared_begin(s.db, b, XID));
	wide_batch_free(b);
	wide_row_unlock(s.db, 0);
	wide_prepared_confirm(s.db, XID);
	prepared_at = records[nrecords - 1].lsn;
}

static void
expect(const char *want)
{
	char *got = store_text(&s, NULL, &family, 1);

	assert_string_equal(got, want);
	free(got);
}

#define OLD	 "0/a/q@1=old;"
#define BOTH "0/a/q@1=old;0/b/q@2=new;"

static void
expect_locked(bool locked)
{
	assert_int_equal(lock("a"), locked ? WIDE_BUSY : WIDE_OK);
	assert_ok(lock("c"));
	wide_row_unlock(s.db, 0);
	assert_int_equal(wide_prepared_any(s.db), locked);
	assert_int_equal(wide_row_locks_total(s.db), locked ? 1 : 0);
}

static bool
runs(void *ctx, uint64_t xid)
{
	return *(bool *) ctx;
}

static wide_status
snapshot(bool running, wide_snapshot **out)
{
	return wide_snapshot_take_at(s.db, &(wide_moment) {.running = runs, .ctx = &running}, out);
}

static void
end_store(void)
{
	assert_int_equal(s.db->seg->commit.reserved, 0);
	assert_int_equal(store_verify(&s), 0);
	store_drop(&s);
}

/* -------------------------------------------------------------------- tests */

static void
test_commit(void **state)
{
	wide_snapshot *before, *ws;

	begin_store(256 * 1024, 64);
	prepare();
	expect_locked(true);
	expect(OLD);
	assert_ok(snapshot(true, &before));
	/* the host shows the end, the engine not yet */
	assert_int_equal(snapshot(false, &ws), WIDE_BUSY);
	assert_ok(wide_prepared_end(s.db, XID, true));
	assert_ok(snapshot(false, &ws));
	wide_snapshot_release(ws);
	expect_locked(false);
	expect(BOTH);
	{
		char *got = store_text(&s, before, &family, 1);

		assert_string_equal(got, OLD);
		free(got);
	}
	wide_snapshot_release(before);
	/* another process has ended it */
	assert_ok(wide_prepared_end(s.db, XID, true));
	crash();
	expect_locked(false);
	expect(BOTH);
	end_store();
}

static void
test_rollback(void **state)
{
	begin_store(256 * 1024, 64);
	prepare();
	assert_ok(wide_prepared_end(s.db, XID, false));
	expect_locked(false);
	expect(OLD);
	crash();
	expect_locked(false);
	expect(OLD);
	end_store();
}

/* It survives the process, restarts of the host, and flushes. */
static void
test_crash(void **state)
{
	begin_store(256 * 1024, 64);
	prepare();
	store_put(&s, family, "c", "q", 3, "x");
	restarted_at = records[nrecords - 1].lsn;
	for (int i = 0; i < 3; i++)
	{
		crash();
		expect_locked(true);
		expect(OLD "0/c/q@3=x;");
		assert_ok(wide_flush(s.db));
	}
	assert_ok(wide_prepared_end(s.db, XID, true));
	expect_locked(false);
	expect(BOTH "0/c/q@3=x;");
	assert_ok(wide_flush(s.db));
	crash();
	expect_locked(false);
	expect(BOTH "0/c/q@3=x;");
	end_store();
}

/* The host has not prepared it: its program died, or it could not. */
static void
test_not_prepared(void **state)
{
	begin_store(256 * 1024, 64);
	prepare();
	prepared_at = 0;
	crash();
	expect_locked(false);
	expect(OLD);
	prepare();
	wide_prepared_cancel(s.db, XID);
	expect_locked(false);
	expect(OLD);
	end_store();
}

/* The host's record of the end is in the log, the engine's is not. */
static void
test_decided(void **state)
{
	begin_store(256 * 1024, 64);
	prepare();
	assert_ok(file_log_decide(&s.log, XID, true));
	crash();
	expect_locked(false);
	expect(BOTH);
	store_drop(&s);

	begin_store(256 * 1024, 64);
	prepare();
	assert_ok(file_log_decide(&s.log, XID, false));
	crash();
	expect_locked(false);
	expect(OLD);
	end_store();
}

enum how
{
	CRASHED, /* before its end */
	DECIDED, /* the host has ended it before the crash */
	ENDED	 /* it ends before the crash */
};

/* Logged anew, it needs no log from before that, whatever ends it. */
static void
relogged(bool commit, enum how how)
{
	const char *want = commit ? BOTH "0/c/q@3=x;" : OLD "0/c/q@3=x;";
	uint64_t before;

	begin_store(256 * 1024, 64);
	prepare();
	before = prepared_at;
	store_put(&s, family, "c", "q", 3, "x");
	assert_ok(wide_flush(s.db));
	assert_true(s.db->seg->set.restart_lsn < before);
	assert_ok(wide_prepared_relog(s.db, before));
	assert_ok(wide_flush(s.db));
	assert_true(s.db->seg->set.restart_lsn >= before);
	/* what begins later stays */
	before = s.db->seg->set.restart_lsn;
	assert_ok(wide_prepared_relog(s.db, before));
	assert_int_equal(s.db->seg->prepared.entry[0].start, before);
	prepared_at = 0;
	if (how == CRASHED)
	{
		crash();
		expect_locked(true);
	}
	if (how == DECIDED)
	{
		assert_ok(file_log_decide(&s.log, XID, commit));
		crash();
	}
	else
		assert_ok(wide_prepared_end(s.db, XID, commit));
	for (int i = 0; i < 2; i++)
	{
		expect_locked(false);
		expect(want);
		crash();
	}
	end_store();
}

static void
test_relog(void **state)
{
	for (enum how how = CRASHED; how <= ENDED; how++)
	{
		relogged(true, how);
		relogged(false, how);
	}
}

/* The log has the earlier records, too; a copy that is not complete counts for nothing. */
static void
test_part_of_copy(void **state)
{
	wide_bytes part;
	uint8_t data[RECORD_DATA_HEAD + 1] = {0};
	uint64_t lsn;

	begin_store(256 * 1024, 64);
	prepare();
	payload_record_data(data, 0, 0);
	part = (wide_bytes) {data, sizeof data};
	assert_ok(s.log.append(s.log.ctx, false, &part, 1, &lsn));
	crash();
	expect_locked(true);
	assert_ok(wide_prepared_relog(s.db, UINT64_MAX));
	crash();
	expect_locked(true);
	assert_ok(wide_prepared_end(s.db, XID, true));
	crash();
	expect_locked(false);
	expect(BOTH);
	end_store();
}

static void
test_only_locks(void **state)
{
	begin_store(256 * 1024, 64);
	for (int i = 0; i < 3; i++)
	{
		file_log_set_xid(&s.log, XID);
		assert_ok(lock("a"));
		assert_ok(wide_prepared_begin(s.db, NULL, XID));
		wide_row_unlock(s.db, 0);
		wide_prepared_confirm(s.db, XID);
		prepared_at = records[nrecords - 1].lsn;
		expect_locked(true);
		crash();
		expect_locked(true);
		if (i == 2)
		{
			assert_ok(wide_prepared_relog(s.db, UINT64_MAX));
			prepared_at = 0;
			assert_ok(wide_flush(s.db));
			crash();
			expect_locked(true);
		}
		if (i == 1)
			assert_ok(file_log_decide(&s.log, XID, true));
		else
			assert_ok(wide_prepared_end(s.db, XID, i == 0));
		crash();
		expect_locked(false);
	}
	expect(OLD);
	end_store();
}

/* Records of others lie among those of one that has only locked rows. */
static void
test_only_locks_crowded(void **state)
{
	begin_store(256 * 1024, 64);
	crowded = true;
	file_log_set_xid(&s.log, XID);
	assert_ok(lock("a"));
	assert_ok(wide_prepared_begin(s.db, NULL, XID));
	wide_row_unlock(s.db, 0);
	wide_prepared_confirm(s.db, XID);
	for (int i = 0; i < 2; i++)
		assert_ok(wide_prepared_relog(s.db, UINT64_MAX));
	expect_locked(true);
	assert_ok(wide_flush(s.db));
	crash();
	expect_locked(true);
	assert_ok(wide_prepared_end(s.db, XID, true));
	expect_locked(false);
	end_store();
}

/*
 * A host that follows the log is ahead of its replay, and says at a copy that the transaction has
 * committed.  Its commit record is behind that of another one, which has put the same cell.
 */
static void
test_presumed(void **state)
{
	wide_batch *b;

	begin_store(256 * 1024, 64);
	prepare();
	file_log_set_xid(&s.log, XID + 1);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, family, text("b"), text("q"), 2, INT64_MIN, 0, text("other")));
	assert_ok(wide_batch_prepare(b, XID + 1));
	assert_ok(wide_prepared_relog(s.db, UINT64_MAX));
	assert_ok(file_log_decide(&s.log, XID + 1, true));
	assert_ok(file_log_decide(&s.log, XID, true));
	wide_batch_free(b);
	followed = true;
	crash();
	followed = false;
	expect(BOTH);
	crash();
	expect(BOTH);
	end_store();
}

/* Once its FINISH record is logged nobody may log another one. */
static void
test_not_durable(void **state)
{
	begin_store(256 * 1024, 64);
	prepare();
	sync_fails = true;
	assert_int_not_equal(wide_prepared_end(s.db, XID, true), WIDE_OK);
	sync_fails = false;
	assert_int_equal(wide_prepared_end(s.db, XID, true), WIDE_POISONED);
	crash();
	expect_locked(false);
	expect(BOTH);
	end_store();
}

/* Several records of each kind. */
static void
test_large(void **state)
{
	static char value[300000];
	wide_batch *b;
	char row[16];
	int n;

	begin_store(16 << 20, 131072);
	memset(value, 'v', sizeof value);
	file_log_set_xid(&s.log, XID);
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 10; i++)
	{
		snprintf(row, sizeof row, "r%d", i);
		assert_ok(wide_batch_put(b, family, text(row), text("q"), 5, INT64_MIN, 0,
								 bytes(value, sizeof value)));
	}
	for (n = 0; n < 100000; n++)
	{
		snprintf(row, sizeof row, "l%d", n);
		/* without more memory a bucket may be full */
		if (lock(row) != WIDE_OK)
			break;
	}
	assert_true(n > 90000);
	n = (int) wide_row_locks_held(s.db);
	assert_ok(wide_prepared_begin(s.db, b, XID));
	wide_batch_free(b);
	wide_prepared_confirm(s.db, XID);
	prepared_at = records[nrecords - 1].lsn;
	crash();
	assert_int_equal(wide_row_locks_total(s.db), n);
	assert_ok(wide_prepared_relog(s.db, UINT64_MAX));
	prepared_at = 0;
	assert_ok(wide_flush(s.db));
	crash();
	assert_int_equal(wide_row_locks_total(s.db), n);
	assert_int_equal(lock("l5"), WIDE_BUSY);
	assert_ok(wide_prepared_end(s.db, XID, true));
	assert_int_equal(wide_row_locks_total(s.db), 0);
	crash();
	{
		char *got = store_text(&s, NULL, &family, 1);
		int cells = 0;

		for (char *p = got; *p != 0; p++)
			cells += *p == ';';
		assert_int_equal(cells, 11);
		free(got);
	}
	end_store();
}

/* The memtables are smaller than when it was prepared. */
static void
test_smaller_memory(void **state)
{
	static char value[200000];
	wide_batch *b;
	char *before;

	begin_store(2 << 20, 64);
	memset(value, 'v', sizeof value);
	file_log_set_xid(&s.log, XID);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, family, text("b"), text("q"), 2, INT64_MIN, 0,
							 bytes(value, sizeof value)));
	assert_ok(wide_batch_put(b, family, text("c"), text("q"), INT64_MIN, INT64_MIN, 0,
							 text("automatic")));
	assert_ok(lock("a"));
	assert_ok(wide_prepared_begin(s.db, b, XID));
	wide_batch_free(b);
	wide_row_unlock(s.db, 0);
	wide_prepared_confirm(s.db, XID);
	prepared_at = records[nrecords - 1].lsn;
	s.config.memtable_size = 256 * 1024;
	crash();
	expect_locked(true);
	assert_ok(wide_prepared_end(s.db, XID, true));
	expect_locked(false);
	before = store_text(&s, NULL, &family, 1);
	assert_non_null(strstr(before, "0/b/q@2=vvv"));
	assert_non_null(strstr(before, "=automatic;"));
	for (int i = 0; i < 2; i++)
	{
		char *after;

		crash();
		after = store_text(&s, NULL, &family, 1);
		assert_string_equal(after, before);
		free(after);
		assert_ok(wide_flush(s.db));
	}
	free(before);
	end_store();
}

static void
test_refused(void **state)
{
	static char value[200000];
	wide_batch *b;
	wide_table_id made;

	begin_store(256 * 1024, 64);
	file_log_set_xid(&s.log, XID);
	memset(value, 'v', sizeof value);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, family, text("b"), text("q"), 2, INT64_MIN, 0,
							 bytes(value, sizeof value)));
	assert_ok(lock("a"));
	assert_int_equal(wide_prepared_begin(s.db, b, XID), WIDE_LIMIT);
	wide_batch_free(b);
	wide_row_unlock(s.db, 0);
	expect_locked(false);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "u", &made));
	assert_int_equal(wide_prepared_begin(s.db, b, XID), WIDE_INVALID);
	wide_batch_free(b);
	/* more locked rows than a process lists */
	for (int i = 0; i < 64 * 7; i++)
	{
		char row[16];

		snprintf(row, sizeof row, "l%d", i);
		(void) lock(row);
	}
	assert_true(wide_row_locks_held(s.db) > 300);
	for (uint64_t i = 0; i < PREPARED_MAX; i++)
		assert_ok(wide_prepared_begin(s.db, NULL, 1000 + i));
	assert_int_equal(wide_prepared_begin(s.db, NULL, XID), WIDE_FULL);
	for (uint64_t i = 0; i < PREPARED_MAX; i++)
		wide_prepared_cancel(s.db, 1000 + i);
	expect_locked(false);
	expect(OLD);
	end_store();
}

/* An interruption leaves nothing, and another process may end it. */
static void
test_interrupted(void **state)
{
	wide_status st;
	int after = 0;

	begin_store(256 * 1024, 64);
	prepare();
	do
	{
		s.interrupt_after = ++after;
		st = wide_prepared_end(s.db, XID, true);
		s.interrupt_after = 0;
		if (st != WIDE_OK)
		{
			assert_int_equal(st, WIDE_INTERRUPTED);
			expect_locked(true);
			expect(OLD);
		}
	} while (st != WIDE_OK);
	expect_locked(false);
	expect(BOTH);
	end_store();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commit),		   cmocka_unit_test(test_rollback),
		cmocka_unit_test(test_crash),		   cmocka_unit_test(test_not_prepared),
		cmocka_unit_test(test_decided),		   cmocka_unit_test(test_relog),
		cmocka_unit_test(test_part_of_copy),   cmocka_unit_test(test_only_locks),
		cmocka_unit_test(test_large),		   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_interrupted),	   cmocka_unit_test(test_only_locks_crowded),
		cmocka_unit_test(test_presumed),	   cmocka_unit_test(test_not_durable),
		cmocka_unit_test(test_smaller_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
