/*
 * background.h
 *		The two background processes: the worker and the keeper.
 */
#ifndef WT_BACKGROUND_H
#define WT_BACKGROUND_H

#include "postmaster/bgworker.h"

#include "fdw/store/anchor.h"

typedef struct WtProcessKind
{
	const char *name;			/* in pg_stat_activity */
	const char *title;			/* in messages */
	const char *function;		/* its main function */
	const char *without;		/* what is missing without it: a sentence */
	BgWorkerStartTime start_time;
	size_t		anchor_offset;	/* of its WtProcess */
} WtProcessKind;

extern void wt_process_register(const WtProcessKind *kind); /* preloading: it starts with the server */
extern void wt_process_ensure(const WtProcessKind *kind);	/* starts one when none runs; never raises */
extern void wt_process_wake(const WtProcess *p);

/* In the process itself.  false: another one runs already. */
extern bool wt_process_announce(const WtProcessKind *kind);

extern const WtProcessKind wt_keeper;
extern const WtProcessKind wt_worker;

extern bool wt_worker_works(void);	/* one runs, and not only on paper: see background.c */
extern void wt_worker_tick(void);	/* the worker: I am at it */

#endif							/* WT_BACKGROUND_H */
