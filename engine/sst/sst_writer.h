/* sst_writer.h - writes a sorted file */
#ifndef WIDE_SST_WRITER_H
#define WIDE_SST_WRITER_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/base/tunable.h"
#include "engine/shared/layout.h"

typedef struct sst_writer sst_writer;

/*
 * Write dir/NNNNNNNN.sst.tmp; finish syncs it and renames it; the directory is
 * synced by the caller (sst_file_sync_dir, once for many files) before the file is
 * listed anywhere.  global: entries carry seq 0 and the file gets its seq at
 * commit (meta.global_seq is set by the caller later).
 */
extern wide_status sst_writer_open(wide_db *db, uint64_t number, wide_family_id family, int level,
								   const wide_family_options *opt, bool global, sst_writer **out);

/* finish does not sync: whoever lists the file does that before. */
extern void sst_writer_unsynced(sst_writer *w);

/* Before the first entry: compress in this thread, once the file is larger than a few blocks.
 * It has to outlive the writer. */
extern void sst_writer_use_helper(sst_writer *w, helper *a);
/* So many data blocks: smaller files are not worth a thread. */
TUNABLE(uint64_t, sst_writer_helper_after, 32);
extern wide_status sst_writer_add(sst_writer *w, const entry *e);
extern uint64_t sst_writer_bytes(const sst_writer *w); /* written so far */

/* The entry that would come next begins another row; *column: another column. */
extern bool sst_writer_may_end(sst_writer *w, const entry *e, bool *column);
extern wide_status sst_writer_finish(sst_writer *w, file_meta *meta); /* frees w, also on failure */
extern void sst_writer_abandon(sst_writer *w); /* removes the file, frees w */

#endif /* WIDE_SST_WRITER_H */
