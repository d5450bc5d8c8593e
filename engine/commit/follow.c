/*
 * follow.c - a log that does not end is followed: one process replays it, others read.
 *
 * The process in wide_recover applies records one after the other (replay.c), and from time to time
 * shows what it has applied (wide_follow_show): visible_seq rises, and the list of pending batches
 * is made anew, under one lock, so that a snapshot has both of the same moment.
 *
 * Pending is a batch whose external transaction has committed and whose FINISH record has not come.
 * The host shows the transaction, so a snapshot has to show the batch (engine/batch/overlay.c). The
 * list has the payload as long as there is room; a larger one is read from the log.
 *
 * Other processes flush memtables and compact files.  They must not claim more of the log than what
 * is applied: follow.position takes the place of the log's end (log_end.h).
 *
 * Invariants:
 *  - Once the state is WIDE_FOLLOWING the segment is not formatted again before all other processes
 *    have left it (wide_follow_close).
 *  - A batch is in the list or in the store up to visible_seq, or both (a FINISH record that was
 *    applied and is not shown yet); never in neither.
 *
 * Locking: LOCK_COMMIT for the list.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include "engine/commit/follow.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/commit/orphans.h"
#include "engine/commit/parked.h"
#include "engine/commit/replay.h"

/* looks of a process that waits: at once, then each after it has let others run, before it sleeps
 */
#define SPINS  400
#define YIELDS 30

void
follow_begin(wide_db *db)
{
	follow_state *f = &db->seg->follow;

	atomic_store(&f->position, db->seg->set.restart_lsn);
	atomic_store(&f->shown, db->seg->set.restart_lsn);
	atomic_store(&f->parked, 0);
	f->marks_head = 0;
	f->npending = 0;
	f->nbytes = 0;
}

void
follow_end(wide_db *db)
{
	commit_state *commit = &db->seg->commit;

	if (segment_lock(db, LOCK_COMMIT) != WIDE_OK)
		return;
	atomic_store(&commit->applied_seq, commit->logged_seq);
	atomic_store(&commit->visible_seq, commit->logged_seq);
	db->seg->follow.npending = 0;
	segment_unlock(db, LOCK_COMMIT);
}

void
follow_wake(wide_db *db)
{
	segment_wake(db, &db->seg->follow.word);
}

/* Adds a batch to the list; under LOCK_COMMIT. */
static void
add_pending(follow_state *f, const parked *p)
{
	follow_pending *e = &f->pending[f->npending++];

	*e = (follow_pending) {.xid = p->xid,
						   .committed = p->committed,
						   .id = p->id,
						   .start = p->start,
						   /* a copy may be behind the commit record */
						   .end = p->end > p->committed ? p->end : p->committed,
						   .commit_ts = p->commit_ts,
						   .len = p->data.len,
						   .at = UINT64_MAX};
	if (p->data.len <= FOLLOW_BYTES - f->nbytes)
	{
		memcpy(f->bytes + f->nbytes, p->data.data, p->data.len);
		e->at = f->nbytes;
		f->nbytes += p->data.len;
	}
}

/* Returns the first batch to commit after that position; NULL: there is none. */
static parked *
next_committed(wide_db *db, uint64_t after)
{
	parked *next = NULL;

	for (parked *p = db->replay->first; p != NULL; p = p->next)
		if (p->committed > after && !p->forgeable &&
			(next == NULL || p->committed < next->committed))
			next = p;
	return next;
}

/* Makes the list anew; under LOCK_COMMIT.  After a failure it is as it was, as is visible_seq, to
 * which it belongs. */
static wide_status
list_pending(wide_db *db)
{
	follow_state *f = &db->seg->follow;
	int64_t ts = db->seg->commit.last_ts;
	int n = 0;

	for (parked *p = next_committed(db, 0); p != NULL; p = next_committed(db, p->committed))
	{
		TRY(replay_timestamp(db, p, ts, &ts));
		p->commit_ts = ts;
		if (++n > FOLLOW_PENDING)
			return status_fail(WIDE_FULL, "more than %d transactions wait for their last record",
							   FOLLOW_PENDING);
	}
	f->npending = 0;
	f->nbytes = 0;
	for (const parked *p = next_committed(db, 0); p != NULL; p = next_committed(db, p->committed))
		add_pending(f, p);
	db->replay->waiting_moved = false;
	return WIDE_OK;
}

static wide_status
show(wide_db *db, uint64_t lsn, uint64_t applied)
{
	follow_state *f = &db->seg->follow;
	commit_state *commit = &db->seg->commit;

	/* a batch that came meanwhile has a newer timestamp, and is finished before those that wait */
	if (db->replay->waiting_moved ||
		(f->npending > 0 && f->pending[0].commit_ts <= commit->last_ts))
		TRY(list_pending(db));
	atomic_store(&commit->applied_seq, commit->logged_seq);
	atomic_store(&commit->visible_seq, commit->logged_seq);
	if (applied > atomic_load(&f->position))
		atomic_store(&f->position, applied);
	atomic_store(&f->shown, lsn);
	return WIDE_OK;
}

wide_status
wide_follow_show(wide_db *db, uint64_t lsn, uint64_t applied)
{
	follow_state *f = &db->seg->follow;
	wide_status st;

	if (db->replay == NULL)
		return status_fail(WIDE_INVALID, "no log is being replayed");
	/* once, so that a flood of them does not fill the host's log; replay_end reports the rest */
	if (db->replay->reported == 0)
		replay_report(db);
	if (atomic_load(&db->seg->state) == WIDE_RECOVERING)
		TRY(orphans_remove(db));
	TRY(segment_lock(db, LOCK_COMMIT));
	st = show(db, lsn, applied);
	segment_unlock(db, LOCK_COMMIT);
	TRY(st);
	if (atomic_load(&db->seg->state) == WIDE_RECOVERING)
		atomic_store(&db->seg->state, WIDE_FOLLOWING);
	/* a process that waits counts itself before it looks at shown for the last time */
	if (atomic_load(&f->waiters) > 0)
		follow_wake(db);
	return WIDE_OK;
}

int
wide_follow_close(wide_db *db, int *pids, int max)
{
	process_slot *slots = layout_processes(db);
	uint32_t state = WIDE_FOLLOWING;
	int n = 0;

	atomic_compare_exchange_strong(&db->seg->state, &state, WIDE_EMPTY);
	follow_wake(db);
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		uint32_t pid = atomic_load(&slots[i].pid);

		if (pid == 0 || i == db->slot_index)
			continue;
		if (n < max)
			pids[n] = (int) pid;
		n++;
	}
	return n;
}

uint64_t
wide_follow_shown(const wide_db *db)
{
	return atomic_load(&db->seg->follow.shown);
}

bool
wide_follow_awaited(wide_db *db)
{
	follow_state *f = &db->seg->follow;

	return atomic_load(&f->awaited) && atomic_exchange(&f->awaited, false);
}

/* Returns true if the wait is over. */
static bool
is_shown(const wide_db *db, uint64_t lsn)
{
	return atomic_load(&db->seg->follow.shown) >= lsn ||
		   atomic_load(&db->seg->state) != WIDE_FOLLOWING;
}

/* A few dozen cycles of nothing, in a loop that waits for another processor. */
static inline void
relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("isb" ::: "memory");
#endif
}

wide_status
wide_follow_wait(wide_db *db, uint64_t lsn, int ms)
{
	follow_state *f = &db->seg->follow;
	wide_status st = WIDE_OK;

	TRY(segment_check(db));
	atomic_fetch_add(&f->waiters, 1);
	atomic_store(&f->awaited, true);
	for (int i = 0; i < SPINS && !is_shown(db, lsn); i++)
		relax();
	for (int i = 0; i < YIELDS && !is_shown(db, lsn); i++)
		sched_yield();
	if (!is_shown(db, lsn))
	{
		uint32_t seen = atomic_load(&f->word);

		if (!is_shown(db, lsn))
			st = segment_wait(db, &f->word, seen, ms, WIDE_WAIT_FOLLOW);
	}
	atomic_fetch_sub(&f->waiters, 1);
	return st;
}
