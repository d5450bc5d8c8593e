/*
 * op.h - numbers of the operations of a batch, as pseudo sequence numbers.
 *
 * Operation n has a sequence number above all committed ones, so merging a batch
 * with the sources of the store gives what its transaction should see.
 */
#ifndef WIDE_OP_H
#define WIDE_OP_H

#include "engine/wide.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"

/* Flags in the lowest bits of the sequence number. */
#define OP_AUTO		   1 /* a put whose timestamp the commit assigns */
#define OP_FLOOR	   2 /* the value begins with the put's floor, 8 bytes; see op_floor */
#define OP_MERGE_SHIFT 2 /* the next four bits: wide_merge, with which the put is an operand */
#define OP_BITS		   6
#define OP_NUMBER_MAX  ((SEQ_MAX - SEQ_BATCH) >> OP_BITS)

static inline uint64_t
op_seq(uint64_t op, unsigned flags)
{
	return SEQ_BATCH + (op << OP_BITS | flags);
}

static inline uint64_t
op_number(uint64_t seq)
{
	return (seq - SEQ_BATCH) >> OP_BITS;
}

/* Returns the wide_merge of a put. */
static inline uint8_t
op_merge_kind(uint64_t seq)
{
	return seq >> OP_MERGE_SHIFT & 15;
}

static inline bool
op_is_auto(uint64_t seq)
{
	return (seq & OP_AUTO) != 0;
}

/* Removes the floor from the entry's value and returns it: the timestamp that the put's own must
 * exceed.  INT64_MIN: none. */
static inline int64_t
op_floor(entry *e)
{
	int64_t floor;

	if (!(e->seq & OP_FLOOR))
		return INT64_MIN;
	floor = (int64_t) get_u64le(e->value);
	e->value += 8;
	e->vlen -= 8;
	return floor;
}

/* Returns the floor of an entry whose value op_floor has passed: it lies before the value. */
static inline int64_t
op_floor_passed(const entry *e)
{
	return e->seq & OP_FLOOR ? (int64_t) get_u64le(e->value - 8) : INT64_MIN;
}

/* The order of operations in lists, spill files and merges: by family, then by key. */
static inline int
op_order(wide_family_id af, const entry *a, wide_family_id bf, const entry *b)
{
	return af != bf ? (af < bf ? -1 : 1) : key_compare(a, b);
}

#endif /* WIDE_OP_H */
