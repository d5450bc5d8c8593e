/* cache_probe.h - puts blocks into the block cache, and counts a process's pins */
#ifndef HOST_CACHE_PROBE_H
#define HOST_CACHE_PROBE_H

#include <string.h>
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"

/* Copies a block into the cache.  *out is pinned. */
static inline wide_status
cache_probe_put(wide_db *db, uint64_t file, uint64_t offset, const void *data, uint32_t len,
				bool high, block_ref *out)
{
	cache_place p;

	TRY(cache_reserve(db, file, offset, len, high, &p, out));
	if (p.to == NULL)
		return WIDE_OK;
	memcpy(p.to, data, len);
	return cache_publish(db, &p, out);
}

/* Returns the number of shared blocks that this process has pinned: the sum of its pins in each
 * cache segment. */
static inline uint64_t
cache_probe_pinned(wide_db *db)
{
	size_t bytes = cache_pins_bytes(db->seg->config.cache_size);
	const uint32_t *pins = LAYOUT_AT(db, db->seg->cache_pins + db->slot_index * bytes);
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes / sizeof(*pins); i++)
		sum += pins[i];
	return sum;
}

#endif /* HOST_CACHE_PROBE_H */
