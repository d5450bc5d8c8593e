/*
 * remote_define.h
 *		CREATE, ALTER and TRUNCATE of foreign tables on tables of HBase.
 */
#ifndef WT_REMOTE_DEFINE_H
#define WT_REMOTE_DEFINE_H

#include "fdw/table/types.h"

/* The engine's functions (engine.h). */
extern void wt_remote_define(WtTable *t, bool created);
extern void wt_remote_define_truncate(WtTable *t);
extern void wt_remote_define_drop(WtTable *t);

/* PRE_COMMIT: makes and changes what the transaction's DDL has declared. */
extern void wt_remote_define_apply(void);

/* Returns: true if there is something to make. */
extern bool wt_remote_define_any(void);

/* End of the transaction: there is nothing to make any more. */
extern void wt_remote_define_forget(void);

/* Installs the callback for subtransactions. */
extern void wt_remote_define_init(void);

#endif /* WT_REMOTE_DEFINE_H */
