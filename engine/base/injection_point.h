/* injection_point.h - named points at which tests stop, kill or count */
#ifndef WIDE_INJECTION_POINT_H
#define WIDE_INJECTION_POINT_H

#include <stdatomic.h>
#include "engine/wide.h"

/* True if wide_on_injection_point has set a function. */
extern _Atomic bool injection_point_set;
/* Calls the function; use injection_point. */
extern void injection_point_run(const char *name);

/*
 * Marks a point in the commit, snapshot, flush, compaction, manifest or recovery
 * path.  Costs one relaxed load while no function is set.
 */
static inline void
injection_point(const char *name)
{
	if (__builtin_expect(atomic_load_explicit(&injection_point_set, memory_order_relaxed), 0))
		injection_point_run(name);
}

#endif /* WIDE_INJECTION_POINT_H */
