/* normalise.h - what is left of a batch's operations when all get one sequence number */
#ifndef WIDE_NORMALISE_H
#define WIDE_NORMALISE_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/batch/op_list.h"

/* One operation of a normalised batch. */
typedef struct norm_op
{
	wide_family_id family;
	entry e; /* seq 0; ts is provisional when automatic */
	bool automatic;
	int64_t floor;		  /* INT64_MIN none */
	const int64_t *avoid; /* timestamps of other puts of the batch in this column */
	int navoid;
} norm_op;
typedef struct norm norm;
/* fixed_ts: give it to automatic cells now; INT64_MIN: leave that to the commit */
extern wide_status normalise_new(wide_batch *b, const op_sorted *sorted, int64_t fixed_ts,
								 norm **out);
extern wide_status normalise_next(norm *n, norm_op *out); /* WIDE_END after the last */
extern void normalise_free(norm *n);

/* The timestamp that an automatic cell gets. */
extern int64_t normalise_ts(int64_t commit_ts, int64_t floor, const int64_t *avoid, int navoid);

#endif /* WIDE_NORMALISE_H */
