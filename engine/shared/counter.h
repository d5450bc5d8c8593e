/* counter.h - statistics counters of each process */
#ifndef WIDE_COUNTER_H
#define WIDE_COUNTER_H

#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/shared/layout.h"

enum stat_counter
{
	STAT_COMMITS, STAT_CELLS_WRITTEN, STAT_LOG_BYTES, STAT_GETS, STAT_SCANS, STAT_ROWS_READ, STAT_CELLS_READ,
	STAT_CACHE_HITS, STAT_CACHE_MISSES, STAT_BLOOM_CHECKS, STAT_BLOOM_SKIPS, STAT_FLUSHES, STAT_FLUSH_BYTES,
	STAT_COMPACTIONS, STAT_COMPACT_READ, STAT_COMPACT_WRITE, STAT_FILES_DELETED, STAT_STALLS, STAT_STALL_US,
	STAT_ROW_LOCK_WAITS, STAT_SPILLS, STAT_SPILL_BYTES, STAT_COUNT
};

static inline void stat_add(wide_db *db, enum stat_counter c, uint64_t n)
{
	atomic_store_explicit(&db->slot->counters[c],
						  atomic_load_explicit(&db->slot->counters[c], memory_order_relaxed) + n, memory_order_relaxed);
}
extern uint64_t stat_sum(wide_db *db, enum stat_counter c);

#endif							/* WIDE_COUNTER_H */
