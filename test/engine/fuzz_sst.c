/*
 * fuzz_sst.c - any bytes as a sorted file, served from memory.  Build with
 * FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which disables checksums; otherwise
 * no damage would get past them.  If there is a directory "corpus_sst", real
 * files are put into it first, as a start.
 *
 *   make fuzz        with fuzz_driver.c, or with libFuzzer:
 *
 *   mkdir -p corpus_sst
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE \
 *       -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -I../.. \
 *       fuzz_sst.c $(find ../../engine -name '*.c') -lzstd -lxxhash -lpthread -lm -o fuzz_sst
 *   ./fuzz_sst -max_total_time=300 -max_len=8192 corpus_sst
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/os.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_estimate.h"
#include "engine/sst/sst_reader.h"
#include "engine/sst/sst_verify.h"
#include "engine/sst/sst_writer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 100000 /* more entries than an input has bytes */

static const uint8_t *file_data;
static size_t file_size;
static wide_db *db;
static volatile uint64_t sink;

static int
memory_open(wide_os *os, const char *path, int flags)
{
	return 1000;
}

static int
memory_close(wide_os *os, int fd)
{
	return 0;
}

static int64_t
memory_pread(wide_os *os, int fd, void *buf, size_t n, uint64_t off)
{
	if (off >= file_size)
		return 0;
	if (n > file_size - off)
		n = file_size - (size_t) off;
	memcpy(buf, file_data + off, n);
	return (int64_t) n;
}

static int64_t
memory_size(wide_os *os, int fd)
{
	return (int64_t) file_size;
}

static void
add(sst_writer *w, buffer *key, int row, int qualifier, int type)
{
	char r[16];
	wide_bytes rb = {(const uint8_t *) r, 0};
	wide_bytes qb = {(const uint8_t *) &qualifier, 1};
	entry e = {0};

	rb.len = (size_t) snprintf(r, sizeof(r), "row%03d", row);
	if (type >= ENTRY_DELETE_FAMILY)
		key_make_family(key, rb);
	else
		key_make(key, rb, qb);
	e.ukey = key->data;
	e.klen = (uint32_t) key->len;
	e.rowlen = key_row_length(key->data, key->len);
	e.ts = 1700000000000000 + row % 3;
	e.seq = 1000 + (uint64_t) qualifier;
	e.type = (uint8_t) type;
	e.value = (const uint8_t *) "value";
	e.vlen = 5;
	e.ttl_us = qualifier == 2 ? 77 : 0;
	if (sst_writer_add(w, &e) != WIDE_OK)
		abort();
}

/* Writes real files into the directory corpus_sst, as a start. */
static void
write_corpus(void)
{
	for (int compression = 0; compression < 2; compression++)
	{
		wide_family_options o;
		sst_writer *w;
		file_meta meta;
		buffer key = {0};

		wide_family_defaults(&o);
		o.block_size = 1024;
		o.bloom = WIDE_BLOOM_ROWCOL;
		o.compression = (uint8_t) compression;
		strcpy(db->dir, "corpus_sst");
		if (sst_writer_open(db, 1 + (uint64_t) compression, 1, 0, &o, false, &w) == WIDE_OK)
		{
			for (int row = 0; row < 40; row++)
			{
				add(w, &key, row, 0, row % 9 == 0 ? ENTRY_DELETE_FAMILY : ENTRY_PUT);
				add(w, &key, row, 1, ENTRY_PUT);
				add(w, &key, row, 2, ENTRY_PUT);
			}
			sst_writer_finish(w, &meta, NULL);
		}
		buffer_free(&key);
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static wide_os os;
	wide_config config = {0};
	struct stat st;
	void *base;

	config.memtable_size = 65536;
	config.cache_size = 4 * 1024 * 1024;
	config.max_processes = 2;
	config.max_tables = 4;
	config.max_files = 16;
	config.lock_buckets = 64;
	wide_config_fit(&config, 0);
	base = aligned_alloc(4096, (wide_segment_size(&config) + 4095) / 4096 * 4096);
	if (base == NULL)
		abort();
	memset(base, 0, wide_segment_size(&config));
	if (wide_segment_format(base, &config) != WIDE_OK ||
		wide_attach(base, "fuzz", NULL, NULL, NULL, &db) != WIDE_OK)
		abort();
	if (stat("corpus_sst", &st) == 0)
		write_corpus();
	os = *os_real();
	os.open = memory_open;
	os.close = memory_close;
	os.pread = memory_pread;
	os.size = memory_size;
	db->os = &os;
	return 0;
}

static void
touch(const sst_cursor *c)
{
	const entry *e = sst_cursor_entry(c);

	if (!c->valid)
		return;
	for (uint32_t i = 0; i < e->klen; i++)
		sink += e->ukey[i];
	for (uint32_t i = 0; i < e->vlen; i++)
		sink += e->value[i];
}

/* Fails if the file has no end. */
static void
count(int *steps, const char *what)
{
	if (++*steps <= STEPS_MAX)
		return;
	fprintf(stderr, "no end of entries %s\n", what);
	abort();
}

/* From behind the last entry to the first, each time before the entry found last. */
static void
backward(sst_cursor *c)
{
	uint8_t key[KEY_UKEY_MAX] = {0xff, 0xff, 0xff, 0xff};
	uint32_t klen = 4;
	int steps = 0;

	while (sst_cursor_seek_before(c, key, klen) == WIDE_OK && c->valid)
	{
		const entry *e = sst_cursor_entry(c);

		touch(c);
		if (e->klen > sizeof key)
			return;
		klen = e->klen;
		memcpy(key, e->ukey, klen);
		count(&steps, "backward");
	}
}

/* From the first entry on, each time to the next greater key. */
static void
upward(sst_cursor *c)
{
	uint8_t key[KEY_UKEY_MAX + 1];
	int steps = 0;

	for (wide_status st = sst_cursor_first(c); st == WIDE_OK && c->valid;)
	{
		const entry *e = sst_cursor_entry(c);

		if (e->klen >= sizeof key)
			return;
		memcpy(key, e->ukey, e->klen);
		key[e->klen] = 0;
		st = sst_cursor_pass(c, key, e->klen + 1);
		count(&steps, "upward");
	}
}

static wide_status
no_problem(void *arg, const char *object, const char *problem)
{
	return WIDE_OK;
}

static wide_status
no_key(void *arg, const uint8_t *ukey, uint32_t klen)
{
	return WIDE_OK;
}

static void
use(sst_reader *r, int flags)
{
	static const uint8_t key[] = "row020\0\1\1\0\1";
	sst_cursor c;
	int steps = 0;
	sst_extent extent;
	bool may;

	if (sst_cursor_open(db, r, flags, &c) == WIDE_OK)
	{
		for (wide_status st = sst_cursor_first(&c); st == WIDE_OK && c.valid;
			 st = sst_cursor_next(&c))
		{
			touch(&c);
			count(&steps, "forward");
		}
		backward(&c);
		upward(&c);
		for (int ts = 0; ts < 2; ts++)
		{
			if (sst_cursor_seek(&c, key, 11, ts ? INT64_MAX : 0, ts ? SEQ_MAX : 0) == WIDE_OK)
				touch(&c);
			if (sst_cursor_next(&c) == WIDE_OK)
				touch(&c);
			if (sst_cursor_seek_before(&c, key, 11) == WIDE_OK)
				touch(&c);
		}
	}
	sst_cursor_close(&c);
	sst_reader_may_have_row(r, key, 8, &may);
	sst_reader_may_have_column(r, key, 11, 8, &may);
	sst_estimate_extent(r, NULL, 0, key, 11, &extent);
	sst_estimate_sample_keys(r, 2, no_key, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	file_meta meta = {0};
	sst_reader *r;

	file_data = data;
	file_size = size;
	meta.family = 1;
	/* the file number is part of its contents */
	for (meta.number = 1; meta.number <= 2; meta.number++)
	{
		if (sst_reader_get(db, &meta, &r) == WIDE_OK)
		{
			use(r, 0);
			use(r, SST_NO_CACHE | SST_DISK);
			sst_reader_put(db, r);
			sst_verify(db, &meta, no_problem, NULL);
		}
		sst_reader_forget(db, meta.number);
		cache_forget_files(db, &(uint64_t) {meta.number}, 1);
	}
	return 0;
}
