/* merge.h - the merge of several sources in key order */
#ifndef WIDE_MERGE_H
#define WIDE_MERGE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/sst/block.h"
#include "engine/read/source.h"

/*
 * The merge of sources in key order.  Entries with equal keys (same ukey, ts,
 * seq, type: replayed, or linked twice) come once.
 */
typedef struct merge merge;
extern wide_status merge_new(wide_db *db, merge **out);
extern wide_status merge_add(merge *m, source *s); /* takes it over, also on failure */
extern wide_status merge_seek(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts,
							  uint64_t seq);
extern wide_status merge_first(merge *m);
extern wide_status merge_next(merge *m);

/* Largest ukey < the given bytes in any source: positions nothing, copies its encoded row into
 * out; WIDE_END when none. */
extern wide_status merge_row_before(merge *m, const uint8_t *ukey, uint32_t klen, buffer *row);
static inline const entry *merge_entry(merge *m); /* NULL at the end */
extern void merge_free(merge *m);

struct merge
{
	const entry *current;
}; /* head of merge.c's own struct */

static inline const entry *
merge_entry(merge *m)
{
	return m->current;
}

extern void merge_limits(merge *m, const source_limits *limits);
extern void merge_restart(merge *m);
extern void merge_statistics(merge *m); /* bring limits->stats up to date */

/* Move on to the first entry >= the key; like merge_seek, but sources beyond it stay where they
 * are. */
extern wide_status merge_skip(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts,
							  uint64_t seq);

/* The same to the first entry at or above the bytes, which is expected to be near: the next row. */
extern wide_status merge_pass(merge *m, const uint8_t *ukey, uint32_t klen);

/*
 * Rows [row, end) of the block under the merge's first source, of which no
 * other source has an entry: these are all entries of those rows.  The merge
 * stands at the first entry of a row.  block NULL: that source is no file.
 */
typedef struct merge_span
{
	block_cursor *block;
	uint32_t row, end;
	uint64_t seq; /* of all entries, if not 0 */
} merge_span;

/* The block, with no rows yet. */
extern void merge_span_block(const merge *m, merge_span *w);

/* Its rows below hi (NULL: open). */
extern wide_status merge_span_rows(const merge *m, const uint8_t *hi, uint32_t hilen,
								   merge_span *w);

/* Move on to the first entry of a row of it (end: also behind the block). */
extern wide_status merge_span_leave(merge *m, uint32_t row);
extern void merge_used(merge *m);	/* bytes of the current entry are given out */
extern void merge_unused(merge *m); /* nothing given out before is in use any more */

#endif /* WIDE_MERGE_H */
