/*
 * fuzz_store.c - a store whose files are damaged anywhere: it opens or says why not, and
 * everything that reads, checks and compacts it comes to an end.  The input is a list of changes,
 * 8 bytes each: file, kind of change, value, offset.  The log, which only tests have, stays as it
 * is.  Build with
 * FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which disables checksums, or no damage gets past them.
 *
 *   make fuzz        with fuzz_driver.c
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE \
 *       -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -I../.. \
 *       fuzz_store.c ../host/file_log.c $(find ../../engine -name '*.c') \
 *       -lzstd -lxxhash -lpthread -lm -o fuzz_store
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/wide.h"
#include "engine/base/os.h"
#include "engine/scan/scan_span.h"
#include "test/host/file_log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILES	 64
#define NOW		 INT64_C(1700000000000000)
#define ROWS_MAX 20000 /* far more rows and cells than the files have */

typedef struct file
{
	char name[64];
	size_t len;
	uint8_t *data;
} file;

static file files[FILES];
static int nfiles;
static char dir[64];
static wide_config config;
static void *base;
static file_log_shared *shared;
static wide_log file_log;
static wide_family_id families[2];
static volatile uint64_t sink;

#define MUST(expr)                                                 \
	do                                                             \
	{                                                              \
		if ((expr) != WIDE_OK)                                     \
		{                                                          \
			fprintf(stderr, "%s: %s\n", #expr, wide_error_text()); \
			abort();                                               \
		}                                                          \
	} while (0)

static int64_t
now(void *ctx)
{
	return NOW;
}

/* ------------------------------------------------------------ directory */

static void
each_name(void (*fn)(const char *name, const char *path))
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[512];

	if (d == NULL)
		abort();
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
		{
			snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
			fn(e->d_name, path);
		}
	closedir(d);
}

static void
remove_one(const char *name, const char *path)
{
	unlink(path);
}

static void
keep_one(const char *name, const char *path)
{
	file *f = &files[nfiles];
	FILE *in = fopen(path, "rb");

	if (in == NULL || nfiles++ == FILES)
		abort();
	snprintf(f->name, sizeof f->name, "%s", name);
	fseek(in, 0, SEEK_END);
	f->len = (size_t) ftell(in);
	rewind(in);
	f->data = malloc(f->len + 1);
	if (fread(f->data, 1, f->len, in) != f->len)
		abort();
	fclose(in);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const file *) a)->name, ((const file *) b)->name);
}

/* Writes file i with the changes. */
static void
write_file(int i, const uint8_t *data, size_t size)
{
	size_t len = files[i].len;
	uint8_t *p = malloc(len + 1);
	char path[512];
	FILE *out;

	memcpy(p, files[i].data, len);
	for (; size >= 8; data += 8, size -= 8)
	{
		uint16_t value;
		uint32_t at;

		memcpy(&value, data + 2, 2);
		memcpy(&at, data + 4, 4);
		if (data[0] % nfiles != i || len == 0 || strncmp(files[i].name, "log.", 4) == 0)
			continue;
		/* the ends of files say how to read the rest */
		at = data[1] & 8 ? (uint32_t) len - 1 - at % (len < 200 ? len : 200) : at % (uint32_t) len;
		switch (data[1] & 7)
		{
			case 0:
				p[at] ^= (uint8_t) (1 << (value & 7));
				break;
			case 1:
				p[at] = (uint8_t) value;
				break;
			case 2:
				p[at] += value & 1 ? 1 : 255;
				break;
			case 3:
				memset(p + at, value & 1 ? 255 : 0, len - at < value % 16 ? len - at : value % 16);
				break;
			case 4:
				memmove(p + at, p + value % len,
						len - at < 40 || len - value % len < 40 ? 0 : (size_t) 1 + value % 40);
				break;
			case 5:
				if (len - at >= 2)
					memcpy(p + at, &value, 2);
				break;
			case 6:
				if (value % 64 == 0)
					len = at;
				break;
			case 7:
				if (len - at >= 9)
					memmove(p + at, p + at + 1, 8);
				break;
		}
		if (len == 0)
			break;
	}
	snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
	out = fopen(path, "wb");
	if (out == NULL || fwrite(p, 1, len, out) != len || fclose(out) != 0)
		abort();
	free(p);
}

/* ---------------------------------------------------------------- store */

static wide_status
open_store(wide_db **db)
{
	wide_host host = {.now = now};
	wide_status st;

	*db = NULL;
	MUST(wide_segment_format(base, &config));
	file_log_reset(shared);
	st = file_log_open(dir, shared, base, NULL, &file_log);
	if (st != WIDE_OK)
		return st;
	st = wide_attach(base, dir, &host, &file_log, NULL, db);
	if (st == WIDE_OK)
		st = wide_recover(*db);
	if (st == WIDE_OK)
		return st;
	if (*db != NULL)
		wide_detach(*db);
	file_log_close(&file_log);
	return st;
}

static void
close_store(wide_db *db)
{
	wide_detach(db);
	file_log_close(&file_log);
}

static wide_status
commit(wide_db *db, wide_batch *b)
{
	uint64_t lsn;
	wide_status st = wide_batch_prepare(b, 0);

	if (st == WIDE_OK && (st = wide_batch_finish(b, &lsn)) == WIDE_OK)
		st = wide_publish(db, lsn);
	wide_batch_free(b);
	return st;
}

static wide_bytes
text(const char *s)
{
	return (wide_bytes) {(const uint8_t *) s, strlen(s)};
}

static void
fill(wide_db *db, int round)
{
	wide_batch *b;

	MUST(wide_batch_new(db, &b));
	for (int i = 0; i < 60; i++)
		for (int f = 0; f < 2; f++)
		{
			char row[24], qual[16];

			snprintf(row, sizeof row, "row%03d", (i * 7 + round * 3) % 100);
			snprintf(qual, sizeof qual, "q%d", i % 5);
			if (i % 13 == 0)
				MUST(wide_batch_delete(b, i % 2 ? WIDE_DELETE_FAMILY : WIDE_DELETE_COLUMN,
									   families[f], text(row), text(qual), WIDE_TS_MAX));
			MUST(wide_batch_put(b, families[f], text(row), text(qual), i % 3 ? WIDE_TS_AUTO : i,
								INT64_MIN, i % 11 == 0 ? INT64_C(1) << 50 : 0,
								text(i % 4 ? "value" : "")));
		}
	MUST(commit(db, b));
}

static void
make_store(void)
{
	wide_family_options o;
	wide_table_id table;
	wide_batch *b;
	wide_db *db;

	MUST(open_store(&db));
	MUST(wide_batch_new(db, &b));
	MUST(wide_batch_create_table(b, 1, "t", &table));
	for (int f = 0; f < 2; f++)
	{
		wide_family_defaults(&o);
		o.block_size = 1024;
		o.versions = 3;
		o.compression = (uint8_t) f;
		o.bloom = WIDE_BLOOM_ROWCOL;
		MUST(wide_batch_create_family(b, table, f ? "g" : "f", &o, &families[f]));
	}
	MUST(commit(db, b));
	for (int round = 0; round < 7; round++)
	{
		fill(db, round);
		if (round < 6)
			MUST(wide_flush(db));
		if (round == 2)
			for (int f = 0; f < 2; f++)
				MUST(wide_compact(db, families[f]));
	}
	close_store(db);
	each_name(keep_one);
	qsort(files, (size_t) nfiles, sizeof files[0], by_name);
}

static void
remove_directory(void)
{
	each_name(remove_one);
	rmdir(dir);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	config.memtable_size = 65536;
	config.cache_size = 1024 * 1024;
	config.max_processes = 2;
	config.max_tables = 8;
	config.max_files = 64;
	config.lock_buckets = 64;
	wide_config_fit(&config, 0);
	base = aligned_alloc(4096, (wide_segment_size(&config) + 4095) / 4096 * 4096);
	shared = file_log_map();
	snprintf(dir, sizeof dir, "%s/wide-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (base == NULL || shared == NULL || mkdtemp(dir) == NULL)
		abort();
	atexit(remove_directory);
	make_store();
	return 0;
}

/* -------------------------------------------------------------- reading */

static void
touch(wide_bytes b)
{
	for (size_t i = 0; i < b.len; i++)
		sink += b.data[i];
}

/* values: of two columns, by column where that is possible; else all versions of all columns */
static void
scan(wide_db *db, const wide_snapshot *snap, bool reverse, bool values, const char *lo,
	 const char *hi)
{
	wide_scan_family fam[2];
	const wide_bytes quals[] = {text("q1"), text("q3")};
	wide_range range = {.lo = text(lo)};
	wide_scan_spec spec = {
		.families = fam, .nfamilies = 2, .ranges = &range, .nranges = 1, .reverse = reverse};
	wide_scan *s;
	wide_row row;
	int n = 0;

	memset(fam, 0, sizeof fam);
	for (int i = 0; i < 2; i++)
	{
		fam[i] = (wide_scan_family) {.id = families[i], .want = WIDE_WANT_ALL, .max_versions = 2};
		if (values)
			fam[i] = (wide_scan_family) {
				.id = families[i], .want = WIDE_WANT_COLUMNS, .quals = quals, .nquals = 2};
	}
	spec.by_column = values;
	scan_span_least = 4;
	if (hi != NULL)
		range.hi = text(hi);
	if (wide_scan_open(db, snap, &spec, &s) != WIDE_OK)
		return;
	while (wide_scan_next(s, &row) == WIDE_OK)
	{
		if (n++ > ROWS_MAX)
		{
			fprintf(stderr, "a %s scan does not end\n", reverse ? "backward" : "forward");
			abort();
		}
		touch(row.key);
		for (int i = 0; i < row.ncells; i++)
		{
			touch(row.cells[i].qualifier);
			touch(row.cells[i].value);
		}
		for (int i = 0; i < 4 && row.span != NULL; i++)
			if (row.span[i].there >> row.span_row & 1)
				touch(row.span[i].values[row.span_row]);
	}
	wide_scan_close(s);
}

static wide_status
a_problem(void *arg, const char *object, const char *problem)
{
	return WIDE_OK;
}

static wide_status
a_key(void *arg, wide_bytes key)
{
	touch(key);
	return WIDE_OK;
}

static wide_status
a_cell(void *arg, const wide_raw_cell *cell)
{
	return WIDE_OK;
}

static void
use(wide_db *db)
{
	wide_snapshot *snap;
	wide_estimate est;
	wide_range range = {text("row010"), text("row050")};
	int work = 0;

	if (wide_snapshot_latest(db, &snap) == WIDE_OK)
	{
		for (int i = 0; i < 4; i++)
		{
			scan(db, snap, i % 2, i / 2, "", NULL);
			scan(db, snap, i % 2, i / 2, "row020", "row040");
		}
		wide_snapshot_release(snap);
	}
	for (int f = 0; f < 2; f++)
	{
		(void) wide_raw_row(db, families[f], text("row030"), a_cell, NULL);
		(void) wide_estimate_range(db, families[f], &range, &est);
		(void) wide_split_keys(db, families[f], 4, false, a_key, NULL);
		(void) wide_split_keys(db, families[f], 4, true, a_key, NULL);
	}
	(void) wide_verify(db, 0, a_problem, NULL);
	while (work++ < 100 && wide_work(db) == WIDE_OK)
		;
	(void) wide_flush(db);
	for (int f = 0; f < 2; f++)
		(void) wide_compact(db, families[f]);
	if (wide_snapshot_latest(db, &snap) == WIDE_OK)
	{
		scan(db, snap, true, false, "", NULL);
		wide_snapshot_release(snap);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wide_db *db;

	each_name(remove_one);
	for (int i = 0; i < nfiles; i++)
		write_file(i, data, size);
	(void) wide_check(dir, &(wide_check_host) {.problem = a_problem});
	if (open_store(&db) != WIDE_OK)
		return 0;
	use(db);
	close_store(db);
	return 0;
}
