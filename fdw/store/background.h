/*
 * background.h
 *		The two background processes: the worker and the keeper.
 */
#ifndef WT_BACKGROUND_H
#define WT_BACKGROUND_H

#include "postmaster/bgworker.h"

#include "fdw/store/anchor.h"

typedef struct WtBackgroundKind
{
	const char *name;	  /* in pg_stat_activity */
	const char *title;	  /* in messages */
	const char *function; /* its main function */
	const char *without;  /* what is missing without it: a sentence */
	BgWorkerStartTime start_time;
	size_t anchor_offset; /* of its WtBackground */
} WtBackgroundKind;

/* preloading: it starts with the server */
extern void wt_background_register(const WtBackgroundKind *kind);
/* starts one when none runs; never raises */
extern void wt_background_ensure(const WtBackgroundKind *kind);
extern void wt_background_wake(const WtBackground *p);

/* In the process itself.  false: another one runs already. */
extern bool wt_background_announce(const WtBackgroundKind *kind);

extern const WtBackgroundKind wt_background_keeper;
extern const WtBackgroundKind wt_background_worker;

/* one runs, and not only on paper: see background.c */
extern bool wt_background_worker_works(void);
extern void wt_background_worker_tick(void); /* the worker: I am at it */

#endif /* WT_BACKGROUND_H */
