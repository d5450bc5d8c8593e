/*
 * spill_file.c - sorted runs: what a transaction has written and its memory does not
 * hold, in temporary files.
 *
 * A run is written once, in order of (family, key), and read through cursors.
 * Its file has no name: it is unlinked as soon as it is made, so that whatever
 * ends the process leaves nothing behind.  (The name it has for a moment ends
 * in .tmp, which recovery removes.)  It is never synced; nobody reads it after a
 * crash.
 *
 *     blocks, each
 *        8  xxh3-64 of the rest of the block, seed: its offset
 *        4  length of the entries
 *        4  zero
 *        entries
 *
 *     entry
 *        u8      bits 0..2 type, 3 another family follows, 4 length of the row
 *                follows, 5 TTL follows, 6 the timestamp of the entry before
 *        varint  family                                   (bit 3)
 *        varint  bytes shared with the ukey before; varint further bytes; bytes
 *        varint  length of the row                        (bit 4)
 *        varint  zigzag(ts - the one before)              (not bit 6)
 *        varint  zigzag(seq - the one before)
 *        varint  TTL                                      (bit 5)
 *        varint  length of the value; bytes
 *
 * The first entry of a block counts as following family 0, an empty key and
 * zeros.  Where each block begins, and its first key, is kept in memory; large
 * runs have larger blocks.  So is a filter of the rows, unless they are many.
 *
 * Locking: none; a run belongs to one process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/batch/spill_file.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"
#include "engine/sst/filter.h"
#include "engine/set/file_set.h"

#define RUN_HEAD	   16
#define RUN_BLOCK_MOST (1024 * 1024)
#define BLOCKS		   4096 /* about so many in a large run */
#define WRITE_BYTES	   (1024 * 1024)
#define FILTER_ROWS	   (512 * 1024) /* no filter for more */
#define FILTER_BITS	   10

enum entry_bits
{
	RUN_TYPE = 7,
	RUN_FAMILY = 8,
	RUN_ROW = 16,
	RUN_TTL = 32,
	RUN_SAME_TS = 64
};

/* The first entry of a block. */
typedef struct place
{
	uint64_t off;
	uint64_t key; /* in keys */
	uint32_t klen;
	wide_family_id family;
	int64_t ts;
	uint64_t seq;
} place;

struct spill_file
{
	wide_db *db;
	int fd;
	int refs;
	uint64_t bytes;
	place *places;
	uint32_t nplaces, places_cap;
	buffer keys;
	buffer filter; /* of the rows; empty: none */
};

struct spill_file_writer
{
	spill_file *run;
	uint32_t block; /* bytes of a block */
	buffer out;		/* blocks not written yet; the last may be open */
	size_t open;	/* where in out the open block begins; SIZE_MAX none */
	buffer key;		/* ukey of the entry before */
	uint32_t rowlen;
	wide_family_id family;
	int64_t ts;
	uint64_t seq;
	filter_builder *filter; /* NULL: too many rows */
	uint32_t rows;
};

/* ------------------------------------------------------------------- runs */

static wide_status
run_damaged(const char *what)
{
	return status_fail(WIDE_CORRUPT, "a temporary file of the transaction: %s", what);
}

void
spill_file_unref(spill_file *r)
{
	if (r == NULL || --r->refs > 0)
		return;
	if (r->fd >= 0)
		r->db->os->close(r->db->os, r->fd);
	buffer_free(&r->filter);
	buffer_free(&r->keys);
	free(r->places);
	free(r);
}

static spill_file *
spill_file_ref(spill_file *r)
{
	r->refs++;
	return r;
}

uint64_t
spill_file_bytes(const spill_file *r)
{
	return r->bytes;
}

static wide_status
run_new(wide_db *db, spill_file **out)
{
	spill_file *r = calloc(1, sizeof(*r));
	char path[1100];

	if (r == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	r->db = db;
	r->refs = 1;
	snprintf(path, sizeof path, "%s/%08llx.run.tmp", db->dir,
			 (unsigned long long) file_set_new_number(db));
	r->fd = db->os->open(db->os, path, O_RDWR | O_CREAT | O_TRUNC);
	if (r->fd < 0)
	{
		wide_status st = os_fail(r->fd, "create file", path);

		spill_file_unref(r);
		return st;
	}
	/* if this fails recovery removes it */
	db->os->unlink(db->os, path);
	*out = r;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- writing */

wide_status
spill_file_writer_open(wide_db *db, uint64_t total, spill_file_writer **out)
{
	spill_file_writer *w = calloc(1, sizeof(*w));
	wide_status st;

	if (w == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	st = run_new(db, &w->run);
	if (st != WIDE_OK)
	{
		free(w);
		return st;
	}
	w->block = total / BLOCKS > RUN_BLOCK_MOST ? RUN_BLOCK_MOST : (uint32_t) (total / BLOCKS);
	if (w->block < spill_file_block_bytes)
		w->block = spill_file_block_bytes;
	w->open = SIZE_MAX;
	w->filter = filter_builder_new(FILTER_BITS);
	*out = w;
	return WIDE_OK;
}

static wide_status
write_out(spill_file_writer *w)
{
	spill_file *r = w->run;
	int64_t e;

	if (w->out.len == 0)
		return WIDE_OK;
	e = r->db->os->pwrite(r->db->os, r->fd, w->out.data, w->out.len, r->bytes);
	if (e < 0)
		return os_fail(e, "write", "a temporary file of the transaction");
	r->bytes += w->out.len;
	w->out.len = 0;
	/* after a giant value */
	if (w->out.cap > 8 * WRITE_BYTES)
		buffer_free(&w->out);
	return WIDE_OK;
}

static wide_status
block_end(spill_file_writer *w)
{
	uint8_t *p = w->out.data + w->open;
	size_t len = w->out.len - w->open;

	put_u32le(p + 8, (uint32_t) (len - RUN_HEAD));
	put_u32le(p + 12, 0);
	put_u64le(p, hash_xxh3(p + 8, len - 8, w->run->bytes + w->open));
	w->open = SIZE_MAX;
	return w->out.len >= WRITE_BYTES ? write_out(w) : WIDE_OK;
}

static wide_status
block_begin(spill_file_writer *w, wide_family_id family, const entry *e)
{
	spill_file *r = w->run;
	place *p;

	if (r->nplaces == r->places_cap)
	{
		uint32_t cap = r->places_cap == 0 ? 64 : r->places_cap * 2;

		p = realloc(r->places, cap * sizeof(*p));
		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a transaction");
		r->places = p;
		r->places_cap = cap;
	}
	TRY(buffer_reserve(&w->out, RUN_HEAD));
	p = &r->places[r->nplaces];
	*p = (place) {.off = r->bytes + w->out.len,
				  .key = r->keys.len,
				  .klen = e->klen,
				  .family = family,
				  .ts = e->ts,
				  .seq = e->seq};
	TRY(buffer_append(&r->keys, e->ukey, e->klen));
	r->nplaces++;
	w->open = w->out.len;
	w->out.len += RUN_HEAD;
	w->key.len = 0;
	w->rowlen = 0;
	w->family = 0;
	w->ts = 0;
	w->seq = 0;
	return WIDE_OK;
}

static void
note_row(spill_file_writer *w, const entry *e)
{
	if (w->filter == NULL)
		return;
	if (++w->rows <= FILTER_ROWS &&
		filter_builder_add(w->filter, hash_xxh3(e->ukey, e->rowlen, FILTER_SEED_ROW)) == WIDE_OK)
		return;
	filter_builder_free(w->filter);
	w->filter = NULL;
}

wide_status
spill_file_writer_add(spill_file_writer *w, wide_family_id family, const entry *e)
{
	uint32_t shared;
	uint8_t bits = e->type;
	uint8_t *p;
	bool row;

	if (w->open != SIZE_MAX && w->out.len - w->open >= w->block)
		TRY(block_end(w));
	if (w->open == SIZE_MAX)
		TRY(block_begin(w, family, e));
	shared = bytes_shared(w->key.data, e->ukey,
						  e->klen < w->key.len ? e->klen : (uint32_t) w->key.len);
	row = e->rowlen != w->rowlen || shared < e->rowlen || family != w->family;
	if (row)
		note_row(w, e);
	TRY(buffer_reserve(&w->out, 8 * VARINT_MAX + (e->klen - shared) + (size_t) e->vlen));
	bits |= family != w->family ? RUN_FAMILY : 0;
	bits |= e->rowlen != w->rowlen ? RUN_ROW : 0;
	bits |= e->ttl_us != 0 ? RUN_TTL : 0;
	bits |= e->ts == w->ts ? RUN_SAME_TS : 0;
	p = w->out.data + w->out.len;
	*p++ = bits;
	if (bits & RUN_FAMILY)
		p = varint_put(p, family);
	p = varint_put(p, shared);
	p = varint_put(p, e->klen - shared);
	memcpy(p, e->ukey + shared, e->klen - shared);
	p += e->klen - shared;
	if (bits & RUN_ROW)
		p = varint_put(p, e->rowlen);
	if (!(bits & RUN_SAME_TS))
		p = varint_put(p, zigzag((int64_t) ((uint64_t) e->ts - (uint64_t) w->ts)));
	p = varint_put(p, zigzag((int64_t) (e->seq - w->seq)));
	if (bits & RUN_TTL)
		p = varint_put(p, (uint64_t) e->ttl_us);
	p = varint_put(p, e->vlen);
	if (e->vlen > 0)
		memcpy(p, e->value, e->vlen);
	w->out.len = (size_t) (p + e->vlen - w->out.data);
	w->key.len = shared;
	w->family = family;
	w->rowlen = e->rowlen;
	w->ts = e->ts;
	w->seq = e->seq;
	return buffer_append(&w->key, e->ukey + shared, e->klen - shared);
}

void
spill_file_writer_abandon(spill_file_writer *w)
{
	if (w == NULL)
		return;
	spill_file_unref(w->run);
	filter_builder_free(w->filter);
	buffer_free(&w->out);
	buffer_free(&w->key);
	free(w);
}

wide_status
spill_file_writer_finish(spill_file_writer *w, spill_file **out)
{
	wide_bytes bits = {NULL, 0};
	wide_status st = WIDE_OK;

	if (w->open != SIZE_MAX)
		st = block_end(w);
	if (st == WIDE_OK)
		st = write_out(w);
	if (st == WIDE_OK && w->filter != NULL)
		st = filter_builder_finish(w->filter, &bits);
	if (st == WIDE_OK && bits.len > 0)
		st = buffer_append(&w->run->filter, bits.data, bits.len);
	if (st == WIDE_OK)
		*out = spill_file_ref(w->run);
	spill_file_writer_abandon(w);
	return st;
}

/* ---------------------------------------------------------------- reading */

void
spill_file_cursor_open(spill_file_cursor *c, spill_file *r)
{
	memset(c, 0, sizeof(*c));
	c->run = spill_file_ref(r);
	c->place = UINT32_MAX;
}

void
spill_file_cursor_close(spill_file_cursor *c)
{
	spill_file_unref(c->run);
	buffer_free(&c->block);
	buffer_free(&c->key);
	memset(c, 0, sizeof(*c));
}

/* Have the block under the cursor, before its first entry. */
static wide_status
load_block(spill_file_cursor *c, uint32_t i)
{
	spill_file *r = c->run;
	uint64_t off = r->places[i].off, end = i + 1 < r->nplaces ? r->places[i + 1].off : r->bytes;
	int64_t got;

	c->valid = false;
	c->key.len = 0;
	c->next = RUN_HEAD;
	memset(&c->e, 0, sizeof(c->e));
	c->family = 0;
	if (c->place == i)
		return WIDE_OK;
	c->place = UINT32_MAX;
	c->block.len = 0;
	TRY(buffer_reserve(&c->block, (size_t) (end - off)));
	got = r->db->os->pread(r->db->os, r->fd, c->block.data, (size_t) (end - off), off);
	if (got < 0)
		return os_fail(got, "read", "a temporary file of the transaction");
	if ((uint64_t) got != end - off || get_u32le(c->block.data + 8) != end - off - RUN_HEAD ||
		get_u64le(c->block.data) != hash_xxh3(c->block.data + 8, (size_t) (end - off) - 8, off))
		return run_damaged("a block is damaged");
	c->block.len = (size_t) (end - off);
	c->place = i;
	return WIDE_OK;
}

/* The next entry of the block; not valid at its end. */
static wide_status
step(spill_file_cursor *c)
{
	const uint8_t *p = c->block.data + c->next, *end = c->block.data + c->block.len;
	uint64_t shared, more, v;
	uint8_t bits;
	entry *e = &c->e;

	c->valid = false;
	if (p >= end)
		return WIDE_OK;
	bits = *p++;
	e->type = bits & RUN_TYPE;
	if (bits & RUN_FAMILY)
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return run_damaged("no family");
		c->family = (wide_family_id) v;
	}
	if ((p = varint_get(p, end, &shared)) == NULL || (p = varint_get(p, end, &more)) == NULL ||
		shared > c->key.len || more > (uint64_t) (end - p))
		return run_damaged("no key");
	c->key.len = (size_t) shared;
	TRY(buffer_append(&c->key, p, (size_t) more));
	p += more;
	e->ukey = c->key.data;
	e->klen = (uint32_t) c->key.len;
	if (bits & RUN_ROW)
	{
		if ((p = varint_get(p, end, &v)) == NULL || v > e->klen)
			return run_damaged("no row");
		e->rowlen = (uint32_t) v;
	}
	if (!(bits & RUN_SAME_TS))
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return run_damaged("no timestamp");
		e->ts = (int64_t) ((uint64_t) e->ts + (uint64_t) unzigzag(v));
	}
	if ((p = varint_get(p, end, &v)) == NULL)
		return run_damaged("no number");
	e->seq += (uint64_t) unzigzag(v);
	e->ttl_us = 0;
	if (bits & RUN_TTL)
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return run_damaged("no TTL");
		e->ttl_us = (int64_t) v;
	}
	if ((p = varint_get(p, end, &v)) == NULL || v > (uint64_t) (end - p))
		return run_damaged("no value");
	e->value = p;
	e->vlen = (uint32_t) v;
	c->next = (uint32_t) (p + v - c->block.data);
	c->valid = true;
	return WIDE_OK;
}

wide_status
spill_file_next(spill_file_cursor *c)
{
	TRY(step(c));
	if (c->valid || c->place + 1 >= c->run->nplaces)
		return WIDE_OK;
	TRY(load_block(c, c->place + 1));
	return step(c);
}

wide_status
spill_file_first(spill_file_cursor *c)
{
	TRY(load_block(c, 0));
	return step(c);
}

static inline int
order(wide_family_id af, const entry *a, wide_family_id bf, const entry *b)
{
	return af != bf ? (af < bf ? -1 : 1) : key_compare(a, b);
}

/* The last block that begins before the target; the first one when none does. */
static uint32_t
find_block(const spill_file *r, wide_family_id family, const entry *to)
{
	uint32_t lo = 0, hi = r->nplaces;

	while (lo < hi)
	{
		uint32_t mid = (lo + hi) / 2;
		const place *p = &r->places[mid];
		entry e = {.ukey = r->keys.data + p->key, .klen = p->klen, .ts = p->ts, .seq = p->seq};

		if (order(p->family, &e, family, to) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? lo - 1 : 0;
}

wide_status
spill_file_seek(spill_file_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen,
				int64_t ts, uint64_t seq)
{
	entry to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};

	TRY(load_block(c, find_block(c->run, family, &to)));
	do
		TRY(spill_file_next(c));
	while (c->valid && order(c->family, &c->e, family, &to) < 0);
	return WIDE_OK;
}

wide_status
spill_file_row_before(spill_file_cursor *c, wide_family_id family, const uint8_t *ukey,
					  uint32_t klen, buffer *row)
{
	entry to = {.ukey = ukey, .klen = klen, .ts = INT64_MAX, .seq = UINT64_MAX, .type = UINT8_MAX};
	bool found = false;

	row->len = 0;
	TRY(load_block(c, find_block(c->run, family, &to)));
	TRY(step(c));
	while (c->valid && order(c->family, &c->e, family, &to) < 0)
	{
		if (c->family == family)
		{
			found = true;
			if (row->len != c->e.rowlen || memcmp(row->data, c->e.ukey, row->len) != 0)
			{
				row->len = 0;
				TRY(buffer_append(row, c->e.ukey, c->e.rowlen));
			}
		}
		TRY(step(c));
	}
	c->valid = false;
	return found ? WIDE_OK : WIDE_END;
}

bool
spill_file_may_have_row(const spill_file *r, const uint8_t *row, uint32_t rowlen)
{
	return r->filter.len == 0 || filter_may_contain(r->filter.data, (uint32_t) r->filter.len,
													hash_xxh3(row, rowlen, FILTER_SEED_ROW));
}
