/* injection_point.c - named points at which tests stop, kill or count */
#include "engine/base/injection_point.h"

_Atomic bool injection_point_set;
static void (*point_fn)(void *arg, const char *name);
static void *point_arg;

void
wide_on_injection_point(void (*fn)(void *arg, const char *name), void *arg)
{
	point_fn = fn;
	point_arg = arg;
	atomic_store(&injection_point_set, fn != NULL);
}

void
injection_point_run(const char *name)
{
	if (point_fn != NULL)
		point_fn(point_arg, name);
}
