/*
 * background.c
 *		Background processes of which one of a kind runs in the cluster: the
 *		worker (worker.c) and the keeper (checkpoint_keeper.c).
 *
 * They start with the server when the library is preloaded, otherwise at first
 * use, and PostgreSQL starts them again when they end.  What is known of each is
 * in the anchor.
 *
 * Locking: the anchor's mutex.
 */
#include "postgres.h"

#include "fdw/store/background.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"

/* It needs a moment to come up, and may be refused: not asked for more often. */
#define ASK_AGAIN	(10 * USECS_PER_SEC)
#define ASK_REFUSED (2 * USECS_PER_SEC)

#define SEEN_MS 5000 /* a worker that was not seen for so long is not counted on */

static bool is_worker = false; /* this process */

const WtBackgroundKind wt_background_keeper = {
	.name = "widetable keeper",
	.title = "keeper process",
	.function = "wt_checkpoint_keeper_main",
	.without = "Base backups that are begun without it may lack data of wide tables.",
	.start_time = BgWorkerStart_RecoveryFinished,
	.anchor_offset = offsetof(WtAnchor, keeper),
};

const WtBackgroundKind wt_background_worker = {
	.name = "widetable worker",
	.title = "background worker",
	.function = "wt_worker_main",
	.without = "Sessions that write do its work until one is free.",
	.start_time = BgWorkerStart_ConsistentState,
	.anchor_offset = offsetof(WtAnchor, worker),
};

static WtBackground *
process_of(const WtBackgroundKind *kind)
{
	return (WtBackground *) ((char *) wt_anchor() + kind->anchor_offset);
}

static void
fill_worker(const WtBackgroundKind *kind, BackgroundWorker *w)
{
	memset(w, 0, sizeof(*w));
	w->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	w->bgw_start_time = kind->start_time;
	w->bgw_restart_time = 1;
	strlcpy(w->bgw_library_name, "widetable", sizeof(w->bgw_library_name));
	strlcpy(w->bgw_function_name, kind->function, sizeof(w->bgw_function_name));
	strlcpy(w->bgw_name, kind->name, sizeof(w->bgw_name));
	strlcpy(w->bgw_type, kind->name, sizeof(w->bgw_type));
}

void
wt_background_register(const WtBackgroundKind *kind)
{
	BackgroundWorker w;

	if (wt_settings_workers == 0)
		return;
	fill_worker(kind, &w);
	RegisterBackgroundWorker(&w);
}

void
wt_background_ensure(const WtBackgroundKind *kind)
{
	WtAnchor *a = wt_anchor();
	WtBackground *p = process_of(kind);
	BackgroundWorker w;
	TimestampTz now;
	bool mine = false;

	if (wt_settings_workers == 0 || wt_in_background_worker || p->pid != 0 || a->in_main)
		return;
	now = GetCurrentTimestamp();
	SpinLockAcquire(&a->mutex);
	if (p->pid == 0 && now - p->asked > (p->refused ? ASK_REFUSED : ASK_AGAIN))
	{
		p->asked = now;
		mine = true;
	}
	SpinLockRelease(&a->mutex);
	if (!mine)
		return;
	fill_worker(kind, &w);
	if (RegisterDynamicBackgroundWorker(&w, NULL))
		p->refused = false;
	else if (!p->refused)
	{
		/* once; it is asked for again as long as somebody writes */
		p->refused = true;
		ereport(LOG,
				(errmsg("widetable could not start its %s: no slot of max_worker_processes (%d) is "
						"free",
						kind->title,
						max_worker_processes),
				 errdetail("%s", kind->without),
				 errhint("Increase max_worker_processes.")));
	}
}

void
wt_background_wake(const WtBackground *p)
{
	/* a stale process number wakes a stranger, which is harmless */
	if (p->pid != 0)
		SetLatch(&ProcGlobal->allProcs[p->procno].procLatch);
}

static void
forget(int code, Datum arg)
{
	WtAnchor *a = wt_anchor();
	WtBackground *p = (WtBackground *) DatumGetPointer(arg);

	SpinLockAcquire(&a->mutex);
	if (p->pid == MyProcPid)
		p->pid = 0;
	SpinLockRelease(&a->mutex);
}

bool
wt_background_announce(const WtBackgroundKind *kind)
{
	WtAnchor *a = wt_anchor();
	WtBackground *p = process_of(kind);
	bool first;

	SpinLockAcquire(&a->mutex);
	first = p->pid == 0;
	if (first)
	{
		p->pid = MyProcPid;
		p->procno = MyProc - ProcGlobal->allProcs;
		p->refused = false;
	}
	SpinLockRelease(&a->mutex);
	if (first)
		before_shmem_exit(forget, PointerGetDatum(p));
	is_worker = first && kind == &wt_background_worker;
	return first;
}

bool
wt_background_worker_works(void)
{
	WtAnchor *a = wt_anchor();

	return a->worker.pid != 0 &&
		   GetCurrentTimestamp() - a->worker_seen < SEEN_MS * INT64CONST(1000);
}

void
wt_background_worker_tick(void)
{
	if (is_worker)
		wt_anchor()->worker_seen = GetCurrentTimestamp();
}
