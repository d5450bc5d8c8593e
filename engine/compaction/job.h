/*
 * job.h - running and recent flushes and compactions.
 *
 * Each has a slot in the shared segment, which keeps two processes from doing the same and
 * is shown to users (wide_job_info).
 */
#ifndef WIDE_JOB_H
#define WIDE_JOB_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

enum job_kind
{
	JOB_FLUSH = 0,
	JOB_COMPACT = 1
};

/* Requires: LOCK_SET. */
static inline bool
job_running(const job_slot *j)
{
	return j->serial != 0 && j->info.state == 0;
}

/* Returns the pid of the process that is flushing a memtable; 0: there is none. */
extern int job_flushing(wide_db *db);

/*
 * Takes the slot *job.  family: of a compaction, the first one that it may be about.
 * Returns: WIDE_BUSY if another process is flushing and this would, too, or no slot is free.
 */
extern wide_status job_begin(wide_db *db, enum job_kind kind, wide_family_id family, int *job);

/* Claims a family for a job that removes files of it: no other job does until it is released, or
 * dropped.  Returns: WIDE_BUSY if another job has it; WIDE_END if there is no such family. */
extern wide_status job_claim(wide_db *db, int job, wide_family_id family);

/* Releases the families that the job has claimed, those that were dropped since included. */
extern void job_release(wide_db *db, int job, const wide_family_id *families, int n);

/* Records the levels and the bytes of the inputs. */
extern void job_plan(wide_db *db, int job, int from, int to, uint64_t total);

/* Records the bytes that are done and those written. */
extern void job_progress(wide_db *db, int job, uint64_t done, uint64_t out);

/* Records the end of the job.  quiet: there was nothing to do, so the slot is freed at once. */
extern void job_end(wide_db *db, int job, wide_status st, bool quiet);

#endif /* WIDE_JOB_H */
