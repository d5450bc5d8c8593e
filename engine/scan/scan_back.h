/* scan_back.h - rows that a reverse scan takes straight from blocks */
#ifndef WIDE_SCAN_BACK_H
#define WIDE_SCAN_BACK_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

/*
 * In a reverse scan whose range is open: reads ahead the rows that come next, if they can be taken
 * as they are.
 * Returns: WIDE_OK: rows were read ahead (door.nahead), or the next row has to be read entry by
 * entry; WIDE_INTERRUPTED: the call can be repeated.
 * Requires: scan_block_next has read nothing ahead.
 */
extern wide_status scan_back_next(scan_state *s);

#endif /* WIDE_SCAN_BACK_H */
