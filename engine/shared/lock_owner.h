/* lock_owner.h - row locks of owners that are no processes: prepared transactions */
#ifndef WIDE_LOCK_OWNER_H
#define WIDE_LOCK_OWNER_H

#include "engine/wide.h"

/* Removes all row locks of an owner.  Errors: WIDE_NOMEM: some cannot be reached; WIDE_POISONED. */
extern wide_status lock_owner_remove(wide_db *db, uint32_t owner);

#endif /* WIDE_LOCK_OWNER_H */
