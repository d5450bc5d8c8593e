/*
 * replication_slot.c
 *		The physical replication slot that keeps the WAL that is not in files.
 *
 * The keeper (checkpoint_keeper.c) holds the slot as long as it runs: no session can
 * drop the slot then, and it is never idle.  wt_replication_slot_advance() releases
 * WAL: the keeper calls it once a second, and the engine after an edit of the
 * manifest that moves restart_lsn (wal.c).
 *
 * If no keeper runs, a session that is about to commit checks that the slot is
 * there.  If not, it creates the slot again and flushes what depended on the old
 * one.  Only if that fails is the commit refused, because its durability could not
 * be promised.
 *
 * A base backup has no slots.  If the library is preloaded the slot is created
 * before the first record is replayed (recovery_begins), so that the WAL
 * that the restored store needs survives recovery, restartpoints, and the life of a
 * standby.  Otherwise the first session may come too late.
 *
 * Locking: ReplicationSlotControlLock, inside PostgreSQL's functions.  The state of a
 * slot is read without it: the answer may be a little old.
 */
#include "postgres.h"

#include "fdw/store/replication_slot.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

#include "fdw/store/anchor.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/recovery_target.h"
#include "fdw/store/state_file.h"

#define SLOT_HINT                                                                                \
	"Drop a replication slot that is not needed, or increase max_replication_slots (now %d) in " \
	"postgresql.conf and restart the server."

/* ----------------------------------------------------------------- states */

/* Returns: true if this is the physical slot of widetable, and it keeps WAL. */
static bool
is_usable(ReplicationSlot *slot)
{
	return slot != NULL && slot->in_use &&
		   strcmp(NameStr(slot->data.name), WT_REPLICATION_SLOT_NAME) == 0 &&
		   slot->data.database == InvalidOid && !wt_replication_slot_is_invalidated(slot) &&
		   !XLogRecPtrIsInvalid(slot->data.restart_lsn);
}

static bool
is_any_slot_free(void)
{
	bool some = false;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots && !some; i++)
		some = !ReplicationSlotCtl->replication_slots[i].in_use;
	LWLockRelease(ReplicationSlotControlLock);
	return some;
}

/* Creates the slot and releases it.  Errors: 55000, those of PostgreSQL. */
static void
create_slot(void)
{
	if (max_replication_slots == 0 || !is_any_slot_free())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("widetable needs a replication slot, and none is free"),
				 errdetail("The slot \"%s\" keeps the part of WAL that is not yet in the files of "
						   "wide tables.",
						   WT_REPLICATION_SLOT_NAME),
				 errhint(SLOT_HINT, max_replication_slots)));
	wt_create_replication_slot(WT_REPLICATION_SLOT_NAME);
	ReplicationSlotReserveWal();
	ReplicationSlotMarkDirty();
	ReplicationSlotSave();
	ReplicationSlotRelease();
}

/* As create_slot().  Returns: a copy of the error instead of raising it, or NULL. */
static ErrorData *
try_create_slot(void)
{
	WtErrorPoint before = wt_error_point();
	ErrorData *volatile e = NULL;

	PG_TRY();
	{
		create_slot();
	}
	PG_CATCH();
	{
		e = wt_error_take(&before);
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
	}
	PG_END_TRY();
	return e;
}

void
wt_replication_slot_ensure(void)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);
	ErrorData *e;

	if (slot != NULL && slot->data.database != InvalidOid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("replication slot \"%s\" is a logical slot", WT_REPLICATION_SLOT_NAME),
				 errdetail("widetable needs a physical slot of that name for its log."),
				 errhint("Drop it with SELECT pg_drop_replication_slot('%s').",
						 WT_REPLICATION_SLOT_NAME)));
	if (is_usable(slot))
		return;
	/* no other program uses it; a slot that keeps no WAL is useless */
	if (slot != NULL && slot->active_pid == 0)
	{
		ereport(LOG,
				(errmsg("widetable: replication slot \"%s\" has lost its WAL and is created again",
						WT_REPLICATION_SLOT_NAME),
				 errhint("Leave max_slot_wal_keep_size, and in PostgreSQL 18 "
						 "idle_replication_slot_timeout, at their defaults.")));
		ReplicationSlotDrop(WT_REPLICATION_SLOT_NAME, true);
	}
	e = try_create_slot();
	/* another session may have created it meanwhile */
	if (e != NULL && e->sqlerrcode != ERRCODE_DUPLICATE_OBJECT)
		ReThrowError(e);
}

bool
wt_replication_slot_is_there(void)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);

	return slot != NULL && slot->data.database == InvalidOid;
}

XLogRecPtr
wt_replication_slot_keeps(void)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);

	return is_usable(slot) ? slot->data.restart_lsn : InvalidXLogRecPtr;
}

void
wt_replication_slot_drop(void)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);

	if (slot != NULL && slot->data.database == InvalidOid && slot->active_pid == 0)
		ReplicationSlotDrop(WT_REPLICATION_SLOT_NAME, true);
}

/* ---------------------------------------------------------------- moving */

/*
 * Requires: this process has acquired the slot.  WAL is let go after a move forward is saved, and
 * kept before a move back is.  (From PostgreSQL 18 on a position that is not saved yet does not
 * count as required, so a slot that computes only before it is saved is one move behind.)
 * Errors: those of saving.  The slot then has its former position if it was to move forward, and is
 * to be moved again.
 */
static void
set_restart_lsn(XLogRecPtr lsn, bool back)
{
	XLogRecPtr former = MyReplicationSlot->data.restart_lsn;

	SpinLockAcquire(&MyReplicationSlot->mutex);
	MyReplicationSlot->data.restart_lsn = lsn;
	SpinLockRelease(&MyReplicationSlot->mutex);
	ReplicationSlotMarkDirty();
	if (back)
		ReplicationSlotsComputeRequiredLSN();
	PG_TRY();
	{
		ReplicationSlotSave();
	}
	PG_CATCH();
	{
		SpinLockAcquire(&MyReplicationSlot->mutex);
		if (!back)
			MyReplicationSlot->data.restart_lsn = former;
		SpinLockRelease(&MyReplicationSlot->mutex);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!back)
		ReplicationSlotsComputeRequiredLSN();
}

/*
 * Moves the slot to lsn: forward, or back.  Does nothing in a critical section,
 * where an error would be a PANIC.  A failure does no harm: the slot keeps WAL a little
 * longer.
 */
static void
move_restart_lsn(XLogRecPtr lsn, bool back)
{
	WtErrorPoint before;
	ReplicationSlot *slot;
	bool mine;

	if (CritSectionCount > 0 || XLogRecPtrIsInvalid(lsn))
		return;
	slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);
	if (!is_usable(slot))
		return;
	mine = slot == MyReplicationSlot;
	/* the process that has acquired it moves it */
	if (!mine && (MyReplicationSlot != NULL || slot->active_pid != 0))
		return;
	if (back ? slot->data.restart_lsn <= lsn : slot->data.restart_lsn >= lsn)
		return;
	/* the engine may be in the middle of a flush: no cancellation may leave it, and no FATAL end
	 * the process there */
	HOLD_INTERRUPTS();
	before = wt_error_point();
	PG_TRY();
	{
		if (!mine)
			wt_acquire_replication_slot(WT_REPLICATION_SLOT_NAME);
		if (back || MyReplicationSlot->data.restart_lsn < lsn)
			set_restart_lsn(lsn, back);
		if (!mine)
			ReplicationSlotRelease();
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		if (!mine && MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		ereport(DEBUG1,
				(errmsg_internal("widetable: could not move the replication slot: %s",
								 e->message)));
		FreeErrorData(e);
	}
	PG_END_TRY();
	RESUME_INTERRUPTS();
}

void
wt_replication_slot_advance(XLogRecPtr lsn)
{
	move_restart_lsn(lsn, false);
}

XLogRecPtr
wt_replication_slot_needed(wide_db *db)
{
	wide_stats s;

	wide_statistics(db, &s);
	return (XLogRecPtr) s.restart_lsn;
}

void
wt_replication_slot_reserve(XLogRecPtr lsn)
{
	XLogSegNo segno;

	/* a slot cannot bring back WAL that is removed */
	XLByteToSeg(lsn, segno, wal_segment_size);
	if (XLogGetLastRemovedSegno() < segno)
		move_restart_lsn(lsn, true);
}

/* ------------------------------------------------------ holding, replacing */

bool
wt_replication_slot_hold(void)
{
	if (MyReplicationSlot != NULL)
	{
		if (is_usable(MyReplicationSlot))
			return false;
		ReplicationSlotRelease();
	}
	wt_replication_slot_ensure();
	wt_acquire_replication_slot(WT_REPLICATION_SLOT_NAME);
	return true;
}

void
wt_replication_slot_keep(XLogRecPtr lsn)
{
	WtErrorPoint before = wt_error_point();
	static bool held = false, failed = false;

	PG_TRY();
	{
		if (wt_replication_slot_hold())
		{
			wt_replication_slot_reserve(lsn);
			if (held || failed)
				ereport(WARNING,
						(errmsg("widetable: replication slot \"%s\" was lost and is created again",
								WT_REPLICATION_SLOT_NAME),
						 errdetail("If the server is restarted before the next restartpoint, WAL "
								   "that wide tables need may be missing.")));
		}
		held = true;
		failed = false;
		wt_replication_slot_advance(lsn);
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		if (!failed)
			ereport(WARNING,
					(errmsg("widetable: replication slot \"%s\" cannot be held: %s",
							WT_REPLICATION_SLOT_NAME,
							e->message),
					 errdetail("WAL that wide tables need may be removed.")));
		failed = true;
		FreeErrorData(e);
	}
	PG_END_TRY();
}

void
wt_replication_slot_end_keep(void)
{
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
}

const char *
wt_replication_slot_state(void)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);

	if (slot == NULL)
		return "none";
	if (!is_usable(slot))
		return "lost";
	return slot->active_pid != 0 ? "held" : "not held";
}

/*
 * Creates the slot again.  It does not keep the WAL that the old one kept, so what
 * is only there is flushed to files at once.
 */
static void
replace_lost_slot(wide_db *db)
{
	wt_replication_slot_ensure();
	wt_replication_slot_reserve(wt_replication_slot_needed(db));
	wt_error_check(wide_flush(db), "could not flush");
	ereport(LOG,
			(errmsg("widetable: replication slot \"%s\" was lost and has been created again",
					WT_REPLICATION_SLOT_NAME),
			 errdetail("Changes that were only in its WAL have been written to files.")));
}

void
wt_replication_slot_check(wide_db *db)
{
	static ReplicationSlot *slot = NULL;
	WtErrorPoint before = wt_error_point();

	if (is_usable(slot))
		return;
	slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);
	if (is_usable(slot) || MyReplicationSlot != NULL)
		return;
	PG_TRY();
	{
		replace_lost_slot(db);
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		if (e->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(e);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot write to wide tables: replication slot \"%s\" is lost and could "
						"not be created again",
						WT_REPLICATION_SLOT_NAME),
				 errdetail("%s", e->message),
				 e->hint ? errhint("%s", e->hint) : 0));
	}
	PG_END_TRY();
}

/* ------------------------------------------------------ before recovery */

static void (*note_start)(void) = NULL;

/*
 * Creates the slot before recovery.  A failure must not keep the server from starting:
 * the store reports what is missing when it is opened.
 */
static void
create_slot_before_recovery(void)
{
	WtStateFile s;
	ErrorData *e;

	/* a store that is closed has everything in its files; one that does not exist may begin in
	 * the log that is replayed from an archive or a primary */
	wt_state_file_read(&s);
	if (s.state == WT_STATE_CLOSED || s.state == WT_STATE_RESTING ||
		(s.state == WT_STATE_NONE && !ArchiveRecoveryRequested && !wt_state_file_has_store()) ||
		SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true) != NULL)
		return;
	e = try_create_slot();
	if (e == NULL)
		ereport(LOG,
				(errmsg("widetable: created replication slot \"%s\" to keep the WAL that wide "
						"tables need",
						WT_REPLICATION_SLOT_NAME)));
	else
		ereport(WARNING,
				(errmsg("widetable: could not create replication slot \"%s\": %s",
						WT_REPLICATION_SLOT_NAME,
						e->message),
				 errdetail("WAL that wide tables need may be removed."),
				 e->hint ? errhint("%s", e->hint) : 0));
}

/* Runs in the startup process before it replays the first record. */
static void
recovery_begins(void)
{
	wt_recovery_target_note();
	note_start();
	create_slot_before_recovery();
}

/* No record of this resource manager exists, so PostgreSQL can recover without the library. */
static void
no_record(XLogReaderState *record)
{
	elog(PANIC, "widetable has no WAL records of its own");
}

static void
no_description(StringInfo buf, XLogReaderState *record)
{
}

static const char *
no_name(uint8 info)
{
	return NULL;
}

/*
 * A resource manager without records: its rm_startup is the only function of a library
 * that PostgreSQL calls when recovery begins, its rm_cleanup when the last record has
 * been replayed.  Any free number will do, because no record has it.
 */
void
wt_replication_slot_register_startup(void (*note)(void))
{
	static RmgrData rmgr = {.rm_name = "widetable",
							.rm_redo = no_record,
							.rm_desc = no_description,
							.rm_identify = no_name,
							.rm_startup = recovery_begins,
							.rm_cleanup = wt_recovery_target_keep};

	note_start = note;
	for (int id = RM_MAX_CUSTOM_ID; id > RM_EXPERIMENTAL_ID; id--)
		if (RmgrTable[id].rm_name == NULL)
		{
			RegisterCustomRmgr((RmgrId) id, &rmgr);
			return;
		}
}
