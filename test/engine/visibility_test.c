/*
 * visibility_test.c - what readers see and what compactions keep, compared with a
 * naive machine that replays the history moment by moment.
 *
 * The machine knows nothing of intervals: it keeps the set of living
 * versions, applies the deletes of a moment, then its puts, then cuts to the
 * newest n. Histories are small and dense, so that every order of events
 * occurs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "unit.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/shared/layout.h"
#include "engine/set/horizon.h"
#include "engine/read/visibility.h"
#include "engine/compaction/retention.h"

#define MAX_OPS 24
#define NQUALS	2

typedef struct op
{
	int qual; /* -1: family delete */
	int64_t ts;
	uint64_t seq;
	uint8_t type;
	int64_t ttl;
	int value;
} op;

typedef struct history
{
	op ops[MAX_OPS];
	int n;
} history;

static uint64_t rng;

static uint32_t
rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t) (rng >> 20) % n;
}

static uint64_t
seed_of(uint64_t fallback)
{
	const char *s = getenv("WIDE_SEED");

	return s != NULL ? strtoull(s, NULL, 0) : fallback;
}

/* ----------------------------------------------------- entries from ops */

static uint8_t ukeys[NQUALS + 1][16];
static uint32_t uklen[NQUALS + 1];
static uint32_t rowlen;
static uint8_t values[256];

static void
make_keys(void)
{
	wide_bytes row = {(const uint8_t *) "r", 1};
	buffer b = {0};

	for (int q = -1; q < NQUALS; q++)
	{
		uint8_t c = (uint8_t) ('a' + q);
		wide_bytes qual = {&c, 1};

		assert_int_equal(q < 0 ? key_make_family(&b, row) : key_make(&b, row, qual), WIDE_OK);
		memcpy(ukeys[q + 1], b.data, b.len);
		uklen[q + 1] = (uint32_t) b.len;
	}
	rowlen = key_row_length(b.data, b.len);
	buffer_free(&b);
	for (int i = 0; i < 256; i++)
		values[i] = (uint8_t) i;
}

static entry
entry_of(const op *o)
{
	entry e = {.ukey = ukeys[o->qual + 1],
			   .klen = uklen[o->qual + 1],
			   .rowlen = rowlen,
			   .ts = o->ts,
			   .seq = o->seq,
			   .type = o->type,
			   .ttl_us = o->ttl,
			   .value = values + o->value,
			   .vlen = o->type == ENTRY_PUT};

	return e;
}

static op
op_of(const entry *e)
{
	op o = {.ts = e->ts,
			.seq = e->seq,
			.type = e->type,
			.ttl = e->ttl_us,
			.value = e->vlen ? e->value[0] : 0};

	for (int q = -1; q < NQUALS; q++)
		if (e->klen == uklen[q + 1] && memcmp(e->ukey, ukeys[q + 1], e->klen) == 0)
			o.qual = q;
	return o;
}

static int
op_compare(const void *a, const void *b)
{
	entry x = entry_of(a), y = entry_of(b);

	return key_compare(&x, &y);
}

static void
history_sort(history *h)
{
	qsort(h->ops, (size_t) h->n, sizeof(op), op_compare);
}

/* ------------------------------------------------------------- question */

typedef struct question
{
	wide_family_options opt;
	family_floor floors[FAMILY_FLOORS];
	uint64_t seq;
	seq_range excluded[4];
	int nexcluded;
	int64_t now, ts_min, ts_max;
	int64_t show_min, show_max; /* 0, 0: no filter */
	int max_versions;
} question;

typedef struct answer
{
	int n;

	struct
	{
		int qual;
		int64_t ts;
		int version;
		int value;
	} cell[MAX_OPS];
} answer;

/* ------------------------------------------------------ the naive machine */

static bool
naive_exists(const question *q, const op *o)
{
	if (o->seq >= SEQ_BATCH)
		return true;
	for (int i = 0; i < q->nexcluded; i++)
		if (q->excluded[i].first <= o->seq && o->seq <= q->excluded[i].last)
			return false;
	return o->seq <= q->seq;
}

/* Returns true if the family TTL hides the version, which is the nth. */
static bool
naive_hidden(const question *q, const op *o, int nth)
{
	return q->opt.ttl_us > 0 && o->ts < q->now - q->opt.ttl_us && nth >= q->opt.min_versions;
}

/* Returns the versions option at a moment. */
static int
naive_limit(const question *q, uint64_t m)
{
	int n = q->opt.versions;
	uint64_t until = UINT64_MAX;

	for (int i = 0; i < FAMILY_FLOORS; i++)
		if (q->floors[i].seq >= m && q->floors[i].seq != 0 && q->floors[i].seq < until)
		{
			until = q->floors[i].seq;
			n = q->floors[i].versions;
		}
	return n;
}

/*
 * Applies the option changes in (after, upto], between which nothing else
 * happens; other operations at upto come later.  Expired versions go, then
 * the cut.
 */
static int
naive_changes(const question *q, uint64_t after, uint64_t upto, op *live, int n)
{
	for (uint64_t m = after + 1; m <= upto && m < 100; m++)
		for (int i = 0; i < FAMILY_FLOORS; i++)
		{
			const family_floor *f = &q->floors[i];
			int counted = 0, kept = 0;

			if (f->seq == 0 || f->seq + 1 != m)
				continue;
			for (int k = 0; k < n; k++)
			{
				bool expired = live[k].ttl > 0 && live[k].ts + live[k].ttl < f->now;
				bool safe = !expired && counted++ < f->min_versions;

				if (safe || live[k].ts >= f->expired_before)
					live[kept++] = live[k];
			}
			n = kept;
			if (m < upto && n > naive_limit(q, m))
				n = naive_limit(q, m);
		}
	return n;
}

static bool
naive_limited(const question *q)
{
	return q->ts_min != 0 || q->ts_max != 0;
}

static bool
naive_masks(const question *q, const op *d, const op *c)
{
	if (d->type == ENTRY_PUT || (d->qual >= 0 && d->qual != c->qual) || !naive_exists(q, d))
		return false;
	if (q->opt.keep_deleted && naive_limited(q) && q->ts_max != INT64_MAX &&
		(d->ts == INT64_MAX && d->ttl > 0 ? d->ttl : d->ts) >= q->ts_max)
	{
		bool kept = true;

		for (int i = 0; i < FAMILY_FLOORS; i++)
			kept &= q->floors[i].seq < d->seq || q->floors[i].keep_deleted;
		if (kept)
			return false;
	}
	if (d->type == ENTRY_DELETE_COLUMN || d->type == ENTRY_DELETE_FAMILY)
		return c->ts <= d->ts;
	return c->ts == d->ts;
}

/*
 * A version that a transaction has written and deleted itself never existed,
 * whatever the reader disregards.
 */
static bool
naive_own_masks(const op *d, const op *c)
{
	if (d->type == ENTRY_PUT || d->seq < SEQ_BATCH || c->seq < SEQ_BATCH ||
		(d->qual >= 0 && d->qual != c->qual))
		return false;
	return d->type == ENTRY_DELETE_COLUMN || d->type == ENTRY_DELETE_FAMILY ? c->ts <= d->ts
																			: c->ts == d->ts;
}

/* Returns the living versions of a column at the end, timestamps descending. */
static int
naive_live(const history *h, const question *q, int qual, op *live)
{
	int n = 0;
	uint64_t at = 0;

	for (;;)
	{
		uint64_t next = UINT64_MAX;
		uint64_t lo = at, hi;

		for (int i = 0; i < h->n; i++)
			if (h->ops[i].seq > at && h->ops[i].seq < next && naive_exists(q, &h->ops[i]))
				next = h->ops[i].seq;
		n = naive_changes(q, at, next, live, n);
		if (next == UINT64_MAX)
			return n;
		/* the own batch is one moment */
		hi = next >= SEQ_BATCH ? SEQ_MAX : next;
		for (int i = 0; i < h->n; i++)
			for (int j = 0; h->ops[i].seq > lo && h->ops[i].seq <= hi && j < n; j++)
				if (naive_masks(q, &h->ops[i], &live[j]) && live[j].seq < h->ops[i].seq)
				{
					memmove(live + j, live + j + 1, (size_t) (n - j - 1) * sizeof(op));
					n--;
					j--;
				}
		for (int i = 0; i < h->n; i++)
		{
			const op *o = &h->ops[i];
			bool gone = false;
			int at_live = 0;

			if (o->type != ENTRY_PUT || o->qual != qual || o->seq <= lo || o->seq > hi ||
				!naive_exists(q, o))
				continue;
			if (naive_hidden(q, o, 0))
				continue;
			for (int j = 0; j < h->n && !gone; j++)
				gone = (h->ops[j].seq > o->seq && h->ops[j].seq <= hi) &&
					   (naive_masks(q, &h->ops[j], o) || naive_own_masks(&h->ops[j], o) ||
						(h->ops[j].type == ENTRY_PUT && h->ops[j].qual == qual &&
						 h->ops[j].ts == o->ts));
			if (gone)
				continue;
			while (at_live < n && live[at_live].ts > o->ts)
				at_live++;
			if (at_live == n || live[at_live].ts != o->ts)
			{
				memmove(live + at_live + 1, live + at_live, (size_t) (n - at_live) * sizeof(op));
				n++;
			}
			live[at_live] = *o;
		}
		if (n > naive_limit(q, hi < SEQ_BATCH ? hi : SEQ_BATCH))
			n = naive_limit(q, hi < SEQ_BATCH ? hi : SEQ_BATCH);
		at = hi;
	}
}

static void
naive_answer(const history *h, const question *q, answer *out)
{
	int max = q->max_versions < q->opt.versions ? q->max_versions : q->opt.versions;

	out->n = 0;
	for (int qual = 0; qual < NQUALS; qual++)
	{
		op live[MAX_OPS + 1];
		int n = naive_live(h, q, qual, live), shown = 0, counted = 0;

		for (int i = 0; i < n && shown < max; i++)
		{
			if (live[i].ttl > 0 && live[i].ts + live[i].ttl < q->now)
				continue;
			if (naive_hidden(q, &live[i], counted++))
				continue;
			if (naive_limited(q) &&
				(live[i].ts < q->ts_min || (q->ts_max != INT64_MAX && live[i].ts >= q->ts_max)))
				continue;
			/* it counts, whether shown or not */
			shown++;
			if ((q->show_min != 0 || q->show_max != 0) &&
				(live[i].ts < q->show_min ||
				 (q->show_max != INT64_MAX && live[i].ts >= q->show_max)))
				continue;
			out->cell[out->n].qual = qual;
			out->cell[out->n].ts = live[i].ts;
			out->cell[out->n].version = shown - 1;
			out->cell[out->n++].value = live[i].value;
		}
	}
}

/* ------------------------------------------------------------- the engine */

static void
engine_answer(const history *h, const question *q, answer *out)
{
	visibility v;
	int column = -1;
	bool done = false;

	assert_int_equal(visibility_init(&v, &q->opt, q->floors, q->seq, q->excluded, q->nexcluded,
									 q->now, q->ts_min, q->ts_max, q->max_versions),
					 WIDE_OK);
	if (q->show_min != 0 || q->show_max != 0)
		visibility_filter(&v, q->show_min, q->show_max);
	out->n = 0;
	visibility_row(&v);
	for (int i = 0; i < h->n; i++)
	{
		entry e = entry_of(&h->ops[i]);
		visibility_verdict verdict;

		if (h->ops[i].qual < 0)
		{
			assert_int_equal(visibility_add_delete(&v, &e), WIDE_OK);
			continue;
		}
		if (h->ops[i].qual != column)
		{
			column = h->ops[i].qual;
			done = false;
			visibility_column(&v);
		}
		if (done)
			continue;
		assert_int_equal(visibility_cell(&v, &e, &verdict), WIDE_OK);
		if (verdict == VISIBILITY_SHOW || verdict == VISIBILITY_LAST)
		{
			out->cell[out->n].qual = column;
			out->cell[out->n].ts = e.ts;
			out->cell[out->n].version = v.out - 1;
			out->cell[out->n++].value = e.value[0];
		}
		done = verdict == VISIBILITY_LAST || verdict == VISIBILITY_DONE;
	}
	visibility_free(&v);
}

static bool
answers_equal(const answer *a, const answer *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (a->cell[i].qual != b->cell[i].qual || a->cell[i].ts != b->cell[i].ts ||
			a->cell[i].version != b->cell[i].version || a->cell[i].value != b->cell[i].value)
			return false;
	return true;
}

static void
print_history(const char *what, const history *h)
{
	static const char *const names[] = {"P", "Dv", "Dc", "Df", "Dfv"};

	printf("%s:", what);
	for (int i = 0; i < h->n; i++)
	{
		const op *o = &h->ops[i];

		printf(" %s%c(ts %lld, seq %s%llu", names[o->type], o->qual < 0 ? '*' : 'a' + o->qual,
			   (long long) o->ts, o->seq >= SEQ_BATCH ? "own+" : "",
			   (unsigned long long) (o->seq >= SEQ_BATCH ? o->seq - SEQ_BATCH : o->seq));
		if (o->type == ENTRY_PUT)
			printf(", =%d", o->value);
		if (o->ttl)
			printf(", ttl %lld", (long long) o->ttl);
		printf(")");
	}
	printf("\n");
}

static void
print_answer(const char *what, const answer *a)
{
	printf("%s:", what);
	for (int i = 0; i < a->n; i++)
		printf(" %c=%d@%lld", 'a' + a->cell[i].qual, a->cell[i].value, (long long) a->cell[i].ts);
	printf("\n");
}

static void
print_question(const question *q)
{
	printf("versions %d min %d ttl %lld keep %d seq %llu now %lld range [%lld,%lld) show "
		   "[%lld,%lld) max %d",
		   q->opt.versions, q->opt.min_versions, (long long) q->opt.ttl_us, q->opt.keep_deleted,
		   (unsigned long long) q->seq, (long long) q->now, (long long) q->ts_min,
		   (long long) q->ts_max, (long long) q->show_min, (long long) q->show_max,
		   q->max_versions);
	for (int i = 0; i < q->nexcluded; i++)
		printf(" without %llu..%llu", (unsigned long long) q->excluded[i].first,
			   (unsigned long long) q->excluded[i].last);
	for (int i = 0; i < FAMILY_FLOORS; i++)
		if (q->floors[i].seq)
			printf(" floor(seq %llu, versions %d min %d before %lld keep %d)",
				   (unsigned long long) q->floors[i].seq, q->floors[i].versions,
				   q->floors[i].min_versions, (long long) q->floors[i].expired_before,
				   q->floors[i].keep_deleted);
	printf("\n");
}

/* --------------------------------------------------------------- generate */

static void
random_history(history *h, int own, bool ttl)
{
	int n = 2 + (int) rnd(MAX_OPS - 2);
	uint64_t seq = 0;
	int deletes = (int) rnd(3);

	h->n = 0;
	for (int i = 0; i < n; i++)
	{
		op o = {.qual = (int) rnd(NQUALS), .ts = (int64_t) rnd(6) * 10, .value = i + 1};
		bool same = false;
		uint32_t kind = rnd(deletes == 0 ? 6 : deletes == 1 ? 8 : 12);

		if (rnd(4) != 0 || seq == 0)
			seq++;
		o.seq = seq;
		if (own > 0 && i >= n - own)
			o.seq = SEQ_BATCH + (uint64_t) i;
		if (kind >= 6)
		{
			o.type = (uint8_t) (1 + rnd(4));
			if (o.type >= ENTRY_DELETE_FAMILY)
				o.qual = -1;
			if (rnd(o.qual < 0 ? 4 : 8) == 0)
			{
				o.ts = INT64_MAX;
				o.ttl = 1 + 3 * (int64_t) (o.seq < SEQ_BATCH ? o.seq : 20);
			}
		}
		else if (ttl)
		{
			o.ts = i * 5;
			if (rnd(2) == 0)
				o.ttl = 1 + rnd(60);
		}
		for (int j = 0; j < h->n; j++)
			same |= h->ops[j].qual == o.qual && h->ops[j].ts == o.ts && h->ops[j].seq == o.seq &&
					h->ops[j].type == o.type;
		if (!same)
			h->ops[h->n++] = o;
	}
}

static void
random_question(question *q, bool floors)
{
	memset(q, 0, sizeof(*q));
	q->opt.versions = 1 + (int32_t) rnd(4);
	q->opt.keep_deleted = rnd(4) == 0;
	q->max_versions = 1 + (int) rnd(5);
	q->now = 100;
	if (rnd(4) == 0)
	{
		q->opt.ttl_us = 60 + rnd(40);
		if (rnd(2) == 0)
			q->opt.min_versions = 1 + (int32_t) rnd((uint32_t) q->opt.versions);
	}
	for (uint64_t s = 1, n = rnd(4); floors && n > 0; n--)
	{
		s += rnd(8);
		q->floors[n].seq = s++;
		q->floors[n].versions = rnd(3) ? 1 + (int32_t) rnd(5) : q->opt.versions;
		q->floors[n].min_versions = (int32_t) rnd((uint32_t) q->floors[n].versions + 1);
		q->floors[n].keep_deleted = rnd(2);
		q->floors[n].expired_before = rnd(3) ? INT64_MIN : (int64_t) rnd(60);
		q->floors[n].now = 50 + (int64_t) rnd(50);
	}
}

static void
random_range(question *q)
{
	if (rnd(3) == 0)
	{
		q->show_min = rnd(4) == 0 ? INT64_MIN : (int64_t) rnd(40) - 5;
		q->show_max = rnd(4) == 0 ? INT64_MAX : (int64_t) rnd(70);
	}
	if (rnd(2) == 0)
		return;
	q->ts_min = (int64_t) rnd(40) - 5;
	q->ts_max = rnd(4) == 0 ? INT64_MAX : q->ts_min + (int64_t) rnd(50);
}

/* ------------------------------------------------------------------ tests */

static void
test_reader(void **state)
{
	int rounds = 200000;
	uint64_t seed = seed_of(0x5eed1);

	(void) state;
	for (int i = 0; i < rounds; i++)
	{
		history h;
		question q;
		answer a, b;

		rng = seed + (uint64_t) i * 0x9e3779b97f4a7c15ull + 1;
		for (int k = 0; k < 4; k++)
			rnd(2);
		random_history(&h, rnd(2) ? (int) rnd(8) : 0, rnd(8) == 0);
		history_sort(&h);
		random_question(&q, rnd(3) == 0);
		random_range(&q);
		q.seq = rnd(30);
		for (int k = 0; k < (int) rnd(3); k++)
		{
			uint64_t first = (uint64_t) (5 * k + (int) rnd(5));

			q.excluded[q.nexcluded++] = (seq_range) {
				first, first + rnd((uint32_t) (5 * k + 5 - (int) first))};
		}
		naive_answer(&h, &q, &a);
		engine_answer(&h, &q, &b);
		if (!answers_equal(&a, &b))
		{
			printf("seed %llu round %d\n", (unsigned long long) seed, i);
			print_question(&q);
			print_history("history", &h);
			print_answer("expected", &a);
			print_answer("found   ", &b);
			fail();
		}
	}
}

static const uint64_t no_gap[2];

static wide_status
collect(void *arg, const entry *e)
{
	history *h = arg;

	assert_true(h->n < MAX_OPS);
	h->ops[h->n++] = op_of(e);
	return WIDE_OK;
}

/*
 * The readers: snapshots from `fresh` on, and older ones in the ranges; fresh
 * 0: any from the horizon on.
 */
typedef struct readers
{
	uint64_t fresh;
	snapshot_range held[4];
	int nheld;
} readers;

static const readers all_read;

static void
random_readers(readers *r, uint64_t horizon)
{
	r->fresh = 0;
	r->nheld = 0;
	if (rnd(2))
		return;
	r->fresh = horizon + 1 + rnd(16);
	for (int n = (int) rnd(4); r->nheld < n; r->nheld++)
	{
		uint64_t s = horizon + rnd((uint32_t) (r->fresh - horizon));

		r->held[r->nheld] = (snapshot_range) {s, rnd(2) ? s : rnd(3) ? s + rnd(3) : UINT64_MAX};
	}
}

static bool
may_read(const readers *r, uint64_t s)
{
	if (s >= r->fresh)
		return true;
	for (int i = 0; i < r->nheld; i++)
		if (s >= r->held[i].first && s <= r->held[i].last)
			return true;
	return false;
}

/*
 * Compacts the part (after, upto] of the history, without some operations in
 * gap[0]..gap[1]; returns the bound below which floors are void.  puts: only
 * puts are missing there, so the job has no gap.
 */
static uint64_t
compact(const history *h, const question *q, uint64_t after, uint64_t upto, const uint64_t *gap,
		bool puts, uint64_t horizon, const readers *r, history *out)
{
	retention_spec spec = {.floors = q->floors,
						   .horizon = horizon,
						   .known = upto,
						   .tombstone_seq = horizon,
						   .now = q->now,
						   .fresh = r->fresh,
						   .held = r->held,
						   .nheld = r->nheld};
	history job = {.n = 0}, rest = {.n = 0};
	uint64_t settled;
	retention *v;

	spec.family.opt = q->opt;
	spec.bottom = true;
	spec.gap_from = puts ? 0 : gap[0];
	spec.gap_to = puts ? 0 : gap[1];
	for (int i = 0; i < h->n; i++)
	{
		const op *o = &h->ops[i];

		bool missing = o->seq >= gap[0] && o->seq <= gap[1] && (o->seq & 1) &&
					   (!puts || o->type == ENTRY_PUT);

		if (o->seq > after && o->seq <= upto && !missing)
			job.ops[job.n++] = *o;
		else
			rest.ops[rest.n++] = *o;
		if (o->seq <= after || missing)
			spec.bottom = false;
	}
	out->n = 0;
	assert_int_equal(retention_new(&spec, collect, out, &v), WIDE_OK);
	for (int i = 0; i < job.n; i++)
	{
		entry e = entry_of(&job.ops[i]);

		assert_int_equal(retention_feed(v, &e), WIDE_OK);
	}
	assert_int_equal(retention_end(v), WIDE_OK);
	settled = retention_settled(v);
	retention_free(v);
	for (int i = 1; i < out->n; i++)
		assert_true(op_compare(&out->ops[i - 1], &out->ops[i]) < 0);
	memcpy(out->ops + out->n, rest.ops, (size_t) rest.n * sizeof(op));
	out->n += rest.n;
	history_sort(out);
	return settled;
}

static void
forget_floors(question *q, uint64_t settled, uint64_t *floors, uint64_t *forgotten)
{
	for (int i = 0; i < FAMILY_FLOORS; i++)
	{
		floors[q->opt.keep_deleted != 0] += q->floors[i].seq != 0;
		if (q->floors[i].seq == 0 || q->floors[i].seq >= settled)
			continue;
		forgotten[q->opt.keep_deleted != 0]++;
		memset(&q->floors[i], 0, sizeof q->floors[i]);
	}
}

static void
test_compaction(void **state)
{
	int rounds = 300000;
	uint64_t seed = seed_of(0xc0de);
	/* floors[1], forgotten[1]: of families that keep deleted cells */
	uint64_t dropped = 0, total = 0, above = 0, kept = 0, floors[2] = {0, 0}, forgotten[2] = {0, 0};

	(void) state;
	for (int i = 0; i < rounds; i++)
	{
		history h, c[2];
		question q, fewer;
		uint64_t horizon = 0, after, upto, gap[2] = {0, 0};
		uint64_t settled;
		readers r[2];
		int jobs = 1;
		bool puts = false;

		rng = seed + (uint64_t) i * 0x9e3779b97f4a7c15ull + 1;
		for (int k = 0; k < 4; k++)
			rnd(2);
		random_history(&h, 0, rnd(6) == 0);
		history_sort(&h);
		random_question(&q, rnd(3) == 0);
		horizon = rnd(26);
		after = rnd(2) ? 0 : rnd(12);
		upto = after + 1 + rnd(26);
		if (rnd(4) == 0)
		{
			gap[0] = after + 1 + rnd(10);
			gap[1] = gap[0] + rnd(4);
		}
		else if (rnd(3) == 0)
		{
			puts = true;
			gap[0] = after + 1 + rnd(10);
			gap[1] = gap[0] + rnd(16);
		}
		random_readers(&r[0], horizon);
		settled = compact(&h, &q, after, upto, gap, puts, horizon, &r[0], &c[0]);
		fewer = q;
		forget_floors(&fewer, settled, floors, forgotten);
		total += (uint64_t) h.n;
		dropped += (uint64_t) (h.n - c[0].n);
		for (int k = 0; k < h.n && r[0].fresh != 0; k++)
			above += h.ops[k].seq > horizon;
		for (int k = 0; k < c[0].n && r[0].fresh != 0; k++)
			kept += c[0].ops[k].seq > horizon;
		/* a second job on the result, at a later horizon */
		c[1] = c[0];
		r[1] = r[0];
		if (rnd(2))
		{
			horizon += rnd(8);
			after = rnd(2) ? 0 : rnd((uint32_t) after + 1);
			upto += rnd(8);
			gap[0] = gap[1] = 0;
			random_readers(&r[1], horizon);
			settled = compact(&c[0], &fewer, after, upto, gap, false, horizon, &r[1], &c[1]);
			forget_floors(&fewer, settled, floors, forgotten);
			jobs = 2;
		}
		for (uint64_t s = horizon; s < 28; s++)
			for (int k = 0; k < 3; k++)
			{
				answer a, b;
				question then;

				if (!may_read(&r[0], s) || !may_read(&r[1], s))
					continue;
				q.seq = s;
				q.ts_min = q.ts_max = 0;
				if (k > 0)
					random_range(&q);
				q.max_versions = 1 + (int) rnd(4);
				q.nexcluded = 0;
				if (rnd(4) == 0 && s > horizon + 1)
				{
					uint64_t first = horizon + 1 + rnd((uint32_t) (s - horizon));

					/* excluded commits are not below `fresh` */
					if (first > r[0].fresh && first > r[1].fresh)
						q.excluded[q.nexcluded++] = (seq_range) {
							first, first + rnd((uint32_t) (s - first + 1))};
				}
				engine_answer(&h, &q, &a);
				then = q;
				memcpy(then.floors, fewer.floors, sizeof then.floors);
				engine_answer(&c[1], &then, &b);
				if (answers_equal(&a, &b))
					continue;
				printf("seed %llu round %d: job (%llu, %llu] horizon %llu jobs %d\n",
					   (unsigned long long) seed, i, (unsigned long long) after,
					   (unsigned long long) upto, (unsigned long long) horizon, jobs);
				print_question(&q);
				print_history("before", &h);
				if (jobs == 2)
					print_history("between", &c[0]);
				print_history("after ", &c[1]);
				print_question(&then);
				print_answer("expected", &a);
				print_answer("found   ", &b);
				fail();
			}
	}
	/* a compaction that keeps everything would pass the checks above */
	assert_true(dropped * 5 > total);
	assert_true(kept < above);
	assert_true(forgotten[0] * 5 > floors[0] && forgotten[1] * 20 > floors[1]);
}

/* A full compaction at the newest horizon leaves what a reader sees, and nothing else. */
static void
test_full(void **state)
{
	(void) state;
	for (int i = 0; i < 50000; i++)
	{
		history h, c;
		question q;
		answer a;

		rng = 77 + (uint64_t) i * 0x9e3779b97f4a7c15ull;
		for (int k = 0; k < 4; k++)
			rnd(2);
		random_history(&h, 0, false);
		history_sort(&h);
		random_question(&q, false);
		q.opt.keep_deleted = 0;
		q.opt.min_versions = 0;
		q.max_versions = 100;
		q.seq = 1000;
		compact(&h, &q, 0, 1000, no_gap, false, 1000, &all_read, &c);
		naive_answer(&h, &q, &a);
		assert_int_equal(a.n, c.n);
	}
}

typedef struct vector
{
	const char *name;
	int versions;
	int64_t ttl;
	int min_versions, keep_deleted;
	op ops[6];
	int64_t now, ts_min, ts_max;
	const char *expect;
} vector;

#define P(t, v)                                    \
	{                                              \
		.ts = (t), .type = ENTRY_PUT, .value = (v) \
	}
#define PT(t, v, l)                                            \
	{                                                          \
		.ts = (t), .type = ENTRY_PUT, .value = (v), .ttl = (l) \
	}
#define DV(t)                                   \
	{                                           \
		.ts = (t), .type = ENTRY_DELETE_VERSION \
	}
#define DC(t)                                  \
	{                                          \
		.ts = (t), .type = ENTRY_DELETE_COLUMN \
	}
/* no timestamp, at this time */
#define DCT(at)                                                   \
	{                                                             \
		.ts = INT64_MAX, .ttl = (at), .type = ENTRY_DELETE_COLUMN \
	}
#define DF(t)                                              \
	{                                                      \
		.qual = -1, .ts = (t), .type = ENTRY_DELETE_FAMILY \
	}

static const vector vectors[] = {
	{"T1", 1, 0, 0, 0, {P(10, 'a'), P(20, 'b')}, 0, 0, 0, "b"},
	{"T2", 3, 0, 0, 0, {P(10, 'a'), P(20, 'b'), P(30, 'c'), P(40, 'd')}, 0, 0, 0, "dcb"},
	{"T4", 3, 0, 0, 0, {P(10, 'a'), P(10, 'b')}, 0, 0, 0, "b"},
	{"T6", 2, 0, 0, 0, {P(20, 'b'), P(10, 'a'), P(5, 'z')}, 0, 0, 0, "ba"},
	{"T7", 1, 0, 0, 0, {P(20, 'b'), P(10, 'a')}, 0, 0, 0, "b"},
	{"T8", 5, 0, 0, 0, {P(10, 'a'), P(20, 'b'), P(30, 'c')}, 0, 10, 30, "ba"},
	{"T12", 1, 0, 0, 0, {P(10, 'a'), P(20, 'b')}, 0, -1, 15, ""},
	{"T25", 1, 10000, 0, 0, {P(1000, 'a')}, 11000, 0, 0, "a"},
	{"T25b", 1, 10000, 0, 0, {P(1000, 'a')}, 11001, 0, 0, ""},
	{"T28", 3, 10000, 1, 0, {P(1000, 'a'), P(2000, 'b')}, 99999, 0, 0, "b"},
	{"T29", 3, 10000, 2, 0, {P(1000, 'a'), P(2000, 'b'), P(3000, 'c')}, 99999, 0, 0, "cb"},
	{"T30", 3, 10000, 2, 0, {P(1000, 'a'), P(2000, 'b'), P(3000, 'c')}, 12500, 0, 0, "cb"},
	{"T31", 1, 0, 0, 0, {PT(1000, 'a', 5000)}, 6000, 0, 0, "a"},
	{"T31b", 1, 0, 0, 0, {PT(1000, 'a', 5000)}, 6001, 0, 0, ""},
	{"T33", 1, 10000, 1, 0, {PT(1000, 'a', 5000)}, 6001, 0, 0, ""},
	{"T34", 2, 0, 0, 0, {P(1000, 'a'), PT(2000, 'b', 1000)}, 3001, 0, 0, "a"},
	{"T35", 1, 0, 0, 0, {P(1000, 'a'), PT(2000, 'b', 1000)}, 3001, 0, 0, ""},
	{"T41", 3, 0, 0, 0, {P(10, 'a'), P(20, 'b'), DV(20)}, 0, 0, 0, "a"},
	{"T42", 3, 0, 0, 0, {P(10, 'a'), P(20, 'b'), DV(15)}, 0, 0, 0, "ba"},
	{"T45", 3, 0, 0, 0, {P(10, 'a'), P(20, 'b'), P(30, 'c'), DC(20)}, 0, 0, 0, "c"},
	{"T47", 1, 0, 0, 0, {P(10, 'a'), DF(10)}, 0, 0, 0, ""},
	{"T53", 1, 0, 0, 0, {P(10, 'a'), DC(20), P(15, 'b')}, 0, 0, 0, "b"},
	{"T54", 1, 0, 0, 0, {P(10, 'a'), DC(20), P(20, 'b')}, 0, 0, 0, "b"},
	{"T55", 1, 0, 0, 0, {DC(20), P(10, 'a')}, 0, 0, 0, "a"},
	{"T56", 1, 0, 0, 0, {P(10, 'a'), DV(10), P(10, 'b')}, 0, 0, 0, "b"},
	{"T57", 1, 0, 0, 0, {DF(20), P(20, 'a'), DV(20)}, 0, 0, 0, ""},
	{"T59", 2, 0, 0, 0, {P(10, 'a'), P(20, 'b'), P(30, 'c'), DV(30)}, 0, 0, 0, "b"},
	{"T60", 2, 0, 0, 0, {P(20, 'b'), P(30, 'c'), DV(30), P(10, 'a')}, 0, 0, 0, "ba"},
	{"T61", 3, 0, 0, 1, {P(10, 'a'), DC(20)}, 0, 0, 0, ""},
	{"T61b", 3, 0, 0, 1, {P(10, 'a'), DC(20)}, 0, -1, 15, "a"},
	{"T61c", 3, 0, 0, 1, {P(10, 'a'), DC(20)}, 0, -1, 21, ""},
	{"T61d", 3, 0, 0, 1, {P(10, 'a'), DCT(20)}, 0, -1, 20, "a"},
	{"T61e", 3, 0, 0, 1, {P(10, 'a'), DCT(20)}, 0, -1, 21, ""},
	{"T61f", 3, 0, 0, 1, {P(10, 'a'), DCT(20), P(15, 'b'), DCT(40)}, 0, -1, 30, "b"},
	{"T61g", 3, 0, 0, 1, {P(10, 'a'), DCT(20), P(15, 'b'), DCT(40)}, 0, -1, 18, "ba"},
	{"T61h", 3, 0, 0, 1, {P(10, 'a'), DCT(20), P(15, 'b'), DCT(40)}, 0, -1, 41, ""},
	{"T62", 3, 0, 0, 0, {P(10, 'a'), DC(20)}, 0, -1, 15, ""},
	{"T64", 1, 0, 0, 0, {DC(1000000000000), P(1000, 'a')}, 0, 0, 0, "a"},
};

static void
test_vectors(void **state)
{
	(void) state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
	{
		const vector *t = &vectors[i];
		question q = {.opt = {.versions = t->versions,
							  .ttl_us = t->ttl,
							  .min_versions = t->min_versions,
							  .keep_deleted = (uint8_t) t->keep_deleted},
					  .seq = 100,
					  .now = t->now,
					  .ts_min = t->ts_min,
					  .ts_max = t->ts_max,
					  .max_versions = 9};
		history h = {.n = 0}, c;

		for (int k = 0; k < 6 && (t->ops[k].ts != 0 || t->ops[k].type != 0); k++)
		{
			h.ops[h.n] = t->ops[k];
			h.ops[h.n].seq = (uint64_t) k + 1;
			h.n++;
		}
		history_sort(&h);
		compact(&h, &q, 0, 100, no_gap, false, 100, &all_read, &c);
		for (int round = 0; round < 2; round++)
		{
			answer a;
			char got[16] = "";

			engine_answer(round ? &c : &h, &q, &a);
			for (int k = 0; k < a.n; k++)
				got[k] = (char) a.cell[k].value;
			if (strcmp(got, t->expect) != 0)
				printf("%s%s\n", t->name, round ? " after compaction" : "");
			assert_string_equal(got, t->expect);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_compaction),
		cmocka_unit_test(test_full),
	};

	make_keys();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
