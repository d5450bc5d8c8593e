/* family.c - finds families' slots in the shared segment, through hash tables of ids. */
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

static uint32_t *
table_bucket(wide_db *db, wide_table_id table)
{
	return layout_bucket(db, db->seg->families_of_table, db->seg->family_bits, table);
}

family_slot *
family_of_table(wide_db *db, wide_table_id table, const family_slot *before)
{
	family_slot *f = layout_families(db);
	uint32_t i = before != NULL ? before->table_next : *table_bucket(db, table);

	while (i != 0 && f[i - 1].f.table != table)
		i = f[i - 1].table_next;
	return i != 0 ? &f[i - 1] : NULL;
}

void
family_enter(wide_db *db, family_slot *fs)
{
	uint32_t *first = bucket_of(db, fs->f.id), at = (uint32_t) (fs - layout_families(db)) + 1;

	fs->hash_next = *first;
	*first = at;
	first = table_bucket(db, fs->f.table);
	fs->table_next = *first;
	*first = at;
}

void
family_leave(wide_db *db, family_slot *fs)
{
	family_slot *f = layout_families(db);
	uint32_t *link = bucket_of(db, fs->f.id), at = (uint32_t) (fs - f) + 1;

	while (*link != 0 && *link != at)
		link = &f[*link - 1].hash_next;
	if (*link == at)
		*link = fs->hash_next;
	for (link = table_bucket(db, fs->f.table); *link != 0 && *link != at;)
		link = &f[*link - 1].table_next;
	if (*link == at)
		*link = fs->table_next;
	fs->hash_next = fs->table_next = 0;
}

void
wide_family_defaults(wide_family_options *o)
{
	*o = (wide_family_options) {.versions = 1,
								.block_size = 16384,
								.bloom = WIDE_BLOOM_ROW,
								.compression = WIDE_COMPRESS_ZSTD,
								.compression_level = 1,
								.compaction = WIDE_COMPACT_LEVELED};
}
