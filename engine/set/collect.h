/* collect.h - removes files and memtables that no reader needs any more */
#ifndef WIDE_COLLECT_H
#define WIDE_COLLECT_H

#include "engine/wide.h"

/*
 * Unlinks removed files and frees flushed memtables that no pin needs.  Files: only
 * in one process at a time, not while the host holds files, and not in a poisoned
 * store.  *did: something was removed or freed.
 * Returns: WIDE_OK, WIDE_IO if a file could not be removed, WIDE_POISONED.
 */
extern wide_status collect_garbage(wide_db *db, bool *did);

#endif /* WIDE_COLLECT_H */
