/* commit.h - adds the files of a committed batch */
#ifndef WIDE_COMMIT_H
#define WIDE_COMMIT_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Under LOCK_COMMIT, in the order of seq: everything of a batch but its cells. */
extern void commit_files(wide_db *db, wide_bytes catalog, file_meta *files, int nfiles,
						 uint64_t seq);

#endif /* WIDE_COMMIT_H */
