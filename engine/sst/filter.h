/* filter.h - Bloom filters */
#ifndef WIDE_FILTER_H
#define WIDE_FILTER_H

#include "engine/wide.h"

/* Blocked bloom filter, 64-byte blocks.  hash: hash_xxh3 of the filtered bytes. */
typedef struct filter_builder filter_builder;
extern filter_builder *filter_builder_new(int bits_per_key);
extern void filter_builder_free(filter_builder *f);
extern void filter_builder_reset(filter_builder *f);
extern wide_status filter_builder_add(filter_builder *f, uint64_t hash);
/* len 0 when nothing was added */
extern wide_status filter_builder_finish(filter_builder *f, wide_bytes *out);
/* true on malformed bytes */
extern bool filter_may_contain(const uint8_t *data, uint32_t len, uint64_t hash);
#define FILTER_SEED_ROW	   0x726f77ull
#define FILTER_SEED_ROWCOL 0x636f6cull
#define FILTER_SEED_PREFIX 0x707265ull

/* In a rowcol filter, of the encoded row: the row has family-wide deletes. */
#define FILTER_SEED_DELETES 0x64656cull

/* Hash of the first n raw bytes of an encoded row for the prefix filter; false when it has
 * fewer. */
extern bool filter_prefix_hash(const uint8_t *row, uint32_t rowlen, uint32_t n, uint64_t *hash);

#endif /* WIDE_FILTER_H */
