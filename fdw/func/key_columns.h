/*
 * key_columns.h
 *		The names of a table's key columns, also where another server knows them.
 */
#ifndef WT_KEY_COLUMNS_H
#define WT_KEY_COLUMNS_H

#include "nodes/pg_list.h"

/*
 * Returns: a list of palloc'd names, of columns of this table in key order; of a partitioned table,
 * what its partitions have. Requires: a lock on the table, and that the user may use it. Errors:
 * WRONG_OBJECT_TYPE; those of wt_remote_query_run().
 */
extern List *wt_key_columns(Oid relid, const char *function);

/* Forgets what is known of other servers, after an error that may come from it. */
extern void wt_key_columns_forget(void);

#endif /* WT_KEY_COLUMNS_H */
