/*
 * segment.h - locks, waiting, critical sections and poisoning of the shared segment.
 *
 * The engine is crash only: a death that may have left something half done poisons
 * the segment, and nothing is repaired in place.  Such a death is detected
 *   - by the next process that wants the mutex which the dead one held (robust
 *     mutexes: EOWNERDEAD; the mutex is never marked consistent, so all later
 *     attempts get ENOTRECOVERABLE);
 *   - by wide_detach, in a process that exits in a critical section.
 * After any other death without wide_detach the host ends all processes, too.  Until
 * then they may wait in vain for the dead one: each wait ends with a signal.
 * Process-shared condition variables and read-write locks are not used, because they
 * are not robust.  No process unmaps the segment: the kernel could not mark the mutexes
 * of a process that dies after that.
 */
#ifndef WIDE_SEGMENT_H
#define WIDE_SEGMENT_H

#include <stdatomic.h>
#include <time.h>
#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Returns WIDE_POISONED if the segment is poisoned; costs one relaxed load.  Public functions begin
 * with it. */
extern wide_status segment_check(wide_db *db);

/*
 * Takes a lock, in the order of layout.h.  Errors: WIDE_POISONED, also when the
 * last holder died.
 */
extern wide_status segment_lock(wide_db *db, enum segment_lock which);
extern void segment_unlock(wide_db *db, enum segment_lock which);

/*
 * Waits (what: for what, to be shown) until *word != seen, in slices of at most 100 ms with a check
 * of host->interrupted between them.  timeout_ms < 0: without limit.  Returns WIDE_OK on timeout
 * too; the caller tests its condition again. Requires: no lock is held.  Errors: WIDE_INTERRUPTED,
 * WIDE_POISONED.
 */
extern wide_status segment_wait(wide_db *db, _Atomic uint32_t *word, uint32_t seen, int timeout_ms,
								wide_wait what);

/* Adds 1 to the word and wakes all processes that wait on it. */
extern void segment_wake(wide_db *db, _Atomic uint32_t *word);

/*
 * Enter and leave a critical section: a change of shared memory that the exit of the
 * process would leave half done.  wide_detach poisons the segment there.  Sections may
 * nest.
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

/*
 * Takes a spin word, which has the slot index + 1 of the process inside, and enters a critical
 * section.  For a few dozen instructions; no process takes a second one.  Spins for ever if the
 * process inside was killed: the host ends all, or the segment is poisoned.
 * Errors: WIDE_POISONED.
 */
extern wide_status segment_spin_slowly(wide_db *db, _Atomic uint32_t *word);

static inline wide_status
segment_spin(wide_db *db, _Atomic uint32_t *word)
{
	uint32_t none = 0;

	segment_enter_critical(db);
	if (atomic_compare_exchange_strong_explicit(word, &none, db->slot_index + 1,
												memory_order_acquire, memory_order_relaxed))
		return WIDE_OK;
	segment_leave_critical(db);
	return segment_spin_slowly(db, word);
}

static inline void
segment_unspin(wide_db *db, _Atomic uint32_t *word)
{
	atomic_store_explicit(word, 0, memory_order_release);
	segment_leave_critical(db);
}

#endif /* WIDE_SEGMENT_H */
