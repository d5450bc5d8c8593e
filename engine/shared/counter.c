/* counter.c - sums of the statistics counters of all processes, saved and reset */
#include <stdatomic.h>
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"

static uint64_t
sum_of_slots(wide_db *db, enum counter_id c)
{
	uint64_t sum = 0;
	process_slot *slots = layout_processes(db);

	for (uint32_t i = 0; i < layout_processes_used(db); i++)
		sum += atomic_load_explicit(&slots[i].counters[c], memory_order_relaxed);
	return sum;
}

uint64_t
counter_sum(wide_db *db, enum counter_id c)
{
	return sum_of_slots(db, c) +
		   atomic_load_explicit(&db->seg->counters_before[c], memory_order_relaxed);
}

int
wide_counters_save(wide_db *db, uint64_t *values, int64_t *since)
{
	for (int c = 0; c < COUNTER_COUNT; c++)
		values[c] = counter_sum(db, (enum counter_id) c);
	*since = atomic_load(&db->seg->counters_reset);
	return COUNTER_COUNT;
}

void
wide_counters_load(wide_db *db, const uint64_t *values, int n, int64_t since)
{
	for (int c = 0; c < COUNTER_COUNT && c < n; c++)
		atomic_store(&db->seg->counters_before[c], values[c]);
	atomic_store(&db->seg->counters_reset, since);
}

void
wide_counters_reset(wide_db *db, int64_t now)
{
	for (int c = 0; c < COUNTER_COUNT; c++)
		atomic_store(&db->seg->counters_before[c], -sum_of_slots(db, (enum counter_id) c));
	atomic_store(&db->seg->counters_reset, now);
}
