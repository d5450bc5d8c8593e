/* block_builder.h - makes a block (block.h) from entries in key order */
#ifndef WIDE_BLOCK_BUILDER_H
#define WIDE_BLOCK_BUILDER_H

#include "engine/wide.h"
#include "engine/base/entry.h"

/* Built in private memory. */
typedef struct block_builder block_builder;
extern block_builder *block_builder_new(void);
extern void block_builder_free(block_builder *b);
extern void block_builder_reset(block_builder *b);

/* Entries in key order. */
extern wide_status block_builder_add(block_builder *b, const entry *e);

/* new_row: it is not of the row of the last one, whatever block that is in. */
extern wide_status block_builder_add_row(block_builder *b, const entry *e, bool new_row);

/* The finished block has at most so many bytes. */
extern size_t block_builder_size(block_builder *b);

/* The same or more, and cheap; as far as an entry adds no more than its bytes and 64. */
extern size_t block_builder_bound(const block_builder *b);
extern uint32_t block_builder_count(const block_builder *b);

/* The same with this entry too. */
extern size_t block_builder_size_with(const block_builder *b, const entry *e);

/* The bytes of the last row, about. */
extern size_t block_builder_row_size(block_builder *b);

/* goes_on: what follows in the file begins with the last row.  Valid until reset. */
extern wide_status block_builder_finish(block_builder *b, bool goes_on, wide_bytes *out);

#endif /* WIDE_BLOCK_BUILDER_H */
