/*
 * db.h - transactions and their parts that several of the top files share.
 */
#ifndef WIDE_DB_H
#define WIDE_DB_H

#include "tree.h"

/* batch.c */
extern catalog_delta *batch_catalog(wide_batch *b);	/* made on first use */
extern wide_db *batch_db(wide_batch *b);
/* Takes the next operation number (for catalog.c's operations). */
extern uint64_t batch_next_op(wide_batch *b);
/* The id under which cells of `family` are stored after this batch's truncates. */
/*
 * Log payloads: how prepare writes them and replay reads them is in batch.c's
 * head comment.  Applying is the same code for both.
 */
/* replay.c: assembles records into batches and applies them during recovery */
extern wide_status replay_begin(wide_db *db);
extern wide_status replay_event(void *db, const wide_replay_event *ev);	/* a wide_replay_fn */
/* The log's end: external transactions that committed without their finish record are finished now. */
extern wide_status replay_end(wide_db *db);
/* After a failure: forget what was assembled. */
extern void replay_abandon(wide_db *db);

/* Make the active memtable immutable and start another; under LOCK_COMMIT. WIDE_FULL when none is free. (mem space: batch.c) */
extern wide_status memtable_switch(wide_db *db);
/*
 * Room for bytes in the active memtable, reserved; waits (or flushes in this
 * process when no worker does).  WIDE_FULL: for some seconds readers have held
 * all memtables.
 */
extern wide_status memtable_reserve(wide_db *db, uint64_t bytes);

/* snapshot.c */
extern const seq_range *snapshot_excluded(const wide_snapshot *s, int *n);	/* ascending */
/* Every automatic timestamp above this belongs to a batch that the snapshot does not see. */
extern int64_t snapshot_newest_ts(const wide_snapshot *s);
extern int64_t snapshot_now(const wide_snapshot *s);	/* the time at which TTLs are looked at */
/* Now, or when the oldest living snapshot of any process was taken: what expires later has to be kept. */
extern int64_t snapshot_oldest_now(wide_db *db);

/* load.c: sorted files from a normalised batch */
/*
 * Entries come from next(arg, &family, &entry) in (family, key) order until
 * WIDE_END; *files is malloc'd.  Those of a family that does not exist are left
 * out: the batch that has made it has dropped it, too.  sync = false: the files
 * are marked FILE_UNSYNCED, their bytes must go into the log.
 */
typedef wide_status (*load_next_fn) (void *arg, wide_family_id *family, entry *e);
extern wide_status load_write(wide_db *db, load_next_fn next, void *arg, bool sync, aside *a, file_meta **files, int *n);
/*
 * Append the bytes of the files to the log.  slot->prepare_lsn keeps the log from the
 * first record on; the caller takes it back once the files are linked or discarded.
 */
extern wide_status load_log(wide_db *db, const file_meta *files, int n);
/* In the log: the files of load_log will not be linked. */
extern void load_give_up(wide_db *db, const file_meta *files, int n);
extern void load_discard(wide_db *db, const file_meta *files, int n);	/* unlink */

/* work.c */
extern wide_status work_flush_one(wide_db *db);	/* oldest immutable memtable; WIDE_END when none; WIDE_BUSY when another process does it */

/* Sizes that tests make small: bytes at which an output file is cut, target of level 1. */
extern uint64_t work_file_bytes;
extern uint64_t work_level_bytes;
/* Drops jobs of processes that are gone; under LOCK_SET. */
extern void work_sweep_jobs(wide_db *db);
extern int	work_flushing(wide_db *db);	/* pid of the process that flushes a memtable right now; 0: none */

#endif							/* WIDE_DB_H */
