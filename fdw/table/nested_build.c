/*
 * nested_build.c
 *		Arrays, composites, ranges and multiranges from their parts.
 */
#include "postgres.h"

#include "fdw/table/nested_build.h"

#include "access/htup_details.h"
#include "utils/array.h"
#include "utils/elog.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"

#include "fdw/store/compat.h"
#include "fdw/table/type_shape.h"

const char *
wt_nested_build_dimensions(int ndim, const int *dims, const int *lower, int *count)
{
	int64 n = 1;

	for (int i = 0; i < ndim; i++)
	{
		if (dims[i] <= 0)
			return "a dimension of the array has no elements";
		if ((int64) lower[i] + dims[i] > PG_INT32_MAX)
			return "an upper bound of the array is too large";
		n *= dims[i];
		if (n > (int64) MaxArraySize)
			return "the array has too many elements";
	}
	*count = ndim == 0 ? 0 : (int) n;
	return NULL;
}

Datum
wt_nested_build_composite(TupleDesc desc, Datum *values, bool *nulls)
{
	HeapTuple tuple = heap_form_tuple(desc, values, nulls);
	Datum value = heap_copy_tuple_as_datum(tuple, desc);

	heap_freetuple(tuple);
	return value;
}

/*
 * Returns the cached type of a range.  If its canonical function must not be called: a copy
 * without one, in *copy.
 */
static TypeCacheEntry *
range_type(Oid typid, TypeCacheEntry *copy)
{
	TypeCacheEntry *entry = lookup_type_cache(typid, TYPECACHE_RANGE_INFO);

	if (entry->rngelemtype == NULL)
		elog(ERROR, "type %u is not a range type", typid);
	if (!OidIsValid(entry->rng_canonical_finfo.fn_oid) ||
		wt_type_shape_is_native(entry->rng_canonical_finfo.fn_oid))
		return entry;
	*copy = *entry;
	copy->rng_canonical_finfo.fn_oid = InvalidOid;
	/* what the comparison keeps there would be lost with the copy */
	copy->rng_cmp_proc_finfo.fn_extra = NULL;
	copy->rng_cmp_proc_finfo.fn_mcxt = CurrentMemoryContext;
	return copy;
}

/* A canonical function finds that a bound is out of its range, for example. */
static void
corrupt_context(void *arg)
{
	if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_DATA_EXCEPTION)
		errcode(ERRCODE_DATA_CORRUPTED);
}

const char *
wt_nested_build_range(Oid typid, const WtNestedRange *range, Datum *value)
{
	TypeCacheEntry copy, *type = range_type(typid, &copy);
	ErrorContextCallback context = {error_context_stack, corrupt_context, NULL};
	RangeBound bound[2];

	for (int i = 0; i < 2; i++)
		bound[i] = (RangeBound) {.val = range->bounds[i],
								 .infinite = range->infinite[i],
								 .inclusive = range->inclusive[i] && !range->infinite[i],
								 .lower = i == 0};
	if (!range->empty && range_cmp_bound_values(type, &bound[0], &bound[1]) > 0)
		return "the lower bound of the range is above the upper bound";
	error_context_stack = &context;
	*value = RangeTypePGetDatum(wt_make_range(type, &bound[0], &bound[1], range->empty));
	error_context_stack = context.previous;
	return NULL;
}

const char *
wt_nested_build_multirange(Oid typid, Datum *ranges, int n, Datum *value)
{
	TypeCacheEntry *entry = lookup_type_cache(typid, TYPECACHE_MULTIRANGE_INFO);
	TypeCacheEntry copy;

	if (entry->rngtype == NULL)
		elog(ERROR, "type %u is not a multirange type", typid);
	/* sorts and joins them */
	*value = MultirangeTypePGetDatum(make_multirange(typid,
													 range_type(entry->rngtype->type_id, &copy), n,
													 (RangeType **) ranges));
	return NULL;
}
