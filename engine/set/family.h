/* family.h - finds a family's slot in the shared segment */
#ifndef WIDE_FAMILY_H
#define WIDE_FAMILY_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Returns the slot of a committed family; NULL if there is none (dropped).
 * Requires: LOCK_SET or LOCK_CATALOG. */
extern family_slot *family_find(wide_db *db, wide_family_id id);

/* Makes family_find find a slot by its id, or no longer.  family_leave does nothing if it does not
 * find the slot.  Requires: LOCK_SET and LOCK_CATALOG, or recovery. */
extern void family_enter(wide_db *db, family_slot *fs);
extern void family_leave(wide_db *db, family_slot *fs);

#endif /* WIDE_FAMILY_H */
