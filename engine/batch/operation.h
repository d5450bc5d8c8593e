/* operation.h - numbers of the operations of a batch, as pseudo sequence numbers */
#ifndef WIDE_OPERATION_H
#define WIDE_OPERATION_H

#include "engine/wide.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"

/*
 * Operation n has a pseudo sequence number above all committed ones, with two
 * flags: OWN_AUTO a put whose timestamp the commit assigns; OWN_FLOOR the value
 * begins with the 8 bytes of its floor, the timestamp that it must be above.
 */
#define OWN_AUTO	1
#define OWN_FLOOR	2
#define OWN_OPS_MAX	((SEQ_MAX - SEQ_OWN) >> 2)
static inline uint64_t own_seq(uint64_t op, unsigned flags) { return SEQ_OWN + (op << 2 | flags); }
static inline uint64_t own_op(uint64_t seq) { return (seq - SEQ_OWN) >> 2; }
static inline bool own_is_auto(uint64_t seq) { return (seq & OWN_AUTO) != 0; }

/* Take the floor out of the value; INT64_MIN none. */
static inline int64_t
own_floor(entry *e)
{
	int64_t		floor;

	if (!(e->seq & OWN_FLOOR))
		return INT64_MIN;
	floor = (int64_t) get_u64le(e->value);
	e->value += 8;
	e->vlen -= 8;
	return floor;
}

#endif							/* WIDE_OPERATION_H */
