/*
 * source.h - a sorted stream of the entries of one family.
 *
 * There are three kinds: a memtable (source_memtable.h), sorted files
 * (source_file.h) and the transaction's own batch (engine/batch/batch_source.h).
 * Each embeds a source as its first member and sets source.ops.  Keys are in
 * their encoded form.
 */
#ifndef WIDE_SOURCE_H
#define WIDE_SOURCE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"

/*
 * What the user of a merge does not need, so that sources can pass over it.  They
 * may still return it.  The user owns the struct and its bytes and may change
 * them; sources look at them when they seek and when they move.
 */
typedef struct source_limits
{
	/* range */
	const uint8_t *hi; /* no row at or above these bytes; NULL: open */
	uint32_t hilen;
	const uint8_t *lo; /* source_row_before: no row below these bytes; NULL: open */
	uint32_t lolen;

	/* one row, or one column of it: the Bloom filters of files are asked */
	const uint8_t *row; /* this row only; NULL: no such limit */
	uint32_t rowlen;
	const uint8_t *column; /* with row: this ukey and the family deletes only; NULL: all */
	uint32_t columnlen;
	bool every; /* all entries of the column are needed, not only down to the newest version */

	/* without row: all rows begin with these bytes, encoded without terminator; NULL: no such
	 * limit.  The Bloom filter of a file is asked once for each value of `range`, which the
	 * user changes with the range of keys. */
	const uint8_t *prefix;
	uint32_t prefixlen;
	uint64_t range;

	/* time */
	bool by_time;  /* memtables and files whose newest timestamp is below ts_min are not needed */
	bool pass_old; /* nor are single entries below it; the user reads forward, all up to hi */
	int64_t ts_min;

	/* snapshot */
	uint64_t seen_seq; /* entries with a higher seq are invisible; 0: not known */
	int64_t seen_ts;   /* with seen_seq: no batch up to it has a newer commit timestamp */

	wide_scan_stats *stats; /* may be NULL */

	/* Called when a source leaves a block whose bytes are in use (merge_used): takes over the pin
	 * of the block.  NULL: the pin is released. */
	void (*keep)(void *arg, block_ref *ref);
	void *keep_arg;
} source_limits;

/* No limits and no statistics: what a merge gives its sources until merge_limits. */
extern const source_limits source_no_limits;

typedef struct source source;

/* What a kind of source does.  The functions of the same names below are the contracts. */
typedef struct source_ops
{
	wide_status (*seek)(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
	wide_status (*next)(source *s);
	/* NULL: none is passed over */
	wide_status (*pass_versions)(source *s, int64_t since, uint64_t *seqs, int most, int *n);
	/* NULL: a few steps, then a seek */
	wide_status (*pass)(source *s, const uint8_t *ukey, uint32_t klen);
	/* appends to row */
	wide_status (*row_before)(source *s, const uint8_t *ukey, uint32_t klen, buffer *row);
	/* NULL: nothing to add */
	void (*statistics)(source *s);
	/* releases what the source holds, and its memory */
	void (*free)(source *s);
} source_ops;

struct source
{
	const entry *e; /* current entry; NULL: none */
	const source_ops *ops;
	wide_db *db;
	const source_limits *limits;
	uint32_t order;		  /* of equal entries the source with the lower order comes first */
	const uint64_t *turn; /* the merge's */
	uint64_t used;		  /* the turn in which the user took bytes of the current block; 0: none */
	/* the answer of the last source_row_before: the next one for a lower key may be the same */
	bool before_valid;
	bool before_none; /* it was WIDE_END */
	wide_family_id family;
	buffer before;
};

/* States that the user keeps pointers into the current entry or its block. */
static inline void
source_use(source *s)
{
	s->used = *s->turn;
}

/* Moves to the first entry at or after the key. */
static inline wide_status
source_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	return s->ops->seek(s, ukey, klen, ts, seq);
}

/* Moves to the entry after the current one. */
static inline wide_status
source_next(source *s)
{
	return s->ops->next(s);
}

/* Moves to the first entry at or above the bytes, which is expected to be near.
 * Requires: the current entry is below them. */
extern wide_status source_pass(source *s, const uint8_t *ukey, uint32_t klen);

/* Moves over entries behind the current one, as block_pass_versions does; *n: how many. */
static inline wide_status
source_pass_versions(source *s, int64_t since, uint64_t *seqs, int most, int *n)
{
	*n = 0;
	return s->ops->pass_versions == NULL ? WIDE_OK : s->ops->pass_versions(s, since, seqs, most, n);
}

/* Copies the largest row below the bytes into row.  The position is lost.
 * Requires: the bytes do not rise from call to call, unless source_restart comes between.
 * Returns: WIDE_OK; WIDE_END if there is no such row. */
extern wide_status source_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row);

/* Prepares for other ranges: forgets the answer of source_row_before and brings limits->stats up
 * to date. */
extern void source_restart(source *s);

/* Adds to limits->stats what has happened since the last call. */
extern void source_statistics(source *s);

/* Leaves a block, which is pinned: passes the pin to limits->keep if bytes of the block are in use,
 * otherwise releases it. */
extern void source_leave(const source *s, block_ref *ref);

/* Releases the source.  s may be NULL. */
extern void source_free(source *s);

#endif /* WIDE_SOURCE_H */
