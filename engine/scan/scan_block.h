/* scan_block.h - rows that a scan takes straight from a block */
#ifndef WIDE_SCAN_BLOCK_H
#define WIDE_SCAN_BLOCK_H

#include "engine/wide.h"
#include "engine/base/tunable.h"
#include "engine/scan/scan_state.h"

/* All rows are merged one by one instead, with the same result. */
TUNABLE(bool, scan_block_off, false);

extern void scan_block_init(scan_state *s);

/* Rows that can be taken as they are, if that is what comes next: s->ahead.  WIDE_END: the
 * ranges are over. */
extern wide_status scan_block_next(scan_state *s);

/* Stand behind the row that was given out last. */
extern wide_status scan_block_drop(scan_state *s);
extern void scan_block_free(scan_state *s);

/* Bring the statistics up to date. */
extern void scan_block_count(scan_state *s);

/* Forget it, with what was read ahead. */
extern void scan_block_restart(scan_state *s);

#endif /* WIDE_SCAN_BLOCK_H */
