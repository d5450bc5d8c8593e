/* scheduler.h - background work that a commit needs done; the rest is in wide.h */
#ifndef WIDE_SCHEDULER_H
#define WIDE_SCHEDULER_H

#include "engine/wide.h"

/*
 * Flushes the oldest immutable memtable, and removes what nothing needs.  If the table of files has
 * too little room for the flush, merges families with many files first.
 * Returns: WIDE_END if there is none, WIDE_BUSY if another process flushes; both only if nothing
 * was removed either.  Else as flush_one, but WIDE_FULL only if merging does not help.
 */
extern wide_status scheduler_make_room(wide_db *db);

#endif /* WIDE_SCHEDULER_H */
