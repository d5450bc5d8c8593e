/*
 * fold_test.c - families with a merge operator: random lives of a store against a list of all
 * operands, in memory, in files, after compactions and crashes, for old and new snapshots, within
 * the transaction, as of a time.
 */
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/batch/batch.h"
#include "engine/set/pin.h"
#include "engine/read/fold.h"
#include "engine/scan/scan_state.h"

#define ROWS  6
#define QUALS 3
#define OPS	  6000
#define SNAPS 3
#define OWN	  INT32_MAX /* the moment of what is not committed */

/* An operand, or a delete of a column (of all columns: qual -1). */
typedef struct op
{
	int row, qual;
	bool delete, undone, automatic;
	int64_t ts;
	uint64_t number;
	int moment;
} op;

typedef struct held
{
	wide_snapshot *s;
	int moment;
} held;

typedef struct life
{
	store s;
	wide_family_options opt;
	wide_family_id fam[2];
	wide_table_id table;
	op ops[OPS]; /* in their order; those of the batch last */
	int n, committed, moment;
	held snaps[SNAPS];
	wide_batch *b;
	uint64_t r;
} life;

/* What a question is about, and its answer. */
typedef struct answer
{
	int row, qual, version;
	int64_t ts; /* 0: provisional */
	uint64_t number;
} answer;

static wide_bytes
name(const char *prefix, int i, char *buf)
{
	return bytes(buf, (size_t) snprintf(buf, 16, "%s%d", prefix, i));
}

/* ------------------------------------------------------------------ model */

static uint64_t
model_both(uint8_t kind, uint64_t a, uint64_t b)
{
	double x, y, z;

	memcpy(&x, &a, 8);
	memcpy(&y, &b, 8);
	z = kind == WIDE_MERGE_SUM_DOUBLE ? x + y : (x < y) == (kind == WIDE_MERGE_MIN_DOUBLE) ? x : y;
	switch (kind)
	{
		case WIDE_MERGE_SUM:
			return a + b;
		case WIDE_MERGE_MIN:
			return (int64_t) a < (int64_t) b ? a : b;
		case WIDE_MERGE_MAX:
			return (int64_t) a < (int64_t) b ? b : a;
		case WIDE_MERGE_OR:
			return a | b;
		case WIDE_MERGE_AND:
			return a & b;
		default:
			memcpy(&a, &z, 8);
			return a;
	}
}

static bool
model_counts(const life *l, int i, int moment, bool own)
{
	const op *o = &l->ops[i];

	if (o->delete || o->undone || (o->moment > moment && !(own && o->moment == OWN)))
		return false;
	if (l->opt.ttl_us > 0 && !(o->automatic && o->moment == OWN) &&
		o->ts < l->s.now - l->opt.ttl_us)
		return false;
	for (int k = i + 1; k < l->n; k++)
	{
		const op *d = &l->ops[k];

		if (d->delete &&!d->undone && d->row == o->row && (d->qual < 0 || d->qual == o->qual) &&
			(d->moment <= moment || (own && d->moment == OWN)))
			return false;
	}
	return true;
}

static int64_t
shown_ts(const op *o)
{
	return o->automatic && o->moment == OWN ? INT64_MAX - 1 : o->ts;
}

/* Of one column, all versions in their order; returns their number. */
static int
model_versions(const life *l, int row, int qual, int moment, bool own, answer *out)
{
	int n = 0;
	int64_t below = INT64_MAX;

	for (;;)
	{
		int64_t ts = INT64_MIN;
		answer a = {.row = row, .qual = qual, .version = n};
		bool any = false;

		/* the newest timestamp below the last one */
		for (int i = 0; i < l->n; i++)
			if (l->ops[i].row == row && l->ops[i].qual == qual && shown_ts(&l->ops[i]) < below &&
				shown_ts(&l->ops[i]) > ts && model_counts(l, i, moment, own))
				ts = shown_ts(&l->ops[i]);
		if (ts == INT64_MIN || n >= l->opt.versions)
			return n;
		for (int i = 0; i < l->n; i++)
			if (l->ops[i].row == row && l->ops[i].qual == qual && shown_ts(&l->ops[i]) <= ts &&
				model_counts(l, i, moment, own))
			{
				a.number = any ? model_both(l->opt.merge, a.number, l->ops[i].number)
							   : l->ops[i].number;
				any = true;
			}
		a.ts = ts == INT64_MAX - 1 ? 0 : ts;
		out[n++] = a;
		below = ts;
	}
}

/* -------------------------------------------------------------- operations */

static void
add_op(life *l, op o)
{
	assert_true(l->n < OPS);
	l->ops[l->n++] = o;
}

static uint64_t
operand(life *l)
{
	uint64_t x = rnd(&l->r), bits;
	double d = (double) (int64_t) (x % 2000) - 1000;

	if (l->opt.merge >= WIDE_MERGE_SUM_DOUBLE)
	{
		memcpy(&bits, &d, 8);
		return bits;
	}
	return x % 3 == 0 ? x : (uint64_t) ((int64_t) (x % 200) - 100);
}

static void
random_op(life *l)
{
	uint64_t x = rnd(&l->r);
	op o = {.row = (int) (x % ROWS), .qual = (int) (x >> 8 & 255) % QUALS, .moment = OWN};
	char row[16], qual[16];

	if ((x >> 16 & 31) == 0)
	{
		bool whole = x >> 24 & 1;

		o.delete = true;
		assert_ok(wide_batch_delete(l->b, whole ? WIDE_DELETE_FAMILY : WIDE_DELETE_COLUMN,
									l->fam[0], name("r", o.row, row), name("q", o.qual, qual),
									WIDE_TS_MAX));
		o.qual = whole ? -1 : o.qual;
	}
	else
	{
		uint64_t bytes8;

		o.number = operand(l);
		o.automatic = (x >> 32 & 3) != 0;
		o.ts = o.automatic ? 0 : l->s.now - 1 - (int64_t) (x >> 34 & 63);
		bytes8 = __builtin_bswap64(o.number);
		assert_ok(wide_batch_put(l->b, l->fam[0], name("r", o.row, row), name("q", o.qual, qual),
								 o.automatic ? WIDE_TS_AUTO : o.ts, INT64_MIN, 0,
								 bytes((const char *) &bytes8, 8)));
	}
	add_op(l, o);
}

static void
begin(life *l)
{
	assert_ok(wide_batch_new(l->s.db, &l->b));
	wide_batch_command(l->b, rnd(&l->r) % 4 == 0 ? 4096 : 1 << 20);
}

static void
commit(life *l)
{
	assert_ok(store_commit(&l->s, l->b, NULL));
	l->b = NULL;
	l->moment++;
	for (int i = l->committed; i < l->n; i++)
	{
		l->ops[i].moment = l->moment;
		if (l->ops[i].automatic)
			l->ops[i].ts = l->s.db->seg->commit.last_ts;
	}
	l->committed = l->n;
}

/* A part of the batch that is undone, as by ROLLBACK TO SAVEPOINT. */
static void
undo(life *l)
{
	uint64_t mark = wide_batch_mark(l->b);
	int from = l->n;

	for (uint64_t k = rnd(&l->r) % 4; k > 0; k--)
		random_op(l);
	wide_batch_rewind(l->b, mark);
	for (int i = from; i < l->n; i++)
		l->ops[i].undone = true;
}

/* --------------------------------------------------------------- questions */

static int
number_of(wide_bytes b)
{
	assert_int_equal(b.len, 2);
	return b.data[1] - '0';
}

static int
compare(const void *a, const void *b)
{
	const answer *x = a, *y = b;

	return x->row != y->row		? x->row - y->row
		   : x->qual != y->qual ? x->qual - y->qual
								: x->version - y->version;
}

static int
expected(const life *l, const wide_scan_spec *spec, int row, int moment, bool own, answer *out)
{
	int n = 0;

	for (int r = row < 0 ? 0 : row; r < (row < 0 ? ROWS : row + 1); r++)
		for (int q = 0; q < QUALS; q++)
		{
			answer v[OPS];
			int found = model_versions(l, r, q, moment, own, v), version = 0;

			for (int i = 0; i < found && version < spec->families->max_versions; i++)
			{
				int64_t ts = v[i].ts == 0 ? l->s.now : v[i].ts;

				if (spec->ts_max != 0 && (ts < spec->ts_min || ts >= spec->ts_max))
					continue;
				v[i].version = version++;
				if (spec->show_max != 0 && (ts < spec->show_min || ts >= spec->show_max))
					continue;
				out[n++] = v[i];
			}
		}
	return n;
}

static int
asked(life *l, const wide_scan_spec *spec, const wide_snapshot *snap, bool columns, answer *out)
{
	wide_scan *scan;
	wide_row row;
	wide_status st;
	int n = 0;

	assert_ok(wide_scan_open(l->s.db, snap, spec, &scan));
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];
			answer *a = &out[n++];

			assert_int_equal(c->value.len, 8);
			a->row = number_of(row.key);
			a->qual = columns ? c->column : number_of(c->qualifier);
			a->version = c->version;
			a->ts = c->provisional ? 0 : c->ts;
			memcpy(&a->number, c->value.data, 8);
			a->number = __builtin_bswap64(a->number);
		}
	assert_int_equal(st, WIDE_END);
	wide_scan_close(scan);
	qsort(out, (size_t) n, sizeof *out, compare);
	return n;
}

static void
ask(life *l)
{
	static answer want[OPS], got[OPS];
	uint64_t x = rnd(&l->r);
	char quals[QUALS][16], key[16];
	wide_bytes q[QUALS];
	wide_range range = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f = {.id = l->fam[0], .max_versions = 1 + (int) (x % 4)};
	wide_scan_spec spec = {.families = &f,
						   .nfamilies = 1,
						   .ranges = &range,
						   .nranges = 1,
						   .now = l->s.now,
						   .reverse = x >> 8 & 1,
						   .row_cells = x >> 9 & 1 ? 2 : 0};
	held *h = &l->snaps[x >> 10 & 3];
	wide_snapshot *snap = NULL;
	int moment = l->moment, row = -1, n, m;
	bool columns = x >> 14 & 1, own = l->b != NULL && (x >> 15 & 3) != 0;

	f.want = columns ? WIDE_WANT_COLUMNS : WIDE_WANT_ALL;
	for (int i = 0; i < QUALS; i++)
		q[i] = name("q", i, quals[i]);
	f.quals = q;
	f.nquals = columns ? QUALS : 0;
	if ((x >> 10 & 3) < SNAPS && h->s != NULL)
	{
		snap = h->s;
		moment = h->moment;
	}
	else
		assert_ok(snapshot_take(l->s.db, NULL, NULL, &snap));
	if (x >> 17 & 1)
	{
		row = (int) (x >> 20 & 255) % ROWS;
		range.lo = name("r", row, key);
		range.hi = bytes(key, 3);
		key[2] = 0;
	}
	if (own)
	{
		spec.own = l->b;
		spec.own_mark = UINT64_MAX;
	}
	if ((x >> 28 & 3) == 0)
	{
		spec.ts_min = x >> 30 & 1 ? INT64_MIN : l->s.now - 60;
		spec.ts_max = l->s.now - (int64_t) (x >> 32 & 63);
	}
	if ((x >> 38 & 3) == 0)
	{
		spec.show_min = x >> 40 & 1 ? INT64_MIN : l->s.now - (int64_t) (x >> 42 & 63);
		spec.show_max = x >> 41 & 1 ? INT64_MAX : l->s.now - (int64_t) (x >> 48 & 31);
	}
	n = expected(l, &spec, row, moment, own, want);
	m = asked(l, &spec, snap, columns, got);
	for (int i = 0; i < n || i < m; i++)
		if (i >= n || i >= m || compare(&want[i], &got[i]) != 0 || want[i].ts != got[i].ts ||
			want[i].number != got[i].number)
		{
			print_message("at %d:\n", i);
			for (int k = 0; k < n; k++)
				print_message("want r%d q%d %d @%lld %lld\n", want[k].row, want[k].qual,
							  want[k].version, (long long) want[k].ts, (long long) want[k].number);
			for (int k = 0; k < m; k++)
				print_message("got  r%d q%d %d @%lld %lld\n", got[k].row, got[k].qual,
							  got[k].version, (long long) got[k].ts, (long long) got[k].number);
			fail_msg(
				"answers differ: moment %d of %d, own %d, columns %d, max %d, limits %lld %lld, "
				"%lld %lld",
				moment, l->moment, own, columns, f.max_versions, (long long) spec.ts_min,
				(long long) spec.ts_max, (long long) spec.show_min, (long long) spec.show_max);
		}
	if (snap != h->s)
		wide_snapshot_release(snap);
}

static void
forget_snapshots(life *l)
{
	for (int i = 0; i < SNAPS; i++)
		if (l->snaps[i].s != NULL)
		{
			wide_snapshot_release(l->snaps[i].s);
			l->snaps[i].s = NULL;
		}
}

static void
step(life *l)
{
	uint64_t x = rnd(&l->r);

	switch (x % 16)
	{
		case 0:
			assert_ok(wide_flush(l->s.db));
			break;
		case 1:
			assert_ok(wide_compact(l->s.db, l->fam[0]));
			break;
		case 2:
			store_work(&l->s);
			break;
		case 3:
		{
			held *h = &l->snaps[x >> 8 & 1];

			if (h->s != NULL)
				wide_snapshot_release(h->s);
			assert_ok(snapshot_take(l->s.db, NULL, NULL, &h->s));
			h->moment = l->moment;
			break;
		}
		case 4:
			if (x >> 8 & 3)
				break;
			/* a crash: memory is lost, the log is replayed */
			forget_snapshots(l);
			store_close(&l->s);
			assert_ok(store_open(&l->s));
			break;
		case 5:
			forget_snapshots(l);
			break;
		default:
			begin(l);
			/* some batches spill, and become files */
			for (uint64_t k = l->n < 2000 && (x >> 12 & 31) == 0 ? 700 : 1 + (x >> 8 & 7); k > 0;
				 k--)
			{
				random_op(l);
				if (rnd(&l->r) % 8 == 0)
					undo(l);
				if (rnd(&l->r) % (k > 10 ? 100 : 4) == 0)
					ask(l);
			}
			commit(l);
	}
	l->s.now += (int64_t) (x >> 40 & 15);
}

static void
test_random(void **state)
{
	static life l;

	(void) state;
	for (uint64_t seed = 1; seed <= 60; seed++)
	{
		memset(&l, 0, sizeof l);
		l.r = seed * 104729;
		store_init(&l.s);
		l.s.config.memtable_size = seed % 2 == 0 ? 65536 : 256 * 1024;
		assert_ok(store_open(&l.s));
		wide_family_defaults(&l.opt);
		l.opt.merge = (uint8_t) (1 + seed % WIDE_MERGE_MAX_DOUBLE);
		l.opt.versions = seed % 3 == 0 ? 3 : 1;
		l.opt.ttl_us = seed % 5 == 0 ? 200 : 0;
		l.opt.bloom = (uint8_t) (seed % 3);
		l.opt.block_size = 1024;
		store_table(&l.s, &l.opt, 2, &l.table, l.fam);
		for (int i = 0; i < 100; i++)
		{
			step(&l);
			ask(&l);
			ask(&l);
		}
		forget_snapshots(&l);
		assert_int_equal(store_verify(&l.s), 0);
		store_drop(&l.s);
	}
}

/* A version of the set that has a memtable's files does not have the memtable, also while it is not
 * marked as flushed yet. */
static void
test_once(void **state)
{
	store s;
	version_pin pin;
	wide_family_options opt;
	wide_family_id fam;
	wide_table_id table;
	memtable *t;

	(void) state;
	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.merge = WIDE_MERGE_SUM;
	store_table(&s, &opt, 1, &table, &fam);
	store_put(&s, fam, "r", "q", WIDE_TS_AUTO, "12345678");
	t = &s.db->seg->memtables[s.db->seg->commit.active];
	assert_ok(pin_take(s.db, &pin));
	assert_int_equal(pin.nmemtables, 1);
	assert_ok(wide_flush(s.db));
	pin_drop(s.db, &pin);
	/* as a reader finds it that comes between the two steps of the flush */
	assert_int_not_equal(atomic_load(&t->state), MEMTABLE_ACTIVE);
	atomic_store(&t->state, MEMTABLE_IMMUTABLE);
	assert_ok(pin_take(s.db, &pin));
	for (int i = 0; i < pin.nmemtables; i++)
		assert_ptr_not_equal(&s.db->seg->memtables[pin.memtables[i]], t);
	pin_drop(s.db, &pin);
	store_drop(&s);
}

/* What cannot be an operand, a delete or a change of the family is refused. */
static void
test_refused(void **state)
{
	store s;
	wide_batch *b;
	wide_family_options opt;
	wide_family_id fam;
	wide_table_id table;
	wide_bytes r = text("r"), q = text("q"), eight = text("12345678");

	(void) state;
	store_init(&s);
	assert_ok(store_open(&s));
	wide_family_defaults(&opt);
	opt.merge = WIDE_MERGE_SUM;
	opt.keep_deleted = 1;
	assert_ok(wide_batch_new(s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "u", &table));
	assert_int_equal(wide_batch_create_family(b, table, "f", &opt, &fam), WIDE_INVALID);
	opt.keep_deleted = 0;
	opt.versions = 3;
	assert_ok(wide_batch_create_family(b, table, "f", &opt, &fam));
	opt.merge = WIDE_MERGE_MAX;
	assert_int_equal(wide_batch_alter_family(b, fam, &opt), WIDE_INVALID);
	opt.merge = WIDE_MERGE_SUM;
	opt.versions = 4;
	assert_int_equal(wide_batch_alter_family(b, fam, &opt), WIDE_INVALID);
	opt.versions = 3;
	opt.block_size = 4096;
	assert_ok(wide_batch_alter_family(b, fam, &opt));
	assert_ok(wide_batch_put(b, fam, r, q, 5, INT64_MIN, 0, eight));
	assert_int_equal(wide_batch_put(b, fam, r, q, 5, INT64_MIN, 7, eight), WIDE_INVALID);
	assert_int_equal(wide_batch_put(b, fam, r, q, 5, INT64_MIN, 0, q), WIDE_INVALID);
	assert_int_equal(wide_batch_put(b, fam, r, q, 5, INT64_MIN, 0, text("")), WIDE_INVALID);
	assert_ok(wide_batch_put(b, fam, r, text(""), 5, INT64_MIN, 0, text("")));
	assert_int_equal(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam, r, q, 5), WIDE_INVALID);
	assert_int_equal(wide_batch_delete(b, WIDE_DELETE_VERSION, fam, r, q, WIDE_TS_MAX),
					 WIDE_INVALID);
	assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, fam, r, q, WIDE_TS_MAX));
	assert_ok(wide_batch_delete(b, WIDE_DELETE_FAMILY, fam, r, q, WIDE_TS_MAX));
	wide_batch_free(b);
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
