/*
 * health.h
 *		What the processes of this server have last said about the store, for views that do
 *		not open it.
 */
#ifndef WT_HEALTH_H
#define WT_HEALTH_H

#include "access/xlogdefs.h"

/* Keeps the text and the time of a failure that keeps the store from being used or followed. */
extern void wt_health_failed(const char *text);

/* The store is open, or follows the log again: the failure counts as over. */
extern void wt_health_recovered(void);

/* For the process that replays: the log up to there is in the store.  end: all that there is. */
extern void wt_health_replayed(XLogRecPtr lsn, bool end);

#endif /* WT_HEALTH_H */
