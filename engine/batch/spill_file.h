/*
 * spill_file.h - sorted operations of a batch in a temporary file.
 *
 * Writers and cursors belong to one thread at a time, as does the reference count.  The
 * host is told of each file and its size (temp_open and so on in wide_host), in the thread
 * of the process only.  So the helper thread must not give back a file's last reference,
 * and writes no more than was reserved before.
 */
#ifndef WIDE_SPILL_FILE_H
#define WIDE_SPILL_FILE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/tunable.h"

typedef struct spill_file spill_file;
typedef struct spill_file_writer spill_file_writer;

/* Creates a file.  total: bytes that will be written, approximately.
 * Returns: WIDE_NOMEM, WIDE_NOSPACE, WIDE_IO; writing WIDE_TEMP_LIMIT, too. */
extern wide_status spill_file_writer_open(wide_db *db, uint64_t total, spill_file_writer **out);

/*
 * Counts the file with so many bytes at once, so that the host need not be asked while it is
 * written.  thread: it is written in the helper thread, which must not ask: a file that needs
 * more fails with WIDE_BUSY.
 * Returns: WIDE_TEMP_LIMIT, WIDE_NOSPACE, WIDE_NOMEM, WIDE_IO.
 */
extern wide_status spill_file_writer_reserve(spill_file_writer *w, uint64_t bytes, bool thread);

/* Returns the file, with a reference of the caller's. */
extern spill_file *spill_file_writer_file(spill_file_writer *w);

/* Appends an entry.  Requires: ascending order of (family, key). */
extern wide_status spill_file_writer_add(spill_file_writer *w, wide_family_id family,
										 const entry *e);

/* Completes the file and frees the writer, also after a failure.  *out has one reference.  The
 * caller counts it, by spill_file_count. */
extern wide_status spill_file_writer_finish(spill_file_writer *w, spill_file **out);

/* Frees the writer (NULL: none) and its file. */
extern void spill_file_writer_abandon(spill_file_writer *w);

/* Gives back a reference (NULL: none); the last one closes the file, which removes it. */
extern void spill_file_unref(spill_file *f);

/* Counts the file with the size that it has.  Requires: it is complete. */
extern void spill_file_count(spill_file *f);

/* Returns the size of the file. */
extern uint64_t spill_file_bytes(const spill_file *f);

/* Returns false if the filter says that the file does not have the encoded row. */
extern bool spill_file_may_have_row(const spill_file *f, const uint8_t *row, uint32_t rowlen);

typedef struct spill_file_cursor
{
	spill_file *file;
	bool valid; /* is at an entry */
	wide_family_id family;
	entry e; /* valid until the next move */
	buffer block, key;
	int place;	   /* number of the block; -1: none */
	uint32_t next; /* offset of the next entry in the block */
} spill_file_cursor;

extern void spill_file_cursor_open(spill_file_cursor *c, spill_file *f);
extern void spill_file_cursor_close(spill_file_cursor *c);

/* These move the cursor; it is not valid at the end of the file.
 * Returns: WIDE_NOMEM, WIDE_IO, WIDE_CORRUPT. */
extern wide_status spill_file_first(spill_file_cursor *c);
extern wide_status spill_file_seek(spill_file_cursor *c, wide_family_id family, const uint8_t *ukey,
								   uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status spill_file_next(spill_file_cursor *c);

/* Sets *row to the largest row of the family below the bytes; WIDE_END if there is none.  The
 * cursor is not valid afterwards. */
extern wide_status spill_file_row_before(spill_file_cursor *c, wide_family_id family,
										 const uint8_t *ukey, uint32_t klen, buffer *row);

/* Least size of a block, in bytes. */
TUNABLE(uint32_t, spill_file_block_bytes, 32 * 1024);

#endif /* WIDE_SPILL_FILE_H */
