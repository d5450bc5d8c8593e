/* compact.h - chooses files of a family and merges them */
#ifndef WIDE_COMPACT_H
#define WIDE_COMPACT_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

#define LEVEL0_FILES 4 /* files on level 0 that are worth a compaction */

/* The reasons for which a compaction is done. */
enum compact_mode
{
	COMPACT_DUE,  /* levels over their limits, expired files */
	COMPACT_REST, /* also space that can be reclaimed: garbage.c */
	COMPACT_ALL	  /* everything into one level */
};

/*
 * Does one compaction of the family.
 * Returns: WIDE_END if there is nothing to do; WIDE_BUSY if another process compacts the
 * family; WIDE_INTERRUPTED, WIDE_NOMEM, WIDE_NOSPACE, WIDE_IO, WIDE_CORRUPT, WIDE_POISONED.
 */
extern wide_status compact_family(wide_db *db, wide_family_id family, enum compact_mode mode);

/* Returns true if replay will not link the file again: all that a batch linked up to flushed_seq is
 * listed. */
static inline bool
file_settled(const file_meta *f, uint64_t flushed_seq)
{
	return f->global_seq <= flushed_seq;
}

/* Returns true if all cells of the file have outlived the family's time to live. */
static inline bool
file_expired(const file_meta *f, const wide_family_options *o, int64_t now)
{
	return o->ttl_us > 0 && o->min_versions == 0 && f->ts_max < now - o->ttl_us;
}

/* Returns true if the file is mostly deletes, and all of it is old enough to be dropped. */
static inline bool
file_dead_weight(const file_meta *f, uint64_t settled)
{
	return f->level >= 1 && f->tombstones * 2 > f->cells && f->tombstones > 0 &&
		   f->seq_max <= settled;
}

#endif /* WIDE_COMPACT_H */
