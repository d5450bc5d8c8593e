/*
 * snapshot.h - which batches a reader sees, for the rooms of the engine; wide.h has
 * what takes, releases and moves snapshots.
 */
#ifndef WIDE_SNAPSHOT_H
#define WIDE_SNAPSHOT_H

#include "engine/wide.h"
#include "engine/base/entry.h"

/* Returns the ranges of sequence numbers that the snapshot does not see although they are not
 * above wide_snapshot_lsn: *n of them, ascending and disjoint; the snapshot's memory. */
extern const seq_range *snapshot_excluded(const wide_snapshot *s, int *n);

/* Returns a timestamp such that every newer automatic timestamp belongs to a batch that the
 * snapshot does not see. */
extern int64_t snapshot_newest_ts(const wide_snapshot *s);

/* Returns the time of the snapshot, at which times to live are evaluated. */
extern int64_t snapshot_now(const wide_snapshot *s);

/* Returns the oldest time of all living snapshots of all processes, or now.  What expires after it
 * has to be kept. */
extern int64_t snapshot_oldest_now(wide_db *db);

/* Releases all snapshots of this process; for wide_detach. */
extern void snapshot_detach(wide_db *db);

#endif /* WIDE_SNAPSHOT_H */
