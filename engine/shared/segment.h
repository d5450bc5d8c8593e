/* segment.h - locks, waiting and poisoning of the shared segment; calls to the host */
#ifndef WIDE_SEGMENT_H
#define WIDE_SEGMENT_H

#include <stdatomic.h>
#include <time.h>
#include "engine/wide.h"
#include "engine/shared/layout.h"

/* WIDE_POISONED when the store is dead (one relaxed load). Every public call starts with it. */
extern wide_status shm_check(wide_db *db);

/* Lock or find the store poisoned (also when the last holder died). */
extern wide_status shm_lock(wide_db *db, enum shm_lock which);
extern void shm_unlock(wide_db *db, enum shm_lock which);

/*
 * Wait until *word != seen, in slices of at most 100 ms, asking
 * host->interrupted between them.  timeout_ms < 0: for ever.  WIDE_OK also on
 * timeout: the caller tests its condition again.
 */
extern wide_status shm_wait(wide_db *db, _Atomic uint32_t *word, uint32_t seen, int timeout_ms);

/* Add 1 to the word and wake all that wait on it. */
extern void shm_wake(wide_db *db, _Atomic uint32_t *word);

/* What needs no handle: for log.c, which is opened before the process attaches. */
extern wide_status shm_segment_lock(segment *seg, enum shm_lock which);
extern void shm_segment_unlock(segment *seg, enum shm_lock which);
extern void shm_segment_poison(segment *seg, const char *reason);
extern wide_status shm_segment_check(segment *seg);
extern void shm_futex_wait(_Atomic uint32_t *word, uint32_t seen, int timeout_ms);	/* one wait; may return early */
extern void shm_futex_wake(_Atomic uint32_t *word);	/* all that wait, without changing the word */
static inline bool interrupted(wide_db *db) { return db->host.interrupted != NULL && db->host.interrupted(db->host.ctx); }
static inline bool files_held(wide_db *db) { return db->host.files_held != NULL && db->host.files_held(db->host.ctx); }
static inline int64_t now_us(wide_db *db) { return db->host.now(db->host.ctx); }
static inline void wake_worker(wide_db *db) { if (db->host.wake_worker) db->host.wake_worker(db->host.ctx); }

static inline int64_t
monotonic_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline bool worker_works(wide_db *db) { return db->host.worker_works != NULL && db->host.worker_works(db->host.ctx); }

/*
 * Free the slots of dead processes (wide_db.sweep), twice a second at most: for loops that wait for somebody.  Across
 * calls, as most waits are a series of short ones.
 */
extern void shm_sweep_waiting(wide_db *db);

#endif							/* WIDE_SEGMENT_H */
