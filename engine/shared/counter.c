/* counter.c - statistics counters of each process */
#include <stdatomic.h>
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"

uint64_t
stat_sum(wide_db *db, enum stat_counter c)
{
	uint64_t	sum = 0;
	slot	   *slots = shm_slots(db);

	for (uint32_t i = 0; i < shm_slots_used(db); i++)
		sum += atomic_load_explicit(&slots[i].counters[c], memory_order_relaxed);
	return sum;
}
