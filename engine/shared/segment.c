/* segment.c - locks, waiting and poisoning of the shared segment; see segment.h */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "engine/shared/segment.h"
#include "engine/base/clock.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"

#define SLICE_US   100000 /* longest sleep without a check for interrupts and poison */
#define SPIN_YIELD 100	  /* tries before each sched_yield and look for poison */

wide_state
wide_segment_state(const void *base)
{
	const segment *s = base;

	return (wide_state) atomic_load_explicit(&s->state, memory_order_acquire);
}

static wide_status
fail_poisoned(segment *seg)
{
	atomic_thread_fence(memory_order_acquire);
	return status_fail(WIDE_POISONED, "the store is out of order until it is recovered: %.255s",
					   seg->reason[0] != 0 ? seg->reason : "no reason known");
}

wide_status
segment_check(wide_db *db)
{
	segment *seg = db->seg;

	if (__builtin_expect(atomic_load_explicit(&seg->state, memory_order_relaxed) == WIDE_DEAD, 0))
		return fail_poisoned(seg);
	return WIDE_OK;
}

void
segment_wake(wide_db *db, _Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, (uint32_t *) word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Marks the segment dead and wakes all waiting processes.  Takes no lock, so it works in every
 * state. */
static void
poison(wide_db *db, const char *reason)
{
	segment *seg = db->seg;
	char first = reason[0] != 0 ? reason[0] : '?';

	if (atomic_exchange(&seg->state, WIDE_DEAD) != WIDE_DEAD)
	{
		/* the first byte is written last: a reader sees no text or all of it */
		snprintf(seg->reason + 1, sizeof(seg->reason) - 1, "%s", reason[0] != 0 ? reason + 1 : "");
		atomic_thread_fence(memory_order_release);
		*(volatile char *) &seg->reason[0] = first;
	}
	segment_wake(db, &seg->commit.applied_word);
	segment_wake(db, &seg->commit.space_word);
	segment_wake(db, &seg->set.work_word);
	segment_wake(db, &seg->prepared.word);
	for (uint32_t i = 0; i < seg->config.max_processes; i++)
		segment_wake(db, &layout_processes(db)[i].prepare_done);
}

void
wide_poison(wide_db *db, const char *reason)
{
	bool first = wide_segment_state(db->seg) != WIDE_DEAD;

	poison(db, reason);
	if (first && db->host.report != NULL)
		db->host.report(db->host.ctx, 2, reason);
}

/* Takes a mutex; the host sees a wait for one that is held for long, over I/O or the log. */
static int
lock_and_show(wide_db *db, enum segment_lock which)
{
	pthread_mutex_t *m = &db->seg->lock[which];
	int e;

	if (which != LOCK_COMMIT && which != LOCK_MANIFEST)
		return pthread_mutex_lock(m);
	if ((e = pthread_mutex_trylock(m)) != EBUSY)
		return e;
	host_waits(db, which == LOCK_COMMIT ? WIDE_WAIT_LOG : WIDE_WAIT_MANIFEST);
	e = pthread_mutex_lock(m);
	host_waits(db, WIDE_WAIT_NONE);
	return e;
}

wide_status
segment_lock(wide_db *db, enum segment_lock which)
{
	segment *seg = db->seg;
	int e;

	assert(db->locks_taken >> which == 0); /* the order of layout.h; not recursive */
	e = lock_and_show(db, which);
	if (e == EOWNERDEAD)
		poison(db, "a process died while it held a lock");
	else if (e != 0 && e != ENOTRECOVERABLE)
		poison(db, "a lock cannot be taken");
	if (e == 0 && segment_check(db) == WIDE_OK)
	{
		db->locks_taken |= 1u << which;
		return WIDE_OK;
	}
	/* not made consistent after EOWNERDEAD: later attempts get ENOTRECOVERABLE */
	if (e == 0 || e == EOWNERDEAD)
		pthread_mutex_unlock(&seg->lock[which]);
	return fail_poisoned(seg);
}

void
segment_unlock(wide_db *db, enum segment_lock which)
{
	assert((db->locks_taken & 1u << which) != 0);
	db->locks_taken &= ~(1u << which);
	pthread_mutex_unlock(&db->seg->lock[which]);
}

wide_status
segment_spin_slowly(wide_db *db, _Atomic uint32_t *word)
{
	for (uint32_t try = 1;; try++)
	{
		uint32_t none = 0;

		segment_enter_critical(db);
		if (atomic_compare_exchange_weak_explicit(word, &none, db->slot_index + 1,
												  memory_order_acquire, memory_order_relaxed))
			return WIDE_OK;
		segment_leave_critical(db);
		if (try % SPIN_YIELD == 0)
		{
			sched_yield();
			TRY(segment_check(db));
		}
	}
}

/* Sleeps until a wake-up if *word == seen, for less than a second; may return early. */
static void
futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t timeout_us)
{
	struct timespec t = {.tv_nsec = timeout_us * 1000};

	syscall(SYS_futex, (uint32_t *) word, FUTEX_WAIT, seen, &t, NULL, 0);
}

wide_status
segment_wait(wide_db *db, _Atomic uint32_t *word, uint32_t seen, int timeout_ms, wide_wait what)
{
	int64_t left = SLICE_US, deadline = clock_monotonic_us() + (int64_t) timeout_ms * 1000;

	assert(db->locks_taken == 0);
	for (;;)
	{
		TRY(segment_check(db));
		if (atomic_load_explicit(word, memory_order_acquire) != seen)
			return WIDE_OK;
		if (host_interrupted(db))
			return status_fail(WIDE_INTERRUPTED, "interrupted while waiting");
		if (timeout_ms >= 0 && (left = deadline - clock_monotonic_us()) <= 0)
			return WIDE_OK;
		host_waits(db, what);
		futex_wait(word, seen, left < SLICE_US ? left : SLICE_US);
		host_waits(db, WIDE_WAIT_NONE);
	}
}
