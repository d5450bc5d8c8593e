/*
 * background_process.c
 *		Starting and observing the background processes: the worker
 *		(compaction_worker.c) and the keeper (checkpoint_keeper.c).  One of each runs
 *		in the cluster.
 *
 * They start with the server if the library is preloaded, otherwise at the first
 * use of the store.  The postmaster restarts them when they exit.  Their state is
 * in the anchor.
 *
 * Locking: the anchor's mutex.  The pid is also read without it, where a stale
 * value does no harm.
 */
#include "postgres.h"

#include "fdw/store/background_process.h"

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"

/* Least times between requests: the process needs time to start; the request was refused. */
#define ASK_AGAIN	(10 * USECS_PER_SEC)
#define ASK_REFUSED (2 * USECS_PER_SEC)

/* Without a heartbeat for this long the worker counts as absent: stopped, or waiting for a disk. */
#define HEARTBEAT_TIMEOUT_MS 5000

static bool is_worker = false; /* this process is the worker */

const WtBackgroundProcessKind wt_background_process_keeper = {
	.name = "widetable keeper",
	.title = "keeper process",
	.function = "wt_checkpoint_keeper_main",
	.without = "Base backups that are begun without it may lack data of wide tables.",
	.start_time = BgWorkerStart_ConsistentState,
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

	if (wt_settings_workers == 0 || IsBinaryUpgrade)
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
	bool ask = false;

	if (wt_settings_workers == 0 || wt_in_background_worker || p->pid != 0 ||
		(a->in_main && !p->retired))
		return;
	now = GetCurrentTimestamp();
	SpinLockAcquire(&a->mutex);
	if (p->pid == 0 && now - p->asked > (p->refused ? ASK_REFUSED : ASK_AGAIN))
	{
		p->asked = now;
		ask = true;
	}
	SpinLockRelease(&a->mutex);
	if (!ask)
		return;
	fill_worker(kind, &w);
	if (RegisterDynamicBackgroundWorker(&w, NULL))
		p->refused = false;
	else if (!p->refused)
	{
		/* logged once; sessions that write go on asking */
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
	/* with a stale procno another process is woken, which does no harm */
	if (p->pid != 0)
		SetLatch(&ProcGlobal->allProcs[p->procno].procLatch);
}

/* Exit of the process: removes it from the anchor. */
static void
forget_at_exit(int code, Datum arg)
{
	WtAnchor *a = wt_anchor();
	WtBackgroundProcess *p = (WtBackgroundProcess *) DatumGetPointer(arg);

	SpinLockAcquire(&a->mutex);
	if (p->pid == MyProcPid)
		p->pid = 0;
	SpinLockRelease(&a->mutex);
	if (is_worker)
		wt_background_process_set_asleep(false);
}

void
wt_background_process_start(const WtBackgroundProcessKind *kind, pqsigfunc on_sigterm)
{
	WtAnchor *a = wt_anchor();
	WtBackgroundProcess *p = process_of(kind);
	bool first;

	pqsignal(SIGTERM, on_sigterm);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	SpinLockAcquire(&a->mutex);
	first = p->pid == 0;
	if (first)
	{
		p->pid = MyProcPid;
		p->procno = MyProc - ProcGlobal->allProcs;
		p->refused = p->retired = false;
	}
	SpinLockRelease(&a->mutex);
	if (!first)
		proc_exit(0);
	before_shmem_exit(forget_at_exit, PointerGetDatum(p));
	is_worker = kind == &wt_background_process_worker;
}

void
wt_background_process_retire(const WtBackgroundProcessKind *kind, bool (*is_needed)(void))
{
	WtAnchor *a = wt_anchor();
	WtBackgroundProcess *p = process_of(kind);

	SpinLockAcquire(&a->mutex);
	p->retired = true;
	p->asked = 0;
	if (p->pid == MyProcPid)
		p->pid = 0;
	SpinLockRelease(&a->mutex);
	/* a session that has made work before it could see this started none: it saw this process */
	pg_memory_barrier();
	if (is_needed())
	{
		p->retired = false;
		proc_exit(1);
	}
	/* 0: the postmaster does not restart it */
	proc_exit(0);
}

void
wt_background_process_check_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

bool
wt_background_process_worker_responds(void)
{
	WtAnchor *a = wt_anchor();

	return a->worker.pid != 0 &&
		   (pg_atomic_read_u32(&a->worker_sleeps) != 0 ||
			GetCurrentTimestamp() - a->worker_heartbeat < HEARTBEAT_TIMEOUT_MS * INT64CONST(1000));
}

void
wt_background_process_set_asleep(bool sleeps)
{
	/* with a full barrier: what is looked at from here on is as new as the announcement */
	(void) pg_atomic_exchange_u32(&wt_anchor()->worker_sleeps, sleeps ? 1 : 0);
}

void
wt_background_process_ring(void)
{
	WtAnchor *a = wt_anchor_if_known();

	if (a == NULL)
		return;
	/* what has been done is visible before the state of the worker is read */
	pg_memory_barrier();
	if (likely(pg_atomic_read_u32(&a->worker_sleeps) == 0) ||
		pg_atomic_exchange_u32(&a->worker_sleeps, 0) == 0)
		return;
	a->worker_heartbeat = GetCurrentTimestamp();
	wt_background_process_wake(&a->worker);
}

void
wt_background_process_heartbeat(void)
{
	if (is_worker)
		wt_anchor()->worker_heartbeat = GetCurrentTimestamp();
}
