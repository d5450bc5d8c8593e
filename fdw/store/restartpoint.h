/*
 * restartpoint.h
 *		Couples a standby's restartpoints to flushes of the store.
 */
#ifndef WT_RESTARTPOINT_H
#define WT_RESTARTPOINT_H

#include "access/xlogdefs.h"

#include "engine/wide.h"

/*
 * For the keeper of a standby, often: lets a restartpoint that waits go on if the store needs no
 * WAL from before it, has the worker flush otherwise, and makes the next one wait.  shown: the log
 * up to there is in the store.  Raises no error.
 */
extern void wt_restartpoint_look(wide_db *db, XLogRecPtr shown);

/* Returns: true if the keeper is to look again soon. */
extern bool wt_restartpoint_is_near(void);

/* Restartpoints do not wait any more.  Does nothing if they do not.  Raises no error. */
extern void wt_restartpoint_release(void);

#endif /* WT_RESTARTPOINT_H */
