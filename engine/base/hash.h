/* hash.h - the hash function for all keys and names */
#ifndef WIDE_HASH_H
#define WIDE_HASH_H

#include "engine/wide.h"

/* Returns XXH3-64 of n bytes.  Different uses have different seeds. */
extern uint64_t hash_xxh3(const void *p, size_t n, uint64_t seed);

#endif /* WIDE_HASH_H */
