/* hash.h - the hash function for all keys and names */
#ifndef WIDE_HASH_H
#define WIDE_HASH_H

#include "engine/wide.h"

/* Returns XXH3-64 of n bytes.  Different uses have different seeds. */
extern uint64_t hash_xxh3(const void *p, size_t n, uint64_t seed);

/* Returns true if that is the stored checksum of n bytes of a file.  Always true in a build for
 * fuzzing, where no damage would get past it otherwise. */
static inline bool
hash_verify(const void *p, size_t n, uint64_t seed, uint64_t stored)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return true;
#else
	return hash_xxh3(p, n, seed) == stored;
#endif
}

#endif /* WIDE_HASH_H */
