/*
 * expiry.h - when a cell expires, by its own or its family's time to live.
 *
 * A floor (struct family_floor) records what had expired when the options of the
 * family changed, so that it stays expired.  The rules are at the top of
 * visibility.c.  All times and timestamps are in microseconds.
 */
#ifndef WIDE_EXPIRY_H
#define WIDE_EXPIRY_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"

/* Copies the floors in use in ascending order of seq.  Both arrays have FAMILY_FLOORS members; in
 * may be NULL.  Returns: their number. */
extern int expiry_floors_in_order(const family_floor *in, family_floor *out);

/* Returns now - ttl_us: what is older has expired; INT64_MIN if nothing expires. */
extern int64_t expiry_cutoff(int64_t now, int64_t ttl_us);

/* Returns true if the cell has a time to live of its own that has passed at `now`. */
extern bool expiry_cell_ttl_passed(const entry *e, int64_t now);

/* Returns true if the family's time to live has passed for the cell, now (expire_before) or at a
 * floor, where min_versions is 0: then no other entry can make it visible. */
extern bool expiry_family_ttl_passed(const entry *e, int32_t min_versions, int64_t expire_before,
									 const family_floor *floors, int nfloors);

/*
 * Returns the end of the life of a version that would have been alive from its seq
 * up to `to`: floor.seq + 1 if it had expired at a floor, else `to`.  ranks counts
 * the column's versions that are alive at each floor (see min_versions).
 * Requires: versions of a column come newest first; ranks[0..nfloors) is zeroed
 * before the first.
 */
extern uint64_t expiry_version_end(const entry *e, uint64_t to, const family_floor *floors,
								   int nfloors, int32_t *ranks);

#endif /* WIDE_EXPIRY_H */
