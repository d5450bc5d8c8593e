/*
 * host.c
 *		The engine's callbacks into PostgreSQL: interrupts, the time, transactions,
 *		the worker, base backups, reports.
 *
 * The engine calls them where no error may be raised.
 */
#include "postgres.h"

#include "fdw/store/host.h"

#include "access/transam.h"
#include "common/file_perm.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/procsignal.h"
#include "utils/wait_event.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/backup.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/location.h"
#include "fdw/store/shared_memory.h"
#include "fdw/store/temp_file.h"
#include "fdw/store/wait_event.h"

/*
 * Passes a barrier.  An error of that must not leave the engine: the barrier stays pending, and the
 * next check that may raise errors passes it or reports why not.
 */
static void
pass_barrier(void)
{
	WtErrorPoint before;

	/* an error processes no interrupts at its end */
	HOLD_INTERRUPTS();
	before = wt_error_point();
	PG_TRY();
	{
		ProcessProcSignalBarrier();
	}
	PG_CATCH();
	{
		FreeErrorData(wt_error_take(&before));
	}
	PG_END_TRY();
	RESUME_INTERRUPTS();
}

/*
 * A barrier (DROP DATABASE waits until every process has passed it) is passed here;
 * other interrupts that raise no error wait for the executor's next check.
 */
bool
wt_host_interrupted(void)
{
	wt_background_process_heartbeat();
	if (!InterruptPending || !INTERRUPTS_CAN_BE_PROCESSED())
		return false;
	/* from PostgreSQL 17 on a conflict with recovery shows in none of the others */
	if (QueryCancelPending || ProcDiePending || wt_transaction_timeout_pending ||
		MyProc->recoveryConflictPending)
		return true;
	if (ProcSignalBarrierPending)
		pass_barrier();
	return false;
}

bool
wt_host_wait(long ms)
{
	return wt_host_wait_event(ms, PG_WAIT_EXTENSION);
}

bool
wt_host_wait_event(long ms, uint32 event)
{
	int events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, event);

	ResetLatch(MyLatch);
	return (events & WL_LATCH_SET) != 0;
}

static void
host_waits(void *ctx, wide_wait what)
{
	if (what == WIDE_WAIT_NONE)
		pgstat_report_wait_end();
	else
		pgstat_report_wait_start(wt_wait_event(what));
}

static bool
host_interrupted(void *ctx)
{
	return wt_host_interrupted();
}

static bool
host_files_held(void *ctx)
{
	return wt_backup_files_held();
}

static int64_t
host_now(void *ctx)
{
	return wt_clock_now();
}

static void
host_wake(void *ctx)
{
	WtAnchor *a = wt_anchor_if_known();

	if (a == NULL)
		return;
	wt_background_process_ring();
	wt_background_process_wake(&a->worker);
}

static bool
host_worker_works(void *ctx)
{
	return wt_background_process_worker_responds();
}

uint64
wt_host_full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32 epoch = EpochFromFullTransactionId(next);

	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return U64FromFullTransactionId(FullTransactionIdFromEpochAndXid(epoch, xid));
}

static uint64_t
host_oldest_external(void *ctx)
{
	/* the oldest xid is less than 2^31 before the next one */
	return wt_host_full_xid(GetOldestNonRemovableTransactionId(NULL));
}

static uint64_t
host_ended(void *ctx, uint64_t *latest)
{
	/* without a lock: both only rise, and latestCompletedXid before the count
	 * (ProcArrayEndTransaction) */
	uint64 ended = *(volatile uint64 *) &wt_variable_cache->xactCompletionCount;

	pg_read_barrier();
	*latest = U64FromFullTransactionId(
		*(volatile FullTransactionId *) &wt_variable_cache->latestCompletedXid);
	return ended;
}

static bool
host_committed(void *ctx, uint64_t xid)
{
	return TransactionIdDidCommit(XidFromFullTransactionId(FullTransactionIdFromU64(xid)));
}

static void
host_report(void *ctx, int level, const char *text)
{
	/*
	 * Nothing may longjmp through the engine: only levels that return, and no cancellation,
	 * which ereport() processes at its end.
	 */
	HOLD_INTERRUPTS();
	ereport(level >= 2	 ? WARNING
			: level == 1 ? LOG
						 : DEBUG1,
			(errmsg_internal("widetable: %s", text)));
	RESUME_INTERRUPTS();
}

void
wt_host_fill(wide_host *host)
{
	*host = (wide_host) {.interrupted = host_interrupted,
						 .now = host_now,
						 .wake_worker = host_wake,
						 .worker_works = host_worker_works,
						 .oldest_external = host_oldest_external,
						 .ended = host_ended,
						 .committed = host_committed,
						 .files_held = host_files_held,
						 .waits = host_waits,
						 .report = host_report,
						 .file_mode = (uint32_t) pg_file_create_mode,
						 .directory_mode = (uint32_t) pg_dir_create_mode,
						 .files_directory = wt_location_files()};
	wt_temp_file_fill(host);
	wt_shared_memory_fill(host);
}
