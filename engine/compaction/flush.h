/* flush.h - writes a memtable to files on level 0 */
#ifndef WIDE_FLUSH_H
#define WIDE_FLUSH_H

#include "engine/wide.h"

/*
 * Flushes the oldest immutable memtable.  all: it may take the room in the table of files that is
 * for compactions, too.
 * Returns: WIDE_END if there is none; WIDE_BUSY if another process flushes; WIDE_FULL if the table
 * of files has too little room, before anything is written;
 * WIDE_INTERRUPTED, WIDE_NOMEM, WIDE_NOSPACE, WIDE_IO, WIDE_POISONED.
 */
extern wide_status flush_one(wide_db *db, bool all);

/* Returns the index of the immutable memtable with the lowest number; -1: there is none. */
extern int flush_oldest(wide_db *db);

#endif /* WIDE_FLUSH_H */
