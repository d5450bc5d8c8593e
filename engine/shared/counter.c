/* counter.c - sums of the statistics counters of all processes */
#include <stdatomic.h>
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"

uint64_t
counter_sum(wide_db *db, enum counter_id c)
{
	uint64_t sum = 0;
	process_slot *slots = layout_processes(db);

	for (uint32_t i = 0; i < layout_processes_used(db); i++)
		sum += atomic_load_explicit(&slots[i].counters[c], memory_order_relaxed);
	return sum;
}
