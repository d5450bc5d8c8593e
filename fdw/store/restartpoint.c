/*
 * restartpoint.c
 *		Couples a standby's restartpoints to flushes of the store.
 *
 * The rule is that of checkpoints (checkpoint_keeper.c): when a restartpoint completes, the changes
 * of wide tables before its redo position are in files that the manifest lists.  A base backup of
 * the standby begins with a restartpoint, and has no WAL from before its redo position.
 *
 * A restartpoint does not wait for virtual transactions, as a checkpoint does.  But before it
 * writes the control file it saves each replication slot that has changed, under the lock
 * io_in_progress_lock of the slot.  The keeper, which has acquired the slot "widetable", holds
 * that lock and marks the slot as changed.  No other process takes that lock: only the owner of a
 * slot and the checkpointer save it.  Restartpoints set their redo position before.  So the
 * redo position that is read while there is a waiter is the waiter's.
 *
 * The lock is let go for a restartpoint that may complete, and taken again when that has saved the
 * slot.  One that begins in between, within milliseconds, is not held up.
 *
 * While the keeper has the lock it does not save the slot itself: restartpoints do.  A slot on disk
 * that is behind keeps more WAL, not less.
 *
 * As on a primary it is a brake, not a promise: after PATIENCE_MS a restartpoint is released, with
 * a warning, and the next ones at once until the rule holds again for one.  That happens with
 * recovery_min_apply_delay, when the log cannot be followed, and when nothing may be flushed.
 *
 * The keeper accepts interrupts while it has the lock; its exit releases it.
 *
 * Locking: io_in_progress_lock of the slot.
 */
#include "postgres.h"

#include "fdw/store/restartpoint.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "storage/proclist.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/wal_reader.h"

#define PATIENCE_MS 60000 /* a restartpoint waits at most so long */
#define RETRY_MS	200	  /* between requests to flush */
#define SAVING_MS	100	  /* a restartpoint that was released takes the lock within that time */

static LWLock *held = NULL;		  /* the lock, if this process has it */
static TimestampTz released = 0;  /* when a restartpoint was let go; 0: it has saved the slot */
static TimestampTz waits = 0;	  /* since when one waits; 0: none does */
static TimestampTz requested = 0; /* the last request to flush */
static XLogRecPtr begun = InvalidXLogRecPtr; /* the redo position of the last look */
static TimestampTz begun_at = 0;			 /* when it changed */
static bool gave_up = false; /* restartpoints do not wait until the rule holds for one */

void
wt_restartpoint_release(void)
{
	if (held != NULL && LWLockHeldByMe(held))
	{
		/* as LWLockRelease() resumes them */
		HOLD_INTERRUPTS();
		LWLockRelease(held);
	}
	held = NULL;
	released = waits = 0;
	wt_replication_slot_leave_saving(false);
}

/* Takes the lock, unless a restartpoint has it or is about to take it. */
static void
brake(ReplicationSlot *slot)
{
	bool dirty;

	SpinLockAcquire(&slot->mutex);
	dirty = slot->dirty;
	SpinLockRelease(&slot->mutex);
	if (released != 0 && dirty &&
		!TimestampDifferenceExceeds(released, GetCurrentTimestamp(), SAVING_MS))
		return;
	if (!LWLockConditionalAcquire(&slot->io_in_progress_lock, LW_EXCLUSIVE))
		return;
	RESUME_INTERRUPTS();
	held = &slot->io_in_progress_lock;
	released = 0;
	wt_replication_slot_leave_saving(true);
	ReplicationSlotMarkDirty();
}

/* Lets the restartpoint that waits complete. */
static void
let_go(void)
{
	wt_restartpoint_release();
	released = GetCurrentTimestamp();
}

/* The store needs WAL from before the redo position of the restartpoint that waits. */
static void
request_flush(wide_db *db, XLogRecPtr redo, XLogRecPtr shown)
{
	TimestampTz now = GetCurrentTimestamp();

	if (gave_up || wt_anchor()->left_out || TimestampDifferenceExceeds(waits, now, PATIENCE_MS))
	{
		if (!gave_up)
			ereport(WARNING,
					(errmsg("widetable: restartpoints complete without the changes of wide tables "
							"before %X/%X being in files",
							LSN_FORMAT_ARGS(redo)),
					 errdetail("A base backup of this standby that is begun now may not be "
							   "restorable.")));
		gave_up = true;
		let_go();
		return;
	}
	/* of what is not replayed into the store nothing can be flushed */
	if (shown < redo || !TimestampDifferenceExceeds(requested, now, RETRY_MS))
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

void
wt_restartpoint_look(wide_db *db, XLogRecPtr shown)
{
	XLogRecPtr redo;

	if (MyReplicationSlot == NULL)
		return;
	if (held != NULL && !LWLockHeldByMe(held))
		wt_restartpoint_release();
	if (held == NULL)
		brake(MyReplicationSlot);
	redo = GetRedoRecPtr();
	if (redo != begun)
		begun_at = GetCurrentTimestamp();
	begun = redo;
	if (held == NULL || proclist_is_empty(&held->waiters))
		return;
	pg_read_barrier();
	/* with a waiter, it is that one's */
	redo = GetRedoRecPtr();
	if (waits == 0)
		waits = GetCurrentTimestamp();
	if (wt_replication_slot_needed(db) >= redo)
	{
		if (gave_up)
			ereport(LOG, (errmsg("widetable: restartpoints include wide tables again")));
		gave_up = false;
		let_go();
	}
	else if (redo >= wt_wal_reader_limit())
		/* it is the checkpoint at the end of recovery */
		let_go();
	else
		request_flush(db, redo, shown);
}

bool
wt_restartpoint_is_near(void)
{
	return waits != 0 || released != 0 || (held == NULL && MyReplicationSlot != NULL) ||
		   !TimestampDifferenceExceeds(begun_at, GetCurrentTimestamp(), 1000);
}
