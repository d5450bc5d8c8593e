/*
 * wal.c
 *		The engine's log inside PostgreSQL's WAL.
 *
 * Records are logical messages (LogLogicalMessage) with the prefix
 * "widetable": core's redo ignores them, so recovery and standbys never need
 * this library, and they travel wherever WAL travels.  External records (of a
 * transaction that has an xid) are transactional messages: the transaction's
 * own commit record, later in the same log, decides about them.
 *
 * A physical replication slot keeps the WAL that is not yet in files.  Its
 * restart_lsn moves after each flush.
 *
 * No function here longjmps into the engine: what may raise an error runs in
 * PG_TRY, or in a critical section where an error is a PANIC anyway.
 */
#include "store.h"

#include "access/heapam_xlog.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogreader.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "replication/message.h"
#include "replication/slot.h"
#include "storage/fd.h"
#include "utils/memutils.h"

static char *message = NULL;	/* where the parts of a record are put together */
static char failure[512];		/* what the last caught error said */
static XLogRecPtr replaying = InvalidXLogRecPtr;	/* start of the record that is being replayed */

/* Remember the error that was caught, and forget it. */
static void
swallow_error(MemoryContext caller)
{
	ErrorData  *e;

	MemoryContextSwitchTo(caller);
	e = CopyErrorData();
	FlushErrorState();
	strlcpy(failure, e->message ? e->message : "unknown error", sizeof(failure));
	FreeErrorData(e);
}

/* ------------------------------------------------------------------ write */

/* Put the parts together in message; more than WIDE_LOG_RECORD_MAX: they do not fit. */
static size_t
gather(const wide_bytes *parts, int nparts)
{
	size_t		len = 0;

	for (int i = 0; i < nparts; i++)
	{
		if (parts[i].len > WIDE_LOG_RECORD_MAX - len)
			return WIDE_LOG_RECORD_MAX + 1;
		memcpy(message + len, parts[i].data, parts[i].len);
		len += parts[i].len;
	}
	return len;
}

/* A record that counts only if the current transaction commits; 0 when that failed. */
static XLogRecPtr
append_transactional(size_t len)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile XLogRecPtr lsn = InvalidXLogRecPtr;

	PG_TRY();
	{
		lsn = wt_log_message(WT_LOG_PREFIX, message, len, true);
	}
	PG_CATCH();
	{
		swallow_error(caller);
	}
	PG_END_TRY();
	return lsn;
}

static wide_status
wal_append(void *ctx, bool external, const wide_bytes *parts, int nparts, uint64_t *lsn)
{
	size_t		len = gather(parts, nparts);

	if (len > WIDE_LOG_RECORD_MAX)
		return WIDE_LIMIT;
	if (external)
	{
		*lsn = append_transactional(len);
		return XLogRecPtrIsInvalid(*lsn) ? WIDE_IO : WIDE_OK;
	}
	/* in the commit path: too late for an error */
	START_CRIT_SECTION();
	*lsn = wt_log_message(WT_LOG_PREFIX, message, len, false);
	END_CRIT_SECTION();
	return WIDE_OK;
}

/*
 * The LSN may be one where a record would begin (wal_end).  On a new page that
 * is behind the page's header, but WAL ends before the header: XLogFlush takes
 * more than that for an error.
 */
static XLogRecPtr
record_end(XLogRecPtr lsn)
{
	if (XLogSegmentOffset(lsn, wal_segment_size) == SizeOfXLogLongPHD)
		return lsn - SizeOfXLogLongPHD;
	if (lsn % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		return lsn - SizeOfXLogShortPHD;
	return lsn;
}

static wide_status
wal_sync(void *ctx, uint64_t lsn)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile wide_status st = WIDE_OK;

	PG_TRY();
	{
		XLogFlush(record_end((XLogRecPtr) lsn));
	}
	PG_CATCH();
	{
		swallow_error(caller);
		st = WIDE_IO;
	}
	PG_END_TRY();
	return st;
}

static uint64_t
wal_synced(void *ctx)
{
	return (uint64_t) GetFlushRecPtr(NULL);
}

static uint64_t
wal_end(void *ctx)
{
	/*
	 * While recovery replays, the log "ends" where the current record begins: a
	 * memtable that starts now holds nothing older, and a flush must not claim
	 * records that were not replayed yet.
	 */
	if (!XLogRecPtrIsInvalid(replaying))
		return (uint64_t) replaying;
	return (uint64_t) GetXLogInsertRecPtr();
}

/* ------------------------------------------------------------------- read */

/* The full id of a transaction seen in WAL; the epoch is that of the newest. */
static uint64
full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		epoch = EpochFromFullTransactionId(next);

	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return U64FromFullTransactionId(FullTransactionIdFromEpochAndXid(epoch, xid));
}

/* One of our messages?  Then what it carries. */
static bool
our_message(XLogReaderState *reader, wide_bytes *payload)
{
	xl_logical_message *m;

	if ((XLogRecGetInfo(reader) & ~XLR_INFO_MASK) != XLOG_LOGICAL_MESSAGE)
		return false;
	m = (xl_logical_message *) XLogRecGetData(reader);
	if (XLogRecGetDataLen(reader) < SizeOfLogicalMessage ||
		m->prefix_size != sizeof(WT_LOG_PREFIX) ||
		XLogRecGetDataLen(reader) < SizeOfLogicalMessage + m->prefix_size + m->message_size ||
		memcmp(m->message, WT_LOG_PREFIX, sizeof(WT_LOG_PREFIX)) != 0)
		return false;
	payload->data = (const uint8 *) m->message + m->prefix_size;
	payload->len = m->message_size;
	return true;
}

/* Hands one record to the engine if it concerns it. */
static wide_status
replay_record(XLogReaderState *reader, wide_replay_fn fn, void *arg)
{
	wide_replay_event ev = {0};
	RmgrId		rmid = XLogRecGetRmid(reader);
	uint8		info = XLogRecGetInfo(reader);

	ev.start = reader->ReadRecPtr;
	ev.lsn = reader->EndRecPtr;
	if (rmid == RM_LOGICALMSG_ID)
	{
		xl_logical_message *m = (xl_logical_message *) XLogRecGetData(reader);

		if (!our_message(reader, &ev.payload))
			return WIDE_OK;
		ev.kind = WIDE_REPLAY_RECORD;
		if (m->transactional)
			ev.xid = full_xid(XLogRecGetXid(reader));
		return fn(arg, &ev);
	}
	if (rmid == RM_XACT_ID)
	{
		uint8		op = info & XLOG_XACT_OPMASK;

		if (!TransactionIdIsValid(XLogRecGetXid(reader)))
			return WIDE_OK;
		if (op == XLOG_XACT_COMMIT)
			ev.kind = WIDE_REPLAY_COMMIT;
		else if (op == XLOG_XACT_ABORT)
			ev.kind = WIDE_REPLAY_ABORT;
		else
			return WIDE_OK;
		ev.xid = full_xid(XLogRecGetXid(reader));
		return fn(arg, &ev);
	}
	return WIDE_OK;
}

static wide_status
read_wal(XLogRecPtr from, wide_replay_fn fn, void *arg)
{
	ReadLocalXLogPageNoWaitPrivate *private = palloc0(sizeof(*private));
	XLogReaderState *reader;
	XLogRecPtr	end = GetFlushRecPtr(NULL);
	wide_status st = WIDE_OK;
	char	   *err = NULL;

	if (from >= end)
		return WIDE_OK;
	reader = XLogReaderAllocate(wal_segment_size, NULL,
								XL_ROUTINE(.page_read = &read_local_xlog_page_no_wait,
										   .segment_open = &wal_segment_open,
										   .segment_close = &wal_segment_close),
								private);
	if (reader == NULL)
		return WIDE_NOMEM;
	if (XLogRecPtrIsInvalid(XLogFindNextRecord(reader, from)))
	{
		/* nothing begins between from and the end, or WAL is missing */
		if (!private->end_of_wal)
		{
			snprintf(failure, sizeof(failure), "could not read WAL from %X/%X", LSN_FORMAT_ARGS(from));
			st = WIDE_IO;
		}
	}
	else
	{
		while (XLogReadRecord(reader, &err) != NULL)
		{
			replaying = reader->ReadRecPtr;
			if ((st = replay_record(reader, fn, arg)) != WIDE_OK)
				break;
			if (reader->EndRecPtr >= end)
				break;
		}
		if (st == WIDE_OK && err != NULL && reader->EndRecPtr < end)
		{
			snprintf(failure, sizeof(failure), "could not read WAL at %X/%X: %s", LSN_FORMAT_ARGS(reader->EndRecPtr), err);
			st = WIDE_IO;
		}
	}
	XLogReaderFree(reader);
	pfree(private);
	return st;
}

static wide_status
wal_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile wide_status st = WIDE_OK;

	failure[0] = '\0';
	PG_TRY();
	{
		st = read_wal((XLogRecPtr) from, fn, arg);
	}
	PG_CATCH();
	{
		swallow_error(caller);
		st = WIDE_IO;
	}
	PG_END_TRY();
	replaying = InvalidXLogRecPtr;
	if (st == WIDE_IO && failure[0] != '\0')
		ereport(LOG,
				(errmsg("widetable cannot replay its log: %s", failure),
				 errdetail("The store needs WAL from %X/%X on.", LSN_FORMAT_ARGS((XLogRecPtr) from))));
	return st;
}

/* ------------------------------------------------------------------- slot */

void
wt_wal_ensure_slot(void)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(WT_SLOT_NAME, true);

	if (slot != NULL)
	{
		if (slot->data.database != InvalidOid)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("replication slot \"%s\" is a logical slot", WT_SLOT_NAME),
					 errdetail("widetable needs a physical slot of that name for its log."),
					 errhint("Drop it with SELECT pg_drop_replication_slot('%s').", WT_SLOT_NAME)));
		return;
	}
	if (max_replication_slots == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("widetable needs a replication slot"),
				 errhint("Set max_replication_slots to at least 1 in postgresql.conf and restart the server.")));
	wt_slot_create(WT_SLOT_NAME);
	ReplicationSlotReserveWal();
	ReplicationSlotMarkDirty();
	ReplicationSlotSave();
	ReplicationSlotRelease();
}

static void
move_slot(XLogRecPtr lsn, bool back)
{
	wt_slot_acquire(WT_SLOT_NAME);
	if (back || MyReplicationSlot->data.restart_lsn < lsn)
	{
		SpinLockAcquire(&MyReplicationSlot->mutex);
		MyReplicationSlot->data.restart_lsn = lsn;
		SpinLockRelease(&MyReplicationSlot->mutex);
		ReplicationSlotMarkDirty();
		ReplicationSlotsComputeRequiredLSN();
		ReplicationSlotSave();
	}
	ReplicationSlotRelease();
}

/*
 * A failure is harmless: WAL is kept a little longer.  In a transaction's
 * commit there is no way to recover from an error, so do nothing there.
 */
static void
set_restart(XLogRecPtr lsn, bool back)
{
	MemoryContext caller = CurrentMemoryContext;
	ReplicationSlot *slot;

	if (CritSectionCount > 0 || MyReplicationSlot != NULL || XLogRecPtrIsInvalid(lsn))
		return;
	slot = SearchNamedReplicationSlot(WT_SLOT_NAME, true);
	if (slot == NULL || slot->active_pid != 0)
		return;
	if (back ? slot->data.restart_lsn <= lsn : slot->data.restart_lsn >= lsn)
		return;
	PG_TRY();
	{
		move_slot(lsn, back);
	}
	PG_CATCH();
	{
		swallow_error(caller);
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		ereport(DEBUG1, (errmsg_internal("widetable: could not move the replication slot: %s", failure)));
	}
	PG_END_TRY();
}

void
wt_wal_set_restart(XLogRecPtr lsn)
{
	set_restart(lsn, false);
}

/*
 * After recovery: a slot made just now (base backups have none) begins at the
 * last checkpoint, but the store may need WAL from before that.
 */
void
wt_wal_keep(XLogRecPtr lsn)
{
	set_restart(lsn, true);
}

/* What the last failure was, for errors that the engine only passes on. */
const char *
wt_wal_failure(void)
{
	return failure;
}

static void
wal_release(void *ctx, uint64_t lsn)
{
	wt_wal_set_restart((XLogRecPtr) lsn);
}

wide_log
wt_wal_log(void)
{
	wide_log	log = {0};

	if (message == NULL)
		message = MemoryContextAlloc(TopMemoryContext, WIDE_LOG_RECORD_MAX);
	log.append = wal_append;
	log.sync = wal_sync;
	log.synced = wal_synced;
	log.end = wal_end;
	log.replay = wal_replay;
	log.release = wal_release;
	return log;
}
