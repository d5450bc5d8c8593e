/*
 * progress.c - how far long work of each process is.
 *
 * Locking: none.  A process writes to its own slot; a reader may get numbers of two steps.
 */
#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"

void
wide_progress_begin(wide_db *db, wide_progress_kind kind, uint32_t object, uint64_t total)
{
	process_slot *s = db->slot;

	atomic_store(&s->progress_kind, WIDE_PROGRESS_NONE);
	atomic_store(&s->progress_object, object);
	atomic_store(&s->progress_total, total);
	atomic_store(&s->progress_done, 0);
	atomic_store(&s->progress_started, host_now(db));
	atomic_store(&s->progress_kind, (uint32_t) kind);
}

void
wide_progress_add(wide_db *db, uint64_t done)
{
	_Atomic uint64_t *p = &db->slot->progress_done;

	atomic_store_explicit(p, atomic_load_explicit(p, memory_order_relaxed) + done,
						  memory_order_relaxed);
}

void
wide_progress_end(wide_db *db)
{
	if (atomic_load_explicit(&db->slot->progress_kind, memory_order_relaxed) != 0)
		atomic_store(&db->slot->progress_kind, WIDE_PROGRESS_NONE);
}

int
wide_progress_list(wide_db *db, wide_progress *out, int max)
{
	const process_slot *slots = layout_processes(db);
	int n = 0;

	for (uint32_t i = 0; i < layout_processes_used(db) && n < max; i++)
	{
		wide_progress p = {.kind = (wide_progress_kind) atomic_load(&slots[i].progress_kind),
						   .pid = (int) atomic_load(&slots[i].pid),
						   .object = atomic_load(&slots[i].progress_object),
						   .total = atomic_load(&slots[i].progress_total),
						   .done = atomic_load(&slots[i].progress_done),
						   .started = atomic_load(&slots[i].progress_started)};

		if (p.kind != WIDE_PROGRESS_NONE && p.pid != 0)
			out[n++] = p;
	}
	return n;
}
