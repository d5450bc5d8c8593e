/*
 * row_operation.h
 *		Operations on one row of HBase that are made at once: increment, append, check_and_mutate.
 *
 * They return what the row has then, so they cannot wait for the commit, and nothing undoes them.
 * Changes of the row between begin and execute are sent with them as one atomic list; until then
 * they are changes of the transaction, which it can read.
 */
#ifndef WT_ROW_OPERATION_H
#define WT_ROW_OPERATION_H

#include "engine/wide.h"
#include "fdw/remote/remote_table.h"
#include "fdw/table/engine.h"
#include "hbase/hbase.h"

/*
 * Begins an operation on the row.
 * Errors: 0A000 in a transaction block, unless the server has atomic_functions 'immediate'.
 */
extern void wt_row_operation_begin(WtTable *t, WtRemoteTable *r, wide_bytes key);

/* The engine's functions (engine.h): part of the operation. */
extern void wt_row_operation_increment(wide_family_id family, wide_bytes qual, int64 delta);
extern void wt_row_operation_append(wide_family_id family, wide_bytes qual, wide_bytes value);
extern bool wt_row_operation_execute(WtTable *t, const WtEngineCheck *check);
extern bool wt_row_operation_result(wide_family_id family, wide_bytes qual, wide_bytes *value);

/* Installs the callback for the end of transactions. */
extern void wt_row_operation_init(void);

#endif /* WT_ROW_OPERATION_H */
