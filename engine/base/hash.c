/* hash.c - the hash function for all keys and names */
#include <xxhash.h>
#include "engine/base/hash.h"

uint64_t
hash_xxh3(const void *p, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, n, seed);
}
