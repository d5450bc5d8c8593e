/* array.c - growing arrays in private memory */
#include <stdlib.h>
#include "engine/base/array.h"
#include "engine/base/status.h"

wide_status
array_grow(void **array, int n, int *cap, size_t size)
{
	int want;
	void *p;

	if (n < *cap)
		return WIDE_OK;
	want = *cap == 0 ? 16 : *cap * 2;
	p = realloc(*array, (size_t) want * size);
	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	*array = p;
	*cap = want;
	return WIDE_OK;
}
