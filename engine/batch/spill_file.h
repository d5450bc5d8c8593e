/* spill_file.h - a sorted run in a temporary file */
#ifndef WIDE_SPILL_FILE_H
#define WIDE_SPILL_FILE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/tunable.h"

typedef struct spill_file spill_file;
typedef struct spill_file_writer spill_file_writer;

/* total: bytes that will come, about. */
extern wide_status spill_file_writer_open(wide_db *db, uint64_t total, spill_file_writer **out);
/* in order */
extern wide_status spill_file_writer_add(spill_file_writer *w, wide_family_id family,
										 const entry *e);
/* frees w, also on failure; one reference */
extern wide_status spill_file_writer_finish(spill_file_writer *w, spill_file **out);
extern void spill_file_writer_abandon(spill_file_writer *w);
extern void spill_file_unref(spill_file *r);
extern uint64_t spill_file_bytes(const spill_file *r); /* of its file */
extern bool spill_file_may_have_row(const spill_file *r, const uint8_t *row, uint32_t rowlen);

typedef struct spill_file_cursor
{
	spill_file *run;
	bool valid;
	wide_family_id family;
	entry e; /* valid until the next move */
	buffer block, key;
	uint32_t place; /* of the block */
	uint32_t next;	/* entry, in the block */
} spill_file_cursor;

extern void spill_file_cursor_open(spill_file_cursor *c, spill_file *r);
extern void spill_file_cursor_close(spill_file_cursor *c);
extern wide_status spill_file_first(spill_file_cursor *c);
extern wide_status spill_file_seek(spill_file_cursor *c, wide_family_id family, const uint8_t *ukey,
								   uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status spill_file_next(spill_file_cursor *c);

/* The largest row below the bytes; WIDE_END none.  Not valid afterwards. */
extern wide_status spill_file_row_before(spill_file_cursor *c, wide_family_id family,
										 const uint8_t *ukey, uint32_t klen, buffer *row);

/* Least size of a block. */
TUNABLE(uint32_t, spill_file_block_bytes, 32 * 1024);

#endif /* WIDE_SPILL_FILE_H */
