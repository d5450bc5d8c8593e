/*
 * job.c - running and recent flushes and compactions.
 *
 * A job is a critical section: if a process exits during one the segment is poisoned, because
 * the slot would keep all others from the job.
 *
 * Locking: slots are read and written under LOCK_SET.
 */
#include <string.h>
#include <unistd.h>
#include "engine/compaction/job.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"

/* Returns a free slot, or the one whose job ended first; -1: all jobs are running. */
static int
job_slot_new(wide_db *db)
{
	int oldest = -1;

	for (int i = 0; i < JOB_MAX; i++)
	{
		job_slot *j = &db->seg->jobs[i];

		if (!j->used)
			return i;
		if (j->info.state != 0 && (oldest < 0 || j->serial < db->seg->jobs[oldest].serial))
			oldest = i;
	}
	return oldest;
}

wide_status
job_begin(wide_db *db, enum job_kind kind, wide_family_id family, int *job)
{
	bool busy = false;

	TRY(segment_lock(db, LOCK_SET));
	for (int i = 0; i < JOB_MAX && !busy; i++)
	{
		const job_slot *j = &db->seg->jobs[i];

		busy = j->used && j->info.state == 0 && j->info.kind == (int) kind &&
			   (kind == JOB_FLUSH || j->info.family == family);
	}
	*job = busy ? -1 : job_slot_new(db);
	if (*job >= 0)
	{
		job_slot *j = &db->seg->jobs[*job];

		memset(j, 0, sizeof *j);
		j->used = 1;
		j->pid = (uint32_t) getpid();
		j->serial = ++db->seg->job_serial;
		j->info.kind = (int) kind;
		j->info.family = family;
		j->info.started = host_now(db);
		segment_enter_critical(db);
	}
	segment_unlock(db, LOCK_SET);
	return *job >= 0 ? WIDE_OK : status_fail(WIDE_BUSY, "another process does this already");
}

int
job_flushing(wide_db *db)
{
	int pid = 0;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	for (int i = 0; i < JOB_MAX; i++)
		if (db->seg->jobs[i].used && db->seg->jobs[i].info.state == 0 &&
			db->seg->jobs[i].info.kind == JOB_FLUSH)
			pid = (int) db->seg->jobs[i].pid;
	segment_unlock(db, LOCK_SET);
	return pid;
}

void
job_plan(wide_db *db, int job, int from, int to, uint64_t total)
{
	wide_job_info *i = &db->seg->jobs[job].info;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	i->from_level = from;
	i->to_level = to;
	i->total_bytes = total;
	segment_unlock(db, LOCK_SET);
}

void
job_progress(wide_db *db, int job, uint64_t done, uint64_t out)
{
	wide_job_info *i = &db->seg->jobs[job].info;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	i->done_bytes = done;
	i->out_bytes = out;
	segment_unlock(db, LOCK_SET);
}

void
job_end(wide_db *db, int job, wide_status st, bool quiet)
{
	job_slot *j = &db->seg->jobs[job];

	segment_leave_critical(db);
	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	j->used = !quiet;
	j->info.state = st == WIDE_OK ? 1 : 2;
	j->info.ended = host_now(db);
	segment_unlock(db, LOCK_SET);
	segment_wake(db, &db->seg->set.work_word);
}
