/*
 * background_process.h
 *		The two background processes: the worker and the keeper.
 */
#ifndef WT_BACKGROUND_PROCESS_H
#define WT_BACKGROUND_PROCESS_H

#include "postmaster/bgworker.h"

#include "fdw/store/anchor.h"

typedef struct WtBackgroundProcessKind
{
	const char *name;	  /* in pg_stat_activity */
	const char *title;	  /* in messages */
	const char *function; /* its main function */
	const char *without;  /* what is missing without it: a sentence */
	BgWorkerStartTime start_time;
	size_t anchor_offset; /* of its WtBackgroundProcess */
} WtBackgroundProcessKind;

/* preloading: it starts with the server */
extern void wt_background_process_register(const WtBackgroundProcessKind *kind);
/* starts one when none runs; never raises */
extern void wt_background_process_ensure(const WtBackgroundProcessKind *kind);
extern void wt_background_process_wake(const WtBackgroundProcess *p);

/* In the process itself.  false: another one runs already. */
extern bool wt_background_process_announce(const WtBackgroundProcessKind *kind);

extern const WtBackgroundProcessKind wt_background_process_keeper;
extern const WtBackgroundProcessKind wt_background_process_worker;

/* one runs, and not only on paper: see background_process.c */
extern bool wt_background_process_worker_responds(void);
extern void wt_background_process_heartbeat(void); /* the worker: I am at it */

#endif /* WT_BACKGROUND_PROCESS_H */
