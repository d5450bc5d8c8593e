/* batch_as_files.h - the cells of a batch become sorted files */
#ifndef WIDE_BATCH_AS_FILES_H
#define WIDE_BATCH_AS_FILES_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/sst/file_meta.h"
#include "engine/batch/payload.h"

/*
 * Writes the cells of a batch as sorted files.  key: for the keys of rows.
 * Returns: *n files in *files, which the caller frees; WIDE_CORRUPT; errors of bulk_write.
 */
extern wide_status batch_as_files(wide_db *db, const payload *p, int64_t commit_ts, buffer *key,
								  file_meta **files, int *n);

#endif /* WIDE_BATCH_AS_FILES_H */
