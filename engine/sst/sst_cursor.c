/*
 * sst_cursor.c - moving through the entries of a sorted file.
 *
 * Invariants: while the cursor is valid its index cursor stands on the entry of
 * the data block under it, and the index block of the current partition and
 * the data block are pinned.  After an error the cursor is not valid and may
 * be positioned again or closed.
 *
 * In a file with one sequence number for all (prop.global) the stored ones are
 * 0; the cursor puts the file's into the entry after every move.  A search is
 * translated so that the order is the one that readers see, see seek_global.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/sst/sst_cursor.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/block.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"

static inline void
leave_block(sst_cursor *c)
{
	if (c->block_ref.data == NULL)
		return;
	if (c->leave != NULL)
		c->leave(c->leave_arg, &c->block_ref);
	else
		cache_unpin(c->db, &c->block_ref);
	memset(&c->block_ref, 0, sizeof(c->block_ref));
	c->block.valid = false;
}

static void
leave_index(sst_cursor *c)
{
	if (c->index_ref.data == NULL)
		return;
	cache_unpin(c->db, &c->index_ref);
	memset(&c->index_ref, 0, sizeof(c->index_ref));
	c->index.valid = false;
}

wide_status
sst_cursor_open(wide_db *db, sst_reader *r, int flags, sst_cursor *c)
{
	memset(c, 0, sizeof(*c));
	c->db = db;
	c->flags = flags;
	if (flags & SST_NO_CACHE)
	{
		c->ahead = calloc(1, sizeof(*c->ahead));
		if (c->ahead == NULL)
			return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", sizeof(*c->ahead));
	}
	c->r = r;
	r->pins++;
	return WIDE_OK;
}

/* Harmless on a zeroed cursor and on one that could not be opened. */
void
sst_cursor_close(sst_cursor *c)
{
	c->valid = false;
	leave_block(c);
	leave_index(c);
	block_close(&c->index);
	block_close(&c->block);
	if (c->ahead != NULL)
	{
		free(c->ahead->data);
		free(c->ahead);
		c->ahead = NULL;
	}
	if (c->r != NULL)
		sst_reader_put(c->db, c->r);
	c->r = NULL;
}

/* A block cursor's failure gets the place where it happened into its text. */
static __attribute__((noinline)) wide_status
place(const sst_cursor *c, uint64_t off, wide_status st)
{
	return st == WIDE_CORRUPT ? sst_reader_corrupt(c->r->number, off, wide_error_text()) : st;
}

static inline wide_status
in_index(const sst_cursor *c, wide_status st)
{
	return st == WIDE_OK ? WIDE_OK : place(c, c->r->parts[c->partition].index.off, st);
}

static inline wide_status
in_block(const sst_cursor *c, wide_status st)
{
	return st == WIDE_OK ? WIDE_OK : place(c, c->block_off, st);
}

/* Have the index block of a partition under the index cursor, which then stands nowhere. */
static wide_status
load_partition(sst_cursor *c, uint32_t part)
{
	bool cached;

	if (c->index_ref.data != NULL && c->partition == part)
		return WIDE_OK;
	leave_index(c);
	/* not through the read-ahead: the index lies behind the data blocks, which come next */
	TRY(sst_reader_block(c->r, c->r->parts[part].index, c->flags, true, NULL, &c->index_ref,
						 &cached));
	c->partition = part;
	return in_index(c, block_open(&c->index, c->index_ref.data, c->index_ref.len));
}

/* Have the data block of the index cursor's entry under the block cursor, which then stands
 * nowhere. */
static wide_status
load_block(sst_cursor *c)
{
	sst_handle h;
	bool cached;

	if (!c->index.valid)
		return sst_reader_corrupt(c->r->number, c->r->parts[c->partition].index.off,
								  "an index block is empty or too short");
	TRY(sst_reader_handle(c->r, &c->index.e, &h));
	if (c->block_ref.data != NULL && c->block_off == h.off)
		return WIDE_OK;
	leave_block(c);
	TRY(sst_reader_block(c->r, h, c->flags, c->r->prop.in_memory, c->ahead, &c->block_ref,
						 &cached));
	c->block_off = h.off;
	if (cached)
		c->blocks_cached++;
	else
		c->blocks_read++;
	return in_block(c, block_open(&c->block, c->block_ref.data, c->block_ref.len));
}

/* The block cursor has been positioned and has to stand on an entry. */
static inline wide_status
arrived(sst_cursor *c)
{
	if (!c->block.valid)
		return sst_reader_corrupt(c->r->number, c->block_off,
								  "a data block ends before its index entry says");
	if (c->r->global_seq != 0)
		c->block.e.seq = c->r->global_seq;
	c->valid = true;
	return WIDE_OK;
}

static inline int
compare_entry(const entry *e, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	int c = ukey_compare(e->ukey, e->klen, ukey, klen);

	if (c != 0)
		return c;
	if (e->ts != ts)
		return e->ts > ts ? -1 : 1;
	return e->seq > seq ? -1 : e->seq < seq;
}

/* Search with the sequence numbers that are stored. */
static wide_status
seek_stored(sst_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	uint32_t part;
	bool here = false;

	/*
	 * A target ahead of the current entry in the same block needs no index.  At
	 * the current one is not enough: the block before may end with an entry that
	 * differs in its type only.
	 */
	if (c->valid && compare_entry(&c->index.e, ukey, klen, ts, seq) >= 0)
	{
		entry e = c->block.e;

		if (c->r->prop.global)
			e.seq = 0;
		here = compare_entry(&e, ukey, klen, ts, seq) < 0;
	}
	c->valid = false;
	if (!here)
	{
		part = sst_reader_find_partition(c->r, ukey, klen, ts, seq);
		if (part == c->r->nparts)
		{
			leave_block(c);
			return WIDE_OK;
		}
		TRY(load_partition(c, part));
		TRY(in_index(c, block_seek(&c->index, ukey, klen, ts, seq)));
		TRY(load_block(c));
	}
	TRY(in_block(c, block_seek(&c->block, ukey, klen, ts, seq)));
	return arrived(c);
}

/*
 * All entries have the sequence number g, stored as 0.  Those with the
 * target's ukey and ts are at or after the target exactly when g <= seq: then
 * go to the first of them, else to what follows them.
 */
static wide_status
seek_global(sst_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	if (c->r->global_seq <= seq)
		return seek_stored(c, ukey, klen, ts, SEQ_MAX);
	if (ts > INT64_MIN)
		return seek_stored(c, ukey, klen, ts - 1, SEQ_MAX);
	TRY(seek_stored(c, ukey, klen, ts, 0));
	while (c->valid && c->block.e.ts == ts &&
		   ukey_compare(c->block.e.ukey, c->block.e.klen, ukey, klen) == 0)
		TRY(sst_cursor_next(c));
	return WIDE_OK;
}

wide_status
sst_cursor_seek(sst_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	c->seeks++;
	if (c->r->prop.global)
		return seek_global(c, ukey, klen, ts, seq);
	return seek_stored(c, ukey, klen, ts, seq);
}

wide_status
sst_cursor_seek_before(sst_cursor *c, const uint8_t *ukey, uint32_t klen)
{
	uint32_t part = sst_reader_find_partition(c->r, ukey, klen, INT64_MAX, SEQ_MAX);

	c->seeks++;
	c->valid = false;
	if (part < c->r->nparts)
	{
		TRY(load_partition(c, part));
		TRY(in_index(c, block_seek(&c->index, ukey, klen, INT64_MAX, SEQ_MAX)));
		TRY(load_block(c));
		TRY(in_block(c, block_seek_before(&c->block, ukey, klen)));
		if (c->block.valid)
			return arrived(c);
		/* the block begins at or after the target: the one before ends in front of it */
		TRY(in_index(c, block_seek_before(&c->index, ukey, klen)));
	}
	if (part == c->r->nparts || !c->index.valid)
	{
		if (part == 0)
		{
			leave_block(c);
			return WIDE_OK;
		}
		TRY(load_partition(c, part - 1));
		TRY(in_index(c, block_last(&c->index)));
	}
	TRY(load_block(c));
	TRY(in_block(c, block_last(&c->block)));
	return arrived(c);
}

wide_status
sst_cursor_first(sst_cursor *c)
{
	c->valid = false;
	if (c->r->nparts == 0)
		return WIDE_OK;
	TRY(load_partition(c, 0));
	TRY(in_index(c, block_first(&c->index)));
	TRY(load_block(c));
	TRY(in_block(c, block_first(&c->block)));
	return arrived(c);
}

/* Behind the last entry of a block. */
static __attribute__((noinline)) wide_status
next_block(sst_cursor *c)
{
	c->valid = false;
	TRY(in_index(c, block_next(&c->index)));
	if (!c->index.valid)
	{
		if (c->partition + 1 >= c->r->nparts)
		{
			leave_block(c);
			return WIDE_OK;
		}
		TRY(load_partition(c, c->partition + 1));
		TRY(in_index(c, block_first(&c->index)));
	}
	TRY(load_block(c));
	TRY(in_block(c, block_first(&c->block)));
	return arrived(c);
}

wide_status
sst_cursor_row(sst_cursor *c, uint32_t row)
{
	wide_status st;

	if (!c->valid)
		return WIDE_OK;
	st = block_seek_row(&c->block, row);
	if (st != WIDE_OK)
	{
		c->valid = false;
		return in_block(c, st);
	}
	if (!c->block.valid)
		return next_block(c);
	if (c->r->global_seq != 0)
		c->block.e.seq = c->r->global_seq;
	return WIDE_OK;
}

uint64_t
sst_cursor_seq(const sst_cursor *c)
{
	return c->r->global_seq;
}

bool
sst_cursor_last_block(const sst_cursor *c)
{
	return c->partition + 1 == c->r->nparts && c->index.row + 1 == c->index.rows;
}

wide_status
sst_cursor_next(sst_cursor *c)
{
	wide_status st;

	if (!c->valid)
		return WIDE_OK;
	st = block_next(&c->block);
	if (st == WIDE_OK && c->block.valid)
	{
		if (c->r->global_seq != 0)
			c->block.e.seq = c->r->global_seq;
		return WIDE_OK;
	}
	if (st != WIDE_OK)
	{
		c->valid = false;
		return in_block(c, st);
	}
	return next_block(c);
}

wide_status
sst_cursor_since(sst_cursor *c, int64_t ts, const uint8_t *hi, uint32_t hilen)
{
	while (c->valid && c->block.e.ts < ts)
	{
		wide_status st = block_since(&c->block, ts);
		bool beyond = hi != NULL && ukey_compare(c->index.e.ukey, c->index.e.klen, hi, hilen) >= 0;

		if (st != WIDE_OK)
		{
			c->valid = false;
			return in_block(c, st);
		}
		if (c->block.valid)
		{
			if (c->r->global_seq != 0)
				c->block.e.seq = c->r->global_seq;
			break;
		}
		if (host_interrupted(c->db))
		{
			c->valid = false;
			return status_fail(WIDE_INTERRUPTED, "interrupted");
		}
		TRY(next_block(c));
		if (beyond)
			break;
	}
	return WIDE_OK;
}

wide_status
sst_cursor_pass(sst_cursor *c, const uint8_t *ukey, uint32_t klen)
{
	block_cursor *b = &c->block;
	wide_status st;

	if (!c->valid)
		return WIDE_OK;
	/* as a rule it is the next row, if it is not in this one */
	if (b->row + 1 < b->rows && (klen < b->e.rowlen || memcmp(ukey, b->e.ukey, b->e.rowlen) != 0))
	{
		st = block_seek_row(b, b->row + 1);
		if (st != WIDE_OK || !b->valid)
		{
			c->valid = false;
			return st != WIDE_OK ? in_block(c, st)
								 : sst_cursor_seek(c, ukey, klen, INT64_MAX, SEQ_MAX);
		}
		if (c->r->global_seq != 0)
			b->e.seq = c->r->global_seq;
		if (ukey_compare(b->e.ukey, b->e.klen, ukey, klen) >= 0)
			return WIDE_OK;
	}
	return sst_cursor_seek(c, ukey, klen, INT64_MAX, SEQ_MAX);
}
