/* reserve.h - reserves room in memtables before a commit */
#ifndef WIDE_RESERVE_H
#define WIDE_RESERVE_H

#include "engine/wide.h"

/*
 * Room for bytes in the active memtable, reserved; waits (or flushes in this
 * process when no worker does).  WIDE_FULL: for some seconds readers have held
 * all memtables.
 */
extern wide_status reserve_memory(wide_db *db, uint64_t bytes);

#endif /* WIDE_RESERVE_H */
