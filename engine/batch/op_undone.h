/*
 * op_undone.h - the operations of a batch that a rewind has undone.
 *
 * They are kept as intervals of operation numbers, in ascending order and apart
 * from each other.  Operations stay where they are, in memory or in spill files,
 * and readers pass over those whose number is in the set.
 */
#ifndef WIDE_OP_UNDONE_H
#define WIDE_OP_UNDONE_H

#include "engine/wide.h"
#include "engine/base/array.h"

/* Operations [from, to). */
typedef struct op_interval
{
	uint64_t from, to;
} op_interval;

/* Zero-filled is empty.  The owner frees the intervals. */
typedef struct op_undone
{
	op_interval *intervals; /* ascending */
	int n, cap;
} op_undone;

/* Makes room for one more interval, so that op_undone_add cannot fail.  Returns WIDE_NOMEM if
 * there is none. */
static inline wide_status
op_undone_reserve(op_undone *u)
{
	if (u->n < u->cap)
		return WIDE_OK;
	return array_grow((void **) &u->intervals, u->n, &u->cap, sizeof(op_interval));
}

/* Adds [from, to), where `to` is the number of the next operation.
 * Requires: op_undone_reserve since the last operation was added. */
extern void op_undone_add(op_undone *u, uint64_t from, uint64_t to);

/* Removes the intervals that begin at or after the number: these operations exist nowhere. */
extern void op_undone_forget(op_undone *u, uint64_t from);

/* Copies the set to *to, which is empty.  Returns WIDE_NOMEM if there is no memory. */
extern wide_status op_undone_copy(const op_undone *u, op_undone *to);

/* op_undone_has when the set is not empty. */
extern bool op_undone_find(const op_undone *u, uint64_t op);

/* Returns true if the operation has been undone. */
static inline bool
op_undone_has(const op_undone *u, uint64_t op)
{
	return u->n > 0 && op_undone_find(u, op);
}

#endif /* WIDE_OP_UNDONE_H */
