/*
 * nested_build.h
 *		Arrays, composites, ranges and multiranges from their parts.
 */
#ifndef WT_NESTED_BUILD_H
#define WT_NESTED_BUILD_H

#include "access/tupdesc.h"
#include "utils/array.h"

#include "fdw/table/type_shape.h"

/* One range while it is read. */
typedef struct WtNestedRange
{
	bool empty;
	bool infinite[2]; /* lower, upper */
	bool inclusive[2];
	Datum bounds[2];
} WtNestedRange;

/*
 * Checks the dimensions of an array.
 * Requires: ndim <= MAXDIM.
 * Returns: NULL and *count, the number of elements; or the reason why there is no such array.
 */
extern const char *wt_nested_build_dimensions(int ndim, const int *dims, const int *lower,
											  int *count);

/* Returns a composite value in memory of its own, which the caller may free. */
extern Datum wt_nested_build_composite(TupleDesc desc, Datum *values, bool *nulls);

/*
 * The functions below return NULL and *value; or the reason why there is no such range.
 * They call a range's canonical function only if it is native (wt_type_shape_is_native), and
 * otherwise take the bounds as they are: they were made canonical when they were written.
 * Requires: typid is the range's, the multirange's type, and no domain.
 */
extern const char *wt_nested_build_range(Oid typid, const WtNestedRange *range, Datum *value);
extern const char *wt_nested_build_multirange(Oid typid, Datum *ranges, int n, Datum *value);

#endif /* WT_NESTED_BUILD_H */
