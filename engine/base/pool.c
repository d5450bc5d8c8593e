/*
 * pool.c - recycled private memory for short-lived structures.
 *
 * Freed pieces are kept in one list for each size class.  The lists belong to the
 * thread: the threads of the unit tests stand for processes.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/base/pool.h"

#define SPARE_UNIT	((size_t) 256)
#define SPARE_SIZES 16 /* 256, 512, ... 4096 bytes */
#define SPARE_KEPT	8  /* pieces kept of each size: 272 KB in all */

typedef struct spare_list
{
	int n;
	void *kept[SPARE_KEPT];
} spare_list;

static _Thread_local spare_list spare[SPARE_SIZES];

void *
pool_alloc(size_t n)
{
	size_t units = (n + SPARE_UNIT - 1) / SPARE_UNIT;
	spare_list *l;
	void *p;

	if (POOL_OFF || units == 0 || units > SPARE_SIZES)
		return calloc(1, n);
	l = &spare[units - 1];
	p = l->n > 0 ? l->kept[--l->n] : malloc(units * SPARE_UNIT);
	return p == NULL ? NULL : memset(p, 0, n);
}

void
pool_free(void *p, size_t n)
{
	size_t units = (n + SPARE_UNIT - 1) / SPARE_UNIT;
	spare_list *l;

	if (p == NULL)
		return;
	if (POOL_OFF || units == 0 || units > SPARE_SIZES)
	{
		free(p);
		return;
	}
	l = &spare[units - 1];
	if (l->n < SPARE_KEPT)
		l->kept[l->n++] = p;
	else
		free(p);
}
