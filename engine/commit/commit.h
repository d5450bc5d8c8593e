/* commit.h - a batch becomes part of the store */
#ifndef WIDE_COMMIT_H
#define WIDE_COMMIT_H

#include "engine/wide.h"
#include "engine/shared/layout.h"
#include "engine/batch/avoid.h"

/*
 * Returns the next commit timestamp, above all earlier ones and none of these (NULL: none).
 * Requires: LOCK_COMMIT.
 */
extern int64_t commit_take_timestamp(wide_db *db, const avoid_times *avoid);

/*
 * Applies everything of a batch but its cells: the catalog changes, and the links to its files,
 * which get the sequence number.
 * Requires: calls in the order of seq; LOCK_COMMIT and reserved file slots (file_set_reserve), or a
 * replay.
 */
extern void commit_catalog_and_files(wide_db *db, wide_bytes catalog, file_meta *files, int nfiles,
									 uint64_t seq);

#endif /* WIDE_COMMIT_H */
