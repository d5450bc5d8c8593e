/*
 * backup.c
 *		Detects base backups.
 *
 * While a base backup copies the data directory, no file of the store is removed:
 * the copy reads the list of files, the files and the manifest at different times
 * (engine/set/file_set_load.c).  There are three kinds:
 *
 *	- pg_basebackup: a walsender in state "backup", which it enters before it
 *	  requests its checkpoint.
 *	- pg_backup_start() in a session.  PostgreSQL does not publish that, so the
 *	  session counts itself in the anchor; it must have loaded the library.  It
 *	  counts from before the function is called (access_hook) to the end of the
 *	  transaction in which the session has no backup any more.
 *	- pg_rewind from a server that runs.  It lists the data directory and reads files with
 *	  SQL functions, in a session that says nothing else about it.  Each such call holds the
 *	  files for READ_MS: between the list and the first file pg_rewind reads the WAL of the
 *	  other server, and the session may then stay for anything else.
 *
 * Locking: the anchor's mutex; read_until is atomic.
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
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"

#define READ_FILE F_PG_READ_BINARY_FILE_TEXT_INT8_INT8_BOOL
#define READ_MS	  600000 /* files are held so long after a call that lists or reads the directory */

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

/* This session calls a function with which pg_rewind lists or reads files. */
static void
hold_for_reader(void)
{
	pg_atomic_write_u64(&wt_anchor()->read_until,
						(uint64) TimestampTzPlusMilliseconds(GetCurrentTimestamp(), READ_MS));
}

/* Runs before each call of a function. */
static void
access_hook(ObjectAccessType access, Oid classId, Oid objectId, int subId, void *arg)
{
	static bool registered = false;

	if (prev_access_hook)
		prev_access_hook(access, classId, objectId, subId, arg);
	if (access != OAT_FUNCTION_EXECUTE)
		return;
	if (objectId == F_PG_LS_DIR_TEXT_BOOL_BOOL || objectId == READ_FILE)
		hold_for_reader();
	if (objectId != F_PG_BACKUP_START || counted)
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
	if (wt_anchor()->backups > 0 ||
		GetCurrentTimestamp() < (TimestampTz) pg_atomic_read_u64(&wt_anchor()->read_until))
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
