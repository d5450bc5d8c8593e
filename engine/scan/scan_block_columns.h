/* scan_block_columns.h - the columns of a block that a scan reads */
#ifndef WIDE_SCAN_BLOCK_COLUMNS_H
#define WIDE_SCAN_BLOCK_COLUMNS_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

/*
 * Fills run->columns with the columns of the run's block that the scan wants or tests in the
 * family, and sets run->all_exist.
 */
extern wide_status scan_block_columns_choose(scan_run *run);

/* Finds the chosen columns in the block.  WIDE_CORRUPT: the block is malformed. */
extern wide_status scan_block_columns_find(scan_run *run);

#endif /* WIDE_SCAN_BLOCK_COLUMNS_H */
