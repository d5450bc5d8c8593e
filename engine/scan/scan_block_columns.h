/* scan_block_columns.h - the columns of a block that a scan reads */
#ifndef WIDE_SCAN_BLOCK_COLUMNS_H
#define WIDE_SCAN_BLOCK_COLUMNS_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

/* The columns of the block under r->w that the family's part of the scan wants or tests. */
extern wide_status scan_block_columns_choose(scan_block *r, const scan_family *f);

/* Where the columns are in the block. */
extern wide_status scan_block_columns_find(scan_block *r);

#endif /* WIDE_SCAN_BLOCK_COLUMNS_H */
