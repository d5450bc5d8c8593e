/*
 * replication_slot.c
 *		The physical replication slot that keeps the WAL which is not in files.
 *
 * The keeper process (checkpoint_keeper.c) holds the slot as its own as long as it runs:
 * nobody can drop it then, it is never idle, and it moves with the store.
 * Where no keeper runs, a session that is about to commit looks whether the
 * slot is still there, makes it anew if need be, and flushes what depended on
 * the old one; only if that fails is the commit refused, as its durability
 * could not be promised.
 *
 * A base backup has no slots.  With the library preloaded the slot is made
 * before the first record is replayed (create_slot_at_startup), so that the WAL which
 * the restored store needs outlives the recovery, restartpoints, and the life
 * of a standby.  Without, the first session may come too late.
 *
 * Locking: ReplicationSlotControlLock inside the functions that are called.
 */
#include "postgres.h"

#include "fdw/store/replication_slot.h"

#include <sys/stat.h>

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

#define SLOT_HINT                                                                                \
	"Drop a replication slot that is not needed, or increase max_replication_slots (now %d) in " \
	"postgresql.conf and restart the server."

/* ----------------------------------------------------------------- states */

/* The slot is ours, reserves WAL and has not been invalidated. */
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

/* Leaves nothing acquired. */
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

/*
 * An error that is forgotten here and not by the end of a transaction.  Some are
 * raised under a lock ("already exists" under two), which would stay: every
 * checkpoint would wait for it.  No caller holds any.
 */
static ErrorData *
take_error(MemoryContext caller)
{
	ErrorData *e;

	LWLockReleaseAll();
	MemoryContextSwitchTo(caller);
	e = CopyErrorData();
	FlushErrorState();
	return e;
}

/* Another session does the same at the same time: that is no error. */
static void
create_slot_once(void)
{
	MemoryContext caller = CurrentMemoryContext;

	PG_TRY();
	{
		create_slot();
	}
	PG_CATCH();
	{
		ErrorData *e = take_error(caller);

		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		if (e->sqlerrcode != ERRCODE_DUPLICATE_OBJECT)
			ReThrowError(e);
		FreeErrorData(e);
	}
	PG_END_TRY();
}

void
wt_replication_slot_ensure(void)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);

	if (slot != NULL && slot->data.database != InvalidOid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("replication slot \"%s\" is a logical slot", WT_REPLICATION_SLOT_NAME),
				 errdetail("widetable needs a physical slot of that name for its log."),
				 errhint("Drop it with SELECT pg_drop_replication_slot('%s').", WT_REPLICATION_SLOT_NAME)));
	if (is_usable(slot))
		return;
	/* nobody but we uses it; one that reserves nothing or was invalidated is of no use */
	if (slot != NULL && slot->active_pid == 0)
	{
		ereport(LOG,
				(errmsg("widetable: replication slot \"%s\" has lost its WAL and is made anew",
						WT_REPLICATION_SLOT_NAME),
				 errhint("Leave max_slot_wal_keep_size, and in PostgreSQL 18 "
						 "idle_replication_slot_timeout, at their defaults.")));
		ReplicationSlotDrop(WT_REPLICATION_SLOT_NAME, true);
	}
	create_slot_once();
}

/* ---------------------------------------------------------------- moving */

static void
set_restart_lsn(XLogRecPtr lsn)
{
	SpinLockAcquire(&MyReplicationSlot->mutex);
	MyReplicationSlot->data.restart_lsn = lsn;
	SpinLockRelease(&MyReplicationSlot->mutex);
	ReplicationSlotMarkDirty();
	ReplicationSlotsComputeRequiredLSN();
	ReplicationSlotSave();
}

/*
 * A failure is harmless: WAL is kept a little longer.  In a transaction's
 * commit there is no way to recover from an error, so do nothing there.
 */
static void
move_restart_lsn(XLogRecPtr lsn, bool back)
{
	MemoryContext caller = CurrentMemoryContext;
	ReplicationSlot *slot;
	bool mine;

	if (CritSectionCount > 0 || XLogRecPtrIsInvalid(lsn))
		return;
	slot = SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true);
	if (!is_usable(slot))
		return;
	mine = slot == MyReplicationSlot;
	/* whoever has it moves it */
	if (!mine && (MyReplicationSlot != NULL || slot->active_pid != 0))
		return;
	if (back ? slot->data.restart_lsn <= lsn : slot->data.restart_lsn >= lsn)
		return;
	PG_TRY();
	{
		if (!mine)
			wt_acquire_replication_slot(WT_REPLICATION_SLOT_NAME);
		if (back || MyReplicationSlot->data.restart_lsn < lsn)
			set_restart_lsn(lsn);
		if (!mine)
			ReplicationSlotRelease();
	}
	PG_CATCH();
	{
		ErrorData *e = take_error(caller);

		if (!mine && MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		ereport(DEBUG1,
				(errmsg_internal("widetable: could not move the replication slot: %s",
								 e->message)));
		FreeErrorData(e);
	}
	PG_END_TRY();
}

void
wt_replication_slot_advance(XLogRecPtr lsn)
{
	move_restart_lsn(lsn, false);
}

void
wt_replication_slot_reserve(XLogRecPtr lsn)
{
	XLogSegNo segno;

	/* what has been removed is not to be had by promising it */
	XLByteToSeg(lsn, segno, wal_segment_size);
	if (XLogGetLastRemovedSegno() < segno)
		move_restart_lsn(lsn, true);
}

/* ------------------------------------------------------------ keeping it */

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

/*
 * What the log had before the slot is not reserved any more: it goes into files
 * at once.
 */
static void
replace_lost_slot(wide_db *db)
{
	wide_stats s;

	wt_replication_slot_ensure();
	wide_statistics(db, &s);
	wt_replication_slot_reserve((XLogRecPtr) s.restart_lsn);
	wt_error_check(wide_flush(db), "could not flush");
	ereport(LOG,
			(errmsg("widetable: replication slot \"%s\" was lost and has been made anew",
					WT_REPLICATION_SLOT_NAME),
			 errdetail("What depended on it has been written to files.")));
}

void
wt_replication_slot_check(wide_db *db)
{
	static ReplicationSlot *slot = NULL;
	MemoryContext caller = CurrentMemoryContext;

	/* reading without a lock: a moment's difference does not matter */
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
		ErrorData *e;

		MemoryContextSwitchTo(caller);
		e = CopyErrorData();
		if (e->elevel > ERROR || e->sqlerrcode == ERRCODE_QUERY_CANCELED)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot write to wide tables: replication slot \"%s\" is lost and could "
						"not be made anew",
						WT_REPLICATION_SLOT_NAME),
				 errdetail("%s", e->message),
				 e->hint ? errhint("%s", e->hint) : 0));
	}
	PG_END_TRY();
}

/* ------------------------------------------------------ before recovery */

/*
 * Runs in the startup process before it replays anything.  Whatever fails here
 * must not keep the server from starting: the store says what it lacks when it
 * is opened.
 */
static void
create_slot_at_startup(void)
{
	MemoryContext caller = CurrentMemoryContext;
	struct stat st;

	if (stat(WT_DIRECTORY, &st) != 0 ||
		SearchNamedReplicationSlot(WT_REPLICATION_SLOT_NAME, true) != NULL)
		return;
	PG_TRY();
	{
		create_slot();
		ereport(LOG,
				(errmsg("widetable: made replication slot \"%s\" to keep the WAL that wide tables "
						"need",
						WT_REPLICATION_SLOT_NAME)));
	}
	PG_CATCH();
	{
		ErrorData *e = take_error(caller);

		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		ereport(WARNING,
				(errmsg("widetable: could not make replication slot \"%s\": %s",
						WT_REPLICATION_SLOT_NAME,
						e->message),
				 errdetail("WAL that wide tables need may be removed."),
				 e->hint ? errhint("%s", e->hint) : 0));
		FreeErrorData(e);
	}
	PG_END_TRY();
}

/* There are no records of ours: PostgreSQL recovers without this library. */
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
 * A resource manager without records is PostgreSQL's one way to be called when
 * recovery begins.  Any number will do, as nothing is ever written with it.
 */
void
wt_replication_slot_register_startup(void)
{
	static RmgrData rmgr = {.rm_name = "widetable",
							.rm_redo = no_record,
							.rm_desc = no_description,
							.rm_identify = no_name,
							.rm_startup = create_slot_at_startup};

	for (int id = RM_MAX_CUSTOM_ID; id > RM_EXPERIMENTAL_ID; id--)
		if (RmgrTable[id].rm_name == NULL)
		{
			RegisterCustomRmgr((RmgrId) id, &rmgr);
			return;
		}
}
