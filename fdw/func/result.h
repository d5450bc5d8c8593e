/*
 * result.h
 *		Results of SQL functions: bytea and jsonb values, rows column by column,
 *		and what callbacks of the engine gather.
 */
#ifndef WT_RESULT_H
#define WT_RESULT_H

#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "utils/jsonb.h"

#include "engine/wide.h"

/* Returns a bytea with a copy of the bytes. */
extern Datum wt_result_bytea(const void *data, size_t len);

/* Adds a string to the jsonb under construction; tok: WJB_KEY, WJB_VALUE or WJB_ELEM. */
extern void wt_result_push_string(JsonbParseState **ps, JsonbIteratorToken tok, const char *s);
/*
 * Adds a value of any type as to_jsonb converts it, but without casts to json whose functions are
 * of a user: such a value is its output text.
 */
extern void wt_result_push_value(JsonbParseState **ps, Oid type, Datum value);

#define WT_RESULT_MAX_COLUMNS 64

/* A row under construction; {0} is one without columns. */
typedef struct WtResultRow
{
	int n;
	Datum values[WT_RESULT_MAX_COLUMNS];
	bool nulls[WT_RESULT_MAX_COLUMNS];
} WtResultRow;

/* Appends a column. */
extern void wt_result_add(WtResultRow *row, Datum value);
/* is_null: appends a null, and not the value. */
extern void wt_result_add_unless(WtResultRow *row, bool is_null, Datum value);
/* Appends a text; s NULL: a null. */
extern void wt_result_add_text(WtResultRow *row, const char *s);
/*
 * Adds the row to a materialized result.  Requires: all columns have been appended.  The
 * definition may have fewer: an older version of the extension lacks the last columns of this
 * library.
 * Errors: 55000 if it has more.
 */
extern void wt_result_put(const WtResultRow *row, ReturnSetInfo *rsinfo);
/* Returns the row as the function's only result.  Requires and raises the same. */
extern Datum wt_result_one(const WtResultRow *row, FunctionCallInfo fcinfo);

/* What a callback of the engine got; one palloc'd piece. */
typedef struct WtResultItem
{
	dlist_node node;
	const void *info;	 /* the struct; pointers in it are no longer valid */
	wide_bytes bytes[2]; /* a and b */
} WtResultItem;

/*
 * Appends an item with copies of a struct of this size and of bytes to list.  For
 * callbacks of the engine, which must not raise errors: returns WIDE_NOMEM if there
 * is no memory.
 */
extern wide_status wt_result_gather(dlist_head *list, const void *info, size_t size, wide_bytes a,
									wide_bytes b);

#endif /* WT_RESULT_H */
