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
 * When memory runs out, memtables are flushed during the replay.  What is parked keeps the log
 * (parked.c).
 *
 * A log may be followed (follow.c): then other processes read, flush and compact meanwhile.  What
 * is applied here is shown to them later, all that came up to some record at once.  A record whose
 * application fails may be reported again: nothing of it is applied.
 *
 * Locking: as for commits; before the log is followed this process is alone.
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
#include "engine/base/key.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_file.h"
#include "engine/set/file_set.h"
#include "engine/set/catalog.h"
#include "engine/set/marks.h"
#include "engine/set/memtable.h"
#include "engine/batch/avoid.h"
#include "engine/batch/bulk.h"
#include "engine/batch/payload.h"
#include "engine/commit/batch_as_files.h"
#include "engine/commit/commit.h"
#include "engine/commit/logged_file.h"
#include "engine/commit/parked.h"
#include "engine/commit/prepared_replay.h"
#include "engine/commit/reserve.h"

/* Returns true if files of the set are what that batch has become. */
static bool
has_files(wide_db *db, uint64_t seq)
{
	const file_slot *f = layout_files(db);

	for (uint32_t i = 0; i < db->seg->set.used_files; i++)
		if (f[i].in_use && f[i].meta.global_seq == seq)
			return true;
	return false;
}

wide_status
replay_begin(wide_db *db)
{
	const file_slot *f = layout_files(db);

	db->replay = calloc(1, sizeof(*db->replay));
	if (db->replay == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for recovery");
	for (uint32_t i = 0; i < db->seg->set.used_files; i++)
		if (f[i].in_use && f[i].meta.global_seq > db->seg->set.flushed_seq &&
			f[i].meta.global_seq > db->replay->linked)
			db->replay->linked = f[i].meta.global_seq;
	/* so that a batch of which a part is in the memtable cannot fail (apply_cells) */
	return buffer_reserve(&db->replay->key, KEY_UKEY_MAX);
}

void
replay_free(wide_db *db)
{
	if (db->replay == NULL)
		return;
	parked_free_all(db);
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

/* A batch that is applied. */
typedef struct applied
{
	const payload *p;
	uint64_t start; /* where its first record begins */
	uint64_t seq;
	int64_t commit_ts;
	uint64_t xid,
		committed; /* its external transaction, and the end of its commit record; 0 = none */
	bool early;	   /* its catalog changes are applied already */
	file_meta *files;
	int nfiles;
} applied;

/* Records the commit of an external transaction for snapshots that see it as running; under
 * LOCK_COMMIT. */
static void
note_external(commit_state *commit, const applied *a)
{
	external_commit *e = &commit->external[commit->external_head % EXTERNAL_RING];

	if (commit->external_head >= EXTERNAL_RING)
	{
		atomic_store(&commit->external_evicted_seq, e->seq);
		if (e->xid > atomic_load(&commit->external_evicted))
			atomic_store(&commit->external_evicted, e->xid);
	}
	*e = (external_commit) {.seq = a->seq, .xid = a->xid, .decided = a->committed};
	commit->external_head++;
}

/* The catalog has the changes of the batch already. */
static void
note_catalog(wide_db *db, uint64_t seq)
{
	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	if (seq > db->seg->catalog.seq)
		db->seg->catalog.seq = seq;
	segment_unlock(db, LOCK_SET);
}

/*
 * Takes the batch's place in everything shared, but does not show it; under LOCK_COMMIT.
 *
 * The records of the batch may be older than the memtable.  The log is needed from them on until
 * flushed_seq has passed the batch, also where it became files: its FINISH record alone could not
 * be replayed.
 */
static void
take_place(wide_db *db, const applied *a)
{
	commit_state *commit = &db->seg->commit;
	memtable *t = &db->seg->memtables[commit->active];

	if (a->seq > db->seg->set.flushed_seq && a->start < t->start_lsn)
		t->start_lsn = a->start;
	if (a->xid != 0)
		note_external(commit, a);
	commit_catalog_and_files(db, a->early ? (wide_bytes) {NULL, 0} : a->p->catalog, a->files,
							 a->nfiles, a->seq);
	if (a->early)
		note_catalog(db, a->seq);
	if (a->commit_ts > commit->last_ts)
		commit->last_ts = a->commit_ts;
	if (a->seq > commit->logged_seq)
		commit->logged_seq = a->seq;
}

/* Applies a batch without cells in the payload, or whose cells are in files by now. */
static wide_status
apply_rest(wide_db *db, const applied *a)
{
	TRY(segment_lock(db, LOCK_COMMIT));
	take_place(db, a);
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

/*
 * Applies a batch whose cells go into the memtable.  Processes that read and flush may be at work:
 * none of them sees the batch before it is shown, and a flush waits for it.
 * Returns: WIDE_FULL: readers hold all memtables, nothing is applied.
 */
static wide_status
apply_cells(wide_db *db, const applied *a)
{
	commit_state *commit = &db->seg->commit;
	uint64_t at, end, need = a->p->need;
	memtable_handle m;
	wide_status st;

	TRY(reserve_memory(db, need));
	TRY(segment_lock(db, LOCK_COMMIT));
	memtable_at(db, commit->active, &m);
	at = atomic_load(&m.t->used);
	atomic_store(&m.t->used, at + need);
	commit->reserved -= need;
	atomic_fetch_add(&m.t->applying, 1);
	take_place(db, a);
	segment_unlock(db, LOCK_COMMIT);
	memtable_touch(&m, at, need);
	st = payload_apply(a->p, &m, at, a->seq, a->commit_ts, &db->replay->key, &end);
	if (segment_lock(db, LOCK_COMMIT) != WIDE_OK)
		return segment_check(db);
	if (st == WIDE_OK && atomic_load(&m.t->used) == at + need)
		atomic_store(&m.t->used, end);
	atomic_fetch_sub(&m.t->applying, 1);
	segment_unlock(db, LOCK_COMMIT);
	/* a part of it is in the memtable, and must not be shown */
	if (st != WIDE_OK && atomic_load(&db->seg->state) == WIDE_FOLLOWING)
		wide_poison(db, "a batch of the log could not be applied");
	return st;
}

/* A batch larger than the memtables of today becomes files: they were larger when it committed.  So
 * does one for which readers leave no memtable. */
static wide_status
apply_as_files(wide_db *db, const applied *a)
{
	file_meta *files = NULL;
	int n = 0;
	wide_status st = batch_as_files(db, a->p, a->commit_ts, &db->replay->key, &files, &n);

	if (st == WIDE_OK && (st = file_set_reserve_in_replay(db, n)) != WIDE_OK)
		bulk_discard(db, files, n);
	else if (st == WIDE_OK)
	{
		st = apply_rest(db, &(applied) {.p = a->p,
										.start = a->start,
										.seq = a->seq,
										.commit_ts = a->commit_ts,
										.xid = a->xid,
										.committed = a->committed,
										.early = true,
										.files = files,
										.nfiles = n});
		file_set_unreserve(db, n);
	}
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
		parked *r = parked_find(db, true, files[i].number);

		if (r == NULL)
			continue;
		/* the set had it, and has other files by now in its place */
		if (seq <= db->seg->set.flushed_seq)
		{
			logged_file_drop(db, r);
			continue;
		}
		if (r->done != r->total || r->total != files[i].bytes)
			return parked_damaged(
				seq, "it links a file whose bytes are not complete in the log before it");
		files[i].flags |= FILE_UNSYNCED;
	}
	return WIDE_OK;
}

/* The files are linked: whatever moves the beginning of the log also lists them. */
static void
files_linked(wide_db *db, const file_meta *files, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		parked *r = parked_find(db, true, files[i].number);

		if (r != NULL)
			parked_remove(db, r);
	}
}

/* Applies the payload as files that the log has, as cells in the memtable, or as files. */
static wide_status
apply_payload(wide_db *db, applied *a)
{
	wide_status st;

	if (a->p->cells == 0 || a->seq <= db->seg->set.flushed_seq)
		return apply_rest(db, a);
	/* An earlier replay has made files of it (apply_as_files), and an edit has listed them.  Equal
	 * entries come once, but an operand in both could be folded in one of them. */
	if (a->seq <= db->replay->linked && has_files(db, a->seq))
		return apply_rest(db, a);
	if (a->p->need > db->seg->memtables[0].capacity / 2)
		return apply_as_files(db, a);
	st = apply_cells(db, a);
	return st == WIDE_FULL ? apply_as_files(db, a) : st;
}

/*
 * What can find no room is done before the rest, and is repeated after a failure: the changes of
 * the catalog, which writing files needs too, and slots for files.
 */
static wide_status
apply_what_may_fail(wide_db *db, applied *a)
{
	wide_status st;

	if (a->early || a->p->catalog.len == 0)
		return file_set_reserve_in_replay(db, a->nfiles);
	TRY(segment_lock(db, LOCK_COMMIT));
	st = catalog_apply(db, a->p->catalog, a->seq, false);
	segment_unlock(db, LOCK_COMMIT);
	a->early = true;
	return st == WIDE_OK ? file_set_reserve_in_replay(db, a->nfiles) : st;
}

/* Applies a batch; a has all but its payload and files. */
static wide_status
apply(wide_db *db, wide_bytes bytes, applied a)
{
	payload p;
	wide_status st;

	TRY(payload_open(bytes, &p));
	TRY(decode_files(&p, &a.files));
	a.p = &p;
	a.nfiles = (int) p.nfiles;
	st = apply_what_may_fail(db, &a);
	if (st == WIDE_OK)
	{
		st = take_files(db, a.files, p.nfiles, a.seq);
		injection_point("replay-apply");
		if (st == WIDE_OK)
			st = apply_payload(db, &a);
		if (st == WIDE_OK)
			files_linked(db, a.files, p.nfiles);
		file_set_unreserve(db, (int) p.nfiles);
	}
	free(a.files);
	return st;
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
		TRY(parked_begin(db, false, ev->lsn, ev, &p));
	else
	{
		p = parked_find(db, false, first);
		/* the batch begins before the log that is needed: it ended before */
		if (p == NULL)
			return WIDE_OK;
		if (p->nchunks != chunk || p->xid != ev->xid)
			return parked_damaged(ev->lsn, "a part of a batch is missing before it");
	}
	TRY(buffer_append(&p->data, ev->payload.data + RECORD_DATA_HEAD,
					  ev->payload.len - RECORD_DATA_HEAD));
	/* last: after a failure the record may come again */
	p->nchunks++;
	return WIDE_OK;
}

/* A FINISH record. */
static wide_status
finish(wide_db *db, const wide_replay_event *ev)
{
	const uint8_t *r = ev->payload.data;
	uint64_t first = get_u64le(r + 8);
	parked *p = parked_find(db, false, first);
	wide_status st;

	if (p == NULL)
	{
		if (ev->lsn <= db->seg->set.flushed_seq || db->replay->gap)
			return WIDE_OK;
		return parked_damaged(ev->lsn, "it finishes a batch that is not in the log");
	}
	if (p->nchunks != get_u32le(r + 4) || p->data.len != get_u64le(r + 24))
		return parked_damaged(ev->lsn, "it finishes a batch that is not complete in the log");
	if (ev->beyond && p->xid == 0)
	{
		db->replay->left_out = true;
		buffer_free(&p->data);
		return WIDE_OK;
	}
	st = apply(db, (wide_bytes) {p->data.data, p->data.len},
			   (applied) {.start = p->start,
						  .seq = ev->lsn,
						  .commit_ts = (int64_t) get_u64le(r + 16),
						  .xid = p->xid,
						  .committed = p->committed,
						  .early = p->early});
	/* after a failure the record may come again */
	if (st == WIDE_OK)
		parked_remove(db, p);
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
		return apply(db, (wide_bytes) {r + RECORD_BATCH_HEAD, len - RECORD_BATCH_HEAD},
					 (applied) {.start = ev->start,
								.seq = ev->lsn,
								.commit_ts = (int64_t) get_u64le(r + 8)});
	if (kind == RECORD_DATA)
		return add_data(db, ev);
	if (kind == RECORD_FINISH && len == RECORD_FINISH_BYTES)
		return finish(db, ev);
	if (kind == RECORD_FILE && len >= RECORD_FILE_HEAD)
		return logged_file_record(db, ev);
	if (kind == RECORD_PREPARED && !ev->forgeable)
		return prepared_replay_record(db, ev);
	return parked_damaged(ev->lsn, "it is not a record of this store, or of another format");
}

/* -------------------------------------------------------- forgeable records */

static void
ignore(wide_db *db, uint64_t start)
{
	struct replay *r = db->replay;

	if (r->ignored++ == r->reported)
		r->ignored_lsn = start;
}

void
replay_report(wide_db *db)
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
	if (kind != RECORD_FINISH || (p = parked_find(db, false, get_u64le(r + 8))) == NULL)
		return WIDE_OK;
	st = check_batch(db, (wide_bytes) {p->data.data, p->data.len});
	if (st == WIDE_CORRUPT)
		parked_remove(db, p);
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
			logged_file_drop(db, p);
		else if (!p->file && p->committed == 0 && p->prepared != PARKED_PREPARED)
			parked_remove(db, p);
	}
}

/*
 * The log is followed: the host shows the transaction from here on.  So its batch is to be seen
 * (wide_follow_show), and its changes of the catalog are made.
 */
static wide_status
apply_early(wide_db *db, parked *p)
{
	payload in;
	wide_status st = WIDE_OK;

	if (p->forgeable)
		return WIDE_OK;
	TRY(payload_open((wide_bytes) {p->data.data, p->data.len}, &in));
	if (in.catalog.len > 0)
	{
		TRY(segment_lock(db, LOCK_COMMIT));
		st = catalog_apply(db, in.catalog, p->committed, true);
		segment_unlock(db, LOCK_COMMIT);
	}
	p->early = st == WIDE_OK;
	/* the manifest's catalog is later: it has no room for what was dropped since */
	if (st == WIDE_FULL && p->committed <= db->seg->catalog.restored_seq)
		st = WIDE_OK;
	return st;
}

/* An external transaction has ended. */
static wide_status
ended(wide_db *db, const wide_replay_event *ev)
{
	bool follows = atomic_load(&db->seg->state) == WIDE_FOLLOWING;
	wide_status st;

	for (parked *p = db->replay->first, *next; p != NULL; p = next)
	{
		next = p->next;
		if (p->xid == 0 || p->xid != ev->xid || (p->committed != 0 && !p->presumed))
			continue;
		p->presumed = false;
		/* a transaction that has only locked rows leaves nothing when it ends */
		if (ev->kind != WIDE_REPLAY_COMMIT || p->nchunks == 0)
		{
			parked_remove(db, p);
			continue;
		}
		p->committed = ev->lsn;
		p->time = ev->time;
		db->replay->waiting_moved = true;
		if (!follows || (st = apply_early(db, p)) == WIDE_OK)
			continue;
		/* the event comes again */
		p->committed = 0;
		return st;
	}
	if (ev->kind == WIDE_REPLAY_COMMIT && ev->xid != 0)
		TRY(marks_add(db, ev->lsn, ev->xid));
	return WIDE_OK;
}

wide_status
replay_event(void *arg, const wide_replay_event *ev)
{
	wide_db *db = arg;

	if (host_interrupted(db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	/* nobody claims more of the log than what is applied */
	if (ev->start > atomic_load(&db->seg->follow.position))
		atomic_store(&db->seg->follow.position, ev->start);
	if (ev->kind == WIDE_REPLAY_RECORD && ev->forgeable)
		return forgeable_record(db, ev);
	if (ev->kind == WIDE_REPLAY_RECORD || ev->kind == WIDE_REPLAY_SEALED)
		seal(db, ev->start);
	if (ev->kind == WIDE_REPLAY_RECORD)
		return record(db, ev);
	if (ev->kind == WIDE_REPLAY_SEALED)
		return WIDE_OK;
	if (ev->kind == WIDE_REPLAY_PREPARED)
	{
		prepared_replay_decided(db, ev->xid);
		return WIDE_OK;
	}
	if (ev->kind == WIDE_REPLAY_GAP && db->seg->set.older)
		return status_fail(
			WIDE_CORRUPT,
			"a file that the manifest lists is missing, and the log from before it is lost");
	db->replay->gap |= ev->kind == WIDE_REPLAY_GAP;
	if (ev->kind == WIDE_REPLAY_RESTART)
		restarted(db);
	return ended(db, ev);
}

/* ---------------------------------------------------------------------- end */

wide_status
replay_timestamp(wide_db *db, const parked *p, int64_t last, int64_t *commit_ts)
{
	int64_t time = p->time != 0 ? p->time : host_now(db);
	payload in;
	avoid_times avoid = {0};
	wide_status st;

	*commit_ts = time > last ? time : last + 1;
	/* cells in its files may have a timestamp that the crash took back; last_ts must not stay below
	 * it, so that it is not assigned again */
	TRY(payload_open((wide_bytes) {p->data.data, p->data.len}, &in));
	if (payload_files_ts(&in) > *commit_ts)
		*commit_ts = payload_files_ts(&in);
	st = payload_avoid(&in, *commit_ts, &db->replay->key, &avoid);
	*commit_ts = avoid_next(&avoid, *commit_ts);
	free(avoid.ts);
	return st;
}

/* Finishes a committed batch with a new FINISH record. */
static wide_status
finish_now(wide_db *db, parked *p)
{
	uint8_t head[RECORD_FINISH_BYTES];
	wide_bytes part = {head, sizeof(head)};
	int64_t commit_ts;
	uint64_t lsn;
	wide_status st;

	TRY(replay_timestamp(db, p, db->seg->commit.last_ts, &commit_ts));
	payload_record_finish(head, p->nchunks, p->id, commit_ts, p->data.len);
	TRY(segment_lock(db, LOCK_COMMIT));
	st = db->log.append(db->log.ctx, false, &part, 1, &lsn);
	segment_unlock(db, LOCK_COMMIT);
	TRY(st);
	TRY(db->log.sync(db->log.ctx, lsn));
	injection_point("recover-finished");
	return apply(db, (wide_bytes) {p->data.data, p->data.len},
				 (applied) {.start = p->start,
							.seq = lsn,
							.commit_ts = commit_ts,
							.xid = p->xid,
							.committed = p->committed,
							.early = p->early});
}

wide_status
replay_end(wide_db *db)
{
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
		parked_remove(db, oldest);
	}
	TRY(prepared_replay_end(db));
	/* no batch will link them */
	for (parked *p = db->replay->first, *next; p != NULL; p = next)
	{
		next = p->next;
		if (p->file)
			logged_file_drop(db, p);
	}
	replay_report(db);
	return WIDE_OK;
}
