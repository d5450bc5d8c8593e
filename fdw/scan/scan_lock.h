/*
 * scan_lock.h
 *		Scans that lock their rows.
 */
#ifndef WT_SCAN_LOCK_H
#define WT_SCAN_LOCK_H

#include "fdw/scan/scan_state.h"

/*
 * Locks the row that wt_scan_fetch returned last.  If another transaction may have changed it
 * since the scan's snapshot, reads it again in its newest state: sets st->newest.reread, values
 * and nulls, by attribute number - 1, in CurrentMemoryContext; the caller tests the quals again.
 * Returns false if the row does not exist any more, if this command has changed it already, or
 * if it is locked and the scan skips locked rows.
 * Errors: ERRCODE_LOCK_NOT_AVAILABLE if the scan does not wait for locks;
 * ERRCODE_T_R_SERIALIZATION_FAILURE if the row has changed and the isolation level is
 * REPEATABLE READ or higher.
 */
extern bool wt_scan_lock_row(WtScanState *st, Datum *values, bool *nulls);

#endif /* WT_SCAN_LOCK_H */
