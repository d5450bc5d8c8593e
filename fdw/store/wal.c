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
 * A physical replication slot keeps the WAL that is not yet in files (replication_slot.c).
 *
 * On a standby, and during archive recovery, replay does not end at the end of
 * the log but follows it until the server is promoted: recovery of the store
 * takes that long, and flushes and compacts on the way.
 *
 * No function here longjmps into the engine: what may raise an error runs in
 * PG_TRY, or in a critical section where an error is a PANIC anyway.
 */
#include "postgres.h"

#include "fdw/store/wal.h"

#include <sys/stat.h>

#include "access/timeline.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogreader.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "replication/message.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/host.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/settings.h"

static char *message = NULL;					 /* where the parts of a record are put together */
static char failure[512];						 /* what the last caught error said */
static bool skipped = false;					 /* the last replay has passed over missing WAL */
static XLogRecPtr replaying = InvalidXLogRecPtr; /* start of the record that is being replayed */

/* Remember the error that was caught, and forget it. */
static void
swallow_error(MemoryContext caller)
{
	ErrorData *e;

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
	size_t len = 0;

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
	size_t len = gather(parts, nparts);

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

/* Where no error may be raised; one leaves the log as it is. */
void
wt_wal_flush(uint64 lsn)
{
	(void) wal_sync(NULL, lsn);
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
	RmgrId rmid = XLogRecGetRmid(reader);
	uint8 info = XLogRecGetInfo(reader);

	ev.start = reader->ReadRecPtr;
	ev.lsn = reader->EndRecPtr;
	if (rmid == RM_LOGICALMSG_ID)
	{
		xl_logical_message *m = (xl_logical_message *) XLogRecGetData(reader);

		if (!our_message(reader, &ev.payload))
			return WIDE_OK;
		ev.kind = WIDE_REPLAY_RECORD;
		if (m->transactional)
			ev.xid = wt_host_full_xid(XLogRecGetXid(reader));
		return fn(arg, &ev);
	}
	if (rmid == RM_XLOG_ID)
	{
		uint8 op = info & ~XLR_INFO_MASK;

		if (op != XLOG_CHECKPOINT_SHUTDOWN && op != XLOG_END_OF_RECOVERY)
			return WIDE_OK;
		ev.kind = WIDE_REPLAY_RESTART;
		return fn(arg, &ev);
	}
	if (rmid == RM_XACT_ID)
	{
		uint8 op = info & XLOG_XACT_OPMASK;

		if (!TransactionIdIsValid(XLogRecGetXid(reader)))
			return WIDE_OK;
		if (op == XLOG_XACT_COMMIT)
		{
			ev.kind = WIDE_REPLAY_COMMIT;
			ev.time = ((xl_xact_commit *) XLogRecGetData(reader))->xact_time + WT_EPOCH_DIFF;
		}
		else if (op == XLOG_XACT_ABORT)
			ev.kind = WIDE_REPLAY_ABORT;
		else
			return WIDE_OK;
		ev.xid = wt_host_full_xid(XLogRecGetXid(reader));
		return fn(arg, &ev);
	}
	return WIDE_OK;
}

/* The position up to which there is something to read. */
static XLogRecPtr
readable_end(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetFlushRecPtr(NULL);
}

/* One pass: from where the reader stands to `end`. */
static wide_status
read_up_to(XLogReaderState *reader, XLogRecPtr end, wide_replay_fn fn, void *arg)
{
	char *err = NULL;

	while (reader->EndRecPtr < end && XLogReadRecord(reader, &err) != NULL)
	{
		wide_status st;

		replaying = reader->ReadRecPtr;
		if ((st = replay_record(reader, fn, arg)) != WIDE_OK)
			return st;
	}
	if (err != NULL && reader->EndRecPtr < end)
	{
		snprintf(failure, sizeof(failure), "could not read WAL at %X/%X: %s",
				 LSN_FORMAT_ARGS(reader->EndRecPtr), err);
		return WIDE_IO;
	}
	return WIDE_OK;
}

/* Position the reader at the first record from there on; *begun: there is one. */
static wide_status
find_first(XLogReaderState *reader, XLogRecPtr from, bool *begun)
{
	ReadLocalXLogPageNoWaitPrivate *private = reader->private_data;

	*begun = !XLogRecPtrIsInvalid(XLogFindNextRecord(reader, from));
	/* nothing begins between from and the end, or WAL is missing */
	if (*begun || private->end_of_wal)
		return WIDE_OK;
	snprintf(failure, sizeof(failure), "could not read WAL from %X/%X", LSN_FORMAT_ARGS(from));
	return WIDE_IO;
}

/*
 * The server is in recovery, and all that it has replayed is applied here.  Do
 * what keeps the store in shape until there is more.  As on the primary, WAL
 * from before a checkpoint (here: a restartpoint) is not needed for long.
 */
static wide_status
wait_for_more(wide_db *db, XLogRecPtr *flushed_for)
{
	XLogRecPtr redo = GetRedoRecPtr();
	wide_stats s;
	wide_status st;

	wide_statistics(db, &s);
	if (s.restart_lsn < redo && *flushed_for != redo)
	{
		*flushed_for = redo;
		st = wide_replay_work(db, true);
	}
	else
		st = wide_replay_work(db, false);
	if (st == WIDE_END)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 100,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		st = WIDE_OK;
	}
	if (st == WIDE_OK && wt_host_interrupted())
		st = WIDE_INTERRUPTED;
	if (st != WIDE_OK && st != WIDE_INTERRUPTED)
		strlcpy(failure, wide_error_text(), sizeof(failure));
	return st;
}

static wide_status
read_wal(wide_db *db, XLogRecPtr from, wide_replay_fn fn, void *arg)
{
	ReadLocalXLogPageNoWaitPrivate *private = palloc0(sizeof(*private));
	XLogReaderState *reader;
	XLogRecPtr flushed_for = InvalidXLogRecPtr;
	bool begun = false;
	wide_status st = WIDE_OK;

	reader = XLogReaderAllocate(wal_segment_size, NULL,
								XL_ROUTINE(.page_read = &read_local_xlog_page_no_wait,
										   .segment_open = &wal_segment_open,
										   .segment_close = &wal_segment_close),
								private);
	if (reader == NULL)
		return WIDE_NOMEM;
	for (;;)
	{
		/* this first: what recovery leaves is read in one more pass */
		bool follow = RecoveryInProgress();
		XLogRecPtr end = readable_end();

		private->end_of_wal = false;
		if (!begun && from < end)
			st = find_first(reader, from, &begun);
		if (st == WIDE_OK && begun)
			st = read_up_to(reader, end, fn, arg);
		if (st == WIDE_OK && follow)
			st = wait_for_more(db, &flushed_for);
		if (st != WIDE_OK || !follow)
			break;
	}
	XLogReaderFree(reader);
	pfree(private);
	return st;
}

/*
 * widetable.ignore_missing_wal: the first position from which WAL can be read.
 * The administrator has said that what was before it is lost.
 */
static XLogRecPtr
skip_missing(XLogRecPtr from)
{
	XLogSegNo segno, last;
	char path[MAXPGPATH];

	XLByteToSeg(from, segno, wal_segment_size);
	XLByteToSeg(GetFlushRecPtr(NULL), last, wal_segment_size);
	for (; segno < last; segno++)
	{
		struct stat st;

		for (TimeLineID tli = GetWALInsertionTimeLine(); tli > 0; tli--)
		{
			XLogFilePath(path, tli, segno, wal_segment_size);
			if (stat(path, &st) == 0)
				return from;
		}
		XLogSegNoOffsetToRecPtr(segno + 1, 0, wal_segment_size, from);
	}
	return from;
}

static wide_status
wal_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile XLogRecPtr start = from;
	volatile wide_status st = WIDE_OK;

	failure[0] = '\0';
	skipped = false;
	PG_TRY();
	{
		wt_replication_slot_reserve(from);
		if (wt_settings_ignore_missing_wal && !RecoveryInProgress() &&
			(start = skip_missing(from)) != from)
		{
			wide_replay_event ev = {.kind = WIDE_REPLAY_GAP, .start = start, .lsn = start};

			ereport(WARNING,
					(errmsg("widetable: WAL from %X/%X to %X/%X is missing, and what wide tables "
							"have only there is lost",
							LSN_FORMAT_ARGS((XLogRecPtr) from),
							LSN_FORMAT_ARGS(start))));
			st = fn(arg, &ev);
			skipped = true;
		}
		if (st == WIDE_OK)
			st = read_wal(*(wide_db **) ctx, start, fn, arg);
	}
	PG_CATCH();
	{
		swallow_error(caller);
		st = WIDE_IO;
	}
	PG_END_TRY();
	replaying = InvalidXLogRecPtr;
	if (st == WIDE_IO && failure[0] != '\0')
	{
		char what[sizeof(failure)];

		strlcpy(what, failure, sizeof(what));
		snprintf(failure, sizeof(failure), "the store needs WAL from %X/%X on: %.400s",
				 LSN_FORMAT_ARGS((XLogRecPtr) from), what);
	}
	return st;
}

/* ----------------------------------------------------------- whose log */

static void
wal_identity(void *ctx, uint64_t *id, uint32_t *branch)
{
	TimeLineID tli;

	*id = GetSystemIdentifier();
	if (RecoveryInProgress())
		(void) GetXLogReplayRecPtr(&tli);
	else
		tli = GetWALInsertionTimeLine();
	*branch = tli;
}

/* May raise an error. */
static bool
in_history(TimeLineID tli, XLogRecPtr lsn)
{
	TimeLineID now;
	XLogRecPtr end = RecoveryInProgress() ? GetXLogReplayRecPtr(&now) : GetXLogInsertRecPtr();
	List *history;

	if (record_end(lsn) > end)
	{
		snprintf(failure, sizeof(failure),
				 "The store has changes up to %X/%X, but WAL ends at %X/%X.", LSN_FORMAT_ARGS(lsn),
				 LSN_FORMAT_ARGS(end));
		return false;
	}
	if (!RecoveryInProgress())
		now = GetWALInsertionTimeLine();
	if (tli == 0 || tli == now)
		return true;
	history = readTimeLineHistory(now);
	if (tliInHistory(tli, history) && record_end(lsn) <= tliSwitchPoint(tli, history, NULL))
		return true;
	snprintf(failure, sizeof(failure),
			 "The store has changes up to %X/%X of timeline %u, which are not in the history of "
			 "this server's timeline %u.",
			 LSN_FORMAT_ARGS(lsn), tli, now);
	return false;
}

static bool
wal_contains(void *ctx, uint32_t branch, uint64_t lsn)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile bool yes = false;

	failure[0] = '\0';
	PG_TRY();
	{
		yes = in_history((TimeLineID) branch, (XLogRecPtr) lsn);
	}
	PG_CATCH();
	{
		swallow_error(caller);
	}
	PG_END_TRY();
	return yes;
}

/* What the last failure was, for errors that the engine only passes on. */
const char *
wt_wal_failure(void)
{
	return failure;
}

bool
wt_wal_skipped(void)
{
	return skipped;
}

static void
wal_release(void *ctx, uint64_t lsn)
{
	wt_replication_slot_advance((XLogRecPtr) lsn);
}

wide_log
wt_wal_log(wide_db **db)
{
	wide_log log = {0};

	if (message == NULL)
		message = MemoryContextAlloc(TopMemoryContext, WIDE_LOG_RECORD_MAX);
	log.ctx = db;
	log.append = wal_append;
	log.sync = wal_sync;
	log.end = wal_end;
	log.replay = wal_replay;
	log.release = wal_release;
	log.identity = wal_identity;
	log.contains = wal_contains;
	return log;
}
