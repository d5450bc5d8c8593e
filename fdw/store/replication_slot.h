/*
 * replication_slot.h
 *		The physical replication slot that keeps the WAL that is not in files.
 */
#ifndef WT_REPLICATION_SLOT_H
#define WT_REPLICATION_SLOT_H

#include "access/xlogdefs.h"

#include "engine/wide.h"

#define WT_REPLICATION_SLOT_NAME "widetable"

/*
 * Creates the slot if it is missing or has lost its WAL.
 * Errors: 55000 if no replication slot is free or a logical one has the name.
 */
extern void wt_replication_slot_ensure(void);

/* Returns: true if a physical slot of that name is there, on disk as well. */
extern bool wt_replication_slot_is_there(void);

/* Returns: from where the slot keeps WAL; invalid: there is none that does. */
extern XLogRecPtr wt_replication_slot_keeps(void);

/* Drops the slot if it is there and no process holds it.  May raise an error. */
extern void wt_replication_slot_drop(void);

/*
 * Advances the slot to lsn, which releases the WAL before it.  Does nothing if the
 * slot is further on, in use by another process, or unusable.  Raises no error.
 */
extern void wt_replication_slot_advance(XLogRecPtr lsn);

/*
 * Moves the slot back to lsn if it is further on, so that it keeps the WAL from
 * there.  Does nothing if that WAL is removed already.  Raises no error.
 */
extern void wt_replication_slot_reserve(XLogRecPtr lsn);

/* Returns: the LSN from which the store needs WAL, restart_lsn. */
extern XLogRecPtr wt_replication_slot_needed(wide_db *db);

/*
 * For the keeper: acquires the slot for as long as the process runs.
 * Returns: true if this call has acquired it: it may be a new slot.
 * Errors: those of wt_replication_slot_ensure(); 55006 if another process has it.
 */
extern bool wt_replication_slot_hold(void);

/*
 * For the worker of a standby: holds the slot, and advances it to lsn.  A slot that was lost is
 * created again, with a warning.  Raises no error.
 */
extern void wt_replication_slot_keep(XLogRecPtr lsn);

/* The process holds the slot no more.  Does nothing if it does not hold it. */
extern void wt_replication_slot_end_keep(void);

/* Returns: the state of the slot: "none", "lost", "held" or "not held". */
extern const char *wt_replication_slot_state(void);

/*
 * Before a commit: replaces a lost slot and flushes the store, because the new slot
 * does not keep the WAL that the old one kept.
 * Errors: 55000 if that fails: the commit could not promise durability.
 */
extern void wt_replication_slot_check(wide_db *db);

/*
 * Has the slot created before recovery replays its first record; note is called before that.
 * Requires: shared_preload_libraries is being loaded.
 */
extern void wt_replication_slot_register_startup(void (*note)(void));

#endif /* WT_REPLICATION_SLOT_H */
