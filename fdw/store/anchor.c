/*
 * anchor.c
 *		The anchor: found, or created by the first process that needs it.
 *
 * Locking: AddinShmemInitLock, which PostgreSQL holds already while it sets up
 * shared memory.
 */
#include "postgres.h"

#include "fdw/store/anchor.h"

#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"

static WtAnchor *anchor = NULL;

WtAnchor *
wt_anchor(void)
{
	bool found;
	bool held;

	if (anchor != NULL)
		return anchor;
	held = LWLockHeldByMe(AddinShmemInitLock);
	if (!held)
		LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	anchor = ShmemInitStruct("widetable", sizeof(WtAnchor), &found);
	if (!found)
	{
		memset(anchor, 0, sizeof(WtAnchor));
		SpinLockInit(&anchor->mutex);
		pg_atomic_init_u32(&anchor->worker_sleeps, 0);
		pg_atomic_init_u64(&anchor->unmarked, 0);
		pg_atomic_init_u64(&anchor->marked_lsn, 0);
		pg_atomic_init_u32(&anchor->resting, 0);
		pg_atomic_init_u32(&anchor->committing, 0);
		pg_atomic_init_u32(&anchor->ending, 0);
		pg_atomic_init_u32(&anchor->formats, 0);
		pg_atomic_init_u64(&anchor->no_store_upto, 0);
		pg_atomic_init_u64(&anchor->clock_behind, 0);
		pg_atomic_init_u64(&anchor->checkpoint_redo, 0);
		pg_atomic_init_u64(&anchor->read_until, 0);
	}
	if (!held)
		LWLockRelease(AddinShmemInitLock);
	return anchor;
}

WtAnchor *
wt_anchor_if_known(void)
{
	return anchor;
}

void
wt_anchor_forget(void)
{
	anchor = NULL;
}
