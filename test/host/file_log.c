/*
 * file_log.c - the file log: batches made durable without PostgreSQL.  A
 * wide_log for tests and benchmarks; the extension uses PostgreSQL's WAL.
 *
 * Files log.NNNNNNNN (hexadecimal, from 1, no gaps) in the store's directory.
 * A position (LSN) is a byte position in the concatenation of all files ever
 * written, headers included.
 *
 *     file header, 64 bytes
 *        0  u64 magic "WIDELOG1"
 *        8  u32 format 1
 *       12  u32 number of the file
 *       16  u64 log id, random, the same in all files
 *       24  u64 start: position of this file's first byte
 *       32  zeros
 *       56  u64 check: xxh3-64 of bytes 0..55, seed 0
 *
 *     record, 8-byte aligned, never split over files
 *        0  u32 length of the payload, at most WIDE_LOG_RECORD_MAX
 *        4  u32 check: low half of xxh3-64 of the rest of header and payload, seed log id + length
 *        8  u64 start: position of this record
 *       16  u64 durable: everything before this position was durable when this was written
 *       24  u64 xid: external transaction, 0 = none
 *       32  u8 kind: 1 payload, 2 commit of xid, 3 abort of xid; 7 zeros
 *       40  payload, zeros up to a multiple of 8
 *
 * The LSN of a record is its end, padding included.
 *
 * Torn tail or damage?  The log ends at the first record that does not verify
 * (the start position keeps old bytes from verifying elsewhere).  When some
 * verifying record behind that place, or a following file, says that what is
 * missing had been durable, acknowledged data is gone: WIDE_CORRUPT.  Otherwise
 * the tail is cut off, synced, and the log goes on there.  A file is synced
 * before its successor is made, so only the last one can have a torn tail.
 *
 * The processes share a file_log_shared in memory of its own; it lives as long
 * as the segment.  Appending, and opening: under append_lock, straight to the
 * file (pwrite; no buffer in shared memory that could be lost or half filled).
 * Syncing: the holder of sync_lock, the leader, syncs everything appended so
 * far; the processes that wait meanwhile look again and again whether their records
 * are durable.  Both locks are robust.  Whether the write or sync of a process
 * that died had failed is not known, so its death makes the log unusable.  No
 * write or sync is tried after one has failed.  Order: sync_lock is never taken
 * under append_lock, nor the other way round.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "test/host/file_log.h"
#include "engine/base/bytes.h"
#include "engine/base/hash.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"

#define LOG_MAGIC		  0x31474f4c45444957ull /* WIDELOG1 */
#define LOG_FORMAT		  1
#define FILE_HEADER		  64
#define RECORD_HEADER	  40
#define RECORD_BYTES(len) ((RECORD_HEADER + (uint64_t) (len) + 7) & ~(uint64_t) 7)
#define FILE_BYTES		  ((uint64_t) 64 * 1024 * 1024)
#define READ_BYTES		  ((size_t) 4 * 1024 * 1024) /* more than a record */
#define PATH_BYTES		  1100

enum record_kind
{
	REC_PAYLOAD = 1,
	REC_COMMIT = 2,
	REC_ABORT = 3
};

enum log_state
{
	LOG_CLOSED,
	LOG_FOUND /* must be replayed first */,
	LOG_READY
};

struct file_log_shared
{
	pthread_mutex_t append_lock, sync_lock;
	_Atomic uint32_t state; /* enum log_state */
	uint64_t id;
	uint64_t file_bytes;	  /* a file is full from this size on */
	_Atomic uint64_t end;	  /* where the next record begins; raised under append_lock */
	_Atomic uint64_t durable; /* everything before is on disk */
	_Atomic uint32_t file;	  /* number of the last file; stored before end is raised into it */
	uint64_t file_start;	  /* its start; under append_lock */
	/* start of the second oldest file: nothing to release before; 0 = not known */
	_Atomic uint64_t second;
	_Atomic uint32_t failed; /* a write or sync has failed: no more of them */
};

typedef struct file_log
{
	const void *segment;
	file_log_shared *shared;
	wide_os *os;
	int fd;				/* of file fd_number */
	uint32_t fd_number; /* 0 = none */
	uint64_t xid;		/* for external records */
	char dir[1024];
	uint8_t record[RECORD_BYTES(WIDE_LOG_RECORD_MAX)];
} file_log;

typedef struct listed_file
{
	uint32_t number;
	uint64_t start;
	uint64_t size;
} listed_file;

typedef struct file_list
{
	listed_file *file;
	int n;
	int cap;
	bool nomem;
} file_list;

/* ---------------------------------------------------------- shared memory */

static void
lock_init(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}

file_log_shared *
file_log_map(void)
{
	file_log_shared *a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
							  -1, 0);

	if (a == MAP_FAILED)
		return NULL;
	file_log_reset(a);
	return a;
}

void
file_log_reset(file_log_shared *a)
{
	memset(a, 0, sizeof(*a));
	lock_init(&a->append_lock);
	lock_init(&a->sync_lock);
}

void
file_log_unmap(file_log_shared *a)
{
	munmap(a, sizeof(*a));
}

static wide_status
check(const file_log *l)
{
	return wide_segment_state(l->segment) != WIDE_DEAD
			   ? WIDE_OK
			   : status_fail(WIDE_POISONED, "the store is poisoned");
}

/* What locking or trying a mutex has returned, as a status; EBUSY is not for here. */
static wide_status
locked(file_log *l, pthread_mutex_t *m, int e)
{
	if (e == 0)
		return WIDE_OK;
	if (e == EOWNERDEAD)
		pthread_mutex_unlock(m); /* not made consistent: ENOTRECOVERABLE from here on */
	atomic_store(&l->shared->failed, 1);
	return status_fail(WIDE_POISONED, "a process died while it wrote or synced the log");
}

static wide_status
lock(file_log *l, pthread_mutex_t *m)
{
	return locked(l, m, pthread_mutex_lock(m));
}

/* ----------------------------------------------------------------- files */

static void
file_path(const file_log *l, uint32_t number, char *path)
{
	snprintf(path, PATH_BYTES, "%s/log.%08x", l->dir, number);
}

static wide_status
fail_io(const file_log *l, uint32_t number, const char *what, int64_t error)
{
	return status_fail(WIDE_IO, "%s/log.%08x: %s: %s", l->dir, number, what,
					   strerror((int) -error));
}

static wide_status
file_open(file_log *l, uint32_t number, int flags, int *fd)
{
	char path[PATH_BYTES];

	file_path(l, number, path);
	*fd = l->os->open(l->os, path, flags);
	return *fd < 0 ? fail_io(l, number, "cannot open", *fd) : WIDE_OK;
}

/* The descriptor of the file that is appended to now. */
static wide_status
current_fd(file_log *l)
{
	uint32_t number = atomic_load_explicit(&l->shared->file, memory_order_acquire);

	if (l->fd_number == number)
		return WIDE_OK;
	if (l->fd_number != 0)
		l->os->close(l->os, l->fd);
	l->fd_number = 0;
	TRY(file_open(l, number, O_RDWR, &l->fd));
	l->fd_number = number;
	return WIDE_OK;
}

/* Make the file and leave it open as the current one of this process; durable with its name. */
static wide_status
file_create(file_log *l, uint32_t number, uint64_t start)
{
	uint8_t h[FILE_HEADER] = {0};
	int64_t e;

	if (l->fd_number != 0)
		l->os->close(l->os, l->fd);
	l->fd_number = 0;
	TRY(file_open(l, number, O_RDWR | O_CREAT | O_TRUNC, &l->fd));
	l->fd_number = number;
	put_u64le(h, LOG_MAGIC);
	put_u32le(h + 8, LOG_FORMAT);
	put_u32le(h + 12, number);
	put_u64le(h + 16, l->shared->id);
	put_u64le(h + 24, start);
	put_u64le(h + 56, hash_xxh3(h, 56, 0));
	if ((e = l->os->pwrite(l->os, l->fd, h, sizeof(h), 0)) < 0)
		return fail_io(l, number, "cannot write", e);
	if ((e = l->os->sync(l->os, l->fd)) < 0)
		return fail_io(l, number, "cannot sync", e);
	if ((e = l->os->syncdir(l->os, l->dir)) < 0)
		return fail_io(l, number, "cannot sync the directory", e);
	return WIDE_OK;
}

static bool
header_valid(const uint8_t *h, uint32_t number)
{
	return get_u64le(h) == LOG_MAGIC && get_u32le(h + 8) == LOG_FORMAT &&
		   get_u32le(h + 12) == number && get_u64le(h + 56) == hash_xxh3(h, 56, 0);
}

/* ok = false: the header does not verify and there is nothing behind it: a creation that a crash
 * cut short. */
static wide_status
file_inspect(file_log *l, listed_file *f, uint64_t *id, bool *ok)
{
	uint8_t h[FILE_HEADER] = {0};
	wide_status st;
	int fd;
	int64_t n;

	*ok = true;
	TRY(file_open(l, f->number, O_RDONLY, &fd));
	n = l->os->size(l->os, fd);
	if (n >= 0)
	{
		f->size = (uint64_t) n;
		n = l->os->pread(l->os, fd, h, sizeof(h), 0);
	}
	if (n < 0)
		st = fail_io(l, f->number, "cannot read", n);
	else if (header_valid(h, f->number))
	{
		f->start = get_u64le(h + 24);
		*id = get_u64le(h + 16);
		st = f->start <= INT64_MAX && f->start % 8 == 0
				 ? WIDE_OK
				 : status_fail(WIDE_CORRUPT, "%s/log.%08x: impossible start", l->dir, f->number);
	}
	else if (f->size <= FILE_HEADER)
	{
		*ok = false;
		st = WIDE_OK;
	}
	else
		st = status_fail(WIDE_CORRUPT, "%s/log.%08x: damaged header", l->dir, f->number);
	l->os->close(l->os, fd);
	return st;
}

static int
note_file(void *arg, const char *name)
{
	file_list *list = arg;
	unsigned number;
	int used = 0;

	if (sscanf(name, "log.%8x%n", &number, &used) != 1 || used != 12 || name[12] != 0 ||
		number == 0)
		return 0;
	if (list->n == list->cap)
	{
		int cap = list->cap == 0 ? 16 : list->cap * 2;
		listed_file *p = realloc(list->file, cap * sizeof(*p));

		if (p == NULL)
		{
			list->nomem = true;
			return 1;
		}
		list->file = p;
		list->cap = cap;
	}
	list->file[list->n++] = (listed_file) {.number = number};
	return 0;
}

static int
file_order(const void *a, const void *b)
{
	uint32_t x = ((const listed_file *) a)->number;
	uint32_t y = ((const listed_file *) b)->number;

	return (x > y) - (x < y);
}

/*
 * The files in order, with start and size.  A last file without a header is
 * left out.  *id is 0 when there is none.  Starts rise and numbers have no gap
 * in what is returned.
 */
static wide_status
files_list(file_log *l, file_list *list, uint64_t *id)
{
	wide_status st = WIDE_OK;
	int e;

	memset(list, 0, sizeof(*list));
	*id = 0;
	e = l->os->list(l->os, l->dir, note_file, list);
	if (list->nomem)
		st = status_fail(WIDE_NOMEM, "out of memory");
	else if (e < 0)
		st = status_fail(WIDE_IO, "%s: cannot read the directory: %s", l->dir, strerror(-e));
	if (st == WIDE_OK && list->n > 0)
		qsort(list->file, list->n, sizeof(listed_file), file_order);
	for (int i = 0; st == WIDE_OK && i < list->n; i++)
	{
		listed_file *f = &list->file[i];
		uint64_t its = 0;
		bool ok;

		if (i > 0 && f->number != f[-1].number + 1)
			st = status_fail(WIDE_CORRUPT, "%s: log.%08x is missing", l->dir, f[-1].number + 1);
		else if ((st = file_inspect(l, f, &its, &ok)) != WIDE_OK)
			break;
		else if (!ok && i == list->n - 1)
			list->n--;
		else if (!ok || (*id != 0 && its != *id) || (i > 0 && f->start <= f[-1].start))
			st = status_fail(WIDE_CORRUPT, "%s/log.%08x: does not belong to the log before it",
							 l->dir, f->number);
		else
			*id = its;
	}
	if (st != WIDE_OK)
	{
		free(list->file);
		memset(list, 0, sizeof(*list));
	}
	return st;
}

/* ---------------------------------------------------------------- append */

static uint32_t
record_check(const uint8_t *record, uint32_t len, uint64_t id)
{
	return (uint32_t) hash_xxh3(record + 8, RECORD_HEADER - 8 + (size_t) len, id + len);
}

static wide_status
fail_final(file_log *l, wide_status st)
{
	atomic_store(&l->shared->failed, 1);
	return st;
}

static void
raise_durable(file_log_shared *a, uint64_t to)
{
	uint64_t d = atomic_load(&a->durable);

	while (d < to && !atomic_compare_exchange_weak(&a->durable, &d, to))
		;
}

/* The next file.  The old one is synced first: only the last file may be torn.
 * Under append_lock. */
static wide_status
rotate(file_log *l)
{
	file_log_shared *a = l->shared;
	uint64_t end = atomic_load(&a->end);
	uint32_t number = atomic_load(&a->file) + 1;
	int e;

	if ((e = l->os->sync(l->os, l->fd)) < 0)
		return fail_final(l, fail_io(l, l->fd_number, "cannot sync", e));
	raise_durable(a, end);
	if (file_create(l, number, end) != WIDE_OK)
		return fail_final(l, WIDE_IO);
	a->file_start = end;
	/* the file before the end: who reads end and then file never syncs an older file than end is
	 * in */
	atomic_store_explicit(&a->file, number, memory_order_release);
	atomic_store_explicit(&a->end, end + FILE_HEADER, memory_order_release);
	return WIDE_OK;
}

/* Under append_lock. */
static wide_status
append(file_log *l, enum record_kind kind, uint64_t xid, const wide_bytes *parts, int nparts,
	   uint64_t *lsn)
{
	file_log_shared *a = l->shared;
	uint8_t *p = l->record;
	uint64_t pos;
	uint64_t size;
	uint64_t len = 0;
	int64_t e;

	TRY(check(l));
	if (atomic_load(&a->state) != LOG_READY)
		return status_fail(WIDE_INVALID, "the log must be replayed before it is written");
	if (atomic_load(&a->failed))
		return status_fail(WIDE_IO, "%s: an earlier write to the log has failed", l->dir);
	for (int i = 0; i < nparts; i++)
	{
		if (parts[i].len > WIDE_LOG_RECORD_MAX - len)
			return status_fail(WIDE_INVALID, "a log record is too long");
		if (parts[i].len > 0)
			memcpy(p + RECORD_HEADER + len, parts[i].data, parts[i].len);
		len += parts[i].len;
	}
	TRY(current_fd(l));
	if (atomic_load(&a->end) - a->file_start >= a->file_bytes)
		TRY(rotate(l));
	pos = atomic_load(&a->end);
	size = RECORD_BYTES(len);
	memset(p, 0, RECORD_HEADER);
	memset(p + RECORD_HEADER + len, 0, size - RECORD_HEADER - len);
	put_u32le(p, (uint32_t) len);
	put_u64le(p + 8, pos);
	put_u64le(p + 16, atomic_load(&a->durable));
	put_u64le(p + 24, xid);
	p[32] = (uint8_t) kind;
	put_u32le(p + 4, record_check(p, (uint32_t) len, a->id));
	if ((e = l->os->pwrite(l->os, l->fd, p, size, pos - a->file_start)) < 0)
		return fail_final(l, fail_io(l, l->fd_number, "cannot write", e));
	injection_point("log-append");
	atomic_store_explicit(&a->end, pos + size, memory_order_release);
	*lsn = pos + size;
	return WIDE_OK;
}

static wide_status
append_locked(file_log *l, enum record_kind kind, uint64_t xid, const wide_bytes *parts, int nparts,
			  uint64_t *lsn)
{
	wide_status st;

	TRY(lock(l, &l->shared->append_lock));
	st = append(l, kind, xid, parts, nparts, lsn);
	pthread_mutex_unlock(&l->shared->append_lock);
	return st;
}

static wide_status
log_append(void *ctx, bool external, const wide_bytes *parts, int nparts, uint64_t *lsn)
{
	file_log *l = ctx;

	return append_locked(l, REC_PAYLOAD, external ? l->xid : 0, parts, nparts, lsn);
}

void
file_log_set_xid(wide_log *log, uint64_t xid)
{
	((file_log *) log->ctx)->xid = xid;
}

wide_status
file_log_decide(wide_log *log, uint64_t xid, bool commit)
{
	uint64_t lsn;

	return append_locked(log->ctx, commit ? REC_COMMIT : REC_ABORT, xid, NULL, 0, &lsn);
}

void
file_log_set_file_bytes(wide_log *log, uint64_t bytes)
{
	((file_log *) log->ctx)->shared->file_bytes = bytes;
}

static uint64_t
log_end(void *ctx)
{
	return atomic_load_explicit(&((file_log *) ctx)->shared->end, memory_order_acquire);
}

/* ------------------------------------------------------------------ sync */

/* As the leader: everything that has been appended up to now. */
static wide_status
sync_all(file_log *l)
{
	file_log_shared *a = l->shared;
	uint64_t end = atomic_load_explicit(&a->end, memory_order_acquire);
	int e;

	/* the file is read after the end: see rotate */
	if (current_fd(l) != WIDE_OK)
		return fail_final(l, WIDE_IO);
	injection_point("log-sync");
	if ((e = l->os->sync(l->os, l->fd)) < 0)
		return fail_final(l, fail_io(l, l->fd_number, "cannot sync", e));
	raise_durable(a, end);
	return WIDE_OK;
}

static wide_status
log_sync(void *ctx, uint64_t lsn)
{
	file_log *l = ctx;
	file_log_shared *a = l->shared;
	wide_status st = WIDE_OK;

	if (atomic_load_explicit(&a->durable, memory_order_acquire) >= lsn)
		return WIDE_OK;
	TRY(check(l));
	/* during replay there is nothing that was not synced when it began */
	if (atomic_load(&a->state) != LOG_READY)
		return WIDE_OK;
	/*
	 * Not by waiting in the mutex: the process that gives it back could take it again and
	 * again before those that sleep in it are awake, and they would learn late that their
	 * records are durable.
	 */
	for (int e; (e = pthread_mutex_trylock(&a->sync_lock)) != 0; usleep(100))
	{
		if (e != EBUSY)
			return locked(l, &a->sync_lock, e);
		if (atomic_load_explicit(&a->durable, memory_order_acquire) >= lsn)
			return WIDE_OK;
	}
	/* another leader may have synced it, or failed, meanwhile */
	if (atomic_load_explicit(&a->durable, memory_order_acquire) < lsn)
	{
		if (atomic_load(&a->failed))
			st = status_fail(WIDE_IO, "%s: an earlier sync of the log has failed", l->dir);
		else if (lsn > atomic_load(&a->end))
			st = status_fail(WIDE_INVALID, "log position %llu is not written yet",
							 (unsigned long long) lsn);
		else
			st = sync_all(l);
	}
	pthread_mutex_unlock(&a->sync_lock);
	return st;
}

/* ---------------------------------------------------------------- replay */

typedef struct reader
{
	file_log *l;
	const listed_file *f;
	int fd;
	uint8_t *buf;
	uint64_t buf_off; /* in the file */
	size_t buf_len;
} reader;

/* The bytes at off as far as the file has them; *n at most `want` (<= READ_BYTES). */
static wide_status
reader_bytes(reader *r, uint64_t off, size_t want, const uint8_t **p, size_t *n)
{
	if (off < r->buf_off || off + want > r->buf_off + r->buf_len)
	{
		int64_t got = r->l->os->pread(r->l->os, r->fd, r->buf, READ_BYTES, off);

		if (got < 0)
			return fail_io(r->l, r->f->number, "cannot read", got);
		r->buf_off = off;
		r->buf_len = (size_t) got;
	}
	*p = r->buf + (off - r->buf_off);
	*n = r->buf_len - (off - r->buf_off);
	if (*n > want)
		*n = want;
	return WIDE_OK;
}

/* *record NULL: none verifies at this position. */
static wide_status
reader_record(reader *r, uint64_t pos, const uint8_t **record)
{
	uint64_t off = pos - r->f->start;
	const uint8_t *p;
	size_t n;
	uint32_t len;

	*record = NULL;
	TRY(reader_bytes(r, off, RECORD_HEADER, &p, &n));
	if (n < RECORD_HEADER || get_u64le(p + 8) != pos)
		return WIDE_OK;
	len = get_u32le(p);
	if (len > WIDE_LOG_RECORD_MAX || p[32] < REC_PAYLOAD || p[32] > REC_ABORT)
		return WIDE_OK;
	TRY(reader_bytes(r, off, RECORD_BYTES(len), &p, &n));
	if (n < RECORD_BYTES(len) || get_u32le(p + 4) != record_check(p, len, r->l->shared->id))
		return WIDE_OK;
	*record = p;
	return WIDE_OK;
}

/* The log seems to end at pos, but bytes follow.  Does any record among them say that more had
 * been durable? */
static wide_status
judge_tail(reader *r, uint64_t pos)
{
	for (uint64_t at = pos + 8; at + RECORD_HEADER <= r->f->start + r->f->size; at += 8)
	{
		const uint8_t *p;

		TRY(reader_record(r, at, &p));
		if (p != NULL && get_u64le(p + 16) > pos)
			return status_fail(WIDE_CORRUPT,
							   "%s/log.%08x: damaged at byte %llu, before data that was durable",
							   r->l->dir, r->f->number, (unsigned long long) (pos - r->f->start));
	}
	return WIDE_OK;
}

static wide_status
replay_record(reader *r, const uint8_t *p, uint64_t pos, wide_replay_fn fn, void *arg)
{
	wide_replay_event ev = {0};

	ev.kind = p[32] == REC_COMMIT  ? WIDE_REPLAY_COMMIT
			  : p[32] == REC_ABORT ? WIDE_REPLAY_ABORT
								   : WIDE_REPLAY_RECORD;
	ev.start = pos;
	ev.lsn = pos + RECORD_BYTES(get_u32le(p));
	ev.xid = get_u64le(p + 24);
	if (ev.kind == WIDE_REPLAY_RECORD)
	{
		ev.payload.data = p + RECORD_HEADER;
		ev.payload.len = get_u32le(p);
	}
	return fn(arg, &ev);
}

/*
 * All records of one file up to limit.  *pos: where the file's records end.
 * While the log is being found again, its end is the beginning of the record
 * that is being applied: a memtable that starts now will have that record.
 */
static wide_status
replay_file(reader *r, uint64_t from, uint64_t limit, bool fresh, wide_replay_fn fn, void *arg,
			uint64_t *pos)
{
	*pos = r->f->start + FILE_HEADER;
	while (*pos < limit)
	{
		const uint8_t *p;
		uint64_t next;

		TRY(reader_record(r, *pos, &p));
		if (p == NULL)
			break;
		next = *pos + RECORD_BYTES(get_u32le(p));
		if (*pos >= from)
		{
			if (fresh)
				atomic_store(&r->l->shared->end, *pos);
			TRY(replay_record(r, p, *pos, fn, arg));
		}
		*pos = next;
	}
	return WIDE_OK;
}

/* The log goes on at pos in this file, its last.  Nobody else is there yet. */
static wide_status
resume(file_log *l, const listed_file *f, uint64_t pos)
{
	file_log_shared *a = l->shared;
	char path[PATH_BYTES];
	int e;

	atomic_store(&a->file, f->number);
	a->file_start = f->start;
	TRY(current_fd(l));
	if (f->size > pos - f->start)
	{
		if ((e = l->os->truncate(l->os, l->fd, pos - f->start)) < 0)
			return fail_io(l, f->number, "cannot truncate", e);
		if ((e = l->os->sync(l->os, l->fd)) < 0)
			return fail_io(l, f->number, "cannot sync", e);
	}
	/* a successor that was being made when the system stopped */
	file_path(l, f->number + 1, path);
	e = l->os->unlink(l->os, path);
	if (e < 0 && e != -ENOENT)
		return fail_io(l, f->number + 1, "cannot remove", e);
	atomic_store(&a->end, pos);
	atomic_store(&a->durable, pos);
	atomic_store_explicit(&a->state, LOG_READY, memory_order_release);
	return WIDE_OK;
}

static wide_status
replay_files(file_log *l, const file_list *list, uint64_t from, bool fresh, wide_replay_fn fn,
			 void *arg)
{
	uint64_t limit = fresh ? UINT64_MAX : atomic_load(&l->shared->end);
	uint64_t pos = 0;
	reader r = {.l = l, .fd = -1, .buf = malloc(READ_BYTES)};
	wide_status st = WIDE_OK;
	int i = list->n - 1;
	int e;

	if (r.buf == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	while (i > 0 && list->file[i].start > from)
		i--;
	if (list->file[i].start > from)
	{
		st = status_fail(WIDE_CORRUPT, "%s: the log begins at %llu but is needed from %llu", l->dir,
						 (unsigned long long) list->file[i].start, (unsigned long long) from);
		goto done;
	}
	for (; i < list->n; i++)
	{
		r.f = &list->file[i];
		r.buf_len = 0;
		TRY_GOTO(file_open(l, r.f->number, O_RDWR, &r.fd));
		/* what a killed process had written may be in the kernel only, and we build on it */
		if (fresh && i == list->n - 1 && (e = l->os->sync(l->os, r.fd)) < 0)
		{
			st = fail_io(l, r.f->number, "cannot sync", e);
			goto done;
		}
		TRY_GOTO(replay_file(&r, from, limit, fresh, fn, arg, &pos));
		if (i + 1 < list->n && pos < limit && pos != list->file[i + 1].start)
		{
			st = status_fail(WIDE_CORRUPT,
							 "%s/log.%08x: damaged at byte %llu, before the next file", l->dir,
							 r.f->number, (unsigned long long) (pos - r.f->start));
			goto done;
		}
		if (fresh && i + 1 == list->n)
			TRY_GOTO(judge_tail(&r, pos));
		l->os->close(l->os, r.fd);
		r.fd = -1;
	}
	if (fresh && pos < from)
		st = status_fail(WIDE_CORRUPT, "%s: the log ends at %llu but is needed from %llu", l->dir,
						 (unsigned long long) pos, (unsigned long long) from);
	else if (fresh)
		st = resume(l, &list->file[list->n - 1], pos);
	else if (pos < limit)
		st = status_fail(WIDE_CORRUPT, "%s: the log is damaged at %llu", l->dir,
						 (unsigned long long) pos);
done:
	if (r.fd >= 0)
		l->os->close(l->os, r.fd);
	free(r.buf);
	return st;
}

static wide_status
log_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	file_log *l = ctx;
	uint32_t state = atomic_load(&l->shared->state);
	file_list list;
	uint64_t id;
	wide_status st;

	TRY(check(l));
	if (state == LOG_CLOSED)
		return status_fail(WIDE_INVALID, "the log was opened on an earlier life of the segment");
	TRY(files_list(l, &list, &id));
	if (list.n == 0 || id != l->shared->id)
		st = status_fail(WIDE_CORRUPT, "%s: the log is gone", l->dir);
	else
		st = replay_files(l, &list, from, state == LOG_FOUND, fn, arg);
	free(list.file);
	return st;
}

/* --------------------------------------------------------------- release */

static void
log_release(void *ctx, uint64_t lsn)
{
	file_log *l = ctx;
	file_list list;
	uint64_t id;
	uint64_t second = atomic_load(&l->shared->second);

	if (check(l) != WIDE_OK || (second != 0 && second > lsn))
		return;
	if (atomic_load(&l->shared->state) == LOG_READY && atomic_load(&l->shared->file) == 1)
		return;
	/* by several at once: the names are gone for the second, or the gap is seen as damage and
	 * the next release does it */
	if (files_list(l, &list, &id) != WIDE_OK)
		return;
	for (int i = 0; i + 1 < list.n; i++)
	{
		char path[PATH_BYTES];

		if (list.file[i + 1].start > lsn)
		{
			atomic_store(&l->shared->second, list.file[i + 1].start);
			break;
		}
		file_path(l, list.file[i].number, path);
		if (l->os->unlink(l->os, path) < 0)
			break;
	}
	free(list.file);
}

/* ------------------------------------------------------------------ open */

static uint64_t
new_id(void)
{
	uint64_t id;
	struct timespec t;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id) || id == 0)
	{
		clock_gettime(CLOCK_REALTIME, &t);
		id = hash_xxh3(&t, sizeof(t), (uint64_t) getpid()) | 1;
	}
	return id;
}

/* The first process on fresh shared memory: what is there?  Under append_lock. */
static wide_status
find_log(file_log *l)
{
	file_log_shared *a = l->shared;
	file_list list;
	uint64_t id;
	int n;
	int e;

	e = l->os->mkdir(l->os, l->dir);
	if (e < 0 && e != -EEXIST)
		return status_fail(WIDE_IO, "%s: cannot make the directory: %s", l->dir, strerror(-e));
	TRY(files_list(l, &list, &id));
	n = list.n;
	free(list.file);
	if (a->file_bytes == 0)
		a->file_bytes = FILE_BYTES;
	if (n > 0)
	{
		a->id = id;
		atomic_store_explicit(&a->state, LOG_FOUND, memory_order_release);
		return WIDE_OK;
	}
	a->id = new_id();
	TRY(file_create(l, 1, 0));
	a->file_start = 0;
	atomic_store(&a->file, 1);
	atomic_store(&a->end, FILE_HEADER);
	atomic_store(&a->durable, FILE_HEADER);
	atomic_store_explicit(&a->state, LOG_READY, memory_order_release);
	return WIDE_OK;
}

wide_status
file_log_open(const char *dir, file_log_shared *shared, const void *segment, struct wide_os *os,
			  wide_log *out)
{
	file_log *l;
	wide_status st;

	memset(out, 0, sizeof(*out));
	if (strlen(dir) >= sizeof(l->dir))
		return status_fail(WIDE_LIMIT, "the directory's name is too long");
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	l->segment = segment;
	l->shared = shared;
	l->os = os != NULL ? os : os_real();
	strcpy(l->dir, dir);
	TRY_GOTO(check(l));
	TRY_GOTO(lock(l, &shared->append_lock));
	if (atomic_load(&shared->state) == LOG_CLOSED)
		st = find_log(l);
	pthread_mutex_unlock(&shared->append_lock);
	if (st != WIDE_OK)
		goto done;
	out->ctx = l;
	out->append = log_append;
	out->sync = log_sync;
	out->end = log_end;
	out->replay = log_replay;
	out->release = log_release;
	return WIDE_OK;
done:
	if (l->fd_number != 0)
		l->os->close(l->os, l->fd);
	free(l);
	return st;
}

void
file_log_close(wide_log *log)
{
	file_log *l = log->ctx;

	if (l == NULL)
		return;
	if (l->fd_number != 0)
		l->os->close(l->os, l->fd);
	free(l);
	memset(log, 0, sizeof(*log));
}
