/* scan_count.h - what scans have done, for the statistics of the store */
#ifndef WIDE_SCAN_COUNT_H
#define WIDE_SCAN_COUNT_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

extern void scan_count(scan_state *s); /* bring the store's statistics up to date */

#endif /* WIDE_SCAN_COUNT_H */
