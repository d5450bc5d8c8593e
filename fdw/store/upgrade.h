/*
 * upgrade.h
 *		A store that pg_upgrade leaves behind, and that the new cluster takes over.
 */
#ifndef WT_UPGRADE_H
#define WT_UPGRADE_H

#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

/*
 * A lock for the functions that prepare the store and write its file, or cancel that.
 * Errors: 55006 if another session has it: it does not wait.
 */
extern void wt_upgrade_lock(void);
extern void wt_upgrade_unlock(void);

/* From now on no transaction commits changes of wide tables.  Requires: wt_upgrade_lock(). */
extern void wt_upgrade_prepare(void);

/* Waits for the transactions that have looked before.  Requires: wt_upgrade_prepare(). */
extern void wt_upgrade_wait_for_commits(void);

/* Removes the file, and lets transactions commit again.  elevel: of a failure, which leaves all as
 * it is.  Requires: wt_upgrade_lock(). */
extern void wt_upgrade_cancel(int elevel);

extern bool wt_upgrade_is_prepared(void);

/* Errors: 55000 if the store is prepared. */
extern void wt_upgrade_check_unprepared(void);

/*
 * Writes the file that lets another cluster take the store over.
 * Requires: the store is prepared, its files have everything up to lsn, and nothing can be added;
 * databases: a List of the oids of those that have stored tables.
 * Errors: those of the file system.
 */
extern void wt_upgrade_write(XLogRecPtr lsn, List *databases);

/*
 * Returns: the system identifier of the cluster from which pg_upgrade has made this one, if the
 * store was prepared there; 0 if there is no file, or it is this cluster's.
 * Errors: the file is damaged, or of a cluster from which this one was not made.
 */
extern uint64 wt_upgrade_predecessor(void);

/*
 * This cluster is about to open its store: it is not prepared any more.
 * Errors: the file cannot be read or removed; then the store must not be opened, because a copy of
 * it would be taken over without what is written from now on.
 */
extern void wt_upgrade_forget_own(void);

/* The store is open in this cluster; the file, which is of another cluster, has served.  Raises no
 * error. */
extern void wt_upgrade_forget(void);

#endif /* WT_UPGRADE_H */
