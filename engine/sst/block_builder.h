/* block_builder.h - makes a block (block.h) from entries in key order */
#ifndef WIDE_BLOCK_BUILDER_H
#define WIDE_BLOCK_BUILDER_H

#include "engine/wide.h"
#include "engine/base/entry.h"

/* A block under construction, in private memory. */
typedef struct block_builder block_builder;

/* Returns an empty builder, or NULL if out of memory. */
extern block_builder *block_builder_new(void);
extern void block_builder_free(block_builder *b); /* b may be NULL */

/* Empties the builder, for the next block. */
extern void block_builder_reset(block_builder *b);

/*
 * Adds an entry, which is copied.
 * Requires: it is above the entry before in key order (not checked).
 * Errors: WIDE_LIMIT, WIDE_NOMEM.
 */
extern wide_status block_builder_add(block_builder *b, const entry *e);

/* The same if the caller knows whether the entry begins a row.  new_row: its row is not that of
 * the entry added last, to this block or to an earlier one. */
extern wide_status block_builder_add_row(block_builder *b, const entry *e, bool new_row);

extern uint32_t block_builder_count(const block_builder *b); /* entries */

/* Returns an upper bound of the bytes of the finished block. */
extern size_t block_builder_size(block_builder *b);

/* Returns a less exact upper bound, without computing anything.  It holds as long as no entry adds
 * more than the bytes of its key and value and 64. */
extern size_t block_builder_bound(const block_builder *b);

/* Returns what block_builder_size() would return after adding the entry. */
extern size_t block_builder_size_with(const block_builder *b, const entry *e);

/* Returns approximately how many bytes of the block are the last row's. */
extern size_t block_builder_row_size(block_builder *b);

/*
 * Builds the block.  goes_on: the next block of the file begins with the last row of this one.
 * *out: the block, in the builder's memory; valid until the next call for the builder.
 * The builder must be reset before the next entry is added.
 * Errors: WIDE_NOMEM.
 */
extern wide_status block_builder_finish(block_builder *b, bool goes_on, wide_bytes *out);

#endif /* WIDE_BLOCK_BUILDER_H */
