/* injection_point.h - named points in the commit, flush, compaction and recovery paths */
#ifndef WIDE_INJECTION_POINT_H
#define WIDE_INJECTION_POINT_H

#include "engine/wide.h"

/*
 * A named point in the commit, flush, compaction and recovery paths.  Does
 * nothing unless the environment variable WIDE_KILL_POINT is "name" or
 * "name:n": then the process kills itself with SIGKILL the n-th time it gets
 * there; or injection_point_set_hook was set (tests: pause, switch process, count).
 * One relaxed load when unused.
 */
extern void injection_point(const char *name);
extern void injection_point_set_hook(void (*fn)(void *arg, const char *name), void *arg);

#endif /* WIDE_INJECTION_POINT_H */
