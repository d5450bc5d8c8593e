/*
 * follower.h
 *		Reads on a standby: they wait until the store has what the server has replayed.
 */
#ifndef WT_FOLLOWER_H
#define WT_FOLLOWER_H

#include "engine/wide.h"

/*
 * In recovery: waits until the store shows all that this server has replayed by now, normally for
 * less than a millisecond.
 * Errors: 55000 if the log cannot be followed; those of the engine.
 */
extern void wt_follower_wait(wide_db *db);

/* Returns: the store, as wt_store_db(); in recovery after wt_follower_wait(). */
extern wide_db *wt_follower_db(void);

#endif /* WT_FOLLOWER_H */
