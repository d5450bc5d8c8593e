/* flush.h - writes a memtable to files on level 0 */
#ifndef WIDE_FLUSH_H
#define WIDE_FLUSH_H

#include "engine/wide.h"

/*
 * Flushes the oldest immutable memtable.
 * Returns: WIDE_END if there is none; WIDE_BUSY if another process flushes;
 * WIDE_INTERRUPTED, WIDE_NOMEM, WIDE_NOSPACE, WIDE_IO, WIDE_POISONED.
 */
extern wide_status flush_one(wide_db *db);

/*
 * Flushes the oldest immutable memtable, and removes what nothing needs.
 * Returns: as flush_one, but WIDE_END and WIDE_BUSY only if nothing was removed either.
 */
extern wide_status flush_make_room(wide_db *db);

/* Returns the index of the immutable memtable with the lowest number; -1: there is none. */
extern int flush_oldest(wide_db *db);

#endif /* WIDE_FLUSH_H */
