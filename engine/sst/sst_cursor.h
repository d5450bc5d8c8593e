/* sst_cursor.h - moves through the entries of a sorted file */
#ifndef WIDE_SST_CURSOR_H
#define WIDE_SST_CURSOR_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"
#include "engine/sst/block.h"
#include "engine/sst/sst_read_ahead.h"
#include "engine/sst/sst_reader.h"

/* A position in a sorted file.  Zero-filled is closed. */
typedef struct sst_cursor
{
	wide_db *db;
	sst_reader *r; /* pinned */
	int flags;	   /* enum sst_read_flags */
	bool valid;	   /* on an entry */
	/* index block of the current partition; its cursor is on the data block's entry */
	block_cursor index;
	block_ref index_ref;
	uint32_t partition;
	/* data block */
	block_cursor block;
	block_ref block_ref;
	uint64_t block_off;
	uint64_t loads; /* rises with each block that the cursor opens; 0: none yet */
	/*
	 * If not NULL: called instead of unpinning when the cursor leaves a data block, so that a row
	 * that spans blocks can keep its bytes.  It takes over the pin.  sst_cursor_close() calls it
	 * for the last block.
	 */
	void (*leave)(void *arg, block_ref *ref);
	void *leave_arg;
	sst_read_ahead *ahead;						/* with SST_NO_CACHE, otherwise NULL */
	uint64_t blocks_read, blocks_cached, seeks; /* counters */
	uint64_t read_us;							/* of blocks_read, if wide_time_reads is on */
} sst_cursor;

/* Opens a cursor, which adds a pin to r; it is not valid until it is positioned.  flags: enum
 * sst_read_flags.  Errors: WIDE_NOMEM. */
extern wide_status sst_cursor_open(wide_db *db, sst_reader *r, int flags, sst_cursor *c);

/* Closes a cursor.  Harmless on a closed one and on one that could not be opened. */
extern void sst_cursor_close(sst_cursor *c);

/* Returns the current entry, with the file's sequence number if it has one for all; valid until the
 * next move.  Requires: c->valid. */
static inline const entry *
sst_cursor_entry(const sst_cursor *c)
{
	return &c->block.e;
}

/*
 * Moves.  c->valid is false afterwards if there is no such entry.  A search finds an entry on the
 * side of the target that it is for, also in a damaged file: whoever searches onward from what was
 * found comes to an end.
 * Errors: WIDE_CORRUPT, WIDE_NOMEM, others of os_fail(); the cursor is then not valid, and may be
 * positioned again or closed.
 * With SST_CACHED: WIDE_END if the data block is not in the block cache; the index cursor is on its
 * entry.
 */
extern wide_status sst_cursor_first(sst_cursor *c);
extern wide_status sst_cursor_next(sst_cursor *c);

/* Moves to the first entry >= (ukey, ts, seq) in key order. */
extern wide_status sst_cursor_seek(sst_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts,
								   uint64_t seq);

/* Moves to the first entry of a data block of the file, counted from 0. */
extern wide_status sst_cursor_block(sst_cursor *c, uint64_t block);

/* Moves only the index cursor, to the entry of that data block. */
extern wide_status sst_cursor_index(sst_cursor *c, uint64_t block);

/* Moves to the last entry with a smaller ukey. */
extern wide_status sst_cursor_seek_before(sst_cursor *c, const uint8_t *ukey, uint32_t klen);

/* Moves to the first entry of a row of the current block, or, if row is behind its last one, of the
 * next block. */
extern wide_status sst_cursor_row(sst_cursor *c, uint32_t row);

/* Moves to the first entry that is not below ukey.  Requires: the current entry is below it.  Fast
 * if the target is near. */
extern wide_status sst_cursor_pass(sst_cursor *c, const uint8_t *ukey, uint32_t klen);

/*
 * Moves from the current entry to the first with a timestamp >= ts.  It may stop at any entry at or
 * above hi (NULL: no bound).  Errors also: WIDE_INTERRUPTED.
 */
extern wide_status sst_cursor_since(sst_cursor *c, int64_t ts, const uint8_t *hi, uint32_t hilen);

/* block_pass_versions in the current block, with the file's sequence number if it has one for
 * all. */
extern wide_status sst_cursor_pass_versions(sst_cursor *c, int64_t since, uint64_t *seqs, int most,
											int *n);

/* Returns false if another block of the file follows the current one; true if perhaps not. */
extern bool sst_cursor_last_block(const sst_cursor *c);

#endif /* WIDE_SST_CURSOR_H */
