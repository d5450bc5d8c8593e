/*
 * route.h
 *		Functions on a row go where the row lives: to a partition, to another server.
 */
#ifndef WT_ROUTE_H
#define WT_ROUTE_H

#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "fdw/func/call.h"

/* What a function uses of the row: where its privileges are needed. */
typedef enum WtRouteCells
{
	WT_ROUTE_ROW,		/* the row as a whole */
	WT_ROUTE_CELL,		/* the cell in argument 2 */
	WT_ROUTE_PUT,		/* the same; with a timestamp in argument 4, others, too */
	WT_ROUTE_OBJECT,	/* those in argument 2, an object of cells and values */
	WT_ROUTE_MUTATIONS, /* it reads the cell in argument 2, and writes those in 5 and 6 */
} WtRouteCells;

/*
 * Starts a call f(rel, key, ...) as wt_call_rel(), where rel may also be a partitioned table or a
 * foreign table of postgres_fdw.
 * Returns: true if the row is in a wide table of this database: *c is set, and the call goes on
 * with its other arguments.  False if the call has been carried out on another server, or there is
 * no partition for the key and nothing to do: *result and fcinfo->isnull have the result. Errors:
 * also those of wt_partition_find() and wt_remote_query_run(); WRONG_OBJECT_TYPE if the key belongs
 * to a partition that is no wide table; CHECK_VIOLATION if it belongs to none.
 */
extern bool wt_route_call(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes,
						  AclMode needs, WtRouteCells cells, Datum *result);

#endif /* WT_ROUTE_H */
