/* prepared.h - the table of prepared transactions, for the replay */
#ifndef WIDE_PREPARED_H
#define WIDE_PREPARED_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/*
 * Takes a free entry for the transaction, with the claim of this process.  Its log is kept from
 * `start` on; 0: from the end of the log on.
 * Errors: WIDE_FULL: there is none; WIDE_NOMEM: locks of its last owner cannot be removed.
 */
extern wide_status prepared_take(wide_db *db, uint64_t xid, uint64_t start, prepared_entry **out);
/* Ends the claim of this process. */
extern void prepared_unclaim(wide_db *db, prepared_entry *e);

#endif /* WIDE_PREPARED_H */
