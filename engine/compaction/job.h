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
 * Takes the slot *job for a flush, or a compaction of the family.
 * Returns: WIDE_BUSY if another process is doing it (any flush; a compaction of the
 * family), or no slot is free.
 */
extern wide_status job_begin(wide_db *db, enum job_kind kind, wide_family_id family, int *job);

/* Records the levels and the bytes of the inputs. */
extern void job_plan(wide_db *db, int job, int from, int to, uint64_t total);

/* Records the bytes that are done and those written. */
extern void job_progress(wide_db *db, int job, uint64_t done, uint64_t out);

/* Records the end of the job.  quiet: there was nothing to do, so the slot is freed at once. */
extern void job_end(wide_db *db, int job, wide_status st, bool quiet);

#endif /* WIDE_JOB_H */
