/*
 * fold_test.c - families with a merge operator: random lives of a store against a list of all
 * operands, in memory, in files, after compactions and crashes, for old and new snapshots, within
 * the transaction, as of a time.
 */
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/batch/batch.h"
#include "engine/compaction/retention.h"
#include "engine/set/edit.h"
#include "engine/set/pin.h"
#include "engine/read/fold.h"
#include "engine/scan/scan_state.h"

#define ROWS  6
#define QUALS 6
#define FQ	  3 /* of each of two families */
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

		if (d->delete &&!d->undone && d->row == o->row &&
			(d->qual < 0 ? -1 - d->qual == o->qual / FQ : d->qual == o->qual) &&
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
									l->fam[o.qual / FQ], name("r", o.row, row),
									name("q", o.qual % FQ, qual), WIDE_TS_MAX));
		o.qual = whole ? -1 - o.qual / FQ : o.qual;
	}
	else
	{
		uint64_t bytes8;

		o.number = operand(l);
		o.automatic = (x >> 32 & 3) != 0;
		o.ts = o.automatic ? 0 : l->s.now - 1 - (int64_t) (x >> 34 & 63);
		bytes8 = __builtin_bswap64(o.number);
		assert_ok(wide_batch_put(l->b, l->fam[o.qual / FQ], name("r", o.row, row),
								 name("q", o.qual % FQ, qual), o.automatic ? WIDE_TS_AUTO : o.ts,
								 INT64_MIN, 0, bytes((const char *) &bytes8, 8)));
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

typedef struct question
{
	wide_scan_spec spec;
	int test; /* column tested; -1: none */
	int op;	  /* 0: IS NULL, 1: NOT NULL, 2: value > 0 (signed), 3: time >= x */
	int64_t x;
	bool one; /* only family 0 */
	bool columns, range;
	bool exists;
	int lo, hi; /* of range: qualifiers within family */
	bool interrupt;
} question;

static bool
wanted(const question *k, int q)
{
	if (k->one && q >= FQ)
		return false;
	if (k->exists)
		return false;
	return !k->range || (q % FQ >= k->lo && q % FQ < k->hi);
}

static int
expected(const life *l, const question *k, int row, int moment, bool own, answer *out)
{
	int n = 0;
	const wide_scan_spec *spec = &k->spec;

	for (int r = row < 0 ? 0 : row; r < (row < 0 ? ROWS : row + 1); r++)
	{
		int from = n;
		bool pass = k->test < 0, any = false;
		answer last = {0};
		bool has = false;

		for (int q = 0; q < QUALS; q++)
		{
			static answer v[OPS];
			int found = model_versions(l, r, q, moment, own, v), version = 0;
			bool first = true;

			if (k->one && q >= FQ)
				continue;
			for (int i = 0; i < found && version < spec->families->max_versions; i++)
			{
				int64_t ts = v[i].ts == 0 ? l->s.now : v[i].ts;

				if (spec->ts_max != 0 && (ts < spec->ts_min || ts >= spec->ts_max))
					continue;
				v[i].version = version++;
				if (spec->show_max != 0 && (ts < spec->show_min || ts >= spec->show_max))
					continue;
				if (q == k->test && first)
				{
					has = true;
					last = v[i];
				}
				first = false;
				any |= k->exists || k->columns || !k->range || wanted(k, q) || q == k->test;
				if (wanted(k, q))
					out[n++] = v[i];
			}
		}
		if (k->test >= 0)
		{
			int64_t ts = last.ts == 0 ? l->s.now : last.ts;

			pass = k->op == 0	? !has
				   : k->op == 1 ? has
				   : k->op == 2 ? has && (int64_t) last.number > 0
								: has && ts >= k->x;
		}
		if (!pass)
			n = from;
		else if (spec->row_limit != 0 && n - from > (int) spec->row_limit)
			n = from + (int) spec->row_limit;
		if (k->exists && pass && any)
			out[n++] = (answer) {.row = r};
	}
	return n;
}

static int
asked(life *l, question *k, const wide_snapshot *snap, answer *out)
{
	wide_scan *scan;
	wide_row row;
	wide_status st;
	int n = 0, left = k->interrupt ? 50 : 0;

	assert_ok(wide_scan_open(l->s.db, snap, &k->spec, &scan));
	for (;;)
	{
		if (left > 0)
		{
			l->s.interrupt_after = 1 + (int) (rnd(&l->r) % 3);
			left--;
		}
		st = wide_scan_next(scan, &row);
		l->s.interrupt_after = 0;
		if (st == WIDE_INTERRUPTED)
			continue;
		if (st != WIDE_OK)
			break;
		if (k->exists)
		{
			assert_int_equal(row.ncells, 0);
			out[n++] = (answer) {.row = number_of(row.key)};
		}
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];
			answer *a = &out[n++];

			assert_int_equal(c->value.len, 8);
			a->row = number_of(row.key);
			a->qual = (k->columns ? c->column : number_of(c->qualifier)) + FQ * c->family;
			a->version = c->version;
			a->ts = c->provisional ? 0 : c->ts;
			memcpy(&a->number, c->value.data, 8);
			a->number = __builtin_bswap64(a->number);
		}
	}
	if (st != WIDE_END)
		fail_msg("scan: %d %s", st, wide_error_text());
	wide_scan_close(scan);
	return n;
}

/* Which cells of a row come first depends on the order of families: only their number in each row
 * is compared. */
static void
same_counts(const answer *want, int n, const answer *got, int m)
{
	int a[ROWS] = {0}, b[ROWS] = {0};

	for (int i = 0; i < n; i++)
		a[want[i].row]++;
	for (int i = 0; i < m; i++)
		b[got[i].row]++;
	for (int i = 0; i < ROWS; i++)
		assert_int_equal(a[i], b[i]);
}

static void
ask(life *l)
{
	static answer want[OPS], got[OPS];
	uint64_t x = rnd(&l->r), y = rnd(&l->r);
	char quals[FQ][16], key[16], tq[16];
	uint8_t value[8] = {0};
	wide_bytes q[FQ], qr[2], pv = {value, 8};
	wide_range range = {{(const uint8_t *) "", 0}, {NULL, 0}};
	wide_scan_family f[2] = {{.id = l->fam[0], .max_versions = 1 + (int) (x % 4)},
							 {.id = l->fam[1], .max_versions = 1 + (int) (x % 4)}};
	question k = {.test = -1, .one = y & 1, .interrupt = (y >> 1 & 3) == 0};
	wide_predicate p = {0};
	wide_scan_spec spec = {.families = f,
						   .nfamilies = k.one ? 1 : 2,
						   .ranges = &range,
						   .nranges = 1,
						   .now = l->s.now,
						   .reverse = x >> 8 & 1,
						   .row_cells = x >> 9 & 1 ? 1 + (y >> 4 & 1) : 0,
						   .row_limit = (y >> 6 & 3) == 0 ? 1 + (y >> 8 & 3) : 0};
	held *h = &l->snaps[x >> 10 & 3];
	wide_snapshot *snap = NULL;
	int moment = l->moment, row = -1, n, m;
	bool own = l->b != NULL && (x >> 15 & 3) != 0;

	k.columns = x >> 14 & 1;
	k.range = !k.columns && (y >> 10 & 3) == 0;
	k.exists = (y >> 12 & 7) == 0;
	for (int i = 0; i < FQ; i++)
		q[i] = name("q", i, quals[i]);
	k.lo = (int) (y >> 16 & 255) % FQ;
	k.hi = k.lo + 1 + (int) (y >> 24 & 1);
	if (k.hi > FQ)
		k.hi = FQ;
	qr[0] = q[k.lo];
	qr[1] = k.hi < FQ ? q[k.hi] : (wide_bytes) {NULL, 0};
	for (int i = 0; i < 2; i++)
	{
		f[i].want = k.exists	? WIDE_WANT_EXISTS
					: k.columns ? WIDE_WANT_COLUMNS
					: k.range	? WIDE_WANT_RANGE
								: WIDE_WANT_ALL;
		f[i].quals = k.range ? qr : q;
		f[i].nquals = k.exists ? 0 : k.columns ? FQ : k.range ? (qr[1].data ? 2 : 1) : 0;
	}
	if ((y >> 28 & 1))
	{
		k.test = (int) (y >> 32 & 255) % (k.one ? FQ : QUALS);
		k.op = (int) (y >> 40 & 3);
		k.op = own && k.op == 3 ? 1 : k.op;
		k.x = l->s.now - (int64_t) (y >> 42 & 63);
		p.family = k.test / FQ;
		p.qualifier = name("q", k.test % FQ, tq);
		p.op = k.op == 0   ? WIDE_OP_IS_NULL
			   : k.op == 1 ? WIDE_OP_NOT_NULL
			   : k.op == 2 ? WIDE_OP_GT
						   : WIDE_OP_GE;
		p.kind = k.op == 3 ? WIDE_KIND_TIME : WIDE_KIND_SIGNED;
		if (k.op >= 2)
		{
			uint64_t v = __builtin_bswap64(k.op == 3 ? (uint64_t) k.x : 0);
			memcpy(value, &v, 8);
			p.values = &pv;
			p.nvalues = 1;
		}
		spec.predicates = &p;
		spec.npredicates = 1;
	}
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
	/* what is not committed has a timestamp that the model does not know */
	if (!own && (x >> 28 & 3) == 0)
	{
		spec.ts_min = x >> 30 & 1 ? INT64_MIN : l->s.now - 60;
		spec.ts_max = l->s.now - (int64_t) (x >> 32 & 63);
	}
	if (!own && (x >> 38 & 3) == 0)
	{
		spec.show_min = x >> 40 & 1 ? INT64_MIN : l->s.now - (int64_t) (x >> 42 & 63);
		spec.show_max = x >> 41 & 1 ? INT64_MAX : l->s.now - (int64_t) (x >> 48 & 31);
	}
	k.spec = spec;
	n = expected(l, &k, row, moment, own, want);
	m = asked(l, &k, snap, got);
	if (spec.row_limit == 0)
	{
		qsort(got, (size_t) m, sizeof *got, compare);
		qsort(want, (size_t) n, sizeof *want, compare);
	}
	else if (spec.reverse || k.test >= 0)
	{
		same_counts(want, n, got, m);
		n = m = 0;
	}
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
				"%lld %lld; test %d op %d x %lld one %d range %d exists %d reverse %d limit %d "
				"cells %d int %d",
				moment, l->moment, own, k.columns, f->max_versions, (long long) spec.ts_min,
				(long long) spec.ts_max, (long long) spec.show_min, (long long) spec.show_max,
				k.test, k.op, (long long) k.x, k.one, k.range, k.exists, spec.reverse,
				spec.row_limit, spec.row_cells, k.interrupt);
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
			assert_ok(wide_compact(l->s.db, l->fam[x >> 8 & 1]));
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
				if (rnd(&l->r) % 16 == 0)
				{
					l->s.now += 3;
					wide_batch_command(l->b, 1 << 20);
				}
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
	for (uint64_t seed = 1; seed <= 80; seed++)
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
		if (seed % 4 == 1)
		{
			l.opt.compaction = WIDE_COMPACT_WINDOW;
			l.opt.window_us = 1 + seed % 40;
		}
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

/* ------------------------------------------------------------ single cases */

static void
open_sums(store *s, const wide_family_options *as, wide_family_id *fam)
{
	wide_family_options opt;
	wide_table_id table;

	assert_ok(store_open(s));
	wide_family_defaults(&opt);
	if (as != NULL)
		opt = *as;
	opt.merge = WIDE_MERGE_SUM;
	store_table(s, &opt, 1, &table, fam);
}

static void
put_number(wide_batch *b, wide_family_id f, const char *row, int64_t ts, uint64_t n)
{
	uint64_t v = __builtin_bswap64(n);

	assert_ok(wide_batch_put(b, f, text(row), text("q"), ts, INT64_MIN, 0,
							 bytes((const char *) &v, 8)));
}

static void
add_number(store *s, wide_family_id f, const char *row, int64_t ts, uint64_t n)
{
	wide_batch *b;

	assert_ok(wide_batch_new(s->db, &b));
	put_number(b, f, row, ts, n);
	assert_ok(store_commit(s, b, NULL));
}

/* Reads all versions of all rows, or all operands: returns their number, and the sum. */
static int
read_all(store *s, wide_family_id f, wide_batch *own, bool operands, uint64_t *sum)
{
	wide_scan_family fam = {.id = f, .want = WIDE_WANT_ALL, .max_versions = 1000};
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_scan_spec spec = {.families = &fam,
						   .nfamilies = 1,
						   .ranges = &all,
						   .nranges = 1,
						   .now = s->now,
						   .own = own,
						   .own_mark = UINT64_MAX,
						   .operands = operands};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	int n = 0;

	*sum = 0;
	assert_ok(snapshot_take(s->db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++, n++)
		{
			uint64_t v = 0;

			memcpy(&v, row.cells[i].value.data, row.cells[i].value.len);
			*sum += __builtin_bswap64(v);
		}
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	return n;
}

static wide_status
count_entry(void *arg, const wide_raw_cell *c)
{
	(void) c;
	++*(int *) arg;
	return WIDE_OK;
}

static int
stored(store *s, wide_family_id f, const char *row)
{
	int n = 0;

	assert_ok(wide_raw_row(s->db, f, text(row), count_entry, &n));
	return n;
}

/* How much is folded: up to the last version, what no snapshot tells apart, nothing with a TTL. */
static void
test_folded(void **state)
{
	static const struct
	{
		int32_t versions;
		int64_t ttl;
		bool snapshot;
		int left, operands;
	} cases[] = {{1, 0, false, 1, 1},
				 {3, 0, false, 3, 3},
				 {1, 1 << 30, false, 10, 10},
				 {1, 0, true, 2, 2},
				 {3, 0, true, 8, 8}};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		wide_family_options opt;
		wide_family_id f;
		wide_snapshot *snap = NULL;
		uint64_t sum;
		store s;

		store_init(&s);
		wide_family_defaults(&opt);
		opt.versions = cases[i].versions;
		opt.ttl_us = cases[i].ttl;
		open_sums(&s, &opt, &f);
		for (int k = 0; k < 10; k++)
		{
			s.now += 10;
			add_number(&s, f, "r", WIDE_TS_AUTO, 1);
			if (k == 4 && cases[i].snapshot)
				assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		}
		assert_int_equal(read_all(&s, f, NULL, true, &sum), 10);
		assert_int_equal(sum, 10);
		assert_ok(wide_flush(s.db));
		assert_int_equal(stored(&s, f, "r"), cases[i].left);
		assert_int_equal(read_all(&s, f, NULL, true, &sum), cases[i].operands);
		assert_int_equal(sum, 10);
		if (snap != NULL)
			wide_snapshot_release(snap);
		store_drop(&s);
	}
}

/* Operands of no bytes, which are markers, between others. */
static void
test_empty(void **state)
{
	store s;
	wide_family_id f;
	uint64_t sum, v = __builtin_bswap64(5);

	(void) state;
	store_init(&s);
	open_sums(&s, NULL, &f);
	for (int i = 0; i < 6; i++)
	{
		wide_batch *b;

		assert_ok(wide_batch_new(s.db, &b));
		assert_ok(wide_batch_put(b, f, text("r"), text(""), WIDE_TS_AUTO, INT64_MIN, 0,
								 bytes((const char *) &v, i % 3 == 1 ? 8 : 0)));
		if (i % 2 == 0)
			assert_ok(wide_batch_put(b, f, text("r"), text(""), WIDE_TS_AUTO, INT64_MIN, 0,
									 text("")));
		assert_ok(store_commit(&s, b, NULL));
		assert_int_equal(read_all(&s, f, NULL, false, &sum), 1);
		assert_int_equal(sum, i < 1 ? 0 : i < 4 ? 5 : 10);
		if (i % 2 == 1)
			assert_ok(wide_flush(s.db));
	}
	assert_ok(wide_compact(s.db, f));
	assert_int_equal(stored(&s, f, "r"), 1);
	assert_int_equal(read_all(&s, f, NULL, false, &sum), 1);
	assert_int_equal(sum, 10);
	store_drop(&s);
}

/* Within the transaction all automatic operands are one version, as they will be. */
static void
test_own(void **state)
{
	store s;
	wide_batch *b;
	wide_family_options opt;
	wide_family_id f;
	uint64_t sum;

	(void) state;
	store_init(&s);
	wide_family_defaults(&opt);
	opt.versions = 3;
	open_sums(&s, &opt, &f);
	add_number(&s, f, "r", WIDE_TS_AUTO, 100);
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 3; i++)
	{
		put_number(b, f, "r", WIDE_TS_AUTO, 1);
		s.now += 10;
		wide_batch_command(b, 1 << 20);
		/* another transaction is ahead meanwhile */
		if (i == 1)
			add_number(&s, f, "r", WIDE_TS_AUTO, 1000);
	}
	assert_int_equal(read_all(&s, f, b, false, &sum), 3);
	assert_int_equal(sum, 1103 + 1100 + 100);
	assert_ok(store_commit(&s, b, NULL));
	assert_int_equal(read_all(&s, f, NULL, false, &sum), 3);
	assert_int_equal(sum, 1103 + 1100 + 100);
	store_drop(&s);
}

/* Rows that a predicate rejects leave no memory behind. */
static void
test_rejected(void **state)
{
	store s;
	wide_family_id f;
	uint8_t value[8] = {0, 0, 0, 0, 0, 0, 0, 9};
	wide_bytes pv = {value, 8};
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_predicate p = {.op = WIDE_OP_GT,
						.kind = WIDE_KIND_SIGNED,
						.qualifier = text("q"),
						.values = &pv,
						.nvalues = 1};
	wide_scan_family fam = {.want = WIDE_WANT_ALL, .max_versions = 1};
	wide_scan_spec spec = {.families = &fam,
						   .nfamilies = 1,
						   .ranges = &all,
						   .nranges = 1,
						   .predicates = &p,
						   .npredicates = 1};
	wide_batch *b;
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row r;
	size_t size = 0;

	(void) state;
	store_init(&s);
	s.config.memtable_size = 8 << 20;
	open_sums(&s, NULL, &f);
	fam.id = f;
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 20000; i++)
	{
		char row[16];

		snprintf(row, sizeof row, "r%05d", i);
		put_number(b, f, row, WIDE_TS_AUTO, 1);
	}
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
	assert_ok(wide_scan_open(s.db, snap, &spec, &scan));
	assert_int_equal(wide_scan_next(scan, &r), WIDE_END);
	for (chunk *c = scan_state_of(scan)->out.arena; c != NULL; c = c->next)
		size += c->size;
	assert_true(size < 65536);
	wide_scan_close(scan);
	wide_snapshot_release(snap);
	store_drop(&s);
}

/* Windows bring operands of one batch into several files: what is folded must not get the key of
 * another operand. */
static void
test_same_key(void **state)
{
	store s;
	wide_batch *b;
	wide_family_options opt;
	wide_family_id f;
	uint64_t sum;
	char row[8];

	(void) state;
	store_init(&s);
	wide_family_defaults(&opt);
	opt.compaction = WIDE_COMPACT_WINDOW;
	opt.window_us = 10;
	open_sums(&s, &opt, &f);
	/* fifteen windows have files of their own, the last file has all others */
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 1; i <= 15; i++)
	{
		snprintf(row, sizeof row, "a%02d", i);
		put_number(b, f, row, 1000 + 10 * i, 0);
	}
	put_number(b, f, "b", 2000, 0);
	put_number(b, f, "r", 500, 1);
	assert_ok(store_commit(&s, b, NULL));
	assert_ok(wide_flush(s.db));
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 1; i <= 14; i++)
	{
		snprintf(row, sizeof row, "a%02d", i);
		put_number(b, f, row, 1001 + 10 * i, 0);
	}
	put_number(b, f, "aa", 501, 0);
	put_number(b, f, "b", 2001, 0);
	put_number(b, f, "r", 500, 10);
	put_number(b, f, "r", 400, 100);
	{
		wide_snapshot *snap;

		/* it keeps the flush from folding the two */
		assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		assert_ok(store_commit(&s, b, NULL));
		assert_ok(wide_flush(s.db));
		wide_snapshot_release(snap);
	}
	for (int i = 0; i < 60 && wide_work(s.db) == WIDE_OK; i++)
	{
		(void) read_all(&s, f, NULL, false, &sum);
		assert_int_equal(sum, 111);
	}
	store_drop(&s);
}

/* A batch that becomes files in a replay, because memtables are smaller now; the manifest lists
 * them, and then the log is replayed once more. */
static void
test_replayed(void **state)
{
	store s;
	wide_batch *b;
	wide_family_id f;
	version_edit nothing = {.memtable = -1};
	uint64_t sum;
	char row[16];

	(void) state;
	store_init(&s);
	s.config.memtable_size = 1 << 20;
	open_sums(&s, NULL, &f);
	assert_ok(wide_flush(s.db));
	assert_ok(wide_batch_new(s.db, &b));
	for (int i = 0; i < 1000; i++)
	{
		snprintf(row, sizeof row, "r%05d", i);
		put_number(b, f, row, WIDE_TS_AUTO, 1);
	}
	assert_ok(store_commit(&s, b, NULL));
	store_close(&s);
	s.config.memtable_size = 65536;
	assert_ok(store_open(&s));
	assert_true(store_files(&s, f, -1) > 0);
	assert_ok(edit_apply(s.db, &nothing));
	store_close(&s);
	s.config.memtable_size = 1 << 20;
	assert_ok(store_open(&s));
	for (int i = 0; i < 1000; i++)
	{
		snprintf(row, sizeof row, "r%05d", i);
		add_number(&s, f, row, WIDE_TS_AUTO, 1);
	}
	assert_ok(wide_flush(s.db));
	assert_int_equal(read_all(&s, f, NULL, false, &sum), 1000);
	assert_int_equal(sum, 2000);
	store_drop(&s);
}

/* ------------------------------------------------------------- registers */

#define COUNTED 3

typedef uint8_t counted[COUNTED][WIDE_HLL_REGISTERS];

static counted registers;

/* Some registers of a row, as the value of a put and in the model. */
static void
put_registers(wide_batch *b, wide_family_id f, uint64_t *r, int row, bool keeps)
{
	uint8_t value[3 * FOLD_SPARSE];
	uint32_t n = 0, at = (uint32_t) (rnd(r) % 500);
	char key[16];

	for (; at < WIDE_HLL_REGISTERS && n < FOLD_SPARSE; at += 1 + (uint32_t) (rnd(r) % 2000))
	{
		uint8_t v = (uint8_t) (1 + rnd(r) % 20);

		value[3 * n] = (uint8_t) (at >> 8);
		value[3 * n + 1] = (uint8_t) at;
		value[3 * n++ + 2] = v;
		if (keeps && v > registers[row][at])
			registers[row][at] = v;
	}
	assert_ok(wide_batch_put(b, f, name("r", row, key), text("q"),
							 rnd(r) % 3 == 0 ? 5 + (int64_t) (rnd(r) % 3) : WIDE_TS_AUTO, INT64_MIN,
							 0, bytes((const char *) value, 3 * (size_t) n)));
}

/* snap: NULL for a new one, else `want` is what it sees. */
static void
same_registers(store *s, wide_family_id f, wide_batch *own, wide_snapshot *snap, counted want)
{
	wide_scan_family fam = {.id = f, .want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_scan_spec spec = {.families = &fam,
						   .nfamilies = 1,
						   .ranges = &all,
						   .nranges = 1,
						   .now = s->now,
						   .own = own,
						   .own_mark = UINT64_MAX};
	counted got = {0};
	wide_snapshot *taken = NULL;
	wide_scan *scan;
	wide_row row;

	if (snap == NULL)
	{
		assert_ok(snapshot_take(s->db, NULL, NULL, &taken));
		snap = taken;
	}
	assert_ok(wide_scan_open(s->db, snap, &spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
	{
		fold value = {.registers = got[number_of(row.key)]};

		assert_int_equal(row.ncells, 1);
		assert_ok(fold_take(WIDE_MERGE_HLL, &value, row.cells[0].value.data,
							(uint32_t) row.cells[0].value.len));
	}
	assert_memory_equal(got, want, sizeof got);
	wide_scan_close(scan);
	if (taken != NULL)
		wide_snapshot_release(taken);
}

/* Counts of distinct values: few registers and many, in all states, under snapshots. */
static void
test_registers(void **state)
{
	(void) state;
	for (uint64_t seed = 1; seed <= 12; seed++)
	{
		uint64_t r = seed * 6700417;
		wide_family_options opt;
		wide_family_id f;
		wide_table_id table;
		wide_snapshot *held = NULL;
		counted then;
		store s;

		memset(registers, 0, sizeof registers);
		store_init(&s);
		assert_ok(store_open(&s));
		wide_family_defaults(&opt);
		opt.merge = WIDE_MERGE_HLL;
		store_table(&s, &opt, 1, &table, &f);
		for (int i = 0; i < 120; i++)
		{
			wide_batch *b;
			uint64_t x = rnd(&r);

			assert_ok(wide_batch_new(s.db, &b));
			for (uint64_t k = 1 + x % 30; k > 0; k--)
			{
				int row = (int) (rnd(&r) % COUNTED);

				if (rnd(&r) % 400 == 0)
				{
					char key[16];

					assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, f, name("r", row, key),
												text("q"), WIDE_TS_MAX));
					memset(registers[row], 0, WIDE_HLL_REGISTERS);
				}
				else if (rnd(&r) % 10 == 0)
				{
					uint64_t mark = wide_batch_mark(b);

					put_registers(b, f, &r, row, false);
					wide_batch_rewind(b, mark);
				}
				else
					put_registers(b, f, &r, row, true);
			}
			same_registers(&s, f, b, NULL, registers);
			assert_ok(store_commit(&s, b, NULL));
			if (held == NULL && (x >> 28 & 3) == 0)
			{
				assert_ok(snapshot_take(s.db, NULL, NULL, &held));
				memcpy(then, registers, sizeof then);
			}
			if (x >> 20 & 1)
				assert_ok(wide_flush(s.db));
			if ((x >> 21 & 7) == 0)
				assert_ok(wide_compact(s.db, f));
			if ((x >> 24 & 15) == 0)
			{
				if (held != NULL)
					wide_snapshot_release(held);
				held = NULL;
				store_close(&s);
				assert_ok(store_open(&s));
			}
			if (held != NULL)
				same_registers(&s, f, NULL, held, then);
			if (held != NULL && (x >> 30 & 7) == 0)
			{
				wide_snapshot_release(held);
				held = NULL;
			}
			same_registers(&s, f, NULL, NULL, registers);
		}
		if (held != NULL)
			wide_snapshot_release(held);
		store_drop(&s);
	}
}

static wide_status
count_kept(void *arg, const entry *e)
{
	(void) e;
	++*(int *) arg;
	return WIDE_OK;
}

/* Bytes that are no value, in whatever way they have come, are kept as they are: a flush that fails
 * would fail for ever. */
static void
test_no_value(void **state)
{
	static const char *values[] = {"\1\1\1", "\1\2\1", "\377\377\1", "\1\3\1", "\1\4\1"};
	retention_spec spec = {.horizon = 100, .known = 100, .bottom = true};
	family_floor floors[FAMILY_FLOORS] = {{0}};
	retention *v;
	int kept = 0;

	(void) state;
	wide_family_defaults(&spec.family.opt);
	spec.family.opt.merge = WIDE_MERGE_HLL;
	spec.floors = floors;
	assert_ok(retention_new(&spec, count_kept, &kept, &v));
	for (int i = 0; i < 5; i++)
	{
		entry e = {.ukey = (const uint8_t *) "r\0\0q\0\0",
				   .klen = 6,
				   .rowlen = 3,
				   .ts = 50 - i,
				   .seq = (uint64_t) (50 - i),
				   .type = ENTRY_PUT,
				   .vlen = 3,
				   .value = (const uint8_t *) values[i]};

		assert_ok(retention_feed(v, &e));
	}
	assert_ok(retention_end(v));
	/* two sums, and what is between them */
	assert_int_equal(kept, 3);
	retention_free(v);
}

/* More is pending than may be: what is folded less is worth the same. */
static void
test_pending(void **state)
{
	store s;
	wide_family_id f;
	uint64_t sum;

	(void) state;
	store_init(&s);
	open_sums(&s, NULL, &f);
	retention_bytes = 300;
	for (int i = 0; i < 50; i++)
	{
		wide_snapshot *snap;

		if (i % 10 == 0)
			assert_ok(snapshot_take(s.db, NULL, NULL, &snap));
		add_number(&s, f, "r", 1000 - i, 1);
		if (i % 10 == 9)
		{
			assert_ok(wide_flush(s.db));
			wide_snapshot_release(snap);
			assert_ok(wide_compact(s.db, f));
		}
		assert_int_equal(read_all(&s, f, NULL, false, &sum), 1);
		assert_int_equal(sum, i + 1);
	}
	retention_bytes = (size_t) 16 << 20;
	store_drop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	  cmocka_unit_test(test_once),
		cmocka_unit_test(test_folded),	  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_own),		  cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_same_key),  cmocka_unit_test(test_replayed),
		cmocka_unit_test(test_registers), cmocka_unit_test(test_no_value),
		cmocka_unit_test(test_pending),	  cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
