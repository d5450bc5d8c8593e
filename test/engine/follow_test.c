/*
 * follow_test.c - a log that is followed, against a model.
 *
 * A log is made up of transactions in random order: batches of the engine alone, and external ones
 * whose records, commit or abort, and FINISH record are spread over it; some never get the last
 * ones.  A store replays it, shows it from time to time, and a second handle reads, flushes and
 * compacts meanwhile, with snapshots of a host that was at some place before.  What a snapshot must
 * see follows from the order of the log alone.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include "store_fixture.h"
#include "engine/batch/payload.h"
#include "engine/base/bytes.h"
#include "engine/set/catalog.h"
#include "engine/set/file_set.h"
#include "engine/commit/replay.h"

#define TRANSACTIONS 120
#define ROWS		 48
#define EVENTS_MAX	 (TRANSACTIONS * 10)
#define SNAPSHOTS	 6
#define FILE_RECORDS 8
#define LOG_BEGIN	 ((uint64_t) 1 << 30) /* behind all that the standby has written itself */

typedef struct transaction
{
	uint64_t xid; /* 0: of the engine alone */
	int nrows;
	int rows[8];
	bool deletes; /* the first row */
	buffer data, finish;
	buffer files[FILE_RECORDS]; /* of a large batch, whose sorted files are in the log */
	int nfiles, logged;
	uint64_t first; /* LSN of its first record; 0: not in the log yet */
	int commit;		/* index of its commit in the log; INT_MAX: none */
	int at;			/* index of BATCH or FINISH; INT_MAX: none */
} transaction;

typedef struct log_event
{
	wide_replay_event ev;
	buffer bytes;
} log_event;

/* A snapshot of the host, and the engine's that agrees with it. */
typedef struct held
{
	wide_snapshot *ws;
	char *text;
} held;

static transaction tx[TRANSACTIONS];
static log_event events[EVENTS_MAX];
static int nevents;
static int fed;		 /* events that were reported */
static int begin_at; /* the first one that this replay reports */
static int host_at;	 /* index of the first event that the host's snapshot does not see */
static int lowest;	 /* no snapshot of the host that is taken from now on is older */
static int stop_at;	 /* the replay breaks off here */
static int reached;	 /* how far a replay before it has come */
static store primary, standby;
static wide_db *follower; /* that replays the log */
static wide_family_id family, large_family;
static bool summing; /* the family adds up what is put */
static uint64_t seed;

static uint32_t
pick(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t) (seed >> 33) % n;
}

/* --------------------------------------------------------- making the log */

static transaction *capturing_for;

/* Takes the records of one transaction from the log of the primary. */
static wide_status (*append_before)(void *, bool, const wide_bytes *, int, uint64_t *);

static wide_status
capture(void *ctx, bool external, const wide_bytes *parts, int n, uint64_t *lsn)
{
	transaction *t = capturing_for;
	buffer *to = NULL;

	if (t != NULL && parts[0].data[0] == RECORD_FILE)
	{
		assert_true(t->nfiles < FILE_RECORDS);
		to = &t->files[t->nfiles++];
	}
	else if (t != NULL)
		to = parts[0].data[0] == RECORD_FINISH ? &t->finish : &t->data;
	for (int i = 0; i < n && to != NULL; i++)
		assert_ok(buffer_append(to, parts[i].data, parts[i].len));
	return append_before(ctx, external, parts, n, lsn);
}

static void
capturing(wide_log *log)
{
	append_before = log->append;
	log->append = capture;
}

/* Commits the batch on the primary, and keeps its records in t. */
static void
log_batch(transaction *t, wide_batch *b)
{
	uint64_t lsn;

	capturing_for = t;
	file_log_set_xid(&primary.log, t->xid);
	assert_ok(wide_batch_prepare(b, t->xid));
	assert_ok(wide_batch_finish(b, &lsn));
	assert_ok(wide_publish(primary.db, lsn));
	wide_batch_free(b);
	capturing_for = NULL;
}

static void
put_row(wide_batch *b, int i, int row)
{
	char key[16], value[32];
	uint64_t number = __builtin_bswap64((uint64_t) i);

	snprintf(key, sizeof key, "r%04d", row);
	snprintf(value, sizeof value, "%d", i);
	assert_ok(wide_batch_put(b, family, text(key), text("q"), i + 1, INT64_MIN, 0,
							 summing ? bytes((const char *) &number, 8) : text(value)));
}

/* A transaction that writes that row and nothing else. */
static transaction *
make_put(int i, uint64_t xid, int row)
{
	wide_batch *b;

	tx[i] = (transaction) {.xid = xid, .nrows = 1, .rows = {row}, .commit = INT_MAX, .at = INT_MAX};
	assert_ok(wide_batch_new(primary.db, &b));
	put_row(b, i, row);
	log_batch(&tx[i], b);
	return &tx[i];
}

/* Some payloads do not fit into the list of the segment together; some batches become files. */
static void
put_large(wide_batch *b, int i, int n)
{
	static char large[110000];

	memset(large, 'x', sizeof large);
	for (; n > 0; n--)
		assert_ok(wide_batch_put(b, large_family, text(n == 1 ? "zlarge" : "zlargf"), text("q"),
								 i + 1, INT64_MIN, 0,
								 (wide_bytes) {(uint8_t *) large, sizeof large}));
}

static void
make_transaction(int i)
{
	transaction *t = &tx[i];
	wide_batch *b;

	*t = (transaction) {.xid = pick(3) == 0 ? 0 : 1000 + (uint64_t) i,
						.nrows = 1 + (int) pick(8),
						.deletes = pick(5) == 0,
						.commit = INT_MAX,
						.at = INT_MAX};
	assert_ok(wide_batch_new(primary.db, &b));
	for (int r = 0; r < t->nrows; r++)
	{
		char row[16];

		/* as under row locks, transactions that are open at the same time write other rows */
		t->rows[r] = (int) pick(ROWS / 12) * 12 + i % 12;
		for (int j = 0; j < r; j++)
			if (t->rows[j] == t->rows[r])
				t->rows[r] = ROWS + i * 8 + r;
		snprintf(row, sizeof row, "r%04d", t->rows[r]);
		if (r == 0 && t->deletes)
			assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, family, text(row), text("q"),
										summing ? WIDE_TS_MAX : i + 1));
		else
			put_row(b, i, t->rows[r]);
	}
	put_large(b, i, pick(6) == 0 ? 1 + (int) pick(2) : 0);
	log_batch(t, b);
}

static void
add_event(wide_replay_kind kind, uint64_t xid, const buffer *bytes)
{
	log_event *e = &events[nevents];
	uint64_t start = nevents == 0 ? LOG_BEGIN : events[nevents - 1].ev.lsn;

	assert_true(nevents < EVENTS_MAX);
	*e = (log_event) {.ev = {.kind = kind,
							 .start = start,
							 .lsn = start + 64 + (bytes != NULL ? bytes->len : 0),
							 .xid = xid,
							 .time = kind == WIDE_REPLAY_COMMIT ? primary.now : 0}};
	if (bytes != NULL)
	{
		assert_ok(buffer_append(&e->bytes, bytes->data, bytes->len));
		e->ev.payload = (wide_bytes) {e->bytes.data, e->bytes.len};
	}
	nevents++;
}

/* Puts the next record of a transaction into the log.  Returns false if there is none any more. */
static bool
step(transaction *t)
{
	if (t->logged < t->nfiles)
	{
		add_event(WIDE_REPLAY_RECORD, 0, &t->files[t->logged++]);
		return true;
	}
	if (t->xid == 0)
	{
		if (t->at != INT_MAX)
			return false;
		t->at = nevents;
		add_event(WIDE_REPLAY_RECORD, 0, &t->data);
		return true;
	}
	if (t->first == 0)
	{
		add_event(WIDE_REPLAY_RECORD, t->xid, &t->data);
		t->first = events[nevents - 1].ev.lsn;
		return true;
	}
	if (t->commit == -1)
		return false;
	if (t->commit == INT_MAX)
	{
		if (pick(8) == 0)
		{
			t->commit = -1;
			add_event(WIDE_REPLAY_ABORT, t->xid, NULL);
			return true;
		}
		t->commit = nevents;
		add_event(WIDE_REPLAY_COMMIT, t->xid, NULL);
		return true;
	}
	if (t->at != INT_MAX)
		return false;
	t->at = nevents;
	put_u64le(t->finish.data + 8, t->first);
	add_event(WIDE_REPLAY_RECORD, 0, &t->finish);
	return true;
}

static void
make_log(void)
{
	int left = TRANSACTIONS * 4;

	nevents = 0;
	for (int i = 0; i < TRANSACTIONS; i++)
		make_transaction(i);
	/* a window of open transactions moves over them; the last ones do not get to their end */
	for (int low = 0; left > 0 && low < TRANSACTIONS - 4; left--)
	{
		int i = low + (int) pick(6);

		if (i < TRANSACTIONS && !step(&tx[i]) && i == low)
			low++;
		else
			left++;
	}
}

/* ------------------------------------------------------------------- model */

/* Index of the first commit that the host's snapshot does not see; INT_MAX: none was fed. */
static int
first_unseen(void)
{
	for (int e = host_at; e < fed; e++)
		if (events[e].ev.kind == WIDE_REPLAY_COMMIT)
			return e;
	return INT_MAX;
}

static bool
is_seen(const transaction *t)
{
	int end = first_unseen();

	if (t->xid != 0)
		return t->commit >= 0 && t->commit < host_at;
	return t->at < fed && t->at < end;
}

/* What the snapshot must see, as store_text has it. */
static char *
expected(void)
{
	static char out[200000];
	int n = 0;

	out[0] = 0;
	for (int row = 0; row < ROWS + TRANSACTIONS * 8; row++)
	{
		int newest = -1, sum = 0;
		bool deleted = false;

		for (int i = 0; i < TRANSACTIONS; i++)
			for (int r = 0; r < tx[i].nrows && is_seen(&tx[i]); r++)
				if (tx[i].rows[r] == row)
				{
					newest = i;
					deleted = r == 0 && tx[i].deletes;
					sum = deleted ? 0 : sum + i;
				}
		if (newest >= 0 && !deleted)
			n += snprintf(out + n, sizeof out - (size_t) n, "0/r%04d/q@%d=%d;", row, newest + 1,
						  summing ? sum : newest);
	}
	return out;
}

/* ----------------------------------------------------------------- the host */

static bool
running(void *ctx, uint64_t xid)
{
	const transaction *t = &tx[xid - 1000];

	return !(t->commit >= 0 && t->commit < host_at);
}

static uint64_t
oldest_running(void *ctx)
{
	for (int i = 0; i < TRANSACTIONS; i++)
		if (tx[i].xid != 0 && tx[i].commit != -1 && tx[i].commit >= lowest)
			return tx[i].xid;
	return 1000 + TRANSACTIONS;
}

static wide_status
read_part(void *ctx, uint64_t from, uint64_t to, wide_replay_fn fn, void *arg)
{
	for (int e = 0; e < nevents; e++)
		if (events[e].ev.kind == WIDE_REPLAY_RECORD && events[e].ev.start >= from &&
			events[e].ev.lsn <= to)
			TRY(fn(arg, &events[e].ev));
	return WIDE_OK;
}

/* The same of a family that adds up. */
static char *
read_sums(const wide_snapshot *ws)
{
	wide_scan_family f = {.id = family, .want = WIDE_WANT_ALL, .max_versions = 1};
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_scan_spec spec = {
		.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1, .now = standby.now};
	wide_snapshot *mine = NULL;
	wide_scan *scan;
	wide_row row;
	char *out = malloc(200000);
	int n = 0;

	out[0] = 0;
	if (ws == NULL)
		assert_ok(snapshot_take(standby.db, NULL, NULL, &mine));
	assert_ok(wide_scan_open(standby.db, ws != NULL ? ws : mine, &spec, &scan));
	while (wide_scan_next(scan, &row) == WIDE_OK)
	{
		uint64_t v;

		assert_int_equal(row.ncells, 1);
		memcpy(&v, row.cells[0].value.data, 8);
		n += sprintf(out + n, "0/%.*s/q@%d=%d;", (int) row.key.len, row.key.data,
					 (int) row.cells[0].ts, (int) __builtin_bswap64(v));
	}
	wide_scan_close(scan);
	if (mine != NULL)
		wide_snapshot_release(mine);
	return out;
}

/* The cells that are read, without the large one. */
static char *
read_text(const wide_snapshot *ws)
{
	char *got = summing ? read_sums(ws) : store_text(&standby, ws, &family, 1),
		 *large = strstr(got, "/zlarge/");

	if (large != NULL)
	{
		while (*large != ';' && large > got)
			large--;
		if (*large == ';')
			large++;
		*large = 0;
	}
	return got;
}

/* The host's snapshot sees the events before the index `host`. */
static void
take(held *h, int host)
{
	wide_moment at = {.running = running, .replayed = true};

	host_at = host;
	assert_ok(wide_snapshot_take_replayed(standby.db, &at, &h->ws));
	h->text = read_text(h->ws);
	assert_string_equal(h->text, expected());
}

static void
release(held *h, bool check)
{
	if (h->ws == NULL)
		return;
	if (check)
	{
		char *again = read_text(h->ws);

		assert_string_equal(again, h->text);
		free(again);
	}
	wide_snapshot_release(h->ws);
	free(h->text);
	*h = (held) {NULL, NULL};
}

/* What other processes do between two records. */
static void
others(held *held)
{
	struct held *h = &held[pick(SNAPSHOTS)];

	switch (pick(8))
	{
		case 0:
			assert_ok(wide_flush(standby.db));
			break;
		case 1:
			store_work(&standby);
			break;
		case 2:
			assert_ok(wide_compact(standby.db, family));
			break;
		default:
			release(h, true);
			take(h, lowest + (int) pick((uint32_t) (fed - lowest) + 1));
	}
	lowest += (int) pick((uint32_t) (fed - lowest) + 1) / 2;
}

static void (*between)(held *held) = others;
static bool show_each; /* after each event */

/* Replaces the log's replay: reports the events, shows them, and lets others work in between. */
static wide_status
follow(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	wide_db *reader;
	wide_host host = {.ctx = &standby, .now = store_now, .oldest_external = oldest_running};
	wide_log log = standby.log;
	struct held held[SNAPSHOTS] = {{NULL, NULL}};
	wide_status st = WIDE_OK;

	follower = arg;
	for (begin_at = 0; begin_at < nevents && events[begin_at].ev.start < from; begin_at++)
		;
	fed = begin_at;
	assert_ok(wide_follow_show(follower, from, from));
	assert_ok(wide_attach(standby.base, standby.dir, &host, &log, NULL, &reader));
	standby.db = reader;
	while (fed < stop_at && st == WIDE_OK)
	{
		st = fn(arg, &events[fed].ev);
		if (st == WIDE_IO || st == WIDE_NOSPACE)
			st = fn(arg, &events[fed].ev);
		if (st != WIDE_OK)
			break;
		fed++;
		if (fed < stop_at && !show_each && pick(3) > 0)
			continue;
		assert_ok(wide_follow_show(follower, events[fed - 1].ev.lsn, events[fed - 1].ev.lsn));
		/* after a restart the host lets nobody in before it has replayed what was on disk */
		if (fed >= reached)
			between(held);
	}
	reached = fed > reached ? fed : reached;
	lowest = reached;
	for (int i = 0; i < SNAPSHOTS; i++)
		release(&held[i], true);
	wide_detach(reader);
	standby.db = follower;
	/* the follower dies here, or the log ends */
	return st == WIDE_OK && stop_at < nevents ? WIDE_INTERRUPTED : st;
}

static uint64_t appended; /* behind the log: what the end of the recovery adds */

static wide_status
append_end(void *ctx, bool external, const wide_bytes *parts, int n, uint64_t *lsn)
{
	*lsn = appended += 64;
	return WIDE_OK;
}

static uint64_t synced;

static wide_status
note_sync(void *ctx, uint64_t lsn)
{
	synced = lsn > synced ? lsn : synced;
	return WIDE_OK;
}

static uint64_t
end_of_log(void *ctx)
{
	return appended;
}

static void
release_nothing(void *ctx, uint64_t lsn)
{
}

static void
following(wide_log *log)
{
	appended = events[nevents - 1].ev.lsn;
	*log = (wide_log) {.ctx = log->ctx,
					   .append = append_end,
					   .sync = note_sync,
					   .end = end_of_log,
					   .replay = follow,
					   .release = release_nothing,
					   .read = read_part};
}

/* The replay breaks off, and another process, which is attached, goes on: it flushes and compacts,
 * also when the segment is closed. */
static void
break_off(void)
{
	wide_host host = {.ctx = &standby, .now = store_now, .oldest_external = oldest_running};
	size_t size = wide_segment_size(&standby.config);
	wide_db *other;
	int pid;

	standby.base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(standby.base, MAP_FAILED);
	assert_ok(wide_segment_format(standby.base, &standby.config));
	standby.log_shared = file_log_map();
	assert_ok(file_log_open(standby.dir, standby.log_shared, standby.base, NULL, &standby.log));
	following(&standby.log);
	assert_ok(wide_attach(standby.base, standby.dir, &host, &standby.log, NULL, &follower));
	assert_ok(wide_attach(standby.base, standby.dir, &host, &standby.log, NULL, &other));
	standby.db = follower;
	assert_int_equal(wide_recover(follower), WIDE_INTERRUPTED);
	assert_ok(wide_flush(other));
	assert_int_equal(wide_follow_close(follower, &pid, 1), 1);
	wide_detach(follower);
	standby.db = other;
	assert_ok(wide_flush(other));
	assert_ok(wide_compact(other, family));
	store_work(&standby);
	assert_true(file_set_new_number(other) >= FILE_REPLAYED);
	store_close(&standby);
}

/* -------------------------------------------------------------------- tests */

/* The table, with a family for large values if the other one adds up. */
static void
make_families(store *s)
{
	wide_family_options opt;
	wide_family_id made[2];
	wide_table_id table;
	wide_batch *b;

	wide_family_defaults(&opt);
	opt.versions = 1;
	opt.merge = summing ? WIDE_MERGE_SUM : WIDE_MERGE_NONE;
	store_table(s, &opt, 1, &table, made);
	made[1] = made[0];
	if (summing)
	{
		opt.merge = WIDE_MERGE_NONE;
		assert_ok(wide_batch_new(s->db, &b));
		assert_ok(wide_batch_create_family(b, table, "large", &opt, &made[1]));
		assert_ok(store_commit(s, b, NULL));
	}
	family = made[0];
	large_family = made[1];
}

static void
make_table(void)
{
	store_init(&primary);
	primary.opening = capturing;
	assert_ok(store_open(&primary));
	/* the standby is made with the same table */
	make_families(&primary);
	assert_ok(wide_flush(primary.db));
	store_init(&standby);
	assert_ok(store_open(&standby));
	make_families(&standby);
	assert_ok(wide_flush(standby.db));
	store_close(&standby);
	standby.opening = following;
}

static void
free_all(void)
{
	store_drop(&standby);
	store_drop(&primary);
	for (int e = 0; e < nevents; e++)
		buffer_free(&events[e].bytes);
	memset(events, 0, sizeof events);
	for (int i = 0; i < TRANSACTIONS; i++)
	{
		buffer_free(&tx[i].data);
		buffer_free(&tx[i].finish);
		for (int f = 0; f < FILE_RECORDS; f++)
			buffer_free(&tx[i].files[f]);
	}
}

static void
follow_model(int rounds)
{
	const char *given = getenv("SEED");

	for (int round = 0; round < rounds; round++)
	{
		seed = given != NULL ? strtoull(given, NULL, 0) : 7919u * (unsigned) round + 1;
		make_table();
		make_log();
		/* its own log has the table; the log that is followed comes behind it */
		for (int e = 0; e < nevents; e++)
			assert_true(events[e].ev.lsn > events[e].ev.start);
		lowest = reached = 0;
		for (int part = 1; part <= 3; part++)
		{
			stop_at = part < 3 ? nevents * part / 3 : nevents;
			/* batches become files in one replay, and are in memory in the next one */
			if (summing && round % 2 == 0)
				standby.config.memtable_size = part == 1 ? 65536 : 1 << 20;
			if (part == 1)
				assert_int_equal(store_open(&standby), WIDE_INTERRUPTED);
			else if (part == 2)
				break_off();
			else
				assert_ok(store_open(&standby));
		}
		/* promoted: everything that has committed is there */
		fed = host_at = nevents;
		{
			char *got = read_text(NULL);

			assert_string_equal(got, expected());
			free(got);
		}
		assert_int_equal(store_verify(&standby), 0);
		free_all();
	}
}

static void
test_model(void **state)
{
	follow_model(20);
}

/* Each operand counts once, whatever is replayed again. */
static void
test_sums(void **state)
{
	summing = true;
	follow_model(60);
	summing = false;
}

/* The end of the log is shown, but the host is still at the commit record: it will take snapshots
 * that do not see that, nor what is behind it. */
static void
compact_behind_the_host(held *held)
{
	if (fed < nevents)
		return;
	lowest = tx[1].commit;
	assert_ok(wide_flush(standby.db));
	assert_ok(wide_compact(standby.db, family));
	take(&held[0], lowest);
	take(&held[1], nevents);
}

/* Versions stay that such a snapshot needs, although no snapshot needs them when they could go. */
static void
test_host_behind(void **state)
{
	seed = 1;
	make_table();
	memset(tx, 0, sizeof tx);
	nevents = 0;
	(void) step(make_put(0, 0, 5));
	(void) step(make_put(1, 1001, 6));
	tx[1].commit = nevents;
	add_event(WIDE_REPLAY_COMMIT, 1001, NULL);
	(void) step(make_put(2, 0, 5));
	lowest = reached = 0;
	stop_at = nevents;
	between = compact_behind_the_host;
	assert_ok(store_open(&standby));
	between = others;
	assert_int_equal(store_verify(&standby), 0);
	free_all();
}

static void
do_nothing(held *held)
{
}

/* For injection_point: another process flushes at that place. */
static void
flush_at(void *arg, const char *name)
{
	if (strcmp(name, "replay-apply") == 0 && fed == stop_at - 1)
		assert_ok(wide_flush(standby.db));
}

/* A flush between the last record of a large batch and the place where its files are linked: the
 * log is needed from the files' first bytes on. */
static void
test_flush_before_link(void **state)
{
	wide_batch *b;

	seed = 1;
	make_table();
	memset(tx, 0, sizeof tx);
	nevents = 0;
	tx[0] = (transaction) {.nrows = 1, .rows = {5}, .commit = INT_MAX, .at = INT_MAX};
	assert_ok(wide_batch_new(primary.db, &b));
	put_row(b, 0, 5);
	put_large(b, 0, 2);
	log_batch(&tx[0], b);
	while (step(&tx[0]))
		;
	assert_true(tx[0].nfiles > 0);
	(void) step(make_put(1, 0, 6));
	lowest = reached = 0;
	between = do_nothing;
	stop_at = nevents - 1;
	wide_on_injection_point(flush_at, NULL);
	assert_int_equal(store_open(&standby), WIDE_INTERRUPTED);
	wide_on_injection_point(NULL, NULL);
	stop_at = nevents;
	assert_ok(store_open(&standby));
	between = others;
	fed = host_at = nevents;
	{
		char *got = read_text(NULL);

		assert_string_equal(got, expected());
		free(got);
	}
	assert_int_equal(store_verify(&standby), 0);
	free_all();
}

/* The last record is the FINISH record of a batch that another one has overtaken. */
static void
look_at_overtaken(held *held)
{
	wide_moment at = {.running = running, .replayed = true};
	wide_snapshot *ws;
	char *got;

	if (fed < nevents - 1)
		return;
	host_at = fed;
	assert_ok(wide_snapshot_take_replayed(standby.db, &at, &ws));
	got = store_text(&standby, ws, &family, 1);
	assert_non_null(strstr(got, "=decided first, finished last;"));
	free(got);
	wide_snapshot_release(ws);
}

/* A batch that is pending is newer than one that came after its commit record, as it will be when
 * its FINISH record has come. */
static void
overtake(int64_t ts)
{
	wide_batch *b[2];
	uint64_t lsn;

	seed = 1;
	make_table();
	memset(tx, 0, sizeof tx);
	nevents = 0;
	for (int i = 0; i < 2; i++)
	{
		tx[i] = (transaction) {.xid = i == 0 ? 1000 : 0, .commit = INT_MAX, .at = INT_MAX};
		capturing_for = &tx[i];
		assert_ok(wide_batch_new(primary.db, &b[i]));
		assert_ok(wide_batch_put(b[i], family, text("r"), text("q"), ts, INT64_MIN, 0,
								 text(i == 0 ? "decided first, finished last" : "overtakes")));
		file_log_set_xid(&primary.log, tx[i].xid);
		assert_ok(wide_batch_prepare(b[i], tx[i].xid));
	}
	for (int i = 1; i >= 0; i--)
	{
		capturing_for = &tx[i];
		assert_ok(wide_batch_finish(b[i], &lsn));
		assert_ok(wide_publish(primary.db, lsn));
		wide_batch_free(b[i]);
	}
	capturing_for = NULL;
	(void) step(&tx[0]);
	tx[0].commit = nevents;
	add_event(WIDE_REPLAY_COMMIT, 1000, NULL);
	(void) step(&tx[1]);
	(void) step(&tx[0]);
	lowest = reached = 0;
	stop_at = nevents;
	between = look_at_overtaken;
	show_each = true;
	assert_ok(store_open(&standby));
	show_each = false;
	between = others;
	free_all();
}

static void
test_overtaken(void **state)
{
	overtake(WIDE_TS_AUTO);
	overtake(7);
}

/* ------------------------------------------------------------------ catalog */

/* What is written to the manifest has the catalog as it is. */
static void
flush_at_end(held *held)
{
	if (fed == stop_at)
		assert_ok(wide_flush(standby.db));
}

/* Puts a transaction into the log that changes the catalog. */
static void
change(int i, wide_batch *b)
{
	tx[i] = (transaction) {.xid = 1000 + (uint64_t) i, .commit = INT_MAX, .at = INT_MAX};
	log_batch(&tx[i], b);
	(void) step(&tx[i]);
	tx[i].commit = nevents;
	add_event(WIDE_REPLAY_COMMIT, tx[i].xid, NULL);
	(void) step(&tx[i]);
}

/* Begins a log with a transaction that stays open, so that each replay reads all of it. */
static void
begin_changes(int tables)
{
	seed = 1;
	make_table();
	standby.config.max_tables = (uint32_t) tables;
	memset(tx, 0, sizeof tx);
	nevents = 0;
	(void) step(make_put(0, 1000, 5));
}

/* Replays the log twice: the second time from a manifest that has all changes of the catalog. */
static void
replay_changes(void)
{
	tx[0].commit = nevents;
	add_event(WIDE_REPLAY_COMMIT, 1000, NULL);
	lowest = reached = 0;
	between = flush_at_end;
	show_each = true;
	stop_at = nevents - 1;
	assert_int_equal(store_open(&standby), WIDE_INTERRUPTED);
	stop_at = nevents;
	assert_ok(store_open(&standby));
	show_each = false;
	between = others;
}

/* A table is made and truncated, by one transaction or by two. */
static void
test_truncated(void **state)
{
	for (int two = 0; two < 2; two++)
	{
		wide_family_options opt;
		wide_family_id f, first = 0;
		int slots = 0;
		wide_table_id table;
		wide_batch *b;
		char *got;

		begin_changes(16);
		wide_family_defaults(&opt);
		assert_ok(wide_batch_new(primary.db, &b));
		assert_ok(wide_batch_create_table(b, 1, "n", &table));
		assert_ok(wide_batch_bind(b, table, 78));
		assert_ok(wide_batch_create_family(b, table, "f", &opt, &first));
		if (two)
		{
			change(1, b);
			assert_ok(wide_batch_new(primary.db, &b));
		}
		assert_ok(wide_batch_truncate_table(b, table));
		change(2, b);
		f = first + 1;
		assert_ok(wide_batch_new(primary.db, &b));
		tx[3] = (transaction) {.commit = INT_MAX, .at = INT_MAX};
		assert_ok(wide_batch_put(b, f, text("r"), text("q"), 1, INT64_MIN, 0, text("new")));
		log_batch(&tx[3], b);
		(void) step(&tx[3]);
		replay_changes();
		for (uint32_t i = 0; i < standby.db->seg->catalog.nfamilies; i++)
			slots += layout_families(standby.db)[i].f.table == table;
		assert_int_equal(slots, 1);
		got = store_text(&standby, NULL, &f, 1);
		assert_non_null(strstr(got, "/r/q@1=new;"));
		free(got);
		assert_int_equal(store_verify(&standby), 0);
		free_all();
	}
}

/* A table is made and dropped, and its place is taken by another one. */
static void
test_place_taken(void **state)
{
	wide_table_id table;
	wide_batch *b;

	begin_changes(2);
	for (int i = 1; i <= 3; i++)
	{
		assert_ok(wide_batch_new(primary.db, &b));
		if (i == 2)
			assert_ok(wide_batch_drop_table(b, table));
		else
			assert_ok(wide_batch_create_table(b, 1, i == 1 ? "n" : "m", &table));
		change(i, b);
	}
	replay_changes();
	assert_non_null(catalog_table_slot(standby.db, table));
	free_all();
}

/* ------------------------------------------------------- parts of records */

static int renames_fail;

static int
failing_rename(wide_os *os, const char *from, const char *to)
{
	if (strstr(to, ".sst") != NULL && renames_fail-- > 0)
		return -EIO;
	return rename(from, to) == 0 ? 0 : -errno;
}

/* Puts a record into the log: that head, and a part of the bytes behind the head of another. */
static void
add_part(uint64_t xid, const buffer *record, const uint8_t *head, size_t nhead, size_t from,
		 size_t to)
{
	buffer part = {0};

	assert_ok(buffer_append(&part, head, nhead));
	assert_ok(buffer_append(&part, record->data + nhead + from, to - from));
	add_event(WIDE_REPLAY_RECORD, xid, &part);
	buffer_free(&part);
}

/* A file that is complete cannot be renamed, and its last record comes again. */
static void
test_record_again(void **state)
{
	wide_os os = *os_real();
	wide_batch *b;

	seed = 1;
	make_table();
	memset(tx, 0, sizeof tx);
	nevents = 0;
	tx[0] = (transaction) {.nrows = 1, .rows = {5}, .commit = INT_MAX, .at = INT_MAX};
	assert_ok(wide_batch_new(primary.db, &b));
	put_row(b, 0, 5);
	put_large(b, 0, 2);
	log_batch(&tx[0], b);
	for (; tx[0].logged < tx[0].nfiles; tx[0].logged++)
	{
		const buffer *r = &tx[0].files[tx[0].logged];
		uint64_t number = get_u64le(r->data + 8), n = r->len - RECORD_FILE_HEAD;
		uint8_t head[RECORD_FILE_HEAD];

		payload_record_file(head, number, 0, n);
		add_part(0, r, head, sizeof head, 0, 10);
		payload_record_file(head, number, 10, n);
		add_part(0, r, head, sizeof head, 10, n);
	}
	(void) step(&tx[0]);
	lowest = reached = 0;
	between = do_nothing;
	stop_at = nevents;
	os.rename = failing_rename;
	standby.os = &os;
	renames_fail = 1;
	assert_ok(store_open(&standby));
	assert_true(renames_fail < 1);
	between = others;
	fed = host_at = nevents;
	{
		char *got = read_text(NULL);

		assert_string_equal(got, expected());
		free(got);
	}
	assert_int_equal(store_verify(&standby), 0);
	free_all();
}

static uint32_t least_room;

static void
note_room(held *held)
{
	uint32_t room = file_set_free_slots(&standby.db->seg->set);

	least_room = room < least_room ? room : least_room;
}

/* Batches that become files, because memory is smaller here, and the table of files is full: there
 * is no room, and nothing is lost.  What flushes and compactions need to make room stays free. */
static void
test_no_slots(void **state)
{
	wide_batch *b;

	seed = 1;
	make_table();
	standby.config.memtable_size = 64 * 1024;
	standby.config.max_files = 4;
	memset(tx, 0, sizeof tx);
	nevents = 0;
	for (int i = 0; i < 6; i++)
	{
		tx[i] = (transaction) {.nrows = 1, .rows = {i}, .commit = INT_MAX, .at = INT_MAX};
		assert_ok(wide_batch_new(primary.db, &b));
		put_row(b, i, i);
		put_large(b, i, 1);
		log_batch(&tx[i], b);
		(void) step(&tx[i]);
	}
	lowest = reached = 0;
	between = note_room;
	least_room = UINT32_MAX;
	stop_at = nevents;
	assert_int_equal(store_open(&standby), WIDE_FULL);
	assert_int_equal(least_room, 1);
	between = others;
	free_all();
}

/* Writes an edit that flushes nothing. */
static void
edit_at_end(held *held)
{
	if (fed < stop_at)
		return;
	synced = 0;
	store_work(&standby);
	assert_true(synced >= events[fed - 1].ev.lsn);
}

/* The manifest gets a change of the catalog whose commit record has come: after a restart the host
 * must not be before that. */
static void
test_early_durable(void **state)
{
	wide_table_id table;
	wide_batch *b;

	seed = 1;
	make_table();
	memset(tx, 0, sizeof tx);
	nevents = 0;
	(void) step(make_put(0, 0, 5));
	assert_ok(wide_batch_new(primary.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "n", &table));
	change(1, b);
	lowest = reached = 0;
	between = edit_at_end;
	show_each = true;
	stop_at = nevents - 1;
	assert_int_equal(store_open(&standby), WIDE_INTERRUPTED);
	show_each = false;
	between = others;
	free_all();
}

static bool
none_runs(void *ctx, uint64_t xid)
{
	return false;
}

static void
look_at_last(held *held)
{
	wide_moment at = {.running = none_runs, .replayed = true};
	wide_snapshot *ws;
	char *got;

	if (fed < stop_at)
		return;
	assert_ok(wide_snapshot_take_replayed(standby.db, &at, &ws));
	got = store_text(&standby, ws, &family, 1);
	assert_non_null(strstr(got, "0/r0002/q@3=2;"));
	free(got);
	wide_snapshot_release(ws);
}

/* A record that anybody may have written is not taken for a part of a batch that is read from the
 * log. */
static void
test_forged_part(void **state)
{
	uint8_t head[RECORD_DATA_HEAD], zeros[200] = {0};
	buffer forged = {0};
	wide_batch *b;

	seed = 1;
	make_table();
	memset(tx, 0, sizeof tx);
	nevents = 0;
	for (int i = 0; i < 3; i++)
	{
		const buffer *r = &tx[i].data;

		tx[i] = (transaction) {.xid = 1000 + (uint64_t) i, .commit = INT_MAX, .at = INT_MAX};
		assert_ok(wide_batch_new(primary.db, &b));
		put_row(b, i, i);
		put_large(b, i, 1);
		log_batch(&tx[i], b);
		if (i < 2)
			(void) step(&tx[i]);
		else
		{
			payload_record_data(head, 0, 0);
			add_part(tx[i].xid, r, head, sizeof head, 0, 5);
			payload_record_data(head, 1, events[nevents - 1].ev.lsn);
			assert_ok(buffer_append(&forged, head, sizeof head));
			assert_ok(buffer_append(&forged, zeros, sizeof zeros));
			add_event(WIDE_REPLAY_RECORD, 0, &forged);
			events[nevents - 1].ev.forgeable = true;
			add_part(tx[i].xid, r, head, sizeof head, 5, r->len - sizeof head);
		}
		tx[i].commit = nevents;
		add_event(WIDE_REPLAY_COMMIT, tx[i].xid, NULL);
	}
	lowest = reached = 0;
	between = look_at_last;
	stop_at = nevents;
	assert_ok(store_open(&standby));
	between = others;
	buffer_free(&forged);
	free_all();
}

static bool
not_running(void *ctx, uint64_t xid)
{
	return xid != 1000;
}

static void
see_first(void)
{
	wide_moment at = {.running = not_running, .replayed = true};
	wide_snapshot *ws;
	char *got;

	assert_ok(wide_snapshot_take_replayed(standby.db, &at, &ws));
	got = store_text(&standby, ws, &family, 1);
	assert_string_equal(got, "0/r0005/q@1=0;");
	free(got);
	wide_snapshot_release(ws);
}

/* The first transaction is finished, and so many others commit that the list has no room. */
static void
fill_list(held *held)
{
	uint64_t lsn = events[nevents - 1].ev.lsn;
	wide_replay_event ev = events[fed].ev;

	if (fed != stop_at - 1)
		return;
	see_first();
	assert_ok(replay_event(follower, &ev));
	for (int i = 0; i < 2 * (FOLLOW_PENDING + 1); i++)
	{
		ev = (wide_replay_event) {.kind = i % 2 == 0 ? WIDE_REPLAY_RECORD : WIDE_REPLAY_COMMIT,
								  .start = lsn,
								  .lsn = lsn + 64,
								  .xid = 2000 + (uint64_t) i / 2,
								  .payload = events[0].ev.payload};
		assert_ok(replay_event(follower, &ev));
		lsn += 64;
	}
	assert_int_equal(wide_follow_show(follower, lsn, lsn), WIDE_FULL);
	see_first();
	stop_at = fed;
}

/* A list that cannot be made leaves readers with what they had. */
static void
test_full_list(void **state)
{
	seed = 1;
	make_table();
	memset(tx, 0, sizeof tx);
	nevents = 0;
	(void) step(make_put(0, 1000, 5));
	tx[0].commit = nevents;
	add_event(WIDE_REPLAY_COMMIT, 1000, NULL);
	(void) step(&tx[0]);
	lowest = reached = 0;
	stop_at = nevents;
	between = fill_list;
	show_each = true;
	assert_int_equal(store_open(&standby), WIDE_INTERRUPTED);
	show_each = false;
	between = others;
	free_all();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_model),
									   cmocka_unit_test(test_sums),
									   cmocka_unit_test(test_flush_before_link),
									   cmocka_unit_test(test_overtaken),
									   cmocka_unit_test(test_full_list),
									   cmocka_unit_test(test_early_durable),
									   cmocka_unit_test(test_no_slots),
									   cmocka_unit_test(test_record_again),
									   cmocka_unit_test(test_forged_part),
									   cmocka_unit_test(test_truncated),
									   cmocka_unit_test(test_place_taken),
									   cmocka_unit_test(test_host_behind)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
