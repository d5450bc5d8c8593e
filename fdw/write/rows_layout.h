/*
 * rows_layout.h
 *		INSERT, UPDATE and DELETE of one row in the layout 'rows'.
 */
#ifndef WT_ROWS_LAYOUT_H
#define WT_ROWS_LAYOUT_H

#include "executor/tuptable.h"

#include "fdw/write/modify_state.h"

/*
 * Each function writes one row to the batch.  They return false if the row is
 * left out: an INSERT ... ON CONFLICT DO NOTHING finds it, the plan has
 * delivered it before, or another part of the statement has changed it.  They
 * require that m's engine is known, and CurrentMemoryContext to be m->row_cxt.
 */

/*
 * Puts the cells of all columns that are not NULL, or a marker; 23502 if there are no such columns
 * and the table has no markers.
 * With insert_mode 'error': 23505 if the row exists.
 */
extern bool wt_rows_layout_insert(WtModify *m, TupleTableSlot *slot);
/*
 * Writes the cells that the statement changes, and a marker if none is left. before: the old row,
 * needed for maps, or NULL; set, by column: the statement sets it.  A new key moves the row; 23505
 * if that key exists.
 */
extern bool wt_rows_layout_update(WtModify *m, TupleTableSlot *slot, TupleTableSlot *planSlot,
								  TupleTableSlot *before, const bool *set);
/* Deletes the row in all families. */
extern bool wt_rows_layout_delete(WtModify *m, TupleTableSlot *planSlot);

#endif /* WT_ROWS_LAYOUT_H */
