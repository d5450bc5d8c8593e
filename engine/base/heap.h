/* heap.h - a binary heap of pointers, the smallest first */
#ifndef WIDE_HEAP_H
#define WIDE_HEAP_H

#include <stdbool.h>

/* Returns true if a sorts before b. */
typedef bool (*heap_before)(const void *a, const void *b);

/* Restores the heap of n elements after the one at i has grown.  This is the inner loop of merges:
 * it is inlined, and `before` with it if the caller passes a function by its name. */
static inline __attribute__((always_inline)) void
heap_sift(void **heap, int n, int i, heap_before before)
{
	void *moved = heap[i];

	for (;;)
	{
		int child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* Makes a heap of n elements in any order. */
static inline __attribute__((always_inline)) void
heap_build(void **heap, int n, heap_before before)
{
	for (int i = n / 2 - 1; i >= 0; i--)
		heap_sift(heap, n, i, before);
}

#endif /* WIDE_HEAP_H */
