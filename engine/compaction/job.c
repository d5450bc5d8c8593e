/*
 * job.c - running and recent flushes and compactions.
 *
 * A job is a critical section: if a process exits during one the segment is poisoned, because
 * the slot would keep all others from the job.
 *
 * Locking: slots are read and written under LOCK_SET.
 */
#include <unistd.h>
#include "engine/compaction/job.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/family.h"

wide_status
job_begin(wide_db *db, enum job_kind kind, wide_family_id family, int *job)
{
	job_slot *jobs = db->seg->jobs;
	bool busy = false;

	*job = -1; /* a free slot, otherwise the one whose job began first */
	TRY(segment_lock(db, LOCK_SET));
	for (int i = 0; i < JOB_MAX; i++)
		if (job_running(&jobs[i]))
			busy |= jobs[i].info.kind == (int) kind && kind == JOB_FLUSH;
		else if (*job < 0 || jobs[i].serial < jobs[*job].serial)
			*job = i;
	busy |= *job < 0;
	if (!busy)
	{
		jobs[*job] = (job_slot) {
			.pid = (uint32_t) getpid(),
			.serial = ++db->seg->job_serial,
			.info = {.kind = (int) kind, .family = family, .started = host_now(db)}};
		segment_enter_critical(db);
	}
	segment_unlock(db, LOCK_SET);
	return busy ? status_fail(WIDE_BUSY, "another process does this already") : WIDE_OK;
}

wide_status
job_claim(wide_db *db, int job, wide_family_id family)
{
	family_slot *fs;
	wide_status st = WIDE_OK;

	TRY(segment_lock(db, LOCK_SET));
	fs = family_find(db, family);
	if (fs == NULL)
		st = WIDE_END;
	else if (fs->job != 0)
		st = status_fail(WIDE_BUSY, "another process does this already");
	else
		fs->job = (uint32_t) job + 1;
	segment_unlock(db, LOCK_SET);
	return st;
}

void
job_release(wide_db *db, int job, const wide_family_id *families, int n)
{
	if (n == 0 || segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	for (int i = 0; i < n; i++)
	{
		family_slot *fs = family_find(db, families[i]);

		if (fs != NULL && fs->job == (uint32_t) job + 1)
			fs->job = 0;
	}
	segment_unlock(db, LOCK_SET);
}

int
job_flushing(wide_db *db)
{
	int pid = 0;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	for (int i = 0; i < JOB_MAX; i++)
		if (job_running(&db->seg->jobs[i]) && db->seg->jobs[i].info.kind == JOB_FLUSH)
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

	if (segment_lock(db, LOCK_SET) == WIDE_OK)
	{
		j->serial = quiet ? 0 : j->serial;
		j->info.state = st == WIDE_OK ? 1 : 2;
		j->info.ended = host_now(db);
		segment_unlock(db, LOCK_SET);
	}
	/* not before the slot is free: no other process frees it */
	segment_leave_critical(db);
	segment_wake(db, &db->seg->set.work_word);
}
