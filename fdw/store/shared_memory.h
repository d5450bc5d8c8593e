/*
 * shared_memory.h
 *		The engine's chunks of shared memory for row locks, as dynamic shared memory segments.
 */
#ifndef WT_SHARED_MEMORY_H
#define WT_SHARED_MEMORY_H

#include "engine/wide.h"

/* Adds the callbacks to *host. */
extern void wt_shared_memory_fill(wide_host *host);

#endif /* WT_SHARED_MEMORY_H */
