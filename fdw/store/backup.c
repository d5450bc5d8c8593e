/*
 * backup.c
 *		Detects base backups.
 *
 * While a base backup copies the data directory, no file of the store is removed:
 * the copy reads the list of files, the files and the manifest at different times
 * (engine/set/file_set_load.c).  There are two kinds:
 *
 *	- pg_basebackup: a walsender in state "backup", which it enters before it
 *	  requests its checkpoint.
 *	- pg_backup_start() in a session.  PostgreSQL does not publish that, so the
 *	  session counts itself in the anchor; it must have loaded the library.  It
 *	  counts from before the function is called (access_hook) to the end of the
 *	  transaction in which the session has no backup any more.
 *
 * Locking: the anchor's mutex.
 */
#include "postgres.h"

#include "fdw/store/backup.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/objectaccess.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/ipc.h"
#include "storage/spin.h"
#include "utils/fmgroids.h"

#include "fdw/store/anchor.h"

static object_access_hook_type prev_access_hook = NULL;
static bool counted = false; /* this session is included in anchor->backups */

static void
count(int by)
{
	WtAnchor *a = wt_anchor();

	SpinLockAcquire(&a->mutex);
	a->backups += by;
	SpinLockRelease(&a->mutex);
	counted = by > 0;
}

static void
forget_at_exit(int code, Datum arg)
{
	if (counted)
		count(-1);
}

/* Runs before each call of a function. */
static void
access_hook(ObjectAccessType access, Oid classId, Oid objectId, int subId, void *arg)
{
	static bool registered = false;

	if (prev_access_hook)
		prev_access_hook(access, classId, objectId, subId, arg);
	if (access != OAT_FUNCTION_EXECUTE || objectId != F_PG_BACKUP_START || counted)
		return;
	if (!registered)
		before_shmem_exit(forget_at_exit, (Datum) 0);
	registered = true;
	count(1);
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	if (counted && (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT) &&
		get_backup_status() != SESSION_BACKUP_RUNNING)
		count(-1);
}

bool
wt_backup_files_held(void)
{
	if (wt_anchor()->backups > 0)
		return true;
	for (int i = 0; i < max_wal_senders; i++)
	{
		WalSnd *w = &WalSndCtl->walsnds[i];
		bool copying;

		SpinLockAcquire(&w->mutex);
		copying = w->pid != 0 && w->state == WALSNDSTATE_BACKUP;
		SpinLockRelease(&w->mutex);
		if (copying)
			return true;
	}
	return false;
}

void
wt_backup_init(void)
{
	prev_access_hook = object_access_hook;
	object_access_hook = access_hook;
	RegisterXactCallback(end_of_transaction, NULL);
}
