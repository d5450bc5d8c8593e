/*
 * reserve.c - reserves room in the active memtable before a commit, and slows writers down.
 *
 * Invariant: used(active) + reserved <= capacity of the active memtable, at any time, so that
 * wide_batch_finish never lacks memory.  A switch to a new memtable keeps it: the new one is empty,
 * and the switch happens only if everything reserved fits into it.
 *
 * A writer that finds no room wakes the worker and waits.  After PATIENCE_MS, or at once when no
 * worker is at work, it flushes a memtable itself.  When only readers hold the memtables it gives
 * up after HELD_MS (WIDE_FULL): the readers may wait for row locks of this very transaction, and
 * the host's deadlock detector does not see a wait for memory.  From then on writers give up at
 * once, until there is a new memtable again (held_since): on a standby the process that follows
 * the log writes batch after batch, and the readers may wait for what it has not written yet.
 * That lasts until the table of files is crowded.
 *
 * Locking: LOCK_COMMIT for reserving, LOCK_SET for a look at the table of files; none is held
 * while waiting.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "engine/commit/reserve.h"
#include "engine/base/clock.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/log_end.h"
#include "engine/shared/segment.h"
#include "engine/set/file_set.h"
#include "engine/set/memtable.h"
#include "engine/compaction/job.h"
#include "engine/compaction/scheduler.h"

#define PATIENCE_MS	  1000	/* of waiting for the worker to make room, before doing it here */
#define HELD_MS		  3000	/* of waiting for memtables that only readers hold, before WIDE_FULL */
#define REPORT_MS	  10000 /* of waiting for room, before it is reported to the host's log */
#define PACE_MAX_US	  ((int64_t) 100 * 1000) /* by which one commit is slowed down at most */
#define MEMTABLE_HEAD 4096 /* bytes of an empty memtable that are in use, at most */

/* Reports to the host's log what has kept a writer waiting for so long. */
static void
report_wait(wide_db *db)
{
	char text[200];
	int pid = job_flushing(db);

	if (db->host.report == NULL)
		return;
	if (pid > 0)
		snprintf(text, sizeof text,
				 "a commit has waited %d s for memory: process %d is writing it to files",
				 REPORT_MS / 1000, pid);
	else
		snprintf(
			text, sizeof text,
			"a commit has waited %d s for memory, which statements that run for long still read",
			REPORT_MS / 1000);
	db->host.report(db->host.ctx, 1, text);
}

/* Flushes a memtable, or removes what no reader needs.  *held: there is nothing to flush,
 * readers hold the memtables. */
static wide_status
make_room(wide_db *db, bool *held)
{
	wide_status st = scheduler_make_room(db);

	*held = st == WIDE_END;
	if (st != WIDE_END && st != WIDE_BUSY)
		return st;
	/* readers hold the memtables, or another process is at work on them */
	host_waits(db, WIDE_WAIT_MEMORY);
	usleep(1000);
	host_waits(db, WIDE_WAIT_NONE);
	return WIDE_OK;
}

/*
 * Writers that fill memory faster than the worker empties it would come to a halt for a whole
 * flush. To avoid that, all writers together are slowed down: to twice the speed of the last flush
 * when two memtables wait for their flush, to that speed when all but the active one do. Requires:
 * LOCK_COMMIT. Returns: microseconds that this commit has to wait.
 */
static int64_t
pace(wide_db *db, uint64_t bytes)
{
	commit_state *commit = &db->seg->commit;
	uint64_t waiting = 0, us;
	int64_t now;

	for (int i = 0; i < WIDE_MEMTABLES; i++)
		waiting += atomic_load(&db->seg->memtables[i].state) == MEMTABLE_IMMUTABLE;
	if (waiting < 2 || log_is_replayed(db) || !host_worker_works(db))
		return 0;
	us = bytes * atomic_load(&commit->flush_us) * (waiting - 1) / (WIDE_MEMTABLES - 2) >> 20;
	now = clock_monotonic_us();
	if (commit->pace < now)
		commit->pace = now;
	if (us > (uint64_t) PACE_MAX_US || commit->pace - now > PACE_MAX_US - (int64_t) us)
		commit->pace = now + PACE_MAX_US;
	else
		commit->pace += (int64_t) us;
	return commit->pace - now;
}

static void
wait_for_pace(wide_db *db, int64_t us)
{
	int64_t until = clock_monotonic_us() + us;

	counter_add(db, COUNTER_STALL_US, (uint64_t) us);
	host_waits(db, WIDE_WAIT_PACE);
	while (!host_interrupted(db) && (us = until - clock_monotonic_us()) > 0)
		usleep((useconds_t) (us < 10000 ? us : 10000));
	host_waits(db, WIDE_WAIT_NONE);
}

/* Returns true if the memtable has room for the bytes besides everything reserved. */
static bool
fits(const memtable *t, uint64_t reserved, uint64_t bytes)
{
	uint64_t left = t->capacity - atomic_load(&t->used);

	return bytes <= left && reserved <= left - bytes;
}

/*
 * Reserves the bytes if there is room, in a new memtable if need be.  held: the caller has seen
 * that readers hold all memtables, which is noted unless there is a new one by now.
 * Returns: *done; if done, *pace_us: how long to wait for the pace; else *seen: the space_word to
 * wait on.
 */
static wide_status
try_reserve(wide_db *db, uint64_t bytes, bool held, bool *done, int64_t *pace_us, uint32_t *seen)
{
	commit_state *commit = &db->seg->commit;
	memtable *t;

	TRY(segment_lock(db, LOCK_COMMIT));
	t = &db->seg->memtables[commit->active];
	/* a new memtable helps only if everything reserved fits into it */
	if (!fits(t, commit->reserved, bytes) && atomic_load(&t->cells) > 0 &&
		commit->reserved + bytes + MEMTABLE_HEAD <= t->capacity && memtable_switch(db) == WIDE_OK)
		t = &db->seg->memtables[commit->active];
	*done = fits(t, commit->reserved, bytes);
	if (*done)
	{
		commit->reserved += bytes;
		*pace_us = pace(db, bytes);
	}
	else if (held && atomic_load(&commit->held_since) == 0)
		atomic_store(&commit->held_since, clock_monotonic_us());
	*seen = atomic_load(&commit->space_word);
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

/*
 * Returns true if readers have held all memtables for so long that a writer does not wait for them.
 * since: when its wait began.  In a crowded table of files each writer waits: the files can be
 * merged only after a flush, and when the table is full commits fail.
 */
static bool
held_for_long(wide_db *db, int64_t since)
{
	int64_t held = atomic_load(&db->seg->commit.held_since);

	if (held != 0 && held < since && file_set_crowded(db))
		held = since;
	return held != 0 && clock_monotonic_us() - held > HELD_MS * 1000;
}

/*
 * Waits for room, or makes it.  since: when the wait began; seen: the space_word at that time.
 * Returns: *held: readers hold all memtables.
 */
static wide_status
wait_for_room(wide_db *db, int64_t since, uint32_t seen, bool *held, bool *reported)
{
	bool alone = atomic_load(&db->seg->state) == WIDE_RECOVERING;

	*held = false;
	host_wake_worker(db);
	/* no worker is in the store while it recovers, unless the log is followed */
	if (!alone && !held_for_long(db, since) && clock_monotonic_us() - since < PATIENCE_MS * 1000 &&
		host_worker_works(db))
		return segment_wait(db, &db->seg->commit.space_word, seen, 100, WIDE_WAIT_MEMORY);
	TRY(make_room(db, held));
	if (host_interrupted(db))
		return status_fail(WIDE_INTERRUPTED, "interrupted while waiting for room in memory");
	*held = *held && !alone;
	if (*held && held_for_long(db, since))
		return status_fail(WIDE_FULL, "readers hold all memory");
	if (!*reported && clock_monotonic_us() - since > REPORT_MS * 1000)
	{
		*reported = true;
		report_wait(db);
	}
	return WIDE_OK;
}

wide_status
reserve_memory(wide_db *db, uint64_t bytes)
{
	int64_t since = 0, pace_us = 0;
	bool done = bytes == 0, held = false, reported = false;
	wide_status st = WIDE_OK;

	while (!done)
	{
		uint32_t seen;

		TRY_GOTO(try_reserve(db, bytes, held, &done, &pace_us, &seen));
		if (done)
			break;
		if (since == 0)
		{
			since = clock_monotonic_us();
			counter_add(db, COUNTER_STALLS, 1);
		}
		TRY_GOTO(wait_for_room(db, since, seen, &held, &reported));
	}
done:
	if (since != 0)
		counter_add(db, COUNTER_STALL_US, (uint64_t) (clock_monotonic_us() - since));
	else if (pace_us > 0)
		wait_for_pace(db, pace_us);
	return st;
}
