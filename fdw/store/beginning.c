/*
 * beginning.c
 *		Whether a store may begin, and how it does.
 *
 * Rule: a store begins only where there was none, or when a superuser says so.  A store that is
 * missing is an error, because an empty one in its place would look as if the rows were gone,
 * and would take writes.  What knows that there was a store: the state file, the replication
 * slot on disk, and foreign tables of the session's database (wt_beginning_on_expected).
 *
 * Steps of a beginning:
 *	1. the state file says that one is intended;
 *	2. the replication slot keeps WAL;
 *	3. a record in WAL says that a store begins at its end;
 *	4. the state file says so too (BEGINNING);
 *	5. the directory is cleared, and the engine makes a store whose log begins there;
 *	6. the state file says that there is a store (OPEN).
 * A crash before 4 leaves a slot that does not count, because of 1; the next beginning uses it.  A
 * crash after 4 repeats 5 and 6: nothing is lost, because nothing was written yet.  An error undoes
 * everything but the record, so that no slot keeps WAL for a store that could not be made; not for
 * begin_empty(), whose record makes the next opening remove what was there before.
 *
 * The record lets other servers do the same at the same position of the log: a standby that was
 * made before the store, a recovery that passes the position, and those that have the store
 * that was there before.  Without it a standby would begin a store where its worker happens to
 * start, and lack what was written before.
 *
 * Locking: the caller is the opener (store.c).
 */
#include "postgres.h"

#include "fdw/store/beginning.h"

#include <sys/stat.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "fdw/store/anchor.h"
#include "fdw/store/error.h"
#include "fdw/store/health.h"
#include "fdw/store/log_record.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/state_file.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/wal.h"
#include "fdw/store/wal_replay.h"
#include "fdw/store/wal_history.h"

static bool (*is_expected)(void) = NULL;
static bool allowed = false;
static bool other_store = false; /* the log has records of a store that is not here */
static bool slot_is_new = false; /* wt_beginning_prepare() has created it */

/* Between begin() and wt_beginning_done(): what was there before. */
static bool under_way = false;
static WtStateFile state_before;
static bool slot_was_there;

void
wt_beginning_on_expected(bool (*callback)(void))
{
	is_expected = callback;
}

void
wt_beginning_allow(bool allow)
{
	allowed = allow;
}

/* Returns: where the base backup began from which this server was restored last; 0: none. */
static XLogRecPtr
restored_from(void)
{
	FILE *f = AllocateFile("backup_label.old", "r");
	uint32 high = 0, low = 0;
	int n;

	if (f == NULL)
		return InvalidXLogRecPtr;
	n = fscanf(f, "START WAL LOCATION: %X/%X", &high, &low);
	FreeFile(f);
	return n == 2 ? ((XLogRecPtr) high << 32) | low : InvalidXLogRecPtr;
}

/*
 * Not preloaded, so that wt_beginning_note_recovery() was not called: the log since the restore is
 * searched if all of it is still there.
 */
static void
note_restore(void)
{
	WtAnchor *a = wt_anchor();
	XLogRecPtr from;

	if (a->in_main || a->restore_noted)
		return;
	from = restored_from();
	if (!XLogRecPtrIsInvalid(from) && wt_wal_history_has(from))
		a->recovery_start = from;
	a->restore_noted = true;
}

bool
wt_beginning_may_be_in_log(void)
{
	note_restore();
	return RecoveryInProgress() || !XLogRecPtrIsInvalid(wt_anchor()->recovery_start);
}

bool
wt_beginning_is_missing(void)
{
	WtStateFile s;

	wt_state_file_read(&s);
	if (s.state == WT_STATE_BEGINNING || wt_state_file_has_store())
		return false;
	if (s.state == WT_STATE_NONE && wt_beginning_may_be_in_log())
		return false;
	return s.state != WT_STATE_NONE || (!s.intended && wt_replication_slot_is_there()) ||
		   (is_expected != NULL && OidIsValid(MyDatabaseId) && IsTransactionState() &&
			is_expected());
}

void
wt_beginning_report_missing(void)
{
	struct stat st;

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the store of widetable is missing"),
			 stat(WT_DIRECTORY, &st) == 0
				 ? errdetail("Directory \"%s\" in the data directory has no files of a store, "
							 "but this cluster had one.",
							 WT_DIRECTORY)
				 : errdetail("Directory \"%s\" in the data directory does not exist, but "
							 "this cluster had a store in it.",
							 WT_DIRECTORY),
			 errhint("Mount it or put it back in its place, or restore a backup. If the rows of "
					 "all wide tables are given up, a superuser begins with empty tables by "
					 "SELECT widetable.begin_empty().")));
}

/* In a standby, or after a recovery to a point in time. */
static void
warn_other_store(void)
{
	static const char text[] = "the log has changes of wide tables, but this server has no store";

	other_store = true;
	wt_health_failed(text);
	ereport(WARNING,
			(errmsg("widetable: %s", text),
			 errdetail("The store was made before this server's base backup, and is not in it, or "
					   "the log of its beginning was not read."),
			 errhint("Make the server again from a new base backup.")));
}

static void
begin_at(XLogRecPtr lsn)
{
	wt_state_file_write(&(WtStateFile) {.state = WT_STATE_BEGINNING, .begun = lsn});
}

void
wt_beginning_of_another(XLogRecPtr lsn)
{
	ereport(LOG,
			(errmsg("widetable: a new store begins at %X/%X", LSN_FORMAT_ARGS(lsn)),
			 errdetail("The primary server has begun with empty tables. The store that was here is "
					   "removed.")));
	begin_at(lsn);
}

/*
 * Looks for the beginning of a store in the log that this server has replayed since it was
 * restored, or replays now.
 * Returns: true if it has found one.
 */
static bool
find_in_log(void)
{
	XLogRecPtr from, lsn;

	note_restore();
	from = wt_anchor()->recovery_start;
	if (XLogRecPtrIsInvalid(from) && RecoveryInProgress())
		from = GetRedoRecPtr();
	if (XLogRecPtrIsInvalid(from))
		return false;
	lsn = wt_wal_replay_await_beginning(from, warn_other_store);
	/* the search is over: background processes do not wait for it */
	wt_anchor()->recovery_start = InvalidXLogRecPtr;
	if (XLogRecPtrIsInvalid(lsn))
	{
		/* it was made for the store that has not begun */
		if (!other_store)
			wt_replication_slot_drop();
		return false;
	}
	begin_at(lsn);
	return true;
}

bool
wt_beginning_search(void)
{
	WtStateFile s;

	/* another process may have searched meanwhile */
	wt_state_file_read(&s);
	return s.state != WT_STATE_NONE || find_in_log();
}

/* There is no store.  Begins one, if that is right. */
static void
begin(const WtStateFile *s)
{
	if (s->state == WT_STATE_NONE && find_in_log())
		return;
	if (!allowed && wt_beginning_is_missing())
		wt_beginning_report_missing();
	/* background processes open what is there, and nothing else */
	if (RecoveryInProgress() || !OidIsValid(MyDatabaseId))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this cluster has no store of widetable")));
	state_before = *s;
	slot_was_there = wt_replication_slot_is_there();
	under_way = true;
	wt_anchor()->files_tablespace = InvalidOid;
	if (s->state == WT_STATE_NONE)
		wt_state_file_write(&(WtStateFile) {.intended = true});
	wt_replication_slot_ensure();
	wt_stop_point("begin-slot");
	begin_at(wt_log_record_begin());
	/* the log now says that the store of before is given up: begin_empty() is only completed */
	if (allowed)
		under_way = false;
}

bool
wt_beginning_is_under_way(void)
{
	return under_way;
}

void
wt_beginning_undo(void)
{
	/* in this order: a crash in between leaves no slot that would count for a store */
	under_way = false;
	wt_wal_begin_at(InvalidXLogRecPtr);
	if (state_before.state != WT_STATE_NONE)
		wt_state_file_write(&state_before);
	else
		wt_state_file_write(&(WtStateFile) {.intended = true});
	if (!slot_was_there || state_before.intended)
		wt_replication_slot_drop();
	if (state_before.state == WT_STATE_NONE)
		wt_state_file_remove();
}

/*
 * There is a store that was closed.  Sets up to where WAL has no record of it, if this server
 * alone has written WAL since.  A backup may have copied the state file before the store was
 * opened again: then that is known up to the beginning of the backup only.
 */
static void
set_resume(WtStateFile *s)
{
	XLogRecPtr backup = restored_from();

	if (!XLogRecPtrIsInvalid(backup) && backup >= s->complete)
		s->resume = backup;
	else if (RecoveryInProgress() || s->timeline != GetWALInsertionTimeLine())
		s->complete = s->resume = InvalidXLogRecPtr;
	else
		s->resume = GetXLogInsertRecPtr();
}

/* There is a store.  It is not closed any more. */
static void
open_again(WtStateFile *s)
{
	/* without a state file it may be another server's: wt_beginning_done() says that it is not */
	if (s->state == WT_STATE_OPEN || s->state == WT_STATE_NONE)
		return;
	set_resume(s);
	s->state = WT_STATE_OPEN;
	wt_state_file_write(s);
}

void
wt_beginning_prepare(void)
{
	WtStateFile s;

	wt_wal_begin_at(InvalidXLogRecPtr);
	wt_state_file_read(&s);
	if (s.state != WT_STATE_BEGINNING && !wt_state_file_has_store())
	{
		begin(&s);
		wt_state_file_read(&s);
	}
	slot_is_new = !wt_replication_slot_is_there();
	if (slot_is_new && RecoveryInProgress() && s.state != WT_STATE_NONE &&
		!XLogRecPtrIsInvalid(wt_anchor()->recovery_start))
		ereport(WARNING,
				(errmsg("widetable: replication slot \"%s\" was lost and is created again",
						WT_REPLICATION_SLOT_NAME),
				 errdetail("WAL that wide tables need may be missing.")));
	wt_replication_slot_ensure();
	if (s.state == WT_STATE_BEGINNING)
	{
		wt_state_file_clear(WT_DIRECTORY);
		wt_wal_begin_at(s.begun);
	}
	else
		open_again(&s);
}

void
wt_beginning_clear(const char *files)
{
	WtStateFile s;

	if (files == NULL)
		return;
	wt_state_file_read(&s);
	if (s.state == WT_STATE_BEGINNING)
		wt_state_file_clear(files);
}

void
wt_beginning_done(void)
{
	WtStateFile s;

	wt_wal_begin_at(InvalidXLogRecPtr);
	wt_state_file_read(&s);
	if (s.state == WT_STATE_BEGINNING || s.state == WT_STATE_NONE)
	{
		s.state = WT_STATE_OPEN;
		s.intended = false;
		wt_state_file_write(&s);
	}
	under_way = false;
}

void
wt_beginning_failed(void)
{
	wt_wal_begin_at(InvalidXLogRecPtr);
	if (slot_is_new && !wt_state_file_exists())
		wt_replication_slot_drop();
}

/*
 * Writes the state file in the startup process, where an error would keep the server from starting.
 * If it cannot be written it is removed: what it says is not true any more, and the store needs its
 * WAL then.
 */
static void
write_or_remove(const WtStateFile *s)
{
	WtErrorPoint before = wt_error_point();

	PG_TRY();
	{
		wt_state_file_write(s);
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		ereport(WARNING, (errmsg("widetable: %s", e->message)));
		FreeErrorData(e);
		(void) durable_unlink(WT_STATE_FILE, WARNING);
	}
	PG_END_TRY();
}

/*
 * Notes where a recovery begins that is not one from a crash.  A store that was closed when this
 * directory was copied, or when this server was last used as a primary, has no record in the WAL
 * before that.  A server that was a standby meanwhile may have replayed some: then WAL is needed
 * from where the store was closed.
 */
void
wt_beginning_note_recovery(void)
{
	WtStateFile s;

	if (ArchiveRecoveryRequested)
	{
		XLogRecPtr kept = wt_replication_slot_keeps();

		/* a search for the beginning of a store may have been behind this server's replay */
		wt_anchor()->recovery_start = XLogRecPtrIsInvalid(kept) ? GetRedoRecPtr()
																: Min(kept, GetRedoRecPtr());
	}
	wt_state_file_read(&s);
	if (s.state != WT_STATE_CLOSED && s.state != WT_STATE_RESTING)
		return;
	/* after a crash of a server that has not used the store: it is still closed.  The WAL of a
	 * backup may have records from after the copy of the state file */
	if (!ArchiveRecoveryRequested && restored_from() < s.complete)
		return;
	if (wt_anchor()->was_primary && wt_anchor()->was_timeline == s.timeline)
		s.resume = GetRedoRecPtr();
	else
		s.complete = InvalidXLogRecPtr;
	s.state = WT_STATE_OPEN;
	write_or_remove(&s);
}
