/* array.h - growing arrays in private memory */
#ifndef WIDE_ARRAY_H
#define WIDE_ARRAY_H

#include "engine/wide.h"

/*
 * Makes room for one more element in an array of n elements of this size, allocated
 * for *cap.  May move the array; new elements are not initialised.  An array starts
 * as NULL with *cap 0 and is released with free.
 * Returns: WIDE_OK or WIDE_NOMEM; the array is as it was then.
 */
extern wide_status array_grow(void **array, int n, int *cap, size_t size);

#endif /* WIDE_ARRAY_H */
