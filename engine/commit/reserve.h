/* reserve.h - reserves room in the active memtable before a commit */
#ifndef WIDE_RESERVE_H
#define WIDE_RESERVE_H

#include "engine/wide.h"

/*
 * Reserves bytes in the active memtable (segment.commit.reserved); waits for room, and flushes in
 * this process when no worker does.  The caller takes the reservation in wide_batch_finish or gives
 * it back.
 * Requires: no lock is held; bytes is at most half the capacity of a memtable.
 * Errors: WIDE_FULL: readers have held all memtables for some seconds; WIDE_INTERRUPTED: nothing is
 * reserved; errors of a flush.
 */
extern wide_status reserve_memory(wide_db *db, uint64_t bytes);

#endif /* WIDE_RESERVE_H */
