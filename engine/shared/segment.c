/* segment.c - locks, waiting and poisoning of the shared segment; see segment.h */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "engine/shared/segment.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"

#define SLICE_MS 100 /* longest sleep without a check for interrupts and poison */

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
segment_check_raw(segment *seg)
{
	if (__builtin_expect(atomic_load_explicit(&seg->state, memory_order_relaxed) == WIDE_DEAD, 0))
		return fail_poisoned(seg);
	return WIDE_OK;
}

wide_status
segment_check(wide_db *db)
{
	return segment_check_raw(db->seg);
}

/* Marks the segment dead and wakes all waiting processes.  Takes no lock, so it works in every
 * state. */
static void
poison(segment *seg, const char *reason)
{
	char first = reason[0] != 0 ? reason[0] : '?';
	process_slot *slots = (process_slot *) ((uint8_t *) seg + seg->slots);

	if (atomic_exchange(&seg->state, WIDE_DEAD) != WIDE_DEAD)
	{
		/* the first byte is written last: a reader sees no text or all of it */
		snprintf(seg->reason + 1, sizeof(seg->reason) - 1, "%s", reason[0] != 0 ? reason + 1 : "");
		atomic_thread_fence(memory_order_release);
		*(volatile char *) &seg->reason[0] = first;
	}
#define WAKE(word) (atomic_fetch_add(word, 1), segment_futex_wake(word))
	WAKE(&seg->commit.applied_word);
	WAKE(&seg->commit.space_word);
	WAKE(&seg->set.work_word);
	for (uint32_t i = 0; i < seg->config.max_processes; i++)
		WAKE(&slots[i].prepare_done);
#undef WAKE
}

void
wide_poison(wide_db *db, const char *reason)
{
	bool first = wide_segment_state(db->seg) != WIDE_DEAD;

	poison(db->seg, reason);
	if (first && db->host.report != NULL)
		db->host.report(db->host.ctx, 2, reason);
}

static wide_status
lock(segment *seg, enum segment_lock which)
{
	int e = pthread_mutex_lock(&seg->lock[which]);

	if (e == EOWNERDEAD)
	{
		poison(seg, "a process died while it held a lock");
		/* not made consistent: later attempts get ENOTRECOVERABLE */
		pthread_mutex_unlock(&seg->lock[which]);
		return fail_poisoned(seg);
	}
	if (e != 0)
	{
		if (e != ENOTRECOVERABLE)
			poison(seg, "a lock cannot be taken");
		return fail_poisoned(seg);
	}
	if (segment_check_raw(seg) != WIDE_OK)
	{
		pthread_mutex_unlock(&seg->lock[which]);
		return WIDE_POISONED;
	}
	return WIDE_OK;
}

wide_status
segment_lock(wide_db *db, enum segment_lock which)
{
	wide_status st;

	assert(db->locks_taken >> which == 0); /* the order of layout.h; not recursive */
	st = lock(db->seg, which);
	if (st == WIDE_OK)
		db->locks_taken |= 1u << which;
	return st;
}

void
segment_unlock(wide_db *db, enum segment_lock which)
{
	assert((db->locks_taken & 1u << which) != 0);
	db->locks_taken &= ~(1u << which);
	pthread_mutex_unlock(&db->seg->lock[which]);
}

/* Sleeps until a wake-up if *word == seen, at most timeout_ms; may return early. */
static void
futex_wait(_Atomic uint32_t *word, uint32_t seen, int timeout_ms)
{
	struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	syscall(SYS_futex, (uint32_t *) word, FUTEX_WAIT, seen, &t, NULL, 0);
}

void
segment_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, (uint32_t *) word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static int64_t
monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

wide_status
segment_wait(wide_db *db, _Atomic uint32_t *word, uint32_t seen, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? INT64_MAX : monotonic_ms() + timeout_ms;

	assert(db->locks_taken == 0);
	for (;;)
	{
		int64_t left;

		TRY(segment_check(db));
		if (atomic_load_explicit(word, memory_order_acquire) != seen)
			return WIDE_OK;
		if (host_interrupted(db))
			return status_fail(WIDE_INTERRUPTED, "interrupted while waiting");
		left = timeout_ms < 0 ? SLICE_MS : deadline - monotonic_ms();
		if (left <= 0)
			return WIDE_OK;
		futex_wait(word, seen, left < SLICE_MS ? (int) left : SLICE_MS);
	}
}

void
segment_wake(wide_db *db, _Atomic uint32_t *word)
{
	atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
	segment_futex_wake(word);
}
