/* job.h - running and recent background jobs */
#ifndef WIDE_JOB_H
#define WIDE_JOB_H

#include "engine/wide.h"

/* Drops jobs of processes that are gone; under LOCK_SET. */
extern void job_sweep(wide_db *db);
/* pid of the process that flushes a memtable right now; 0: none */
extern int job_flushing(wide_db *db);

enum job_kind
{
	JOB_FLUSH = 0,
	JOB_COMPACT = 1
};

/* WIDE_BUSY: a living process does this already (any flush; a compaction of the family). */
extern wide_status job_begin(wide_db *db, enum job_kind kind, wide_family_id family, int *job);
extern void job_plan(wide_db *db, int job, int from, int to, uint64_t total);
extern void job_progress(wide_db *db, int job, uint64_t done, uint64_t out);

/* ok = false and nothing written: the slot is simply free again when quiet */
extern void job_end(wide_db *db, int job, wide_status st, bool quiet);

#endif /* WIDE_JOB_H */
