/*
 * connection.h
 *		Connections of this session to clusters of HBase.
 */
#ifndef WT_CONNECTION_H
#define WT_CONNECTION_H

#include "fdw/table/engine.h"
#include "fdw/table/types.h"
#include "hbase/hbase.h"

/*
 * Returns: the client for the server and the user, which lives to the end of the session or until
 * the server or the user mapping changes; then it is replaced at the next transaction.
 * Errors: HV00N (fdw_unable_to_establish_connection) if the server has no option "nodes".
 */
extern hb_client *wt_connection_to(Oid server, Oid user, const WtPlace *place);

/*
 * Raises the client's last failure as an error.  table: its name in HBase, or NULL; what: "could
 * not ...".  A cancellation of the statement is raised as that.  more: a line for DETAIL before
 * what the server said, or NULL.
 */
extern _Noreturn void wt_connection_fail(hb_client *client, hb_status status, const char *what,
										 const char *table, const char *more);

/* The engine's function (engine.h). */
extern void wt_connection_each(void (*each)(void *ctx, const WtEngineConnection *c), void *ctx);

/* Installs the callbacks that see changes of servers and user mappings. */
extern void wt_connection_init(void);

#endif /* WT_CONNECTION_H */
