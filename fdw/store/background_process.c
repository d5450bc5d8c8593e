/*
 * background_process.c
 *		Background processes of which one of a kind runs in the cluster: the
 *		worker (compaction_worker.c) and the keeper (checkpoint_keeper.c).
 *
 * They start with the server when the library is preloaded, otherwise at first
 * use, and PostgreSQL starts them again when they end.  What is known of each is
 * in the anchor.
 *
 * Locking: the anchor's mutex.
 */
#include "postgres.h"

#include "fdw/store/background_process.h"

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

const WtBackgroundProcessKind wt_background_process_keeper = {
	.name = "widetable keeper",
	.title = "keeper process",
	.function = "wt_checkpoint_keeper_main",
	.without = "Base backups that are begun without it may lack data of wide tables.",
	.start_time = BgWorkerStart_RecoveryFinished,
	.anchor_offset = offsetof(WtAnchor, keeper),
};

const WtBackgroundProcessKind wt_background_process_worker = {
	.name = "widetable worker",
	.title = "background worker",
	.function = "wt_compaction_worker_main",
	.without = "Sessions that write do its work until one is free.",
	.start_time = BgWorkerStart_ConsistentState,
	.anchor_offset = offsetof(WtAnchor, worker),
};

static WtBackgroundProcess *
process_of(const WtBackgroundProcessKind *kind)
{
	return (WtBackgroundProcess *) ((char *) wt_anchor() + kind->anchor_offset);
}

static void
fill_worker(const WtBackgroundProcessKind *kind, BackgroundWorker *w)
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
wt_background_process_register(const WtBackgroundProcessKind *kind)
{
	BackgroundWorker w;

	if (wt_settings_workers == 0)
		return;
	fill_worker(kind, &w);
	RegisterBackgroundWorker(&w);
}

void
wt_background_process_ensure(const WtBackgroundProcessKind *kind)
{
	WtAnchor *a = wt_anchor();
	WtBackgroundProcess *p = process_of(kind);
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
wt_background_process_wake(const WtBackgroundProcess *p)
{
	/* a stale process number wakes a stranger, which is harmless */
	if (p->pid != 0)
		SetLatch(&ProcGlobal->allProcs[p->procno].procLatch);
}

static void
forget(int code, Datum arg)
{
	WtAnchor *a = wt_anchor();
	WtBackgroundProcess *p = (WtBackgroundProcess *) DatumGetPointer(arg);

	SpinLockAcquire(&a->mutex);
	if (p->pid == MyProcPid)
		p->pid = 0;
	SpinLockRelease(&a->mutex);
}

bool
wt_background_process_announce(const WtBackgroundProcessKind *kind)
{
	WtAnchor *a = wt_anchor();
	WtBackgroundProcess *p = process_of(kind);
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
	is_worker = first && kind == &wt_background_process_worker;
	return first;
}

bool
wt_background_process_worker_responds(void)
{
	WtAnchor *a = wt_anchor();

	return a->worker.pid != 0 &&
		   GetCurrentTimestamp() - a->worker_heartbeat < SEEN_MS * INT64CONST(1000);
}

void
wt_background_process_heartbeat(void)
{
	if (is_worker)
		wt_anchor()->worker_heartbeat = GetCurrentTimestamp();
}
