/*
 * marks.h - where external transactions have committed in a log that is followed
 * (layout.h: follow_state): the point in the log that a snapshot of a host in recovery stands for.
 */
#ifndef WIDE_MARKS_H
#define WIDE_MARKS_H

#include "engine/wide.h"

/* External transaction xid has committed; its commit record ends at lsn, above those before.
 * Errors: WIDE_POISONED. */
extern wide_status marks_add(wide_db *db, uint64_t lsn, uint64_t xid);

/*
 * Sets *lsn to the first commit that the host's snapshot regards as running: everything in the log
 * from there on came after the snapshot.  UINT64_MAX: there is none.
 * Requires: a snapshot that was taken between two records of the log, and sees the commits before.
 * Errors: WIDE_CONFLICT if the mark may be lost; WIDE_POISONED.
 */
extern wide_status marks_find(wide_db *db, const wide_moment *at, uint64_t *lsn);

/* Returns the lsn of the first mark of a transaction from `oldest` on; UINT64_MAX: there is none.
 * Requires: LOCK_COMMIT. */
extern uint64_t marks_first_from(const wide_db *db, uint64_t oldest);

#endif /* WIDE_MARKS_H */
