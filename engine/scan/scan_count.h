/* scan_count.h - the statistics of a scan */
#ifndef WIDE_SCAN_COUNT_H
#define WIDE_SCAN_COUNT_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

/*
 * Adds what the scan has done since the last call to the store's counters.  The merges forget what
 * they remember of the ranges read so far (merge_restart).
 */
extern void scan_count(scan_state *s);

#endif /* WIDE_SCAN_COUNT_H */
