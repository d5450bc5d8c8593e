/*
 * testlib.h - helpers for the tests of the lower layers: random numbers, a
 * temporary directory, entries, an attached store without a log.
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/os.h"
#include "engine/shared/layout.h"
#include "engine/set/snapshot.h"

static inline const char *
status_name(wide_status st)
{
	static const char *const names[] = {
		"WIDE_OK",		"WIDE_END",		   "WIDE_NOTFOUND",	   "WIDE_EXISTS",
		"WIDE_INVALID", "WIDE_LIMIT",	   "WIDE_NOMEM",	   "WIDE_FULL",
		"WIDE_NOSPACE", "WIDE_TEMP_LIMIT", "WIDE_BUSY",		   "WIDE_CONFLICT",
		"WIDE_IO",		"WIDE_CORRUPT",	   "WIDE_INTERRUPTED", "WIDE_POISONED"};

	_Static_assert(sizeof names / sizeof *names == WIDE_POISONED + 1, "a name for each status");
	return names[st];
}

#define assert_ok(expr)                                                             \
	do                                                                              \
	{                                                                               \
		wide_status ok_st_ = (expr);                                                \
		if (ok_st_ != WIDE_OK)                                                      \
			fail_msg("%s: %s (%s)", #expr, status_name(ok_st_), wide_error_text()); \
	} while (0)

static inline uint64_t
rnd(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline wide_bytes
bytes(const void *p, size_t n)
{
	wide_bytes b = {p, n};

	return b;
}

static inline wide_bytes
text(const char *s)
{
	return bytes(s, strlen(s));
}

/* A snapshot of what is published now; running: see wide_snapshot_take_at. */
static inline wide_status
snapshot_take(wide_db *db, bool (*running)(void *ctx, uint64_t xid), void *ctx, wide_snapshot **out)
{
	return wide_snapshot_take_at(db, &(wide_moment) {.running = running, .ctx = ctx}, out);
}

/* ------------------------------------------------------------- directory */

static inline int
test_remove_one(void *arg, const char *name)
{
	char path[2048];

	snprintf(path, sizeof(path), "%s/%s", (const char *) arg, name);
	unlink(path);
	return 0;
}

static inline void
test_dir_clear(const char *dir)
{
	os_real()->list(os_real(), dir, test_remove_one, (void *) dir);
}

/* Makes a new directory; on tmpfs if possible, because nothing in it needs to survive the test. */
static inline void
test_dir_make(char *dir, size_t size)
{
	snprintf(dir, size, "%s/wide-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(dir));
}

static inline void
test_dir_drop(char *dir)
{
	test_dir_clear(dir);
	rmdir(dir);
}

static inline int
test_count_one(void *arg, const char *name)
{
	++*(int *) arg;
	return 0;
}

static inline int
test_dir_count(const char *dir)
{
	int n = 0;

	assert_true(os_real()->list(os_real(), dir, test_count_one, &n) >= 0);
	return n;
}

static inline bool
test_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static inline buffer
test_read_file(const char *path)
{
	buffer b = {0};
	FILE *f = fopen(path, "rb");
	int c;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
	{
		uint8_t byte = (uint8_t) c;

		assert_ok(buffer_append(&b, &byte, 1));
	}
	fclose(f);
	return b;
}

static inline void
test_write_file(const char *path, const uint8_t *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

/* --------------------------------------------------------------- entries */

/* Sorted entries that own their keys and values. */
typedef struct entries
{
	entry *e;
	int n;
} entries;

static inline int
entries_compare(const void *a, const void *b)
{
	return key_compare(a, b);
}

static inline void
entries_free(entries *es)
{
	for (int i = 0; i < es->n; i++)
	{
		free((void *) es->e[i].ukey);
		free((void *) es->e[i].value);
	}
	free(es->e);
}

static inline void
entries_add(entries *es, wide_bytes row, wide_bytes qualifier, int64_t ts, uint64_t seq, int type,
			int64_t ttl, wide_bytes value)
{
	buffer b = {0};
	entry *e;

	if (type >= ENTRY_DELETE_FAMILY)
		assert_ok(key_make_family(&b, row));
	else
		assert_ok(key_make(&b, row, qualifier));
	if ((es->n & (es->n - 1)) == 0)
		es->e = realloc(es->e, (size_t) (es->n > 0 ? 2 * es->n : 1) * sizeof(entry));
	e = &es->e[es->n++];
	memset(e, 0, sizeof(*e));
	/* allocate the exact size, for the address sanitizer */
	e->ukey = memcpy(malloc(b.len), b.data, b.len);
	e->klen = (uint32_t) b.len;
	e->rowlen = key_row_length(b.data, b.len);
	e->ts = ts;
	e->seq = seq;
	e->type = (uint8_t) type;
	e->ttl_us = ttl;
	e->vlen = (uint32_t) value.len;
	e->value = malloc(value.len + 1);
	if (value.len > 0)
		memcpy((void *) e->value, value.data, value.len);
	buffer_free(&b);
}

/* Sorts, and drops all but one of equal keys. */
static inline void
entries_sort(entries *es)
{
	int n = 0;

	qsort(es->e, (size_t) es->n, sizeof(entry), entries_compare);
	for (int i = 0; i < es->n; i++)
	{
		if (n > 0 && key_compare(&es->e[n - 1], &es->e[i]) == 0)
		{
			free((void *) es->e[i].ukey);
			free((void *) es->e[i].value);
		}
		else
			es->e[n++] = es->e[i];
	}
	es->n = n;
}

/*
 * Returns n entries with everything that can matter: long and short keys with
 * 00 in them, several versions, deletes, TTLs, empty and larger values.
 * rows: number of different rows; keylen: length of the longest row.
 */
static inline entries
entries_random(uint64_t seed, int n, int rows, int keylen, int vlen, bool global)
{
	entries es = {0};
	uint64_t s = seed;
	uint8_t *raw = malloc((size_t) keylen + (size_t) vlen + 64);

	for (int i = 0; i < n; i++)
	{
		uint64_t rs = seed ^ (rnd(&s) % (uint64_t) rows) * 77;
		size_t rl = 1 + rnd(&rs) % (uint64_t) keylen;
		size_t ql = rnd(&s) % 6;
		size_t vl = rnd(&s) % 4 == 0 ? 0 : rnd(&s) % (uint64_t) (vlen + 1);
		uint8_t q[8];
		int type = rnd(&s) % 8 == 0 ? (int) (rnd(&s) % 5) : ENTRY_PUT;
		int64_t ts;

		for (size_t k = 0; k < rl; k++)
			raw[k] = (uint8_t) (rnd(&rs) % 4 == 0 ? rnd(&rs) % 3 : 'a' + rnd(&rs) % 3);
		for (size_t k = 0; k < ql; k++)
			q[k] = (uint8_t) (rnd(&s) % 3 == 0 ? 0 : 'p' + rnd(&s) % 2);
		for (size_t k = 0; k < vl; k++)
			raw[rl + k] = (uint8_t) (rnd(&s) % 5 == 0 ? rnd(&s) : 'v');
		switch (rnd(&s) % 8)
		{
			case 0:
				ts = INT64_MAX;
				break;
			case 1:
				ts = INT64_MIN;
				break;
			case 2:
				ts = (int64_t) rnd(&s);
				break;
			default:
				ts = 1700000000000000 + (int64_t) (rnd(&s) % 4);
		}
		entries_add(&es, bytes(raw, rl), bytes(q, ql), ts, global ? 0 : 1000 + rnd(&s) % 6, type,
					rnd(&s) % 9 == 0 ? (int64_t) (rnd(&s) % 1000000) : 0, bytes(raw + rl, vl));
	}
	free(raw);
	entries_sort(&es);
	return es;
}

static inline void
assert_entry(const entry *a, const entry *b)
{
	assert_int_equal(a->klen, b->klen);
	assert_memory_equal(a->ukey, b->ukey, a->klen);
	assert_int_equal(a->rowlen, b->rowlen);
	assert_true(a->ts == b->ts);
	assert_true(a->seq == b->seq);
	assert_int_equal(a->type, b->type);
	assert_true(a->ttl_us == b->ttl_us);
	assert_int_equal(a->vlen, b->vlen);
	if (a->vlen > 0)
		assert_memory_equal(a->value, b->value, a->vlen);
}

/* ----------------------------------------------------------------- store */

typedef struct test_store
{
	char dir[256];
	void *base;
	wide_db *db;
} test_store;

static inline void
test_store_open(test_store *t, size_t cache, wide_os *os)
{
	wide_config config = {0};
	size_t size;

	if (t->dir[0] == '\0')
		test_dir_make(t->dir, sizeof(t->dir));
	config.memtable_size = 1024 * 1024;
	config.cache_size = cache;
	config.max_processes = 4;
	config.max_tables = 16;
	config.max_files = 512;
	config.lock_buckets = 64;
	wide_config_fit(&config, 0);
	size = wide_segment_size(&config);
	assert_int_equal(posix_memalign(&t->base, 4096, size), 0);
	memset(t->base, 0, size);
	assert_ok(wide_segment_format(t->base, &config));
	assert_ok(wide_attach(t->base, t->dir, NULL, NULL, os, &t->db));
}

static inline void
test_store_close(test_store *t)
{
	wide_detach(t->db);
	free(t->base);
	t->db = NULL;
}

#endif /* TESTLIB_H */
