/*
 * batch_test.c - transactions: savepoints, automatic timestamps, log records,
 * aborts, and many processes at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include "test/host/os_fault.h"
#include "test/host/threads.h"
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/helper.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_merge.h"
#include "engine/batch/payload.h"
#include "engine/scan/scan_state.h"
/* the .c files, for what is in their structs */
#include "engine/batch/spill.c"
#include "engine/batch/spill_file.c"

static wide_family_id fam[2];
static wide_table_id table;

/* Returns the bytes of memory that a batch has. */
static size_t
memory_of(const wide_batch *b)
{
	size_t n = sizeof(*b) + (size_t) b->ops.undone.cap * sizeof(op_interval) +
			   b->prepared.payload.cap + b->row.ukey.cap + b->row.row.cap;

	for (int i = 0; i < b->spill.nfiles; i++)
	{
		const spill_file *f = b->spill.files[i].file;

		n += sizeof(*f) + (size_t) f->places_cap * sizeof(place) + f->keys.cap + f->filter.cap;
	}
	for (const spill_job *p = b->spill.jobs; p != NULL; p = p->next)
		n += p->list->end;
	for (int i = 0; i < b->spill.nspare; i++)
		n += b->spill.spare[i]->touched;
	return b->ops.list == NULL ? n : n + b->ops.list->end;
}

/* Returns the bytes of its temporary files. */
static uint64_t
spilled_bytes(const wide_batch *b)
{
	uint64_t n = 0;

	for (int i = 0; i < b->spill.nfiles; i++)
		n += spill_file_bytes(b->spill.files[i].file);
	return n;
}

static void
begin(store *s, int versions)
{
	wide_family_options opt;

	store_init(s);
	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	opt.versions = versions;
	store_table(s, &opt, 2, &table, fam);
}

static void
put(wide_batch *b, const char *row, const char *q, int64_t ts, int64_t floor, const char *value)
{
	assert_ok(wide_batch_put(b, fam[0], text(row), text(q), ts, floor, 0, text(value)));
}

static void
expect(store *s, const char *what)
{
	char *got = store_text(s, NULL, fam, 2);

	assert_string_equal(got, what);
	free(got);
}

static void
expect_first(store *s, const char *what)
{
	char *got = store_text(s, NULL, fam, 1);

	assert_string_equal(got, what);
	free(got);
}

/* Checks what a scan shows of the batch itself, as of the mark. */
static void
expect_own(store *s, wide_batch *b, uint64_t mark, const char *what)
{
	wide_scan_family f = {.id = fam[0], .want = WIDE_WANT_ALL, .max_versions = 9};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {
		.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1, .own = b, .own_mark = mark};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	char got[1000] = "";

	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++)
			snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s/%.*s=%.*s;",
					 (int) row.key.len, row.key.data, (int) row.cells[i].qualifier.len,
					 row.cells[i].qualifier.data, (int) row.cells[i].value.len,
					 row.cells[i].value.data);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	assert_string_equal(got, what);
}

static void
test_marks(void **state)
{
	store s;
	wide_batch *b;
	uint64_t m1, m2;

	(void) state;
	begin(&s, 3);
	store_put(&s, fam[0], "r", "q", 1, "old");
	assert_ok(wide_batch_new(s.db, &b));
	assert_true(wide_batch_empty(b));
	put(b, "r", "q", 2, INT64_MIN, "one");
	m1 = wide_batch_mark(b);
	assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, fam[0], text("r"), text(""), WIDE_TS_MAX));
	m2 = wide_batch_mark(b);
	assert_true(m2 > m1);
	put(b, "r", "q", 1, INT64_MIN, "two");
	expect_own(&s, b, 0, "r/q=old;");
	expect_own(&s, b, m1, "r/q=one;r/q=old;");
	expect_own(&s, b, m2, "");
	expect_own(&s, b, wide_batch_mark(b), "r/q=two;");
	wide_batch_rewind(b, m1);
	expect_own(&s, b, wide_batch_mark(b), "r/q=one;r/q=old;");
	assert_true(wide_batch_mark(b) >= m2);
	put(b, "r", "q", 3, INT64_MIN, "three");
	expect_own(&s, b, wide_batch_mark(b), "r/q=three;r/q=one;r/q=old;");
	wide_batch_rewind(b, 0);
	assert_true(wide_batch_empty(b));
	put(b, "r", "p", 3, INT64_MIN, "four");
	assert_ok(store_commit(&s, b, NULL));
	expect(&s, "0/r/p@3=four;0/r/q@1=old;");
	store_drop(&s);
}

/* Appends the position of an operation on a row to a string. */
static bool
note_position(void *arg, uint64_t position)
{
	char *s = arg;

	sprintf(s + strlen(s), "%d;", (int) position);
	return true;
}

static void
expect_each(wide_batch *b, const char *row, const char *q, uint64_t since, const char *what)
{
	wide_bytes column = text(q != NULL ? q : "");
	char got[1000] = "";

	assert_ok(wide_batch_each(b, fam[0], text(row), q != NULL ? &column : NULL, since,
							  note_position, got));
	assert_string_equal(got, what);
}

/*
 * The operations of a batch on a row: keys with the same prefix and undone
 * operations do not count.
 */
static void
test_each(void **state)
{
	store s;
	wide_batch *b;

	(void) state;
	begin(&s, 3);
	assert_ok(wide_batch_new(s.db, &b));
	expect_each(b, "r", NULL, 0, "");
	put(b, "r", "q", 2, INT64_MIN, "0");
	put(b, "rr", "q", 2, INT64_MIN, "1");
	put(b, "q", "r", 2, INT64_MIN, "2");
	put(b, "r", "qq", 2, INT64_MIN, "3");
	put(b, "r", "", 2, INT64_MIN, "4");
	assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, fam[0], text("r"), text(""), WIDE_TS_MAX));
	assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam[0], text("r"), text("q"), WIDE_TS_MAX));
	assert_ok(wide_batch_put(b, fam[1], text("r"), text("q"), 2, INT64_MIN, 0, text("7")));
	expect_each(b, "r", NULL, 0, "5;4;6;0;3;");
	expect_each(b, "r", NULL, 4, "5;4;6;");
	expect_each(b, "r", "q", 0, "5;6;0;");
	expect_each(b, "r", "", 0, "5;4;");
	expect_each(b, "r", "none", 6, "");
	expect_each(b, "rr", NULL, 0, "1;");
	wide_batch_rewind(b, 6);
	expect_each(b, "r", "q", 0, "5;0;");
	wide_batch_free(b);
	store_drop(&s);
}

static void
test_automatic(void **state)
{
	store s;
	wide_batch *b;
	char want[500];
	int64_t t;

	(void) state;
	begin(&s, 9);
	t = s.now;
	/* of several automatic puts the last one counts; explicit ones next to it stay */
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "r", "q", WIDE_TS_AUTO, INT64_MIN, "a");
	put(b, "r", "q", WIDE_TS_AUTO, t + 50, "b");
	put(b, "r", "q", 5, INT64_MIN, "explicit");
	put(b, "r", "q", WIDE_TS_AUTO, INT64_MIN, "c");
	expect_own(&s, b, 2, "r/q=b;");
	expect_own(&s, b, wide_batch_mark(b), "r/q=c;r/q=explicit;");
	assert_ok(store_commit(&s, b, NULL));
	snprintf(want, sizeof want, "0/r/q@%lld=c;0/r/q@5=explicit;", (long long) t);
	expect(&s, want);
	/* the host's clock goes back, timestamps do not */
	s.now -= 1000;
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "s", "q", WIDE_TS_AUTO, INT64_MIN, "d");
	put(b, "s", "p", WIDE_TS_AUTO, t + 77, "e");
	/* the same timestamp as an automatic put: they must not coincide */
	put(b, "s", "q", t + 1, INT64_MIN, "f");
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "u", "q", WIDE_TS_AUTO, INT64_MIN, "g");
	/* at the end of time: the version seen is replaced, also more than once */
	put(b, "u", "y", INT64_MAX, INT64_MIN, "h");
	put(b, "u", "z", INT64_MAX - 1, INT64_MIN, "i");
	put(b, "u", "z", WIDE_TS_AUTO, INT64_MAX - 1, "j");
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "u", "y", WIDE_TS_AUTO, INT64_MAX, "k");
	put(b, "u", "y", WIDE_TS_AUTO, INT64_MAX, "l");
	put(b, "u", "z", WIDE_TS_AUTO, INT64_MAX - 1, "m");
	assert_ok(store_commit(&s, b, NULL));
	snprintf(want, sizeof want,
			 "0/r/q@%lld=c;0/r/q@5=explicit;0/s/p@%lld=e;0/s/q@%lld=d;0/s/q@%lld=f;0/u/q@%lld=g;"
			 "0/u/y@9223372036854775807=l;0/u/z@9223372036854775806=m;",
			 (long long) t, (long long) t + 78, (long long) t + 2, (long long) t + 1,
			 (long long) t + 3);
	expect(&s, want);
	/* recovery from the log gives the same */
	store_close(&s);
	assert_ok(store_open(&s));
	expect(&s, want);
	assert_true(s.db->seg->commit.last_ts == t + 3);
	store_drop(&s);
}

static void
test_normalised(void **state)
{
	store s;
	wide_batch *b;

	(void) state;
	begin(&s, 9);
	store_put(&s, fam[0], "r", "q", 10, "old");
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "r", "q", 10, INT64_MIN, "gone");
	put(b, "r", "q", 30, INT64_MIN, "stays");
	assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam[0], text("r"), text("q"), 20));
	assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam[0], text("r"), text("q"), 20));
	put(b, "r", "q", 10, INT64_MIN, "again");
	put(b, "r", "q", 10, INT64_MIN, "and again");
	assert_ok(wide_batch_prepare(b, 0));
	assert_int_equal(b->prepared.cells, 3);
	assert_int_equal(wide_batch_put(b, fam[0], text("r"), text("q"), 1, 0, 0, text("")),
					 WIDE_INVALID);
	wide_batch_free(b);
	expect(&s, "0/r/q@10=old;");
	store_drop(&s);
}

/* Reservations, files and the slot of a prepared batch are released in every case. */
static void
test_abort(void **state)
{
	store s;
	wide_batch *b;
	char big[2000];
	uint64_t lsn;
	int files;

	(void) state;
	memset(big, 'x', sizeof big);
	begin(&s, 1);
	files = test_dir_count(s.dir);
	for (int external = 0; external < 2; external++)
		for (int n = 1; n <= 200; n += 199)
		{
			assert_ok(wide_batch_new(s.db, &b));
			for (int i = 0; i < n; i++)
			{
				char row[16];

				snprintf(row, sizeof row, "row%d", i);
				assert_ok(wide_batch_put(b, fam[0], text(row), text("q"), 1, 0, 0,
										 bytes(big, sizeof big)));
			}
			file_log_set_xid(&s.log, external ? 55 : 0);
			assert_ok(wide_batch_prepare(b, external ? 55 : 0));
			assert_int_equal(b->prepared.nfiles > 0, n == 200);
			assert_int_equal(atomic_load(&s.db->slot->external), external ? 55 : 0);
			/* the log also has the bytes of the files, in case a finish follows */
			assert_int_equal(atomic_load(&s.db->slot->prepare_lsn) != 0, external || n == 200);
			if (external)
				assert_ok(file_log_decide(&s.log, 55, false));
			wide_batch_free(b);
			assert_int_equal(s.db->seg->commit.reserved, 0);
			assert_int_equal(s.db->seg->set.reserved_files, 0);
			assert_int_equal(atomic_load(&s.db->slot->external), 0);
			assert_int_equal(atomic_load(&s.db->slot->prepare_lsn), 0);
			assert_int_equal(test_dir_count(s.dir), files);
		}
	/* an empty batch writes no log record */
	lsn = s.log.end(s.log.ctx);
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "r", "q", 1, INT64_MIN, "x");
	wide_batch_rewind(b, 0);
	assert_ok(store_commit(&s, b, NULL));
	assert_true(s.log.end(s.log.ctx) == lsn);
	store_close(&s);
	assert_ok(store_open(&s));
	expect(&s, "");
	store_drop(&s);
}

/* The cells of a large batch are all in a family that it has made and dropped: it writes no file,
 * and verify still judges the directory afterwards. */
static void
test_large_without_files(void **state)
{
	store s;
	wide_batch *b;
	wide_family_options opt;
	wide_family_id f;
	char big[2000], path[200];
	int fd;

	(void) state;
	memset(big, 'x', sizeof big);
	begin(&s, 1);
	wide_family_defaults(&opt);
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_family(b, table, "short", &opt, &f));
	for (int i = 0; i < 200; i++)
	{
		char row[16];

		snprintf(row, sizeof row, "row%d", i);
		assert_ok(wide_batch_put(b, f, text(row), text("q"), 1, 0, 0, bytes(big, sizeof big)));
	}
	assert_ok(wide_batch_drop_family(b, f));
	assert_ok(store_commit(&s, b, NULL));
	assert_int_equal(store_verify(&s), 0);
	snprintf(path, sizeof path, "%s/0000ffff.sst", s.dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(store_verify(&s), 1);
	expect(&s, "");
	store_drop(&s);
}

/* Puts rows from..to in a shuffled order, with values that contain the round. */
static wide_status
fill(wide_batch *b, int from, int to, int round)
{
	for (int i = from; i < to; i++)
	{
		char row[16], value[300];

		snprintf(row, sizeof row, "r%04d", i * 37 % 1000);
		memset(value, 'a' + round, sizeof value);
		value[snprintf(value, sizeof value, "%d.%d", i, round)] = ' ';
		TRY(wide_batch_put(b, fam[i % 2], text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
						   bytes(value, sizeof value)));
	}
	return WIDE_OK;
}

/* Returns what the batch shows of itself as of a mark, as text. */
static char *
own_text(store *s, wide_batch *b, uint64_t mark, bool reverse)
{
	wide_scan_family f[2] = {{.id = fam[0], .want = WIDE_WANT_ALL, .max_versions = 9},
							 {.id = fam[1], .want = WIDE_WANT_ALL, .max_versions = 9}};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {.families = f,
						   .nfamilies = 2,
						   .ranges = &all,
						   .nranges = 1,
						   .own = b,
						   .own_mark = mark,
						   .reverse = reverse};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	buffer out = {0};
	wide_status st;

	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++)
		{
			assert_ok(buffer_append(&out, row.key.data, row.key.len));
			assert_ok(buffer_append(&out, "=", 1));
			assert_ok(buffer_append(&out, row.cells[i].value.data, 8));
		}
	assert_int_equal(st, WIDE_END);
	assert_ok(buffer_append(&out, "", 1));
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	return (char *) out.data;
}

/*
 * The same writes in much memory, in little, and in pieces with and without a
 * helper thread must give the same answers.
 */
static void
test_spilled(void **state)
{
	static const size_t memory[] = {64 << 20, 20000, 4 * 128 * 1024, 4 * 128 * 1024};

	enum
	{
		WAYS = 4
	};

	char *texts[WAYS][12];
	int n[WAYS] = {0};

	(void) state;
	for (int way = 0; way < WAYS; way++)
	{
		uint64_t threads = threads_started;
		store s;
		wide_batch *b;
		uint64_t marks[4];

		threads_refused = way == 3;
		begin(&s, 3);
		/* a batch of half a memtable becomes files: pieces are not smaller */
		assert_int_equal(s.db->seg->memtables[0].capacity / 2 <= 128 * 1024, 1);
		spill_piece_least = 1000;
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, memory[way]);
		marks[0] = wide_batch_mark(b);
		assert_ok(fill(b, 0, 600, 0));
		marks[1] = wide_batch_mark(b);
		assert_ok(fill(b, 300, 900, 1));
		if (way >= 2)
		{
			/* pieces need the helper thread, and stay within the memory */
			assert_true(b->spill.njobs > 0 || b->spill.nfiles > 0);
			assert_true(memory_of(b) < memory[way]);
			assert_int_equal(threads_started - threads, way == 2);
		}
		marks[2] = wide_batch_mark(b);
		/* undo in parts, within files and across them */
		for (int i = 0; i < 40; i++)
		{
			uint64_t mark = wide_batch_mark(b);

			assert_ok(fill(b, i * 20, i * 20 + 30, 2));
			if (i % 3 > 0)
				wide_batch_rewind(b, mark);
		}
		marks[3] = wide_batch_mark(b);
		assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, fam[0], text("r0500"), text(""),
									WIDE_TS_MAX));
		assert_ok(fill(b, 900, 1000, 3));
		if (way == 1)
		{
			/* memory is bounded, whatever was written, and there are few runs */
			assert_true(spilled_bytes(b) > 300000);
			assert_true(memory_of(b) < 60000);
			assert_true(b->spill.nfiles < 2 * spill_fan);
		}
		else if (way == 0)
			assert_int_equal(spilled_bytes(b), 0);
		for (int i = 0; i < 4; i++)
			texts[way][n[way]++] = own_text(&s, b, marks[i], false);
		texts[way][n[way]++] = own_text(&s, b, wide_batch_mark(b), false);
		texts[way][n[way]++] = own_text(&s, b, wide_batch_mark(b), true);
		wide_batch_rewind(b, marks[2]);
		texts[way][n[way]++] = own_text(&s, b, wide_batch_mark(b), false);
		assert_ok(fill(b, 100, 200, 4));
		texts[way][n[way]++] = own_text(&s, b, wide_batch_mark(b), false);
		assert_ok(store_commit(&s, b, NULL));
		texts[way][n[way]++] = own_text(&s, NULL, 0, false);
		store_close(&s);
		assert_ok(store_open(&s));
		texts[way][n[way]++] = own_text(&s, NULL, 0, false);
		assert_int_equal(store_verify(&s), 0);
		/* everything undone: nothing remains spilled, nothing is left to commit */
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, memory[way]);
		assert_ok(fill(b, 0, 600, 0));
		wide_batch_rewind(b, 0);
		assert_int_equal(spilled_bytes(b), 0);
		assert_true(wide_batch_empty(b));
		wide_batch_free(b);
		/* neither read nor undone: straight to the commit */
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, memory[way]);
		assert_ok(fill(b, 0, 900, 5));
		assert_ok(fill(b, 400, 1000, 6));
		assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, fam[0], text("r0700"), text(""),
									WIDE_TS_MAX));
		assert_ok(fill(b, 200, 700, 7));
		if (way >= 2)
			assert_true(b->spill.njobs > 0);
		assert_ok(store_commit(&s, b, NULL));
		texts[way][n[way]++] = own_text(&s, NULL, 0, false);
		assert_int_equal(store_verify(&s), 0);
		/* and without a commit: no thread remains */
		threads = test_dir_count("/proc/self/task");
		for (int rows = 300; rows < 1500; rows += 100)
		{
			assert_ok(wide_batch_new(s.db, &b));
			wide_batch_command(b, memory[way]);
			assert_ok(fill(b, 0, rows, 8));
			wide_batch_free(b);
			assert_int_equal(test_dir_count("/proc/self/task"), threads);
		}
		store_drop(&s);
		threads_refused = false;
		spill_piece_least = 1 << 20;
	}
	for (int way = 1; way < WAYS; way++)
		assert_int_equal(n[0], n[way]);
	for (int i = 0; i < n[0]; i++)
	{
		assert_true(i == 0 || strlen(texts[0][i]) > 5000);
		for (int way = 1; way < WAYS; way++)
		{
			assert_string_equal(texts[0][i], texts[way][i]);
			free(texts[way][i]);
		}
		free(texts[0][i]);
	}
}

static _Atomic bool no_space;
static wide_os *disk;

static int64_t
full_pwrite(wide_os *os, int fd, const void *buf, size_t n, uint64_t off)
{
	return atomic_load(&no_space) ? -ENOSPC : disk->pwrite(disk, fd, buf, n, off);
}

/*
 * The disk is full when the helper thread writes: a later write fails,
 * earlier writes stay, and the batch continues when there is space again.
 */
static void
test_piece_fails(void **state)
{
	wide_os os = *os_real();
	store s;
	wide_batch *b;
	uint64_t mark;
	char *want, *got;
	wide_status st = WIDE_OK;
	int rows = 100;

	(void) state;
	disk = os_real();
	os.pwrite = full_pwrite;
	for (int refused = 0; refused < 2; refused++)
	{
		threads_refused = refused;
		spill_piece_least = 1000;
		begin(&s, 1);
		store_close(&s);
		s.os = &os;
		assert_ok(store_open(&s));
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, 1 << 20);
		assert_ok(fill(b, 0, 100, 0));
		mark = wide_batch_mark(b);
		atomic_store(&no_space, true);
		for (st = WIDE_OK; st == WIDE_OK && rows < 100000; rows += 50)
			st = fill(b, rows, rows + 50, 1);
		assert_int_equal(st, WIDE_NOSPACE);
		assert_true(b->spill.njobs > 0);
		assert_int_equal(wide_segment_state(s.base), WIDE_RUNNING);
		wide_batch_rewind(b, mark);
		/* the piece with the remaining writes cannot be read yet */
		{
			wide_bytes row = text("r0000");

			assert_int_equal(wide_batch_each(b, fam[0], row, NULL, 0, note_position,
											 (char[1000]) {""}),
							 WIDE_NOSPACE);
		}
		atomic_store(&no_space, false);
		got = own_text(&s, b, wide_batch_mark(b), false);
		assert_int_equal(b->spill.njobs, 0);
		assert_ok(fill(b, 40, 1000, 1));
		wide_batch_rewind(b, mark);
		want = own_text(&s, b, wide_batch_mark(b), false);
		assert_string_equal(got, want);
		assert_true(strlen(want) > 500);
		free(got);
		wide_batch_command(b, 1 << 20);
		assert_ok(fill(b, 0, 2000, 1));
		assert_ok(store_commit(&s, b, NULL));
		got = own_text(&s, NULL, 0, false);
		assert_true(strlen(got) > 10000);
		free(got);
		free(want);
		/* a failure at the commit: prepare fails and leaves nothing */
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, 1 << 20);
		atomic_store(&no_space, true);
		assert_ok(fill(b, 0, 800, 1));
		assert_int_equal(b->spill.njobs, 1);
		assert_int_equal(wide_batch_prepare(b, 0), WIDE_NOSPACE);
		wide_batch_free(b);
		atomic_store(&no_space, false);
		store_drop(&s);
		threads_refused = false;
		spill_piece_least = 1 << 20;
	}
}

/* A host that counts temporary files. */
static struct
{
	pthread_t thread; /* the only one that may call */
	uint64_t limit, used, most;
	int files, calls;
} temp;

static wide_status
temp_open(void *ctx, char *path, size_t size, void **account, const char **why)
{
	assert_true(pthread_equal(pthread_self(), temp.thread));
	snprintf(path, size, "%s/temp%d", ((store *) ctx)->dir, temp.calls++);
	*account = calloc(1, sizeof(uint64_t));
	temp.files++;
	return WIDE_OK;
}

static wide_status
temp_resize(void *ctx, void *account, uint64_t bytes, const char **why)
{
	uint64_t *counted = account;

	(void) ctx;
	assert_true(pthread_equal(pthread_self(), temp.thread));
	*why = "too much";
	if (bytes > *counted && temp.used - *counted + bytes > temp.limit)
		return WIDE_TEMP_LIMIT;
	temp.used += bytes - *counted;
	*counted = bytes;
	temp.most = temp.used > temp.most ? temp.used : temp.most;
	return WIDE_OK;
}

static void
temp_close(void *ctx, void *account)
{
	(void) ctx;
	assert_true(pthread_equal(pthread_self(), temp.thread));
	temp.used -= *(uint64_t *) account;
	temp.files--;
	free(account);
}

/* Writes under a limit, then without one.  Returns true if the limit was reached. */
static bool
write_with_limit(uint64_t limit, char **text)
{
	store s;
	wide_batch *b;
	uint64_t mark;
	char *want, *got;
	wide_status st = WIDE_OK;

	begin(&s, 1);
	s.db->host.temp_open = temp_open;
	s.db->host.temp_resize = temp_resize;
	s.db->host.temp_close = temp_close;
	memset(&temp, 0, sizeof(temp));
	temp.thread = pthread_self();
	temp.limit = limit;
	assert_ok(wide_batch_new(s.db, &b));
	wide_batch_command(b, 1 << 20);
	assert_ok(fill(b, 0, 100, 0));
	mark = wide_batch_mark(b);
	for (int rows = 100; st == WIDE_OK && rows < 6000; rows += 50)
	{
		st = fill(b, rows, rows + 50, 1);
		assert_true(temp.used >= spilled_bytes(b));
	}
	if (st == WIDE_OK)
		st = spill_settle(b);
	if (st != WIDE_OK)
	{
		assert_int_equal(st, WIDE_TEMP_LIMIT);
		assert_string_equal(wide_error_text(), "too much");
	}
	assert_true(temp.most <= limit);
	/* what was written before the failure is there, and what is not needed is given back */
	temp.limit = UINT64_MAX;
	wide_batch_rewind(b, mark);
	want = own_text(&s, b, wide_batch_mark(b), false);
	assert_true(strlen(want) > 500);
	assert_int_equal(temp.used, spilled_bytes(b));
	wide_batch_command(b, 1 << 20);
	assert_ok(fill(b, 0, 3000, 1));
	*text = own_text(&s, b, wide_batch_mark(b), false);
	assert_int_equal(temp.used, spilled_bytes(b));
	assert_true(temp.used > 0);
	wide_batch_rewind(b, mark);
	got = own_text(&s, b, wide_batch_mark(b), false);
	assert_string_equal(got, want);
	free(got);
	if (limit % 2 == 0)
		assert_ok(store_commit(&s, b, NULL));
	else
		wide_batch_free(b);
	assert_int_equal(temp.used, 0);
	assert_int_equal(temp.files, 0);
	free(want);
	store_drop(&s);
	return st != WIDE_OK;
}

/*
 * The host limits the bytes of temporary files: no limit is exceeded at any time, a write
 * beyond it fails and leaves the batch as it was, and the host is asked in one thread only.
 * With a small reserve the thread's files come back unfinished.
 */
static void
test_temp_limit(void **state)
{
	char *first = NULL;

	(void) state;
	spill_piece_least = 1000;
	for (int way = 0; way < 4; way++)
	{
		bool reached = true;

		threads_refused = way & 1;
		spill_reserve_most = way & 2 ? 30000 : UINT64_MAX;
		for (uint64_t limit = 0; reached; limit = limit * 3 / 2 + 5001)
		{
			char *text;

			reached = write_with_limit(limit, &text);
			if (first == NULL)
				first = text;
			else
			{
				assert_string_equal(text, first);
				free(text);
			}
		}
	}
	free(first);
	threads_refused = false;
	spill_reserve_most = UINT64_MAX;
	spill_piece_least = 1 << 20;
}

/* The data under an open scan is spilled to a file. */
static void
test_spilled_under_scan(void **state)
{
	store s;
	wide_batch *b;
	wide_scan_family f = {.id = fam[0], .want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	char want[16];
	int n = 0;

	(void) state;
	begin(&s, 1);
	f.id = fam[0];
	assert_ok(wide_batch_new(s.db, &b));
	wide_batch_command(b, 30000);
	for (int i = 0; i < 50; i++)
	{
		snprintf(want, sizeof want, "k%04d", i);
		put(b, want, "q", 1, INT64_MIN, want);
	}
	spec.own = b;
	spec.own_mark = wide_batch_mark(b);
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
	{
		wide_bytes value = row.cells[0].value;

		snprintf(want, sizeof want, "k%04d", n++);
		/* the pointers of the row stay valid while more is written than fits in memory */
		assert_ok(fill(b, 0, 200, n % 20));
		assert_memory_equal(row.key.data, want, 5);
		assert_memory_equal(value.data, want, 5);
	}
	assert_int_equal(n, 50);
	assert_true(spilled_bytes(b) > 100000);
	/* restarted with the current mark, the scan reads from files */
	assert_ok(wide_scan_restart(scan, &all, 1, wide_batch_mark(b)));
	for (n = 0; wide_scan_next(scan, &row) == WIDE_OK;)
		n++;
	assert_int_equal(n, 150);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	wide_batch_free(b);
	store_drop(&s);
}

/*
 * A scan whose sources cannot be made, because the disk is full when a list of
 * its batch is spilled, can be restarted when there is space again.
 */
static void
test_restart_after_failure(void **state)
{
	wide_os os = *os_real();
	store s;
	wide_batch *b;
	wide_scan_family f[2];
	wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {.families = f, .nfamilies = 2, .ranges = &all, .nranges = 1};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	int n = 0;

	(void) state;
	disk = os_real();
	os.pwrite = full_pwrite;
	spill_piece_least = 1000;
	begin(&s, 1);
	store_close(&s);
	s.os = &os;
	assert_ok(store_open(&s));
	for (int i = 0; i < 2; i++)
		f[i] = (wide_scan_family) {.id = fam[i], .want = WIDE_WANT_ALL, .max_versions = 1};
	assert_ok(wide_batch_new(s.db, &b));
	spec.own = b;
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	assert_int_equal(wide_scan_next(scan, &row), WIDE_END);
	wide_batch_command(b, 1 << 20);
	atomic_store(&no_space, true);
	assert_ok(fill(b, 0, 800, 1));
	assert_int_equal(b->spill.njobs, 1);
	for (int again = 0; again < 2; again++)
	{
		assert_ok(wide_scan_restart(scan, &all, 1, wide_batch_mark(b)));
		assert_int_equal(wide_scan_next(scan, &row), WIDE_NOSPACE);
	}
	atomic_store(&no_space, false);
	assert_ok(wide_scan_restart(scan, &all, 1, wide_batch_mark(b)));
	while (wide_scan_next(scan, &row) == WIDE_OK)
		n++;
	assert_true(n > 400);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	wide_batch_free(b);
	store_drop(&s);
	spill_piece_least = 1 << 20;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLACK ((long) 1 << 30) /* sanitizers use extra memory for each byte */
#else
#define SLACK ((long) 0)
#endif

static long
resident_bytes(void)
{
	buffer b = test_read_file("/proc/self/statm");
	long pages;

	assert_int_equal(sscanf((char *) b.data, "%*d %ld", &pages), 1);
	buffer_free(&b);
	return pages * 4096;
}

/*
 * The memory that a batch used before it was spilled or rewound is returned
 * to the system when the batch is freed.
 */
static void
test_memory_given_back(void **state)
{
	static char value[100000];
	store s;
	wide_batch *b;
	uint8_t *base;
	unsigned char resident[1024];

	(void) state;
	begin(&s, 3);
	for (int way = 0; way < 2; way++)
	{
		char row[8];

		spill_piece_least = SIZE_MAX;
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, way == 0 ? 4 << 20 : 64 << 20);
		for (int i = 0; i < 45; i++)
		{
			snprintf(row, sizeof row, "%d", i);
			assert_ok(wide_batch_put(b, fam[0], text(row), text("q"), 1, INT64_MIN, 0,
									 bytes(value, sizeof value)));
		}
		if (way == 1)
			wide_batch_rewind(b, 0);
		assert_int_equal(spilled_bytes(b) > 0, way == 0);
		assert_true(b->ops.list->end < 1 << 20);
		base = b->ops.list->base + (1 << 20);
		assert_int_equal(mincore(base, sizeof resident * 4096, resident), 0);
		assert_true(resident[300] & 1);
		wide_batch_free(b);
		assert_int_equal(mincore(base, sizeof resident * 4096, resident), 0);
		for (size_t i = 0; i < sizeof resident; i++)
			assert_int_equal(resident[i] & 1, 0);
	}
	/*
	 * in pieces: during the writes memory stays within the limit, afterwards
	 * almost nothing remains
	 */
	spill_piece_least = 1 << 20;
	{
		long before = resident_bytes();

		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, 16 << 20);
		for (int i = 0; i < 600; i++)
		{
			char row[8];

			snprintf(row, sizeof row, "%d", i);
			assert_ok(wide_batch_put(b, fam[0], text(row), text("q"), 1, INT64_MIN, 0,
									 bytes(value, sizeof value)));
			assert_true(memory_of(b) < 16 << 20);
			assert_true(resident_bytes() - before < SLACK + (20 << 20));
		}
		assert_true(b->spill.njobs > 0);
		wide_batch_free(b);
		assert_true(resident_bytes() - before < SLACK + (3 << 20));
	}
	store_drop(&s);
}

/* One transaction over families with distant ids: the merge still returns the families in order. */
static void
test_far_families(void **state)
{
	static const wide_family_id far[] = {3, 258, 259, 260, 70000, 9000000};

	enum
	{
		FAR = sizeof far / sizeof *far,
		ROWS = 40
	};

	op_sorted sorted = {0};
	op_merge m;
	wide_batch *b;
	store s;
	char row[8];
	wide_family_id family = 0;
	uint32_t n = 0;

	(void) state;
	begin(&s, 3);
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < ROWS * FAR; i++)
	{
		snprintf(row, sizeof row, "%02d", i * 7 % ROWS);
		assert_ok(wide_batch_put(b, far[i % FAR], text(row), text("q"), i, INT64_MIN, 0,
								 text("v")));
	}
	assert_ok(op_list_sort(b->ops.list, &b->ops.undone, &sorted));
	assert_ok(op_merge_open(b, &sorted, UINT64_MAX, &m));
	assert_ok(op_merge_first(&m));
	for (const op_stream *at; (at = op_merge_top(&m)) != NULL; n++)
	{
		assert_true(at->family >= family);
		family = at->family;
		assert_ok(op_merge_next(&m));
	}
	assert_int_equal(n, ROWS * FAR);
	op_merge_close(&m);
	op_list_sorted_free(&sorted);
	wide_batch_free(b);
	store_drop(&s);
}

/*
 * The disk is full at each call of a spill: the write fails, earlier writes
 * stay and can be committed.
 */
static void
test_spill_fails(void **state)
{
	bool reached = true;

	(void) state;
	for (uint64_t at = 1; reached; at++)
	{
		store s;
		wide_batch *b;
		os_fault_plan plan = {.error = 28, .sticky = false};
		wide_os *os;
		uint64_t mark;
		uint64_t before;
		char *want, *got;
		wide_status st;

		store_init(&s);
		os = s.os = os_faulty(s.dir, &plan);
		assert_ok(store_open(&s));
		{
			wide_family_options opt;

			wide_family_defaults(&opt);
			store_table(&s, &opt, 2, &table, fam);
		}
		before = os_faulty_calls(os);
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, 20000);
		assert_ok(fill(b, 0, 40, 0));
		assert_int_equal(os_faulty_calls(os), before);
		mark = wide_batch_mark(b);
		want = own_text(&s, b, mark, false);
		os_faulty_plan(os, &(os_fault_plan) {.at = before + at, .error = 28});
		st = fill(b, 40, 200, 1);
		reached = os_faulty_calls(os) >= before + at;
		os_faulty_plan(os, &(os_fault_plan) {.at = 0});
		if (st != WIDE_OK)
		{
			assert_int_equal(st, WIDE_NOSPACE);
			assert_int_equal(wide_segment_state(s.base), WIDE_RUNNING);
		}
		wide_batch_rewind(b, mark);
		got = own_text(&s, b, wide_batch_mark(b), false);
		assert_string_equal(got, want);
		free(got);
		/* continue: there is space again */
		assert_ok(fill(b, 40, 200, 1));
		wide_batch_rewind(b, mark);
		assert_ok(store_commit(&s, b, NULL));
		got = own_text(&s, NULL, 0, false);
		assert_string_equal(got, want);
		free(got);
		free(want);
		store_close(&s);
		os_faulty_free(os);
		store_drop(&s);
		assert_true(at < 1000);
	}
}

/* A payload of several records that fits into the memtable; external or not. */
static void
test_chunks(void **state)
{
	(void) state;
	for (int way = 0; way < 4; way++)
	{
		store s;
		wide_batch *b;
		size_t n = 900 * 1024;
		uint8_t *value = malloc(n);
		uint64_t lsn;
		char *got;

		memset(value, 'v', n);
		store_init(&s);
		s.config.memtable_size = 16 << 20;
		assert_ok(store_open(&s));
		{
			wide_family_options opt;

			wide_family_defaults(&opt);
			store_table(&s, &opt, 2, &table, fam);
		}
		assert_ok(wide_batch_new(s.db, &b));
		for (int i = 0; i < 4; i++)
		{
			char row[16];

			snprintf(row, sizeof row, "r%d", i);
			value[0] = (uint8_t) ('a' + i);
			assert_ok(wide_batch_put(b, fam[0], text(row), text("q"), 1, 0, 0, bytes(value, n)));
		}
		file_log_set_xid(&s.log, way > 0 ? 9 : 0);
		assert_ok(wide_batch_prepare(b, way > 0 ? 9 : 0));
		assert_int_equal(b->prepared.nfiles, 0);
		if (way > 0)
			assert_int_equal(b->prepared.nchunks, 4);
		if (way == 1 || way == 2)
			assert_ok(file_log_decide(&s.log, 9, true));
		if (way < 2)
		{
			assert_ok(wide_batch_finish(b, &lsn));
			assert_ok(wide_publish(s.db, lsn));
			assert_int_equal(b->prepared.nchunks, 4);
		}
		assert_ok(s.log.sync(s.log.ctx, s.log.end(s.log.ctx)));
		/* way 2: committed, but the finish record is missing; way 3: undecided */
		b->phase = BATCH_FINISHED;
		wide_batch_free(b);
		for (int again = 0; again < 2; again++)
		{
			store_close(&s);
			assert_ok(store_open(&s));
			got = store_text(&s, NULL, fam, 1);
			assert_int_equal(strlen(got) > 0, way != 3);
			if (way != 3)
				assert_non_null(strstr(got, "0/r3/q@1=dvvv"));
			free(got);
		}
		free(value);
		store_drop(&s);
	}
}

static bool
running_all(void *ctx, uint64_t xid)
{
	return xid >= *(uint64_t *) ctx;
}

static void
test_snapshots(void **state)
{
	store s;
	wide_batch *b;
	uint64_t lsn, from = 7, never = UINT64_MAX;
	wide_snapshot *before, *without, *with, *latest;
	char *got;

	(void) state;
	begin(&s, 1);
	s.oldest_external = 7;
	store_put(&s, fam[0], "r", "q", 1, "a");
	assert_ok(snapshot_take(s.db, NULL, NULL, &before));
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "r", "q", 2, INT64_MIN, "b");
	file_log_set_xid(&s.log, 7);
	assert_ok(wide_batch_prepare(b, 7));
	assert_ok(file_log_decide(&s.log, 7, true));
	assert_ok(wide_batch_finish(b, &lsn));
	/* applied, but not published */
	assert_ok(wide_snapshot_latest(s.db, &latest));
	assert_true(snapshot_sees(latest, lsn));
	expect(&s, "0/r/q@1=a;");
	assert_ok(wide_publish(s.db, lsn));
	wide_batch_free(b);
	assert_int_equal(atomic_load(&s.db->slot->external), 0);
	assert_ok(snapshot_take(s.db, running_all, &from, &without));
	assert_ok(snapshot_take(s.db, running_all, &never, &with));
	assert_false(snapshot_sees(before, lsn));
	assert_false(snapshot_sees(without, lsn));
	assert_true(snapshot_sees(with, lsn));
	for (int i = 0; i < 3; i++)
	{
		wide_snapshot *at[] = {before, without, with, latest};
		const char *want[] = {"0/r/q@1=a;", "0/r/q@1=a;", "0/r/q@2=b;", "0/r/q@2=b;"};

		for (int k = 0; k < 4; k++)
		{
			got = store_text(&s, at[k], fam, 1);
			assert_string_equal(got, want[k]);
			free(got);
		}
		assert_ok(i == 0 ? wide_flush(s.db) : wide_compact(s.db, fam[0]));
	}
	wide_snapshot_release(before);
	wide_snapshot_release(without);
	wide_snapshot_release(with);
	wide_snapshot_release(latest);
	assert_int_equal(atomic_load(&s.db->slot->snapshot), 0);
	/* after many external commits such a snapshot can no longer be taken */
	for (uint64_t i = 0; i <= EXTERNAL_RING; i++)
	{
		assert_ok(wide_batch_new(s.db, &b));
		put(b, "x", "q", 1, INT64_MIN, "x");
		file_log_set_xid(&s.log, 8 + i);
		assert_ok(wide_batch_prepare(b, 8 + i));
		assert_ok(wide_batch_finish(b, &lsn));
		assert_ok(wide_publish(s.db, lsn));
		wide_batch_free(b);
	}
	assert_int_equal(snapshot_take(s.db, running_all, &from, &without), WIDE_CONFLICT);
	assert_ok(snapshot_take(s.db, running_all, &never, &with));
	wide_snapshot_release(with);
	store_drop(&s);
}

/*
 * A flush, or the compaction of a window, misses part of the history: a
 * delete outside has removed the version that would displace another.
 */
static void
test_gap(void **state)
{
	store s;
	wide_batch *b;
	wide_family_options opt;
	char big[2000];

	(void) state;
	memset(big, 'x', sizeof big);
	for (int window = 0; window < 2; window++)
	{
		store_init(&s);
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		if (window)
		{
			opt.compaction = WIDE_COMPACT_WINDOW;
			opt.window_us = 100;
		}
		store_table(&s, &opt, 2, &table, fam);
		store_put(&s, fam[0], "r", "q", 20, "u");
		if (window)
			assert_ok(wide_flush(s.db));
		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam[0], text("r"), text("q"), 25));
		put(b, "r", "p", 150, INT64_MIN, "other window");
		for (int i = 0; i < 200 && !window; i++)
		{
			char row[16];

			snprintf(row, sizeof row, "s%d", i);
			assert_ok(wide_batch_put(b, fam[1], text(row), text("q"), 1, 0, 0,
									 bytes(big, sizeof big)));
		}
		assert_ok(store_commit(&s, b, NULL));
		if (window)
			assert_ok(wide_flush(s.db));
		store_put(&s, fam[0], "r", "q", 10, "v");
		expect_first(&s, "0/r/p@150=other window;0/r/q@10=v;");
		assert_ok(wide_flush(s.db));
		expect_first(&s, "0/r/p@150=other window;0/r/q@10=v;");
		store_work(&s);
		assert_int_equal(store_files(&s, fam[0], -1), 2);
		expect_first(&s, "0/r/p@150=other window;0/r/q@10=v;");
		assert_ok(wide_compact(s.db, fam[0]));
		assert_int_equal(store_files(&s, fam[0], -1), 1);
		expect_first(&s, "0/r/p@150=other window;0/r/q@10=v;");
		store_drop(&s);
	}
}

/*
 * Processes increment a counter and write pairs of rows concurrently: no
 * update is lost, no pair is half visible.
 */
static void
test_processes(void **state)
{
	enum
	{
		PROCESSES = 4,
		ROUNDS = 150
	};

	store s;
	pid_t pids[PROCESSES];
	char *got;
	char *part;
	int rows = 0;

	(void) state;
	begin(&s, 1);
	for (int p = 0; p < PROCESSES; p++)
		if ((pids[p] = unit_fork()) == 0)
		{
			wide_host host = s.db->host;
			wide_db *db;

			if (wide_attach(s.base, s.dir, &host, &s.log, NULL, &db) != WIDE_OK)
				_exit(2);
			for (int i = 0; i < ROUNDS; i++)
			{
				wide_batch *b;
				wide_snapshot *snap;
				uint64_t lsn;
				char row[32], value[32];
				wide_scan_family f = {.id = fam[0], .want = WIDE_WANT_ALL};
				wide_range all = {{(const uint8_t *) "", 0}, {NULL, 0}};
				wide_scan_spec spec = {
					.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1};
				wide_scan *scan;
				wide_row r;

				snprintf(row, sizeof row, "p%d-%d", p, i);
				snprintf(value, sizeof value, "%d.%d", p, i);
				if (wide_batch_new(db, &b) != WIDE_OK ||
					wide_batch_put(b, fam[0], text(row), text("a"), WIDE_TS_AUTO, INT64_MIN, 0,
								   text(value)) != WIDE_OK ||
					wide_batch_put(b, fam[0], text(row), text("b"), WIDE_TS_AUTO, INT64_MIN, 0,
								   text(value)) != WIDE_OK ||
					wide_batch_put(b, fam[0], text("shared"), text("a"), WIDE_TS_AUTO, INT64_MIN, 0,
								   text(value)) != WIDE_OK ||
					wide_batch_put(b, fam[0], text("shared"), text("b"), WIDE_TS_AUTO, INT64_MIN, 0,
								   text(value)) != WIDE_OK ||
					wide_batch_prepare(b, 0) != WIDE_OK || wide_batch_finish(b, &lsn) != WIDE_OK ||
					wide_publish(db, lsn) != WIDE_OK)
					_exit(3);
				wide_batch_free(b);
				if (i % 10 != 0)
					continue;
				if (snapshot_take(db, NULL, NULL, &snap) != WIDE_OK || !snapshot_sees(snap, lsn) ||
					wide_scan_open(db, snap, &spec, &scan) != WIDE_OK)
					_exit(4);
				while (wide_scan_next(scan, &r) == WIDE_OK)
					if (r.ncells != 2 || r.cells[0].value.len != r.cells[1].value.len ||
						r.cells[0].ts != r.cells[1].ts ||
						memcmp(r.cells[0].value.data, r.cells[1].value.data,
							   r.cells[0].value.len) != 0)
						_exit(5);
				wide_scan_close(scan);
				wide_snapshot_release(snap);
				if (i % 50 == 0 && wide_flush(db) != WIDE_OK)
					_exit(6);
			}
			wide_detach(db);
			_exit(0);
		}
	for (int p = 0; p < PROCESSES; p++)
	{
		int status;

		assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
		assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 99, 0);
	}
	assert_int_equal(s.db->seg->commit.reserved, 0);
	assert_true(atomic_load(&s.db->seg->commit.visible_seq) == s.db->seg->commit.logged_seq);
	got = store_text(&s, NULL, fam, 1);
	for (part = got; (part = strchr(part, ';')) != NULL; part++)
		rows++;
	assert_int_equal(rows, 2 * (PROCESSES * ROUNDS + 1));
	free(got);
	store_drop(&s);
}

static long
faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

/*
 * A process that writes for the first time into memtables already used by
 * others takes few page faults, not one for each page.
 */
static void
test_faults(void **state)
{
	enum
	{
		BATCHES = 1000,
		VALUE = 3000,
		PAGES = BATCHES * VALUE / 4096
	};

	static uint8_t value[VALUE];
	store s;
	wide_family_options opt;
	memtable_handle m;
	int status;
	pid_t pid;

	(void) state;
	store_init(&s);
	s.config.memtable_size = 4 << 20;
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	store_table(&s, &opt, 1, &table, fam);
	memtable_at(s.db, s.db->seg->commit.active, &m);
	for (uint64_t at = atomic_load(&m.t->used); at < m.t->capacity; at += 512)
		m.base[at] = 0;
	if ((pid = unit_fork()) == 0)
	{
		wide_host host = s.db->host;
		wide_db *db;
		uint8_t *probe = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		long before, after;

		/* skip the test if the system does not map neighbouring pages on a fault */
		memset(probe, 1, PAGES * 4096);
		madvise(probe, PAGES * 4096, MADV_DONTNEED);
		before = faults();
		for (int i = 0; i < PAGES; i++)
			(void) ((volatile uint8_t *) probe)[i * 4096];
		if (faults() - before > PAGES / 2)
			_exit(77);
		if (wide_attach(s.base, s.dir, &host, &s.log, NULL, &db) != WIDE_OK)
			_exit(2);
		before = after = 0;
		for (int i = 0; i < BATCHES; i++)
		{
			wide_batch *b;
			uint64_t lsn;
			char row[16];

			snprintf(row, sizeof row, "%05d", i);
			/* the first batches set up memory of the process itself */
			if (i == 20)
				before = faults();
			if (wide_batch_new(db, &b) != WIDE_OK ||
				wide_batch_put(b, fam[0], text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
							   bytes(value, VALUE)) != WIDE_OK ||
				wide_batch_prepare(b, 0) != WIDE_OK || wide_batch_finish(b, &lsn) != WIDE_OK ||
				wide_publish(db, lsn) != WIDE_OK)
				_exit(3);
			wide_batch_free(b);
		}
		after = faults();
		wide_detach(db);
		_exit(after - before > PAGES / 2 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 99;
	if (POOL_OFF)
		status = status == 1 ? 0 : status; /* the sanitizer's own pages */
	store_drop(&s);
	if (status == 77)
		skip();
	assert_int_equal(status, 0);
}

static int
below(uint64_t *r, int n)
{
	return (int) (rnd(r) % (uint64_t) n);
}

/* Adds a random operation on the column: a put or a delete of any kind. */
static void
some_operation(wide_batch *b, wide_family_id family, wide_bytes row, wide_bytes q, uint64_t *r)
{
	wide_bytes value = bytes("some bytes, or nothing", (size_t) below(r, 20));
	int64_t ts = 1 + below(r, 1 << 7 * below(r, 4));

	switch (below(r, 7))
	{
		case 0:
			assert_ok(wide_batch_put(b, family, row, q, ts, INT64_MIN, 0, value));
			break;
		case 1:
			assert_ok(wide_batch_put(b, family, row, q, ts, INT64_MIN, 5000, value));
			break;
		case 2:
			assert_ok(wide_batch_put(b, family, row, q, WIDE_TS_AUTO, ts, 0, value));
			break;
		case 3:
			assert_ok(wide_batch_delete(b, below(r, 2) ? WIDE_DELETE_COLUMN : WIDE_DELETE_VERSION,
										family, row, q, ts));
			break;
		case 4:
			assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, family, row, q, WIDE_TS_MAX));
			break;
		default:
			assert_ok(wide_batch_put(b, family, row, q, WIDE_TS_AUTO, INT64_MIN, 0, value));
			break;
	}
}

/*
 * The payload encoded in insertion order is byte for byte the one that
 * sorting and normalising makes.  It is used exactly if the operations
 * ascend: not with duplicates, descending keys or undone operations.
 */
static void
test_in_order(void **state)
{
	store s;
	uint64_t r = 20;
	int taken = 0, left = 0;

	(void) state;
	begin(&s, 3);
	for (int round = 0; round < 3000; round++)
	{
		wide_batch *b;
		op_sorted sorted = {0};
		buffer plain = {0}, made = {0};
		int n = 1 + below(&r, 8), place = -1;
		bool ascending = true, undone = below(&r, 10) == 0;
		uint64_t cells, need, rows;
		bool automatic;
		wide_status st;

		assert_ok(wide_batch_new(s.db, &b));
		b->external.note_rows = below(&r, 2);
		for (int i = 0; i < n; i++)
		{
			/*
			 * two families, seven rows, seven columns: usually the next
			 * position or a few after it
			 */
			int at = below(&r, 8) == 0 ? below(&r, 98)
									   : place + (below(&r, 10) != 0) + below(&r, 12);
			uint8_t row[3] = {'r', 'a' + at / 7 % 7, 'x'};
			uint8_t q[2] = {'q', 'a' + at % 7};

			if (at < 0 || at >= 98)
				break;
			ascending = ascending && at > place;
			place = at;
			some_operation(b, fam[at / 49], bytes(row, 3), bytes(q, 2), &r);
		}
		if (place < 0)
			goto next;
		if (undone)
		{
			uint64_t mark = wide_batch_mark(b);

			put(b, "z", "z", WIDE_TS_AUTO, INT64_MIN, "undone");
			wide_batch_rewind(b, mark);
			assert_true(b->ops.undone.n > 0);
			if (below(&r, 2))
				put(b, "z", "zz", WIDE_TS_AUTO, INT64_MIN, "kept");
		}
		st = payload_cells_in_order(b, &plain, 1 << 20);
		assert_int_equal(st, ascending && !undone ? WIDE_OK : WIDE_END);
		cells = b->prepared.cells;
		need = b->prepared.need;
		rows = b->external.rows;
		automatic = b->prepared.automatic;
		assert_ok(op_list_sort(b->ops.list, &b->ops.undone, &sorted));
		assert_ok(payload_cells(b, &sorted, &made, 1 << 20));
		if (st == WIDE_OK)
		{
			taken++;
			assert_int_equal(plain.len, made.len);
			assert_memory_equal(plain.data, made.data, made.len);
			assert_true(cells == b->prepared.cells && need == b->prepared.need &&
						rows == b->external.rows && automatic == b->prepared.automatic);
			/* too large for the buffer: the call fails and leaves no state behind */
			assert_int_equal(payload_cells_in_order(b, &plain, need - 1) == WIDE_OK, false);
			assert_true(b->prepared.need == 0 && plain.len == made.len);
		}
		else
		{
			left++;
			assert_true(plain.len == 0 && need == 0);
		}
		op_list_sorted_free(&sorted);
next:
		wide_batch_free(b);
		buffer_free(&plain);
		buffer_free(&made);
	}
	assert_true(taken > 500 && left > 500);
	store_drop(&s);
}

/* the sanitizer returns NULL, as malloc does, if far too much memory is asked for */
const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* Lack of memory is not damage. */
static void
test_payload_without_memory(void **state)
{
	store s;
	wide_batch *b;
	memtable t;
	memtable_handle m;
	uint8_t *region = malloc(1 << 16);
	/* it grows by half: to more than there is */
	buffer key = {.cap = SIZE_MAX / 4};
	payload p;
	uint64_t end;

	(void) state;
	begin(&s, 1);
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "r", "q", 1, INT64_MIN, "x");
	assert_ok(wide_batch_prepare(b, 0));
	assert_ok(payload_open(bytes(b->prepared.payload.data, b->prepared.payload.len), &p));
	memtable_init(&m, &t, region, 1 << 16);
	assert_int_equal(payload_apply(&p, &m, 64, 1, 1000, &key, &end), WIDE_NOMEM);
	assert_non_null(strstr(wide_error_text(), "out of memory"));
	free(region);
	wide_batch_free(b);
	store_drop(&s);
}

/* Damaged payloads are refused, and never read beyond their end. */
static void
test_hostile_payload(void **state)
{
	store s;
	wide_batch *b;
	uint64_t r = 1;
	memtable t;
	memtable_handle m;
	uint8_t *region = malloc(1 << 16);
	buffer key = {0};
	/* no catalog, no files, a need of 2^64 - 1 bytes, no cells */
	const uint8_t endless[] = {0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0};
	payload huge;

	(void) state;
	assert_int_equal(payload_open(bytes(endless, sizeof endless), &huge), WIDE_CORRUPT);
	begin(&s, 1);
	assert_ok(wide_batch_new(s.db, &b));
	put(b, "row", "q", WIDE_TS_AUTO, 77, "value");
	put(b, "row", "q", 5, 0, "value");
	assert_ok(wide_batch_put(b, fam[1], text("row"), text("p"), 9, 0, 1000, text("other")));
	assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, fam[0], text("row2"), text(""), 9));
	assert_ok(wide_batch_prepare(b, 0));
	for (int i = 0; i < 20000; i++)
	{
		size_t n = b->prepared.payload.len;
		uint8_t *copy;
		payload p;
		uint64_t end;

		if (rnd(&r) % 3 == 0)
			n = rnd(&r) % (n + 1);
		copy = malloc(n + 1);
		memcpy(copy, b->prepared.payload.data, n);
		for (int k = (int) (rnd(&r) % 3); k >= 0 && n > 0; k--)
			copy[rnd(&r) % n] = (uint8_t) rnd(&r);
		copy = realloc(copy, n > 0 ? n : 1);
		if (payload_open(bytes(copy, n), &p) == WIDE_OK && p.need < 60000)
		{
			memtable_init(&m, &t, region, 1 << 16);
			(void) payload_apply(&p, &m, 64, 1, 1000, &key, &end);
		}
		free(copy);
	}
	buffer_free(&key);
	free(region);
	wide_batch_free(b);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_automatic),
		cmocka_unit_test(test_normalised),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_large_without_files),
		cmocka_unit_test(test_spilled),
		cmocka_unit_test(test_piece_fails),
		cmocka_unit_test(test_temp_limit),
		cmocka_unit_test(test_spilled_under_scan),
		cmocka_unit_test(test_restart_after_failure),
		cmocka_unit_test(test_memory_given_back),
		cmocka_unit_test(test_far_families),
		cmocka_unit_test(test_spill_fails),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_payload_without_memory),
		cmocka_unit_test(test_hostile_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
