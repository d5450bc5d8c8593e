/* pool.h - recycled private memory for short-lived structures */
#ifndef WIDE_POOL_H
#define WIDE_POOL_H

#include "engine/wide.h"

/*
 * Returns n bytes of zeroed memory, or NULL if out of memory.  For structures that
 * each short scan makes and frees: freed pieces of up to 4 KB are kept for the next
 * pool_alloc, a few of each size.
 */
extern void *pool_alloc(size_t n);
/* Frees memory of pool_alloc(n).  p may be NULL. */
extern void pool_free(void *p, size_t n);

/* 1 = nothing is kept: sanitizers must see each allocation and release. */
#if defined(__SANITIZE_ADDRESS__)
#define POOL_OFF 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_OFF 1
#endif
#endif
#ifndef POOL_OFF
#define POOL_OFF 0
#endif

#endif /* WIDE_POOL_H */
