/*
 * fuzz_replay.c - any bytes as the log of a store that is opened.  The input is cut
 * into records: a byte of flags (1 forgeable, 2 of an external transaction, 4 the
 * transaction's commit instead of a record, 8 its abort, 16 the seal, 32 a restart),
 * two bytes of length, and the payload.  If there is a directory "corpus_replay", the
 * records of a real store are put into it first, as a start.
 *
 *   make fuzz        with fuzz_driver.c, or with libFuzzer:
 *
 *   mkdir -p corpus_replay
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I../.. \
 *       fuzz_replay.c $(find ../../engine -name '*.c') -lzstd -lxxhash -lpthread -lm -o fuzz_replay
 *   ./fuzz_replay -max_total_time=300 -max_len=4096 corpus_replay
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/shared/layout.h"
#include "engine/set/snapshot.h"

#define XID 7

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *input;
static size_t input_size;
static uint64_t log_end;
static buffer written; /* what a real store has appended, in the form of an input */
static const wide_config config = {.memtable_size = 128 * 1024,
								   .cache_size = 1 << 20,
								   .max_processes = 2,
								   .max_tables = 16,
								   .max_files = 64,
								   .lock_buckets = 64};

static wide_status
memory_append(void *ctx, bool external, const wide_bytes *parts, int nparts, uint64_t *lsn)
{
	uint8_t head[3] = {external ? 2 : 0};
	size_t at = written.len;

	if (buffer_append(&written, head, sizeof head) != WIDE_OK)
		abort();
	for (int i = 0; i < nparts; i++)
		if (buffer_append(&written, parts[i].data, parts[i].len) != WIDE_OK)
			abort();
	written.data[at + 1] = (uint8_t) (written.len - at - 3);
	written.data[at + 2] = (uint8_t) ((written.len - at - 3) >> 8);
	*lsn = log_end += 100;
	return WIDE_OK;
}

static wide_status
memory_sync(void *ctx, uint64_t lsn)
{
	return WIDE_OK;
}

static uint64_t
memory_end(void *ctx)
{
	return log_end;
}

static void
memory_release(void *ctx, uint64_t lsn)
{
}

static wide_status
memory_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	for (size_t at = 0; at + 3 <= input_size;)
	{
		uint8_t flags = input[at];
		size_t len = input[at + 1] | (size_t) input[at + 2] << 8;
		wide_replay_event ev = {.start = log_end, .lsn = log_end + 100};
		wide_status st;

		at += 3;
		len = len < input_size - at ? len : input_size - at;
		ev.kind = flags & 4	   ? WIDE_REPLAY_COMMIT
				  : flags & 8  ? WIDE_REPLAY_ABORT
				  : flags & 16 ? WIDE_REPLAY_SEALED
				  : flags & 32 ? WIDE_REPLAY_RESTART
							   : WIDE_REPLAY_RECORD;
		ev.xid = flags & 14 ? XID : 0;
		ev.forgeable = ev.kind == WIDE_REPLAY_RECORD && (flags & 1);
		if (ev.kind == WIDE_REPLAY_RECORD)
			ev.payload = (wide_bytes) {input + at, len};
		if ((st = fn(arg, &ev)) != WIDE_OK)
			return st;
		log_end = ev.lsn;
		at += len;
	}
	return WIDE_OK;
}

static const wide_log memory_log = {.append = memory_append,
									.sync = memory_sync,
									.end = memory_end,
									.release = memory_release,
									.replay = memory_replay};

static int
remove_name(void *arg, const char *name)
{
	char path[400];

	snprintf(path, sizeof path, "%s/%s", (const char *) arg, name);
	unlink(path);
	return 0;
}

/* Opens a new store, whose log was never sealed, from the input; reads and flushes it. */
static void
life(const char *dir, void (*also)(wide_db *db))
{
	static void *base;
	size_t size = wide_segment_size(&config);
	wide_os *os = os_real();
	wide_db *db = NULL;
	wide_status st;

	if (base == NULL)
		base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	log_end = 1000;
	if (base == MAP_FAILED || wide_segment_format(base, &config) != WIDE_OK ||
		wide_attach(base, dir, NULL, &memory_log, NULL, &db) != WIDE_OK)
		abort();
	st = wide_recover(db);
	if (st == WIDE_OK && also != NULL)
		also(db);
	for (wide_family_id f = 1; f < 4 && st == WIDE_OK; f++)
	{
		wide_scan_family family = {.id = f, .want = WIDE_WANT_ALL, .max_versions = 10};
		wide_range all = {.lo = {(const uint8_t *) "", 0}};
		wide_scan_spec spec = {.families = &family, .nfamilies = 1, .ranges = &all, .nranges = 1};
		wide_moment now = {0};
		wide_snapshot *s = NULL;
		wide_scan *scan = NULL;
		wide_row row;

		if (wide_snapshot_take_at(db, &now, &s) == WIDE_OK &&
			wide_scan_open(db, s, &spec, &scan) == WIDE_OK)
			while (wide_scan_next(scan, &row) == WIDE_OK)
				;
		if (scan != NULL)
			wide_scan_close(scan);
		if (s != NULL)
			wide_snapshot_release(s);
	}
	if (st == WIDE_OK)
		(void) wide_flush(db);
	wide_detach(db);
	os->list(os, dir, remove_name, (void *) dir);
}

static const char *
directory(void)
{
	static char dir[64];

	if (dir[0] == 0)
	{
		snprintf(dir, sizeof dir, "/dev/shm/fuzz_replay.%d", (int) getpid());
		mkdir(dir, 0700);
	}
	return dir;
}

static void
commit(wide_db *db, wide_batch *b, uint64_t xid)
{
	uint64_t lsn;

	if (wide_batch_prepare(b, xid) != WIDE_OK || wide_batch_finish(b, &lsn) != WIDE_OK ||
		wide_publish(db, lsn) != WIDE_OK)
		abort();
	wide_batch_free(b);
}

/* A table, cells of all kinds, a batch in parts, and one that becomes files. */
static void
real_life(wide_db *db)
{
	wide_bytes row = {(const uint8_t *) "row", 3}, q = {(const uint8_t *) "q", 1};
	uint8_t value[3000];
	wide_family_options opt;
	wide_table_id t;
	wide_family_id f;
	wide_batch *b;

	wide_family_defaults(&opt);
	if (wide_batch_new(db, &b) != WIDE_OK || wide_batch_create_table(b, 1, "t", &t) != WIDE_OK ||
		wide_batch_bind(b, t, 77) != WIDE_OK ||
		wide_batch_create_family(b, t, "f", &opt, &f) != WIDE_OK)
		abort();
	commit(db, b, 0);
	for (int i = 0; i < 8; i++)
	{
		if (wide_batch_new(db, &b) != WIDE_OK ||
			wide_batch_put(b, f, row, q, i % 2 ? i : WIDE_TS_AUTO, i == 3 ? 5 : INT64_MIN, i * 1000,
						   row) != WIDE_OK ||
			wide_batch_delete(b, i % 4, f, row, q, i) != WIDE_OK)
			abort();
		commit(db, b, i > 5 ? XID : 0);
	}
	if (wide_batch_new(db, &b) != WIDE_OK)
		abort();
	wide_batch_log_files(b, true);
	for (int i = 0; i < 100; i++)
	{
		memset(value, i, sizeof value);
		if (wide_batch_put(b, f, (wide_bytes) {value, 2}, q, i, INT64_MIN, 0,
						   (wide_bytes) {value, sizeof value}) != WIDE_OK)
			abort();
	}
	commit(db, b, 0);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *h;

	life(directory(), real_life);
	for (int forgeable = 0; forgeable < 2; forgeable++)
	{
		h = fopen(forgeable ? "corpus_replay/forgeable" : "corpus_replay/real", "w");
		for (size_t at = 0; forgeable && at < written.len;
			 at += 3 + (written.data[at + 1] | (size_t) written.data[at + 2] << 8))
			written.data[at] |= 1;
		if (h == NULL)
			continue;
		fwrite(written.data, 1, written.len, h);
		fclose(h);
	}
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	input_size = size;
	written.len = 0;
	life(directory(), NULL);
	return 0;
}
