/*
 * error.h
 *		The engine's statuses as errors of PostgreSQL.
 */
#ifndef WT_ERROR_H
#define WT_ERROR_H

#include "engine/wide.h"

/*
 * Raises a status other than WIDE_OK as an error, with the engine's text.
 * what: text before it ("could not read"), or NULL.
 * Errors: wt_error_sqlstate(); a cancellation for WIDE_INTERRUPTED; PANIC for
 * WIDE_POISONED, because only the postmaster can create shared memory anew.
 */
extern void wt_error_check(wide_status st, const char *what);

/*
 * In PG_CATCH: ends the error's handling without the end of a transaction.  caller, the
 * memory context from before PG_TRY, becomes the current one.  Some errors are raised under
 * lightweight locks (a replication slot's "already exists" under two), which would stay
 * held, and every checkpoint would wait: all are released.
 * Requires: the caller holds no lightweight lock of its own.
 * Returns: a copy of the error, palloc'd there.
 */
extern ErrorData *wt_error_take(MemoryContext caller);

/* Returns: the SQLSTATE of a status that is not WIDE_OK. */
extern int wt_error_sqlstate(wide_status st);

/* Inside ereport(): adds the errhint of a status that has one. */
extern int wt_error_hint(wide_status st);

#endif /* WT_ERROR_H */
