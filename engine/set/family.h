/* family.h - a family's slot in the shared segment, and its options */
#ifndef WIDE_FAMILY_H
#define WIDE_FAMILY_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Returns the slot of a committed family; NULL if there is none (dropped).
 * Requires: LOCK_SET or LOCK_CATALOG. */
extern family_slot *family_find(wide_db *db, wide_family_id id);

/* Returns a family of the table, the one after `before` (NULL: the first) in no particular order;
 * NULL after the last one.  Requires: as family_find. */
extern family_slot *family_of_table(wide_db *db, wide_table_id table, const family_slot *before);

/* Makes family_find find a slot by its id, and family_of_table by that of its table, or no longer.
 * family_leave does nothing if it does not find the slot.  Requires: LOCK_SET and LOCK_CATALOG, or
 * recovery. */
extern void family_enter(wide_db *db, family_slot *fs);
extern void family_leave(wide_db *db, family_slot *fs);

/* Returns WIDE_INVALID if the options contradict each other or are out of range. */
extern wide_status family_check_options(const wide_family_options *o);

#endif /* WIDE_FAMILY_H */
