/* run.h - a sorted run in a temporary file */
#ifndef WIDE_RUN_H
#define WIDE_RUN_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"

typedef struct own_run own_run;
typedef struct run_writer run_writer;

/* total: bytes that will come, about. */
extern wide_status run_writer_open(wide_db *db, uint64_t total, run_writer **out);
extern wide_status run_writer_add(run_writer *w, wide_family_id family, const entry *e);	/* in order */
extern wide_status run_writer_finish(run_writer *w, own_run **out);	/* frees w, also on failure; one reference */
extern void run_writer_abandon(run_writer *w);
extern own_run *run_ref(own_run *r);
extern void run_unref(own_run *r);
extern uint64_t run_bytes(const own_run *r);	/* of its file */
extern size_t run_memory(const own_run *r);
extern bool run_may_have_row(const own_run *r, const uint8_t *row, uint32_t rowlen);

typedef struct run_cursor
{
	own_run    *run;
	bool		valid;
	wide_family_id family;
	entry		e;				/* valid until the next move */
	buffer		block, key;
	uint32_t	place;			/* of the block */
	uint32_t	next;			/* entry, in the block */
} run_cursor;
extern void run_cursor_open(run_cursor *c, own_run *r);
extern void run_cursor_close(run_cursor *c);
extern wide_status run_first(run_cursor *c);
extern wide_status run_seek(run_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status run_next(run_cursor *c);

/* The largest row below the bytes; WIDE_END none.  Not valid afterwards. */
extern wide_status run_row_before(run_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen, buffer *row);
extern uint32_t run_block_bytes;

#endif							/* WIDE_RUN_H */
