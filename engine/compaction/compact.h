/* compact.h - merges files of a family */
#ifndef WIDE_COMPACT_H
#define WIDE_COMPACT_H

#include "engine/wide.h"
#include "engine/compaction/pick.h"

/*
 * Does one compaction of the family.
 * Returns: WIDE_END if there is nothing to do; WIDE_BUSY if another process compacts the
 * family; WIDE_INTERRUPTED, WIDE_NOMEM, WIDE_NOSPACE, WIDE_IO, WIDE_CORRUPT, WIDE_POISONED.
 */
extern wide_status compact_family(wide_db *db, wide_family_id family, enum compact_mode mode);

/*
 * Does one compaction of each of the n families, in one job with one edit: for families so small
 * that the syncs of a job cost more than its merge.
 * results[i]: of families[i]: WIDE_OK, WIDE_END, WIDE_BUSY, or WIDE_CORRUPT; then its files are as
 * they were, and wide_error_text says what is wrong with them.  mode: not COMPACT_ALL, unless n
 * is 1. Returns: WIDE_END if there was nothing to do in any of them; otherwise as compact_family,
 * but WIDE_CORRUPT.
 */
extern wide_status compact_families(wide_db *db, const wide_family_id *families, int n,
									enum compact_mode mode, wide_status *results);

#endif /* WIDE_COMPACT_H */
