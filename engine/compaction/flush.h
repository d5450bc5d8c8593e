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

#endif /* WIDE_FLUSH_H */
