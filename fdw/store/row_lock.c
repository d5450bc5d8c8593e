/*
 * row_lock.c
 *		Row locks: held in the engine's table, waited for in PostgreSQL's way.
 *
 * The engine knows who holds a row by the virtual transaction id that the
 * holder left in its slot.  A waiter waits for the end of that transaction by
 * VirtualXactLock, which is a heavyweight lock: deadlocks are found,
 * lock_timeout and cancel work, and pg_locks shows it.
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

static bool owner_set = false; /* our slot carries this transaction's id */

static uint64
pack_vxid(uint32 backend, LocalTransactionId lxid)
{
	return ((uint64) backend << 32) | lxid;
}

/* Wait for the end of a transaction, and let others see what for. */
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
		wide_set_owner(db, pack_vxid(wt_my_backend_id, wt_my_lxid));
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
		/* the lock may have been given back since, or its transaction is ending: then try again
		 * soon */
		if (holder == 0 || !VirtualTransactionIdIsValid(vxid) || !wait_for(vxid, table, key))
			pg_usleep(100);
	}
}

static void
release(uint64_t left)
{
	wide_db *db = wt_store_db_if_open();

	if (db != NULL && owner_set)
		wide_row_unlock(db, left);
	owner_set = false;
}

void
wt_row_lock_reset(void)
{
	release(0);
}

/* The newest batch that the rows locked may show, though it is not published; 0: none. */
uint64_t
wt_row_lock_newest_batch(void)
{
	wide_db *db = wt_store_db_if_open();

	return db != NULL && owner_set ? wide_row_locks_after(db) : 0;
}

/* The transaction's batch, with this LSN, is applied and neither durable nor published. */
void
wt_row_lock_release_early(uint64_t lsn)
{
	release(lsn);
	/* wake those who wait for this transaction; LockReleaseAll would do it after the flush */
	VirtualXactLockTableCleanup();
}
