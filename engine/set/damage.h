/*
 * damage.h - sorted files of which a part, or all, cannot be read.
 *
 * A damaged file stays in the set, so that nothing of its range is ever read as if it were not
 * there: a read that needs what is damaged fails with WIDE_CORRUPT (or WIDE_IO), all others go on.
 * A compaction that meets damage changes nothing but this: the file gets FILE_DAMAGED and goes to
 * level 0, where files may overlap.  From then on
 *
 *  - it is no input of a merge, so the others of its family are merged around it;
 *  - it is a file outside the compaction to them, with the range and the sequence numbers that the
 *    manifest has of it.  So deletes that are newer than its oldest entry stay, and versions that
 *    it may need are kept (look_outside in compact.c, retention_gap);
 *  - it leaves the set when all its cells have expired, when its family is dropped or replaced
 *    (TRUNCATE), and when it is salvaged.
 *
 * A file that is missing when the store is opened is marked then (file_set_load.c).
 */
#ifndef WIDE_DAMAGE_H
#define WIDE_DAMAGE_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Marks the facts of a file. */
static inline void
damage_mark(file_meta *f)
{
	f->flags |= FILE_DAMAGED;
	f->level = 0;
}

/*
 * Marks a file of the set, durably, and reports it to the host.  The text of the last failure says
 * what is wrong.
 * Requires: no other process changes the family's files but by adding some (job_begin).
 * Returns: as edit_apply.
 */
extern wide_status damage_set_aside(wide_db *db, const file_meta *f);

#endif /* WIDE_DAMAGE_H */
