/*
 * replay.c - turns log records into batches again, during recovery.
 *
 * Records arrive in log order.  A BATCH record is applied at once.  DATA chunks are parked under
 * the LSN of their first record until a FINISH record names it.
 *
 * Chunks of an external transaction are dropped when it aborts, or, if nothing says that it
 * committed, at the end of the log or where the program that wrote the log began anew.  A batch
 * that committed but whose FINISH record was not written (the process died between the two) is
 * finished at the end, with a new FINISH record: its commit is then later than all commits in the
 * log, and no reader can have seen it in another order.  Several such batches are finished in the
 * order of their external commits.  Where a reader could have seen another order, the commit has
 * made the FINISH record durable (out_of_order in commit.c).
 *
 * Batches that the manifest's files hold already (seq <= flushed_seq) are not inserted again.
 * Catalog and file changes skip what they know.
 *
 * FILE records, the bytes of a large batch's sorted files, are written to the directory as they
 * come, whatever it holds: a file of that number that the set does not list may never have been
 * synced.  The batch that links the file comes later; without it the file is an orphan.  The bytes
 * of a file that the set lists already are skipped.  File numbers seen in the log are not given out
 * again.  A record without bytes says that the file will never be linked: the file is removed, and
 * the log is not kept for it.
 *
 * The host may recover to a point in time.  It then marks the records of commits after that point
 * (beyond).  Such a batch is not applied, unless it belongs to an external transaction: the host
 * decides about that one by its commit.  What waits for the batch is kept to the end of the replay,
 * so that restart_lsn does not pass its first record: a replay that does not know the target finds
 * the batch whole.
 *
 * Forgeable records (wide_replay_event) may be anybody's.  From the seal on they are ignored.
 * Before it they have to be taken for records of this store, as the release that wrote them did;
 * what cannot be decoded is ignored there too, so that nothing that somebody else has written keeps
 * the store closed.  A batch is decoded as a whole before any of it is applied.  Any other record
 * that makes no sense is damage.
 *
 * Invariant: which forgeable records count depends on the log alone, so every replay, on every
 * server, decides the same.  set.sealed_lsn, which each edit writes to the manifest, says it for
 * replays that begin behind the seal.
 *
 * When memory runs out, memtables are flushed during the replay.  While a batch is parked, or a
 * file waits for its batch, slot->prepare_lsn keeps the log from where it begins, as for a prepared
 * transaction of a living process.
 *
 * Locking: this process is alone; locks are taken because the functions that it shares with commits
 * require them.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/commit/replay.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_file.h"
#include "engine/set/file_set.h"
#include "engine/set/memtable.h"
#include "engine/batch/avoid.h"
#include "engine/batch/bulk.h"
#include "engine/batch/payload.h"
#include "engine/commit/commit.h"
#include "engine/commit/reserve.h"

#define MEM_HEAD_ROOM 65536 /* for the head of a private memtable */

/* What waits for a later record: a batch for its FINISH record, or a sorted file that is written
 * again for the batch that links it. */
typedef struct parked
{
	struct parked *next; /* in log order */
	bool file;
	uint64_t id;	/* LSN of the batch's first record; number of the file */
	uint64_t start; /* where the first record begins */

	/* a batch */
	uint64_t xid;	/* external transaction, 0 = none */
	bool forgeable; /* its first record is */
	uint32_t nchunks;
	uint64_t committed; /* LSN of the external commit, 0 = not known */
	int64_t time;		/* of the external commit, 0 = not known */
	buffer data;		/* the payload so far */

	/* a file */
	uint64_t done, total; /* bytes */
} parked;

struct replay
{
	parked *first; /* in log order */
	bool gap;	   /* the beginning of the log is lost */
	bool left_out; /* a batch was beyond the host's target */
	buffer key;	   /* scratch for payload_apply */

	/* ignored records */
	uint64_t ignored, reported; /* their number; of these, the number that a report has counted */
	uint64_t ignored_lsn;		/* start of the first one that no report has counted */
};

static wide_status
damaged(uint64_t lsn, const char *what)
{
	return status_fail(WIDE_CORRUPT, "log record at %llX: %s", (unsigned long long) lsn, what);
}

/* Keeps the log from the oldest record of a parked batch or an unlinked file on. */
static void
keep_log(wide_db *db)
{
	uint64_t start = 0;

	for (parked *p = db->replay->first; p != NULL; p = p->next)
		if (start == 0 || p->start < start)
			start = p->start;
	atomic_store(&db->slot->prepare_lsn, start);
}

static parked *
find(wide_db *db, bool file, uint64_t id)
{
	parked *p = db->replay->first;

	while (p != NULL && (p->file != file || p->id != id))
		p = p->next;
	return p;
}

/* Begins a batch, or a file, with this record. */
static wide_status
park(wide_db *db, bool file, uint64_t id, const wide_replay_event *ev, parked **out)
{
	parked **link = &db->replay->first;
	parked *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for recovery");
	*p = (parked) {.file = file,
				   .id = id,
				   .start = ev->start,
				   .xid = file ? 0 : ev->xid,
				   .forgeable = ev->forgeable};
	while (*link != NULL)
		link = &(*link)->next;
	*out = *link = p;
	keep_log(db);
	return WIDE_OK;
}

static void
unpark(wide_db *db, parked *gone)
{
	parked **link = &db->replay->first;

	while (*link != gone)
		link = &(*link)->next;
	*link = gone->next;
	buffer_free(&gone->data);
	free(gone);
	keep_log(db);
}

wide_status
replay_begin(wide_db *db)
{
	db->replay = calloc(1, sizeof(*db->replay));
	return db->replay != NULL ? WIDE_OK : status_fail(WIDE_NOMEM, "out of memory for recovery");
}

void
replay_free(wide_db *db)
{
	if (db->replay == NULL)
		return;
	while (db->replay->first != NULL)
		unpark(db, db->replay->first);
	buffer_free(&db->replay->key);
	free(db->replay);
	db->replay = NULL;
}

/* ------------------------------------------------------------------- apply */

static wide_status
decode_files(const payload *p, file_meta **out)
{
	const uint8_t *at = p->files.data;
	file_meta *files;

	*out = NULL;
	if (p->nfiles == 0)
		return WIDE_OK;
	/* payload_open has read them all: their number is no larger than the payload */
	files = malloc(p->nfiles * sizeof(*files));
	if (files == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for recovery");
	for (uint64_t i = 0; i < p->nfiles; i++)
		at = file_meta_get(at, p->files.data + p->files.len, &files[i]);
	*out = files;
	return WIDE_OK;
}

static wide_status
apply_cells(wide_db *db, const payload *p, uint64_t seq, int64_t commit_ts)
{
	commit_state *commit = &db->seg->commit;
	uint64_t at, end;
	memtable_handle m;
	wide_status st;

	TRY(reserve_memory(db, p->need));
	memtable_at(db, commit->active, &m);
	at = atomic_load(&m.t->used);
	atomic_store(&m.t->used, at + p->need);
	commit->reserved -= p->need;
	st = payload_apply(p, &m, at, seq, commit_ts, &db->replay->key, &end);
	if (st == WIDE_OK)
		atomic_store(&m.t->used, end);
	return st;
}

/* The entry at the cursor, which goes on: for bulk_write. */
static wide_status
next_listed(void *arg, wide_family_id *family, entry *e)
{
	memtable_cursor *c = arg;

	if (!memtable_valid(c))
		return WIDE_END;
	*family = c->family;
	*e = c->e;
	e->seq = 0; /* the file's */
	memtable_next(c);
	return WIDE_OK;
}

/* Inserts the cells into a private memtable in the given memory, and writes files from it. */
static wide_status
list_to_files(wide_db *db, const payload *p, uint64_t seq, int64_t commit_ts, void *memory,
			  uint64_t bytes, file_meta **files, int *n)
{
	memtable t = {0};
	memtable_handle m;
	memtable_cursor c;
	uint64_t end;

	memtable_init(&m, &t, memory, bytes);
	TRY(payload_apply(p, &m, atomic_load(&t.used), seq, commit_ts, &db->replay->key, &end));
	memtable_cursor_open(&c, &m);
	memtable_first(&c);
	return bulk_write(db, next_listed, &c, true, NULL, files, n);
}

/* A batch larger than the memtables of today becomes files: they were larger when it committed. */
static wide_status
apply_as_files(wide_db *db, const payload *p, uint64_t seq, int64_t commit_ts)
{
	uint64_t bytes = p->need + MEM_HEAD_ROOM;
	void *memory;
	file_meta *files = NULL;
	int n = 0;
	wide_status st;

	/* so that as much memory is allocated as there are cells for */
	TRY(payload_check(p, &db->replay->key));
	memory = malloc(bytes);
	if (memory == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for recovery");
	st = list_to_files(db, p, seq, commit_ts, memory, bytes, &files, &n);
	free(memory);
	if (st == WIDE_OK)
		commit_catalog_and_files(db, (wide_bytes) {NULL, 0}, files, n, seq);
	free(files);
	return st;
}

/* The files are about to be linked: checks that those written from the log are complete, and marks
 * them as not synced. */
static wide_status
take_files(wide_db *db, file_meta *files, uint64_t n, uint64_t seq)
{
	for (uint64_t i = 0; i < n; i++)
	{
		parked *r = find(db, true, files[i].number);

		if (r == NULL)
			continue;
		if (r->done != r->total || r->total != files[i].bytes)
			return damaged(seq,
						   "it links a file whose bytes are not complete in the log before it");
		files[i].flags |= FILE_UNSYNCED;
		unpark(db, r);
	}
	return WIDE_OK;
}

/* Applies a batch.  start: where its first record begins. */
static wide_status
apply(wide_db *db, wide_bytes bytes, uint64_t start, uint64_t seq, int64_t commit_ts)
{
	commit_state *commit = &db->seg->commit;
	memtable *t;
	payload p;
	file_meta *files;
	wide_status st;

	TRY(payload_open(bytes, &p));
	TRY(decode_files(&p, &files));
	st = take_files(db, files, p.nfiles, seq);
	if (st == WIDE_OK && p.cells > 0 && seq > db->seg->set.flushed_seq)
	{
		if (p.need <= db->seg->memtables[0].capacity / 2)
			st = apply_cells(db, &p, seq, commit_ts);
		else
		{
			/* writing files needs their families in the catalog */
			commit_catalog_and_files(db, p.catalog, NULL, 0, seq);
			p.catalog.len = 0;
			st = apply_as_files(db, &p, seq, commit_ts);
		}
	}
	if (st != WIDE_OK)
	{
		free(files);
		return st;
	}
	/*
	 * The records of the batch may be older than the memtable.  The log is needed from them on
	 * until flushed_seq has passed the batch, also where it became files: its FINISH record alone
	 * could not be replayed.
	 */
	t = &db->seg->memtables[commit->active];
	if (seq > db->seg->set.flushed_seq && start < t->start_lsn)
		t->start_lsn = start;
	commit_catalog_and_files(db, p.catalog, files, (int) p.nfiles, seq);
	free(files);
	if (commit_ts > commit->last_ts)
		commit->last_ts = commit_ts;
	if (seq > commit->logged_seq)
		commit->logged_seq = seq;
	return WIDE_OK;
}

/* ------------------------------------------------------------------- files */

/* Writes the next bytes of a file, which has a temporary name until it is complete. */
static wide_status
restore_write(wide_db *db, parked *r, wide_bytes bytes)
{
	wide_os *os = db->os;
	char path[1100], tmp[1104];
	int64_t e;
	int fd;

	sst_file_path(db, r->id, path, sizeof path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	fd = r->done == 0 ? os_create(os, tmp) : os->open(os, tmp, O_RDWR);
	if (fd < 0)
		return os_fail(fd, "open file", tmp);
	e = os->pwrite(os, fd, bytes.data, bytes.len, r->done);
	/* a newer state of the manifest may list the file, and the next recovery takes that state
	 * because the file is there */
	if (e >= 0 && db->seg->set.older && r->done + bytes.len == r->total)
		e = os->sync(os, fd);
	os->close(os, fd);
	if (e < 0)
		return os_fail(e, "write file", tmp);
	r->done += bytes.len;
	if (r->done == r->total && (e = os->rename(os, tmp, path)) < 0)
		return os_fail(e, "rename file", tmp);
	injection_point("recover-file");
	return WIDE_OK;
}

/* Removes a file that no batch will link. */
static void
drop_file(wide_db *db, parked *r)
{
	char path[1100], tmp[1104];

	sst_file_path(db, r->id, path, sizeof path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	/* what cannot be removed now is removed with the orphans */
	db->os->unlink(db->os, r->done == r->total ? path : tmp);
	unpark(db, r);
}

/* A FILE record. */
static wide_status
restore(wide_db *db, const wide_replay_event *ev)
{
	uint64_t number = get_u64le(ev->payload.data + 8), off = get_u64le(ev->payload.data + 16),
			 total = get_u64le(ev->payload.data + 24);
	wide_bytes bytes = {ev->payload.data + RECORD_FILE_HEAD, ev->payload.len - RECORD_FILE_HEAD};
	parked *r = find(db, true, number);

	if (bytes.len == 0 && off == 0 && total == 0)
	{
		if (r != NULL)
			drop_file(db, r);
		return WIDE_OK;
	}
	if (number == 0 || number >= FILE_REPLAYED || off > total || bytes.len > total - off ||
		bytes.len == 0)
		return damaged(ev->lsn, "its range of a file is not valid");
	if (file_set_has_file(db, number))
		return WIDE_OK;
	if (off == 0)
	{
		/* a file of that number that was begun before a restart is written anew */
		if (r != NULL)
			unpark(db, r);
		TRY(park(db, true, number, ev, &r));
		r->total = total;
		if (number >= atomic_load(&db->seg->set.next_file))
			atomic_store(&db->seg->set.next_file, number + 1);
	}
	/* the file begins before the log that is needed: its batch ended before */
	if (r == NULL)
		return WIDE_OK;
	if (r->done != off || r->total != total)
		return damaged(ev->lsn, "a part of a file is missing before it");
	return restore_write(db, r, bytes);
}

/* ------------------------------------------------------------------ records */

/* A DATA record. */
static wide_status
add_data(wide_db *db, const wide_replay_event *ev)
{
	uint32_t chunk = get_u32le(ev->payload.data + 4);
	uint64_t first = get_u64le(ev->payload.data + 8);
	parked *p;

	if (chunk == 0)
		TRY(park(db, false, ev->lsn, ev, &p));
	else
	{
		p = find(db, false, first);
		/* the batch begins before the log that is needed: it ended before */
		if (p == NULL)
			return WIDE_OK;
		if (p->nchunks != chunk || p->xid != ev->xid)
			return damaged(ev->lsn, "a part of a batch is missing before it");
	}
	p->nchunks++;
	return buffer_append(&p->data, ev->payload.data + RECORD_DATA_HEAD,
						 ev->payload.len - RECORD_DATA_HEAD);
}

/* A FINISH record. */
static wide_status
finish(wide_db *db, const wide_replay_event *ev)
{
	const uint8_t *r = ev->payload.data;
	uint64_t first = get_u64le(r + 8);
	parked *p = find(db, false, first);
	wide_status st;

	if (p == NULL)
	{
		if (ev->lsn <= db->seg->set.flushed_seq || db->replay->gap)
			return WIDE_OK;
		return damaged(ev->lsn, "it finishes a batch that is not in the log");
	}
	if (p->nchunks != get_u32le(r + 4) || p->data.len != get_u64le(r + 24))
		return damaged(ev->lsn, "it finishes a batch that is not complete in the log");
	if (ev->beyond && p->xid == 0)
	{
		db->replay->left_out = true;
		buffer_free(&p->data);
		return WIDE_OK;
	}
	st = apply(db, (wide_bytes) {p->data.data, p->data.len}, p->start, ev->lsn,
			   (int64_t) get_u64le(r + 16));
	unpark(db, p);
	return st;
}

/* Returns the kind of a record; 0 if it has none that is known. */
static enum record_kind
kind_of(const wide_replay_event *ev)
{
	const uint8_t *r = ev->payload.data;

	return ev->payload.len >= RECORD_BATCH_HEAD && r[1] == RECORD_FORMAT ? r[0] : 0;
}

static wide_status
record(wide_db *db, const wide_replay_event *ev)
{
	const uint8_t *r = ev->payload.data;
	size_t len = ev->payload.len;
	enum record_kind kind = kind_of(ev);

	if (kind == RECORD_BATCH && ev->beyond)
	{
		db->replay->left_out = true;
		return WIDE_OK;
	}
	if (kind == RECORD_BATCH)
		return apply(db, (wide_bytes) {r + RECORD_BATCH_HEAD, len - RECORD_BATCH_HEAD}, ev->start,
					 ev->lsn, (int64_t) get_u64le(r + 8));
	if (kind == RECORD_DATA)
		return add_data(db, ev);
	if (kind == RECORD_FINISH && len == RECORD_FINISH_BYTES)
		return finish(db, ev);
	if (kind == RECORD_FILE && len >= RECORD_FILE_HEAD)
		return restore(db, ev);
	return damaged(ev->lsn, "it is not a record of this store, or of another format");
}

/* -------------------------------------------------------- forgeable records */

static void
ignore(wide_db *db, uint64_t start)
{
	struct replay *r = db->replay;

	if (r->ignored++ == r->reported)
		r->ignored_lsn = start;
}

/* Reports the records that were ignored since the last report. */
static void
report_ignored(wide_db *db)
{
	struct replay *r = db->replay;
	char text[200];

	if (r->ignored == r->reported)
		return;
	snprintf(text, sizeof text,
			 "ignored %llu log records that were not written by the store, the first at %X/%X",
			 (unsigned long long) (r->ignored - r->reported), (unsigned) (r->ignored_lsn >> 32),
			 (unsigned) r->ignored_lsn);
	r->reported = r->ignored;
	if (db->host.report != NULL)
		db->host.report(db->host.ctx, 1, text);
}

/* The log is sealed at `start`, unless it was before. */
static void
seal(wide_db *db, uint64_t start)
{
	if (db->seg->set.sealed_lsn == 0)
		db->seg->set.sealed_lsn = start;
}

bool
wide_replay_sealed(const wide_db *db)
{
	return db->seg->set.sealed_lsn != 0;
}

/* Checks that a batch can be decoded as a whole. */
static wide_status
check_batch(wide_db *db, wide_bytes bytes)
{
	payload p;

	TRY(payload_open(bytes, &p));
	return payload_check(&p, &db->replay->key);
}

/* Checks the batch that the record has, or ends.  If that cannot be decoded it is forgotten. */
static wide_status
check_forgeable(wide_db *db, const wide_replay_event *ev)
{
	const uint8_t *r = ev->payload.data;
	enum record_kind kind = kind_of(ev);
	parked *p;
	wide_status st;

	if (kind == RECORD_BATCH)
		return check_batch(db, (wide_bytes) {r + RECORD_BATCH_HEAD,
											 ev->payload.len - RECORD_BATCH_HEAD});
	if (kind != RECORD_FINISH || (p = find(db, false, get_u64le(r + 8))) == NULL)
		return WIDE_OK;
	st = check_batch(db, (wide_bytes) {p->data.data, p->data.len});
	if (st == WIDE_CORRUPT)
		unpark(db, p);
	return st;
}

static wide_status
forgeable_record(wide_db *db, const wide_replay_event *ev)
{
	uint64_t sealed = db->seg->set.sealed_lsn;
	wide_status st = WIDE_CORRUPT;

	if (sealed == 0 || ev->start < sealed)
	{
		st = check_forgeable(db, ev);
		if (st == WIDE_OK)
			st = record(db, ev);
	}
	if (st != WIDE_CORRUPT)
		return st;
	ignore(db, ev->start);
	return WIDE_OK;
}

/* -------------------------------------------------------------------- events */

/* The program that wrote what waits here has ended: drops it.  A batch that committed is kept: it
 * will still be finished, and link its files.  After a batch was left out all is kept. */
static void
restarted(wide_db *db)
{
	bool committed = false;

	if (db->replay->left_out)
		return;
	for (parked *p = db->replay->first; p != NULL; p = p->next)
		committed |= p->committed != 0;
	for (parked *p = db->replay->first, *next; p != NULL; p = next)
	{
		next = p->next;
		if (p->file && !committed)
			drop_file(db, p);
		else if (!p->file && p->committed == 0)
			unpark(db, p);
	}
}

wide_status
replay_event(void *arg, const wide_replay_event *ev)
{
	wide_db *db = arg;

	if (host_interrupted(db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	if (ev->kind == WIDE_REPLAY_RECORD && ev->forgeable)
		return forgeable_record(db, ev);
	if (ev->kind == WIDE_REPLAY_RECORD || ev->kind == WIDE_REPLAY_SEALED)
		seal(db, ev->start);
	if (ev->kind == WIDE_REPLAY_RECORD)
		return record(db, ev);
	if (ev->kind == WIDE_REPLAY_SEALED)
		return WIDE_OK;
	if (ev->kind == WIDE_REPLAY_GAP && db->seg->set.older)
		return status_fail(
			WIDE_CORRUPT,
			"a file that the manifest lists is missing, and the log from before it is lost");
	db->replay->gap |= ev->kind == WIDE_REPLAY_GAP;
	if (ev->kind == WIDE_REPLAY_RESTART)
		restarted(db);
	for (parked *p = db->replay->first, *next; p != NULL; p = next)
	{
		next = p->next;
		if (p->xid == 0 || p->xid != ev->xid || p->committed != 0)
			continue;
		if (ev->kind == WIDE_REPLAY_COMMIT)
		{
			p->committed = ev->lsn;
			p->time = ev->time;
		}
		else
			unpark(db, p);
	}
	return WIDE_OK;
}

wide_status
wide_replay_work(wide_db *db, bool flush)
{
	commit_state *commit = &db->seg->commit;

	TRY(segment_check(db));
	if (db->replay == NULL)
		return status_fail(WIDE_INVALID, "no log is being replayed");
	/* once, so that a flood of them does not fill the host's log; replay_end reports the rest */
	if (db->replay->reported == 0)
		report_ignored(db);
	/* there are no readers: versions that later ones have replaced may go */
	atomic_store(&commit->applied_seq, commit->logged_seq);
	atomic_store(&commit->visible_seq, commit->logged_seq);
	return flush ? wide_flush(db) : wide_work(db);
}

/* ---------------------------------------------------------------------- end */

/* Finishes a committed batch with a new FINISH record. */
static wide_status
finish_now(wide_db *db, parked *p)
{
	commit_state *commit = &db->seg->commit;
	/* no later than the timestamp that the crash took back, if possible: a row that was seen as of
	 * some time is then seen as of that time afterwards */
	int64_t time = p->time != 0 ? p->time : host_now(db);
	int64_t commit_ts = time > commit->last_ts ? time : commit->last_ts + 1;
	uint8_t head[RECORD_FINISH_BYTES];
	wide_bytes part = {head, sizeof(head)};
	payload in;
	avoid_times avoid = {0};
	uint64_t lsn;
	wide_status st;

	/* cells in its files may have a timestamp that the crash took back; last_ts must not stay below
	 * it, so that it is not assigned again */
	TRY(payload_open((wide_bytes) {p->data.data, p->data.len}, &in));
	if (payload_files_ts(&in) > commit_ts)
		commit_ts = payload_files_ts(&in);
	st = payload_avoid(&in, commit_ts, &db->replay->key, &avoid);
	commit_ts = avoid_next(&avoid, commit_ts);
	free(avoid.ts);
	TRY(st);
	payload_record_finish(head, p->nchunks, p->id, commit_ts, p->data.len);
	TRY(segment_lock(db, LOCK_COMMIT));
	st = db->log.append(db->log.ctx, false, &part, 1, &lsn);
	segment_unlock(db, LOCK_COMMIT);
	TRY(st);
	TRY(db->log.sync(db->log.ctx, lsn));
	injection_point("recover-finished");
	return apply(db, (wide_bytes) {p->data.data, p->data.len}, p->start, lsn, commit_ts);
}

wide_status
replay_end(wide_db *db)
{
	commit_state *commit = &db->seg->commit;
	wide_status st;

	for (;;)
	{
		parked *oldest = NULL;

		for (parked *p = db->replay->first; p != NULL; p = p->next)
			if (p->committed != 0 && (oldest == NULL || p->committed < oldest->committed))
				oldest = p;
		if (oldest == NULL)
			break;
		if (oldest->forgeable &&
			(st = check_batch(db, (wide_bytes) {oldest->data.data, oldest->data.len})) != WIDE_OK)
		{
			if (st != WIDE_CORRUPT)
				return st;
			ignore(db, oldest->start);
		}
		else
			TRY(finish_now(db, oldest));
		unpark(db, oldest);
	}
	report_ignored(db);
	atomic_store(&commit->applied_seq, commit->logged_seq);
	atomic_store(&commit->visible_seq, commit->logged_seq);
	return WIDE_OK;
}
