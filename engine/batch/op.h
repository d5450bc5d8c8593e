/* op.h - numbers of the operations of a batch, as pseudo sequence numbers */
#ifndef WIDE_OP_H
#define WIDE_OP_H

#include "engine/wide.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"

/*
 * Operation n has a pseudo sequence number above all committed ones, with two
 * flags: OP_AUTO a put whose timestamp the commit assigns; OP_FLOOR the value
 * begins with the 8 bytes of its floor, the timestamp that it must be above.
 */
#define OP_AUTO		  1
#define OP_FLOOR	  2
#define OP_NUMBER_MAX ((SEQ_MAX - SEQ_BATCH) >> 2)

static inline uint64_t
op_seq(uint64_t op, unsigned flags)
{
	return SEQ_BATCH + (op << 2 | flags);
}

static inline uint64_t
op_number(uint64_t seq)
{
	return (seq - SEQ_BATCH) >> 2;
}

static inline bool
op_is_auto(uint64_t seq)
{
	return (seq & OP_AUTO) != 0;
}

/* Take the floor out of the value; INT64_MIN none. */
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

#endif /* WIDE_OP_H */
