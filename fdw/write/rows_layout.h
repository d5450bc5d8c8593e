/*
 * rows_layout.h
 *		INSERT, UPDATE and DELETE in the layout 'rows'.
 */
#ifndef WT_ROWS_LAYOUT_H
#define WT_ROWS_LAYOUT_H

#include "executor/tuptable.h"

#include "engine/wide.h"
#include "fdw/write/modify_state.h"

/* Cells of all columns that are not NULL; how many. */
extern int wt_rows_layout_insert(WtModify *m, TupleTableSlot *slot, wide_bytes key);
/* The cells that an UPDATE of layout 'rows' changes, in m->writes. */
extern void wt_rows_layout_collect_writes(WtModify *m, TupleTableSlot *slot, TupleTableSlot *before,
										  const bool *set);
/*
 * Read the newest versions of the cells to be put, so that the new ones lie
 * above them, and write all changes.
 */
extern void wt_rows_layout_apply_writes(WtModify *m, wide_bytes key);
/* All visible versions of all families of a row, to another key. */
extern void wt_rows_layout_copy_row(WtModify *m, wide_bytes from, wide_bytes to);
/* True if the statement sets a key column. */
extern bool wt_rows_layout_key_is_set(WtModify *m, const bool *set);

#endif /* WT_ROWS_LAYOUT_H */
