/*
 * row_lock.c
 *		Row locks: held in the engine's lock table, waited for by PostgreSQL's locks.
 *
 * The engine knows the holder of a row by the virtual transaction id in the holder's
 * process slot.  A waiter waits for the end of that transaction with
 * VirtualXactLock(), a heavyweight lock: deadlocks are detected, lock_timeout and
 * cancellation work, and pg_locks shows the wait.
 */
#include "postgres.h"

#include "fdw/store/row_lock.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"

#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"

static bool owner_set = false; /* the process slot has this transaction's id */

/*
 * Waits for the end of a transaction; pg_stat_widetable_locks shows the row meanwhile.
 * Returns: false if the transaction has ended already.
 */
static bool
wait_for(VirtualTransactionId vxid, wide_table_id table, wide_bytes key)
{
	wide_db *db = wt_store_db();
	bool waited = false;

	wide_row_lock_waits(db, table, key);
	PG_TRY();
	{
		waited = VirtualXactLock(vxid, true);
	}
	PG_FINALLY();
	{
		wide_row_lock_waits(db, 0, key);
	}
	PG_END_TRY();
	return waited;
}

bool
wt_row_lock(wide_table_id table, wide_bytes key, bool nowait)
{
	wide_db *db = wt_store_db();

	if (!owner_set)
	{
		wide_set_owner(db, (uint64) wt_my_backend_id << 32 | wt_my_lxid);
		owner_set = true;
	}
	for (;;)
	{
		uint64 holder = 0;
		wide_status st = wide_row_lock(db, table, key, &holder);
		VirtualTransactionId vxid;

		if (st == WIDE_OK)
		{
			wt_stop_point("row-locked");
			return true;
		}
		if (st != WIDE_BUSY)
			wt_error_check(st, "could not lock a row");
		if (nowait)
			return false;
		wt_set_vxid(vxid, (uint32) (holder >> 32), (LocalTransactionId) holder);
		CHECK_FOR_INTERRUPTS();
		/* no wait: the lock was released since, or its transaction is just ending; try again
		 * soon */
		if (holder == 0 || !VirtualTransactionIdIsValid(vxid) || !wait_for(vxid, table, key))
			pg_usleep(100);
	}
}

void
wt_row_lock_reset(uint64_t left)
{
	wide_db *db = wt_store_db_if_open();

	if (db != NULL && owner_set)
		wide_row_unlock(db, left);
	owner_set = false;
}

uint64_t
wt_row_lock_newest_batch(void)
{
	wide_db *db = wt_store_db_if_open();

	return db != NULL && owner_set ? wide_row_locks_after(db) : 0;
}

void
wt_row_lock_release_early(uint64_t lsn)
{
	wt_row_lock_reset(lsn);
	/* wakes the sessions that wait for this transaction; LockReleaseAll would, but after the
	 * flush */
	VirtualXactLockTableCleanup();
}
