/*
 * expiry.c - when a cell expires, by its own or its family's time to live.
 *
 * Additions and subtractions of times saturate: a cell whose end would lie beyond
 * INT64_MAX does not expire.
 */
#include <stdlib.h>
#include "engine/read/expiry.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"

static int
floor_compare(const void *a, const void *b)
{
	const family_floor *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

int
expiry_floors_in_order(const family_floor *in, family_floor *out)
{
	int n = 0;

	for (int i = 0; in != NULL && i < FAMILY_FLOORS; i++)
		if (in[i].seq != 0)
			out[n++] = in[i];
	qsort(out, (size_t) n, sizeof(*out), floor_compare);
	return n;
}

int64_t
expiry_cutoff(int64_t now, int64_t ttl_us)
{
	int64_t t;

	if (ttl_us <= 0 || __builtin_sub_overflow(now, ttl_us, &t))
		return INT64_MIN;
	return t;
}

bool
expiry_cell_ttl_passed(const entry *e, int64_t now)
{
	int64_t t;

	return e->ttl_us > 0 && !__builtin_add_overflow(e->ts, e->ttl_us, &t) && t < now;
}

bool
expiry_family_ttl_passed(const entry *e, int32_t min_versions, int64_t expire_before,
						 const family_floor *floors, int nfloors)
{
	if (min_versions == 0 && e->ts < expire_before)
		return true;
	for (int i = 0; i < nfloors; i++)
		if (e->seq <= floors[i].seq && floors[i].min_versions == 0 &&
			e->ts < floors[i].expired_before)
			return true;
	return false;
}

uint64_t
expiry_version_end(const entry *e, uint64_t to, const family_floor *floors, int nfloors,
				   int32_t *ranks)
{
	for (int i = 0; i < nfloors; i++)
	{
		bool safe;

		/* not alive at the floor */
		if (e->seq > floors[i].seq || to <= floors[i].seq)
			continue;
		safe = !expiry_cell_ttl_passed(e, floors[i].now) && ranks[i]++ < floors[i].min_versions;
		if (!safe && e->ts < floors[i].expired_before)
			return floors[i].seq + 1;
	}
	return to;
}
