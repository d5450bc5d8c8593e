/* pick.h - what makes files worth a compaction, and which to take */
#ifndef WIDE_PICK_H
#define WIDE_PICK_H

#include "engine/wide.h"
#include "engine/shared/layout.h"
#include "engine/set/horizon.h"
#include "engine/set/pin.h"

#define LEVEL0_FILES 4 /* files on level 0 that are worth a compaction */

/* The reasons for which a compaction is done. */
enum compact_mode
{
	COMPACT_DUE,	 /* levels over their limits, expired files */
	COMPACT_REST,	 /* also space that can be reclaimed: reclaim.c */
	COMPACT_CROWDED, /* whatever makes the family's files fewer */
	COMPACT_ALL		 /* everything into one level */
};

/* What becomes of the inputs. */
enum compaction_kind
{
	COMPACTION_MERGE,
	COMPACTION_MOVE, /* they overlap nothing: only their level changes */
	COMPACTION_DROP	 /* all their cells have expired */
};

/* How the output is cut into files. */
enum compaction_split
{
	SPLIT_BY_SIZE,	 /* on level 0 of a windowed family by windows, too */
	SPLIT_BY_WINDOW, /* on level 0 of a windowed family; not by size */
	SPLIT_NOT
};

typedef struct compaction
{
	wide_db *db;
	wide_family family;
	family_floor floors[FAMILY_FLOORS];
	int64_t now;

	/* sequence numbers */
	uint64_t flushed_seq; /* of the set, before the pin */
	horizon_ranges horizons;
	uint64_t unflushed; /* no memtable has an older entry up to the horizon */
	uint64_t settled;	/* result: see retention_settled */

	/* files */
	version_pin pin;
	family_files all;
	bool *in; /* for each of all.files: it is an input */
	int nin;
	file_meta hull; /* bounds of all inputs: rows and sequence numbers */

	/* plan */
	enum compaction_kind kind;
	enum compaction_split split;
	int from, to; /* levels */
} compaction;

/* Returns the seq up to which deletes can be dropped at the bottom. */
static inline uint64_t
pick_settled(const compaction *c)
{
	return c->horizons.oldest < c->flushed_seq ? c->horizons.oldest : c->flushed_seq;
}

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

/*
 * Chooses the inputs, the levels, the kind of compaction and how to split its output.
 * Requires: all members up to `in` are set, `in` is zero-filled.
 * Returns: WIDE_END if there is nothing to do; WIDE_NOMEM.
 */
extern wide_status pick_inputs(compaction *c, enum compact_mode mode);

/* Puts the cursor of the level, where the next file is chosen, behind the inputs. */
extern void pick_advance(const compaction *c);

#endif /* WIDE_PICK_H */
