/*
 * normalise.h - resolves the order of operations within a batch.
 *
 * A commit gives all cells of a batch one sequence number, and a delete masks what has
 * a lower one.  So the order within the batch is resolved before: a put that a later
 * operation masks or replaces is left out; deletes stay, because they mask what is older
 * than the batch; of several automatic puts to a column the last stays.  Operands are folded: those
 * without a timestamp, and those with the same one.  What is appended is folded in the order of the
 * operations.
 */
#ifndef WIDE_NORMALISE_H
#define WIDE_NORMALISE_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/batch/op_list.h"

/* One operation of a normalised batch.  The bytes are valid until the next one. */
typedef struct norm_op
{
	wide_family_id family;
	entry e;			  /* seq is 0; ts is provisional if automatic */
	bool automatic;		  /* the commit assigns the timestamp: see normalise_ts */
	int64_t floor;		  /* INT64_MIN: none */
	const int64_t *avoid; /* timestamps of the batch's other puts to this column */
	int navoid;
} norm_op;

typedef struct norm norm;

/*
 * Begins to normalise a batch.  sorted: the order of its list, or NULL.
 * fixed_ts: the timestamp for automatic cells and the time for deletes without one,
 * which are then given out as in a sorted file; INT64_MIN: the commit assigns them.
 * Returns: WIDE_NOMEM.
 */
extern wide_status normalise_new(wide_batch *b, const op_sorted *sorted, int64_t fixed_ts,
								 norm **out);

/* Returns the next operation, in key order; WIDE_END after the last. */
extern wide_status normalise_next(norm *n, norm_op *out);
extern void normalise_free(norm *n); /* NULL: none */

/* Returns the newest timestamp that was given out for fixed_ts: above it only to avoid others.
 * Those above a floor do not count. */
extern int64_t normalise_newest(const norm *n);

/* Returns the timestamp of an automatic cell: commit_ts or one above the floor, and more as long as
 * it is among the timestamps to avoid. */
extern int64_t normalise_ts(int64_t commit_ts, int64_t floor, const int64_t *avoid, int navoid);

#endif /* WIDE_NORMALISE_H */
