/* family.c - finds a family's slot in the shared segment, through a hash table of ids. */
#include "engine/set/family.h"
#include "engine/shared/layout.h"

static uint32_t *
bucket_of(wide_db *db, wide_family_id id)
{
	return layout_bucket(db, db->seg->family_index, db->seg->family_bits, id);
}

family_slot *
family_find(wide_db *db, wide_family_id id)
{
	family_slot *f = layout_families(db);

	if (id == 0)
		return NULL;
	for (uint32_t i = *bucket_of(db, id); i != 0; i = f[i - 1].hash_next)
		if (f[i - 1].f.id == id)
			return &f[i - 1];
	return NULL;
}

void
family_enter(wide_db *db, family_slot *fs)
{
	uint32_t *first = bucket_of(db, fs->f.id);

	fs->hash_next = *first;
	*first = (uint32_t) (fs - layout_families(db)) + 1;
}

void
family_leave(wide_db *db, family_slot *fs)
{
	uint32_t *link = bucket_of(db, fs->f.id), at = (uint32_t) (fs - layout_families(db)) + 1;

	while (*link != 0 && *link != at)
		link = &layout_families(db)[*link - 1].hash_next;
	if (*link == at)
		*link = fs->hash_next;
	fs->hash_next = 0;
}
