/*
 * forged_test.c - forgeable log records: which count, and that none of them keeps a
 * store closed.
 *
 * The file log has no forgeable records.  Here its replay is changed: it reports the
 * records before `sealed_at` as forgeable, the seal there, and others' records behind
 * each of the real ones.
 */
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/hash.h"
#include "engine/base/key.h"
#include "engine/shared/layout.h"
#include "engine/set/edit.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/payload.h"

static wide_status (*real_replay)(void *ctx, uint64_t from, wide_replay_fn fn, void *arg);

static struct
{
	uint64_t sealed_at; /* position of the seal; 0: the log never had the older form */
	bool seen;			/* the seal was reported */
	wide_replay_fn fn;
	void *arg;
	/* adds others' records behind the one that was reported; may be NULL */
	wide_status (*others)(const wide_replay_event *real);
	uint64_t xid;  /* of others' records */
	bool genuine;  /* others' records are not reported as forgeable */
	int forgeable; /* number of forgeable records that were reported */
} mix;

static wide_status
report_seal(uint64_t at)
{
	wide_replay_event ev = {.kind = WIDE_REPLAY_SEALED, .start = at, .lsn = at};

	if (mix.seen || mix.sealed_at == 0)
		return WIDE_OK;
	mix.seen = true;
	return mix.fn(mix.arg, &ev);
}

/* Reports another's record at the place of a real one. */
static wide_status
other(const wide_replay_event *real, wide_bytes payload)
{
	wide_replay_event ev = {.kind = WIDE_REPLAY_RECORD,
							.start = real->start,
							.lsn = real->lsn,
							.xid = mix.xid,
							.forgeable = !mix.genuine,
							.payload = payload};

	mix.forgeable++;
	return mix.fn(mix.arg, &ev);
}

static wide_status
mixed_event(void *arg, const wide_replay_event *real)
{
	wide_replay_event ev = *real;

	if (ev.start >= mix.sealed_at)
	{
		wide_status st = report_seal(mix.sealed_at);

		if (st != WIDE_OK)
			return st;
	}
	ev.forgeable = ev.kind == WIDE_REPLAY_RECORD && ev.start < mix.sealed_at;
	if (mix.others != NULL && ev.kind == WIDE_REPLAY_RECORD)
	{
		wide_status st = mix.fn(mix.arg, &ev);

		return st == WIDE_OK ? mix.others(&ev) : st;
	}
	return mix.fn(mix.arg, &ev);
}

static wide_status
mixed_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	wide_db *db = arg;
	wide_status st;

	mix.fn = fn;
	mix.arg = arg;
	mix.seen = false;
	st = real_replay(ctx, from, mixed_event, NULL);
	if (st == WIDE_OK && mix.sealed_at <= db->log.end(ctx) && mix.sealed_at >= from)
		st = report_seal(mix.sealed_at);
	return st;
}

static void
mixing(wide_log *log)
{
	real_replay = log->replay;
	log->replay = mixed_replay;
}

static void
store_make(store *s, wide_family_id *f)
{
	wide_family_options opt;
	wide_table_id t;

	memset(&mix, 0, sizeof mix);
	store_init(s);
	s->opening = mixing;
	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	opt.versions = 5;
	store_table(s, &opt, 1, &t, f);
}

/* What was reported of ignored records: "ignored N log records". */
static void
assert_ignored(store *s, int n)
{
	char text[60];

	snprintf(text, sizeof text, "ignored %d log records that were not written by the store", n);
	assert_int_equal(s->reports, n > 0);
	if (n > 0)
		assert_memory_equal(s->report, text, strlen(text));
	s->reports = 0;
}

static void
assert_text(store *s, wide_family_id f, const char *want)
{
	char *got = store_text(s, NULL, &f, 1);

	assert_string_equal(got, want);
	free(got);
	assert_int_equal(store_verify(s), 0);
}

/* ---------------------------------------------------------- others' records */

/* The real record, with 'v' in its cells' values changed into 'f', in its first bytes as well. */
static wide_status
altered(const wide_replay_event *real)
{
	buffer b = {0};
	wide_status st;

	assert_ok(buffer_append(&b, real->payload.data, real->payload.len));
	for (size_t i = 16; i < b.len; i++)
		b.data[i] = b.data[i] == 'v' ? 'f' : b.data[i];
	st = other(real, (wide_bytes) {b.data, b.len});
	if (st == WIDE_OK)
		st = other(real, real->payload);
	buffer_free(&b);
	return st;
}

/* Records that make no sense, in every way. */
static wide_status
senseless(const wide_replay_event *real)
{
	uint8_t r[64] = {0};
	wide_status st = other(real, (wide_bytes) {NULL, 0});

	for (uint8_t kind = 0; kind < 7 && st == WIDE_OK; kind++)
		for (size_t len = 1; len <= sizeof r && st == WIDE_OK; len++)
		{
			memset(r, 0xee, sizeof r);
			r[0] = kind;
			r[1] = RECORD_FORMAT;
			/* a DATA record with a number above 0 continues nothing: that is no damage */
			if (kind == RECORD_DATA)
				continue;
			st = other(real, (wide_bytes) {r, len});
		}
	return st;
}

/* ------------------------------------------------------------------- tests */

/* A store that was made by this release takes no forgeable record. */
static void
test_made_sealed(void **state)
{
	store s;
	wide_family_id f;

	store_make(&s, &f);
	assert_true(wide_replay_sealed(s.db));
	store_put(&s, f, "a", "q", 1, "v1");
	store_put(&s, f, "a", "q", 2, "v2");
	for (int i = 0; i < 4; i++)
	{
		store_close(&s);
		mix.others = i % 2 == 0 ? altered : senseless;
		mix.forgeable = 0;
		mix.xid = i < 2 ? 0 : 77;
		assert_ok(store_open(&s));
		assert_true(mix.forgeable > 0);
		assert_ignored(&s, mix.forgeable);
		assert_text(&s, f, "0/a/q@2=v2;0/a/q@1=v1;");
	}
	mix.others = NULL;
	store_put(&s, f, "b", "q", 1, "v3");
	assert_ok(wide_flush(s.db));
	store_close(&s);
	assert_ok(store_open(&s));
	assert_ignored(&s, 0);
	assert_true(wide_replay_sealed(s.db));
	assert_text(&s, f, "0/a/q@2=v2;0/a/q@1=v1;0/b/q@1=v3;");
	store_drop(&s);
}

/* Makes the store one of the first release: a manifest of format 1, without the seal. */
static void
make_old(store *s)
{
	char path[200];
	uint8_t head[32];
	FILE *h;

	s->db->seg->set.sealed_lsn = 0;
	s->db->seg->set.manifest_size = UINT64_MAX;
	assert_ok(edit_apply(s->db, &(version_edit) {.memtable = -1}));
	snprintf(path, sizeof path, "%s/manifest-%08llx", s->dir,
			 (unsigned long long) s->db->seg->set.manifest_number);
	h = fopen(path, "r+");
	assert_non_null(h);
	assert_int_equal(fread(head, 1, sizeof head, h), sizeof head);
	assert_int_equal(get_u32le(head + 8), 3);
	put_u32le(head + 8, 1);
	put_u64le(head + 24, hash_xxh3(head, 24, 0x6d616e6966657374ull));
	rewind(h);
	assert_int_equal(fwrite(head, 1, sizeof head, h), sizeof head);
	fclose(h);
	mix.sealed_at = s->db->log.end(s->db->log.ctx);
}

/* A store of the first release keeps what it has, and what its log has, up to the seal. */
static void
test_first_form(void **state)
{
	store s;
	wide_family_id f;
	wide_batch *b;
	const char *want = "0/a/q@1=v1;0/b/q@1=v2;0/c/q@1=v3;0/d/q@1=v4;";

	store_make(&s, &f);
	store_put(&s, f, "a", "q", 1, "v1");
	assert_ok(wide_flush(s.db));
	store_put(&s, f, "b", "q", 1, "v2");
	/* committed, not finished */
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_put(b, f, text("c"), text("q"), 1, INT64_MIN, 0, text("v3")));
	file_log_set_xid(&s.log, 100);
	assert_ok(wide_batch_prepare(b, 100));
	assert_ok(file_log_decide(&s.log, 100, true));
	store_put(&s, f, "d", "q", 1, "v4");
	make_old(&s);
	b->phase = BATCH_FINISHED;
	wide_batch_free(b);
	for (int i = 0; i < 5; i++)
	{
		store_close(&s);
		mix.others = i < 4 ? senseless : altered;
		mix.forgeable = 0;
		assert_ok(store_open(&s));
		assert_int_equal(s.db->seg->set.sealed_lsn, mix.sealed_at);
		assert_ignored(&s, mix.forgeable);
		assert_text(&s, f, want);
		if (i == 1)
		{
			/* behind the seal */
			store_put(&s, f, "e", "q", 1, "v5");
			want = "0/a/q@1=v1;0/b/q@1=v2;0/c/q@1=v3;0/d/q@1=v4;0/e/q@1=v5;";
		}
		else if (i == 3)
		{
			/* replay now begins behind the seal, which the manifest has */
			assert_ok(wide_flush(s.db));
			store_put(&s, f, "f", "q", 1, "v6");
			want = "0/a/q@1=v1;0/b/q@1=v2;0/c/q@1=v3;0/d/q@1=v4;0/e/q@1=v5;0/f/q@1=v6;";
		}
	}
	store_drop(&s);
}

/* A log that is followed (a standby) is sealed where the seal, or the first record of the present
 * form, is met. */
static void
test_follows(void **state)
{
	store s;
	wide_family_id f;

	store_make(&s, &f);
	store_put(&s, f, "a", "q", 1, "v1");
	make_old(&s);
	store_put(&s, f, "b", "q", 1, "v2");
	store_put(&s, f, "c", "q", 1, "v3");
	store_close(&s);
	mix.others = senseless;
	assert_ok(store_open(&s));
	assert_int_equal(s.db->seg->set.sealed_lsn, mix.sealed_at);
	assert_ignored(&s, mix.forgeable);
	assert_text(&s, f, "0/a/q@1=v1;0/b/q@1=v2;0/c/q@1=v3;");
	store_drop(&s);
}

/* ------------------------------------------------------------ random damage */

static uint64_t seed;

/* The real record with some bytes changed, or cut. */
static wide_status
damaged_copy(const wide_replay_event *real)
{
	buffer b = {0};
	wide_status st;

	assert_ok(buffer_append(&b, real->payload.data, real->payload.len));
	for (uint64_t i = rnd(&seed) % 4; i > 0 && b.len > 0; i--)
	{
		uint64_t at = rnd(&seed) % b.len;

		b.data[at] = rnd(&seed) % 2 ? (uint8_t) rnd(&seed) : b.data[at] ^ 1 << rnd(&seed) % 8;
	}
	if (rnd(&seed) % 4 == 0)
		b.len = rnd(&seed) % (b.len + 1);
	st = other(real, (wide_bytes) {b.data, b.len});
	buffer_free(&b);
	return st;
}

/*
 * Copies of records with random damage.  As forgeable records they never keep the store closed, and
 * what is there can be read.  As records of the store they may do both, but no more.
 */
static void
test_damaged_copies(void **state)
{
	store s;
	wide_family_id f;
	wide_batch *b;
	char key[8];

	store_make(&s, &f);
	for (int i = 0; i < 20; i++)
	{
		snprintf(key, sizeof key, "k%d", i);
		store_put(&s, f, key, "q", i % 3 == 0 ? WIDE_TS_AUTO : i, "value");
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_delete(b, i % 4, f, text(key), text("q"), i));
		assert_ok(wide_batch_put(b, f, text("counter"), text("q"), WIDE_TS_AUTO, 5, 7, text("n")));
		file_log_set_xid(&s.log, 100 + (uint64_t) i);
		assert_ok(wide_batch_prepare(b, 100 + (uint64_t) i));
		assert_ok(file_log_decide(&s.log, 100 + (uint64_t) i, i % 2 == 0));
		b->phase = BATCH_FINISHED;
		wide_batch_free(b);
	}
	make_old(&s);
	store_close(&s);
	mix.others = damaged_copy;
	for (int i = 0; i < 200; i++)
	{
		char dir[sizeof s.dir], command[200];
		wide_status st;

		seed = (uint64_t) i + 1;
		mix.xid = i % 4 < 2 ? 100 : 0;
		mix.genuine = i % 2 == 0;
		/* what is applied stays: each round begins with the same store */
		strcpy(dir, s.dir);
		snprintf(command, sizeof command, "cp -r %s %s.round", dir, dir);
		assert_int_equal(system(command), 0);
		strcat(s.dir, ".round");
		st = store_open(&s);
		/* a change of the catalog that can be decoded may still be impossible */
		if (st != WIDE_OK && st != WIDE_POISONED && !mix.genuine)
			fail_msg("round %d: %d, %s", i, st, wide_error_text());
		if (st == WIDE_OK)
		{
			buffer read = {0};

			st = store_read(&s, NULL, &f, 1, &read);
			assert_true(st == WIDE_OK || mix.genuine);
			(void) wide_flush(s.db);
			buffer_free(&read);
			store_close(&s);
		}
		snprintf(command, sizeof command, "rm -r %s.round", dir);
		assert_int_equal(system(command), 0);
		strcpy(s.dir, dir);
	}
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_sealed),
		cmocka_unit_test(test_first_form),
		cmocka_unit_test(test_follows),
		cmocka_unit_test(test_damaged_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
