/* expiry.h - when cells expire, and what had expired when options changed */
#ifndef WIDE_EXPIRY_H
#define WIDE_EXPIRY_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"

extern int expiry_floors_in_order(const family_floor *in,
								  family_floor *out); /* those in use, by seq */
/* now - ttl; INT64_MIN: nothing expires */
extern int64_t expiry_cutoff(int64_t now, int64_t ttl_us);
extern bool expiry_cell_ttl_passed(const entry *e, int64_t now);

/* Family TTL has passed for the cell, now or at a floor, and spares nothing. */
extern bool expiry_family_ttl_passed(const entry *e, int32_t min_versions, int64_t expire_before,
									 const family_floor *floors, int nfloors);

/* The end of a version that was alive from its seq to `to`, by what had expired at the floors;
 * versions come newest first. */
extern uint64_t expiry_version_end(const entry *e, uint64_t to, const family_floor *floors,
								   int nfloors, int32_t *ranks);

#endif /* WIDE_EXPIRY_H */
