/*
 * row_change.h
 *		What follows from changes of rows: entries of indexes.
 *
 * Invariants
 *	- A row of a table that has indexes is locked and read before its first change, and read again
 *	  when the change is settled, both in the newest state.  So the entries that it had and those
 *	  that it has are exactly known, whatever has changed it, and blindly or not.
 *	- Entries are changed in the batch of the change, behind it and before the next command: they
 *	  are committed, rolled back and seen together.
 *	- With a snapshot of the whole transaction (REPEATABLE READ) this snapshot sees the row as the
 *	  newest state has it, or the change is a conflict (40001): the entries that the newest state
 *	  asks for would be wrong for the transaction itself.
 *	- A timestamp that the engine assigns at commit cannot decide which version a row shows: before
 *	  a version that lies ahead of the clock, and of all timestamps assigned so far, a put without
 *	  timestamp gets the present time at once.
 */
#ifndef WT_ROW_CHANGE_H
#define WT_ROW_CHANGE_H

#include "fdw/table/types.h"

/*
 * Before INSERT or COPY of a whole row: returns true if the store has nothing of the row, or if
 * all indexes and roll-ups of the table are declared to be of rows that are written once.  Then
 * what follows from the row is made of its values, and the row is not read.
 * locked: the caller has locked the row, and the transaction had not before.
 */
extern bool wt_row_change_begin_insert(WtTable *t, wide_bytes key, bool locked);

/*
 * For INSERT ... ON CONFLICT DO NOTHING: returns true if another row has values that a unique index
 * allows once.  The values are locked to the end of the transaction.
 * Requires: there is no row with this key, and it is locked.
 */
extern bool wt_row_change_conflicts(WtTable *t, const Datum *values, const bool *nulls);

/*
 * The row is complete, and has exactly these values, which are by column of t.
 * Requires: wt_row_change_begin_insert() has returned true for it.
 */
extern void wt_row_change_inserted(WtTable *t, const Datum *values, const bool *nulls);

/* Installs what derive.h calls. */
extern void wt_row_change_init(void);

#endif /* WT_ROW_CHANGE_H */
