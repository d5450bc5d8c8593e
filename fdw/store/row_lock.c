/*
 * row_lock.c
 *		Row locks: held in the engine's lock table, waited for by PostgreSQL's locks.
 *
 * The engine knows the holder of a row by the owner value in the holder's process slot.
 * It is the virtual transaction id, or while a subtransaction holds locks, the number of
 * its userlock.  A waiter waits for the end of the transaction with VirtualXactLock(), or
 * for the end of the subtransaction by asking for its userlock.  Both are heavyweight
 * locks: deadlocks are detected, lock_timeout and cancellation work, and pg_locks shows
 * the wait.  The locks of a prepared transaction are its own (engine/commit/prepared.c):
 * the waiter waits for the lock of its xid, as for a heap tuple.
 *
 * Subtransactions.  The first row lock of a subtransaction acquires a userlock for it and
 * begins a savepoint in the engine.  A rollback gives back the savepoint's locks, then
 * PostgreSQL gives back the userlock, which wakes the waiters.  When the subtransaction
 * commits, its locks pass to its parent, and so does the userlock if the parent has none;
 * otherwise it is given back: the waiters wake, find the row still locked, and wait for
 * the parent.  (A heap tuple's waiters do the same with the xid of a subtransaction.)
 * Locks that the transaction takes outside of subtransactions cost nothing of this.
 *
 * Invariants
 *	- The owner value is that of the innermost of levels[], or the transaction's.  So a
 *	  process that finds a row locked waits for the end of the lock's own subtransaction,
 *	  or for that of one inside, and then looks again.
 *	- The engine has a savepoint for each of levels[].
 */
#include "postgres.h"

#include "fdw/store/row_lock.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/prepared.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/store/wait_event.h"

/* In an owner value: it is a process id (31 bits) and the number of a userlock (32 bits). */
#define OWNER_SUBTRANSACTION (UINT64CONST(1) << 63)

/* A subtransaction that holds row locks. */
typedef struct LockLevel
{
	int level;	   /* nesting level */
	uint64 holder; /* owner value: its userlock */
} LockLevel;

static bool owner_set = false; /* the process slot has an owner value of this transaction */

/* By ascending level; in TopMemoryContext, and used again by the next transaction. */
static LockLevel *levels = NULL;
static int nlevels = 0, levels_max = 0;

/* ---------------------------------------------------------- subtransactions */

/* Returns: the tag of the userlock that an owner value stands for. */
static LOCKTAG
userlock_tag(uint64 holder)
{
	return (LOCKTAG) {.locktag_field2 = (uint32) (holder >> 32) & PG_INT32_MAX,
					  .locktag_field3 = (uint32) holder,
					  .locktag_type = LOCKTAG_USERLOCK,
					  .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
}

/* Tells other processes what to wait for from here on. */
static void
set_owner(void)
{
	wide_set_owner(wt_store_db(), nlevels > 0 ? levels[nlevels - 1].holder
											  : (uint64) wt_my_backend_id << 32 | wt_my_lxid);
}

/* The subtransaction is about to lock its first row. */
static void
begin_level(int level)
{
	static uint32 last_number = 0; /* of a userlock */
	uint64 holder = OWNER_SUBTRANSACTION | (uint64) MyProcPid << 32 | ++last_number;
	LOCKTAG tag = userlock_tag(holder);
	ResourceOwner portal = CurrentResourceOwner;

	if (nlevels == levels_max)
	{
		int max = Max(16, levels_max * 2);

		levels = levels != NULL ? repalloc(levels, max * sizeof(LockLevel))
								: MemoryContextAlloc(TopMemoryContext, max * sizeof(LockLevel));
		levels_max = max;
	}
	/* a cursor may be older than the subtransaction that fetches from it */
	CurrentResourceOwner = CurTransactionResourceOwner;
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	CurrentResourceOwner = portal;
	wt_error_check(wide_row_lock_savepoint(wt_store_db()), "could not lock a row");
	levels[nlevels++] = (LockLevel) {level, holder};
	set_owner();
}

/* The innermost of levels[], whose nesting level this is, has committed. */
static void
commit_level(int level)
{
	LockLevel ended = levels[nlevels - 1];
	LOCKTAG tag = userlock_tag(ended.holder);
	ResourceOwner old = CurrentResourceOwner;

	/* the parent takes over the userlock, as it does with all locks */
	if (level > 2 && (nlevels == 1 || levels[nlevels - 2].level < level - 1))
	{
		levels[nlevels - 1].level = level - 1;
		return;
	}
	nlevels--;
	wide_row_lock_keep(wt_store_db());
	set_owner();
	CurrentResourceOwner = CurTransactionResourceOwner;
	(void) LockRelease(&tag, ExclusiveLock, false);
	CurrentResourceOwner = old;
}

/* The row locks go before the userlock, which PostgreSQL releases soon after this. */
static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid,
				 void *arg)
{
	int level = GetCurrentTransactionNestLevel();

	if (nlevels == 0 || levels[nlevels - 1].level < level)
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		commit_level(level);
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		nlevels--;
		wide_row_lock_undo(wt_store_db());
		set_owner();
	}
}

void
wt_row_lock_init(void)
{
	RegisterSubXactCallback(subxact_callback, NULL);
}

/* ------------------------------------------------------------------ locking */

/* Returns: true if a prepared transaction holds the row. */
static bool
is_prepared(uint64 holder)
{
	return (holder & (OWNER_SUBTRANSACTION | WIDE_HOLDER_PREPARED)) == WIDE_HOLDER_PREPARED;
}

/*
 * Waits for the end of a transaction or subtransaction, by the owner value of its process.
 * Returns: false if it has ended already.
 */
static bool
wait_for_end(uint64 holder)
{
	VirtualTransactionId vxid;

	if (is_prepared(holder))
	{
		uint64 full = holder & ~WIDE_HOLDER_PREPARED;

		XactLockTableWait(XidFromFullTransactionId(FullTransactionIdFromU64(full)), NULL, NULL,
						  XLTW_None);
		wt_prepared_settle();
		return true;
	}
	if (holder & OWNER_SUBTRANSACTION)
	{
		LOCKTAG tag = userlock_tag(holder);

		(void) LockAcquire(&tag, ShareLock, false, false);
		(void) LockRelease(&tag, ShareLock, false);
		return true;
	}
	wt_set_vxid(vxid, (uint32) (holder >> 32), (LocalTransactionId) holder);
	return VirtualTransactionIdIsValid(vxid) && VirtualXactLock(vxid, true);
}

/* The same; pg_stat_widetable_locks shows the row meanwhile. */
static bool
wait_for(uint64 holder, wide_table_id table, wide_bytes key)
{
	wide_db *db = wt_store_db();
	bool waited = false;

	wide_row_lock_waits(db, table, key);
	PG_TRY();
	{
		waited = wait_for_end(holder);
	}
	PG_FINALLY();
	{
		wide_row_lock_waits(db, 0, key);
	}
	PG_END_TRY();
	return waited;
}

/* Raises the failure of wide_row_lock(). */
static void
report_failure(wide_status st, wide_table_id table)
{
	wide_db *db = wt_store_db();
	char *why = pstrdup(wide_error_text());
	wide_table t;
	bool known;

	/* a cancellation also ends the making of shared memory */
	CHECK_FOR_INTERRUPTS();
	if (st != WIDE_LIMIT && st != WIDE_NOMEM)
		wt_error_check(st, "could not lock a row");
	known = wide_table_by_id(db, NULL, table, &t) == WIDE_OK;
	ereport(ERROR,
			(errcode(st == WIDE_LIMIT ? ERRCODE_CONFIGURATION_LIMIT_EXCEEDED
									  : ERRCODE_OUT_OF_MEMORY),
			 known ? errmsg("could not lock another row of wide table \"%s\"", t.name)
				   : errmsg("could not lock another row of a new wide table"),
			 errdetail("This transaction has locked %zu rows, and all transactions together %zu: "
					   "%s.",
					   wide_row_locks_held(db), wide_row_locks_total(db), why),
			 st == WIDE_LIMIT
				 ? errhint("Change fewer rows in one transaction, or set "
						   "widetable.row_lock_memory higher and reload the configuration.")
				 : errhint("Change fewer rows in one transaction, or make more shared memory "
						   "available to the server, for example a larger /dev/shm.")));
}

bool
wt_row_lock(wide_table_id table, wide_bytes key, bool nowait)
{
	wide_db *db = wt_store_db();
	int level = GetCurrentTransactionNestLevel();
	bool settled = false;

	if (!owner_set)
	{
		set_owner();
		owner_set = true;
	}
	if (level > 1 && (nlevels == 0 || levels[nlevels - 1].level < level))
		begin_level(level);
	for (;;)
	{
		uint64 holder = 0;
		wide_status st = wide_row_lock(db, table, key, &holder);

		if (st == WIDE_OK)
		{
			wt_stop_point("row-locked");
			return true;
		}
		if (st != WIDE_BUSY)
			report_failure(st, table);
		/* PostgreSQL may have ended it already */
		if (nowait && is_prepared(holder) && !settled)
		{
			wt_prepared_settle();
			settled = true;
			continue;
		}
		if (nowait)
			return false;
		CHECK_FOR_INTERRUPTS();
		/* no wait: the lock was released since, or its transaction is just ending; try again
		 * soon */
		if (holder == 0 || !wait_for(holder, table, key))
		{
			pgstat_report_wait_start(wt_wait_event(WT_WAIT_ROW_LOCK));
			pg_usleep(100);
			pgstat_report_wait_end();
		}
	}
}

size_t
wt_row_lock_held(void)
{
	return wide_row_locks_held(wt_store_db());
}

void
wt_row_lock_reset(uint64_t left)
{
	wide_db *db = wt_store_db_if_open();

	if (db != NULL && owner_set)
		wide_row_unlock(db, left);
	owner_set = false;
	nlevels = 0;
}

void
wt_row_lock_trim(void)
{
	wide_db *db = wt_store_db_if_open();

	if (db != NULL)
		wide_row_lock_trim(db);
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
