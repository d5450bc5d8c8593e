/*
 * result.h
 *		Results of SQL functions: bytea values, rows column by column, and items
 *		that callbacks of the engine gather.
 */
#ifndef WT_RESULT_H
#define WT_RESULT_H

#include "lib/ilist.h"
#include "nodes/execnodes.h"

#include "engine/wide.h"

/* Returns a bytea with a copy of the bytes. */
extern Datum wt_result_bytea(const void *data, size_t len);

#define WT_RESULT_MAX_COLUMNS 44

/* A row under construction; {0} is one without columns. */
typedef struct WtResultRow
{
	int n;
	Datum values[WT_RESULT_MAX_COLUMNS];
	bool nulls[WT_RESULT_MAX_COLUMNS];
} WtResultRow;

/* Each appends a column. */
extern void wt_result_add(WtResultRow *row, Datum value);
extern void wt_result_add_null(WtResultRow *row);
/* is_null: appends a null, and not the value. */
extern void wt_result_add_unless(WtResultRow *row, bool is_null, Datum value);
/* Appends a text; s NULL: a null. */
extern void wt_result_add_text(WtResultRow *row, const char *s);
/* Adds the row to a materialized result.  Requires: all columns have been appended. */
extern void wt_result_put(const WtResultRow *row, ReturnSetInfo *rsinfo);

/*
 * Allocates an item and appends it to list.  Requires: the item's struct begins
 * with its dlist_node.  For callbacks of the engine, which must not raise
 * errors: returns NULL if there is no memory.
 */
extern void *wt_result_gather(dlist_head *list, size_t size);
/* Copies b's bytes to *space, which it advances, and makes b refer to the copy. */
extern void wt_result_move_bytes(wide_bytes *b, uint8 **space);

#endif /* WT_RESULT_H */
