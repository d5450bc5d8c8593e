/* family.c - finds families' slots in the shared segment, through hash tables of ids. */
#include "engine/set/family.h"
#include "engine/base/status.h"
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

wide_status
family_check_options(const wide_family_options *o)
{
	if (o->versions < 1 || o->min_versions < 0 || o->min_versions > o->versions)
		return status_fail(WIDE_INVALID,
						   "versions must be at least 1 and min_versions between 0 and versions");
	if (o->ttl_us < 0)
		return status_fail(WIDE_INVALID, "ttl must not be negative");
	if (o->block_size < 1024 || o->block_size > 1024 * 1024)
		return status_fail(WIDE_INVALID, "block_size must be between 1 KiB and 1 MiB");
	if (o->bloom > WIDE_BLOOM_PREFIX || (o->bloom == WIDE_BLOOM_PREFIX && o->bloom_prefix == 0))
		return status_fail(WIDE_INVALID, "unknown kind of Bloom filter, or a prefix of length 0");
	if (o->compression > WIDE_COMPRESS_ZSTD || o->compaction > WIDE_COMPACT_WINDOW)
		return status_fail(WIDE_INVALID, "unknown kind of compression or compaction");
	if (o->compaction == WIDE_COMPACT_WINDOW && o->window_us <= 0)
		return status_fail(WIDE_INVALID, "the window of a windowed family must be positive");
	if (o->merge > WIDE_MERGE_APPEND)
		return status_fail(WIDE_INVALID, "unknown merge operator");
	if (o->merge != WIDE_MERGE_NONE && (o->min_versions > 0 || o->keep_deleted))
		return status_fail(
			WIDE_INVALID, "a family with a merge operator has no min_versions and no keep_deleted");
	if (o->merge == WIDE_MERGE_HLL && (o->versions > 1 || o->ttl_us > 0))
		return status_fail(WIDE_INVALID,
						   "a family that counts distinct values has one version and no ttl");
	if (o->merge == WIDE_MERGE_APPEND && o->versions > 1)
		return status_fail(WIDE_INVALID, "a family whose values are appended has one version");
	return WIDE_OK;
}
