/* reserve.c - reserves room in memtables before a commit */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "engine/commit/reserve.h"
#include "engine/base/clock.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/collect.h"
#include "engine/set/memtable.h"
#include "engine/compaction/flush.h"
#include "engine/compaction/job.h"

#define PATIENCE_MS 1000 /* for a worker to make room, before doing it here */
#define HELD_MS		3000 /* of waiting for memtables that only readers hold, before doing without */
#define REPORT_MS	10000				   /* of waiting for room, before the log hears of it */
#define PACE_MAX_US ((int64_t) 100 * 1000) /* that one commit is slowed down at most */

/* For the log: what keeps a writer from memory for so long. */
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

/* Nobody makes room: do it in this process.  held: there is nothing to do, readers hold the
 * memtables. */
static wide_status
make_room(wide_db *db, bool *held)
{
	bool did = false;
	wide_status st = flush_one(db);

	*held = false;
	if (st != WIDE_OK && st != WIDE_END && st != WIDE_BUSY)
		return st;
	TRY(collect_garbage(db, &did));
	/* a reader holds the memory, or another process is at it */
	if (st != WIDE_OK && !did)
	{
		*held = st == WIDE_END;
		usleep(1000);
		segment_sweep(db);
	}
	return WIDE_OK;
}

/*
 * Writers that fill memory faster than a worker empties it would come to a
 * halt for a whole flush.  When a second memtable waits they are slowed down,
 * together, to twice the speed of the last flush, and when all others wait to
 * that speed; so the halt does not come.  Microseconds to wait for; under
 * LOCK_COMMIT.
 */
static int64_t
pace(wide_db *db, uint64_t bytes)
{
	commit_state *commit = &db->seg->commit;
	uint64_t waiting = 0, us;
	int64_t now;

	for (int i = 0; i < WIDE_MEMTABLES; i++)
		waiting += atomic_load(&db->seg->memtables[i].state) == MEMTABLE_IMMUTABLE;
	if (waiting < 2 || db->replay != NULL || !host_worker_works(db))
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
	while (!host_interrupted(db) && (us = until - clock_monotonic_us()) > 0)
		usleep((useconds_t) (us < 10000 ? us : 10000));
}

wide_status
reserve_memory(wide_db *db, uint64_t bytes)
{
	commit_state *commit = &db->seg->commit;
	int64_t since = 0, slow = 0;
	bool reported = false, held;
	wide_status st = WIDE_OK;

	if (bytes == 0)
		return WIDE_OK;
	for (;;)
	{
		memtable *t;
		uint32_t seen;
		bool done = false;

		TRY_GOTO(segment_lock(db, LOCK_COMMIT));
		t = &db->seg->memtables[commit->active];
		if (bytes > t->capacity - atomic_load(&t->used) ||
			commit->reserved > t->capacity - atomic_load(&t->used) - bytes)
		{
			/* a fresh one helps only if everything reserved fits into it */
			if (atomic_load(&t->cells) > 0 && commit->reserved + bytes + 4096 <= t->capacity &&
				memtable_switch(db) == WIDE_OK)
				t = &db->seg->memtables[commit->active];
		}
		if (bytes <= t->capacity - atomic_load(&t->used) &&
			commit->reserved <= t->capacity - atomic_load(&t->used) - bytes)
		{
			commit->reserved += bytes;
			slow = pace(db, bytes);
			done = true;
		}
		seen = atomic_load(&commit->space_word);
		segment_unlock(db, LOCK_COMMIT);
		if (done)
			break;
		if (since == 0)
		{
			since = clock_monotonic_us();
			counter_add(db, COUNTER_STALLS, 1);
		}
		host_wake_worker(db);
		/* no worker is in the store while it recovers */
		if (db->replay == NULL && clock_monotonic_us() - since < PATIENCE_MS * 1000 &&
			host_worker_works(db))
			TRY_GOTO(segment_wait(db, &commit->space_word, seen, 100));
		else
		{
			TRY_GOTO(make_room(db, &held));
			if (host_interrupted(db))
				TRY_GOTO(status_fail(WIDE_INTERRUPTED,
									 "interrupted while waiting for room in memory"));
			if (held && db->replay == NULL && clock_monotonic_us() - since > HELD_MS * 1000)
				TRY_GOTO(status_fail(WIDE_FULL, "readers hold all memory"));
			if (!reported && clock_monotonic_us() - since > REPORT_MS * 1000)
			{
				reported = true;
				report_wait(db);
			}
		}
	}
done:
	if (since != 0)
		counter_add(db, COUNTER_STALL_US, (uint64_t) (clock_monotonic_us() - since));
	else if (slow > 0)
		wait_for_pace(db, slow);
	return st;
}
