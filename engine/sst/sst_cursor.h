/* sst_cursor.h - moves through the entries of a sorted file */
#ifndef WIDE_SST_CURSOR_H
#define WIDE_SST_CURSOR_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"
#include "engine/sst/block.h"
#include "engine/sst/sst_read_ahead.h"
#include "engine/sst/sst_reader.h"

typedef struct sst_cursor
{
	wide_db *db;
	sst_reader *r;
	int flags;
	bool valid;
	block_cursor index; /* of the current index partition */
	block_ref index_ref;
	uint32_t partition;
	block_cursor block;
	block_ref block_ref; /* data block under the cursor */
	uint64_t block_off;
	uint64_t blocks_read, blocks_cached, seeks;
	/*
	 * When not NULL: called instead of unpinning when the cursor leaves a data
	 * block, so that a row that spans blocks can keep its bytes; the callee
	 * takes over the pin.  sst_cursor_close leaves the block too.
	 */
	void (*leave)(void *arg, block_ref *ref);
	void *leave_arg;
	struct sst_read_ahead *ahead; /* SST_NO_CACHE: bytes of the file read ahead; see sst_reader.c */
} sst_cursor;

/* takes a pin of its own on r */
extern wide_status sst_cursor_open(wide_db *db, sst_reader *r, int flags, sst_cursor *c);
extern void sst_cursor_close(sst_cursor *c);

/* The current entry is c->block.e, with seq already set from global_seq; valid until the next
 * move. */
static inline const entry *
sst_cursor_entry(const sst_cursor *c)
{
	return &c->block.e;
}

extern wide_status sst_cursor_seek(sst_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts,
								   uint64_t seq);
extern wide_status sst_cursor_seek_before(sst_cursor *c, const uint8_t *ukey, uint32_t klen);
extern wide_status sst_cursor_first(sst_cursor *c);
extern wide_status sst_cursor_next(sst_cursor *c);

/* To the first entry of a row of the block that it is on; behind its last row: of the next
 * block. */
extern wide_status sst_cursor_row(sst_cursor *c, uint32_t row);

/* The sequence number of all entries, 0: each has its own. */
extern uint64_t sst_cursor_seq(const sst_cursor *c);

/* From the current entry to the first with a timestamp >= ts, or to some entry at or above hi
 * (NULL: none). */
extern wide_status sst_cursor_since(sst_cursor *c, int64_t ts, const uint8_t *hi, uint32_t hilen);

/* No block of the file follows (or it may be so). */
extern bool sst_cursor_last_block(const sst_cursor *c);

/* From an entry below the bytes to the first that is not: a seek that expects to end near by. */
extern wide_status sst_cursor_pass(sst_cursor *c, const uint8_t *ukey, uint32_t klen);

#endif /* WIDE_SST_CURSOR_H */
