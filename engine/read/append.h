/*
 * append.h - values of a family with WIDE_MERGE_APPEND: the bytes of all operands, one behind the
 * other.
 *
 * This operator is associative, but not commutative.  The order of the operands is that of their
 * sequence numbers, which is the order of commits; their timestamps have no part in it.  Operands
 * of one batch that stay apart, because they have stated timestamps, are in the order of these; the
 * batch's automatic operands are one, with those at the end of time, and come last (norm_operand).
 *
 * So a compaction may fold two operands only if no other one of the column can be between them:
 * see "Merge operators" in visibility.c.  What is folded keeps the key of its newest operand.  Thus
 * it keeps its place among the operands outside the job: newer ones have a greater sequence number,
 * and of older ones none is between it and what it was folded of.  No other entry has that key.
 */
#ifndef WIDE_APPEND_H
#define WIDE_APPEND_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/tunable.h"

/* Bytes that a value may come to. */
TUNABLE(size_t, append_most, WIDE_MAX_VALUE);

typedef struct append_part
{
	uint64_t place; /* parts are in the order of place, ts, seq */
	int64_t ts;
	uint64_t seq;
	size_t at; /* in append_list.bytes */
	uint32_t len;
	int number; /* it was added as this one */
} append_part;

/* Operands of a column.  Zero-filled is empty. */
typedef struct append_list
{
	append_part *parts;
	int n, cap;
	buffer bytes;
	buffer joined;
} append_list;

extern void append_clear(append_list *l);
extern void append_free(append_list *l);

/* Adds an operand, whose bytes are copied.  place: its sequence number; operands with stated
 * timestamps of a batch that is not committed: SEQ_BATCH.  Returns: WIDE_OK or WIDE_NOMEM. */
extern wide_status append_add(append_list *l, const entry *e, uint64_t place);

/* Sorts the parts, the oldest first. */
extern void append_sort(append_list *l);

/* Returns true if the two parts are folded, of which the first is the older one. */
typedef bool (*append_folds_fn)(const void *arg, const append_part *older,
								const append_part *newer);

/*
 * Folds neighbours: the newest of each group of parts gets the bytes of all, and the others go.
 * What would come to more than append_most is not folded.  The parts that are left are in the order
 * in which they were added, and their bytes in l->joined.  Returns: WIDE_OK or WIDE_NOMEM.
 */
extern wide_status append_fold(append_list *l, append_folds_fn folds, const void *arg);

/*
 * Makes *out the bytes of all parts, which are sorted; valid until the list changes.
 * Returns: WIDE_OK; WIDE_NOMEM; WIDE_LIMIT, without a text, if they are more than append_most.
 */
extern wide_status append_join(append_list *l, wide_bytes *out);

#endif /* WIDE_APPEND_H */
