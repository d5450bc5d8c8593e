/*
 * metamorphic_test.c - random lives of a store, checked against model.h
 * (vector T173).
 *
 * A life (history.h) has random options (tiny memtables, files, blocks), then
 * random operations: several transactions at a time with savepoints, commits of
 * all kinds, scans and gets of every shape at old and new snapshots and inside
 * the transactions, online changes of options, and between them flushes,
 * compactions, and crashes of the whole segment.  None of these last may change
 * an answer.  Every life runs in a child process.  A life that fails is shrunk
 * and printed as lines that can be run again.
 *
 *     WIDE_OPS=n    operations in total (default: as many as take a few seconds)
 *     WIDE_SEED=n   seed of the first life
 *     metamorphic_test -f FILE    runs (and shrinks) the history in FILE
 *
 * One exception to "never changes an answer" is not generated: cells with a TTL
 * are only written to columns where the store assigns the timestamps, or far in
 * the future; see "own TTL passed" in view.c.
 */
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/key.h"
#include "engine/compaction/compact.h"
#include "engine/compaction/gather.h"
#include "engine/compaction/level.h"
#include "engine/compaction/output.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/spill_file.h"
#include "engine/batch/spill.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_state.h"
#include "model.h"
#include "history.h"

#define LIFE_STEPS	 600
#define MAX_ROWS	 160
#define MAX_QUALS	 6
#define BASE_TIME	 INT64_C(1700000000000000)
#define FAR			 100000 /* later than any automatic timestamp */
#define MAX_SNAPS	 4
#define VALUE_MAX	 4000
#define BULK_VALUE	 1000000 /* values from this one on are large */
#define SHRINK_RUNS	 3000
#define LIFE_SECONDS 60 /* a life that takes longer hangs */

typedef struct snap
{
	wide_snapshot *s;
	int64_t now; /* when the snapshot was taken */
	int moment;
	int excluded_from;
	int included[8];
	int nincluded;
} snap;

/* A transaction, with its savepoints in the engine and in the model. */
typedef struct transaction
{
	wide_batch *b;
	uint64_t marks[8];
	int model_marks[8];
	int nmarks;
} transaction;

typedef struct life
{
	uint64_t r; /* random state of the current step */
	store st;
	model m;
	wide_table_id table;
	wide_family_id ids[4];
	wide_family_options opts[4];
	uint8_t rows[MAX_ROWS][160];
	size_t row_len[MAX_ROWS];
	int sorted[MAX_ROWS];
	uint8_t quals[MAX_QUALS][8];
	size_t qual_len[MAX_QUALS];
	bool big;
	size_t memory; /* limit of a transaction in bytes; 0: the default */
	transaction tx[MODEL_BATCHES];
	snap snaps[MAX_SNAPS];
	int nsnaps;
	uint64_t xid;
	uint64_t ended; /* no snapshot regards an external transaction below this one as running */

	struct
	{
		uint64_t xid;
		int moment;
	} external[4]; /* the most recent ones */
} life;

static uint8_t value_bytes[VALUE_MAX + 16];
static bool verbose;	 /* print each step as it runs */
static char *shared_dir; /* directory of the child's store, for the parent to remove */

/* --------------------------------------------------------------- failures */

/* Prints what happened inside a step, as a comment after it. */
static void
note(const char *fmt, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

/* Prints a tombstone or version of a row, for the report of a failure. */
static wide_status
print_raw(void *arg, const wide_raw_cell *c)
{
	int id = 0;

	memcpy(&id, c->value.data, c->value.len < 4 ? c->value.len : 4);
	printf("#   stored: family %u qualifier of %zu bytes (%d) type %d ts %lld seq %llu =%d\n",
		   c->family, c->qualifier.len,
		   c->qualifier.len ? c->qualifier.data[c->qualifier.len - 1] : -1, c->type,
		   c->ts == WIDE_TS_MAX ? -1LL : (long long) (c->ts - BASE_TIME),
		   (unsigned long long) c->seq, id);
	return WIDE_OK;
}

static void
fail_life(life *l, const char *fmt, ...)
{
	char line[400];
	va_list ap;
	int row;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	printf("\n# FAILED: %s\n", line);
	if (sscanf(line, "row %d", &row) == 1)
		for (int i = 0; i < l->m.nfamilies; i++)
			wide_raw_row(l->st.db, l->ids[i], bytes(l->rows[row], l->row_len[row]), print_raw,
						 NULL);
	fflush(stdout);
	_exit(1);
}

#define CHECK(l, expr)                                                                     \
	do                                                                                     \
	{                                                                                      \
		wide_status check_st_ = (expr);                                                    \
		if (check_st_ != WIDE_OK)                                                          \
			fail_life(l, "%s: %s (%s)", #expr, status_name(check_st_), wide_error_text()); \
	} while (0)

/*
 * Returns a timestamp for display: relative to the start, or -1 for none and
 * for the ends of time.
 */
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

/* Returns a field of a step as an index. */
static int
index_of(int64_t field, int n)
{
	return (int) ((uint64_t) field % (uint64_t) n);
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

/* Returns a value: its number and a tail that depends on it. */
static wide_bytes
value_of(const life *l, int id, uint8_t *buf)
{
	size_t n = id >= BULK_VALUE || (l->big && id % 3 > 0) ? 2500 + (size_t) (id % 1000)
			   : id % 97 == 0							  ? (size_t) (id * 31 % VALUE_MAX)
														  : (size_t) (id * 37 % 60);

	memcpy(buf, &id, sizeof id);
	memcpy(buf + sizeof id, value_bytes + id % 16, n);
	return bytes(buf, sizeof id + n);
}

/* -------------------------------------------------------------- beginning */

static life *order_life;

static int
row_order(const void *a, const void *b)
{
	int x = *(const int *) a, y = *(const int *) b;

	return ukey_compare(order_life->rows[x], order_life->row_len[x], order_life->rows[y],
						order_life->row_len[y]);
}

/* names 0: plain names; else awkward names that depend on the seed */
static void
make_names(life *l, uint64_t names)
{
	static const uint8_t alphabet[] = {0, 1, 2, 0xff, 'a', 'b'};
	size_t prefix;

	l->r = names;
	prefix = names != 0 && pick(l, 3) == 0 ? 70 + pick(l, 40) : 0;
	for (int i = 0; i < l->m.nrows;)
	{
		size_t n = 1 + pick(l, 4);
		bool known = false;

		memset(l->rows[i], 'p', prefix);
		for (size_t k = 0; k < n; k++)
			l->rows[i][prefix + k] = alphabet[pick(l, sizeof alphabet)];
		l->row_len[i] = prefix + n;
		if (names == 0)
			l->row_len[i] = (size_t) snprintf((char *) l->rows[i], sizeof l->rows[i], "r%03d", i);
		for (int k = 0; k < i; k++)
			known |= l->row_len[k] == l->row_len[i] &&
					 memcmp(l->rows[k], l->rows[i], l->row_len[i]) == 0;
		if (!known)
			i++;
	}
	for (int i = 0; i < l->m.nrows; i++)
		l->sorted[i] = i;
	order_life = l;
	qsort(l->sorted, (size_t) l->m.nrows, sizeof(int), row_order);
	/* ascending: the index is also the order */
	for (int i = 0; i < l->m.nquals; i++)
	{
		l->quals[i][0] = (uint8_t) (i < 2 ? 0 : 'a' + i);
		l->quals[i][1] = (uint8_t) i;
		l->qual_len[i] = i == 0 ? 0 : i == 1 ? 1 : 2;
	}
}

static int32_t
at_least(int64_t x, int32_t least)
{
	return x < least ? least : (int32_t) x;
}

/* Sets the options given by a family step (from field 0) or an alter step (from field 1). */
static void
family_from(wide_family_options *o, const int64_t *a)
{
	o->versions = at_least(a[0], 1);
	o->min_versions = at_least(a[1] > a[0] ? a[0] : a[1], 0);
	o->ttl_us = a[2] > 0 ? a[2] : 0;
	o->keep_deleted = a[3] != 0;
}

static void
compaction_from(wide_family_options *o, int64_t bloom, int64_t compression, int64_t window)
{
	o->bloom = (uint8_t) index_of(bloom, 4);
	o->compression = (uint8_t) index_of(compression, 2);
	o->compaction = window > 0 ? WIDE_COMPACT_WINDOW : WIDE_COMPACT_LEVELED;
	o->window_us = window > 0 ? window : 0;
}

static void
model_options(model_family *f, const wide_family_options *o)
{
	f->versions = o->versions;
	f->min_versions = o->min_versions;
	f->ttl = o->ttl_us;
	f->keep_deleted = o->keep_deleted;
}

/* Runs the first steps of the history; returns their number. */
static int
begin_life(life *l, const history *h)
{
	const int64_t *a = h->steps[0].a;
	wide_batch *b;
	char name[16];

	memset(l, 0, sizeof *l);
	store_init(&l->st);
	snprintf(shared_dir, sizeof l->st.dir, "%s", l->st.dir);
	l->st.config.memtable_size = (size_t) at_least(a[0], 64 * 1024);
	l->st.config.max_files = 1024;
	l->st.now = BASE_TIME;
	output_file_bytes = (uint64_t) at_least(a[1], 4096);
	level_bytes = (uint64_t) at_least(a[2], 16 * 1024);
	gather_files = 3;
	l->m.nrows = a[3] < 1 ? 1 : a[3] > MAX_ROWS ? MAX_ROWS : (int) a[3];
	l->m.nquals = a[4] < 1 ? 1 : a[4] > MAX_QUALS ? MAX_QUALS : (int) a[4];
	l->big = a[6] != 0;
	l->memory = (size_t) a[7];
	/* runs have several blocks and are merged often */
	spill_fan = 3;
	spill_file_block_bytes = 200;
	for (int i = 1; i < h->n && h->steps[i].kind == STEP_FAMILY && i <= 4; i++)
		l->m.nfamilies = i;
	l->m.cells = calloc((size_t) (l->m.nfamilies * l->m.nrows), sizeof(*l->m.cells));
	l->xid = 100;
	l->m.last_ts = l->m.stamped = INT64_MIN;
	make_names(l, (uint64_t) a[5]);
	CHECK(l, store_open(&l->st));
	CHECK(l, wide_batch_new(l->st.db, &b));
	CHECK(l, wide_batch_create_table(b, 1, "t", &l->table));
	for (int i = 0; i < l->m.nfamilies; i++)
	{
		wide_family_options *o = &l->opts[i];

		a = h->steps[i + 1].a;
		wide_family_defaults(o);
		family_from(o, a);
		o->block_size = (uint32_t) at_least(a[4], 1024);
		o->bloom_prefix = (uint16_t) at_least(a[6], 1);
		compaction_from(o, a[5], a[7], a[8]);
		model_options(&l->m.families[i], o);
		snprintf(name, sizeof name, "f%d", i);
		CHECK(l, wide_batch_create_family(b, l->table, name, o, &l->ids[i]));
	}
	CHECK(l, store_commit(&l->st, b, NULL));
	l->m.moment = 1;
	return 1 + l->m.nfamilies;
}

static void
end_life(life *l)
{
	for (int i = 0; i < l->nsnaps; i++)
		wide_snapshot_release(l->snaps[i].s);
	for (int i = 0; i < MODEL_BATCHES; i++)
		if (l->tx[i].b != NULL)
			wide_batch_free(l->tx[i].b);
	store_drop(&l->st);
	model_free(&l->m);
}

/* ----------------------------------------------------------------- writing */

static int64_t
time_of(int64_t field, int64_t none)
{
	return field < 0 ? none : BASE_TIME + field;
}

static void
add_op(life *l, int batch, model_op *o)
{
	transaction *t = &l->tx[batch];
	uint8_t buf[VALUE_MAX + 16];

	if (t->b == NULL)
		CHECK(l, wide_batch_new(l->st.db, &t->b));
	/* a new command, so the put gets a provisional timestamp of its own */
	wide_batch_command(t->b, l->memory > 0 ? l->memory : (size_t) 64 << 20);
	if (o->type == M_PUT)
		CHECK(l, wide_batch_put(t->b, l->ids[o->family], row_bytes(l, o->row),
								qual_bytes(l, o->qual), o->automatic ? WIDE_TS_AUTO : o->ts,
								o->floor, o->ttl, value_of(l, o->value, buf)));
	else
		CHECK(l, wide_batch_delete(t->b, (wide_delete) (o->type - 1), l->ids[o->family],
								   row_bytes(l, o->row), qual_bytes(l, o->qual), o->ts));
	if (o->automatic)
		o->ts = model_provisional(&l->m, &l->m.batches[batch], l->st.now, o->floor);
	else if (o->type != M_PUT && o->ts == INT64_MAX)
		o->at = model_provisional(&l->m, &l->m.batches[batch], l->st.now, INT64_MIN);
	model_add(&l->m.batches[batch], o);
}

static void
do_put(life *l, const int64_t *a)
{
	model_op o = {.type = M_PUT,
				  .family = index_of(a[1], l->m.nfamilies),
				  .row = index_of(a[2], l->m.nrows),
				  .qual = index_of(a[3], l->m.nquals),
				  .ts = time_of(a[4], 0),
				  .automatic = (a[4] < 0),
				  .ttl = (a[6] > 0 ? a[6] : 0),
				  .value = index_of(a[7], INT32_MAX)};

	o.floor = o.automatic ? time_of(a[5], INT64_MIN) : INT64_MIN;
	add_op(l, index_of(a[0], MODEL_BATCHES), &o);
}

/* A read-modify-write: reads the newest version, of the transaction or committed, and writes over
 * it. */
static void
do_rewrite(life *l, const int64_t *a)
{
	int batch = index_of(a[0], MODEL_BATCHES);
	model_op o = {.type = M_PUT,
				  .family = index_of(a[1], l->m.nfamilies),
				  .row = index_of(a[2], l->m.nrows),
				  .qual = index_of(a[3], l->m.nquals),
				  .automatic = true,
				  .floor = INT64_MIN,
				  .value = index_of(a[4], INT32_MAX)};
	model_view v = {.moment = l->m.moment,
					.own = &l->m.batches[batch],
					.mark = l->m.batches[batch].n,
					.now = l->st.now};
	model_op newest;
	wide_bytes qual = qual_bytes(l, o.qual), key = row_bytes(l, o.row);
	uint8_t end[162];
	wide_range range = {key, bytes(end, key.len + 1)};
	wide_scan_family fam = {.id = l->ids[o.family],
							.want = WIDE_WANT_COLUMNS,
							.quals = &qual,
							.nquals = 1,
							.max_versions = 1};
	wide_scan_spec spec = {.families = &fam,
						   .nfamilies = 1,
						   .ranges = &range,
						   .nranges = 1,
						   .own = l->tx[batch].b,
						   .own_mark = UINT64_MAX};
	int64_t floor_ts = INT64_MIN;
	wide_snapshot *s;
	wide_scan *scan;
	wide_row row;
	wide_status st;

	memcpy(end, key.data, key.len);
	end[key.len] = 0;
	CHECK(l, wide_snapshot_latest(l->st.db, &s));
	CHECK(l, wide_scan_open(l->st.db, s, &spec, &scan));
	while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
		if (row.ncells > 0)
			floor_ts = row.cells[0].floor_ts;
	if (st != WIDE_END)
		CHECK(l, st);
	wide_scan_close(scan);
	wide_snapshot_release(s);
	if (model_column(&l->m, &v, o.family, o.row, o.qual, 1, &newest) > 0)
		o.floor = newest.moment == M_OWN && newest.automatic ? newest.floor : newest.ts;
	if (floor_ts != o.floor)
		fail_life(l, "row %d: floor %lld expected, %lld found", o.row, shown(o.floor),
				  shown(floor_ts));
	add_op(l, batch, &o);
}

static void
do_delete(life *l, const int64_t *a)
{
	model_op o = {.type = M_DELETE_VERSION + index_of(a[1], 4),
				  .family = index_of(a[2], l->m.nfamilies),
				  .row = index_of(a[3], l->m.nrows),
				  .qual = index_of(a[4], l->m.nquals),
				  .ts = time_of(a[5], WIDE_TS_MAX),
				  .floor = INT64_MIN};

	add_op(l, index_of(a[0], MODEL_BATCHES), &o);
}

static void
do_delete_row(life *l, const int64_t *a)
{
	for (int i = 0; i < l->m.nfamilies; i++)
	{
		model_op o = {.type = M_DELETE_FAMILY,
					  .family = i,
					  .row = index_of(a[1], l->m.nrows),
					  .ts = time_of(a[2], WIDE_TS_MAX),
					  .floor = INT64_MIN};

		add_op(l, index_of(a[0], MODEL_BATCHES), &o);
	}
}

/*
 * A transaction that does not fit into a memtable becomes files: most of its
 * cells are ballast in the last row, the others are small and may meet cells
 * of other transactions.
 */
static void
do_bulk(life *l, const int64_t *a)
{
	l->r = (uint64_t) a[2];
	for (int i = 0; i < a[3] && i < 400; i++)
	{
		model_op o = {.type = M_PUT,
					  .family = index_of(a[1], l->m.nfamilies),
					  .row = l->m.nrows - 1,
					  .qual = (int) pick(l, (uint32_t) l->m.nquals),
					  .ts = BASE_TIME + 10 * (int64_t) pick(l, 1 + (uint32_t) index_of(a[4], 30)),
					  .floor = INT64_MIN,
					  .value = BULK_VALUE + 1000 * index_of(a[2], 1000) + i};

		if (pick(l, 4) == 0)
		{
			o.row = (int) pick(l, (uint32_t) l->m.nrows);
			if (pick(l, 3) > 0)
			{
				o.type = M_DELETE_VERSION + (int) pick(l, 4);
				o.ts = pick(l, 4) == 0 ? WIDE_TS_MAX : o.ts;
			}
			else
				o.automatic = pick(l, 4) == 0;
		}
		add_op(l, index_of(a[0], MODEL_BATCHES), &o);
	}
}

static void
do_mark(life *l, int batch)
{
	transaction *t = &l->tx[batch];

	if (t->b == NULL || t->nmarks == 8)
		return;
	t->marks[t->nmarks] = wide_batch_mark(t->b);
	t->model_marks[t->nmarks++] = l->m.batches[batch].n;
}

static void
do_rewind(life *l, int batch, int64_t which)
{
	transaction *t = &l->tx[batch];
	int to;

	if (t->nmarks == 0)
		return;
	to = index_of(which, t->nmarks);
	wide_batch_rewind(t->b, t->marks[to]);
	for (int i = t->model_marks[to]; i < l->m.batches[batch].n; i++)
		l->m.batches[batch].ops[i].undone = true;
	t->nmarks = to + 1;
}

/*
 * Transactions that were not committed may have moved the clock of automatic
 * timestamps, and a crash may undo that; but the clock never goes below a
 * timestamp that was assigned.
 */
static void
follow_clock(life *l)
{
	int64_t ts = l->st.db->seg->commit.last_ts;

	if (ts < l->m.stamped)
		fail_life(l, "the clock went back to %lld, although %lld was assigned", shown(ts),
				  shown(l->m.stamped));
	l->m.last_ts = ts;
}

static void
forget_batch(life *l, int batch)
{
	if (l->tx[batch].b != NULL)
		wide_batch_free(l->tx[batch].b);
	memset(&l->tx[batch], 0, sizeof l->tx[batch]);
}

static void
undo_batch(life *l, int batch)
{
	forget_batch(l, batch);
	l->m.batches[batch].n = 0;
}

static void
release_snapshots(life *l)
{
	for (int i = 0; i < l->nsnaps; i++)
		wide_snapshot_release(l->snaps[i].s);
	l->nsnaps = 0;
}

/* The transaction is decided, but its process dies before the finish record. */
static void
die_committing(life *l, int batch)
{
	transaction *t = &l->tx[batch];

	l->st.log.sync(l->st.log.ctx, l->st.log.end(l->st.log.ctx));
	/* the slot disappears with the segment */
	t->b->phase = BATCH_FINISHED;
	free(t->b->prepared.files);
	t->b->prepared.files = NULL;
	forget_batch(l, batch);
	for (int i = 0; i < MODEL_BATCHES; i++)
		if (i != batch)
			undo_batch(l, i);
	release_snapshots(l);
	store_close(&l->st);
	CHECK(l, store_open(&l->st));
	memset(l->external, 0, sizeof l->external);
}

/* Prepares the batch and commits, refuses or loses it. */
static void
do_commit(life *l, int batch, int kind, bool in_external)
{
	transaction *t = &l->tx[batch];
	model_list *ops = &l->m.batches[batch];
	uint64_t lsn, external = in_external || kind != STEP_COMMIT ? ++l->xid : 0;
	bool empty, lost;
	int64_t stamp;

	if (t->b == NULL)
		return;
	empty = wide_batch_empty(t->b);
	lost = kind == STEP_DIE && !empty;
	file_log_set_xid(&l->st.log, external);
	CHECK(l, wide_batch_prepare(t->b, external));
	if (external != 0)
		CHECK(l, file_log_decide(&l->st.log, external, kind != STEP_REFUSE));
	if (kind == STEP_REFUSE)
	{
		undo_batch(l, batch);
		follow_clock(l);
		return;
	}
	stamp = t->b->prepared.files_ts;
	note("\t# is commit %d%s", l->m.moment + 1, t->b->prepared.nfiles ? " as files" : "");
	if (lost)
	{
		die_committing(l, batch);
		/*
		 * it gets its timestamp after the crash, which has undone clock moves
		 * of uncommitted batches
		 */
		if (stamp == INT64_MIN)
		{
			int64_t after = l->st.db->seg->commit.last_ts;

			if (after <= l->m.stamped)
				fail_life(l, "recovery assigned %lld after %lld", shown(after),
						  shown(l->m.stamped));
			l->m.last_ts = after - 1;
		}
	}
	else
	{
		CHECK(l, wide_batch_finish(t->b, &lsn));
		CHECK(l, l->st.log.sync(l->st.log.ctx, lsn));
		CHECK(l, wide_publish(l->st.db, lsn));
		forget_batch(l, batch);
	}
	model_commit(&l->m, ops, l->st.now, stamp != INT64_MIN ? &stamp : NULL, lost);
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
	if (l->st.oldest_external < l->ended)
		l->st.oldest_external = l->ended;
}

/* ----------------------------------------------------------------- reading */

typedef struct running_set
{
	uint64_t xids[4];
	int n;
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
	s->now = l->st.now;
	for (int i = 0; i < 4; i++)
		if (l->external[i].xid >= l->st.oldest_external && l->external[i].xid != 0 &&
			pick(l, 3) == 0)
		{
			run.xids[run.n++] = l->external[i].xid;
			if (s->excluded_from == 0 || l->external[i].moment < s->excluded_from)
				s->excluded_from = l->external[i].moment;
		}
	/*
	 * commits newer than a running one count as newer than the snapshot,
	 * except those known to have ended
	 */
	if (s->excluded_from > 0)
	{
		int newest = s->excluded_from - 1;

		for (int i = 0; i < 4; i++)
			if (l->external[i].moment > s->excluded_from && !is_running(&run, l->external[i].xid))
			{
				s->included[s->nincluded++] = l->external[i].moment;
				if (l->external[i].moment > newest)
					newest = l->external[i].moment;
			}
		s->moment = newest;
	}
	CHECK(l, snapshot_take(l->st.db, pick(l, 2) || run.n > 0 ? is_running : NULL, &run, &s->s));
}

static void
do_snapshot(life *l, uint64_t seed)
{
	snap *s = &l->snaps[l->nsnaps];

	if (l->nsnaps == MAX_SNAPS)
		return;
	l->r = seed;
	take_snapshot(l, s);
	l->nsnaps++;
	note("\t# at %d, without those from %d on except %d", s->moment, s->excluded_from,
		 s->nincluded);
}

static void
do_release(life *l, int64_t which)
{
	int i;

	if (l->nsnaps == 0)
		return;
	i = index_of(which, l->nsnaps);
	wide_snapshot_release(l->snaps[i].s);
	l->snaps[i] = l->snaps[--l->nsnaps];
}

typedef struct asked
{
	wide_scan_family fam[4];
	int model_fam[4];
	wide_bytes quals[4][MAX_QUALS];
	int qual_index[4][MAX_QUALS];
	int nfam;
	wide_range ranges[6];
	int nranges;
	uint8_t bounds[12][162];
	bool reverse;
	model_view v;
	int64_t show_min, show_max;
	wide_batch *own;
	uint64_t own_mark;
	uint32_t row_cells, row_limit;
} asked;

static void
ask_families(life *l, asked *a)
{
	int order[4] = {0, 1, 2, 3};

	a->nfam = 1 + (int) pick(l, (uint32_t) l->m.nfamilies);
	for (int i = 0; i < l->m.nfamilies; i++)
	{
		int k = i + (int) pick(l, (uint32_t) (l->m.nfamilies - i)), t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
	for (int i = 0; i < a->nfam; i++)
	{
		wide_scan_family *f = &a->fam[i];
		int first = (int) pick(l, (uint32_t) l->m.nquals);

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
			int last = first + (int) pick(l, (uint32_t) (l->m.nquals - first + 1));

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
	int cuts[12], n = 0, kind = (int) pick(l, 4);

	a->nranges = 0;
	if (kind == 0)
	{
		a->ranges[a->nranges++] = (wide_range) {{a->bounds[0], 0}, {NULL, 0}};
		return;
	}
	/* ascending positions in row order */
	for (int at = 0; at <= l->m.nrows && n < 12;
		 at += 1 + (int) pick(l, (uint32_t) (kind == 1 ? 3 : l->m.nrows)))
		if (pick(l, 2))
			cuts[n++] = at;
	if (kind == 1)
	{
		/* gets */
		for (int i = 0; i < n && a->nranges < 6; i++)
			if (cuts[i] < l->m.nrows)
			{
				wide_bytes r = row_bytes(l, l->sorted[cuts[i]]);

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
		a->ranges[a->nranges].lo = cuts[i] < l->m.nrows ? row_bytes(l, l->sorted[cuts[i]])
														: bytes("\xff\xff\xff\xff\xff", 5);
		a->ranges[a->nranges].hi = cuts[i + 1] < l->m.nrows ? row_bytes(l, l->sorted[cuts[i + 1]])
															: bytes(NULL, 0);
		a->nranges++;
	}
}

static void
ask_when(life *l, asked *a, const snap *s)
{
	int batch = (int) pick(l, MODEL_BATCHES);
	transaction *t = &l->tx[batch];

	a->v.moment = s->moment;
	a->v.excluded_from = s->excluded_from;
	a->v.nincluded = s->nincluded;
	memcpy(a->v.included, s->included, sizeof s->included);
	a->v.now = pick(l, 2) ? s->now : l->st.now;
	if (pick(l, 3) == 0)
	{
		a->v.ts_min = pick(l, 3) == 0 ? INT64_MIN : BASE_TIME + 10 * (int64_t) pick(l, 30);
		a->v.ts_max = pick(l, 3) == 0 ? INT64_MAX : BASE_TIME + 10 * (int64_t) pick(l, 40);
	}
	if (t->b != NULL && pick(l, 2))
	{
		int i = (int) pick(l, (uint32_t) t->nmarks + 1);

		a->own = t->b;
		a->own_mark = i < t->nmarks ? t->marks[i] : wide_batch_mark(t->b);
		a->v.own = &l->m.batches[batch];
		a->v.mark = i < t->nmarks ? t->model_marks[i] : l->m.batches[batch].n;
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
			(a->ranges[i].hi.data == NULL ||
			 ukey_compare(r.data, r.len, a->ranges[i].hi.data, a->ranges[i].hi.len) < 0))
			return true;
	return false;
}

/* A cell of a row, as the model has it. */
typedef struct expected
{
	int family, column, version, qual;
	model_op op;
} expected;

static bool
is_shown(const asked *a, int64_t ts)
{
	return (a->show_min == 0 && a->show_max == 0) ||
		   (ts >= a->show_min && (ts < a->show_max || a->show_max == INT64_MAX));
}

/* Computes a row in the model.  Returns the number of its cells, -1 if the row does not exist. */
static int
expect_row(life *l, const asked *a, int row, expected *out)
{
	bool exists = false;
	int n = 0;

	for (int i = 0; i < a->nfam; i++)
	{
		const wide_scan_family *f = &a->fam[i];

		for (int q = 0; q < l->m.nquals; q++)
		{
			model_op ops[16];
			int k, column = -1;

			if (f->any_exists)
			{
				k = model_column(&l->m, &a->v, a->model_fam[i], row, q,
								 f->max_versions == 0 ? 1 : f->max_versions, ops);
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
			k = model_column(&l->m, &a->v, a->model_fam[i], row, q,
							 f->max_versions == 0 ? 1 : f->max_versions, ops);
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
	uint8_t buf[VALUE_MAX + 16];
	wide_bytes v = value_of(l, e->op.value, buf);
	wide_bytes q = qual_bytes(l, e->qual);
	bool same = c->family == e->family && c->column == e->column && c->version == e->version &&
				c->ts == e->op.ts && c->ttl_us == e->op.ttl && c->value.len == v.len &&
				memcmp(c->value.data, v.data, v.len) == 0 &&
				(c->seq == 0) == (e->op.moment == M_OWN);

	if (a->fam[e->family].want != WIDE_WANT_COLUMNS)
		same = same && c->qualifier.len == q.len && memcmp(c->qualifier.data, q.data, q.len) == 0;
	if (!same)
	{
		int id = 0;

		memcpy(&id, c->value.data, c->value.len < 4 ? c->value.len : 4);
		fail_life(l,
				  "row %d: expected f%d q%d column %d version %d =%d@%lld, found family %d column "
				  "%d version %d =%d@%lld",
				  row, a->model_fam[e->family], e->qual, e->column, e->version, e->op.value,
				  (long long) (e->op.ts - BASE_TIME), c->family, c->column, c->version, id,
				  (long long) (c->ts - BASE_TIME));
	}
}

static void
compare_scan(life *l, const asked *a, wide_scan *scan)
{
	expected want[4 * MAX_QUALS * 8];
	wide_row row;
	wide_status st;

	for (int i = 0; i < l->m.nrows; i++)
	{
		int r = l->sorted[a->reverse ? l->m.nrows - 1 - i : i];
		int n, got = 0;

		if (!in_ranges(a, row_bytes(l, r)))
			continue;
		n = expect_row(l, a, r, want);
		if (n < 0)
			continue;
		if (pick(l, 16) == 0)
			wide_scan_park(scan);
		do
		{
			st = wide_scan_next(scan, &row);
			if (st != WIDE_OK)
				fail_life(l, "row %d is missing: %s (%s)", r, status_name(st),
						  st == WIDE_END ? "" : wide_error_text());
			if (row.key.len != l->row_len[r] || memcmp(row.key.data, l->rows[r], row.key.len) != 0)
				fail_life(l, "row %d expected, another found", r);
			if (a->row_cells != 0 && row.ncells > (int) a->row_cells)
				fail_life(l, "row %d: %d cells in one part", r, row.ncells);
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
		fail_life(l, "expected the end of the scan: extra row, or %s (%s)", status_name(st),
				  st == WIDE_OK ? "" : wide_error_text());
}

/* Makes a scan that reads everything. */
static void
ask_everything(life *l, asked *a, const snap *s)
{
	a->nfam = l->m.nfamilies;
	for (int i = 0; i < a->nfam; i++)
	{
		a->model_fam[i] = i;
		a->fam[i] = (wide_scan_family) {.id = l->ids[i], .want = WIDE_WANT_ALL, .max_versions = 8};
	}
	a->ranges[a->nranges++] = (wide_range) {{a->bounds[0], 0}, {NULL, 0}};
	a->v.moment = s->moment;
	a->v.excluded_from = s->excluded_from;
	a->v.nincluded = s->nincluded;
	memcpy(a->v.included, s->included, sizeof s->included);
	a->v.now = s->now;
}

static void
note_scan(life *l, const asked *a)
{
	note("\t# at %d without those from %d on, now %lld", a->v.moment, a->v.excluded_from,
		 (long long) (a->v.now - BASE_TIME));
	if (a->own != NULL)
		note(", batch %d up to %d", (int) (a->v.own - l->m.batches), a->v.mark);
	if (a->v.ts_min != 0 || a->v.ts_max != 0)
		note(", times [%lld,%lld)", shown(a->v.ts_min), shown(a->v.ts_max));
	if (a->show_min != 0 || a->show_max != 0)
		note(", shown [%lld,%lld)", shown(a->show_min), shown(a->show_max));
	note(", %d ranges%s, %u cells at once, at most %u of a row", a->nranges,
		 a->reverse ? " backward" : "", a->row_cells, a->row_limit);
	for (int i = 0; i < a->nfam; i++)
		note("; f%d want %d%s max %d", a->model_fam[i], a->fam[i].want,
			 a->fam[i].any_exists ? "+" : "", a->fam[i].max_versions);
}

/* Runs a random scan; seed 0: reads everything. */
static void
do_scan(life *l, uint64_t seed, const snap *s)
{
	asked a;
	snap mine = {0};
	wide_scan_spec spec;
	wide_scan *scan;

	memset(&a, 0, sizeof a);
	l->r = seed;
	if (s == NULL && seed != 0 && l->nsnaps > 0 && pick(l, 2))
		s = &l->snaps[pick(l, (uint32_t) l->nsnaps)];
	if (s == NULL)
	{
		take_snapshot(l, &mine);
		s = &mine;
	}
	if (seed == 0)
		ask_everything(l, &a, s);
	else
	{
		ask_families(l, &a);
		ask_ranges(l, &a);
		ask_when(l, &a, s);
	}
	note_scan(l, &a);
	/* also with rows read one by one */
	scan_block_off = seed % 4 == 3;
	spec = (wide_scan_spec) {.families = a.fam,
							 .nfamilies = a.nfam,
							 .ranges = a.ranges,
							 .nranges = a.nranges,
							 .reverse = a.reverse,
							 .ts_min = a.v.ts_min,
							 .ts_max = a.v.ts_max,
							 .show_min = a.show_min,
							 .show_max = a.show_max,
							 .now = a.v.now == s->now ? 0 : a.v.now,
							 .own = a.own,
							 .own_mark = a.own_mark,
							 .row_cells = a.row_cells,
							 .row_limit = a.row_limit};
	CHECK(l, wide_scan_open(l->st.db, s->s, &spec, &scan));
	compare_scan(l, &a, scan);
	for (int again = seed == 0 ? 0 : (int) pick(l, 3); again > 0; again--)
	{
		wide_row row;

		ask_ranges(l, &a);
		note(", again with %d ranges", a.nranges);
		CHECK(l, wide_scan_restart(scan, a.ranges, a.nranges, a.own_mark));
		/* sometimes restart in the middle of a scan */
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
do_crash(life *l)
{
	release_snapshots(l);
	for (int i = 0; i < MODEL_BATCHES; i++)
		undo_batch(l, i);
	store_close(&l->st);
	CHECK(l, store_open(&l->st));
	follow_clock(l);
	/* no snapshots survive */
	memset(l->external, 0, sizeof l->external);
}

static void
do_alter(life *l, const int64_t *a)
{
	int i = index_of(a[0], l->m.nfamilies);
	model_family *f = &l->m.families[i], to;
	wide_family_options o = l->opts[i];
	wide_batch *b;

	wide_status st;

	if (f->nfloors >= MODEL_FLOORS)
		return;
	family_from(&o, a + 1);
	compaction_from(&o, a[5], a[6], a[7]);
	CHECK(l, wide_batch_new(l->st.db, &b));
	st = wide_batch_alter_family(b, l->ids[i], &o);
	if (st == WIDE_FULL)
	{
		/*
		 * a compaction makes room, unless a reader needs data older than the
		 * changes, or reading the past depends on them
		 */
		bool must = l->nsnaps == 0 && !l->opts[i].keep_deleted;

		if (must)
			l->st.oldest_external = l->ended = l->xid + 1;
		CHECK(l, wide_compact(l->st.db, l->ids[i]));
		st = wide_batch_alter_family(b, l->ids[i], &o);
		note("\t# after a compaction%s", st == WIDE_OK ? "" : " without effect");
		if (st == WIDE_FULL && !must)
		{
			wide_batch_free(b);
			return;
		}
	}
	CHECK(l, st);
	CHECK(l, store_commit(&l->st, b, NULL));
	model_options(&to, &o);
	model_alter(&l->m, f, l->st.now, &to);
	l->opts[i] = o;
}

static void
do_work(life *l, int64_t units)
{
	wide_status st = WIDE_OK;

	if (units % 4 == 3)
		st = wide_tidy(l->st.db);
	for (; units >= 0 && st == WIDE_OK; units--)
		st = wide_work(l->st.db);
	if (st != WIDE_OK && st != WIDE_END)
		CHECK(l, st);
}

/* ----------------------------------------------------------------- running */

static void
run_step(life *l, const step *s)
{
	const int64_t *a = s->a;
	int batch = index_of(a[0], MODEL_BATCHES);

	switch ((enum step_kind) s->kind)
	{
		case STEP_PUT:
			do_put(l, a);
			break;
		case STEP_REWRITE:
			do_rewrite(l, a);
			break;
		case STEP_DELETE:
			do_delete(l, a);
			break;
		case STEP_DELETE_ROW:
			do_delete_row(l, a);
			break;
		case STEP_BULK:
			do_bulk(l, a);
			break;
		case STEP_MARK:
			do_mark(l, batch);
			break;
		case STEP_REWIND:
			do_rewind(l, batch, a[1]);
			break;
		case STEP_COMMIT:
		case STEP_REFUSE:
		case STEP_DIE:
			do_commit(l, batch, s->kind, a[1] != 0);
			break;
		case STEP_ABORT:
			undo_batch(l, batch);
			break;
		case STEP_SNAPSHOT:
			do_snapshot(l, (uint64_t) a[0]);
			break;
		case STEP_RELEASE:
			do_release(l, a[0]);
			break;
		case STEP_SCAN:
			do_scan(l, (uint64_t) a[0], NULL);
			break;
		case STEP_FLUSH:
			CHECK(l, wide_flush(l->st.db));
			break;
		case STEP_COMPACT:
			CHECK(l, wide_compact(l->st.db, l->ids[index_of(a[0], l->m.nfamilies)]));
			break;
		case STEP_WORK:
			do_work(l, a[0]);
			break;
		case STEP_CRASH:
			do_crash(l);
			break;
		case STEP_CLOCK:
			l->st.now += a[0];
			break;
		case STEP_ALTER:
			do_alter(l, a);
			break;
		case STEP_STORE:
		case STEP_FAMILY:
		case STEP_KINDS:
			break;
	}
}

/* Runs the life in a child; does not return. */
static void
run_life(const history *h)
{
	static life l;
	int i;

	if (h->n < 2 || h->steps[0].kind != STEP_STORE || h->steps[1].kind != STEP_FAMILY)
	{
		printf("# a history begins with the store and a family\n");
		fflush(stdout);
		_exit(0);
	}
	i = begin_life(&l, h);
	for (int k = 0; k < i && verbose; k++)
	{
		step_print(stdout, &h->steps[k]);
		printf("\n");
	}
	for (; i < h->n; i++)
	{
		if (verbose)
		{
			step_print(stdout, &h->steps[i]);
			fflush(stdout);
		}
		run_step(&l, &h->steps[i]);
		note("\n");
	}
	/* at the end, compare everything that can be read */
	note("# the end: read everything\n");
	for (i = 0; i < l.nsnaps; i++)
		do_scan(&l, 0, &l.snaps[i]);
	do_scan(&l, 0, NULL);
	if (store_verify(&l.st) != 0)
		fail_life(&l, "the files have problems");
	end_life(&l);
	fflush(stdout);
	exit(0);
}

/*
 * Runs the history in a child; its output goes to out, which may be NULL.
 * Returns true if it passed.
 */
static bool
runs(const history *h, bool say, FILE *out)
{
	int status;
	pid_t pid;

	fflush(stdout);
	shared_dir[0] = '\0';
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
	{
		int fd = out != NULL ? fileno(out) : open("/dev/null", O_WRONLY);

		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		alarm(LIFE_SECONDS);
		verbose = say;
		run_life(h);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (out != NULL && WIFSIGNALED(status))
		dprintf(fileno(out), "\n# FAILED: killed by signal %d%s\n", WTERMSIG(status),
				WTERMSIG(status) == SIGALRM ? ", it hangs" : "");
	if (shared_dir[0] != '\0')
		test_dir_drop(shared_dir);
	return false;
}

/* --------------------------------------------------------------- shrinking */

typedef struct shrinker
{
	history h; /* the smallest failing history so far */
	int runs;
} shrinker;

static bool
fails(shrinker *s, const history *h)
{
	return s->runs < SHRINK_RUNS && (s->runs++, !runs(h, false, NULL));
}

/* Removes chunks of steps, of decreasing size.  Returns true if any could be removed. */
static bool
drop_steps(shrinker *s)
{
	bool any = false;

	for (int chunk = s->h.n / 2; chunk > 0; chunk /= 2)
		for (int i = s->h.n - chunk; i > 0; i -= chunk)
		{
			history less = history_without(&s->h, i, i + chunk);
			history *worse = fails(s, &less) ? &s->h : &less;

			free(worse->steps);
			if (worse == &s->h)
			{
				s->h = less;
				any = true;
				if (i > s->h.n)
					i = s->h.n;
			}
		}
	return any;
}

/* Sets a field to the value if the history still fails with it.  Returns true if it does. */
static bool
fails_with(shrinker *s, int64_t *field, int64_t value)
{
	int64_t was = *field;

	*field = value;
	if (fails(s, &s->h))
		return true;
	*field = was;
	return false;
}

/* Sets fields to plainer values, or to values nearer to them.  Returns true if any changed. */
static bool
plain_fields(shrinker *s)
{
	static const int64_t store[STEP_FIELDS] = {262144, 65536, 1048576, 20, 2, 0, 0};
	static const int64_t family[STEP_FIELDS] = {1, 0, 0, 0, 4096, 0, 1, 0, 0};
	bool any = false;

	for (int i = 0; i < s->h.n; i++)
	{
		step *st = &s->h.steps[i];

		for (int f = 0; f < STEP_FIELDS && step_kinds[st->kind].fields[f] != NULL; f++)
		{
			int64_t *a = &st->a[f], plain = st->kind == STEP_STORE	  ? store[f]
											: st->kind == STEP_FAMILY ? family[f]
																	  : 0;

			if (*a == plain)
				continue;
			if (fails_with(s, a, plain))
				any = true;
			else
				while (llabs(*a - plain) > 1 && fails_with(s, a, plain + (*a - plain) / 2))
					any = true;
		}
	}
	return any;
}

/* Prints the smallest history found that fails as h does. */
static void
shrink(const history *h)
{
	shrinker s = {.h = history_without(h, 0, 0)};
	FILE *out = tmpfile();
	bool more = true;
	int c;

	assert_non_null(out);
	while (more && s.runs < SHRINK_RUNS)
	{
		more = drop_steps(&s);
		more |= plain_fields(&s);
	}
	printf(
		"# %d operations of %d are enough (%d runs); metamorphic_test -f FILE runs these lines:\n",
		s.h.n, h->n, s.runs);
	(void) runs(&s.h, true, out);
	rewind(out);
	while ((c = getc(out)) != EOF)
		putchar(c);
	printf("# end\n");
	fflush(stdout);
	fclose(out);
	free(s.h.steps);
}

/* -------------------------------------------------------------- generating */

typedef struct maker
{
	uint64_t r;
	history h;
	int families, rows, quals, values;
	uint32_t times; /* number of different explicit timestamps */
	bool ttl_cells;
	bool narrow;	/* one transaction at a time */
	bool churn;		/* many flushes and compactions */
	bool bulky;		/* many transactions that become files */
	bool windy;		/* files of past time windows are merged */
	bool restless;	/* many changes of options */
	bool backward;	/* the clock goes back; nothing expires, because it would come back */
	step family[4]; /* the options at the creation or the last change */
} maker;

static int64_t
draw(maker *g, uint32_t n)
{
	return (int64_t) ((rnd(&g->r) >> 33) % n);
}

static void
make_options(maker *g, step *s)
{
	int64_t *a = s->a;

	a[0] = draw(g, 2) ? 1 : 1 + draw(g, 4);
	a[3] = draw(g, 4) == 0;
	a[2] = a[1] = 0;
	if (draw(g, 3) == 0 && !g->backward)
	{
		a[2] = 50 + draw(g, 400);
		if (draw(g, 2))
			a[1] = draw(g, (uint32_t) a[0] + 1);
	}
	a[4] = draw(g, 2) ? 1024 : 4096;
	a[5] = draw(g, 4);
	a[6] = 1 + draw(g, 3);
	a[7] = draw(g, 2);
	a[8] = g->windy ? 20 + draw(g, 60) : draw(g, 4) == 0 ? 20 + draw(g, 200) : 0;
}

static void
make_alter(maker *g)
{
	int i = (int) draw(g, (uint32_t) g->families);
	step s = {.kind = STEP_ALTER}, *f = &g->family[i], other;

	make_options(g, &other);
	/* change some of the options */
	for (int k = 0; k < 9; k++)
		if (draw(g, 3) == 0)
			f->a[k] = other.a[k];
	s.a[0] = i;
	memcpy(s.a + 1, f->a, 4 * sizeof s.a[0]);
	s.a[5] = f->a[5];
	s.a[6] = f->a[7];
	s.a[7] = f->a[8];
	history_add(&g->h, &s);
}

static void
make_write(maker *g, int64_t batch)
{
	int64_t kind = draw(g, 37), family = draw(g, (uint32_t) g->families),
			row = draw(g, (uint32_t) g->rows), qual = draw(g, (uint32_t) g->quals),
			ts = 10 * draw(g, g->times);
	/* cells with a TTL go to a column whose timestamps only rise */
	bool rising = g->ttl_cells && qual == 0;
	step s = {.kind = STEP_PUT, .a = {batch, family, row, qual, ts, -1, 0, 0}};

	if (kind < 22 || (g->ttl_cells && kind % 2 == 0))
	{
		if (rising ? draw(g, 6) > 0 : draw(g, g->windy ? 30 : 3) == 0)
		{
			s.a[4] = -1;
			if (!rising && draw(g, 4) == 0)
				s.a[5] = ts;
			if (rising && draw(g, 2))
				s.a[6] = 1 + draw(g, 100);
		}
		else if (rising)
			s.a[4] = FAR + ts;
		s.a[7] = ++g->values;
	}
	else if (kind < 32)
		s = (step) {
			.kind = STEP_DELETE,
			.a = {batch, kind % 4, family, row, qual, draw(g, g->windy ? 30 : 3) == 0 ? -1 : ts}};
	else if (kind > 32)
		s = (step) {.kind = STEP_REWRITE, .a = {batch, family, row, qual, ++g->values}};
	else
		s = (step) {.kind = STEP_DELETE_ROW, .a = {batch, row, !g->windy && draw(g, 2) ? -1 : ts}};
	history_add(&g->h, &s);
}

static void
make_step(maker *g)
{
	int64_t batch = g->narrow || draw(g, 4) > 0 ? 0 : draw(g, MODEL_BATCHES), what = draw(g, 1000);
	step s = {.a = {batch}};

	if (what < 550)
	{
		make_write(g, batch);
		return;
	}
	if (g->churn && draw(g, 6) == 0)
		what = draw(g, 2) ? 925 : 955;
	if (g->bulky && draw(g, 40) == 0)
		what = 999;
	if (g->restless && draw(g, 8) == 0)
		what = 970;
	if (what >= 965 && what < 980)
	{
		make_alter(g);
		return;
	}
	s.kind = what < 580	  ? STEP_MARK
			 : what < 600 ? STEP_REWIND
			 : what < 700 ? STEP_COMMIT
			 : what < 706 ? STEP_ABORT
			 : what < 712 ? STEP_REFUSE
			 : what < 716 ? STEP_DIE
			 : what < 730 ? STEP_SNAPSHOT
			 : what < 742 ? STEP_RELEASE
			 : what < 920 ? STEP_SCAN
			 : what < 938 ? STEP_FLUSH
			 : what < 946 ? STEP_COMPACT
			 : what < 962 ? STEP_WORK
			 : what < 965 ? STEP_CRASH
			 : what < 995 ? STEP_CLOCK
						  : STEP_BULK;
	if (s.kind == STEP_REWIND)
		s.a[1] = draw(g, 8);
	else if (s.kind == STEP_COMMIT)
		s.a[1] = draw(g, 4) == 0;
	else if (s.kind == STEP_FLUSH || s.kind == STEP_CRASH)
		s.a[0] = 0;
	else if (s.kind == STEP_SNAPSHOT || s.kind == STEP_RELEASE)
		s.a[0] = draw(g, 1000);
	else if (s.kind == STEP_SCAN)
		s.a[0] = 1 + draw(g, 1000000);
	else if (s.kind == STEP_COMPACT)
		s.a[0] = draw(g, (uint32_t) g->families);
	else if (s.kind == STEP_WORK)
		s.a[0] = draw(g, 4);
	else if (s.kind == STEP_CLOCK)
		s.a[0] = g->backward ? draw(g, 90) - 45 : draw(g, 60);
	else if (s.kind == STEP_BULK)
	{
		/* timestamps of a bulk are assigned before the commit, so not with cells that have a TTL */
		if (g->ttl_cells || (!g->bulky && draw(g, 4) > 0))
			return;
		s.a[1] = draw(g, (uint32_t) g->families);
		s.a[2] = draw(g, 1000);
		s.a[3] = 12 + draw(g, 60);
		s.a[4] = g->times - 1;
		if (draw(g, 2))
		{
			/* commit at once, among others in the same memtable */
			history_add(&g->h, &s);
			s = (step) {.kind = STEP_COMMIT, .a = {batch, draw(g, 4) == 0}};
		}
	}
	history_add(&g->h, &s);
}

static history
make_life(uint64_t seed)
{
	maker g = {.r = seed};
	step s = {.kind = STEP_STORE};

	g.families = 1 + (int) draw(&g, 3);
	g.rows = draw(&g, 4) == 0 ? MAX_ROWS : 1 + (int) draw(&g, draw(&g, 2) ? 3 : 20);
	g.times = draw(&g, 2) ? 30 : 3 + (uint32_t) draw(&g, 6);
	g.churn = draw(&g, 3) == 0;
	g.bulky = draw(&g, 4) == 0;
	g.windy = draw(&g, 4) == 0;
	g.churn |= g.windy;
	g.restless = draw(&g, 4) == 0;
	g.quals = 2 + (int) draw(&g, MAX_QUALS - 1);
	g.ttl_cells = draw(&g, 3) == 0;
	g.backward = !g.ttl_cells && draw(&g, 3) == 0;
	g.narrow = draw(&g, 2);
	s.a[0] = draw(&g, 2) ? 64 * 1024 : 256 * 1024;
	s.a[1] = draw(&g, 2) ? 4096 : 64 * 1024;
	s.a[2] = draw(&g, 2) ? 16 * 1024 : 1024 * 1024;
	s.a[3] = g.rows;
	s.a[4] = g.quals;
	s.a[5] = draw(&g, 1000);
	/* a block for each cell, and a memtable that is full soon */
	s.a[6] = !g.ttl_cells && draw(&g, 4) == 0;
	/* a run for each operation, or for a few, or none for most transactions */
	if (!g.ttl_cells && draw(&g, 3) == 0)
		s.a[7] = draw(&g, 5) == 0 ? 1 : 1000 + draw(&g, 5000);
	history_add(&g.h, &s);
	for (int i = 0; i < g.families; i++)
	{
		g.family[i] = (step) {.kind = STEP_FAMILY};
		make_options(&g, &g.family[i]);
		history_add(&g.h, &g.family[i]);
	}
	if (g.windy)
	{
		s = (step) {.kind = STEP_CLOCK, .a = {draw(&g, 600)}};
		history_add(&g.h, &s);
	}
	for (int i = 0; i < LIFE_STEPS; i++)
		make_step(&g);
	return g.h;
}

/* -------------------------------------------------------------------- main */

static void
test_lives(void **state)
{
	const char *seed_text = getenv("WIDE_SEED"), *ops_text = getenv("WIDE_OPS");
	uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 20240601;
	uint64_t ops = ops_text != NULL ? strtoull(ops_text, NULL, 0) : 150000;
	time_t begin = time(NULL);
	uint64_t done = 0;

	(void) state;
	printf("seed %llu\n", (unsigned long long) seed);
	for (; done < ops; seed++)
	{
		history h = make_life(seed);

		if (!runs(&h, false, NULL))
		{
			printf("# FAILED with WIDE_SEED=%llu WIDE_OPS=1\n", (unsigned long long) seed);
			shrink(&h);
			fail_msg("the life with seed %llu", (unsigned long long) seed);
		}
		done += (uint64_t) h.n;
		free(h.steps);
	}
	printf("%llu operations up to seed %llu in %lld s\n", (unsigned long long) done,
		   (unsigned long long) seed, (long long) (time(NULL) - begin));
}

/* Short lives that random generation may take long to find. */
static const char *const examples[] = {
	/* fewer versions: a version exposed by a delete stays, compacted or not */
	"store\nfamily versions=3\nput ts=10 value=1\ncommit\nput ts=20 value=2\ncommit\ndelete "
	"ts=20\ncommit\n"
	"alter versions=1\nscan\ncompact\nscan\n",
	"store\nfamily versions=3\nput ts=10 value=1\ncommit\nput ts=20 value=2\ncommit\ndelete "
	"ts=20\ncommit\n"
	"compact\nalter versions=1\nscan\n",
	/* fewer versions and more again: versions dropped in between do not come back */
	"store\nfamily versions=3\nput ts=10 value=1\nput ts=20 value=2\ncommit\nalter "
	"versions=1\nalter versions=3\nscan\n"
	"delete ts=20\ncommit\nscan\nflush\ncompact\nscan\n",
	/*
	 * a delete that the merge of older files does not see came before the
	 * number of versions was reduced
	 */
	"store rows=5\nfamily versions=2\nput ts=10 value=1\nput ts=20 value=2\ncommit\nflush\nput "
	"row=1 value=3\ncommit\nflush\n"
	"put row=2 value=4\ncommit\nflush\nput row=3 value=5\ncommit\nflush\ndelete "
	"ts=20\ncommit\nalter versions=1\n"
	"work units=3\nscan\n",
	/* windows: the file between the two that are merged has the delete */
	"store rows=2\nfamily versions=1 window=100\nput ts=20 value=1\ncommit\nflush\ndelete "
	"ts=20\nput row=1 ts=250 value=2\n"
	"commit\nflush\nput ts=10 value=3\ncommit\nflush\nclock by=1000\nscan\nwork units=3\nscan\n",
	/* windows and TTL: expired files go as a whole, including the delete in one of them */
	"store\nfamily versions=1 window=100 ttl=300\nput ts=0 value=1\ncommit\nflush\ndelete "
	"ts=20\ncommit\nflush\n"
	"put ts=310 value=2\ncommit\nflush\nclock by=330\nscan\nwork units=3\nscan\nalter "
	"versions=1\nput ts=15 value=3\n"
	"commit\nscan\ncompact\nscan\n",
	/* more min_versions, a longer ttl: expired versions do not come back */
	"store\nfamily versions=3 ttl=100\nput ts=10 value=1\ncommit\nclock by=200\nalter versions=3 "
	"min=2 ttl=100\nscan\n"
	"put ts=210 value=2\ncommit\nalter versions=3 min=3\nscan\ncompact\nscan\n",
	/* keep_deleted from now on: cells deleted before stay hidden at every time */
	"store\nfamily versions=3\nput ts=10 value=1\ncommit\ndelete what=1 ts=40\ncommit\nalter "
	"versions=3 keep=1\n"
	"put ts=20 value=2\ncommit\ndelete what=1 ts=40\ncommit\nscan seed=5\nscan seed=6\nscan "
	"seed=7\nscan seed=8\nflush\n"
	"scan seed=5\nscan seed=6\ncompact\nscan seed=5\nscan seed=6\nscan seed=7\nscan seed=8\n",
	/*
	 * a flush must keep an older version that displaced one in a file, before
	 * the number of versions was raised
	 */
	"store\nfamily versions=1\nput ts=10 value=1\ncommit\nflush\nput ts=20 value=2\ncommit\nalter "
	"versions=2\n"
	"put ts=20 value=3\ncommit\nscan\nflush\nscan\n",
	/* or before a delete made room: of the column, of the family */
	"store\nfamily versions=2\nput ts=10 value=1\nput ts=30 value=2\ncommit\nflush\nput ts=20 "
	"value=3\ncommit\n"
	"delete what=0 ts=30\ncommit\nput ts=20 value=4\ncommit\nscan\nflush\nscan\n",
	"store\nfamily versions=2\nput ts=10 value=1\nput ts=30 value=2\ncommit\nflush\nput ts=20 "
	"value=3\ncommit\n"
	"delete what=3 ts=30\ncommit\nput ts=20 value=4\ncommit\nscan\nflush\nscan\n",
	/* or if the delete is in a file between those that are merged */
	"store rows=2\nfamily versions=2 window=100\nput ts=10 value=1\nput ts=30 value=2\nput row=1 "
	"ts=250 value=3\ncommit\nflush\n"
	"put ts=20 value=4\ncommit\nflush\ndelete what=0 ts=30\nput row=1 ts=260 "
	"value=5\ncommit\nflush\n"
	"put ts=20 value=6\ncommit\nflush\nclock by=1000\nscan\nwork units=0\nscan\nwork "
	"units=0\nscan\n",
	/*
	 * versions that expired at a change of min_versions stay dead, even if a
	 * version that was safe then is deleted
	 */
	"store\nfamily versions=3 ttl=100 min=1\nput ts=10 value=1\nput ts=20 value=2\ncommit\nclock "
	"by=200\n"
	"alter versions=3 min=2 ttl=100\nscan\ndelete ts=20\ncommit\nscan\ncompact\nscan\n",
	/* a reader's clock stands still, and cells that expire meanwhile are kept for it */
	"store\nfamily versions=1 ttl=100\nput ts=10 value=1\ncommit\nflush\nclock "
	"by=100\nsnapshot\nclock by=100\ncompact\n"
	"work units=3\nscan\n",
	"store\nfamily versions=1 ttl=100\nput ts=10 value=1\ncommit\nclock by=100\nsnapshot\nclock "
	"by=100\nflush\nscan\n",
};

static void
test_examples(void **state)
{
	(void) state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
	{
		char *text = strdup(examples[i]), *save = NULL;
		history h = {0};

		for (char *line = strtok_r(text, "\n", &save); line != NULL;
			 line = strtok_r(NULL, "\n", &save))
		{
			step s;

			assert_int_equal(step_parse(line, &s), 1);
			history_add(&h, &s);
		}
		if (!runs(&h, false, NULL))
		{
			printf("# FAILED: example %zu\n", i);
			shrink(&h);
			fail_msg("example %zu", i);
		}
		free(h.steps);
		free(text);
	}
}

/* Histories are parsed as they are printed. */
static void
test_text(void **state)
{
	history h = make_life(1);

	(void) state;
	for (int i = 0; i < h.n; i++)
	{
		char *text = NULL;
		size_t size = 0;
		FILE *f = open_memstream(&text, &size);
		step again;

		step_print(f, &h.steps[i]);
		fprintf(f, "\t# what happened\n");
		fclose(f);
		assert_int_equal(step_parse(text, &again), 1);
		assert_memory_equal(&again, &h.steps[i], sizeof again);
		free(text);
	}
	free(h.steps);
}

/* -f: returns the exit status, 0 if the history in the file passes. */
static int
replay(const char *path)
{
	FILE *f = fopen(path, "r");
	history h = {0};
	char line[1000];
	bool ok;

	if (f == NULL)
	{
		perror(path);
		return 2;
	}
	for (int n = 1; fgets(line, sizeof line, f) != NULL; n++)
	{
		step s;
		int r = step_parse(line, &s);

		if (r < 0)
		{
			fprintf(stderr, "%s: line %d is not understood\n", path, n);
			return 2;
		}
		if (r > 0)
			history_add(&h, &s);
	}
	fclose(f);
	ok = runs(&h, true, stdout);
	if (!ok)
		shrink(&h);
	free(h.steps);
	return ok ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_lives),
	};

	shared_dir = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < sizeof value_bytes; i++)
		value_bytes[i] = (uint8_t) (i % 7 == 0 ? i * 131 : 'x');
	if (argc == 3 && strcmp(argv[1], "-f") == 0)
		return replay(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
