/* horizon.h - which versions snapshots still need, and from where the log is needed */
#ifndef WIDE_HORIZON_H
#define WIDE_HORIZON_H

#include "engine/wide.h"

/* The oldest LSN that must stay readable: versions <= this that are masked may go. */
extern uint64_t horizon_oldest(wide_db *db);

/* The same, and what lies between the snapshots.  A reader has a snapshot in one of the ranges,
 * or fresh or newer. */
typedef struct snapshot_range
{
	uint64_t first, last;
} snapshot_range;

typedef struct horizon_ranges
{
	uint64_t oldest; /* horizon_oldest */
	uint64_t fresh;
	snapshot_range *held;
	int nheld;
} horizon_ranges;

extern wide_status horizon_read(wide_db *db, horizon_ranges *h);
extern void horizon_free(horizon_ranges *h);

/* Where the log must be kept from: for flush, given the memtable it removes. */
extern uint64_t horizon_restart_lsn(wide_db *db, uint32_t flushed_memtable);

#endif /* WIDE_HORIZON_H */
