/*
 * host.h
 *		The engine's callbacks into PostgreSQL, and what else waits and looks for
 *		interrupts.
 */
#ifndef WT_HOST_H
#define WT_HOST_H

#include "engine/wide.h"

/*
 * Returns: true only if CHECK_FOR_INTERRUPTS would raise an error, so that work of
 * the engine is not broken off for nothing.
 */
extern bool wt_host_interrupted(void);

/*
 * Waits for the process's latch, for at most ms milliseconds, and resets it.  Accepts no
 * interrupts.
 * Returns: true if the latch was set.
 */
extern bool wt_host_wait(long ms);
/* The same; event: what pg_stat_activity shows meanwhile. */
extern bool wt_host_wait_event(long ms, uint32 event);

/*
 * Returns: the xid with its epoch.
 * Requires: the xid is less than 2^31 before the next one.
 */
extern uint64 wt_host_full_xid(TransactionId xid);

/* Fills in the engine's callbacks. */
extern void wt_host_fill(wide_host *host);

#endif /* WT_HOST_H */
