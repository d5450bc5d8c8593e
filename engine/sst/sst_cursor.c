/*
 * sst_cursor.c - moving through the entries of a sorted file.
 *
 * Invariants: while the cursor is valid, its index cursor is on the index entry of the current data
 * block, and the index block and the data block are pinned.
 *
 * In a file with one sequence number for all entries (prop.global) the stored numbers are 0.  The
 * cursor puts the file's number into the entry after every move.  A search is translated to one
 * among the stored numbers, see seek_global().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/sst/sst_cursor.h"
#include "engine/base/buffer.h"
#include "engine/base/clock.h"
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
	cache_unpin(c->db, &c->index_ref);
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

/* Adds the range of a partition's rows to a failure to read its index. */
static __attribute__((noinline, cold)) wide_status
damaged_partition(const sst_cursor *c, uint32_t part, wide_status st)
{
	const file_meta *m = &c->r->prop.meta;
	const entry *last = &c->r->parts[part].last;

	if (part > 0)
		status_damage_range(c->r->number, m->family, last[-1].ukey, last[-1].klen, last->ukey,
							last->klen);
	else
		status_damage_range(c->r->number, m->family, m->min_row, m->min_len, last->ukey,
							last->klen);
	return st;
}

/* Adds the range of the data block's rows, that of the index cursor's entry, to a failure to read
 * it.  The index cursor is then on another entry. */
static __attribute__((noinline, cold)) wide_status
damaged_block(sst_cursor *c, wide_status st)
{
	char text[512];
	wide_damage where;
	buffer hi = {0};
	uint32_t before;

	if ((st != WIDE_CORRUPT && st != WIDE_IO) || wide_error_damage() == NULL)
		return st;
	where = *wide_error_damage();
	snprintf(text, sizeof text, "%s", wide_error_text());
	c->valid = false;
	if (c->index.valid && buffer_append(&hi, c->index.e.ukey, c->index.e.klen) == WIDE_OK &&
		block_entries_before(&c->index, &before) == WIDE_OK && before > 0 &&
		block_seek_entry(&c->index, before - 1) == WIDE_OK)
	{
		(void) status_fail(st, "%s", text);
		status_damage(where.file, where.container, where.offset);
		status_damage_range(where.file, c->r->prop.meta.family, c->index.e.ukey, c->index.e.klen,
							hi.data, (uint32_t) hi.len);
	}
	else
	{
		const entry *part = c->partition > 0 ? &c->r->parts[c->partition - 1].last : NULL;
		const file_meta *m = &c->r->prop.meta;

		(void) status_fail(st, "%s", text);
		status_damage(where.file, where.container, where.offset);
		if (hi.data != NULL)
			status_damage_range(where.file, m->family, part != NULL ? part->ukey : m->min_row,
								part != NULL ? part->klen : m->min_len, hi.data, (uint32_t) hi.len);
	}
	c->index.valid = false;
	buffer_free(&hi);
	return damaged_partition(c, c->partition, st);
}

/* Adds file and offset to the text of a block cursor's failure. */
static __attribute__((noinline)) wide_status
place(const sst_cursor *c, uint64_t off, wide_status st)
{
	return st == WIDE_CORRUPT ? sst_reader_corrupt(c->r, off, wide_error_text()) : st;
}

static inline wide_status
in_index(const sst_cursor *c, wide_status st)
{
	return st == WIDE_OK ? WIDE_OK
						 : damaged_partition(c, c->partition,
											 place(c, c->r->parts[c->partition].index.off, st));
}

static inline wide_status
in_block(sst_cursor *c, wide_status st)
{
	return st == WIDE_OK ? WIDE_OK : damaged_block(c, place(c, c->block_off, st));
}

/* Opens the index block of a partition, unless it is open; the index cursor is then to be
 * positioned. */
static wide_status
load_partition(sst_cursor *c, uint32_t part)
{
	wide_status st;

	if (c->index_ref.data != NULL && c->partition == part)
		return WIDE_OK;
	leave_index(c);
	/* without `ahead`, whose bytes are the data blocks' that come next; the index lies behind them
	 */
	st = sst_reader_block(c->r, c->r->parts[part].index, c->flags & ~SST_CACHED, true, NULL,
						  &c->index_ref, NULL);
	if (st != WIDE_OK)
		return damaged_partition(c, part, st);
	c->partition = part;
	st = in_index(c, block_open(&c->index, c->index_ref.data, c->index_ref.len));
	/* else the next call would take it for opened */
	if (st != WIDE_OK)
		leave_index(c);
	return st;
}

/* Opens the data block of the index cursor's entry, unless it is open; the block cursor is then to
 * be positioned. */
static wide_status
load_block(sst_cursor *c)
{
	sst_handle h;
	bool cached;
	int64_t began;
	wide_status st;

	if (!c->index.valid)
		return damaged_partition(c, c->partition,
								 sst_reader_corrupt(c->r, c->r->parts[c->partition].index.off,
													"an index block is empty or too short"));
	st = sst_reader_handle(c->r, &c->index.e, &h);
	if (st != WIDE_OK)
		return damaged_block(c, st);
	if (c->block_ref.data != NULL && c->block_off == h.off)
		return WIDE_OK;
	leave_block(c);
	c->loads++;
	began = c->r->db->time_reads ? clock_monotonic_us() : 0;
	st = sst_reader_block(c->r, h, c->flags, c->r->prop.in_memory, c->ahead, &c->block_ref,
						  &cached);
	if (__builtin_expect(st != WIDE_OK, 0))
		return damaged_block(c, st);
	c->block_off = h.off;
	if (cached)
		c->blocks_cached++;
	else
	{
		c->blocks_read++;
		if (began != 0)
			c->read_us += (uint64_t) (clock_monotonic_us() - began);
	}
	st = in_block(c, block_open(&c->block, c->block_ref.data, c->block_ref.len));
	if (st != WIDE_OK)
		leave_block(c);
	return st;
}

/* The entry gets the file's sequence number, if all have one. */
static inline void
set_seq(sst_cursor *c)
{
	if (c->r->global_seq != 0)
		c->block.e.seq = c->r->global_seq;
}

/* After the block cursor was positioned where there must be an entry. */
static inline wide_status
arrived(sst_cursor *c)
{
	if (!c->block.valid)
		return damaged_block(c,
							 sst_reader_corrupt(c->r, c->block_off,
												"a data block ends before its index entry says"));
	set_seq(c);
	c->valid = true;
	return WIDE_OK;
}

/*
 * After a search.  below: it was for an entry below the target, otherwise for one at or above it.
 * In a damaged file the entry found may lie on the other side.  Callers go on from it, and would
 * come to the same place again and again, so that is an error here.
 */
static wide_status
found(sst_cursor *c, bool below, const uint8_t *ukey, uint32_t klen)
{
	TRY(arrived(c));
	if ((ukey_compare(c->block.e.ukey, c->block.e.klen, ukey, klen) < 0) == below)
		return WIDE_OK;
	c->valid = false;
	return damaged_block(c, sst_reader_corrupt(c->r, c->block_off, "keys are not in order"));
}

/* Searches among the stored sequence numbers. */
static wide_status
seek_stored(sst_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	const entry to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};
	uint32_t part;
	bool here = false;

	/*
	 * The index is not needed if the target is behind the current entry and in the same block.  If
	 * it equals the current entry this is not enough: the block before may end with an entry that
	 * differs in its type only.
	 */
	if (c->valid && key_compare(&c->index.e, &to) >= 0)
	{
		entry e = c->block.e;

		if (c->r->prop.global)
			e.seq = 0;
		here = key_compare(&e, &to) < 0;
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
	return found(c, false, ukey, klen);
}

/*
 * All entries have the sequence number g, stored as 0.  Those with the target's ukey and ts are not
 * before the target if and only if g <= seq.  The result is then the first of them, otherwise the
 * first entry behind them.
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
			return found(c, true, ukey, klen);
		/* the block begins at or after the target, so the result is the last entry of the one
		 * before */
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
	return found(c, true, ukey, klen);
}

wide_status
sst_cursor_first(sst_cursor *c)
{
	return seek_stored(c, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX);
}

wide_status
sst_cursor_index(sst_cursor *c, uint64_t block)
{
	const sst_partition *parts = c->r->parts;
	uint32_t part = 0;

	c->valid = false;
	while (part < c->r->nparts && parts[part].blocks <= block)
		part++;
	if (part < c->r->nparts)
	{
		TRY(load_partition(c, part));
		block -= part > 0 ? parts[part - 1].blocks : 0;
		TRY(in_index(c, block_seek_entry(&c->index, (uint32_t) block)));
		if (c->index.valid && block < c->index.entries)
			return WIDE_OK;
	}
	return sst_reader_corrupt(c->r, c->r->body, "an index block is empty or too short");
}

/* Moves to the first entry of the index cursor's data block. */
static wide_status
enter_block(sst_cursor *c)
{
	TRY(load_block(c));
	TRY(in_block(c, block_first(&c->block)));
	return arrived(c);
}

wide_status
sst_cursor_block(sst_cursor *c, uint64_t block)
{
	TRY(sst_cursor_index(c, block));
	return enter_block(c);
}

/* Moves to the first entry of the next block. */
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
	return enter_block(c);
}

/* After a move of the block cursor. */
static inline wide_status
moved(sst_cursor *c, wide_status st)
{
	if (__builtin_expect(st == WIDE_OK && c->block.valid, 1))
	{
		set_seq(c);
		return WIDE_OK;
	}
	if (st == WIDE_OK)
		return next_block(c);
	c->valid = false;
	return in_block(c, st);
}

wide_status
sst_cursor_row(sst_cursor *c, uint32_t row)
{
	return c->valid ? moved(c, block_seek_row(&c->block, row)) : WIDE_OK;
}

bool
sst_cursor_last_block(const sst_cursor *c)
{
	return c->partition + 1 == c->r->nparts && c->index.row + 1 == c->index.rows;
}

wide_status
sst_cursor_next(sst_cursor *c)
{
	return c->valid ? moved(c, block_next(&c->block)) : WIDE_OK;
}

wide_status
sst_cursor_pass_versions(sst_cursor *c, int64_t since, uint64_t *seqs, int most, int *n)
{
	*n = 0;
	if (!c->valid)
		return WIDE_OK;
	c->valid = false;
	TRY(in_block(c, block_pass_versions(&c->block, since, seqs, most, n)));
	c->valid = true;
	set_seq(c);
	for (int i = 0; i < *n && c->r->global_seq != 0; i++)
		seqs[i] = c->r->global_seq;
	return WIDE_OK;
}

wide_status
sst_cursor_since(sst_cursor *c, int64_t ts, const uint8_t *hi, uint32_t hilen)
{
	while (c->valid && c->block.e.ts < ts)
	{
		bool beyond = hi != NULL && ukey_compare(c->index.e.ukey, c->index.e.klen, hi, hilen) >= 0;

		c->valid = false;
		TRY(in_block(c, block_since(&c->block, ts)));
		if (c->block.valid)
			return arrived(c);
		if (host_interrupted(c->db))
			return status_fail(WIDE_INTERRUPTED, "interrupted");
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

	if (!c->valid)
		return WIDE_OK;
	/* if the target is not in the current row it is mostly in the next one */
	if (b->row + 1 < b->rows && (klen < b->e.rowlen || memcmp(ukey, b->e.ukey, b->e.rowlen) != 0))
	{
		TRY(moved(c, block_seek_row(b, b->row + 1)));
		if (!c->valid || ukey_compare(b->e.ukey, b->e.klen, ukey, klen) >= 0)
			return WIDE_OK;
	}
	return sst_cursor_seek(c, ukey, klen, INT64_MAX, SEQ_MAX);
}
