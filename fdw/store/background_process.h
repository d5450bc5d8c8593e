/*
 * background_process.h
 *		What the two background processes, the worker and the keeper, have in common.
 */
#ifndef WT_BACKGROUND_PROCESS_H
#define WT_BACKGROUND_PROCESS_H

#include "libpq/pqsignal.h"
#include "postmaster/bgworker.h"

#include "fdw/store/anchor.h"

typedef struct WtBackgroundProcessKind
{
	const char *name;	  /* in pg_stat_activity */
	const char *title;	  /* in messages */
	const char *function; /* its main function */
	const char *without;  /* errdetail: what is missing while none runs */
	BgWorkerStartTime start_time;
	size_t anchor_offset; /* of its WtBackgroundProcess in WtAnchor */
} WtBackgroundProcessKind;

extern const WtBackgroundProcessKind wt_background_process_keeper;
extern const WtBackgroundProcessKind wt_background_process_worker;

/*
 * Has the postmaster start the process with the server.
 * Requires: shared_preload_libraries is being loaded.
 */
extern void wt_background_process_register(const WtBackgroundProcessKind *kind);

/*
 * Asks the postmaster for the process if none runs, without waiting for it.  Does
 * nothing in a background worker, or if the library is preloaded and the process has not
 * retired: then the postmaster restarts it.  Raises no error.
 */
extern void wt_background_process_ensure(const WtBackgroundProcessKind *kind);

/* Sets the latch of the process, if it runs. */
extern void wt_background_process_wake(const WtBackgroundProcess *p);

/*
 * In the process itself: sets its signal handlers, connects it to shared catalogs only, and
 * enters it in the anchor, up to its exit.  Exits if another one of the kind runs.
 */
extern void wt_background_process_start(const WtBackgroundProcessKind *kind, pqsigfunc on_sigterm);

/*
 * In the process itself: ends it, because it has nothing to do.  The next session that writes
 * starts another one.  is_needed, called when sessions do not count on this process any more: if
 * it returns true the postmaster restarts it.
 */
extern _Noreturn void wt_background_process_retire(const WtBackgroundProcessKind *kind,
												   bool (*is_needed)(void));

/* In the process itself: accepts interrupts, and reads changed configuration files. */
extern void wt_background_process_check_interrupts(void);

/* Returns: true if the worker runs, and is asleep or has shown activity within the last 5 s. */
extern bool wt_background_process_worker_responds(void);

/*
 * Sleep of the worker.  When the store has been idle for a while the worker sleeps until it is
 * rung.  Processes that have given it something to do, or released something that work waited
 * for, ring after that: while it is awake that costs one read of memory.
 *
 *	- set_asleep(true): the worker announces that it will sleep.  It looks for work once more before
 *	  it does, so what happened before the announcement is not missed.
 *	- ring: wakes it, and counts as a sign of activity: a worker that does not react (it was
 *	  stopped) is found absent 5 s later.
 */
extern void wt_background_process_set_asleep(bool sleeps);
extern void wt_background_process_ring(void);

/* Called by the worker now and then: it is active.  Does nothing in other processes. */
extern void wt_background_process_heartbeat(void);

#endif /* WT_BACKGROUND_PROCESS_H */
