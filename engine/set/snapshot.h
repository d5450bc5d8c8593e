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

/*
 * The parts of wide_snapshot_take_at.  snapshot_new makes a snapshot that protects everything that
 * is visible now; its seq is not known yet.  snapshot_number gives it the seq, which was visible
 * after that, and excludes what the host's snapshot does not see; it fails as wide_snapshot_take_at
 * does, and the caller then releases the snapshot.
 */
extern wide_status snapshot_new(wide_db *db, wide_snapshot **out);
extern wide_status snapshot_number(wide_snapshot *s, uint64_t seq, const wide_moment *at);

/*
 * Something that the snapshot sees beside the store, with these sequence numbers, which are above
 * all of the store, and commit timestamps up to newest_ts; freed with it.
 * Errors: WIDE_NOMEM; then it is not attached.
 */
extern wide_status snapshot_attach(wide_snapshot *s, void *attached,
								   void (*attached_free)(wide_db *db, void *attached),
								   seq_range seqs, int64_t newest_ts);
extern void *snapshot_attached(const wide_snapshot *s);

/* Releases all snapshots of this process; for wide_detach. */
extern void snapshot_detach(wide_db *db);

#endif /* WIDE_SNAPSHOT_H */
