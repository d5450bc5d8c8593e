/*
 * store.h
 *		The store in this process: opened at first use.
 */
#ifndef WT_STORE_H
#define WT_STORE_H

#include "engine/wide.h"

/* this process's handle; makes or opens the store at first use. Errors when it cannot run. */
extern wide_db *wt_store_db(void);

/* the handle if the store is open in this process already, else NULL; never opens */
extern wide_db *wt_store_db_if_open(void);

/* Opens the store or says why not (palloc'd), without raising that as an error. */
extern wide_db *wt_store_db_try(char **why);

/* true when the store's directory exists: something has been stored in this cluster */
extern bool wt_store_exists(void);

extern bool wt_store_runs(void); /* somebody has opened it: wt_store_db will not wait */

/* For the worker: on a standby wt_store_db follows the log in this process until the server is
 * promoted, instead of an error. */
extern void wt_store_follow(void);

extern void wt_store_request(void); /* preload: shared memory request and worker registration */
/* Calls it before the store is let go at the end of the process, whose transaction is not
 * aborted yet then. */
extern void wt_store_on_detach(void (*callback)(void));

#endif /* WT_STORE_H */
