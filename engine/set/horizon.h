/* horizon.h - what the snapshots of all processes still need, and from where the log is needed */
#ifndef WIDE_HORIZON_H
#define WIDE_HORIZON_H

#include "engine/wide.h"

/* Returns the horizon: no reader, now or later, has a snapshot below it.  What a newer entry up to
 * the horizon masks or displaces is not needed. */
extern uint64_t horizon_oldest(wide_db *db);

/* The sequence numbers at which the snapshots of one process are, both included. */
typedef struct snapshot_range
{
	uint64_t first, last;
} snapshot_range;

/* Every snapshot, now or later, is in one of the ranges, or at `fresh` or above. */
typedef struct horizon_ranges
{
	uint64_t oldest; /* as horizon_oldest */
	uint64_t fresh;
	snapshot_range *held;
	int nheld;
} horizon_ranges;

/* Reads the horizon and the ranges above it.  Returns: WIDE_OK (then the caller calls
 * horizon_free), WIDE_NOMEM, or WIDE_POISONED. */
extern wide_status horizon_read(wide_db *db, horizon_ranges *h);
extern void horizon_free(horizon_ranges *h);

/*
 * Returns the LSN from which on recovery needs the log, never lower than it is now.
 * flushed_memtable: index of a memtable that the edit at hand replaces by files;
 * UINT32_MAX: none.
 */
extern uint64_t horizon_restart_lsn(wide_db *db, uint32_t flushed_memtable);

#endif /* WIDE_HORIZON_H */
