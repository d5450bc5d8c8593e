/* process.h - process slots: attaching processes, detecting dead ones */
#ifndef WIDE_PROCESS_H
#define WIDE_PROCESS_H

#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Free the slots of dead processes; poison when one died inside something. */
extern void process_sweep(wide_db *db);

static inline void
process_enter(wide_db *db)
{
	atomic_fetch_add_explicit(&db->slot->in_crit, 1, memory_order_acq_rel);
}

static inline void
process_leave(wide_db *db)
{
	atomic_fetch_sub_explicit(&db->slot->in_crit, 1, memory_order_acq_rel);
}

/* Takes a free slot, or that of a dead process.  Returns false if there is none, or the store is
 * poisoned. */
extern bool process_attach(wide_db *db);
/* Gives this process's slot back; harmless without one. */
extern void process_detach(wide_db *db);

#endif /* WIDE_PROCESS_H */
