/* array.h - growing arrays in private memory */
#ifndef WIDE_ARRAY_H
#define WIDE_ARRAY_H

#include "engine/wide.h"

/* Parts that readers and compactions share; floors are sorted. */
extern wide_status array_grow(void **array, int n, int *cap, size_t size); /* room for one more */

#endif /* WIDE_ARRAY_H */
