/*
 * spill_file.c - sorted operations that exceed a transaction's memory, in temporary files.
 *
 * A file is written once, in order of (family, key), and read through cursors.  It is
 * unlinked as soon as it is created, so nothing is left behind whatever ends the
 * process.  (The host removes a file that still has its name after a crash, or recovery
 * does: in the store's directory the name ends in .tmp.)  It is never synced: no process
 * reads it after a crash.
 *
 * Invariant: the host counts a file with at least the bytes that it has, so no file
 * exceeds the host's limit, not even for a moment.
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
 * The first entry of a block counts as following family 0, an empty key and zeros.
 * Memory holds the offset and the first key of each block, so large files have larger
 * blocks, and a filter of the rows unless there are more than FILTER_ROWS.
 *
 * Locking: none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/batch/spill_file.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"
#include "engine/sst/bloom.h"
#include "engine/set/file_set.h"
#include "engine/batch/op.h"

#define SPILL_HEAD		 16
#define SPILL_BLOCK_MOST (1024 * 1024)
#define BLOCKS_MOST		 4096 /* approximate number in a large file */
#define WRITE_BYTES		 (1024 * 1024)
#define FILTER_ROWS		 (512 * 1024) /* rows beyond which there is no filter */

enum entry_bits
{
	SPILL_TYPE = 7,
	SPILL_FAMILY = 8,
	SPILL_ROW = 16,
	SPILL_TTL = 32,
	SPILL_SAME_TS = 64
};

/* The first entry of a block. */
typedef struct place
{
	uint64_t off;
	uint64_t key; /* offset in keys */
	uint32_t klen;
	wide_family_id family;
	int64_t ts;
	uint64_t seq;
} place;

struct spill_file
{
	wide_db *db;
	char *path; /* for messages; it is unlinked */
	int fd;
	int refs;
	uint64_t bytes;
	void *account;	  /* the host's; NULL: the host does not count it */
	uint64_t counted; /* bytes that the host counts */
	place *places;
	int nplaces, places_cap;
	buffer keys;
	buffer filter; /* Bloom filter of the rows; empty: none */
};

struct spill_file_writer
{
	spill_file *file;

	/* output */
	bool reserved;	/* must not ask the host for more; see spill_file_writer_reserve */
	uint32_t block; /* bytes at which a block ends */
	buffer out;		/* blocks that are not written yet; the last may be open */
	size_t open;	/* offset of the open block in out; SIZE_MAX: none */

	/* the entry before */
	buffer key; /* its ukey */
	uint32_t rowlen;
	wide_family_id family;
	int64_t ts;
	uint64_t seq;

	/* filter */
	bloom_builder *filter; /* NULL: too many rows, or no memory */
	uint32_t rows;
};

/* ------------------------------------------------------------------- files */

static wide_status
damaged(const char *what)
{
	return status_fail(WIDE_CORRUPT, "a temporary file of the transaction: %s", what);
}

/* Sets where the file is to be. */
static wide_status
choose_path(spill_file *f)
{
	wide_db *db = f->db;
	const char *why = "";
	char path[1100];
	wide_status st = WIDE_OK;

	if (db->host.temp_open != NULL)
		st = db->host.temp_open(db->host.ctx, path, sizeof(path), &f->account, &why);
	else
		snprintf(path, sizeof(path), "%s/%08llx.run.tmp", db->dir,
				 (unsigned long long) file_set_new_number(db));
	if (st != WIDE_OK)
		return status_fail(st, "%s", why);
	f->path = strdup(path);
	return f->path != NULL ? WIDE_OK : status_fail(WIDE_NOMEM, "out of memory for a transaction");
}

/* Counts the file with so many bytes. */
static wide_status
count(spill_file *f, uint64_t bytes)
{
	const char *why = "";
	wide_status st;

	if (f->account == NULL || bytes == f->counted)
		return WIDE_OK;
	st = f->db->host.temp_resize(f->db->host.ctx, f->account, bytes, &why);
	if (st != WIDE_OK)
		return status_fail(st, "%s", why);
	f->counted = bytes;
	return WIDE_OK;
}

void
spill_file_count(spill_file *f)
{
	/* the host lowers a size without fail; if not, the file counts as more than it is */
	(void) count(f, f->bytes);
}

void
spill_file_unref(spill_file *f)
{
	if (f == NULL || --f->refs > 0)
		return;
	if (f->fd >= 0)
		f->db->os->close(f->db->os, f->fd);
	if (f->account != NULL)
		f->db->host.temp_close(f->db->host.ctx, f->account);
	free(f->path);
	buffer_free(&f->filter);
	buffer_free(&f->keys);
	free(f->places);
	free(f);
}

static spill_file *
spill_file_ref(spill_file *f)
{
	f->refs++;
	return f;
}

uint64_t
spill_file_bytes(const spill_file *f)
{
	return f->bytes;
}

static wide_status
file_new(wide_db *db, spill_file **out)
{
	spill_file *f = calloc(1, sizeof(*f));
	wide_status st;

	if (f == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	f->db = db;
	f->refs = 1;
	f->fd = -1;
	st = choose_path(f);
	if (st == WIDE_OK)
	{
		f->fd = os_create(db->os, f->path);
		if (f->fd < 0)
			st = os_fail(f->fd, "create file", f->path);
	}
	if (st != WIDE_OK)
	{
		spill_file_unref(f);
		return st;
	}
	/* if this fails, the next start removes the file */
	db->os->unlink(db->os, f->path);
	*out = f;
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
	st = file_new(db, &w->file);
	if (st != WIDE_OK)
	{
		free(w);
		return st;
	}
	w->block = total / BLOCKS_MOST > SPILL_BLOCK_MOST ? SPILL_BLOCK_MOST
													  : (uint32_t) (total / BLOCKS_MOST);
	if (w->block < spill_file_block_bytes)
		w->block = spill_file_block_bytes;
	w->open = SIZE_MAX;
	w->filter = bloom_builder_new();
	*out = w;
	return WIDE_OK;
}

wide_status
spill_file_writer_reserve(spill_file_writer *w, uint64_t bytes, bool thread)
{
	TRY(count(w->file, bytes));
	w->reserved = thread && w->file->account != NULL;
	return WIDE_OK;
}

spill_file *
spill_file_writer_file(spill_file_writer *w)
{
	return spill_file_ref(w->file);
}

/* Has the host count the bytes that are going to be written. */
static wide_status
count_output(spill_file_writer *w)
{
	uint64_t bytes = w->file->bytes + w->out.len;

	if (bytes <= w->file->counted || w->file->account == NULL)
		return WIDE_OK;
	if (w->reserved)
		return status_fail(WIDE_BUSY, "more than was reserved");
	return count(w->file, bytes);
}

static wide_status
write_out(spill_file_writer *w)
{
	spill_file *f = w->file;
	int64_t e;

	if (w->out.len == 0)
		return WIDE_OK;
	TRY(count_output(w));
	e = f->db->os->pwrite(f->db->os, f->fd, w->out.data, w->out.len, f->bytes);
	if (e < 0)
		return os_fail(e, "write", f->path);
	f->bytes += w->out.len;
	w->out.len = 0;
	/* give back the memory for a giant value */
	if (w->out.cap > 8 * WRITE_BYTES)
		buffer_free(&w->out);
	return WIDE_OK;
}

static wide_status
block_end(spill_file_writer *w)
{
	uint8_t *p = w->out.data + w->open;
	size_t len = w->out.len - w->open;

	put_u32le(p + 8, (uint32_t) (len - SPILL_HEAD));
	put_u32le(p + 12, 0);
	put_u64le(p, hash_xxh3(p + 8, len - 8, w->file->bytes + w->open));
	w->open = SIZE_MAX;
	return w->out.len >= WRITE_BYTES ? write_out(w) : WIDE_OK;
}

static wide_status
block_begin(spill_file_writer *w, wide_family_id family, const entry *e)
{
	spill_file *f = w->file;
	place *p;

	TRY(array_grow((void **) &f->places, f->nplaces, &f->places_cap, sizeof(*p)));
	TRY(buffer_reserve(&w->out, SPILL_HEAD));
	p = &f->places[f->nplaces];
	*p = (place) {.off = f->bytes + w->out.len,
				  .key = f->keys.len,
				  .klen = e->klen,
				  .family = family,
				  .ts = e->ts,
				  .seq = e->seq};
	TRY(buffer_append(&f->keys, e->ukey, e->klen));
	f->nplaces++;
	w->open = w->out.len;
	w->out.len += SPILL_HEAD;
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
		bloom_builder_add(w->filter, hash_xxh3(e->ukey, e->rowlen, BLOOM_SEED_ROW)) == WIDE_OK)
		return;
	bloom_builder_free(w->filter);
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
	bits |= family != w->family ? SPILL_FAMILY : 0;
	bits |= e->rowlen != w->rowlen ? SPILL_ROW : 0;
	bits |= e->ttl_us != 0 ? SPILL_TTL : 0;
	bits |= e->ts == w->ts ? SPILL_SAME_TS : 0;
	p = w->out.data + w->out.len;
	*p++ = bits;
	if (bits & SPILL_FAMILY)
		p = varint_put(p, family);
	p = varint_put(p, shared);
	p = varint_put(p, e->klen - shared);
	memcpy(p, e->ukey + shared, e->klen - shared);
	p += e->klen - shared;
	if (bits & SPILL_ROW)
		p = varint_put(p, e->rowlen);
	if (!(bits & SPILL_SAME_TS))
		p = varint_put(p, zigzag((int64_t) ((uint64_t) e->ts - (uint64_t) w->ts)));
	p = varint_put(p, zigzag((int64_t) (e->seq - w->seq)));
	if (bits & SPILL_TTL)
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
	spill_file_unref(w->file);
	bloom_builder_free(w->filter);
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
		st = bloom_builder_finish(w->filter, &bits);
	if (st == WIDE_OK && bits.len > 0)
		st = buffer_append(&w->file->filter, bits.data, bits.len);
	if (st == WIDE_OK)
		*out = spill_file_ref(w->file);
	spill_file_writer_abandon(w);
	return st;
}

/* ---------------------------------------------------------------- reading */

void
spill_file_cursor_open(spill_file_cursor *c, spill_file *f)
{
	memset(c, 0, sizeof(*c));
	c->file = spill_file_ref(f);
	c->place = -1;
}

void
spill_file_cursor_close(spill_file_cursor *c)
{
	spill_file_unref(c->file);
	buffer_free(&c->block);
	buffer_free(&c->key);
	memset(c, 0, sizeof(*c));
}

/* Puts the cursor before the first entry of block i. */
static wide_status
load_block(spill_file_cursor *c, int i)
{
	spill_file *f = c->file;
	uint64_t off = f->places[i].off, end = i + 1 < f->nplaces ? f->places[i + 1].off : f->bytes;
	int64_t got;

	c->valid = false;
	c->key.len = 0;
	c->next = SPILL_HEAD;
	memset(&c->e, 0, sizeof(c->e));
	c->family = 0;
	if (c->place == i)
		return WIDE_OK;
	c->place = -1;
	c->block.len = 0;
	TRY(buffer_reserve(&c->block, (size_t) (end - off)));
	got = f->db->os->pread(f->db->os, f->fd, c->block.data, (size_t) (end - off), off);
	if (got < 0)
		return os_fail(got, "read", f->path);
	if ((uint64_t) got != end - off || get_u32le(c->block.data + 8) != end - off - SPILL_HEAD ||
		get_u64le(c->block.data) != hash_xxh3(c->block.data + 8, (size_t) (end - off) - 8, off))
		return damaged("a block is damaged");
	c->block.len = (size_t) (end - off);
	c->place = i;
	return WIDE_OK;
}

/* Goes to the next entry of the block; not valid at its end. */
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
	e->type = bits & SPILL_TYPE;
	if (bits & SPILL_FAMILY)
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return damaged("no family");
		c->family = (wide_family_id) v;
	}
	if ((p = varint_get(p, end, &shared)) == NULL || (p = varint_get(p, end, &more)) == NULL ||
		shared > c->key.len || more > (uint64_t) (end - p))
		return damaged("no key");
	c->key.len = (size_t) shared;
	TRY(buffer_append(&c->key, p, (size_t) more));
	p += more;
	e->ukey = c->key.data;
	e->klen = (uint32_t) c->key.len;
	if (bits & SPILL_ROW)
	{
		if ((p = varint_get(p, end, &v)) == NULL || v > e->klen)
			return damaged("no row");
		e->rowlen = (uint32_t) v;
	}
	if (!(bits & SPILL_SAME_TS))
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return damaged("no timestamp");
		e->ts = (int64_t) ((uint64_t) e->ts + (uint64_t) unzigzag(v));
	}
	if ((p = varint_get(p, end, &v)) == NULL)
		return damaged("no number");
	e->seq += (uint64_t) unzigzag(v);
	e->ttl_us = 0;
	if (bits & SPILL_TTL)
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return damaged("no TTL");
		e->ttl_us = (int64_t) v;
	}
	if ((p = varint_get(p, end, &v)) == NULL || v > (uint64_t) (end - p))
		return damaged("no value");
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
	if (c->valid || c->place + 1 >= c->file->nplaces)
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

/* Returns the last block that begins before the target, or the first block. */
static int
find_block(const spill_file *f, wide_family_id family, const entry *to)
{
	int lo = 0, hi = f->nplaces;

	while (lo < hi)
	{
		int mid = (lo + hi) / 2;
		const place *p = &f->places[mid];
		entry e = {.ukey = f->keys.data + p->key, .klen = p->klen, .ts = p->ts, .seq = p->seq};

		if (op_order(p->family, &e, family, to) < 0)
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

	TRY(load_block(c, find_block(c->file, family, &to)));
	do
		TRY(spill_file_next(c));
	while (c->valid && op_order(c->family, &c->e, family, &to) < 0);
	return WIDE_OK;
}

wide_status
spill_file_row_before(spill_file_cursor *c, wide_family_id family, const uint8_t *ukey,
					  uint32_t klen, buffer *row)
{
	entry to = {.ukey = ukey, .klen = klen, .ts = INT64_MAX, .seq = UINT64_MAX, .type = UINT8_MAX};
	bool found = false;

	row->len = 0;
	TRY(load_block(c, find_block(c->file, family, &to)));
	TRY(step(c));
	while (c->valid && op_order(c->family, &c->e, family, &to) < 0)
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
spill_file_may_have_row(const spill_file *f, const uint8_t *row, uint32_t rowlen)
{
	return f->filter.len == 0 || bloom_may_contain(f->filter.data, (uint32_t) f->filter.len,
												   hash_xxh3(row, rowlen, BLOOM_SEED_ROW));
}
