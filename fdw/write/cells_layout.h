/*
 * cells_layout.h
 *		INSERT, UPDATE and DELETE of one row in the layout 'cells'.
 */
#ifndef WT_CELLS_LAYOUT_H
#define WT_CELLS_LAYOUT_H

#include "executor/tuptable.h"

#include "fdw/write/modify_state.h"

/*
 * Each function writes one row to the batch.  They return false if the row is
 * left out: the plan has delivered it before, or another part of the statement
 * has changed it.  They require that m's engine is known, and
 * CurrentMemoryContext to be m->row_cxt.
 */

/* Puts the version; 23502 if it has no family, qualifier or value. */
extern bool wt_cells_layout_insert(WtModify *m, TupleTableSlot *slot);
/* Writes the version again, in its place or in the one that the statement sets. */
extern bool wt_cells_layout_update(WtModify *m, TupleTableSlot *slot, TupleTableSlot *planSlot,
								   const bool *set);
/* Deletes this version, and no other. */
extern bool wt_cells_layout_delete(WtModify *m, TupleTableSlot *planSlot);
/* At the end of the statement: raises 23505 if a version was moved onto another one. */
extern void wt_cells_layout_check_moves(WtModify *m);

#endif /* WT_CELLS_LAYOUT_H */
