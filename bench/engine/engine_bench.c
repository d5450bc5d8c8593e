/*
 * engine_bench.c - compares the engine, without PostgreSQL, with RocksDB.
 *
 *     engine_bench DIR CELLS ROUNDS SECONDS [CACHE_MB]
 *
 * CELLS is a file of bench/data/generate.pl (row, family, qualifier, ts, value).
 * One thread uses the two stores in turn.  The output has lines of workload,
 * system, round, value, unit, CPU microseconds per operation, longest operation in
 * ms, and sum; the sums of the two stores must agree.
 *
 * Both stores have four memtables of 16 MB, blocks of 16 KB, zstd at level 1, Bloom
 * filters of 10 bits, the same cache size, and a log that each batch writes and that
 * is synced only where the workload says so.  The writing thread does the engine's
 * background work; RocksDB has its own threads.  So the load is compared by CPU time,
 * which includes all threads.  RocksDB's keys are row and qualifier, its values
 * timestamp and value, so that a lookup is a Get: the most favourable layout for one
 * version of a cell.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <rocksdb/c.h>
#include "engine/wide.h"
#include "test/host/file_log.h"

#define BATCH  1000 /* cells in a batch of the load */
#define PROBES 4096 /* lookups whose results are summed */

typedef struct cell
{
	const char *row; /* 16 bytes */
	const char *qualifier;
	const char *value;
	uint32_t qualifier_len, value_len;
	int64_t ts;
} cell;

static cell *cells;
static size_t ncells;
static size_t cache_bytes = 512u << 20;

#define ROW_LEN 16

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "engine_bench: %s: %s\n", what, why);
	exit(1);
}

static double
clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static double
wall(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

static double
cpu(void)
{
	return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t
rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Maps the file into memory and splits its lines in place. */
static void
read_cells(const char *name)
{
	int fd = open(name, O_RDONLY);
	struct stat st;
	char *p, *end;
	size_t cap = 0;

	if (fd < 0 || fstat(fd, &st) != 0)
		die(name, "cannot be read");
	p = mmap(NULL, (size_t) st.st_size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		die(name, "cannot be mapped");
	end = p + st.st_size;
	while (p < end)
	{
		char *line = p;
		char *field[5];
		char *nl = memchr(p, '\n', (size_t) (end - p));
		cell c;

		if (nl == NULL)
			break;
		for (int i = 0; i < 5; i++)
		{
			field[i] = p;
			p = i < 4 ? memchr(p, '\t', (size_t) (nl - p)) : nl;
			if (p == NULL)
				die(name, "a line lacks a field");
			*p++ = 0;
		}
		/* decodes the key, hexadecimal after two backslashes and an x, in place */
		for (int i = 0; i < ROW_LEN; i++)
		{
			unsigned v;

			sscanf(field[0] + 3 + 2 * i, "%2x", &v);
			line[i] = (char) v;
		}
		c = (cell) {.row = line,
					.qualifier = field[2],
					.value = field[4],
					.qualifier_len = (uint32_t) strlen(field[2]),
					.value_len = (uint32_t) (nl - field[4]),
					.ts = atoll(field[3])};
		if (ncells == cap)
		{
			cap = cap ? 2 * cap : 1 << 16;
			cells = realloc(cells, cap * sizeof *cells);
			if (cells == NULL)
				die(name, "no memory");
		}
		cells[ncells++] = c;
	}
	close(fd);
}

/* The operations of a store; every function ends the program on an error. */
typedef struct store_api
{
	const char *name;
	void (*open)(const char *dir);
	void (*close)(void);
	void (*write)(const cell *first, size_t n, bool sync);
	/* flushes all memtables and waits for all compactions */
	void (*settle)(void);
	/* returns the length of the cell's value, or -1 if the cell is missing */
	long (*get)(const char *row, const char *qualifier, size_t len);
	/*
	 * reads all cells in order and sets *n to their number; returns the sum of the
	 * lengths of qualifiers and values
	 */
	uint64_t (*scan)(size_t *n);
} store_api;

/* ------------------------------------------------------------- the engine */

static struct
{
	void *base;
	wide_config config;
	wide_log log;
	file_log_shared *log_shared;
	wide_db *db;
	wide_family_id family;
	wide_snapshot *snap;
	wide_scan *point;
	wide_bytes qualifier;
	bool work;
} w;

static void
ok(wide_status st, const char *what)
{
	if (st != WIDE_OK && st != WIDE_END)
		die(what, wide_error_text());
}

static bool
w_interrupted(void *ctx)
{
	return false;
}

static void
w_wake(void *ctx)
{
	w.work = true;
}

static int64_t
w_now(void *ctx)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static wide_bytes
bytes(const char *p, size_t n)
{
	return (wide_bytes) {(const uint8_t *) p, n};
}

static void
w_commit(wide_batch *b, bool sync)
{
	uint64_t lsn;

	ok(wide_batch_prepare(b, 0), "prepare");
	ok(wide_batch_finish(b, &lsn), "finish");
	if (sync)
		ok(w.log.sync(w.log.ctx, lsn), "sync");
	ok(wide_publish(w.db, lsn), "publish");
	wide_batch_free(b);
}

static void
w_open(const char *dir)
{
	wide_host host = {.interrupted = w_interrupted, .now = w_now, .wake_worker = w_wake};
	wide_family_options opt;
	wide_table_id t;
	wide_batch *b;
	size_t size;

	w.config = (wide_config) {.memtable_size = 16u << 20, .cache_size = cache_bytes};
	wide_config_fit(&w.config, 0);
	size = wide_segment_size(&w.config);
	w.base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w.base == MAP_FAILED)
		die("segment", "no memory");
	ok(wide_segment_format(w.base, &w.config), "segment");
	w.log_shared = file_log_map();
	if (w.log_shared == NULL)
		die("log", "no memory");
	ok(file_log_open(dir, w.log_shared, w.base, NULL, &w.log), "log");
	ok(wide_attach(w.base, dir, &host, &w.log, NULL, &w.db), "attach");
	ok(wide_recover(w.db), "recover");
	wide_family_defaults(&opt);
	ok(wide_batch_new(w.db, &b), "batch");
	ok(wide_batch_create_table(b, 1, "t", &t), "table");
	ok(wide_batch_bind(b, t, 1), "table");
	ok(wide_batch_create_family(b, t, "p", &opt, &w.family), "family");
	w_commit(b, true);
}

static void
w_close(void)
{
	if (w.point != NULL)
	{
		wide_scan_close(w.point);
		wide_snapshot_release(w.snap);
	}
	wide_detach(w.db);
	file_log_close(&w.log);
	file_log_unmap(w.log_shared);
	munmap(w.base, wide_segment_size(&w.config));
	memset(&w, 0, sizeof w);
}

static void
w_write(const cell *c, size_t n, bool sync)
{
	wide_batch *b;

	ok(wide_batch_new(w.db, &b), "batch");
	for (size_t i = 0; i < n; i++)
		ok(wide_batch_put(b, w.family, bytes(c[i].row, ROW_LEN),
						  bytes(c[i].qualifier, c[i].qualifier_len), c[i].ts, INT64_MIN, 0,
						  bytes(c[i].value, c[i].value_len)),
		   "put");
	w_commit(b, sync);
	while (w.work)
	{
		w.work = false;
		while (wide_work(w.db) == WIDE_OK)
			;
	}
}

static void
w_settle(void)
{
	ok(wide_flush(w.db), "flush");
	while (wide_work(w.db) == WIDE_OK)
		;
}

static long
w_get(const char *row, const char *qualifier, size_t len)
{
	static char key[ROW_LEN + 1]; /* the row and a zero byte: the end of its range */
	wide_range range = {bytes(key, ROW_LEN), bytes(key, ROW_LEN + 1)};
	wide_row r;
	wide_status st;

	memcpy(key, row, ROW_LEN);
	if (w.point == NULL)
		ok(wide_snapshot_latest(w.db, &w.snap), "snapshot");
	else
		ok(wide_snapshot_renew(w.snap), "snapshot");
	/* a scan reads one qualifier, and is reused for the next row with the same one */
	if (w.point != NULL &&
		(w.qualifier.len != len || memcmp(w.qualifier.data, qualifier, len) != 0))
	{
		wide_scan_close(w.point);
		w.point = NULL;
	}
	if (w.point == NULL)
	{
		wide_scan_family f = {
			.id = w.family, .want = WIDE_WANT_COLUMNS, .quals = &w.qualifier, .nquals = 1};
		wide_scan_spec spec = {.families = &f, .nfamilies = 1, .ranges = &range, .nranges = 1};

		w.qualifier = bytes(qualifier, len);
		ok(wide_scan_open(w.db, w.snap, &spec, &w.point), "scan");
	}
	else
		ok(wide_scan_restart(w.point, &range, 1, 0), "restart");
	st = wide_scan_next(w.point, &r);
	ok(st, "next");
	return st == WIDE_OK && r.ncells == 1 ? (long) r.cells[0].value.len : -1;
}

static uint64_t
w_scan(size_t *n)
{
	wide_scan_family f = {.id = w.family, .want = WIDE_WANT_ALL};
	wide_range all = {bytes("", 0), {NULL, 0}};
	wide_scan_spec spec = {.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1};
	wide_snapshot *snap;
	wide_scan *s;
	wide_row r;
	wide_status st;
	uint64_t sum = 0;

	*n = 0;
	ok(wide_snapshot_latest(w.db, &snap), "snapshot");
	ok(wide_scan_open(w.db, snap, &spec, &s), "scan");
	while ((st = wide_scan_next(s, &r)) == WIDE_OK)
		for (int i = 0; i < r.ncells; i++, ++*n)
			sum += r.cells[i].qualifier.len + r.cells[i].value.len;
	ok(st, "next");
	wide_scan_close(s);
	wide_snapshot_release(snap);
	return sum;
}

/* ---------------------------------------------------------------- RocksDB */

static struct
{
	rocksdb_t *db;
	rocksdb_options_t *opt;
	rocksdb_cache_t *cache;
	rocksdb_readoptions_t *read;
	rocksdb_writeoptions_t *lazy, *synced;
} r;

static void
no_error(char *e, const char *what)
{
	if (e != NULL)
		die(what, e);
}

static void
r_open(const char *dir)
{
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
	char *e = NULL;

	r.opt = rocksdb_options_create();
	r.cache = rocksdb_cache_create_lru(cache_bytes);
	rocksdb_block_based_options_set_block_cache(table, r.cache);
	rocksdb_block_based_options_set_block_size(table, 16384);
	rocksdb_block_based_options_set_filter_policy(table,
												  rocksdb_filterpolicy_create_bloom_full(10));
	rocksdb_block_based_options_set_format_version(table, 5);
	rocksdb_options_set_block_based_table_factory(r.opt, table);
	rocksdb_options_set_create_if_missing(r.opt, 1);
	rocksdb_options_set_write_buffer_size(r.opt, 16u << 20);
	rocksdb_options_set_max_write_buffer_number(r.opt, 4);
	rocksdb_options_set_compression(r.opt, rocksdb_zstd_compression);
	rocksdb_options_set_compression_options(r.opt, -14, 1, 0, 0);
	rocksdb_options_set_max_background_jobs(r.opt, 2);
	rocksdb_options_set_level_compaction_dynamic_level_bytes(r.opt, 1);
	r.db = rocksdb_open(r.opt, dir, &e);
	no_error(e, "rocksdb_open");
	r.read = rocksdb_readoptions_create();
	r.lazy = rocksdb_writeoptions_create();
	r.synced = rocksdb_writeoptions_create();
	rocksdb_writeoptions_set_sync(r.synced, 1);
}

static void
r_close(void)
{
	rocksdb_close(r.db);
	rocksdb_options_destroy(r.opt);
	rocksdb_cache_destroy(r.cache);
	rocksdb_readoptions_destroy(r.read);
	rocksdb_writeoptions_destroy(r.lazy);
	rocksdb_writeoptions_destroy(r.synced);
	memset(&r, 0, sizeof r);
}

static void
r_write(const cell *c, size_t n, bool sync)
{
	static rocksdb_writebatch_t *b;
	static char value[1 << 16];
	char key[256];
	char *e = NULL;

	if (b == NULL)
		b = rocksdb_writebatch_create();
	rocksdb_writebatch_clear(b);
	for (size_t i = 0; i < n; i++)
	{
		memcpy(key, c[i].row, ROW_LEN);
		memcpy(key + ROW_LEN, c[i].qualifier, c[i].qualifier_len);
		memcpy(value, &c[i].ts, 8);
		memcpy(value + 8, c[i].value, c[i].value_len);
		rocksdb_writebatch_put(b, key, ROW_LEN + c[i].qualifier_len, value, 8 + c[i].value_len);
	}
	rocksdb_write(r.db, sync ? r.synced : r.lazy, b, &e);
	no_error(e, "rocksdb_write");
}

static uint64_t
r_property(const char *name)
{
	uint64_t v = 0;

	rocksdb_property_int(r.db, name, &v);
	return v;
}

static void
r_settle(void)
{
	rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
	char *e = NULL;

	rocksdb_flush(r.db, o, &e);
	no_error(e, "rocksdb_flush");
	rocksdb_flushoptions_destroy(o);
	while (r_property("rocksdb.compaction-pending") ||
		   r_property("rocksdb.num-running-compactions") ||
		   r_property("rocksdb.num-running-flushes"))
		usleep(1000);
}

static long
r_get(const char *row, const char *qualifier, size_t len)
{
	char key[256];
	char *e = NULL;
	rocksdb_pinnableslice_t *v;
	size_t n = 0;
	long found = -1;

	memcpy(key, row, ROW_LEN);
	memcpy(key + ROW_LEN, qualifier, len);
	v = rocksdb_get_pinned(r.db, r.read, key, ROW_LEN + len, &e);
	no_error(e, "rocksdb_get");
	if (v != NULL)
	{
		rocksdb_pinnableslice_value(v, &n);
		found = (long) n - 8;
		rocksdb_pinnableslice_destroy(v);
	}
	return found;
}

static uint64_t
r_scan(size_t *n)
{
	rocksdb_iterator_t *it = rocksdb_create_iterator(r.db, r.read);
	uint64_t sum = 0;

	*n = 0;
	for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it), ++*n)
	{
		size_t k, v;

		rocksdb_iter_key(it, &k);
		rocksdb_iter_value(it, &v);
		sum += k - ROW_LEN + v - 8;
	}
	rocksdb_iter_destroy(it);
	return sum;
}

/* -------------------------------------------------------------- workloads */

static const store_api api[2] = {{"wide", w_open, w_close, w_write, w_settle, w_get, w_scan},
								 {"rocksdb", r_open, r_close, r_write, r_settle, r_get, r_scan}};

static void
result(const char *workload, const store_api *a, int round, double ops, double seconds,
	   double cpu_seconds, double max, uint64_t sum)
{
	printf("%s\t%s\t%d\t%.1f\t%s\t%.4f\t", workload, a->name, round, ops / seconds, "/s",
		   cpu_seconds / ops * 1e6);
	if (max > 0)
		printf("%.2f", max * 1e3);
	printf("\t%llu\n", (unsigned long long) sum);
	fflush(stdout);
}

static void
load(const store_api *a, const char *dir, int round)
{
	char cmd[1100];
	double t, c, max = 0;

	snprintf(cmd, sizeof cmd, "rm -rf '%.500s' && mkdir -p '%.500s'", dir, dir);
	if (round > 1)
		a->close();
	if (system(cmd) != 0)
		die(dir, "cannot be made");
	a->open(dir);
	t = wall();
	c = cpu();
	for (size_t i = 0; i < ncells; i += BATCH)
	{
		double before = wall();

		a->write(cells + i, ncells - i < BATCH ? ncells - i : BATCH, false);
		if (wall() - before > max)
			max = wall() - before;
	}
	a->settle();
	result("engine-load", a, round, (double) ncells, wall() - t, cpu() - c, max, 0);
}

/*
 * Looks up random cells; absent: in rows with a time one microsecond off, which do
 * not exist.  The keys are drawn before the clock starts, because reading them from
 * the array of all cells costs as much memory access as a lookup.
 */
static void
get(const store_api *a, bool absent, int round, double seconds, bool report)
{
	static struct
	{
		char row[ROW_LEN];
		char qualifier[32];
		size_t len;
	} key[PROBES];

	uint64_t seed = 88172645463325252ull + (uint64_t) round;
	uint64_t sum = 0;
	double ops = 0, t = 0, c = 0;

	while (t < seconds || ops < PROBES)
	{
		for (int i = 0; i < PROBES; i++)
		{
			const cell *x = &cells[rnd(&seed) % (ncells / 5) * 5]; /* the url of a visit */

			memcpy(key[i].row, x->row, ROW_LEN);
			key[i].row[ROW_LEN - 1] ^= absent;
			key[i].len = x->qualifier_len;
			memcpy(key[i].qualifier, x->qualifier, key[i].len);
		}
		t -= wall();
		c -= cpu();
		for (int i = 0; i < PROBES; i++)
		{
			long n = a->get(key[i].row, key[i].qualifier, key[i].len);

			if ((n < 0) != absent)
				die(a->name, "a lookup found a missing cell, or did not find an existing one");
			if (ops == 0)
				sum += (uint64_t) (n + 1) * (uint64_t) (i + 1);
		}
		t += wall();
		c += cpu();
		ops += PROBES;
	}
	if (report)
		result(absent ? "engine-absent" : "engine-get", a, round, ops, t, c, 0, sum);
}

static void
scan(const store_api *a, int round, bool report)
{
	double t = wall(), c = cpu();
	size_t n;
	uint64_t sum = a->scan(&n);

	if (report)
		result("engine-scan", a, round, (double) n, wall() - t, cpu() - c, 0, sum * 31 + n);
}

/* Overwrites existing cells with the same values, with a sync each. */
static void
synced(const store_api *a, int round, double seconds)
{
	uint64_t seed = 362436069u + (uint64_t) round;
	double ops = 0, max = 0, t = wall(), c = cpu();

	while (wall() - t < seconds)
	{
		double before = wall();

		a->write(&cells[rnd(&seed) % ncells], 1, true);
		if (wall() - before > max)
			max = wall() - before;
		ops++;
	}
	result("engine-sync", a, round, ops, wall() - t, cpu() - c, max, 0);
}

static void
disk(const store_api *a, const char *dir)
{
	char cmd[1100];
	double n = 0;
	FILE *p;

	snprintf(cmd, sizeof cmd, "du -cb '%.500s'/*.sst | tail -n 1", dir);
	p = popen(cmd, "r");
	if (p == NULL || fscanf(p, "%lf", &n) != 1)
		die(dir, "cannot be measured");
	pclose(p);
	printf("engine-disk\t%s\t1\t%.0f\tbytes\t\t\t\n", a->name, n);
}

int
main(int argc, char **argv)
{
	char dir[2][512];
	int rounds;
	double seconds;

	if (argc < 5)
		die("usage", "engine_bench DIR CELLS ROUNDS SECONDS [CACHE_MB]");
	rounds = atoi(argv[3]);
	seconds = atof(argv[4]);
	if (argc > 5)
		cache_bytes = strtoull(argv[5], NULL, 10) << 20;
	read_cells(argv[2]);
	for (int s = 0; s < 2; s++)
		snprintf(dir[s], sizeof dir[s], "%s/%s", argv[1], api[s].name);
	for (int i = 1; i <= rounds; i++)
		for (int s = 0; s < 2; s++)
			load(&api[s], dir[s], i);
	for (int s = 0; s < 2; s++)
		disk(&api[s], dir[s]);
	/* fills the caches */
	for (int s = 0; s < 2; s++)
	{
		scan(&api[s], 0, false);
		get(&api[s], false, 0, seconds, false);
	}
	for (int i = 1; i <= rounds; i++)
		for (int s = 0; s < 2; s++)
			get(&api[s], false, i, seconds, true);
	for (int i = 1; i <= rounds; i++)
		for (int s = 0; s < 2; s++)
			get(&api[s], true, i, seconds, true);
	for (int i = 1; i <= rounds; i++)
		for (int s = 0; s < 2; s++)
			scan(&api[s], i, true);
	for (int i = 1; i <= rounds; i++)
		for (int s = 0; s < 2; s++)
			synced(&api[s], i, seconds);
	for (int s = 0; s < 2; s++)
		api[s].close();
	return 0;
}
