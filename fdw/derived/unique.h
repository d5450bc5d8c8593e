/*
 * unique.h
 *		Unique indexes: no two rows have the same values in the declared columns.
 *
 * Invariant: who puts or deletes an entry holds the lock of its values to the end of the
 * transaction.  So who has that lock and looks for another entry with these values in the newest
 * state sees all there will be.
 */
#ifndef WT_UNIQUE_H
#define WT_UNIQUE_H

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/derived/index.h"

/* Locks the values of an entry, to the end of the transaction.  Waits for other holders. */
extern void wt_unique_lock(const WtIndex *x, const WtEngineTable *e, wide_bytes key);

/* Returns true, and sets *other to its key, if another entry has the values of this one.  Requires:
 * they are locked. */
extern bool wt_unique_is_taken(const WtIndex *x, const WtEngineTable *e, wide_bytes key,
							   wide_bytes *other);

/*
 * Requires: the values are locked, and the row's own old entries are deleted.
 * Errors: UNIQUE_VIOLATION if another row has the values.
 */
extern void wt_unique_check(const WtIndex *x, const WtEngineTable *e, wide_bytes key);

#endif /* WT_UNIQUE_H */
