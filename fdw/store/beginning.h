/*
 * beginning.h
 *		Whether a store may begin, and how it does.
 */
#ifndef WT_BEGINNING_H
#define WT_BEGINNING_H

#include "postgres.h"

#include "access/xlogdefs.h"

/*
 * Sets a function that says whether foreign tables of this database know that there was a
 * store.  It is called in a transaction of a session.
 */
extern void wt_beginning_on_expected(bool (*callback)(void));

/*
 * Before the store is opened in a segment in which none runs: prepares the state file, the
 * replication slot and, if there is no store, a new one.
 * Requires: this process is the opener.
 * Errors: 55000 if there was a store and it is missing; those of the replication slot.
 */
extern void wt_beginning_prepare(void);

/*
 * Behind wt_beginning_prepare(), once it is known where the sorted files are (NULL: in the store's
 * directory): a new store has none.  Errors: those of the file system.
 */
extern void wt_beginning_clear(const char *files);

/* The store is open, and the process that made it has everything up to the present. */
extern void wt_beginning_done(void);

/* Returns: true if this process is making a store and the log did not ask for it. */
extern bool wt_beginning_is_under_way(void);

/*
 * The store that this process was making cannot be made: everything is as before, but for the
 * record in the log.
 * Requires: wt_beginning_is_under_way(); its files are removed.
 * Errors: those of the file system and of the replication slot.
 */
extern void wt_beginning_undo(void);

/*
 * The store could not be opened because it belongs to another log.  Nothing says that there was
 * one of this cluster, so the replication slot goes if it was made for it.
 */
extern void wt_beginning_failed(void);

/* The log says that another store begins at lsn: the next wt_beginning_prepare() makes it. */
extern void wt_beginning_of_another(XLogRecPtr lsn);

/* From now on until it is called again: a store may begin although there was one. */
extern void wt_beginning_allow(bool allow);

/* Returns: true if there was a store in this cluster and its directory has none. */
extern bool wt_beginning_is_missing(void);

/*
 * Returns: true if a store may still begin in the log: the server replays it, or was restored and
 * has not searched it yet.
 */
extern bool wt_beginning_may_be_in_log(void);

/*
 * Where wt_beginning_may_be_in_log(), after recovery: searches the log.
 * Requires: this process is the opener.
 * Returns: true if a store begins there; wt_beginning_prepare() makes it.
 */
extern bool wt_beginning_search(void);

/* Errors: 55000 always: the store is missing.  The message says what to do. */
extern _Noreturn void wt_beginning_report_missing(void);

/* Writes the state file for an archive recovery that begins. Requires: the startup process. */
extern void wt_beginning_note_recovery(void);

#endif /* WT_BEGINNING_H */
