/* segment.h - locks, waiting and poisoning of the shared segment; calls to the host */
#ifndef WIDE_SEGMENT_H
#define WIDE_SEGMENT_H

#include <stdatomic.h>
#include <time.h>
#include "engine/wide.h"
#include "engine/shared/layout.h"

/* WIDE_POISONED when the store is dead (one relaxed load). Every public call starts with it. */
extern wide_status segment_check(wide_db *db);
/* The same, before the process has attached. */
extern wide_status segment_check_raw(segment *seg);

/* Lock or find the store poisoned (also when the last holder died). */
extern wide_status segment_lock(wide_db *db, enum segment_lock which);
extern void segment_unlock(wide_db *db, enum segment_lock which);

/*
 * Wait until *word != seen, in slices of at most 100 ms, asking
 * host->interrupted between them.  timeout_ms < 0: for ever.  WIDE_OK also on
 * timeout: the caller tests its condition again.
 */
extern wide_status segment_wait(wide_db *db, _Atomic uint32_t *word, uint32_t seen, int timeout_ms);

/* Add 1 to the word and wake all that wait on it. */
extern void segment_wake(wide_db *db, _Atomic uint32_t *word);

/* Wake all that wait on the word, without changing it. */
extern void segment_futex_wake(_Atomic uint32_t *word);

/*
 * Free the slots of dead processes (wide_db.sweep), twice a second at most: for loops that wait for
 * somebody.  Across calls, as most waits are a series of short ones.
 */
extern void segment_sweep(wide_db *db);

/*
 * The process is inside a change of shared memory that its death would leave
 * half done (process_slot.in_crit): process_sweep poisons the segment if it dies
 * there.  Sections may nest.
 */
static inline void
segment_enter_critical(wide_db *db)
{
	atomic_fetch_add_explicit(&db->slot->in_crit, 1, memory_order_acq_rel);
}

static inline void
segment_leave_critical(wide_db *db)
{
	atomic_fetch_sub_explicit(&db->slot->in_crit, 1, memory_order_acq_rel);
}

#endif /* WIDE_SEGMENT_H */
