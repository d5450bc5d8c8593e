/* injection_point.h - named points at which tests stop, kill or count */
#ifndef WIDE_INJECTION_POINT_H
#define WIDE_INJECTION_POINT_H

#include <stdatomic.h>
#include "engine/wide.h"

/* A function is set: wide_on_injection_point. */
extern _Atomic bool injection_point_set;
/* Calls it. */
extern void injection_point_run(const char *name);

/*
 * A point in the commit, snapshot, flush, compaction, manifest and recovery
 * paths, by its name.  One relaxed load while no function is set.
 */
static inline void
injection_point(const char *name)
{
	if (__builtin_expect(atomic_load_explicit(&injection_point_set, memory_order_relaxed), 0))
		injection_point_run(name);
}

#endif /* WIDE_INJECTION_POINT_H */
