/*
 * remote_query.h
 *		A query on the connection that postgres_fdw uses for a foreign table.
 */
#ifndef WT_REMOTE_QUERY_H
#define WT_REMOTE_QUERY_H

#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "utils/tuplestore.h"

/* Returns true if it is a foreign table of postgres_fdw.  Needs no lock. */
extern bool wt_remote_query_table(Oid relid);

/* Returns the name of the column on the server, for a column of a foreign table of postgres_fdw. */
extern char *wt_remote_query_column(Oid relid, AttrNumber attno, const char *name);

/* Returns the name of the table on the server, with its schema, quoted. */
extern char *wt_remote_query_name(Oid relid);

/*
 * Runs a query on the table's server, in the transaction and at the savepoint in which postgres_fdw
 * reads and writes the table for the current user, and appends its rows to out.  sql: has $1, $2,
 * ... for params, a list of Const; its columns are those of desc.  function: for errors. Requires:
 * a lock on the table, and that the user may use it. Errors: those of postgres_fdw and of the
 * server, with the function, the table and the server in the context; FEATURE_NOT_SUPPORTED in a
 * version of PostgreSQL whose postgres_fdw is not known.
 */
extern void wt_remote_query_run(Oid relid, const char *function, const char *sql, List *params,
								TupleDesc desc, Tuplestorestate *out);

#endif /* WT_REMOTE_QUERY_H */
