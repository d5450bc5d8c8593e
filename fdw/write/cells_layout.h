/*
 * cells_layout.h
 *		INSERT, UPDATE and DELETE in the layout 'cells'.
 */
#ifndef WT_CELLS_LAYOUT_H
#define WT_CELLS_LAYOUT_H

#include "executor/tuptable.h"

#include "engine/wide.h"
#include "fdw/write/modify_state.h"
#include "fdw/write/version_move.h"

/* Key, family, qualifier and timestamp of the version that the plan delivered. */
typedef struct WtCellIdentity
{
	/* of an own version without a timestamp yet: the provisional one, which names it */
	WtVersion v;
	bool again; /* it was delivered before */
} WtCellIdentity;

/* Puts the cell of the row; returns how many cells were put: 0 or 1. */
extern int wt_cells_layout_insert(WtModify *m, TupleTableSlot *slot, wide_bytes key);
/* Raises the error that the version exists. */
extern void wt_cells_layout_raise_version(WtModify *m, const WtVersion *v);
/* The version that the plan delivered, into *id. */
extern void wt_cells_layout_old_cell(WtModify *m, TupleTableSlot *planSlot, WtCellIdentity *id);
/* Writes the version again, at its place or at the one that the statement sets. */
extern void wt_cells_layout_update(WtModify *m, TupleTableSlot *slot, const bool *set,
								   const WtVersion *id);

#endif /* WT_CELLS_LAYOUT_H */
