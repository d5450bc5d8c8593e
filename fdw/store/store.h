/*
 * store.h
 *		This process's handle on the store, opened at first use.
 */
#ifndef WT_STORE_H
#define WT_STORE_H

#include "engine/wide.h"

/*
 * Returns: the handle.  The first call opens the store: it creates or maps the
 * shared segment, and recovers the store if no process has done so.
 * On a standby it waits for the keeper, which recovers the store and follows the log, and after a
 * promotion until that has ended: from then on there are no readers only.
 * Errors: 55000 if wal_level, WAL or the directory do not fit, or on a standby if the log cannot be
 * followed; those of recovery.
 */
extern wide_db *wt_store_db(void);

/* Returns: the handle if this process has opened the store, else NULL. */
extern wide_db *wt_store_db_if_open(void);

/*
 * As wt_store_db(), but returns NULL instead of raising an error, with the reason in
 * *why (palloc'd).  Cancellation and shutdown are raised nevertheless.
 */
extern wide_db *wt_store_db_try(char **why);

/*
 * Returns: true if this cluster has stored something: the store's directory exists, or the
 * state file says that there was one.
 */
extern bool wt_store_exists(void);

/* Returns: true if this server is a standby that follows the log: wt_store_db() does not wait. */
extern bool wt_store_is_followed(void);

/* On a standby: raises 55000 if the log cannot be followed, or no process does it. */
extern void wt_store_check_followed(void);

/* Returns: true if the store is open in some process, so that wt_store_db() does not wait. */
extern bool wt_store_runs(void);

/*
 * Makes this process the opener: it alone opens the store, or writes the state file.  Waits for
 * another one.  wt_store_end_opener() ends it, as the exit of the process does.
 * Errors: cancellation.
 */
extern void wt_store_become_opener(void);
extern void wt_store_end_opener(void);

/*
 * Removes the store: its files, the replication slot and the state file.
 * Requires: it was closed without tables; or it is missing, and no process has it open.
 * Returns: false if another process has it open, or has opened it again since: nothing is removed.
 * Errors: those of the file system and of the slot.
 */
extern bool wt_store_remove(void);

/*
 * For the worker: on a standby wt_store_db() replays WAL until the server is
 * promoted, instead of raising an error.
 */
extern void wt_store_follow(bool on);

/* While preloading: requests shared memory and registers the background processes. */
extern void wt_store_request(void);

/*
 * Sets a function to call at process exit before the handle goes: the transaction
 * is not aborted yet at that time.
 */
extern void wt_store_on_detach(void (*callback)(void));

#endif /* WT_STORE_H */
