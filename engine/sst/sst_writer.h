/* sst_writer.h - writes a sorted file */
#ifndef WIDE_SST_WRITER_H
#define WIDE_SST_WRITER_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/base/tunable.h"
#include "engine/shared/layout.h"

/* A file that is being written. */
typedef struct sst_writer sst_writer;

/*
 * Begins a sorted file.  It gets a file of the directory, NNNNNNNN.sst.tmp, with its first bytes
 * beyond a buffer of 256 KiB.  sst_writer_finish() gives that its name; the caller syncs the
 * directory before the file is listed anywhere (sst_file_sync_dir, once for many files). level: for
 * which the file is written.  opt is copied. global: all entries have seq 0, and the caller sets
 * meta.global_seq at their commit. Errors: WIDE_NOMEM, others of os_fail().
 */
extern wide_status sst_writer_open(wide_db *db, uint64_t number, wide_family_id family, int level,
								   const wide_family_options *opt, bool global, sst_writer **out);

/* Finishing will not sync the file.  The caller does that before the file is listed. */
extern void sst_writer_unsynced(sst_writer *w);

/* Lets a helper thread compress, once the file has more than a few blocks.  Requires: no entry was
 * added yet; h outlives the writer. */
extern void sst_writer_use_helper(sst_writer *w, helper *h);
/* Data blocks before the helper is used: smaller files are not worth a thread. */
TUNABLE(uint64_t, sst_writer_helper_after, 32);

/*
 * Adds an entry, which is copied.  After an error all later calls return the same status.
 * Errors: WIDE_INVALID if it does not follow in key order, WIDE_LIMIT, WIDE_NOMEM, others of
 * os_fail().
 */
extern wide_status sst_writer_add(sst_writer *w, const entry *e);

/* Returns the bytes of the file so far, without blocks that are still to be compressed. */
extern uint64_t sst_writer_bytes(const sst_writer *w);

/* Returns true if e, as the next entry, begins another row, so that the file may end before it.
 * *column: it begins another column. */
extern bool sst_writer_may_end(sst_writer *w, const entry *e, bool *column);

/*
 * Completes the sorted file and sets *meta to its facts.  small not NULL: if it has no file of the
 * directory yet it gets none; *small is all of its bytes.  Else *small is empty.
 * After an error the file is removed.  Frees w in both cases.
 * Errors: as of sst_writer_add; WIDE_INVALID if there was no entry.
 */
extern wide_status sst_writer_finish(sst_writer *w, file_meta *meta, buffer *small);

/* Removes the file and frees w. */
extern void sst_writer_abandon(sst_writer *w);

#endif /* WIDE_SST_WRITER_H */
