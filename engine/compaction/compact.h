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

#endif /* WIDE_COMPACT_H */
