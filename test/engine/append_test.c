/*
 * append_test.c - families whose puts are appended: random lives of a store against a list of all
 * operands in the order of their commits; batches that are prepared as files long before they
 * commit, stated timestamps, times to live, old snapshots, crashes; what is folded, and what not.
 */
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/batch/batch.h"
#include "engine/batch/batch_state.h"
#include "engine/compaction/retention.h"
#include "engine/read/append.h"

#define ROWS  4
#define QUALS 3
#define OPS	  8000
#define SNAPS 2

/* An operand, or a delete of a column (of all columns: qual -1). */
typedef struct op
{
	int row, qual;
	bool delete, gone; /* undone, or deleted by the same batch */
	bool automatic;
	int64_t ts;
	int id, len; /* its bytes: see piece */
	int moment;
} op;

typedef struct op_array
{
	op o[OPS];
	int n;
} op_array;

typedef struct transaction
{
	wide_batch *b;
	op_array ops;
} transaction;

typedef struct held
{
	wide_snapshot *s;
	int moment;
} held;

typedef struct life
{
	store s;
	wide_family_options opt;
	wide_family_id fam;
	wide_table_id table;
	op_array done;			/* what is committed, in its order */
	transaction open, late; /* late: prepared, and committed after others */
	int moment, ids;
	held snaps[SNAPS];
	uint64_t r;
} life;

static wide_bytes
name(const char *prefix, int i, char *buf)
{
	return bytes(buf, (size_t) snprintf(buf, 16, "%s%d", prefix, i));
}

/* ------------------------------------------------------------------ model */

/* The bytes of an operand: its number, and dots. */
static wide_bytes
piece(const op *o, char *buf)
{
	int n = o->len == 0 ? 0 : snprintf(buf, 16, "%d", o->id);

	while (n < o->len)
		buf[n++] = '.';
	return bytes(buf, (size_t) n);
}

static bool
deletes(const op *d, const op *o)
{
	return d->delete &&d->row == o->row && (d->qual < 0 || d->qual == o->qual);
}

static void
add_op(op_array *a, op o)
{
	assert_true(a->n < OPS);
	a->o[a->n++] = o;
}

/* Appends to `to` what the transaction does: its deletes, then the operands that it does not
 * delete, in their order. */
static void
take_effect(const op_array *ops, op_array *to, int moment, int64_t commit_ts)
{
	static op_array left;
	op o;

	left.n = 0;
	for (int i = 0; i < ops->n; i++)
	{
		bool stays = !ops->o[i].gone;

		for (int k = i + 1; k < ops->n; k++)
			stays = stays && !(!ops->o[k].gone && deletes(&ops->o[k], &ops->o[i]));
		o = ops->o[i];
		o.moment = moment;
		o.ts = o.automatic ? commit_ts : o.ts;
		if (stays || (o.delete &&!o.gone))
			add_op(o.delete ? to : &left, o);
	}
	/* stated timestamps come first, in their order */
	for (int i = 1; i < left.n; i++)
		for (int k = i; k > 0 && !left.o[k].automatic &&
						(left.o[k - 1].automatic || left.o[k - 1].ts > left.o[k].ts);
			 k--)
		{
			o = left.o[k];
			left.o[k] = left.o[k - 1];
			left.o[k - 1] = o;
		}
	for (int i = 0; i < left.n; i++)
		add_op(to, left.o[i]);
}

/* Sets *value to that of a column; returns false if there is none. */
static bool
model_value(const life *l, const op_array *a, int row, int qual, int moment, buffer *value)
{
	bool any = false;
	char buf[4096];

	value->len = 0;
	for (int i = 0; i < a->n; i++)
	{
		const op *o = &a->o[i];
		wide_bytes p;

		if (o->moment > moment || o->row != row || (o->qual != qual && !(o->delete &&o->qual < 0)))
			continue;
		if (o->delete)
		{
			value->len = 0;
			any = false;
			continue;
		}
		if (l->opt.ttl_us > 0 && o->ts < l->s.now - l->opt.ttl_us)
			continue;
		p = piece(o, buf);
		assert_ok(buffer_append(value, p.data, p.len));
		any = true;
	}
	return any;
}

/* -------------------------------------------------------------- operations */

static void
random_op(life *l, transaction *t)
{
	uint64_t x = rnd(&l->r);
	op o = {.row = (int) (x % ROWS), .qual = (int) (x >> 8 & 255) % QUALS};
	char row[16], qual[16], buf[4096];

	if ((x >> 16 & 63) == 0)
	{
		bool whole = x >> 24 & 1;

		o.delete = true;
		assert_ok(wide_batch_delete(t->b, whole ? WIDE_DELETE_FAMILY : WIDE_DELETE_COLUMN, l->fam,
									name("r", o.row, row), name("q", o.qual, qual), WIDE_TS_MAX));
		o.qual = whole ? -1 : o.qual;
	}
	else
	{
		o.id = ++l->ids;
		o.len = (x >> 40 & 15) == 0 ? 0 : 7 + (int) (x >> 44 & 63);
		o.automatic = (x >> 32 & 7) != 0;
		o.ts = l->s.now - 1 - (int64_t) (x >> 35 & 31);
		assert_ok(wide_batch_put(t->b, l->fam, name("r", o.row, row), name("q", o.qual, qual),
								 o.automatic ? WIDE_TS_AUTO : o.ts, INT64_MIN, 0, piece(&o, buf)));
	}
	add_op(&t->ops, o);
}

static void
begin(life *l, transaction *t)
{
	assert_ok(wide_batch_new(l->s.db, &t->b));
	wide_batch_command(t->b, rnd(&l->r) % 4 == 0 ? 4096 : 1 << 20);
	t->ops.n = 0;
}

static void
finish(life *l, transaction *t)
{
	int64_t ts = t->b->prepared.files_ts;
	uint64_t lsn;

	assert_ok(wide_batch_finish(t->b, &lsn));
	assert_ok(l->s.db->log.sync(l->s.db->log.ctx, lsn));
	assert_ok(wide_publish(l->s.db, lsn));
	wide_batch_free(t->b);
	t->b = NULL;
	take_effect(&t->ops, &l->done, ++l->moment,
				ts != INT64_MIN ? ts : l->s.db->seg->commit.last_ts);
}

/* A part of the batch that is undone, as by ROLLBACK TO SAVEPOINT. */
static void
undo(life *l, transaction *t)
{
	uint64_t mark = wide_batch_mark(t->b);
	int from = t->ops.n;

	for (uint64_t k = rnd(&l->r) % 4; k > 0; k--)
		random_op(l, t);
	wide_batch_rewind(t->b, mark);
	for (int i = from; i < t->ops.n; i++)
		t->ops.o[i].gone = true;
}

/* --------------------------------------------------------------- questions */

static int
number_of(wide_bytes b)
{
	assert_int_equal(b.len, 2);
	return b.data[1] - '0';
}

typedef struct table_text
{
	buffer value[ROWS][QUALS];
	bool any[ROWS][QUALS];
} table_text;

/* Adds a cell before those that are there: operands come newest first. */
static void
add_before(table_text *t, wide_bytes key, const wide_cell *c)
{
	int row = number_of(key), qual = number_of(c->qualifier);
	buffer *b = &t->value[row][qual];

	assert_ok(buffer_reserve(b, c->value.len));
	memmove(b->data + c->value.len, b->data, b->len);
	memcpy(b->data, c->value.data, c->value.len);
	b->len += c->value.len;
	t->any[row][qual] = true;
}

static void
read_table(life *l, wide_scan_spec *spec, const wide_snapshot *snap, table_text *t)
{
	wide_scan *scan;
	wide_row row;
	wide_status st;
	int64_t ts = INT64_MAX;
	int qual = -1;

	memset(t->any, 0, sizeof t->any);
	for (int i = 0; i < ROWS * QUALS; i++)
		t->value[i / QUALS][i % QUALS].len = 0;
	assert_ok(wide_scan_open(l->s.db, snap, spec, &scan));
	for (;;)
	{
		l->s.interrupt_after = rnd(&l->r) % 8 == 0 ? 1 : 0;
		st = wide_scan_next(scan, &row);
		l->s.interrupt_after = 0;
		if (st == WIDE_INTERRUPTED)
			continue;
		if (st != WIDE_OK)
			break;
		for (int i = 0; i < row.ncells; i++)
		{
			int q = number_of(row.cells[i].qualifier) + QUALS * number_of(row.key);

			/* importing them in this order gives the value again */
			assert_true(q != qual || row.cells[i].ts < ts);
			qual = q;
			ts = row.cells[i].ts;
			add_before(t, row.key, &row.cells[i]);
		}
	}
	if (st != WIDE_END)
		fail_msg("scan: %d %s", st, wide_error_text());
	wide_scan_close(scan);
}

/* Rows whose column has, or has not, the value. */
static int
count_rows(life *l, wide_scan_spec *spec, const wide_snapshot *snap, wide_op op, int qual,
		   wide_bytes value)
{
	char q[16];
	wide_predicate p = {.op = op,
						.kind = WIDE_KIND_BYTES,
						.qualifier = name("q", qual, q),
						.values = &value,
						.nvalues = 1};
	wide_scan_spec with = *spec;
	wide_scan *scan;
	wide_row row;
	int n = 0;

	with.predicates = &p;
	with.npredicates = 1;
	assert_ok(wide_scan_open(l->s.db, snap, &with, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
		n += !row.more;
	wide_scan_close(scan);
	return n;
}

static void
ask(life *l)
{
	static op_array all;
	static table_text got;
	uint64_t x = rnd(&l->r);
	wide_range range = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.id = l->fam, .want = WIDE_WANT_ALL, .max_versions = 1 + (int) (x & 1)};
	wide_scan_spec spec = {.families = &f,
						   .nfamilies = 1,
						   .ranges = &range,
						   .nranges = 1,
						   .now = l->s.now,
						   .reverse = x >> 1 & 1,
						   .row_cells = x >> 2 & 1,
						   .operands = (x >> 3 & 3) == 0};
	held *h = &l->snaps[x >> 8 & 1];
	wide_snapshot *snap = NULL;
	bool own = l->open.b != NULL && (x >> 9 & 3) != 0;
	int moment = l->moment, qual = (int) (x >> 16 & 255) % QUALS,
		row = (int) (x >> 24 & 255) % ROWS;
	int same = 0, other = 0;
	buffer want = {0};

	if ((x >> 12 & 1) && h->s != NULL)
	{
		snap = h->s;
		moment = h->moment;
	}
	else
		assert_ok(snapshot_take(l->s.db, NULL, NULL, &snap));
	all.n = 0;
	for (int i = 0; i < l->done.n && l->done.o[i].moment <= moment; i++)
		add_op(&all, l->done.o[i]);
	if (own)
	{
		spec.own = l->open.b;
		spec.own_mark = UINT64_MAX;
		take_effect(&l->open.ops, &all, moment, INT64_MAX);
	}
	read_table(l, &spec, snap, &got);
	for (int r = 0; r < ROWS; r++)
		for (int q = 0; q < QUALS; q++)
		{
			bool any = model_value(l, &all, r, q, moment, &want);
			const buffer *b = &got.value[r][q];

			if (any != got.any[r][q] || b->len != want.len ||
				(want.len > 0 && memcmp(b->data, want.data, want.len) != 0))
				fail_msg("r%d q%d, moment %d of %d, own %d, operands %d: got %d\n%.*s\nwant "
						 "%d\n%.*s",
						 r, q, moment, l->moment, own, spec.operands, got.any[r][q], (int) b->len,
						 (const char *) b->data, any, (int) want.len, (const char *) want.data);
		}
	if (!spec.operands && got.any[row][qual])
	{
		const buffer *b = &got.value[row][qual];

		for (int r = 0; r < ROWS; r++)
		{
			bool is = got.any[r][qual] && got.value[r][qual].len == b->len &&
					  (b->len == 0 || memcmp(got.value[r][qual].data, b->data, b->len) == 0);

			same += is;
			other += got.any[r][qual] && !is;
		}
		assert_int_equal(count_rows(l, &spec, snap, WIDE_OP_EQ, qual,
									bytes((const char *) b->data, b->len)),
						 same);
		assert_int_equal(count_rows(l, &spec, snap, WIDE_OP_NE, qual,
									bytes((const char *) b->data, b->len)),
						 other);
	}
	buffer_free(&want);
	if (snap != h->s)
		wide_snapshot_release(snap);
}

static void
forget(life *l)
{
	for (int i = 0; i < SNAPS; i++)
		if (l->snaps[i].s != NULL)
		{
			wide_snapshot_release(l->snaps[i].s);
			l->snaps[i].s = NULL;
		}
}

/* ------------------------------------------------------------- random lives */

static void
write_batch(life *l, transaction *t, uint64_t k)
{
	begin(l, t);
	for (; k > 0; k--)
	{
		random_op(l, t);
		if (rnd(&l->r) % 8 == 0)
			undo(l, t);
		if (rnd(&l->r) % 16 == 0)
		{
			l->s.now += 3;
			wide_batch_command(t->b, 1 << 20);
		}
		if (t == &l->open && rnd(&l->r) % (k > 10 ? 100 : 4) == 0)
			ask(l);
	}
}

static void
step(life *l)
{
	uint64_t x = rnd(&l->r);

	switch (x % 16)
	{
		case 0:
		case 1:
			assert_ok(wide_flush(l->s.db));
			break;
		case 2:
			assert_ok(wide_compact(l->s.db, l->fam));
			break;
		case 3:
			store_work(&l->s);
			break;
		case 4:
		{
			held *h = &l->snaps[x >> 8 & 1];

			if (h->s != NULL)
				wide_snapshot_release(h->s);
			assert_ok(snapshot_take(l->s.db, NULL, NULL, &h->s));
			h->moment = l->moment;
			break;
		}
		case 5:
			forget(l);
			if (x >> 8 & 3)
				break;
			/* a crash: memory is lost, the log is replayed */
			if (l->late.b != NULL)
				wide_batch_free(l->late.b);
			l->late.b = NULL;
			store_close(&l->s);
			assert_ok(store_open(&l->s));
			break;
		case 6:
			/* files are written with timestamps of now, and linked later */
			if (l->late.b != NULL)
				finish(l, &l->late);
			else if (l->done.n < OPS / 2)
			{
				write_batch(l, &l->late, l->s.config.memtable_size / 80);
				assert_ok(wide_batch_prepare(l->late.b, 0));
				if (l->late.b->prepared.nfiles == 0)
					finish(l, &l->late);
			}
			break;
		default:
			if (l->done.n > OPS - 1000)
				break;
			write_batch(l, &l->open, 1 + (x >> 8 & 7));
			assert_ok(wide_batch_prepare(l->open.b, 0));
			finish(l, &l->open);
	}
	l->s.now += (int64_t) (x >> 40 & 15);
}

static void
test_random(void **state)
{
	static life l;

	(void) state;
	for (uint64_t seed = 1; seed <= 80; seed++)
	{
		memset(&l, 0, sizeof l);
		l.r = seed * 104729;
		store_init(&l.s);
		l.s.config.memtable_size = 65536;
		assert_ok(store_open(&l.s));
		wide_family_defaults(&l.opt);
		l.opt.merge = WIDE_MERGE_APPEND;
		l.opt.ttl_us = seed % 5 == 0 ? 200 : 0;
		if (seed % 4 == 1)
		{
			l.opt.compaction = WIDE_COMPACT_WINDOW;
			l.opt.window_us = 1 + seed % 40;
		}
		l.opt.block_size = 1024;
		store_table(&l.s, &l.opt, 1, &l.table, &l.fam);
		for (int i = 0; i < 150; i++)
		{
			step(&l);
			ask(&l);
		}
		forget(&l);
		if (l.late.b != NULL)
			wide_batch_free(l.late.b);
		assert_int_equal(store_verify(&l.s), 0);
		store_drop(&l.s);
	}
}

/* ------------------------------------------------------------ single cases */

static void
open_log(store *s, const wide_family_options *as, wide_family_id *fam)
{
	wide_family_options opt;
	wide_table_id table;

	store_init(s);
	s->config.memtable_size = 65536;
	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	if (as != NULL)
		opt = *as;
	opt.merge = WIDE_MERGE_APPEND;
	store_table(s, &opt, 1, &table, fam);
}

static wide_status
read_value(store *s, wide_family_id f, wide_batch *own, char *value)
{
	wide_scan_family fam = {.id = f, .want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range all = {.lo = {(const uint8_t *) "r", 1}, .hi = {(const uint8_t *) "s", 1}};
	wide_scan_spec spec = {.families = &fam,
						   .nfamilies = 1,
						   .ranges = &all,
						   .nranges = 1,
						   .now = s->now,
						   .own = own,
						   .own_mark = UINT64_MAX};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	wide_status st;

	strcpy(value, "-");
	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	if ((st = wide_scan_next(scan, &row)) == WIDE_OK)
	{
		assert_int_equal(row.ncells, 1);
		memcpy(value, row.cells[0].value.data, row.cells[0].value.len);
		value[row.cells[0].value.len] = 0;
	}
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	return st;
}

static void
same(store *s, wide_family_id f, const char *want)
{
	static char value[1 << 20];

	assert_int_equal(read_value(s, f, NULL, value), WIDE_OK);
	assert_string_equal(value, want);
}

static wide_status
count_entry(void *arg, const wide_raw_cell *c)
{
	(void) c;
	++*(int *) arg;
	return WIDE_OK;
}

static int
stored(store *s, wide_family_id f)
{
	int n = 0;

	assert_ok(wide_raw_row(s->db, f, text("r"), count_entry, &n));
	return n;
}

/* A batch that is prepared as files: its rows, and one operand. */
static wide_batch *
prepare_large(store *s, wide_family_id f, const char *value)
{
	wide_batch *b;
	char row[16];

	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_put(b, f, text("r"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0, text(value)));
	for (int i = 0; i < 1000; i++)
	{
		snprintf(row, sizeof row, "t%05d", i);
		assert_ok(wide_batch_put(b, f, text(row), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
								 text("0123456789012345678901234567890123456789")));
	}
	assert_ok(wide_batch_prepare(b, 0));
	assert_true(b->prepared.nfiles > 0);
	return b;
}

static void
finish_large(store *s, wide_batch *b)
{
	uint64_t lsn;

	assert_ok(wide_batch_finish(b, &lsn));
	assert_ok(s->db->log.sync(s->db->log.ctx, lsn));
	assert_ok(wide_publish(s->db, lsn));
	wide_batch_free(b);
}

/* What is in files that were linked between two commits stays between them, whatever its timestamp,
 * when the memtable that has both is flushed, and after compactions of some of the files. */
static void
test_between(void **state)
{
	(void) state;
	for (int early = 0; early < 2; early++)
	{
		store s;
		wide_family_id f;
		wide_batch *b;

		open_log(&s, NULL, &f);
		/* early: its timestamps are older than that of a */
		b = early ? prepare_large(&s, f, "B") : NULL;
		s.now += 10;
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "a");
		s.now += 10;
		b = early ? b : prepare_large(&s, f, "B");
		finish_large(&s, b);
		s.now += 10;
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "c");
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "d");
		same(&s, f, "aBcd");
		assert_ok(wide_flush(s.db));
		same(&s, f, "aBcd");
		/* c and d are folded, a and c are not */
		assert_int_equal(stored(&s, f), 3);
		store_close(&s);
		assert_ok(store_open(&s));
		same(&s, f, "aBcd");
		store_work(&s);
		same(&s, f, "aBcd");
		assert_ok(wide_compact(s.db, f));
		same(&s, f, "aBcd");
		assert_int_equal(stored(&s, f), 1);
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "e");
		same(&s, f, "aBcde");
		store_drop(&s);
	}
}

/* A clock that goes back, and stated timestamps, do not change the order. */
static void
test_clock(void **state)
{
	store s;
	wide_family_id f;

	(void) state;
	open_log(&s, NULL, &f);
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "a");
	s.now -= 1000;
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "b");
	store_put(&s, f, "r", "q", 5, "c");
	store_put(&s, f, "r", "q", s.now + 100000, "d");
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "e");
	same(&s, f, "abcde");
	assert_ok(wide_flush(s.db));
	same(&s, f, "abcde");
	assert_int_equal(stored(&s, f), 1);
	store_put(&s, f, "r", "q", 3, "f");
	assert_ok(wide_flush(s.db));
	assert_ok(wide_compact(s.db, f));
	same(&s, f, "abcdef");
	assert_int_equal(stored(&s, f), 1);
	store_drop(&s);
}

/* In one transaction stated timestamps are in their order, and come first, whichever they are. */
static void
test_stated(void **state)
{
	char value[100];

	(void) state;
	for (int large = 0; large < 2; large++)
	{
		store s;
		wide_family_id f;
		wide_batch *b;
		const wide_bytes r = text("r"), q = text("q");
		int64_t ahead;

		open_log(&s, NULL, &f);
		ahead = s.now + 100000;
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "0");
		assert_ok(wide_batch_new(s.db, &b));
		wide_batch_command(b, large ? 4096 : 1 << 20);
		assert_ok(wide_batch_put(b, f, r, q, WIDE_TS_AUTO, INT64_MIN, 0, text("3")));
		assert_ok(wide_batch_put(b, f, r, q, ahead, INT64_MIN, 0, text("2")));
		assert_ok(wide_batch_put(b, f, r, q, WIDE_TS_AUTO, INT64_MIN, 0, text("4")));
		for (int i = 0; large && i < 1000; i++)
			assert_ok(wide_batch_put(b, f, text("t"), q, WIDE_TS_AUTO, INT64_MIN, 0,
									 text("0123456789012345678901234567890123456789012345678901")));
		assert_ok(wide_batch_put(b, f, r, q, 5, INT64_MIN, 0, text("1")));
		assert_ok(wide_batch_put(b, f, r, q, ahead, INT64_MIN, 0, text("2'")));
		assert_ok(read_value(&s, f, b, value));
		assert_string_equal(value, "0122'34");
		assert_ok(store_commit(&s, b, NULL));
		same(&s, f, "0122'34");
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "5");
		assert_ok(wide_flush(s.db));
		same(&s, f, "0122'345");
		assert_ok(wide_compact(s.db, f));
		same(&s, f, "0122'345");
		assert_int_equal(stored(&s, f), 1);
		store_drop(&s);
	}
}

/* Nothing is above the end of time: automatic operands come behind it all the same. */
static void
test_end_of_time(void **state)
{
	(void) state;
	for (int large = 0; large < 2; large++)
	{
		for (int64_t back = 0; back < 3; back++)
		{
			store s;
			wide_family_id f;
			wide_batch *b;
			const wide_bytes r = text("r"), q = text("q");
			char value[100];

			open_log(&s, NULL, &f);
			store_put(&s, f, "r", "q", WIDE_TS_AUTO, "0");
			assert_ok(wide_batch_new(s.db, &b));
			assert_ok(wide_batch_put(b, f, r, q, WIDE_TS_AUTO, INT64_MIN, 0, text("2")));
			assert_ok(wide_batch_put(b, f, r, q, INT64_MAX - back, INT64_MIN, 0, text("1")));
			for (int i = 0; large && i < 1000; i++)
				assert_ok(
					wide_batch_put(b, f, text("t"), q, WIDE_TS_AUTO, INT64_MIN, 0,
								   text("0123456789012345678901234567890123456789012345678")));
			assert_ok(wide_batch_put(b, f, r, q, WIDE_TS_AUTO, INT64_MIN, 0, text("3")));
			assert_ok(read_value(&s, f, b, value));
			assert_string_equal(value, "0123");
			assert_ok(store_commit(&s, b, NULL));
			same(&s, f, "0123");
			store_put(&s, f, "r", "q", WIDE_TS_AUTO, "4");
			assert_ok(wide_flush(s.db));
			same(&s, f, "01234");
			assert_ok(wide_compact(s.db, f));
			same(&s, f, "01234");
			store_drop(&s);
		}
	}
}

/* Commits an operand as part of an external transaction. */
static void
put_external(store *s, wide_family_id f, uint64_t xid, const char *value)
{
	wide_batch *b;

	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_put(b, f, text("r"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0, text(value)));
	file_log_set_xid(&s->log, xid);
	assert_ok(wide_batch_prepare(b, xid));
	assert_ok(file_log_decide(&s->log, xid, true));
	finish_large(s, b);
	file_log_set_xid(&s->log, 0);
}

static bool
odd_runs(void *ctx, uint64_t xid)
{
	return xid % 2 == 1;
}

/* What a snapshot of the host sees in which transactions with odd numbers run. */
static void
same_external(store *s, wide_snapshot *held, wide_family_id f, const char *want)
{
	wide_snapshot *snap = held;
	char *got, all[100];

	if (held == NULL)
		assert_ok(snapshot_take(s->db, odd_runs, NULL, &snap));
	got = store_text(s, snap, &f, 1);
	snprintf(all, sizeof all, "=%s;", want);
	if (strstr(got, all) == NULL)
		fail_msg("got %s, want %s", got, want);
	free(got);
	if (held == NULL)
		wide_snapshot_release(snap);
}

/* Snapshots that see some of the operands in between only, taken before and after flushes. */
static void
test_external(void **state)
{
	(void) state;
	for (int hold = 0; hold < 2; hold++)
	{
		store s;
		wide_family_id f;
		wide_snapshot *held = NULL;

		open_log(&s, NULL, &f);
		s.oldest_external = 3;
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "a");
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "b");
		put_external(&s, f, 4, "c");
		put_external(&s, f, 3, "d");
		put_external(&s, f, 6, "e");
		put_external(&s, f, 8, "f");
		put_external(&s, f, 5, "g");
		put_external(&s, f, 10, "h");
		if (hold)
		{
			assert_ok(snapshot_take(s.db, odd_runs, NULL, &held));
			s.oldest_external = 0;
		}
		for (int i = 0; i < 4; i++)
		{
			same_external(&s, held, f, "abcefh");
			if (i < 3)
				assert_ok(i == 0 ? wide_flush(s.db) : wide_compact(s.db, f));
			else
				assert_true(stored(&s, f) > 2);
		}
		same(&s, f, "abcdefgh");
		if (held != NULL)
			wide_snapshot_release(held);
		s.oldest_external = 0;
		assert_ok(wide_compact(s.db, f));
		same(&s, f, "abcdefgh");
		assert_int_equal(stored(&s, f), 1);
		store_drop(&s);
	}
}

/* How much is folded: what no snapshot tells apart, nothing with a TTL. */
static void
test_folded(void **state)
{
	static const struct
	{
		int64_t ttl;
		bool snapshot;
		int left;
	} cases[] = {{0, false, 1}, {1 << 30, false, 10}, {0, true, 2}};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		wide_family_options opt;
		wide_family_id f;
		wide_snapshot *snap = NULL;
		store s;
		char c[2] = "a";

		wide_family_defaults(&opt);
		opt.ttl_us = cases[i].ttl;
		open_log(&s, &opt, &f);
		for (int k = 0; k < 10; k++, c[0]++)
		{
			s.now += 10;
			store_put(&s, f, "r", "q", WIDE_TS_AUTO, c);
			if (k == 4 && cases[i].snapshot)
				assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		}
		assert_ok(wide_flush(s.db));
		assert_int_equal(stored(&s, f), cases[i].left);
		same(&s, f, "abcdefghij");
		if (snap != NULL)
			wide_snapshot_release(snap);
		store_drop(&s);
	}
}

/* Each operand expires by itself. */
static void
test_expiry(void **state)
{
	wide_family_options opt;
	wide_family_id f;
	store s;
	char value[100];

	(void) state;
	wide_family_defaults(&opt);
	opt.ttl_us = 100;
	open_log(&s, &opt, &f);
	for (int i = 0; i < 3; i++)
	{
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, i == 0 ? "a" : i == 1 ? "b" : "c");
		s.now += 40;
	}
	same(&s, f, "bc");
	assert_ok(wide_flush(s.db));
	s.now += 40;
	same(&s, f, "c");
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "d");
	assert_ok(wide_flush(s.db));
	assert_ok(wide_compact(s.db, f));
	same(&s, f, "cd");
	s.now += 101;
	assert_int_equal(read_value(&s, f, NULL, value), WIDE_END);
	store_drop(&s);
}

/* More than a value can have: reads fail, and say where; all else goes on. */
static void
test_too_long(void **state)
{
	store s;
	wide_family_id f;
	wide_batch *b;
	char value[200], want[200];

	(void) state;
	append_most = 10;
	open_log(&s, NULL, &f);
	for (int i = 0; i < 3; i++)
	{
		store_put(&s, f, "r", "q", WIDE_TS_AUTO, "12345");
		if (i == 1)
			same(&s, f, "1234512345");
	}
	for (int i = 0; i < 3; i++)
	{
		assert_int_equal(read_value(&s, f, NULL, value), WIDE_LIMIT);
		snprintf(want, sizeof want,
				 "what was appended to column \"f0:q\" in row \"r\" of table \"t\" has more than "
				 "10 bytes");
		assert_string_equal(wide_error_text(), want);
		assert_ok(i == 0 ? wide_flush(s.db) : wide_compact(s.db, f));
		assert_int_equal(stored(&s, f), 2);
	}
	store_delete(&s, WIDE_DELETE_COLUMN, f, "r", "q", WIDE_TS_MAX);
	store_put(&s, f, "r", "q", WIDE_TS_AUTO, "a");
	same(&s, f, "a");
	assert_ok(wide_compact(s.db, f));
	same(&s, f, "a");
	/* in one transaction */
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 3; i++)
		assert_ok(wide_batch_put(b, f, text("r"), text("q"), WIDE_TS_AUTO, INT64_MIN, 0,
								 text("12345")));
	assert_int_equal(store_commit(&s, b, NULL), WIDE_LIMIT);
	same(&s, f, "a");
	append_most = WIDE_MAX_VALUE;
	store_drop(&s);
}

/* A column has more operands than a job holds: they stay as they are, and in their order. */
static void
test_many(void **state)
{
	store s;
	wide_family_id f;
	char want[1000] = "";

	(void) state;
	open_log(&s, NULL, &f);
	retention_appended_bytes = 10 * sizeof(append_part);
	for (int i = 0; i < 60; i++)
	{
		char value[8];
		wide_snapshot *snap;

		if (i % 20 == 0)
			assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		snprintf(value, sizeof value, "%d;", i);
		strcat(want, value);
		store_put(&s, f, "r", "q", i % 3 == 0 ? 1000 - i : WIDE_TS_AUTO, value);
		if (i % 20 == 19)
		{
			assert_ok(wide_flush(s.db));
			same(&s, f, want);
			wide_snapshot_release(snap);
			assert_ok(wide_compact(s.db, f));
		}
		same(&s, f, want);
	}
	assert_true(stored(&s, f) > 10);
	retention_appended_bytes = (size_t) 64 << 20;
	assert_ok(wide_compact(s.db, f));
	same(&s, f, want);
	store_drop(&s);
}

/* ---------------------------------------------------------------- retention */

static wide_status
keep_value(void *arg, const entry *e)
{
	buffer *out = arg;

	TRY(buffer_append(out, e->value, e->vlen));
	return buffer_append(out, e->seq == 60 ? "6 " : e->seq == 50 ? "5 " : "? ", 2);
}

/* Operands 10, 20, ..., 60: what is folded, where there may be others in between. */
static void
test_gap(void **state)
{
	static const struct
	{
		uint64_t from, to, horizon, known;
		const char *want;
	} cases[] = {
		{0, 0, 100, 100, "abcdef6 "},
		/* between the fifth and the sixth */
		{51, 59, 100, 100, "f6 abcde5 "},
		/* one that is in the job's files, too */
		{50, 50, 100, 100, "f6 e5 abcd? "},
		/* newer than the horizon, and then not known */
		{0, 0, 50, 50, "f6 abcde5 "},
	};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		retention_spec spec = {.horizon = cases[i].horizon,
							   .known = cases[i].known,
							   .gap_from = cases[i].from,
							   .gap_to = cases[i].to,
							   .fresh = 100};
		family_floor floors[FAMILY_FLOORS] = {{0}};
		retention *v;
		buffer got = {0};

		wide_family_defaults(&spec.family.opt);
		spec.family.opt.merge = WIDE_MERGE_APPEND;
		spec.floors = floors;
		assert_ok(retention_new(&spec, keep_value, &got, &v));
		for (int k = 6; k > 0; k--)
		{
			char c = (char) ('a' + k - 1);
			entry e = {.ukey = (const uint8_t *) "r\0\0q\0\0",
					   .klen = 6,
					   .rowlen = 3,
					   .ts = k,
					   .seq = (uint64_t) (10 * k),
					   .type = ENTRY_PUT,
					   .vlen = 1,
					   .value = (const uint8_t *) &c};

			assert_ok(retention_feed(v, &e));
		}
		assert_ok(retention_end(v));
		assert_ok(buffer_append(&got, "", 1));
		assert_string_equal((const char *) got.data, cases[i].want);
		retention_free(v);
		buffer_free(&got);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	 cmocka_unit_test(test_between),
		cmocka_unit_test(test_clock),	 cmocka_unit_test(test_stated),
		cmocka_unit_test(test_folded),	 cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_too_long), cmocka_unit_test(test_many),
		cmocka_unit_test(test_gap),		 cmocka_unit_test(test_end_of_time),
		cmocka_unit_test(test_external),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
