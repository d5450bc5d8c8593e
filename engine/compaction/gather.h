/* gather.h - brings the sorted files of many small containers together in one */
#ifndef WIDE_GATHER_H
#define WIDE_GATHER_H

#include "engine/wide.h"
#include "engine/base/tunable.h"

/* So many small files of the directory are worth gathering, half of them at a time. */
TUNABLE(uint64_t, gather_files, 64);

/*
 * Copies the sorted files of small containers, or of one that is mostly garbage, to a new
 * container.  rest: also if less is garbage.
 * Returns: WIDE_END if nothing is worth it; WIDE_BUSY if what is cannot be moved now; else as
 * compact_family.
 */
extern wide_status gather_some(wide_db *db, bool rest);

#endif /* WIDE_GATHER_H */
