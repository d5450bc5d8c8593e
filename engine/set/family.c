/*
 * family.c - finds a family's slot in the shared segment.
 *
 * A process remembers in which slot it has found a family.  The slot's id is
 * compared, so an outdated memory costs only time.
 */
#include "engine/set/family.h"
#include "engine/shared/layout.h"

family_slot *
family_find(wide_db *db, wide_family_id id)
{
	static uint32_t guess[256];
	family_slot *f = layout_families(db);
	uint32_t *g = &guess[id % 256];

	if (id == 0)
		return NULL;
	if (*g < db->seg->catalog.nfamilies && f[*g].f.id == id)
		return &f[*g];
	for (uint32_t i = 0; i < db->seg->catalog.nfamilies; i++)
		if (f[i].f.id == id)
		{
			*g = i;
			return &f[i];
		}
	return NULL;
}
