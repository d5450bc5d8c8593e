/*
 * store_fixture.h - a complete store with the file log in a directory of its
 * own: open, commit, read everything as text, crash by discarding the
 * segment.
 */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <sys/mman.h>
#include "testlib.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/snapshot.h"
#include "engine/batch/batch.h"
#include "engine/scan/scan_state.h"
#include "test/host/file_log.h"

typedef struct store
{
	char dir[64];
	wide_config config;
	void *base;
	wide_db *db;
	wide_log log;
	file_log_shared *log_shared;
	wide_os *os;		 /* NULL: the real one */
	const char *files;	 /* the directory of sorted files; NULL: dir */
	int64_t now;		 /* the time that the host returns */
	int interrupt_after; /* > 0: interrupted after so many checks */
	uint64_t oldest_external;
	uint64_t ended, latest;			/* of external transactions */
	void (*opening)(wide_log *log); /* if not NULL: changes the log before recovery */
	int reports;					/* lines that the host was to log */
	char report[300];				/* the last one */
} store;

/* Returns true if the snapshot sees a batch with that sequence number. */
static inline bool
snapshot_sees(const wide_snapshot *s, uint64_t lsn)
{
	int n;
	const seq_range *excluded = snapshot_excluded(s, &n);

	for (int i = 0; i < n; i++)
		if (lsn >= excluded[i].first && lsn <= excluded[i].last)
			return false;
	return lsn <= wide_snapshot_lsn(s);
}

static bool
store_interrupted(void *ctx)
{
	store *s = ctx;

	return s->interrupt_after > 0 && --s->interrupt_after == 0;
}

static int64_t
store_now(void *ctx)
{
	return ((store *) ctx)->now;
}

static uint64_t
store_oldest_external(void *ctx)
{
	return ((store *) ctx)->oldest_external;
}

static uint64_t
store_ended(void *ctx, uint64_t *latest)
{
	*latest = ((store *) ctx)->latest;
	return ((store *) ctx)->ended;
}

static void
store_report(void *ctx, int level, const char *line)
{
	store *s = ctx;

	s->reports++;
	snprintf(s->report, sizeof s->report, "%s", line);
}

static inline void
store_init(store *s)
{
	memset(s, 0, sizeof *s);
	s->config = (wide_config) {.memtable_size = 256 * 1024,
							   .cache_size = 1 << 20,
							   .max_processes = 8,
							   .max_tables = 16,
							   .max_files = 256,
							   .lock_buckets = 64};
	s->now = 1700000000000000;
	test_dir_make(s->dir, sizeof s->dir);
}

/* Formats a segment, attaches, recovers; on failure closes everything again. */
static inline wide_status
store_open(store *s)
{
	wide_host host = {.ctx = s,
					  .interrupted = store_interrupted,
					  .now = store_now,
					  .oldest_external = store_oldest_external,
					  .ended = store_ended,
					  .report = store_report,
					  .files_directory = s->files};
	size_t size = wide_segment_size(&s->config);
	wide_status st;

	s->db = NULL;
	s->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(s->base, MAP_FAILED);
	assert_ok(wide_segment_format(s->base, &s->config));
	s->log_shared = file_log_map();
	assert_non_null(s->log_shared);
	st = file_log_open(s->dir, s->log_shared, s->base, s->os, &s->log);
	if (st == WIDE_OK)
	{
		if (s->opening != NULL)
			s->opening(&s->log);
		st = wide_attach(s->base, s->dir, &host, &s->log, s->os, &s->db);
		if (st == WIDE_OK)
			st = wide_recover(s->db);
		if (st == WIDE_OK)
			return st;
		if (s->db != NULL)
			wide_detach(s->db);
		file_log_close(&s->log);
	}
	file_log_unmap(s->log_shared);
	munmap(s->base, size);
	s->db = NULL;
	return st;
}

/* Does not flush: what is not in the log or in files is lost. */
static inline void
store_close(store *s)
{
	if (s->db == NULL)
		return;
	wide_detach(s->db);
	file_log_close(&s->log);
	file_log_unmap(s->log_shared);
	munmap(s->base, wide_segment_size(&s->config));
	s->db = NULL;
}

static inline void
store_drop(store *s)
{
	store_close(s);
	test_dir_drop(s->dir);
}

/* Runs all steps; frees the batch.  *logged: the finish record may be in the log. */
static inline wide_status
store_commit(store *s, wide_batch *b, bool *logged)
{
	uint64_t lsn;
	wide_status st = wide_batch_prepare(b, 0);

	if (st == WIDE_OK)
	{
		if (logged != NULL)
			*logged = true;
		st = wide_batch_finish(b, &lsn);
	}
	if (st == WIDE_OK)
		st = s->db->log.sync(s->db->log.ctx, lsn);
	if (st == WIDE_OK)
		st = wide_publish(s->db, lsn);
	wide_batch_free(b);
	return st;
}

/* Creates a table "t" in space 1 with n families f0, f1, ... with these options. */
static inline void
store_table(store *s, const wide_family_options *opt, int n, wide_table_id *table,
			wide_family_id *families)
{
	wide_batch *b;
	char name[8];

	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_create_table(b, 1, "t", table));
	assert_ok(wide_batch_bind(b, *table, 77));
	for (int i = 0; i < n; i++)
	{
		snprintf(name, sizeof name, "f%d", i);
		assert_ok(wide_batch_create_family(b, *table, name, opt, &families[i]));
	}
	assert_ok(store_commit(s, b, NULL));
}

static inline void
store_put(store *s, wide_family_id f, const char *row, const char *qual, int64_t ts,
		  const char *value)
{
	wide_batch *b;

	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_put(b, f, text(row), text(qual), ts, INT64_MIN, 0, text(value)));
	assert_ok(store_commit(s, b, NULL));
}

static inline void
store_delete(store *s, wide_delete kind, wide_family_id f, const char *row, const char *qual,
			 int64_t ts)
{
	wide_batch *b;

	assert_ok(wide_batch_new(s->db, &b));
	assert_ok(wide_batch_delete(b, kind, f, text(row), text(qual), ts));
	assert_ok(store_commit(s, b, NULL));
}

/* Appends all visible cells of families, "fam/row/qual@ts=value;", as of a snapshot (NULL: now). */
static inline wide_status
store_read(store *s, const wide_snapshot *at, const wide_family_id *ids, int n, buffer *out)
{
	wide_scan_family fam[8];
	wide_range all = {.lo = {(const uint8_t *) "", 0}};
	wide_scan_spec spec = {
		.families = fam, .nfamilies = n, .ranges = &all, .nranges = 1, .now = s->now};
	wide_snapshot *mine = NULL;
	wide_scan *scan = NULL;
	wide_row row;
	wide_status st = WIDE_OK;

	memset(fam, 0, sizeof fam);
	for (int i = 0; i < n; i++)
		fam[i] = (wide_scan_family) {.id = ids[i], .want = WIDE_WANT_ALL, .max_versions = 1000};
	if (at == NULL)
		st = snapshot_take(s->db, NULL, NULL, &mine);
	if (st == WIDE_OK)
		st = wide_scan_open(s->db, at != NULL ? at : mine, &spec, &scan);
	while (st == WIDE_OK && (st = wide_scan_next(scan, &row)) == WIDE_OK)
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];
			char text[600];
			int len = snprintf(text, sizeof text, "%d/%.*s/%.*s@%lld=%.*s;", c->family,
							   (int) row.key.len, row.key.data, (int) c->qualifier.len,
							   c->qualifier.data, (long long) c->ts,
							   c->value.len > 40 ? 40 : (int) c->value.len, c->value.data);

			assert_ok(buffer_append(out, text, (size_t) len));
		}
	assert_ok(buffer_append(out, "", 1));
	out->len--;
	if (scan != NULL)
		wide_scan_close(scan);
	if (mine != NULL)
		wide_snapshot_release(mine);
	return st == WIDE_END ? WIDE_OK : st;
}

static inline char *
store_text(store *s, const wide_snapshot *at, const wide_family_id *ids, int n)
{
	buffer b = {0};

	assert_ok(store_read(s, at, ids, n, &b));
	return (char *) b.data;
}

static wide_status
store_problem(void *arg, const char *object, const char *problem)
{
	fprintf(stderr, "verify: %s: %s\n", object, problem);
	++*(int *) arg;
	return WIDE_OK;
}

/* Returns the number of problems. */
static inline int
store_verify(store *s)
{
	int problems = 0;

	assert_ok(wide_verify(s->db, 0, store_problem, &problems));
	return problems;
}

/* Works until nothing is left to do. */
static inline void
store_work(store *s)
{
	wide_status st;
	int n = 0;

	while ((st = wide_work(s->db)) == WIDE_OK)
		assert_true(n++ < 1000);
	if (st != WIDE_END)
		fail_msg("wide_work: %s", wide_error_text());
}

/* Returns the bytes of a family's files. */
static inline uint64_t
store_bytes(store *s, wide_family_id f)
{
	wide_family_info info;

	assert_ok(wide_family_statistics(s->db, f, &info));
	return info.bytes;
}

static inline int
store_files(store *s, wide_family_id f, int level)
{
	wide_family_info info;

	assert_ok(wide_family_statistics(s->db, f, &info));
	return (int) (level < 0 ? info.files : info.files_per_level[level]);
}

#endif /* STORE_FIXTURE_H */
