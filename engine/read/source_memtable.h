/* source_memtable.h - a memtable as a source of entries */
#ifndef WIDE_SOURCE_MEMTABLE_H
#define WIDE_SOURCE_MEMTABLE_H

#include "engine/wide.h"
#include "engine/set/memtable.h"
#include "engine/read/source.h"

/*
 * Makes a source of the family's entries in the memtable; *m is copied.
 * Requires: a pin keeps the memtable in place as long as the source lives.
 * Returns: WIDE_OK and *out (for source_free), or WIDE_NOMEM.
 */
extern wide_status source_memtable_new(wide_db *db, const memtable_handle *m, wide_family_id family,
									   source **out);

#endif /* WIDE_SOURCE_MEMTABLE_H */
