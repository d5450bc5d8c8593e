/* clock.h - the monotonic clock */
#ifndef WIDE_CLOCK_H
#define WIDE_CLOCK_H

#include <stdint.h>
#include <time.h>
#include "engine/wide.h"

/* Returns microseconds since an arbitrary time in the past. */
static inline int64_t
clock_monotonic_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#endif /* WIDE_CLOCK_H */
