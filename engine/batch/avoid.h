/*
 * avoid.h - timestamps that the commit timestamp of a batch must not be.
 *
 * They were stated for other puts in columns of automatic cells.
 */
#ifndef WIDE_AVOID_H
#define WIDE_AVOID_H

#include <stdint.h>

/* Ascending, each once.  Zero-filled is empty; released with free(ts). */
typedef struct avoid_times
{
	int64_t *ts;
	int n, cap;
} avoid_times;

/* Returns the first timestamp from ts on that is not one of these. */
static inline int64_t
avoid_next(const avoid_times *avoid, int64_t ts)
{
	for (int i = 0; i < avoid->n && avoid->ts[i] <= ts; i++)
		if (avoid->ts[i] == ts && ts < INT64_MAX)
			ts++;
	return ts;
}

#endif /* WIDE_AVOID_H */
