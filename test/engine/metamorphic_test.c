/*
 * metamorphic_test.c - random lives of a store, checked against model.h.
 *
 * A life has random options (tiny memtables, files, blocks), then random
 * operations: transactions with savepoints, commits of all three kinds, scans
 * and gets of every shape at old and new snapshots and inside the transaction,
 * and between them flushes, compactions, and deaths of the whole segment.
 * None of the latter may change an answer.
 *
 *     WIDE_OPS=n    operations in all (default: about 15 seconds' worth)
 *     WIDE_SEED=n   the first life's seed; a failure prints seed and history
 */
#include <time.h>
#include "store_fixture.h"
#include "batch.h"
#include "model.h"

#define LIFE_OPS	600
#define MAX_ROWS	160
#define MAX_QUALS	6
#define BASE_TIME	INT64_C(1700000000000000)
#define MAX_SNAPS	4
#define VALUE_MAX	4000

typedef struct snap
{
	wide_snapshot *s;
	int			moment;
	int			excluded[8];
	int			nexcluded;
} snap;

typedef struct life
{
	uint64_t	seed, r;
	store		st;
	model		m;
	wide_table_id table;
	wide_family_id ids[4];
	wide_family_options opts[4];
	uint8_t		rows[MAX_ROWS][160];
	size_t		row_len[MAX_ROWS];
	int			sorted[MAX_ROWS];
	uint8_t		quals[MAX_QUALS][8];
	size_t		qual_len[MAX_QUALS];
	bool		ttl_cells;
	wide_batch *b;
	uint64_t	marks[8];		/* savepoints: engine's and model's */
	int			model_marks[8];
	int			nmarks;
	snap		snaps[MAX_SNAPS];
	int			nsnaps;
	int			values;
	uint64_t	xid;
	struct
	{
		uint64_t	xid;
		int			moment;
	}			external[4];	/* the last ones */
	buffer		history;
} life;

static uint8_t value_bytes[VALUE_MAX + 16];

/* ---------------------------------------------------------------- history */

static void
note(life *l, const char *fmt,...)
{
	char		line[400];
	va_list		ap;
	int			n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (n > (int) sizeof line - 1)
		n = (int) sizeof line - 1;
	assert_ok(buffer_append(&l->history, line, (size_t) n));
}

/* Tombstones and versions of a row, for the reader of a failure. */
static wide_status
print_raw(void *arg, const wide_raw_cell *c)
{
	int			id = 0;

	memcpy(&id, c->value.data, c->value.len < 4 ? c->value.len : 4);
	printf("  family %u qualifier of %zu bytes (%d) type %d ts %lld seq %llu ttl - =%d\n", c->family, c->qualifier.len,
		   c->qualifier.len ? c->qualifier.data[c->qualifier.len - 1] : -1, c->type,
		   c->ts == WIDE_TS_MAX ? -1LL : (long long) (c->ts - BASE_TIME), (unsigned long long) c->seq, id);
	return WIDE_OK;
}

static void
fail_life(life *l, const char *fmt,...)
{
	char		line[400];
	va_list		ap;
	int			row;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	printf("%.*s\nFAILED with WIDE_SEED=%llu: %s\n", (int) l->history.len, (char *) l->history.data,
		   (unsigned long long) l->seed, line);
	if (sscanf(line, "row %d", &row) == 1)
		for (int i = 0; i < l->m.nfamilies; i++)
			wide_raw_row(l->st.db, l->ids[i], bytes(l->rows[row], l->row_len[row]), print_raw, NULL);
	fflush(stdout);
	fail_msg("%s", line);
}

#define CHECK(l, expr) do { wide_status check_st_ = (expr); if (check_st_ != WIDE_OK) \
	fail_life(l, "%s: %s (%s)", #expr, wide_status_name(check_st_), wide_error_text()); } while (0)

/* A timestamp for people: small, or -1 for the ends of time and none. */
static long long
shown(int64_t ts)
{
	return ts == INT64_MIN || ts == INT64_MAX || ts == 0 ? -1 : (long long) (ts - BASE_TIME);
}

static uint32_t
pick(life *l, uint32_t n)
{
	return (uint32_t) (rnd(&l->r) >> 33) % n;
}

static wide_bytes
row_bytes(life *l, int row)
{
	return bytes(l->rows[row], l->row_len[row]);
}

static wide_bytes
qual_bytes(life *l, int q)
{
	return bytes(l->quals[q], l->qual_len[q]);
}

/* A value is its number and a tail that depends on it. */
static wide_bytes
value_of(int id, uint8_t *buf)
{
	size_t		n = id % 97 == 0 ? (size_t) (id * 31 % VALUE_MAX) : (size_t) (id * 37 % 60);

	memcpy(buf, &id, sizeof id);
	memcpy(buf + sizeof id, value_bytes + id % 16, n);
	return bytes(buf, sizeof id + n);
}

/* ------------------------------------------------------------------ begin */

static life *order_life;

static int
row_order(const void *a, const void *b)
{
	int			x = *(const int *) a, y = *(const int *) b;

	return ukey_compare(order_life->rows[x], order_life->row_len[x], order_life->rows[y], order_life->row_len[y]);
}

static void
make_names(life *l)
{
	static const uint8_t alphabet[] = {0, 1, 2, 0xff, 'a', 'b'};
	size_t		prefix = pick(l, 3) == 0 ? 70 + pick(l, 40) : 0;

	for (int i = 0; i < l->m.nrows;)
	{
		size_t		n = 1 + pick(l, 4);
		bool		known = false;

		memset(l->rows[i], 'p', prefix);
		for (size_t k = 0; k < n; k++)
			l->rows[i][prefix + k] = alphabet[pick(l, sizeof alphabet)];
		l->row_len[i] = prefix + n;
		for (int k = 0; k < i; k++)
			known |= l->row_len[k] == l->row_len[i] && memcmp(l->rows[k], l->rows[i], l->row_len[i]) == 0;
		if (!known)
			i++;
	}
	for (int i = 0; i < l->m.nrows; i++)
		l->sorted[i] = i;
	order_life = l;
	qsort(l->sorted, (size_t) l->m.nrows, sizeof(int), row_order);
	/* ascending: the index is the order */
	for (int i = 0; i < l->m.nquals; i++)
	{
		l->quals[i][0] = (uint8_t) (i < 2 ? 0 : 'a' + i);
		l->quals[i][1] = (uint8_t) i;
		l->qual_len[i] = i == 0 ? 0 : i == 1 ? 1 : 2;
	}
}

static void
make_family(life *l, int i)
{
	wide_family_options *o = &l->opts[i];
	model_family *f = &l->m.families[i];

	wide_family_defaults(o);
	o->versions = pick(l, 2) ? 1 : 1 + (int32_t) pick(l, 4);
	o->keep_deleted = pick(l, 4) == 0;
	if (pick(l, 3) == 0)
	{
		o->ttl_us = 50 + pick(l, 400);
		if (pick(l, 2))
			o->min_versions = (int32_t) pick(l, (uint32_t) o->versions + 1);
	}
	o->block_size = pick(l, 2) ? 1024 : 4096;
	o->bloom = (uint8_t) pick(l, 4);
	o->bloom_prefix = 1;
	o->compression = (uint8_t) pick(l, 2);
	if (pick(l, 4) == 0)
	{
		o->compaction = WIDE_COMPACT_WINDOW;
		o->window_us = 20 + pick(l, 200);
	}
	f->versions = o->versions;
	f->min_versions = o->min_versions;
	f->ttl = o->ttl_us;
	f->keep_deleted = o->keep_deleted;
}

static void
begin_life(life *l, uint64_t seed)
{
	wide_batch *b;
	char		name[16];

	memset(l, 0, sizeof *l);
	l->seed = l->r = seed;
	store_init(&l->st);
	l->st.config.memtable_size = pick(l, 2) ? 64 * 1024 : 256 * 1024;
	l->st.config.max_files = 1024;
	l->st.now = BASE_TIME;
	work_file_bytes = pick(l, 2) ? 4096 : 64 * 1024;
	work_level_bytes = pick(l, 2) ? 16 * 1024 : 1024 * 1024;
	l->m.nfamilies = 1 + (int) pick(l, 3);
	l->m.nrows = pick(l, 3) == 0 ? MAX_ROWS : 3 + (int) pick(l, 20);
	l->m.nquals = 2 + (int) pick(l, MAX_QUALS - 1);
	l->m.cells = calloc((size_t) (l->m.nfamilies * l->m.nrows), sizeof(*l->m.cells));
	l->ttl_cells = pick(l, 3) == 0;
	l->xid = 100;
	l->m.last_ts = l->m.stamped = INT64_MIN;
	make_names(l);
	CHECK(l, store_open(&l->st));
	CHECK(l, wide_batch_new(l->st.db, &b));
	CHECK(l, wide_batch_create_table(b, 1, "t", &l->table));
	for (int i = 0; i < l->m.nfamilies; i++)
	{
		make_family(l, i);
		snprintf(name, sizeof name, "f%d", i);
		CHECK(l, wide_batch_create_family(b, l->table, name, &l->opts[i], &l->ids[i]));
		note(l, "family %d: versions %d min %d ttl %lld keep_deleted %d bloom %d\n", i, l->opts[i].versions,
			 l->opts[i].min_versions, (long long) l->opts[i].ttl_us, l->opts[i].keep_deleted, l->opts[i].bloom);
	}
	CHECK(l, store_commit(&l->st, b, NULL));
	l->m.moment = 1;
}

static void
end_life(life *l)
{
	for (int i = 0; i < l->nsnaps; i++)
		wide_snapshot_release(l->snaps[i].s);
	if (l->b != NULL)
		wide_batch_free(l->b);
	store_drop(&l->st);
	model_free(&l->m);
	buffer_free(&l->history);
}

/* ----------------------------------------------------------------- writing */

static void
do_write(life *l)
{
	static const char *const names[] = {"put", "delete version", "delete column", "delete family", "delete family version"};
	model_op	o = {.family = (int) pick(l, (uint32_t) l->m.nfamilies), .row = (int) pick(l, (uint32_t) l->m.nrows),
	.qual = (int) pick(l, (uint32_t) l->m.nquals), .floor = INT64_MIN};
	uint32_t	kind = pick(l, 16);
	/* cells with a TTL live in columns where timestamps only rise: see the exception in view.c */
	bool		rising = l->ttl_cells && o.qual == 0;
	uint8_t		buf[VALUE_MAX + 16];

	if (l->b == NULL)
		CHECK(l, wide_batch_new(l->st.db, &l->b));
	o.type = kind < 11 ? M_PUT : (enum model_type) (kind - 10 > 4 ? 2 : kind - 10);
	if (l->ttl_cells && o.type >= M_DELETE_FAMILY && pick(l, 2))
		o.type = M_PUT;
	o.ts = BASE_TIME + 10 * (int64_t) pick(l, 30);
	if (o.type == M_PUT)
	{
		o.automatic = rising || pick(l, 3) == 0;
		if (o.automatic && !rising && pick(l, 4) == 0)
			o.floor = BASE_TIME + 10 * (int64_t) pick(l, 30);
		if (rising && pick(l, 2))
			o.ttl = 1 + pick(l, 100);
		o.value = ++l->values;
	}
	else if (rising || pick(l, 3) == 0)
		o.ts = WIDE_TS_MAX;
	note(l, "%s f%d r%d q%d ts %lld%s floor %lld ttl %lld =%d\n", names[o.type], o.family, o.row, o.qual,
		 o.ts == WIDE_TS_MAX ? -1LL : (long long) (o.ts - BASE_TIME), o.automatic ? " auto" : "",
		 o.floor == INT64_MIN ? -1LL : (long long) (o.floor - BASE_TIME), (long long) o.ttl, o.value);
	if (o.type == M_PUT)
		CHECK(l, wide_batch_put(l->b, l->ids[o.family], row_bytes(l, o.row), qual_bytes(l, o.qual),
								o.automatic ? WIDE_TS_AUTO : o.ts, o.floor, o.ttl, value_of(o.value, buf)));
	else
		CHECK(l, wide_batch_delete(l->b, (wide_delete) (o.type - 1), l->ids[o.family], row_bytes(l, o.row),
								   qual_bytes(l, o.qual), o.ts));
	if (o.automatic)
		o.ts = model_provisional(&l->m, l->st.now, o.floor);
	model_add(&l->m.batch, &o);
}

static void
do_savepoint(life *l)
{
	if (l->b == NULL)
		return;
	if (l->nmarks < 8 && pick(l, 2))
	{
		l->marks[l->nmarks] = wide_batch_mark(l->b);
		l->model_marks[l->nmarks++] = l->m.batch.n;
		note(l, "savepoint %d\n", l->nmarks);
	}
	else if (l->nmarks > 0)
	{
		int			to = (int) pick(l, (uint32_t) l->nmarks);

		note(l, "rollback to %d\n", to + 1);
		wide_batch_rewind(l->b, l->marks[to]);
		for (int i = l->model_marks[to]; i < l->m.batch.n; i++)
			l->m.batch.ops[i].undone = true;
		l->nmarks = to + 1;
	}
}

/*
 * Transactions that came to nothing may have moved the clock of automatic
 * timestamps, a crash may take that back; never below what was given out.
 */
static void
follow_clock(life *l)
{
	int64_t		ts = l->st.db->seg->commit.last_ts;

	if (ts < l->m.stamped)
		fail_life(l, "the clock went back to %lld, %lld was given out", shown(ts), shown(l->m.stamped));
	l->m.last_ts = ts;
}

static void
forget_batch(life *l)
{
	wide_batch_free(l->b);
	l->b = NULL;
	l->nmarks = 0;
}

static void
do_commit(life *l)
{
	uint64_t	lsn, external = pick(l, 4) == 0 ? ++l->xid : 0;
	int			way = (int) pick(l, 10);
	bool		empty, lost = false;
	int64_t		stamp;

	if (l->b == NULL)
		return;
	if (way == 0)
	{
		note(l, "abort\n");
		forget_batch(l);
		l->m.batch.n = 0;
		return;
	}
	empty = wide_batch_empty(l->b);
	wide_filelog_set_xid(&l->st.log, external);
	CHECK(l, wide_batch_prepare(l->b, external));
	if (external != 0 && way == 1)
	{
		note(l, "prepare %llu, then abort\n", (unsigned long long) external);
		CHECK(l, wide_filelog_decide(&l->st.log, external, false));
		forget_batch(l);
		follow_clock(l);
		l->m.batch.n = 0;
		return;
	}
	if (external != 0)
		CHECK(l, wide_filelog_decide(&l->st.log, external, true));
	stamp = l->b->loaded_ts;
	lost = external != 0 && way == 2 && !empty && l->nsnaps == 0;
	note(l, "commit %d%s%s%s\n", l->m.moment + 1, external ? " external" : "", l->b->nfiles ? " as files" : "",
		 lost ? ", dies before its finish record" : "");
	if (lost)
	{
		l->st.log.sync(l->st.log.ctx, l->st.log.end(l->st.log.ctx));
		/* the slot goes with the segment */
		l->b->finished = true;
		store_close(&l->st);
		free(l->b->files);
		l->b->files = NULL;
		forget_batch(l);
		CHECK(l, store_open(&l->st));
		memset(l->external, 0, sizeof l->external);
		/* its time is of after the death, which took back what batches without a commit had added to the clock */
		if (stamp == INT64_MIN)
		{
			int64_t		after = l->st.db->seg->commit.last_ts;

			if (after <= l->m.stamped)
				fail_life(l, "recovery gave out %lld after %lld", shown(after), shown(l->m.stamped));
			l->m.last_ts = after - 1;
		}
	}
	else
	{
		CHECK(l, wide_batch_finish(l->b, &lsn));
		CHECK(l, l->st.log.sync(l->st.log.ctx, lsn));
		CHECK(l, wide_publish(l->st.db, lsn));
		forget_batch(l);
	}
	model_commit(&l->m, l->st.now, stamp != INT64_MIN ? &stamp : NULL, lost);
	if (lost)
		follow_clock(l);
	if (external != 0 && !empty && !lost)
	{
		memmove(l->external + 1, l->external, sizeof l->external - sizeof l->external[0]);
		l->external[0].xid = external;
		l->external[0].moment = l->m.moment;
	}
	/* snapshots may regard the last few as running */
	l->st.oldest_external = l->xid > 102 ? l->xid - 2 : 100;
}

/* ----------------------------------------------------------------- reading */

typedef struct running_set
{
	uint64_t	xids[4];
	int			n;
} running_set;

static bool
is_running(void *ctx, uint64_t xid)
{
	running_set *s = ctx;

	for (int i = 0; i < s->n; i++)
		if (s->xids[i] == xid)
			return true;
	return false;
}

static void
take_snapshot(life *l, snap *s)
{
	running_set run = {.n = 0};

	memset(s, 0, sizeof *s);
	s->moment = l->m.moment;
	for (int i = 0; i < 4; i++)
		if (l->external[i].xid >= l->st.oldest_external && l->external[i].xid != 0 && pick(l, 3) == 0)
		{
			run.xids[run.n++] = l->external[i].xid;
			s->excluded[s->nexcluded++] = l->external[i].moment;
		}
	/* what is newer than one that runs is newer than the asker, unless one among it is known to have ended */
	if (s->nexcluded > 0)
	{
		int			first = INT32_MAX, ended = 0;

		for (int i = 0; i < 4; i++)
		{
			bool		out = false;

			for (int k = 0; k < s->nexcluded; k++)
				out |= s->excluded[k] == l->external[i].moment;
			if (out && l->external[i].moment < first)
				first = l->external[i].moment;
			if (!out && l->external[i].moment > ended)
				ended = l->external[i].moment;
		}
		s->moment = first - 1 > ended ? first - 1 : ended;
	}
	CHECK(l, wide_snapshot_take(l->st.db, pick(l, 2) || run.n > 0 ? is_running : NULL, &run, &s->s));
}

static void
do_snapshot(life *l)
{
	if (l->nsnaps < MAX_SNAPS && pick(l, 2))
	{
		take_snapshot(l, &l->snaps[l->nsnaps++]);
		note(l, "snapshot at %d without %d\n", l->snaps[l->nsnaps - 1].moment, l->snaps[l->nsnaps - 1].nexcluded);
	}
	else if (l->nsnaps > 0)
	{
		int			i = (int) pick(l, (uint32_t) l->nsnaps);

		wide_snapshot_release(l->snaps[i].s);
		l->snaps[i] = l->snaps[--l->nsnaps];
	}
}

typedef struct asked
{
	wide_scan_family fam[4];
	int			model_fam[4];
	wide_bytes	quals[4][MAX_QUALS];
	int			qual_index[4][MAX_QUALS];
	int			nfam;
	wide_range	ranges[6];
	int			nranges;
	uint8_t		bounds[12][162];
	bool		reverse;
	model_view	v;
	int64_t		show_min, show_max;
	wide_batch *own;
	uint64_t	own_mark;
	uint32_t	row_cells, row_limit;
} asked;

static void
ask_families(life *l, asked *a)
{
	int			order[4] = {0, 1, 2, 3};

	a->nfam = 1 + (int) pick(l, (uint32_t) l->m.nfamilies);
	for (int i = 0; i < l->m.nfamilies; i++)
	{
		int			k = i + (int) pick(l, (uint32_t) (l->m.nfamilies - i)), t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
	for (int i = 0; i < a->nfam; i++)
	{
		wide_scan_family *f = &a->fam[i];
		int			first = (int) pick(l, (uint32_t) l->m.nquals);

		a->model_fam[i] = order[i];
		f->id = l->ids[order[i]];
		f->want = (wide_want) pick(l, 4);
		f->max_versions = (int) pick(l, 4);
		f->any_exists = pick(l, 3) == 0;
		f->quals = a->quals[i];
		if (f->want == WIDE_WANT_COLUMNS)
			for (int q = first; q < l->m.nquals; q++)
				if (pick(l, 2) || f->nquals == 0)
				{
					a->qual_index[i][f->nquals] = q;
					a->quals[i][f->nquals++] = qual_bytes(l, q);
				}
		if (f->want == WIDE_WANT_RANGE)
		{
			int			last = first + (int) pick(l, (uint32_t) (l->m.nquals - first + 1));

			f->nquals = 2;
			a->quals[i][0] = qual_bytes(l, first);
			a->quals[i][1] = last < l->m.nquals ? qual_bytes(l, last) : bytes(NULL, 0);
			a->qual_index[i][0] = first;
			a->qual_index[i][1] = last;
		}
	}
}

static void
ask_ranges(life *l, asked *a)
{
	int			cuts[12], n = 0, kind = (int) pick(l, 4);

	a->nranges = 0;
	if (kind == 0)
	{
		a->ranges[a->nranges++] = (wide_range) {{a->bounds[0], 0}, {NULL, 0}};
		return;
	}
	/* ascending positions in the order of rows */
	for (int at = 0; at <= l->m.nrows && n < 12; at += 1 + (int) pick(l, (uint32_t) (kind == 1 ? 3 : l->m.nrows)))
		if (pick(l, 2))
			cuts[n++] = at;
	if (kind == 1)
	{
		/* gets */
		for (int i = 0; i < n && a->nranges < 6; i++)
			if (cuts[i] < l->m.nrows)
			{
				wide_bytes	r = row_bytes(l, l->sorted[cuts[i]]);

				memcpy(a->bounds[a->nranges], r.data, r.len);
				a->bounds[a->nranges][r.len] = 0;
				a->ranges[a->nranges].lo = r;
				a->ranges[a->nranges].hi = bytes(a->bounds[a->nranges], r.len + 1);
				a->nranges++;
			}
		return;
	}
	for (int i = 0; i + 1 < n && a->nranges < 6; i += 2)
	{
		a->ranges[a->nranges].lo = cuts[i] < l->m.nrows ? row_bytes(l, l->sorted[cuts[i]]) : bytes("\xff\xff\xff\xff\xff", 5);
		a->ranges[a->nranges].hi = cuts[i + 1] < l->m.nrows ? row_bytes(l, l->sorted[cuts[i + 1]]) : bytes(NULL, 0);
		a->nranges++;
	}
}

static void
ask_when(life *l, asked *a, const snap *s)
{
	a->v.moment = s->moment;
	a->v.nexcluded = s->nexcluded;
	memcpy(a->v.excluded, s->excluded, sizeof s->excluded);
	a->v.now = l->st.now;
	if (pick(l, 3) == 0)
	{
		a->v.ts_min = pick(l, 3) == 0 ? INT64_MIN : BASE_TIME + 10 * (int64_t) pick(l, 30);
		a->v.ts_max = pick(l, 3) == 0 ? INT64_MAX : BASE_TIME + 10 * (int64_t) pick(l, 40);
	}
	if (l->b != NULL && pick(l, 2))
	{
		int			i = (int) pick(l, (uint32_t) l->nmarks + 1);

		a->own = l->b;
		a->own_mark = i < l->nmarks ? l->marks[i] : wide_batch_mark(l->b);
		a->v.own = true;
		a->v.mark = i < l->nmarks ? l->model_marks[i] : l->m.batch.n;
	}
	if (pick(l, 3) == 0)
	{
		a->show_min = pick(l, 3) == 0 ? INT64_MIN : BASE_TIME + 10 * (int64_t) pick(l, 30);
		a->show_max = pick(l, 3) == 0 ? INT64_MAX : BASE_TIME + 10 * (int64_t) pick(l, 40);
	}
	a->reverse = pick(l, 3) == 0;
	a->row_cells = pick(l, 2) ? 0 : 1 + pick(l, 4);
	a->row_limit = pick(l, 3) ? 0 : 1 + pick(l, 6);
}

static bool
in_ranges(const asked *a, wide_bytes r)
{
	for (int i = 0; i < a->nranges; i++)
		if (ukey_compare(r.data, r.len, a->ranges[i].lo.data, a->ranges[i].lo.len) >= 0 &&
			(a->ranges[i].hi.data == NULL || ukey_compare(r.data, r.len, a->ranges[i].hi.data, a->ranges[i].hi.len) < 0))
			return true;
	return false;
}

/* What the model says of a row; returns the number of cells, -1: there is no such row. */
typedef struct expected
{
	int			family, column, version, qual;
	model_op	op;
} expected;

static bool
is_shown(const asked *a, int64_t ts)
{
	return (a->show_min == 0 && a->show_max == 0) || (ts >= a->show_min && (ts < a->show_max || a->show_max == INT64_MAX));
}

static int
expect_row(life *l, const asked *a, int row, expected *out)
{
	bool		exists = false;
	int			n = 0;

	for (int i = 0; i < a->nfam; i++)
	{
		const wide_scan_family *f = &a->fam[i];

		for (int q = 0; q < l->m.nquals; q++)
		{
			model_op	ops[16];
			int			k, column = -1;

			if (f->any_exists)
			{
				k = model_column(&l->m, &a->v, a->model_fam[i], row, q, f->max_versions == 0 ? 1 : f->max_versions, ops);
				for (int x = 0; x < k; x++)
					exists |= is_shown(a, ops[x].ts);
			}
			if (f->want == WIDE_WANT_RANGE && (q < a->qual_index[i][0] || q >= a->qual_index[i][1]))
				continue;
			for (int c = 0; c < f->nquals && f->want == WIDE_WANT_COLUMNS; c++)
				if (a->qual_index[i][c] == q)
					column = c;
			if (f->want == WIDE_WANT_COLUMNS && column < 0)
				continue;
			k = model_column(&l->m, &a->v, a->model_fam[i], row, q, f->max_versions == 0 ? 1 : f->max_versions, ops);
			for (int x = 0; x < k; x++)
			{
				if (!is_shown(a, ops[x].ts))
					continue;
				exists = true;
				if (f->want != WIDE_WANT_EXISTS)
					out[n++] = (expected) {i, column, x, q, ops[x]};
			}
		}
	}
	if (a->row_limit != 0 && n > (int) a->row_limit)
		n = (int) a->row_limit;
	return exists ? n : -1;
}

static void
compare_cell(life *l, const asked *a, int row, const wide_cell *c, const expected *e)
{
	uint8_t		buf[VALUE_MAX + 16];
	wide_bytes	v = value_of(e->op.value, buf);
	wide_bytes	q = qual_bytes(l, e->qual);
	bool		same = c->family == e->family && c->column == e->column && c->version == e->version && c->ts == e->op.ts &&
		c->ttl_us == e->op.ttl && c->value.len == v.len && memcmp(c->value.data, v.data, v.len) == 0 &&
		(c->seq == 0) == (e->op.moment == M_OWN);

	if (a->fam[e->family].want != WIDE_WANT_COLUMNS)
		same = same && c->qualifier.len == q.len && memcmp(c->qualifier.data, q.data, q.len) == 0;
	if (!same)
	{
		int			id = 0;

		memcpy(&id, c->value.data, c->value.len < 4 ? c->value.len : 4);
		fail_life(l, "row %d: expected f%d q%d column %d version %d =%d@%lld, found family %d column %d version %d =%d@%lld",
				  row, a->model_fam[e->family], e->qual, e->column, e->version, e->op.value, (long long) (e->op.ts - BASE_TIME),
				  c->family, c->column, c->version, id, (long long) (c->ts - BASE_TIME));
	}
}

static void
compare_scan(life *l, const asked *a, wide_scan *scan)
{
	expected	want[4 * MAX_QUALS * 8];
	wide_row	row;
	wide_status st;

	for (int i = 0; i < l->m.nrows; i++)
	{
		int			r = l->sorted[a->reverse ? l->m.nrows - 1 - i : i];
		int			n, got = 0;

		if (!in_ranges(a, row_bytes(l, r)))
			continue;
		n = expect_row(l, a, r, want);
		if (n < 0)
			continue;
		do
		{
			st = wide_scan_next(scan, &row);
			if (st != WIDE_OK)
				fail_life(l, "row %d is missing: %s (%s)", r, wide_status_name(st), st == WIDE_END ? "" : wide_error_text());
			if (row.key.len != l->row_len[r] || memcmp(row.key.data, l->rows[r], row.key.len) != 0)
				fail_life(l, "row %d expected, another found", r);
			if (a->row_cells != 0 && row.ncells > (int) a->row_cells)
				fail_life(l, "row %d: %d cells at once", r, row.ncells);
			for (int k = 0; k < row.ncells; k++)
			{
				if (got >= n)
					fail_life(l, "row %d: more than %d cells", r, n);
				compare_cell(l, a, r, &row.cells[k], &want[got++]);
			}
		} while (row.more);
		if (got != n)
			fail_life(l, "row %d: %d cells expected, %d found", r, n, got);
	}
	st = wide_scan_next(scan, &row);
	if (st != WIDE_END)
		fail_life(l, "a row too many, or %s (%s)", wide_status_name(st), st == WIDE_OK ? "" : wide_error_text());
}

static void
do_scan(life *l)
{
	asked		a;
	snap		mine = {0};
	const snap *s = &mine;
	wide_scan_spec spec;
	wide_scan  *scan;

	memset(&a, 0, sizeof a);
	if (l->nsnaps > 0 && pick(l, 2))
		s = &l->snaps[pick(l, (uint32_t) l->nsnaps)];
	else
		take_snapshot(l, &mine);
	ask_families(l, &a);
	ask_ranges(l, &a);
	ask_when(l, &a, s);
	note(l, "scan at %d-%d own %d mark %d range [%lld,%lld) show [%lld,%lld) reverse %d ranges %d row_cells %u limit %u now %lld:", a.v.moment, a.v.nexcluded, a.v.own,
		 a.v.mark, shown(a.v.ts_min), shown(a.v.ts_max), shown(a.show_min), shown(a.show_max),
		 a.reverse, a.nranges, a.row_cells, a.row_limit, (long long) (a.v.now - BASE_TIME));
	for (int i = 0; i < a.nfam; i++)
		note(l, " f%d want %d%s max %d", a.model_fam[i], a.fam[i].want, a.fam[i].any_exists ? "+" : "", a.fam[i].max_versions);
	note(l, "\n");
	spec = (wide_scan_spec) {.families = a.fam, .nfamilies = a.nfam, .ranges = a.ranges, .nranges = a.nranges,
		.reverse = a.reverse, .ts_min = a.v.ts_min, .ts_max = a.v.ts_max, .show_min = a.show_min, .show_max = a.show_max, .now = l->st.now, .own = a.own,
	.own_mark = a.own_mark, .row_cells = a.row_cells,
	.row_limit = a.row_limit};
	CHECK(l, wide_scan_open(l->st.db, s->s, &spec, &scan));
	compare_scan(l, &a, scan);
	for (int again = (int) pick(l, 3); again > 0; again--)
	{
		wide_row	row;

		ask_ranges(l, &a);
		note(l, "again with %d ranges\n", a.nranges);
		CHECK(l, wide_scan_restart(scan, a.ranges, a.nranges, a.own_mark));
		/* leave it in the middle now and then */
		if (pick(l, 3) == 0 && wide_scan_next(scan, &row) == WIDE_OK)
			CHECK(l, wide_scan_restart(scan, a.ranges, a.nranges, a.own_mark));
		compare_scan(l, &a, scan);
	}
	wide_scan_close(scan);
	if (mine.s != NULL)
		wide_snapshot_release(mine.s);
}

/* ------------------------------------------------------------- maintenance */

static void
do_reopen(life *l)
{
	if (l->nsnaps > 0)
		return;
	note(l, "crash\n");
	if (l->b != NULL)
	{
		forget_batch(l);
		l->m.batch.n = 0;
	}
	store_close(&l->st);
	CHECK(l, store_open(&l->st));
	follow_clock(l);
	/* nobody's snapshot has survived */
	memset(l->external, 0, sizeof l->external);
}

static void
do_alter(life *l)
{
	int			i = (int) pick(l, (uint32_t) l->m.nfamilies);
	model_family *f = &l->m.families[i];
	wide_family_options o = l->opts[i];
	wide_batch *b;

	if (f->nfloors >= 3 || l->b != NULL)
		return;
	if (pick(l, 2))
		o.versions += 1 + (int32_t) pick(l, 2);
	if (o.versions > 8)
		return;
	if (o.ttl_us != 0 && pick(l, 2))
		o.ttl_us = pick(l, 3) == 0 ? 0 : o.ttl_us + 100;
	if (o.versions == l->opts[i].versions && o.ttl_us == l->opts[i].ttl_us)
		return;
	note(l, "alter f%d: versions %d ttl %lld\n", i, o.versions, (long long) o.ttl_us);
	CHECK(l, wide_batch_new(l->st.db, &b));
	CHECK(l, wide_batch_alter_family(b, l->ids[i], &o));
	CHECK(l, store_commit(&l->st, b, NULL));
	l->m.moment++;
	f->floors[f->nfloors].moment = l->m.moment;
	f->floors[f->nfloors].versions = f->versions;
	f->floors[f->nfloors++].before = o.ttl_us != f->ttl ? l->st.now - f->ttl : INT64_MIN;
	f->versions = o.versions;
	f->ttl = o.ttl_us;
	l->opts[i] = o;
}

static void
do_maintain(life *l)
{
	wide_status st = WIDE_OK;

	switch (pick(l, 8))
	{
		case 0:
			note(l, "compact\n");
			CHECK(l, wide_compact(l->st.db, l->ids[pick(l, (uint32_t) l->m.nfamilies)]));
			break;
		case 1:
			do_reopen(l);
			break;
		case 2:
			l->st.now += pick(l, 60);
			break;
		case 3:
			do_alter(l);
			break;
		case 4:
		case 5:
			note(l, "flush\n");
			CHECK(l, wide_flush(l->st.db));
			break;
		default:
			note(l, "work\n");
			for (int i = (int) pick(l, 4); i >= 0 && st == WIDE_OK; i--)
				st = wide_work(l->st.db);
			if (st != WIDE_OK && st != WIDE_END)
				CHECK(l, st);
	}
}

/* A transaction that does not fit into a memtable. */
static void
do_bulk(life *l)
{
	int			n = l->st.config.memtable_size > 100000 ? 1500 : 400;

	if (l->ttl_cells)
		return;
	/* few operations before it and after it in the same memtable */
	do_commit(l);
	note(l, "bulk\n");
	for (int i = 0; i < n; i++)
		do_write(l);
	do_commit(l);
	for (int i = 0; i < 6; i++)
		do_write(l);
	do_commit(l);
	do_maintain(l);
}

static uint64_t
run_life(uint64_t seed, uint64_t most)
{
	static life l;
	uint64_t	n = LIFE_OPS < most ? LIFE_OPS : most;
	uint32_t	bulk;

	begin_life(&l, seed);
	bulk = pick(&l, 3) == 0 ? 150 : UINT32_MAX;
	for (uint64_t i = 0; i < n; i++)
	{
		uint32_t	what = pick(&l, 100);

		if (pick(&l, bulk) == 0)
			do_bulk(&l);
		else if (what < 55)
			do_write(&l);
		else if (what < 60)
			do_savepoint(&l);
		else if (what < 72)
			do_commit(&l);
		else if (what < 75)
			do_snapshot(&l);
		else if (what < 93)
			do_scan(&l);
		else
			do_maintain(&l);
	}
	if (store_verify(&l.st) != 0)
		fail_life(&l, "the files have problems");
	end_life(&l);
	return n;
}

static void
test_lives(void **state)
{
	const char *seed_text = getenv("WIDE_SEED"), *ops_text = getenv("WIDE_OPS");
	uint64_t	seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 20240601;
	uint64_t	ops = ops_text != NULL ? strtoull(ops_text, NULL, 0) : UINT64_MAX;
	time_t		end = time(NULL) + 15;

	(void) state;
	printf("seed %llu\n", (unsigned long long) seed);
	fflush(stdout);
	for (uint64_t done = 0; done < ops && (ops_text != NULL || time(NULL) < end); seed++)
		done += run_life(seed, ops - done);
	printf("up to seed %llu\n", (unsigned long long) seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives),
	};

	for (size_t i = 0; i < sizeof value_bytes; i++)
		value_bytes[i] = (uint8_t) (i % 7 == 0 ? i * 131 : 'x');
	return cmocka_run_group_tests(tests, NULL, NULL);
}
