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
 * Sets the function that wt_error_check() asks for the table and the family of a damaged file; it
 * returns false if they are not known, and raises no error.
 */
extern void wt_error_set_names(bool (*names)(wide_family_id id, wide_family *family,
											 wide_table *table));

/*
 * What an error changes for whoever catches it: ereport(ERROR) sets both counts to 0, because it
 * expects that a transaction ends.  Code that goes on after PG_CATCH, in the middle of a commit or
 * of the engine, would be open to cancellations, and the next RESUME_INTERRUPTS() would make the
 * count wrap around: the process would never accept one again.
 */
typedef struct WtErrorPoint
{
	MemoryContext context;
	uint32 interrupts, cancels; /* InterruptHoldoffCount, QueryCancelHoldoffCount */
} WtErrorPoint;

/* Before PG_TRY: returns the present state, for wt_error_take(). */
extern WtErrorPoint wt_error_point(void);

/*
 * In PG_CATCH: ends the error's handling without the end of a transaction, and without that of a
 * subtransaction.  Every PG_CATCH that does not raise the error again calls this.  The state of
 * before is restored.  What code may hold when it raises an error is released as at the end of a
 * transaction: lightweight locks (a replication slot's "already exists" is raised under two; every
 * checkpoint would wait), a record of WAL that was begun, waits for conditions and locks.
 * Requires: the caller holds no lightweight lock and waits for no lock of its own.
 * Returns: a copy of the error, palloc'd in the context of before.
 */
extern ErrorData *wt_error_take(const WtErrorPoint *before);

/* Returns: the SQLSTATE of a status that is not WIDE_OK. */
extern int wt_error_sqlstate(wide_status st);

/* Inside ereport(): adds the errhint of a status that has one. */
extern int wt_error_hint(wide_status st);

#endif /* WT_ERROR_H */
