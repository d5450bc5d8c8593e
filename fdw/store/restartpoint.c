/*
 * restartpoint.c
 *		Couples a standby's restartpoints to flushes of the store.
 *
 * The rule is that of checkpoints (checkpoint_keeper.c): when a restartpoint completes, the
 * changes of wide tables before its redo position are in files that the manifest lists.  A base
 * backup of the standby begins with a restartpoint, and has no WAL from before its redo position.
 *
 * A restartpoint is made of a checkpoint whose record was replayed.  So the store is flushed when
 * the keeper reads such a record, and restartpoints are held up until that is done.
 *
 * How they are held up: a restartpoint does not wait for virtual transactions, as a checkpoint
 * does.  But before it writes the control file it saves each replication slot that has changed,
 * under the slot's io_in_progress_lock.  The keeper, which has acquired the slot "widetable",
 * takes that lock and marks the slot as changed.  No other process takes the lock: only the owner
 * of a slot and the checkpointer save it.  The keeper does not save the slot meanwhile.
 *
 * A restartpoint that begins after the startup process has replayed the record and before the
 * keeper has read it, some milliseconds later, is not held up.  The lock is not held always,
 * because a keeper that is stopped or late would hold up the checkpoint at the end of recovery.
 *
 * As on a primary this is a brake, not a promise: after PATIENCE_MS restartpoints are let go with
 * a warning, until the rule holds again.  There is no brake while recovery_min_apply_delay or a
 * recovery target leaves something out.
 *
 * The keeper accepts interrupts while it has the lock; its exit releases it, and so does an error
 * that is caught.
 *
 * Locking: io_in_progress_lock of the slot.  WtAnchor.checkpoint_redo is atomic.
 */
#include "postgres.h"

#include "fdw/store/restartpoint.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/wal_reader.h"

#define PATIENCE_MS 60000 /* a restartpoint waits at most so long */
#define RETRY_MS	200	  /* between requests to flush */

static LWLock *lock = NULL;		  /* the slot's, if this process has taken it */
static TimestampTz since = 0;	  /* when the rule was seen not to hold; 0: it holds */
static TimestampTz requested = 0; /* the last request to flush */
static bool gave_up = false;	  /* restartpoints do not wait until the rule holds */

bool
wt_restartpoint_is_held(void)
{
	/* it is released with all locks when an error is caught */
	return lock != NULL && LWLockHeldByMe(lock);
}

void
wt_restartpoint_release(void)
{
	if (wt_restartpoint_is_held())
	{
		/* as LWLockRelease() resumes them */
		HOLD_INTERRUPTS();
		LWLockRelease(lock);
	}
	lock = NULL;
}

/* Takes the lock, unless a restartpoint that saves the slot has it. */
static void
hold(void)
{
	if (wt_restartpoint_is_held() || MyReplicationSlot == NULL)
		return;
	lock = &MyReplicationSlot->io_in_progress_lock;
	if (!LWLockConditionalAcquire(lock, LW_EXCLUSIVE))
	{
		lock = NULL;
		return;
	}
	RESUME_INTERRUPTS();
	ReplicationSlotMarkDirty();
}

/* Has the store flushed. */
static void
request_flush(wide_db *db)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(requested, now, RETRY_MS))
		return;
	requested = now;
	if (wt_background_process_worker_responds())
	{
		wt_background_process_ring();
		wt_background_process_wake(&wt_anchor()->worker);
	}
	else
		(void) wide_flush(db);
}

XLogRecPtr
wt_restartpoint_redo(void)
{
	XLogRecPtr redo = GetRedoRecPtr();
	XLogRecPtr next = pg_atomic_read_u64(&wt_anchor()->checkpoint_redo);

	return Max(redo, next);
}

/* Returns: true if the rule holds, or cannot be made to. */
static bool
may_complete(wide_db *db, XLogRecPtr redo)
{
	return wt_replication_slot_needed(db) >= redo || recovery_min_apply_delay > 0 ||
		   wt_anchor()->left_out ||
		   /* the checkpoint at the end of recovery, or a promotion */
		   redo >= wt_wal_reader_limit() || !RecoveryInProgress() || PromoteIsTriggered();
}

void
wt_restartpoint_look(wide_db *db)
{
	XLogRecPtr redo = wt_restartpoint_redo();
	TimestampTz now;

	if (may_complete(db, redo))
	{
		if (gave_up)
			ereport(LOG, (errmsg("widetable: restartpoints include wide tables again")));
		gave_up = false;
		since = 0;
		wt_restartpoint_release();
		return;
	}
	now = GetCurrentTimestamp();
	if (since == 0)
		since = now;
	if (!gave_up && TimestampDifferenceExceeds(since, now, PATIENCE_MS))
	{
		ereport(WARNING,
				(errmsg("widetable: restartpoints complete without the changes of wide tables "
						"before %X/%X being in files",
						LSN_FORMAT_ARGS(redo)),
				 errdetail("A base backup of this standby that is begun now may not be "
						   "restorable.")));
		gave_up = true;
	}
	if (gave_up)
		wt_restartpoint_release();
	else
		hold();
	request_flush(db);
}

void
wt_restartpoint_may_come(wide_db *db, XLogRecPtr redo)
{
	pg_atomic_write_u64(&wt_anchor()->checkpoint_redo, redo);
	/* at once: it can come from now on */
	wt_restartpoint_look(db);
}
