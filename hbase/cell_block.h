/*
 * cell_block.h - cells as KeyValueCodec writes them
 *
 * A cell is: 4 bytes length of the rest, 4 key length, 4 value length; the key: 2 row length, row,
 * 1 family length, family, qualifier, 8 timestamp, 1 type; the value.  Numbers are big-endian.
 */
#ifndef HB_CELL_BLOCK_H
#define HB_CELL_BLOCK_H

#include "hbase/memory.h"

#define HB_CELL_BLOCK_CODEC "org.apache.hadoop.hbase.codec.KeyValueCodec"

/* The bytes that a cell takes besides its row, family, qualifier and value. */
#define HB_CELL_BLOCK_FIXED 24

/*
 * Takes the first cell of *block; row and cell point into it.  Returns false if the bytes are not a
 * cell: *block is unchanged then.
 */
extern bool hb_cell_block_next(hb_bytes *block, hb_bytes *row, hb_cell *cell);

/* Returns the bytes of the first cell, which is not looked into; 0: they are not all there. */
extern size_t hb_cell_block_length(hb_bytes block);

/*
 * Appends a cell.
 * Requires: row at most HB_MAX_ROW and family at most HB_MAX_FAMILY bytes long; all of it below
 * 1 GB.
 * Errors: HB_NOMEM.
 */
extern hb_status hb_cell_block_append(const hb_host *host, hb_buffer *block, hb_bytes row,
									  const hb_cell *cell);

#endif /* HB_CELL_BLOCK_H */
