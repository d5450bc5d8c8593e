/*
 * restartpoint.h
 *		Couples a standby's restartpoints to flushes of the store.  For the keeper, while it
 *		follows the log.
 */
#ifndef WT_RESTARTPOINT_H
#define WT_RESTARTPOINT_H

#include "access/xlogdefs.h"

#include "engine/wide.h"

/* The keeper has read the record of a checkpoint with that redo position. */
extern void wt_restartpoint_may_come(wide_db *db, XLogRecPtr redo);

/* Holds restartpoints up as long as the store needs WAL from before their redo position, and has
 * it flushed.  To be called often.  Raises no error. */
extern void wt_restartpoint_look(wide_db *db);

/* Returns: true if restartpoints are held up.  The slot cannot be saved meanwhile. */
extern bool wt_restartpoint_is_held(void);

/* Lets restartpoints go on.  Does nothing if none are held up. */
extern void wt_restartpoint_release(void);

/* For the worker: returns the redo position up to which the store should be flushed. */
extern XLogRecPtr wt_restartpoint_redo(void);

#endif /* WT_RESTARTPOINT_H */
