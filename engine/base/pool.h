/* pool.h - recycled private memory for short-lived structures */
#ifndef WIDE_POOL_H
#define WIDE_POOL_H

#include "engine/wide.h"

/*
 * Zeroed memory for what each short scan makes and frees; NULL: there is none.
 * Pieces of up to 4 KB are kept for the next one, a few of each size.  n has to
 * be the same when it is freed.
 */
extern void *pool_alloc(size_t n);
extern void pool_free(void *p, size_t n);
/* Sanitizers must see each allocation and release. */
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
