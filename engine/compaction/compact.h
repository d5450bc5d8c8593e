/* compact.h - chooses files of a family and merges them */
#ifndef WIDE_COMPACT_H
#define WIDE_COMPACT_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

#define LEVEL0_FILES 4 /* so many are worth a compaction */

/* What counts as a reason for a job. */
enum compact_mode
{
	COMPACT_DUE,  /* levels over their limits, expired files */
	COMPACT_REST, /* also space that may be of no use: garbage.c */
	COMPACT_ALL	  /* everything into the bottom level */
};

/* One job of the family; WIDE_END: nothing to do. */
extern wide_status compact_family(wide_db *db, wide_family_id family, enum compact_mode mode);

/* Every entry <= flushed_seq of this file is in it and the log is not going to link it again. */
static inline bool
file_settled(const file_meta *f, uint64_t flushed_seq)
{
	return f->global_seq <= flushed_seq;
}

/* All its cells have outlived the family's ttl. */
static inline bool
file_expired(const file_meta *f, const wide_family_options *o, int64_t now)
{
	return o->ttl_us > 0 && o->min_versions == 0 && f->ts_max < now - o->ttl_us;
}

/* Mostly deletes, all of them old enough to go. */
static inline bool
file_dead_weight(const file_meta *f, uint64_t settled)
{
	return f->level >= 1 && f->tombstones * 2 > f->cells && f->tombstones > 0 &&
		   f->seq_max <= settled;
}

#endif /* WIDE_COMPACT_H */
