/* remove.h - removes files and memtables that no reader needs any more */
#ifndef WIDE_REMOVE_H
#define WIDE_REMOVE_H

#include "engine/wide.h"

/*
 * Unlinks removed files and frees flushed memtables that no pin needs.  Files: only
 * in one process at a time, not while the host holds files, and not in a poisoned
 * store.  *did: something was removed or freed.
 * Returns: WIDE_OK, WIDE_IO if a file could not be removed, WIDE_POISONED.
 */
extern wide_status remove_unneeded(wide_db *db, bool *did);

#endif /* WIDE_REMOVE_H */
