/*
 * payload.c - a batch as bytes: how it is logged, and how it gets into a memtable.
 *
 * Log records (little-endian; the log itself has lengths, checksums and the id of the
 * external transaction):
 *
 *     BATCH    u8 1  u8 format 1  u16 0  u32 0  i64 commit timestamp  payload
 *     DATA     u8 2  u8 format 1  u16 0  u32 chunk number from 0
 *              u64 LSN of chunk 0 (0 in chunk 0 itself)  part of a payload
 *     FINISH   u8 3  u8 format 1  u16 0  u32 number of chunks
 *              u64 LSN of chunk 0  i64 commit timestamp  u64 bytes of payload
 *     FILE     u8 4  u8 format 1  u16 0  u32 0  u64 number of a sorted file
 *              u64 offset  u64 bytes of the whole file  bytes from the offset on
 *              (none, and zeros before: the file will not be linked)
 *
 * A batch is one BATCH record, or DATA records and a FINISH.  Its sequence number is
 * the LSN of the BATCH or FINISH record.  Prepare logs the DATA records of an external
 * transaction; they count if that commits.  FILE records have the sorted files of a
 * large batch and come before the record that links them; see bulk.c.
 *
 * Payload:
 *
 *     varint  length of the catalog changes; bytes (catalog_delta_encode)
 *     varint  number of files; each as in the manifest (file_meta_put)
 *     varint  bytes in the memtable at most
 *     varint  number of cells; 0 when there are files, and then an i64 follows:
 *             the newest timestamp that automatic cells in the files got
 *     cells in key order, each:
 *       u8      bits 0..2 type (enum entry_type), 3 another family follows,
 *               4 TTL follows, 5 automatic timestamp, 6 floor and others follow
 *       varint  family                                 (bit 3)
 *       varint  bytes shared with the ukey before; varint further bytes; bytes
 *       varint  zigzag(timestamp - the explicit one before)  (not bit 5)
 *       varint  TTL in microseconds                    (bit 4)
 *       varint  zigzag(floor); varint n; n times varint zigzag(timestamp of
 *               another put of this batch in the column)      (bit 6)
 *       varint  length of the value; bytes             (puts)
 *
 * Applying decodes the payload, in the commit and in the replay alike.  An automatic
 * cell gets max(commit timestamp, floor + 1), and more as long as that is the
 * timestamp of another put of the batch.  A delete without a timestamp (its timestamp
 * is WIDE_TS_MAX) gets the commit timestamp as its TTL.
 *
 * Invariant: the commit timestamp is none that an automatic cell of the batch avoids
 * (payload_avoid).  So automatic cells get exactly this timestamp, and the next commit
 * a newer one; only a cell with a floor that is not below it gets another.  Floors are
 * not below it only if a timestamp was stated.
 *
 * Locking: none.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/batch/payload.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/file_meta.h"
#include "engine/set/catalog.h"
#include "engine/set/memtable.h"
#include "engine/batch/avoid.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/normalise.h"
#include "engine/batch/op.h"
#include "engine/batch/op_list.h"

#define APPLY_CELLS 128 /* are linked together */

enum cell_bits
{
	CELL_TYPE = 7,
	CELL_FAMILY = 8,
	CELL_TTL = 16,
	CELL_AUTO = 32,
	CELL_FLOOR = 64
};

/* ----------------------------------------------------------------- encode */

wide_status
payload_begin(buffer *b, wide_bytes catalog, const file_meta *files, int nfiles)
{
	b->len = 0;
	TRY(buffer_append_varint(b, catalog.len));
	if (catalog.len > 0)
		TRY(buffer_append(b, catalog.data, catalog.len));
	TRY(buffer_append_varint(b, (uint64_t) nfiles));
	for (int i = 0; i < nfiles; i++)
		TRY(file_meta_put(b, &files[i]));
	return WIDE_OK;
}

/* The cell before, on which the encoding of the next one depends. */
typedef struct cell_state
{
	wide_family_id family;
	int64_t ts;
	const uint8_t *ukey;
	uint32_t klen;
	uint32_t rowlen;	/* bytes of its row; only for decoding, as the next two */
	avoid_times *avoid; /* not NULL: gets the timestamps to avoid, in any order */
	wide_status st;		/* WIDE_NOMEM if decoding failed for lack of memory */
} cell_state;

/* Appends a cell, whose first `shared` bytes of ukey are those of the cell before. */
static wide_status
cell_put(buffer *b, const norm_op *o, cell_state *s, uint32_t shared)
{
	const entry *e = &o->e;
	uint8_t bits = e->type;
	uint8_t *p;

	TRY(buffer_reserve(b, 8 * VARINT_MAX + e->klen + e->vlen + (size_t) o->navoid * VARINT_MAX));
	bits |= o->family != s->family ? CELL_FAMILY : 0;
	bits |= e->ttl_us > 0 && entry_is_put(e) ? CELL_TTL : 0;
	bits |= o->automatic ? CELL_AUTO : 0;
	bits |= o->floor != INT64_MIN || o->navoid > 0 ? CELL_FLOOR : 0;
	p = b->data + b->len;
	*p++ = bits;
	if (bits & CELL_FAMILY)
		p = varint_put(p, o->family);
	p = varint_put(p, shared);
	p = varint_put(p, e->klen - shared);
	memcpy(p, e->ukey + shared, e->klen - shared);
	p += e->klen - shared;
	if (!o->automatic)
	{
		p = varint_put(p, zigzag((int64_t) ((uint64_t) e->ts - (uint64_t) s->ts)));
		s->ts = e->ts;
	}
	if (bits & CELL_TTL)
		p = varint_put(p, (uint64_t) e->ttl_us);
	if (bits & CELL_FLOOR)
	{
		p = varint_put(p, zigzag(o->floor));
		p = varint_put(p, (uint64_t) o->navoid);
		for (int i = 0; i < o->navoid; i++)
			p = varint_put(p, zigzag(o->avoid[i]));
	}
	if (e->type == ENTRY_PUT)
	{
		p = varint_put(p, e->vlen);
		if (e->vlen > 0)
			memcpy(p, e->value, e->vlen);
		p += e->vlen;
	}
	b->len = (size_t) (p - b->data);
	s->family = o->family;
	s->ukey = e->ukey;
	s->klen = e->klen;
	return WIDE_OK;
}

/* Encodes cells behind the beginning of a payload. */
typedef struct encoder
{
	wide_batch *b;
	buffer *out;
	uint64_t max;	  /* bytes of memtable that the cells may need */
	size_t at;		  /* offset of the room for the two numbers before the cells */
	uint32_t longest; /* bytes of the longest ukey */
	cell_state s;
} encoder;

static wide_status
encode_begin(wide_batch *b, buffer *out, uint64_t max, encoder *c)
{
	*c = (encoder) {.b = b, .out = out, .max = max, .at = out->len};
	b->prepared.need = b->prepared.cells = 0;
	b->external.rows = 0;
	b->prepared.automatic = b->prepared.avoids = false;
	TRY(buffer_reserve(out, 2 * VARINT_MAX));
	out->len += 2 * VARINT_MAX;
	return WIDE_OK;
}

/* Adds a cell.  shared: see cell_put.  Returns: WIDE_FULL beyond max, WIDE_INTERRUPTED, WIDE_NOMEM.
 */
static wide_status
encode_cell(encoder *c, const norm_op *o, uint32_t shared)
{
	wide_batch *b = c->b;

	b->prepared.need += memtable_node_bytes(o->e.klen, o->e.vlen);
	if (b->prepared.need > c->max)
		return WIDE_FULL;
	b->prepared.automatic |= o->automatic || entry_is_untimed(&o->e);
	b->prepared.avoids |= o->navoid > 0;
	c->longest = o->e.klen > c->longest ? o->e.klen : c->longest;
	if (b->external.note_rows)
		b->external.rows |= UINT64_C(1) << (hash_xxh3(o->e.ukey, o->e.rowlen, 0) >> 58);
	if (++b->prepared.cells % 1024 == 0 && host_interrupted(b->db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	return cell_put(c->out, o, &c->s, shared);
}

/* Fills in the two numbers and returns st; if it is a failure, removes the cells instead. */
static wide_status
encode_end(encoder *c, wide_status st)
{
	wide_batch *b = c->b;
	buffer *out = c->out;
	uint8_t head[2 * VARINT_MAX];
	size_t n, cells = c->at + 2 * VARINT_MAX;

	/* room for the longest ukey, so that applying allocates nothing */
	b->row.ukey.len = 0;
	b->row.rowlen = 0;
	if (st == WIDE_OK)
		st = buffer_reserve(&b->row.ukey, c->longest);
	if (st != WIDE_OK)
	{
		b->prepared.need = 0;
		out->len = c->at;
		return st;
	}
	n = (size_t) (varint_put(varint_put(head, b->prepared.need), b->prepared.cells) - head);
	memcpy(out->data + c->at, head, n);
	memmove(out->data + c->at + n, out->data + cells, out->len - cells);
	out->len -= cells - c->at - n;
	return WIDE_OK;
}

/*
 * Operations that came in ascending order, each on another column, are normalised
 * already: a delete masks only operations before it, and these are on keys that sort
 * before it.
 */
wide_status
payload_cells_in_order(wide_batch *b, buffer *out, uint64_t max)
{
	op_list *l = b->ops.list;
	encoder c;
	memtable_cursor m;
	wide_status st;

	/* a list that is too large is not encoded in vain */
	if (l == NULL || b->spill.nfiles > 0 || b->ops.undone.n > 0 || l->end - l->start > max)
		return WIDE_END;
	TRY(encode_begin(b, out, max, &c));
	memtable_cursor_open(&m, &l->m);
	st = WIDE_OK;
	for (uint64_t at = l->start; at < l->end && st == WIDE_OK; at = memtable_node_end(&m))
	{
		norm_op o = {.floor = INT64_MIN};
		uint32_t most, shared;

		memtable_cursor_at(&m, memtable_written(at));
		most = m.e.klen < c.s.klen ? m.e.klen : c.s.klen;
		shared = bytes_shared(c.s.ukey, m.e.ukey, most);
		if (c.s.ukey != NULL &&
			(m.family < c.s.family ||
			 (m.family == c.s.family && (shared == most || m.e.ukey[shared] < c.s.ukey[shared]))))
			st = WIDE_END;
		else
		{
			o.family = m.family;
			o.e = m.e;
			o.automatic = op_is_auto(m.e.seq);
			if (o.automatic)
				o.floor = op_floor(&o.e);
			st = encode_cell(&c, &o, shared);
		}
	}
	return encode_end(&c, st);
}

wide_status
payload_cells(wide_batch *b, const op_sorted *sorted, buffer *out, uint64_t max)
{
	encoder c;
	norm *n = NULL;
	norm_op o;
	wide_status st;

	TRY(encode_begin(b, out, max, &c));
	st = normalise_new(b, sorted, INT64_MIN, &n);
	while (st == WIDE_OK && (st = normalise_next(n, &o)) == WIDE_OK)
		st = encode_cell(&c, &o,
						 bytes_shared(c.s.ukey, o.e.ukey,
									  o.e.klen < c.s.klen ? o.e.klen : c.s.klen));
	normalise_free(n);
	return encode_end(&c, st == WIDE_END ? WIDE_OK : st);
}

/* ----------------------------------------------------------------- decode */

static wide_status
damaged(void)
{
	return status_fail(WIDE_CORRUPT, "a log record holds a batch that cannot be read");
}

wide_status
payload_open(wide_bytes bytes, payload *p)
{
	const uint8_t *at = bytes.data, *end = bytes.data + bytes.len;
	uint64_t n;
	file_meta f;

	memset(p, 0, sizeof(*p));
	if ((at = varint_get(at, end, &n)) == NULL || n > (uint64_t) (end - at))
		return damaged();
	p->catalog = (wide_bytes) {at, (size_t) n};
	at += n;
	if ((at = varint_get(at, end, &p->nfiles)) == NULL || p->nfiles > INT32_MAX)
		return damaged();
	p->files.data = at;
	for (uint64_t i = 0; i < p->nfiles; i++)
		if ((at = file_meta_get(at, end, &f)) == NULL)
			return damaged();
	p->files.len = (size_t) (at - p->files.data);
	if ((at = varint_get(at, end, &p->need)) == NULL ||
		(at = varint_get(at, end, &p->cells)) == NULL || p->need > INT64_MAX)
		return damaged();
	p->ops = (wide_bytes) {at, (size_t) (end - at)};
	return WIDE_OK;
}

int64_t
payload_files_ts(const payload *p)
{
	return p->nfiles > 0 && p->cells == 0 && p->ops.len == 8 ? (int64_t) get_u64le(p->ops.data)
															 : INT64_MIN;
}

/*
 * normalise_ts with the floor and the timestamps to avoid in encoded form.  With s->avoid, adds
 * these to it instead.  Returns their end, or NULL if they cannot be read or s->st is a failure.
 */
static const uint8_t *
automatic_ts(const uint8_t *p, const uint8_t *end, cell_state *s, int64_t *ts)
{
	const uint8_t *list;
	uint64_t floor, n, v;
	bool again = true;

	if ((p = varint_get(p, end, &floor)) == NULL || (p = varint_get(p, end, &n)) == NULL)
		return NULL;
	if (unzigzag(floor) >= *ts && unzigzag(floor) < INT64_MAX)
		*ts = unzigzag(floor) + 1;
	for (list = p; again;)
	{
		again = false;
		p = list;
		for (uint64_t i = 0; i < n; i++)
		{
			avoid_times *t = s->avoid;

			if ((p = varint_get(p, end, &v)) == NULL)
				return NULL;
			if (t != NULL)
			{
				if ((s->st = array_grow((void **) &t->ts, t->n, &t->cap, sizeof(int64_t))) !=
					WIDE_OK)
					return NULL;
				t->ts[t->n++] = unzigzag(v);
			}
			else if (unzigzag(v) == *ts && *ts < INT64_MAX)
			{
				++*ts;
				again = true;
			}
		}
	}
	return p;
}

/* Decodes the ukey of a cell.  *key has the ukey before.  Returns the end, or NULL if it cannot be
 * read. */
static const uint8_t *
key_get(const uint8_t *p, const uint8_t *end, cell_state *s, buffer *key, entry *e)
{
	uint64_t shared, more;

	if ((p = varint_get(p, end, &shared)) == NULL || (p = varint_get(p, end, &more)) == NULL ||
		shared > key->len || more > (uint64_t) (end - p) || shared + more > KEY_UKEY_MAX)
		return NULL;
	key->len = (size_t) shared;
	if ((s->st = buffer_append(key, p, (size_t) more)) != WIDE_OK)
		return NULL;
	e->ukey = key->data;
	e->klen = (uint32_t) key->len;
	if (s->rowlen == 0 || shared < s->rowlen)
		s->rowlen = key_row_length(e->ukey, e->klen);
	e->rowlen = s->rowlen;
	return e->rowlen == 0 ? NULL : p + more;
}

/* Decodes a cell.  Returns its end, or NULL if it cannot be read. */
static const uint8_t *
cell_get(const uint8_t *p, const uint8_t *end, cell_state *s, int64_t commit_ts, buffer *key,
		 entry *e)
{
	uint64_t v;
	uint8_t bits;

	if (p >= end)
		return NULL;
	bits = *p++;
	e->type = bits & CELL_TYPE;
	if (e->type > ENTRY_DELETE_FAMILY_VERSION || bits > 127)
		return NULL;
	if (bits & CELL_FAMILY)
	{
		if ((p = varint_get(p, end, &v)) == NULL || v > UINT32_MAX)
			return NULL;
		s->family = (wide_family_id) v;
	}
	if ((p = key_get(p, end, s, key, e)) == NULL)
		return NULL;
	if (bits & CELL_AUTO)
		e->ts = commit_ts;
	else
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return NULL;
		e->ts = s->ts = (int64_t) ((uint64_t) s->ts + (uint64_t) unzigzag(v));
	}
	e->ttl_us = 0;
	if (bits & CELL_TTL)
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return NULL;
		e->ttl_us = (int64_t) v;
	}
	if (entry_is_untimed(e))
		e->ttl_us = commit_ts > 0 ? commit_ts : 0;
	if ((bits & CELL_FLOOR) && (p = automatic_ts(p, end, s, &e->ts)) == NULL)
		return NULL;
	e->value = NULL;
	e->vlen = 0;
	if (e->type == ENTRY_PUT)
	{
		if ((p = varint_get(p, end, &v)) == NULL || v > (uint64_t) (end - p) || v > WIDE_MAX_VALUE)
			return NULL;
		e->value = p;
		e->vlen = (uint32_t) v;
		p += v;
	}
	return p;
}

static int
compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

	return x < y ? -1 : x > y;
}

wide_status
payload_avoid(const payload *p, int64_t from, buffer *key, avoid_times *out)
{
	const uint8_t *c = p->ops.data, *stop = p->ops.data + p->ops.len;
	cell_state s = {.avoid = out};
	int n = 0;

	out->n = 0;
	key->len = 0;
	for (uint64_t i = 0; i < p->cells; i++)
	{
		entry e;

		if ((c = cell_get(c, stop, &s, 0, key, &e)) == NULL)
			return s.st != WIDE_OK ? s.st : damaged();
	}
	if (out->n > 0)
		qsort(out->ts, (size_t) out->n, sizeof(int64_t), compare_times);
	for (int i = 0; i < out->n; i++)
		if (out->ts[i] >= from && (n == 0 || out->ts[n - 1] != out->ts[i]))
			out->ts[n++] = out->ts[i];
	out->n = n;
	return WIDE_OK;
}

wide_status
payload_check(const payload *p, buffer *key)
{
	const uint8_t *c = p->ops.data, *stop = p->ops.data + p->ops.len;
	cell_state s = {0};
	uint64_t need = 0;

	key->len = 0;
	for (uint64_t i = 0; i < p->cells; i++)
	{
		entry e;

		if ((c = cell_get(c, stop, &s, 0, key, &e)) == NULL)
			return s.st != WIDE_OK ? s.st : damaged();
		if (s.family == 0 || !key_valid(e.ukey, e.klen) ||
			entry_is_family_delete(&e) != (e.ukey[e.klen - 1] == 0))
			return damaged();
		need += memtable_node_bytes(e.klen, e.vlen);
	}
	return need == p->need && catalog_check(p->catalog) ? WIDE_OK : damaged();
}

wide_status
payload_apply(const payload *p, memtable_handle *m, uint64_t at, uint64_t seq, int64_t commit_ts,
			  buffer *key, uint64_t *end)
{
	const uint8_t *c = p->ops.data, *stop = p->ops.data + p->ops.len;
	uint64_t limit = at + p->need, written[APPLY_CELLS];
	cell_state s = {0};
	memtable_hint hint;
	int n = 0;

	memset(&hint, 0, sizeof(hint));
	key->len = 0;
	for (uint64_t i = 0; i < p->cells; i++)
	{
		entry e;

		if ((c = cell_get(c, stop, &s, commit_ts, key, &e)) == NULL)
			return s.st != WIDE_OK ? s.st : damaged();
		if (memtable_node_bytes(e.klen, e.vlen) > limit - at)
			return damaged();
		e.seq = seq;
		if (e.ts > commit_ts && !entry_is_untimed(&e))
			memtable_note_ahead(m->t, e.ts);
		memtable_write(m, at, s.family, &e);
		written[n++] = at;
		if (n == APPLY_CELLS)
		{
			memtable_link_all(m, written, n, &hint);
			n = 0;
		}
		at += memtable_node_bytes_at(at, e.klen, e.vlen);
		at = (at + 7) & ~(uint64_t) 7;
	}
	memtable_link_all(m, written, n, &hint);
	*end = at;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- records */

static void
record_head(uint8_t *head, enum record_kind kind, uint32_t number, uint64_t word)
{
	memset(head, 0, 4);
	head[0] = (uint8_t) kind;
	head[1] = RECORD_FORMAT;
	put_u32le(head + 4, number);
	put_u64le(head + 8, word);
}

void
payload_record_batch(uint8_t *head, int64_t commit_ts)
{
	record_head(head, RECORD_BATCH, 0, (uint64_t) commit_ts);
}

void
payload_record_data(uint8_t *head, uint32_t chunk, uint64_t first_lsn)
{
	record_head(head, RECORD_DATA, chunk, first_lsn);
}

void
payload_record_finish(uint8_t *head, uint32_t chunks, uint64_t first_lsn, int64_t commit_ts,
					  uint64_t bytes)
{
	record_head(head, RECORD_FINISH, chunks, first_lsn);
	put_u64le(head + 16, (uint64_t) commit_ts);
	put_u64le(head + 24, bytes);
}

void
payload_record_file(uint8_t *head, uint64_t number, uint64_t offset, uint64_t total)
{
	record_head(head, RECORD_FILE, 0, number);
	put_u64le(head + 16, offset);
	put_u64le(head + 24, total);
}

void
payload_record_prepared(uint8_t *head, const record_prepared_head *h)
{
	record_head(head, RECORD_PREPARED, h->chunks, h->first);
	head[2] = (uint8_t) h->what;
	put_u64le(head + 16, h->bytes);
	put_u64le(head + 24, h->xid);
	put_u32le(head + 32, h->locks_before);
	put_u32le(head + 36, h->locks);
}

void
payload_read_prepared(const uint8_t *head, record_prepared_head *h)
{
	*h = (record_prepared_head) {.what = head[2],
								 .chunks = get_u32le(head + 4),
								 .first = get_u64le(head + 8),
								 .bytes = get_u64le(head + 16),
								 .xid = get_u64le(head + 24),
								 .locks_before = get_u32le(head + 32),
								 .locks = get_u32le(head + 36)};
}
