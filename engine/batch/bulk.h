/*
 * bulk.h - writes a large batch as sorted files before its commit.
 */
#ifndef WIDE_BULK_H
#define WIDE_BULK_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/shared/layout.h"

/* Returns the next entry; WIDE_END after the last. */
typedef wide_status (*bulk_next_fn)(void *arg, wide_family_id *family, entry *e);

/*
 * Writes the entries that next(arg, ...) returns as sorted files.  Leaves out entries
 * of families that do not exist: the batch has created and dropped them.
 * Requires: entries ascend by (family, key).
 * sync: the files are synced.  If false they are marked FILE_UNSYNCED, and the caller
 * must log their contents (bulk_log).
 * ts_min, ts_max: of the entries, as far as known, so that windows are divided evenly among files;
 * INT64_MAX, INT64_MIN: not known.
 * h: compresses blocks; NULL: none.
 * Returns: *n files in *files, which the caller frees; failures of next; WIDE_NOMEM,
 * WIDE_NOSPACE, WIDE_IO, WIDE_INTERRUPTED, and then no file is left.
 */
extern wide_status bulk_write(wide_db *db, bulk_next_fn next, void *arg, bool sync, int64_t ts_min,
							  int64_t ts_max, helper *h, file_meta **files, int *n);

/*
 * Appends the contents of the files to the log.  slot->prepare_lsn keeps the log from
 * the first record on; the caller clears it once the files are linked or discarded.
 * Poisons the store if the log cannot be written.
 */
extern wide_status bulk_log(wide_db *db, const file_meta *files, int n);

/* Logs that files of bulk_log will not be linked. */
extern void bulk_give_up(wide_db *db, const file_meta *files, int n);

/* Unlinks the files that bulk_write has written, and ends the load that it began. */
extern void bulk_discard(wide_db *db, const file_meta *files, int n);

#endif /* WIDE_BULK_H */
