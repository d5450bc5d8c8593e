/*
 * overlay.c - batches that a snapshot sees although they are not in the store.
 *
 * A host in recovery shows an external transaction from its commit record on.  The batch gets into
 * the store with its FINISH record, which comes later, or never if the program that wrote the log
 * died in between.  Until then it is pending: its payload is in the segment (follow_state), or, if
 * it is large, in the log.  A snapshot that sees the transaction has its cells in a private
 * memtable; scans read that as one source more.  Their sequence numbers are above all of the store,
 * in the order of the commits: they will be finished after all that is there now.  The batch's
 * sorted files are in the directory already.  They get another number here (FILE_ALIAS), because
 * their real sequence number is still to come, and are pinned.
 *
 * Invariants:
 *  - The snapshot's seq and the list of pending batches are read under one lock: what is not in the
 *    list is in the store up to that seq, or not committed.
 *  - The snapshot excludes what is between its own number and those of the overlay
 *    (snapshot_attach).
 *
 * Locking: LOCK_COMMIT to copy the list; the host's callback runs without a lock.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/batch/overlay.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/file_set.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"
#include "engine/set/snapshot.h"
#include "engine/batch/payload.h"

#define HEAD_ROOM 65536 /* for the head of a private memtable */

struct overlay
{
	memtable t;
	memtable_handle m;
	void *memory; /* of m */
	buffer key;	  /* scratch */

	version_pin pin; /* of the files */
	file_meta *files;
	int nfiles, files_cap;
};

/* A copy of the list of pending batches. */
typedef struct pending_copy
{
	uint64_t seq; /* visible_seq at that time */
	follow_pending *list;
	uint8_t *bytes;
	uint32_t n;
	uint64_t room_list, room_bytes;
} pending_copy;

static void
copy_free(pending_copy *c)
{
	free(c->list);
	free(c->bytes);
	*c = (pending_copy) {0};
}

/* Copies the list.  Returns: *fits false: it has become too long for the room. */
static wide_status
try_copy(wide_db *db, pending_copy *c, bool *fits)
{
	follow_state *f = &db->seg->follow;

	TRY(segment_lock(db, LOCK_COMMIT));
	c->seq = atomic_load(&db->seg->commit.visible_seq);
	*fits = f->npending <= c->room_list && f->nbytes <= c->room_bytes;
	c->n = f->npending;
	if (*fits && c->n > 0)
	{
		memcpy(c->list, f->pending, c->n * sizeof *c->list);
		memcpy(c->bytes, f->bytes, f->nbytes);
	}
	if (!*fits)
	{
		c->room_list = f->npending + 16;
		c->room_bytes = f->nbytes + 4096 < FOLLOW_BYTES ? f->nbytes + 4096 : FOLLOW_BYTES;
	}
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

static wide_status
copy_pending(wide_db *db, pending_copy *c)
{
	bool fits;

	for (;;)
	{
		TRY(try_copy(db, c, &fits));
		if (fits)
			return WIDE_OK;
		free(c->list);
		free(c->bytes);
		c->list = malloc(c->room_list * sizeof *c->list);
		c->bytes = malloc(c->room_bytes);
		if (c->list == NULL || c->bytes == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a snapshot");
	}
}

/* --------------------------------------------------- payloads in the log */

typedef struct log_search
{
	const follow_pending *p;
	buffer data;
	uint32_t chunks;
} log_search;

/* Takes the DATA records of the batch. */
static wide_status
take_data(void *arg, const wide_replay_event *ev)
{
	log_search *s = arg;
	const uint8_t *r = ev->payload.data;
	bool first = ev->lsn == s->p->id;

	/* the list has no batch that begins with a forgeable record */
	if (ev->kind != WIDE_REPLAY_RECORD || ev->forgeable || ev->payload.len < RECORD_DATA_HEAD ||
		r[0] != RECORD_DATA || r[1] != RECORD_FORMAT || (!first && get_u64le(r + 8) != s->p->id) ||
		get_u32le(r + 4) != s->chunks)
		return WIDE_OK;
	s->chunks++;
	TRY(buffer_append(&s->data, r + RECORD_DATA_HEAD, ev->payload.len - RECORD_DATA_HEAD));
	return s->data.len >= s->p->len ? WIDE_END : WIDE_OK;
}

static wide_status
read_log(wide_db *db, const follow_pending *p, buffer *out)
{
	log_search s = {.p = p};
	wide_status st = WIDE_OK;

	if (db->log.read != NULL)
		st = db->log.read(db->log.ctx, p->start, p->end, take_data, &s);
	if (st == WIDE_END)
		st = WIDE_OK;
	else if (st == WIDE_OK)
		st = status_fail(WIDE_IO, "the log has only %zu of %llu bytes of a batch at %llX",
						 s.data.len, (unsigned long long) p->len, (unsigned long long) p->start);
	if (st != WIDE_OK)
		buffer_free(&s.data);
	else
		*out = s.data;
	return st;
}

/* ---------------------------------------------------------------- building */

static void
overlay_free(wide_db *db, void *arg)
{
	overlay *o = arg;

	if (o == NULL)
		return;
	pin_drop(db, &o->pin);
	buffer_free(&o->key);
	free(o->files);
	free(o->memory);
	free(o);
}

/* Returns WIDE_BUSY if the batch is not pending any more. */
static wide_status
check_pending(wide_db *db, uint64_t id)
{
	follow_state *f = &db->seg->follow;
	bool found = false;

	TRY(segment_lock(db, LOCK_COMMIT));
	for (uint32_t i = 0; i < f->npending; i++)
		found |= f->pending[i].id == id;
	segment_unlock(db, LOCK_COMMIT);
	return found ? WIDE_OK : status_fail(WIDE_BUSY, "a transaction was finished meanwhile");
}

/* The sequence number of the batch's cells.  A file that is open keeps its number, so it is always
 * the same. */
static uint64_t
seq_of(const follow_pending *p)
{
	return SEQ_PENDING + p->committed;
}

/* Adds the payload's files.  Requires: the pin. */
static wide_status
add_files(wide_db *db, overlay *o, const payload *in, uint64_t id, uint64_t seq)
{
	const uint8_t *at = in->files.data;

	for (uint64_t i = 0; i < in->nfiles; i++)
	{
		file_meta f;
		sst_reader *r;

		at = file_meta_get(at, in->files.data + in->files.len, &f);
		f.container = f.number;
		f.offset = 0;
		f.number |= FILE_ALIAS;
		f.global_seq = f.seq_min = f.seq_max = seq;
		/* it is there as long as the batch is pending; from then on the pin, or the open file,
		 * keeps it.  A file that was not logged is never there: then the read will fail */
		if (sst_reader_get(db, &f, &r) == WIDE_OK)
			sst_reader_put(db, r);
		else
			TRY(check_pending(db, id));
		TRY(array_grow((void **) &o->files, o->nfiles, &o->files_cap, sizeof(file_meta)));
		o->files[o->nfiles++] = f;
	}
	return WIDE_OK;
}

static wide_status
add_payload(wide_db *db, overlay *o, const payload *in, const follow_pending *p)
{
	uint64_t at = atomic_load(&o->t.used), end = at;

	TRY(add_files(db, o, in, p->id, seq_of(p)));
	TRY(payload_apply(in, &o->m, at, seq_of(p), p->commit_ts, &o->key, &end));
	atomic_store(&o->t.used, end);
	return WIDE_OK;
}

/* Opens the payload of a pending batch, which is read from the log into *from_log if need be.
 * Returns WIDE_BUSY if that part of the log is gone because the batch is not pending any more. */
static wide_status
open_payload(wide_db *db, const pending_copy *c, const follow_pending *p, buffer *from_log,
			 payload *out)
{
	wide_status st;

	if (p->at != UINT64_MAX)
		return payload_open((wide_bytes) {c->bytes + p->at, p->len}, out);
	st = read_log(db, p, from_log);
	if (st == WIDE_IO)
		TRY(check_pending(db, p->id));
	TRY(st);
	return payload_open((wide_bytes) {from_log->data, from_log->len}, out);
}

/* Makes the overlay of all batches in the copy.  Payloads that are opened: in[], with their bytes
 * from the log in logs[]. */
static wide_status
build(wide_db *db, const pending_copy *c, payload *in, buffer *logs, overlay *o)
{
	uint64_t need = HEAD_ROOM;
	bool files = false;

	for (uint32_t i = 0; i < c->n; i++)
	{
		TRY(open_payload(db, c, &c->list[i], &logs[i], &in[i]));
		need += in[i].need + 8;
		files |= in[i].nfiles > 0;
	}
	if ((o->memory = malloc(need)) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a snapshot");
	memtable_init(&o->m, &o->t, o->memory, need);
	if (files)
		TRY(pin_take_later(db, &o->pin));
	for (uint32_t i = 0; i < c->n; i++)
		TRY(add_payload(db, o, &in[i], &c->list[i]));
	return WIDE_OK;
}

static wide_status
overlay_new(wide_db *db, const pending_copy *c, overlay **out)
{
	overlay *o = calloc(1, sizeof *o);
	payload *in = calloc(c->n, sizeof *in);
	buffer *logs = calloc(c->n, sizeof *logs);
	wide_status st = status_fail(WIDE_NOMEM, "out of memory for a snapshot");

	if (o != NULL && in != NULL && logs != NULL)
		st = build(db, c, in, logs, o);
	for (uint32_t i = 0; logs != NULL && i < c->n; i++)
		buffer_free(&logs[i]);
	free(in);
	free(logs);
	if (st == WIDE_OK)
		*out = o;
	else
		overlay_free(db, o);
	return st;
}

/* ------------------------------------------------------------------ public */

/* Leaves in the copy the batches whose transactions the host's snapshot sees as committed.  *ts:
 * the newest of their timestamps. */
static void
keep_seen(pending_copy *c, const wide_moment *at, int64_t *ts)
{
	uint32_t n = 0;

	*ts = INT64_MIN;
	for (uint32_t i = 0; i < c->n; i++)
	{
		if (at->running != NULL && at->running(at->ctx, c->list[i].xid))
			continue;
		c->list[n++] = c->list[i];
		*ts = c->list[i].commit_ts > *ts ? c->list[i].commit_ts : *ts;
	}
	c->n = n;
}

wide_status
wide_snapshot_take_replayed(wide_db *db, const wide_moment *at, wide_snapshot **out)
{
	pending_copy c = {0};
	wide_snapshot *s;
	overlay *o = NULL;
	int64_t ts;
	wide_status st;

	*out = NULL;
	TRY(snapshot_new(db, &s));
	TRY_GOTO(copy_pending(db, &c));
	TRY_GOTO(snapshot_number(s, c.seq, at));
	keep_seen(&c, at, &ts);
	if (c.n > 0)
	{
		TRY_GOTO(overlay_new(db, &c, &o));
		st = snapshot_attach(s, o, overlay_free,
							 (seq_range) {seq_of(&c.list[0]), seq_of(&c.list[c.n - 1])}, ts);
		if (st != WIDE_OK)
		{
			overlay_free(db, o);
			goto done;
		}
	}
	*out = s;
done:
	copy_free(&c);
	if (st != WIDE_OK)
		wide_snapshot_release(s);
	return st;
}

const overlay *
overlay_of(const wide_snapshot *s)
{
	return s != NULL ? snapshot_attached(s) : NULL;
}

const memtable_handle *
overlay_cells(const overlay *o)
{
	return &o->m;
}

int
overlay_files(const overlay *o, const file_meta **files)
{
	*files = o->files;
	return o->nfiles;
}
