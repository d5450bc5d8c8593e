/*
 * process.c - process slots.
 *
 * A slot belongs to the process whose pid it holds, from process_attach to
 * process_detach.  Slots of processes that died without wide_detach are not taken over,
 * because the host ends with them; see "Crash only" in doc/internals/shared-segment.md.
 *
 * Locking: none.  Slots are taken by compare-and-swap on pid.
 */
#include <stdatomic.h>
#include <unistd.h>
#include "engine/shared/process.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"

bool
process_attach(wide_db *db)
{
	process_slot *slots = layout_processes(db);
	uint32_t n = db->seg->config.max_processes;
	uint32_t i;

	for (i = 0; i < n; i++)
	{
		uint32_t free_pid = 0;

		if (atomic_load_explicit(&slots[i].pid, memory_order_relaxed) == 0 &&
			atomic_compare_exchange_strong(&slots[i].pid, &free_pid, (uint32_t) getpid()))
			break;
	}
	if (i == n)
		return false;
	/* loops over all processes must see the slot before anything is stored in it */
	for (uint32_t used = atomic_load(&db->seg->slots_used); used <= i;)
		if (atomic_compare_exchange_weak(&db->seg->slots_used, &used, i + 1))
			break;
	db->slot = &slots[i];
	db->slot_index = i;
	return true;
}

void
process_detach(wide_db *db)
{
	process_slot *s = db->slot;
	bool ended;

	if (s == NULL)
		return;
	ended = atomic_load(&s->external) != 0;
	atomic_store(&s->owner, 0);
	atomic_store(&s->pin, 0);
	atomic_store(&s->pin_last, 0);
	atomic_store(&s->mem_pin, 0);
	atomic_store(&s->mem_pin_last, 0);
	atomic_store(&s->snapshot, 0);
	atomic_store(&s->external, 0);
	atomic_store(&s->prepare_lsn, 0);
	/* a process that exits while it waits for a row has not called wide_row_lock_waits(0); the
	 * serial becomes even */
	s->wait_table = 0;
	atomic_fetch_add(&s->wait_serial, atomic_load(&s->wait_serial) & 1 ? 1 : 2);
	atomic_store(&s->progress_kind, 0);
	atomic_store(&s->in_crit, 0);
	if (ended)
		segment_wake(db, &s->prepare_done);
	atomic_store(&s->pid, 0);
	db->slot = NULL;
}

void
wide_set_owner(wide_db *db, uint64_t owner)
{
	atomic_store(&db->slot->owner, owner);
}
