/* bloom.h - Bloom filters over hashes of rows, columns and prefixes of rows */
#ifndef WIDE_BLOOM_H
#define WIDE_BLOOM_H

#include "engine/wide.h"

/* Seeds of hash_xxh3: different kinds of keys share a filter. */
#define BLOOM_SEED_ROW	  0x726f77ull /* an encoded row */
#define BLOOM_SEED_ROWCOL 0x636f6cull /* a ukey */
#define BLOOM_SEED_PREFIX 0x707265ull /* see bloom_prefix_hash */

/* An encoded row that has family-wide deletes; only in filters of ukeys. */
#define BLOOM_SEED_DELETES 0x64656cull

/* A filter under construction, in private memory. */
typedef struct bloom_builder bloom_builder;

/* Returns an empty builder, or NULL if out of memory. */
extern bloom_builder *bloom_builder_new(void);
extern void bloom_builder_free(bloom_builder *f); /* f may be NULL */

/* Empties the builder, for the next filter. */
extern void bloom_builder_reset(bloom_builder *f);

/* Adds a hash.  A hash that repeats the one before is ignored.  Errors: WIDE_NOMEM. */
extern wide_status bloom_builder_add(bloom_builder *f, uint64_t hash);

/* Builds the filter.  *out: in the builder's memory, valid until the next call for the builder;
 * len 0 if no hash was added.  Errors: WIDE_NOMEM. */
extern wide_status bloom_builder_finish(bloom_builder *f, wide_bytes *out);

/* Returns false if the hash was not added to the filter; true if it probably was, or if the bytes
 * are malformed. */
extern bool bloom_may_contain(const uint8_t *data, uint32_t len, uint64_t hash);

/* Sets *hash to the hash of the first n raw bytes of an encoded row.  Returns false if the row has
 * fewer.  The row's last two bytes are taken for its terminator, whatever they are. */
extern bool bloom_prefix_hash(const uint8_t *row, uint32_t rowlen, uint32_t n, uint64_t *hash);

#endif /* WIDE_BLOOM_H */
