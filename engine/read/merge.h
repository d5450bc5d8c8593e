/*
 * merge.h - several sources as one stream in key order.
 *
 * Entries with equal keys (same ukey, ts, seq and type: replayed, linked twice, or
 * read from a memtable and from the file that it has become) come once.  After a
 * failure the merge has no position and has to be positioned anew.
 */
#ifndef WIDE_MERGE_H
#define WIDE_MERGE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/read/source.h"

typedef struct merge
{
	const entry *current; /* NULL: the end, or no position */

	/* The sources.  Who moves them goes on with merge_settle. */
	source **sources;
	int n;

	/* the rest is merge.c's */
	wide_db *db;
	source **heap; /* nheap sources that have an entry, a heap; the second part of one allocation
					* with sources, cap pointers each */
	int nheap, cap;
	int waiting;   /* sources from here on have not been sought; 0: none waits */
	uint64_t turn; /* rises with merge_unused: marks of earlier turns in source.used are void */
	uint32_t ticks;
	buffer row; /* scratch of merge_row_before */
} merge;

/* Makes a merge without sources.  Returns: WIDE_OK or WIDE_NOMEM. */
extern wide_status merge_new(wide_db *db, merge **out);

/* Adds a source, which the merge owns from here on, also on failure.  Sources of files should come
 * last: they may not have to be sought.
 * Requires: the merge is positioned anew afterwards.  Returns: WIDE_OK or WIDE_NOMEM. */
extern wide_status merge_add(merge *m, source *s);

/* Frees the merge and its sources.  m may be NULL. */
extern void merge_free(merge *m);

/* Has all sources use these limits, which the caller owns. */
extern void merge_limits(merge *m, const source_limits *limits);

/* source_restart and source_statistics for all sources. */
extern void merge_restart(merge *m);
extern void merge_statistics(merge *m);

static inline const entry *
merge_entry(merge *m)
{
	return m->current;
}

/* Moves to the first entry at or after the key; to the first of all; to the next. */
extern wide_status merge_seek(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts,
							  uint64_t seq);
extern wide_status merge_first(merge *m);
extern wide_status merge_next(merge *m);

/* Moves forward to the first entry at or after the key.  Sources that are beyond it stay where
 * they are. */
extern wide_status merge_skip(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts,
							  uint64_t seq);

/* Moves forward to the first entry at or above the bytes, which is expected to be near: the next
 * row. */
extern wide_status merge_pass(merge *m, const uint8_t *ukey, uint32_t klen);

/*
 * Moves over entries behind the current one, `most` at most, and puts their sequence numbers into
 * seqs; *n: how many.  The position is then on the last of them.  All are puts of the current ukey
 * without a ttl, with timestamps >= since that fall from one to the next, and no entry of another
 * source lies between them.  It may stop before any entry.
 */
extern wide_status merge_pass_versions(merge *m, int64_t since, uint64_t *seqs, int most, int *n);

/* Copies the largest row below the bytes into row.  The position is lost.
 * Returns: WIDE_OK; WIDE_END if there is no such row.  See source_row_before. */
extern wide_status merge_row_before(merge *m, const uint8_t *ukey, uint32_t klen, buffer *row);

/* States that the caller keeps pointers into the current entry: when its source leaves the block,
 * the pin goes to limits->keep. */
extern void merge_used(merge *m);

/* States that the caller keeps no pointer into any entry. */
extern void merge_unused(merge *m);

/* Takes up the positions to which the caller has moved sources itself, all of them forward.
 * Requires: none of them waits (merge_waits). */
extern void merge_settle(merge *m);

/* Returns true if some sources have not been sought yet: what they have is behind the current
 * entry. */
static inline bool
merge_waits(const merge *m)
{
	return m->waiting > 0;
}

#endif /* WIDE_MERGE_H */
