/*
 * host.h
 *		What the engine asks of PostgreSQL.
 */
#ifndef WT_HOST_H
#define WT_HOST_H

#include "engine/wide.h"

extern bool wt_host_interrupted(void); /* CHECK_FOR_INTERRUPTS is going to raise an error */

/* with its epoch; it is less than 2^31 from the next one */
extern uint64 wt_host_full_xid(TransactionId xid);

/* The callbacks of the engine. */
extern void wt_host_fill(wide_host *host);

#endif /* WT_HOST_H */
