/*
 * counter.h - statistics counters.
 *
 * Each process counts in its own slot without atomic read-modify-write.  A slot's
 * counters outlive its process, so the sums only rise while the segment lives, until
 * they are reset.  To what the slots have, the segment adds what was counted before it was
 * formatted, and subtracts what was counted before the reset.
 */
#ifndef WIDE_COUNTER_H
#define WIDE_COUNTER_H

#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/shared/layout.h"

/* In the order in which the host's file has them: new ones only at the end. */
enum counter_id
{
	COUNTER_COMMITS,
	COUNTER_CELLS_WRITTEN,
	COUNTER_LOG_BYTES,
	COUNTER_GETS,
	COUNTER_SCANS,
	COUNTER_ROWS_READ,
	COUNTER_CELLS_READ,
	COUNTER_CACHE_HITS,
	COUNTER_CACHE_MISSES,
	COUNTER_BLOOM_CHECKS,
	COUNTER_BLOOM_SKIPS,
	COUNTER_FLUSHES,
	COUNTER_FLUSH_BYTES,
	COUNTER_COMPACTIONS,
	COUNTER_COMPACT_READ,
	COUNTER_COMPACT_WRITE,
	COUNTER_FILES_DELETED,
	COUNTER_STALLS,
	COUNTER_STALL_US,
	COUNTER_ROW_LOCK_WAITS,
	COUNTER_SPILLS,
	COUNTER_SPILL_BYTES,
	COUNTER_COUNT
};

/* Adds n to a counter of this process. */
static inline void
counter_add(wide_db *db, enum counter_id c, uint64_t n)
{
	atomic_store_explicit(&db->slot->counters[c],
						  atomic_load_explicit(&db->slot->counters[c], memory_order_relaxed) + n,
						  memory_order_relaxed);
}

/* Returns the sum of a counter over all processes since the last reset. */
extern uint64_t counter_sum(wide_db *db, enum counter_id c);

#endif /* WIDE_COUNTER_H */
