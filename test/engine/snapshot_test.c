/*
 * snapshot_test.c - snapshots that are exported to another process, renewed
 * in place, taken at a moment, and shared.
 */
#include "engine/base/buffer.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/set/snapshot.h"
#include "engine/batch/batch.h"
#include "engine/scan/scan_state.h"
#include "test/host/cache_probe.h"
#include "store_fixture.h"

static wide_family_id fam;
static wide_table_id table;

static void
begin(store *s, int versions)
{
	wide_family_options opt;

	store_init(s);
	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	opt.versions = versions;
	store_table(s, &opt, 1, &table, &fam);
}

static void
expect(store *s, const wide_snapshot *at, const char *want)
{
	char *got = store_text(s, at, &fam, 1);

	assert_string_equal(got, want);
	free(got);
}

/* Commits a cell as part of external transaction xid; returns its sequence number. */
static uint64_t
put_external(store *s, uint64_t xid, const char *row, const char *value)
{
	wide_batch *b;
	uint64_t lsn;

	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_put(b, fam, text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
							 text(value)));
	file_log_set_xid(&s->log, xid);
	assert_ok(wide_batch_prepare(b, xid));
	assert_ok(file_log_decide(&s->log, xid, true));
	assert_ok(wide_batch_finish(b, &lsn));
	assert_ok(s->log.sync(s->log.ctx, lsn));
	assert_ok(wide_publish(s->db, lsn));
	wide_batch_free(b);
	file_log_set_xid(&s->log, 0);
	return lsn;
}

/* The caller's snapshot regards odd transactions as running. */
static bool
odd_runs(void *ctx, uint64_t xid)
{
	return xid % 2 == 1;
}

/*
 * Attaches to the store as another process and checks that the bytes give the
 * same view there; returns 0 if they do.
 */
static int
other_process(store *s, const uint8_t *bytes_of, size_t n, const uint64_t *lsns, const bool *seen,
			  int nlsns, const char *want, int told, int answer)
{
	wide_host host = {.ctx = s, .now = store_now, .oldest_external = store_oldest_external};
	wide_snapshot *snap;
	char *got;
	char c = 'i';

	s->db = NULL;
	if (wide_attach(s->base, s->dir, &host, &s->log, NULL, &s->db) != WIDE_OK)
		return 1;
	if (wide_snapshot_import(s->db, bytes_of, n, &snap) != WIDE_OK)
		return 2;
	/* imported: now the exporter releases its snapshot and tries to have the versions removed */
	if (write(answer, &c, 1) != 1 || read(told, &c, 1) != 1)
		return 3;
	for (int i = 0; i < nlsns; i++)
		if (snapshot_sees(snap, lsns[i]) != seen[i])
			return 4;
	got = store_text(s, snap, &fam, 1);
	if (strcmp(got, want) != 0)
	{
		fprintf(stderr, "want %s\n got %s\n", want, got);
		return 5;
	}
	free(got);
	wide_snapshot_release(snap);
	wide_detach(s->db);
	return 0;
}

static void
test_export(void **state)
{
	store s;
	wide_snapshot *snap;
	uint8_t bytes_of[512];
	uint64_t lsns[8];
	bool seen[8];
	size_t n;
	char *want;
	int down[2], up[2], status;
	char c;
	pid_t pid;

	(void) state;
	begin(&s, 1);
	s.oldest_external = 100;
	store_put(&s, fam, "a", "q", 1, "plain");
	for (int i = 0; i < 6; i++)
	{
		char row[2] = {(char) ('b' + i), 0};

		lsns[i] = put_external(&s, 100 + (uint64_t) i, row, "v");
	}
	assert_ok(snapshot_take(s.db, odd_runs, NULL, &snap));
	lsns[6] = put_external(&s, 106, "b", "later");
	lsns[7] = UINT64_MAX;
	for (int i = 0; i < 8; i++)
		seen[i] = snapshot_sees(snap, lsns[i]);
	/* the last of the ended ones is below the last of the running ones */
	assert_true(seen[0] && !seen[1] && seen[2] && !seen[3] && seen[4] && !seen[5] && !seen[6]);
	n = wide_snapshot_export(snap, NULL, 0);
	assert_true(n <= sizeof bytes_of);
	memset(bytes_of, 0x55, sizeof bytes_of);
	assert_int_equal(wide_snapshot_export(snap, bytes_of, n - 1), n);
	assert_int_equal(bytes_of[0], 0x55);
	assert_int_equal(wide_snapshot_export(snap, bytes_of, sizeof bytes_of), n);
	want = store_text(&s, snap, &fam, 1);
	assert_true(pipe(down) == 0 && pipe(up) == 0);
	pid = fork();
	if (pid == 0)
		_exit(other_process(&s, bytes_of, n, lsns, seen, 8, want, down[0], up[1]));
	close(up[1]);
	assert_int_equal(read(up[0], &c, 1), 1);
	wide_snapshot_release(snap);
	/* every version in the view is displaced, and compacted away unless the import protects it */
	s.oldest_external = 0;
	for (int i = 0; i < 7; i++)
	{
		char row[2] = {(char) ('a' + i), 0};

		store_put(&s, fam, row, "q", 1900000000000000, "newer");
	}
	assert_ok(wide_compact(s.db, fam));
	assert_int_equal(write(down[1], "g", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* no process holds it now: a late import is refused */
	assert_int_equal(wide_snapshot_import(s.db, bytes_of, n, &snap), WIDE_CONFLICT);
	assert_null(snap);
	free(want);
	close(down[0]);
	close(down[1]);
	close(up[0]);
	store_drop(&s);
}

/* Imports in the same process, and invalid bytes. */
static void
test_import_here(void **state)
{
	store s;
	wide_snapshot *a, *b;
	uint8_t bytes_of[128];
	size_t n;

	(void) state;
	begin(&s, 1);
	store_put(&s, fam, "a", "q", 1, "one");
	assert_ok(snapshot_take(s.db, NULL, NULL, &a));
	n = wide_snapshot_export(a, bytes_of, sizeof bytes_of);
	store_put(&s, fam, "a", "q", 2, "two");
	assert_ok(wide_snapshot_import(s.db, bytes_of, n, &b));
	assert_int_equal(wide_snapshot_lsn(b), wide_snapshot_lsn(a));
	wide_snapshot_release(a);
	assert_ok(wide_compact(s.db, fam));
	expect(&s, b, "0/a/q@1=one;");
	wide_snapshot_release(b);
	assert_ok(wide_compact(s.db, fam));
	assert_int_equal(wide_snapshot_import(s.db, bytes_of, n, &b), WIDE_CONFLICT);
	for (size_t i = 0; i < n; i++)
	{
		bytes_of[i] ^= 1;
		assert_int_equal(wide_snapshot_import(s.db, bytes_of, n, &b), WIDE_INVALID);
		bytes_of[i] ^= 1;
		assert_int_equal(wide_snapshot_import(s.db, bytes_of, i, &b), WIDE_INVALID);
	}
	store_drop(&s);
}

/*
 * An older snapshot of another process does not replace the exporter's:
 * versions between it and the newest state that no snapshot sees are removed,
 * and so are cells that have expired meanwhile.
 */
static void
test_import_between(void **state)
{
	wide_family_options opt;
	wide_batch *batch;
	store s;
	wide_host host;
	wide_db *other;
	wide_snapshot *old, *a, *b;
	uint8_t bytes_of[128];
	size_t n;

	(void) state;
	begin(&s, 1);
	host = s.db->host;
	assert_ok(wide_attach(s.base, s.dir, &host, &s.log, NULL, &other));
	store_put(&s, fam, "a", "q", 1, "one");
	assert_ok(snapshot_take(other, NULL, NULL, &old));
	store_put(&s, fam, "a", "q", 2, "two");
	assert_ok(snapshot_take(s.db, NULL, NULL, &a));
	n = wide_snapshot_export(a, bytes_of, sizeof bytes_of);
	store_put(&s, fam, "a", "q", 3, "three");
	/* from this process, which holds it */
	assert_ok(wide_snapshot_import(other, bytes_of, n, &b));
	wide_snapshot_release(a);
	assert_ok(wide_flush(s.db));
	assert_ok(wide_compact(s.db, fam));
	expect(&s, old, "0/a/q@1=one;");
	expect(&s, b, "0/a/q@2=two;");
	wide_snapshot_release(b);
	assert_ok(wide_compact(s.db, fam));
	expect(&s, old, "0/a/q@1=one;");
	assert_int_equal(wide_snapshot_import(s.db, bytes_of, n, &b), WIDE_CONFLICT);
	assert_int_equal(wide_snapshot_import(other, bytes_of, n, &b), WIDE_CONFLICT);
	wide_snapshot_release(old);

	/* no commit since, but a cell has expired */
	wide_family_defaults(&opt);
	opt.ttl_us = 1000000;
	assert_ok(wide_batch_new(s.db, &batch));
	assert_ok(wide_batch_alter_family(batch, fam, &opt));
	assert_ok(store_commit(&s, batch, NULL));
	store_put(&s, fam, "a", "q", s.now, "short");
	assert_ok(wide_flush(s.db));
	assert_ok(snapshot_take(s.db, NULL, NULL, &a));
	n = wide_snapshot_export(a, bytes_of, sizeof bytes_of);
	assert_ok(wide_snapshot_import(other, bytes_of, n, &b));
	wide_snapshot_release(b);
	wide_snapshot_release(a);
	s.now += 2000000;
	assert_ok(wide_compact(s.db, fam));
	assert_ok(snapshot_take(other, NULL, NULL, &old));
	assert_int_equal(wide_snapshot_import(s.db, bytes_of, n, &b), WIDE_CONFLICT);
	wide_snapshot_release(old);
	wide_detach(other);
	store_drop(&s);
}

/* ---------------------------------------------------------------- renewal */

static void
read_all(wide_scan *scan, buffer *out)
{
	wide_row row;
	wide_status st;

	out->len = 0;
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++)
		{
			assert_ok(buffer_append(out, row.key.data, row.key.len));
			assert_ok(buffer_append(out, &row.cells[i].ts, sizeof(int64_t)));
			assert_ok(buffer_append(out, row.cells[i].value.data, row.cells[i].value.len));
		}
	assert_int_equal(st, WIDE_END);
}

/* Makes a random change of the data, or only of where it is stored. */
static void
happen(store *s, uint64_t *r)
{
	wide_family_options opt;
	wide_batch *b;
	char row[16], value[3000];
	int what = (int) (rnd(r) % 16), n = what == 0 ? 120 : 1 + (int) (rnd(r) % 3);

	if (what == 1)
		assert_ok(wide_flush(s->db));
	else if (what == 2)
		assert_ok(wide_compact(s->db, fam));
	else if (what == 3)
		s->now += (int64_t) (rnd(r) % 2000000);
	else if (what == 4)
	{
		wide_family_defaults(&opt);
		opt.versions = 1 + (int) (rnd(r) % 3);
		opt.ttl_us = rnd(r) % 2 ? 3000000 : 0;
		assert_ok(wide_batch_new(s->db, &b));
		assert_ok(wide_batch_alter_family(b, fam, &opt));
		assert_ok(store_commit(s, b, NULL));
	}
	else if (what < 14)
	{
		assert_ok(wide_batch_new(s->db, &b));
		memset(value, 'v', sizeof value);
		for (int i = 0; i < n; i++)
		{
			snprintf(row, sizeof row, "r%02d", (int) (rnd(r) % 40));
			if (rnd(r) % 4 == 0)
				assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam, text(row), text("q"),
											WIDE_TS_MAX));
			else
			{
				snprintf(value, 20, "%llu", (unsigned long long) rnd(r));
				assert_ok(wide_batch_put(b, fam, text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
										 bytes(value, n > 100 ? sizeof value : 20)));
			}
		}
		assert_ok(store_commit(s, b, NULL));
		if (rnd(r) % 8 == 0)
			store_work(s);
	}
}

/* A scan restarted on its renewed snapshot reads what a new one reads. */
static void
test_renew(void **state)
{
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL, .max_versions = 3};
	buffer old = {0}, new = {0};
	uint64_t r = 11;
	int changed = 0;

	(void) state;
	for (int round = 0; round < 6; round++)
	{
		wide_scan_spec spec = {.families = &f,
							   .nfamilies = 1,
							   .ranges = &all,
							   .nranges = 1,
							   .reverse = round % 2 == 1};
		wide_snapshot *snap, *fresh;
		wide_scan *scan, *again;
		store s;

		begin(&s, 2);
		f.id = fam;
		assert_ok(wide_snapshot_latest(s.db, &snap));
		assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
		for (int i = 0; i < 250; i++)
		{
			uint64_t lsn = wide_snapshot_lsn(snap);

			happen(&s, &r);
			if (rnd(&r) % 6 == 0)
				wide_scan_park(scan);
			assert_ok(wide_snapshot_renew(snap));
			assert_ok(wide_scan_restart(scan, &all, 1, 0));
			read_all(scan, &old);
			assert_ok(wide_snapshot_latest(s.db, &fresh));
			assert_int_equal(wide_snapshot_lsn(fresh), wide_snapshot_lsn(snap));
			assert_ok(wide_scan_open(s.db, fresh, &spec, &again));
			read_all(again, &new);
			/* time moves on with the snapshot only */
			if (wide_snapshot_lsn(snap) != lsn)
			{
				assert_int_equal(old.len, new.len);
				if (old.len > 0)
					assert_memory_equal(old.data, new.data, old.len);
				changed++;
			}
			wide_scan_close(again);
			wide_snapshot_release(fresh);
		}
		wide_scan_close(scan);
		wide_snapshot_release(snap);
		store_drop(&s);
	}
	assert_true(changed > 600);
	buffer_free(&old);
	buffer_free(&new);
}

/*
 * A scan that is set aside and reused with any other snapshot (newer, older,
 * with exclusions), wherever it was stopped, reads what a new one reads.  Set
 * aside, it holds no pins.
 */
static void
test_set_aside(void **state)
{
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.want = WIDE_WANT_ALL, .max_versions = 3};
	buffer old = {0}, new = {0};
	uint64_t r = 12, xid = 1000;
	int excluding = 0, back = 0;

	(void) state;
	for (int round = 0; round < 6; round++)
	{
		wide_scan_spec spec = {.families = &f,
							   .nfamilies = 1,
							   .ranges = &all,
							   .nranges = 1,
							   .reverse = round % 2 == 1};
		wide_snapshot *first, *held = NULL;
		wide_scan *scan, *again;
		store s;

		begin(&s, 2);
		f.id = fam;
		assert_ok(snapshot_take(s.db, NULL, NULL, &first));
		assert_ok(wide_scan_open(s.db, first, &spec, &scan));
		assert_true(wide_scan_set_aside(scan));
		wide_snapshot_release(first);
		for (int i = 0; i < 200; i++)
		{
			wide_snapshot *snap;
			wide_row row;
			int n, use_held;

			happen(&s, &r);
			if (rnd(&r) % 4 == 0)
				put_external(&s, xid++, "m", "external");
			if (held == NULL)
				assert_ok(snapshot_take(s.db, odd_runs, NULL, &held));
			assert_ok(snapshot_take(s.db, rnd(&r) % 2 == 0 ? odd_runs : NULL, NULL, &snap));
			use_held = rnd(&r) % 4 == 0;
			back += use_held && wide_snapshot_lsn(held) < wide_snapshot_lsn(snap);
			(void) snapshot_excluded(use_held ? held : snap, &n);
			excluding += n > 0;
			assert_ok(wide_scan_reuse(scan, use_held ? held : snap, (uint64_t) (i % 10)));
			assert_ok(wide_scan_restart(scan, &all, 1, 0));
			read_all(scan, &old);
			assert_ok(wide_scan_open(s.db, use_held ? held : snap, &spec, &again));
			read_all(again, &new);
			assert_int_equal(old.len, new.len);
			if (old.len > 0)
				assert_memory_equal(old.data, new.data, old.len);
			wide_scan_close(again);
			/* stop at a random place */
			assert_ok(wide_scan_restart(scan, &all, 1, 0));
			for (n = rnd(&r) % 4; n > 0 && wide_scan_next(scan, &row) == WIDE_OK;)
				n--;
			assert_true(wide_scan_set_aside(scan));
			assert_int_equal(atomic_load(&s.db->slot->pin), 0);
			assert_int_equal(atomic_load(&s.db->slot->mem_pin), 0);
			assert_int_equal(cache_probe_pinned(s.db), 0);
			wide_snapshot_release(snap);
			if (rnd(&r) % 8 == 0)
			{
				wide_snapshot_release(held);
				held = NULL;
			}
		}
		wide_scan_close(scan);
		wide_snapshot_release(held);
		store_drop(&s);
	}
	assert_true(excluding > 100 && back > 100);
	buffer_free(&old);
	buffer_free(&new);
}

/* Versions that a renewed snapshot no longer sees may be removed, versions that it sees may not. */
static void
test_renew_keeps(void **state)
{
	store s;
	wide_snapshot *snap, *plain;
	uint64_t slot_before;

	(void) state;
	begin(&s, 1);
	store_put(&s, fam, "a", "q", 1, "one");
	assert_ok(wide_snapshot_latest(s.db, &snap));
	slot_before = atomic_load(&s.db->slot->snapshot);
	store_put(&s, fam, "a", "q", 2, "two");
	expect(&s, snap, "0/a/q@1=one;");
	assert_ok(wide_snapshot_renew(snap));
	assert_true(atomic_load(&s.db->slot->snapshot) > slot_before);
	expect(&s, snap, "0/a/q@2=two;");
	store_put(&s, fam, "a", "q", 3, "three");
	assert_ok(wide_compact(s.db, fam));
	expect(&s, snap, "0/a/q@2=two;");
	assert_ok(snapshot_take(s.db, NULL, NULL, &plain));
	assert_int_equal(wide_snapshot_renew(plain), WIDE_INVALID);
	wide_snapshot_release(plain);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* wide_snapshot_is_newest: nothing has been applied since, and nothing applied is excluded. */
static void
test_is_newest(void **state)
{
	store s;
	wide_snapshot *snap, *plain;

	(void) state;
	begin(&s, 1);
	store_put(&s, fam, "a", "q", 1, "one");
	assert_ok(snapshot_take(s.db, NULL, NULL, &plain));
	assert_ok(wide_snapshot_latest(s.db, &snap));
	assert_true(wide_snapshot_is_newest(plain));
	assert_true(wide_snapshot_is_newest(snap));
	assert_ok(wide_flush(s.db));
	assert_true(wide_snapshot_is_newest(plain));
	store_put(&s, fam, "b", "q", 1, "two");
	assert_false(wide_snapshot_is_newest(plain));
	assert_false(wide_snapshot_is_newest(snap));
	assert_ok(wide_snapshot_renew(snap));
	assert_true(wide_snapshot_is_newest(snap));
	wide_snapshot_release(snap);
	wide_snapshot_release(plain);
	/* as high as the newest, but without one in between */
	put_external(&s, 3, "a", "running");
	put_external(&s, 4, "c", "ended");
	assert_ok(wide_snapshot_latest(s.db, &snap));
	assert_ok(snapshot_take(s.db, odd_runs, NULL, &plain));
	assert_int_equal(wide_snapshot_lsn(plain), wide_snapshot_lsn(snap));
	assert_true(wide_snapshot_is_newest(snap));
	assert_false(wide_snapshot_is_newest(plain));
	wide_snapshot_release(snap);
	wide_snapshot_release(plain);
	store_drop(&s);
}

static uint64_t
cells_in_files(store *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->config.max_files; i++)
		if (layout_files(s->db)[i].in_use && layout_files(s->db)[i].removed_version == 0)
			n += layout_files(s->db)[i].meta.cells;
	return n;
}

static void
count_up(store *s, int from, int to)
{
	char value[16];

	for (int i = from; i <= to; i++)
	{
		snprintf(value, sizeof value, "%d", i);
		store_put(s, fam, "r", "n", WIDE_TS_AUTO, value);
	}
}

/* Checks the value of the only cell. */
static void
expect_count(store *s, const wide_snapshot *at, int want)
{
	char *got = store_text(s, at, &fam, 1), text[16];

	snprintf(text, sizeof text, "=%d", want);
	assert_non_null(strstr(got, text));
	assert_null(strchr(strstr(got, text) + 1, '='));
	free(got);
}

static wide_db *made_by;
static uint64_t last_meanwhile;

static int64_t
look_meanwhile(void *ctx)
{
	last_meanwhile = atomic_load(&made_by->slot->snapshot_last);
	return store_now(ctx);
}

/*
 * Old snapshots, in several processes, keep the value of a counter that they
 * see, but not the values between them.
 */
static void
test_between(void **state)
{
	store s;
	wide_host host;
	wide_db *other;
	wide_snapshot *a, *b, *c;

	(void) state;
	begin(&s, 1);
	host = s.db->host;
	assert_ok(wide_attach(s.base, s.dir, &host, &s.log, NULL, &other));
	count_up(&s, 1, 100);
	assert_ok(snapshot_take(s.db, NULL, NULL, &a));
	count_up(&s, 101, 200);
	assert_ok(snapshot_take(other, NULL, NULL, &b));
	count_up(&s, 201, 300);
	assert_ok(wide_flush(s.db));
	assert_int_equal(cells_in_files(&s), 3);
	count_up(&s, 301, 400);
	assert_ok(wide_flush(s.db));
	assert_ok(wide_compact(s.db, fam));
	assert_int_equal(cells_in_files(&s), 3);
	expect_count(&s, a, 100);
	expect_count(&s, b, 200);
	expect_count(&s, NULL, 400);

	/* two in one process: values between them stay, because there could be a third */
	assert_ok(snapshot_take(other, NULL, NULL, &c));
	count_up(&s, 401, 410);
	assert_ok(wide_flush(s.db));
	expect_count(&s, a, 100);
	expect_count(&s, b, 200);
	expect_count(&s, c, 400);
	expect_count(&s, NULL, 410);
	wide_snapshot_release(a);
	wide_snapshot_release(b);
	assert_ok(wide_compact(s.db, fam));
	expect_count(&s, c, 400);
	assert_int_equal(cells_in_files(&s), 2);
	wide_snapshot_release(c);
	assert_ok(wide_compact(s.db, fam));
	assert_int_equal(cells_in_files(&s), 1);
	expect_count(&s, NULL, 410);

	/* while a snapshot is being taken, nothing is removed that it might see */
	made_by = other;
	other->host.now = look_meanwhile;
	assert_ok(snapshot_take(other, NULL, NULL, &c));
	assert_true(last_meanwhile == UINT64_MAX);
	assert_true(atomic_load(&other->slot->snapshot_last) == wide_snapshot_lsn(c));
	wide_snapshot_release(c);
	atomic_store(&other->slot->snapshot_last, UINT64_MAX);
	atomic_store(&other->slot->snapshot, atomic_load(&s.db->seg->commit.visible_seq));
	count_up(&s, 411, 420);
	assert_ok(wide_flush(s.db));
	assert_int_equal(cells_in_files(&s), 11);
	atomic_store(&other->slot->snapshot, 0);
	wide_detach(other);
	store_drop(&s);
}

static void
expect_at(store *s, uint64_t ended, uint64_t next, const char *what)
{
	wide_moment at = {.running = odd_runs, .ended = ended, .next = next};
	wide_snapshot *snap;
	char *got;

	assert_ok(wide_snapshot_take_at(s->db, &at, &snap));
	got = store_text(s, snap, &fam, 1);
	/* ignore timestamps */
	for (char *p = strchr(got, '@'); p != NULL; p = strchr(got, '@'))
		memmove(p, strchr(p, '='), strlen(strchr(p, '=')) + 1);
	assert_string_equal(got, what);
	free(got);
	wide_snapshot_release(snap);
}

/*
 * An external transaction has ended since the caller's snapshot was taken:
 * batches finished after that may build on it and are excluded, except
 * external batches that the caller sees as ended.  Versions that the view
 * needs are not compacted away.
 */
static void
test_ended(void **state)
{
	const char *all = "0/a/q=second;0/b/q=after;0/c/q=third;0/e/q=v;";
	wide_moment at = {.running = odd_runs, .ended = 10};
	wide_snapshot *snap;
	store s;

	(void) state;
	begin(&s, 1);
	s.ended = 10;
	s.latest = 50;
	s.oldest_external = 51;
	store_put(&s, fam, "a", "q", 1, "first");
	expect_at(&s, 10, 51, "0/a/q=first;");
	/* the caller's snapshot is this one; now 51 ends */
	s.ended = 11;
	s.latest = 51;
	store_put(&s, fam, "a", "q", 1, "second");
	put_external(&s, 50, "e", "v");
	store_put(&s, fam, "b", "q", 1, "after");
	put_external(&s, 52, "c", "third");
	s.ended = 13;
	s.latest = 52;
	for (int i = 0; i < 3; i++)
	{
		/* 52 is even: regarded as ended, so its writes show */
		expect_at(&s, 10, 0, "0/a/q=first;0/c/q=third;0/e/q=v;");
		expect_at(&s, 0, 51, "0/a/q=first;0/c/q=third;0/e/q=v;");
		expect_at(&s, 11, 0, all);
		expect_at(&s, 13, 0, all);
		expect_at(&s, 0, 52, all);
		expect_at(&s, 0, 0, all);
		assert_ok(i == 0 ? wide_flush(s.db) : wide_compact(s.db, fam));
	}
	store_put(&s, fam, "a", "q", 1900000000000000, "fourth");
	s.ended = 14;
	s.latest = 53;
	put_external(&s, 53, "y", "running");
	put_external(&s, 54, "z", "z");
	for (int i = 0; i < 3; i++)
	{
		/* 53 runs; the batch before it was finished after 52 had ended */
		expect_at(&s, 11, 0, "0/a/q=second;0/b/q=after;0/c/q=third;0/e/q=v;0/z/q=z;");
		expect_at(&s, 13, 0, "0/a/q=fourth;0/b/q=after;0/c/q=third;0/e/q=v;0/z/q=z;");
		assert_ok(i == 0 ? wide_flush(s.db) : wide_compact(s.db, fam));
	}
	/* no snapshot is that old any more */
	s.oldest_external = 60;
	assert_ok(wide_compact(s.db, fam));
	for (int i = 0; i < ENDED_RING; i++)
	{
		s.ended++;
		store_put(&s, fam, "a", "q", 1900000000000001, "many");
	}
	assert_int_equal(wide_snapshot_take_at(s.db, &at, &snap), WIDE_CONFLICT);
	expect_at(&s, s.ended, 0, "0/a/q=many;0/b/q=after;0/c/q=third;0/e/q=v;0/y/q=running;0/z/q=z;");
	store_drop(&s);
}

/*
 * A snapshot older than all remembered external commits: some that it would
 * have to exclude or include are no longer known.
 */
static void
test_evicted(void **state)
{
	wide_moment at = {.running = odd_runs, .ended = 10};
	wide_snapshot *snap;
	store s;

	(void) state;
	begin(&s, 1);
	s.ended = 10;
	s.latest = 50;
	s.oldest_external = 51;
	store_put(&s, fam, "a", "q", 1, "first");
	s.ended = 11;
	s.latest = 51;
	/* running for the snapshot, and forgotten; the newest of the forgotten ones is not running */
	put_external(&s, 51, "b", "running");
	for (int i = 0; i < EXTERNAL_RING + 1; i++)
		put_external(&s, 52, "c", "ended");
	assert_int_equal(wide_snapshot_take_at(s.db, &at, &snap), WIDE_CONFLICT);
	at.ended = 11;
	assert_ok(wide_snapshot_take_at(s.db, &at, &snap));
	wide_snapshot_release(snap);
	/* forgotten, and so old that the host cannot distinguish its number from a new one */
	for (int i = 0; i < EXTERNAL_RING + 1; i++)
		put_external(&s, 53, "c", "running");
	at.ended = 0;
	assert_int_equal(wide_snapshot_take_at(s.db, &at, &snap), WIDE_CONFLICT);
	s.oldest_external = 60;
	put_external(&s, 60, "c", "ended");
	assert_ok(wide_snapshot_take_at(s.db, &at, &snap));
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* Reads r:n at the snapshot; *passed: the number of cells scanned. */
static void
read_count(store *s, wide_snapshot *at, bool reverse, char *value, size_t size, uint64_t *passed)
{
	wide_scan_family f = {.id = fam, .want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {
		.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1, .reverse = reverse};
	wide_scan_stats stats;
	wide_scan *scan;
	wide_row row;

	assert_ok(wide_scan_open(s->db, at, &spec, &scan));
	assert_ok(wide_scan_next(scan, &row));
	assert_int_equal(row.ncells, 1);
	snprintf(value, size, "%.*s", (int) row.cells[0].value.len, row.cells[0].value.data);
	assert_int_equal(wide_scan_next(scan, &row), WIDE_END);
	wide_scan_statistics(scan, &stats);
	*passed = stats.cells_scanned;
	wide_scan_close(scan);
}

/*
 * An old snapshot finds its version of a counter without scanning all newer
 * ones, also if timestamps are ahead.
 */
static void
test_unseen(void **state)
{
	store s;
	wide_snapshot *a, *b, *c;
	char value[16];
	uint64_t passed;

	(void) state;
	begin(&s, 3);
	count_up(&s, 1, 100);
	assert_ok(snapshot_take(s.db, NULL, NULL, &a));
	count_up(&s, 101, 400);
	for (int reverse = 0; reverse < 2; reverse++)
	{
		read_count(&s, a, reverse, value, sizeof value, &passed);
		assert_string_equal(value, "100");
		assert_true(passed < 60);
	}
	/* ahead of its commit, and soon no longer the newest */
	store_put(&s, fam, "r", "n", s.now + 1000000, "ahead");
	assert_ok(snapshot_take(s.db, NULL, NULL, &b));
	s.now += 2000000;
	count_up(&s, 401, 500);
	read_count(&s, a, false, value, sizeof value, &passed);
	assert_string_equal(value, "100");
	read_count(&s, b, false, value, sizeof value, &passed);
	assert_string_equal(value, "ahead");
	assert_ok(wide_snapshot_latest(s.db, &c));
	read_count(&s, c, false, value, sizeof value, &passed);
	assert_string_equal(value, "500");
	wide_snapshot_release(a);
	wide_snapshot_release(b);
	wide_snapshot_release(c);
	store_drop(&s);
}

/* A snapshot shared under a key is found by that key while it lives. */
static void
test_share(void **state)
{
	wide_snapshot *one, *two, *found;
	store s;

	(void) state;
	begin(&s, 1);
	store_put(&s, fam, "a", "q", 1, "one");
	assert_int_equal(wide_snapshot_find(s.db, 77, &found), WIDE_NOTFOUND);
	assert_ok(snapshot_take(s.db, NULL, NULL, &one));
	assert_ok(wide_snapshot_share(one, 77));
	store_put(&s, fam, "b", "q", 1, "two");
	assert_ok(snapshot_take(s.db, NULL, NULL, &two));
	assert_int_equal(wide_snapshot_find(s.db, 78, &found), WIDE_NOTFOUND);
	assert_ok(wide_snapshot_find(s.db, 77, &found));
	assert_int_equal(wide_snapshot_lsn(found), wide_snapshot_lsn(one));
	wide_snapshot_release(found);
	/* releasing the snapshot found withdraws nothing */
	assert_ok(wide_snapshot_find(s.db, 77, &found));
	wide_snapshot_release(found);
	/* a later one takes its place; releasing the first one then has no effect */
	assert_ok(wide_snapshot_share(two, 78));
	wide_snapshot_release(one);
	assert_int_equal(wide_snapshot_find(s.db, 77, &found), WIDE_NOTFOUND);
	assert_ok(wide_snapshot_find(s.db, 78, &found));
	wide_snapshot_release(found);
	wide_snapshot_release(two);
	assert_int_equal(wide_snapshot_find(s.db, 78, &found), WIDE_NOTFOUND);
	/* the process that had the slot before died while it changed its offer */
	atomic_fetch_add(&s.db->slot->share_serial, 1);
	assert_ok(snapshot_take(s.db, NULL, NULL, &one));
	assert_ok(wide_snapshot_share(one, 79));
	assert_ok(wide_snapshot_find(s.db, 79, &found));
	wide_snapshot_release(found);
	wide_snapshot_release(one);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_export),		   cmocka_unit_test(test_import_here),
		cmocka_unit_test(test_import_between), cmocka_unit_test(test_renew),
		cmocka_unit_test(test_set_aside),	   cmocka_unit_test(test_renew_keeps),
		cmocka_unit_test(test_is_newest),	   cmocka_unit_test(test_between),
		cmocka_unit_test(test_ended),		   cmocka_unit_test(test_share),
		cmocka_unit_test(test_evicted),		   cmocka_unit_test(test_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
