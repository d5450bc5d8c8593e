/*
 * replication_slot.h
 *		The physical replication slot that keeps the WAL which is not in files.
 */
#ifndef WT_REPLICATION_SLOT_H
#define WT_REPLICATION_SLOT_H

#include "access/xlogdefs.h"

#include "engine/wide.h"

#define WT_REPLICATION_SLOT_NAME "widetable" /* the physical replication slot that keeps our WAL \
											  */

/* makes the slot when it is missing or of no use; ereports */
extern void wt_replication_slot_ensure(void);
extern void wt_replication_slot_advance(XLogRecPtr lsn); /* moves it forward; never raises */
/* moves it back when it is ahead, and what it reserves then is there; never raises */
extern void wt_replication_slot_reserve(XLogRecPtr lsn);

/* For the keeper: have it as this process's own.  true: only from now on.  Ereports. */
extern bool wt_replication_slot_hold(void);

/* Before a commit: it is there, or is again, or else an error. */
extern void wt_replication_slot_check(wide_db *db);

/* preloading: to be there before recovery begins */
extern void wt_replication_slot_register_startup(void);

#endif /* WT_REPLICATION_SLOT_H */
