/*
 * wal.c
 *		The engine's log as records in PostgreSQL's WAL.
 *
 * log_record.c has the form of the records.  PostgreSQL's redo ignores them, so
 * recovery and standbys do not need this library.  About the records of an external
 * transaction (one with an xid) the transaction's commit record decides, later in the
 * same log.
 *
 * A physical replication slot keeps the WAL that is not in files yet
 * (replication_slot.c); the engine advances it through wal_release().
 *
 * On a standby and during archive recovery, replay does not stop at the end of WAL:
 * it follows WAL until the server is promoted.  Recovery of the store takes that
 * long; it flushes and compacts meanwhile.
 *
 * PostgreSQL stops recovery to a point in time, and delays a standby, at commit
 * records.  A record that belongs to no external transaction therefore has its time.
 * Replay leaves out the commits after the target (recovery_target.c), and waits before
 * a record that recovery_min_apply_delay holds back.
 *
 * No function here longjmps into the engine: what may raise an error runs in PG_TRY,
 * or in a critical section, where an error is a PANIC.
 *
 * Locking: none of its own.
 */
#include "postgres.h"

#include "fdw/store/wal.h"

#include <sys/stat.h>

#include "access/timeline.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "access/xlogreader.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/health.h"
#include "fdw/store/host.h"
#include "fdw/store/log_record.h"
#include "fdw/store/recovery_target.h"
#include "fdw/store/replay_watch.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/settings.h"
#include "fdw/store/state_file.h"
#include "fdw/store/upgrade.h"
#include "fdw/store/wait_event.h"
#include "fdw/store/wal_history.h"

#define SLOT_MS			 1000 /* on a standby: between looks at the replication slot */
#define PROGRESS_RECORDS 256  /* WAL records between notes of the progress */

/* Message of the last error that was caught. */
static char failure[512];

/* State of the replay. */
static XLogRecPtr replaying = InvalidXLogRecPtr;   /* start of the current record */
static bool skipped = false;					   /* the last replay skipped missing WAL */
static WtRecoveryTarget target;					   /* of the recovery */
static bool left_out = false;					   /* a record beyond the target was met */
static XLogRecPtr flushed_for = InvalidXLogRecPtr; /* last redo position that caused a flush */

static XLogRecPtr beginning = InvalidXLogRecPtr;   /* of the store that is being made */
static XLogRecPtr begun_again = InvalidXLogRecPtr; /* where the replay has met another one's */

/*
 * In PG_CATCH: keeps the error's message in failure and ends its handling.  Returns: WIDE_IO; or
 * WIDE_INTERRUPTED for a cancellation, which the next check that may raise errors reports.
 */
static wide_status
swallow_error(const WtErrorPoint *before)
{
	ErrorData *e = wt_error_take(before);
	bool cancelled = e->sqlerrcode == ERRCODE_QUERY_CANCELED;

	strlcpy(failure, e->message ? e->message : "unknown error", sizeof(failure));
	FreeErrorData(e);
	if (cancelled)
		InterruptPending = QueryCancelPending = true;
	return cancelled ? WIDE_INTERRUPTED : WIDE_IO;
}

/* ----------------------------------------------------------------- writing */

/* Appends a record that counts only if this transaction commits.  Returns: its end, or 0. */
static XLogRecPtr
append_external(const wide_bytes *parts, int nparts)
{
	WtErrorPoint before = wt_error_point();
	volatile XLogRecPtr lsn = InvalidXLogRecPtr;

	PG_TRY();
	{
		lsn = wt_log_record_append(true, parts, nparts);
	}
	PG_CATCH();
	{
		(void) swallow_error(&before);
	}
	PG_END_TRY();
	return lsn;
}

static wide_status
wal_append(void *ctx, bool external, const wide_bytes *parts, int nparts, uint64_t *lsn)
{
	size_t len = 0;

	for (int i = 0; i < nparts; i++)
		len += parts[i].len;
	if (len > WIDE_LOG_RECORD_MAX)
		return WIDE_LIMIT;
	if (external)
	{
		*lsn = append_external(parts, nparts);
		return XLogRecPtrIsInvalid(*lsn) ? WIDE_IO : WIDE_OK;
	}
	/* in the commit, where it is too late for an error */
	START_CRIT_SECTION();
	*lsn = wt_log_record_append(false, parts, nparts);
	END_CRIT_SECTION();
	return WIDE_OK;
}

/*
 * Returns: the end of the last record before lsn.  lsn may be where the next record
 * would begin (wal_end): at the beginning of a page that is behind the page's header,
 * which is not written yet.  XLogFlush() raises an error for more than is written.
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
	WtErrorPoint before = wt_error_point();
	volatile wide_status st = WIDE_OK;

	PG_TRY();
	{
		XLogFlush(record_end((XLogRecPtr) lsn));
	}
	PG_CATCH();
	{
		st = swallow_error(&before);
	}
	PG_END_TRY();
	return st;
}

void
wt_wal_flush(uint64 lsn)
{
	(void) wal_sync(NULL, lsn);
}

static uint64_t
wal_end(void *ctx)
{
	/*
	 * During replay the log ends where the current record begins: a memtable that
	 * starts now has nothing older, and a flush must not claim records that are not
	 * replayed yet.
	 */
	if (!XLogRecPtrIsInvalid(replaying))
		return (uint64_t) replaying;
	if (!XLogRecPtrIsInvalid(beginning))
		return (uint64_t) beginning;
	return (uint64_t) GetXLogInsertRecPtr();
}

/* ----------------------------------------------------------------- replay */

/* Makes an event of a record of the engine.  *begins: there is none, because the record begins
 * another store.  Returns: false for other records. */
static bool
engine_event(XLogReaderState *reader, wide_replay_event *ev, TimestampTz *time, bool *begins)
{
	WtLogRecord r;

	switch (wt_log_record_read(reader, &r))
	{
		case WT_LOG_RECORD_PAYLOAD:
			ev->kind = WIDE_REPLAY_RECORD;
			ev->payload = r.payload;
			ev->forgeable = r.forgeable;
			*time = r.time;
			if (r.external)
				ev->xid = wt_host_full_xid(XLogRecGetXid(reader));
			return true;
		case WT_LOG_RECORD_SEAL:
			ev->kind = WIDE_REPLAY_SEALED;
			return true;
		case WT_LOG_RECORD_BEGIN:
			*begins = true;
			*time = r.time;
			return true;
		default:
			return false;
	}
}

/*
 * Makes an event of a record that is one of the engine, the end of a transaction with an xid, or a
 * restart of the server.  *time: when it was written; set for records of the engine that belong to
 * no external transaction, if it is known.  *begins: as in engine_event().
 * Returns: false for other records.
 */
static bool
record_event(XLogReaderState *reader, wide_replay_event *ev, TimestampTz *time, bool *begins)
{
	bool has_xid = TransactionIdIsValid(XLogRecGetXid(reader));
	uint8 info = XLogRecGetInfo(reader);
	uint8 op = info & ~XLR_INFO_MASK;

	if (engine_event(reader, ev, time, begins))
		return true;
	switch (XLogRecGetRmid(reader))
	{
		case RM_XLOG_ID:
			ev->kind = WIDE_REPLAY_RESTART;
			return op == XLOG_CHECKPOINT_SHUTDOWN || op == XLOG_END_OF_RECOVERY;
		case RM_XACT_ID:
			op = info & XLOG_XACT_OPMASK;
			if (!has_xid || (op != XLOG_XACT_COMMIT && op != XLOG_XACT_ABORT))
				return false;
			ev->kind = op == XLOG_XACT_COMMIT ? WIDE_REPLAY_COMMIT : WIDE_REPLAY_ABORT;
			if (op == XLOG_XACT_COMMIT)
				ev->time = ((xl_xact_commit *) XLogRecGetData(reader))->xact_time + WT_EPOCH_DIFF;
			break;
		default:
			return false;
	}
	if (has_xid)
		ev->xid = wt_host_full_xid(XLogRecGetXid(reader));
	return true;
}

/* Returns: the LSN up to which WAL can be read. */
static XLogRecPtr
readable_end(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetFlushRecPtr(NULL);
}

/* On a standby the worker holds the slot up to the promotion, as the keeper does on the primary. */
static void
keep_slot(wide_db *db)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(last, now, SLOT_MS))
		return;
	last = now;
	wt_replication_slot_keep(wt_replication_slot_needed(db));
}

/*
 * The server is in recovery.  Flushes and compacts while there is work, else waits: for 100 ms, or
 * with may_sleep until there is WAL to replay (replay_watch.c).  As on the primary, the store must
 * not need WAL from before a checkpoint (here: a restartpoint) for long: it is flushed once for
 * each redo position.
 *
 * Nothing is flushed behind a record that was left out: the server may be started again with a
 * later target, and the store then has to replay from that record on.
 */
static wide_status
work_or_wait(wide_db *db, bool may_sleep)
{
	XLogRecPtr redo = GetRedoRecPtr();
	wide_status st;

	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	if (left_out)
		st = WIDE_END;
	else if (wt_replication_slot_needed(db) < redo && flushed_for != redo)
	{
		flushed_for = redo;
		st = wide_replay_work(db, true);
	}
	else
		st = wide_replay_work(db, false);
	keep_slot(db);
	if (st == WIDE_END)
	{
		wt_replay_watch_wait(may_sleep ? wide_work_due(db) : 0);
		st = WIDE_OK;
	}
	if (st == WIDE_OK && wt_host_interrupted())
		st = WIDE_INTERRUPTED;
	if (st != WIDE_OK && st != WIDE_INTERRUPTED)
		strlcpy(failure, wide_error_text(), sizeof(failure));
	return st;
}

/* Waits until the standby's delay has passed since that time, or the server is promoted. */
static wide_status
wait_for_delay(wide_db *db, TimestampTz time)
{
	wide_status st = WIDE_OK;

	while (st == WIDE_OK && recovery_min_apply_delay > 0 && RecoveryInProgress() &&
		   !PromoteIsTriggered() &&
		   GetCurrentTimestamp() < TimestampTzPlusMilliseconds(time, recovery_min_apply_delay))
		st = work_or_wait(db, false);
	return st;
}

/* Replays the record that was read, if it concerns the store. */
static wide_status
replay_record(wide_db *db, XLogReaderState *reader, wide_replay_fn fn, void *arg)
{
	wide_replay_event ev = {.start = reader->ReadRecPtr, .lsn = reader->EndRecPtr};
	TimestampTz time = 0;
	bool begins = false;
	static uint32 records = 0;

	replaying = reader->ReadRecPtr;
	if (++records % PROGRESS_RECORDS == 0)
		wt_health_replayed(replaying, false);
	if (!record_event(reader, &ev, &time, &begins))
		return WIDE_OK;
	if (time != 0)
	{
		wide_status st = wait_for_delay(db, time);

		if (st != WIDE_OK)
			return st;
		ev.beyond = wt_recovery_target_excludes(&target, ev.start, time);
		left_out |= ev.beyond;
	}
	if (begins)
	{
		if (ev.beyond)
			return WIDE_OK;
		begun_again = ev.lsn;
		snprintf(failure, sizeof(failure), "another store begins at %X/%X",
				 LSN_FORMAT_ARGS(begun_again));
		return WIDE_CONFLICT;
	}
	return fn(arg, &ev);
}

/* Reads and replays all records from the reader's position to end. */
static wide_status
read_up_to(wide_db *db, XLogReaderState *reader, XLogRecPtr end, wide_replay_fn fn, void *arg)
{
	char *err = NULL;

	while (reader->EndRecPtr < end && XLogReadRecord(reader, &err) != NULL)
	{
		wide_status st = replay_record(db, reader, fn, arg);

		if (st != WIDE_OK)
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

/*
 * Reads a page of WAL.  PostgreSQL's function reads on in the timeline of the page before, up to
 * the position currTLIValidUntil.  It takes that from the entry in the history; see
 * wt_wal_history_end().
 */
static int
read_page(XLogReaderState *reader, XLogRecPtr page, int len, XLogRecPtr record, char *buffer)
{
	/* found by the last call that looked at the history */
	static TimeLineID tli, now;
	static XLogRecPtr until;
	int n = read_local_xlog_page_no_wait(reader, page, len, record, buffer);

	if (!XLogRecPtrIsInvalid(reader->currTLIValidUntil) &&
		(reader->currTLIValidUntil != until || reader->currTLI != tli ||
		 wt_wal_history_timeline() != now))
	{
		List *history;

		tli = reader->currTLI;
		now = wt_wal_history_timeline();
		history = readTimeLineHistory(now);
		reader->currTLIValidUntil = until = wt_wal_history_end(tli, history);
		list_free_deep(history);
	}
	return n;
}

/* Positions the reader at the first record at or after from.  *begun: there is one. */
static wide_status
find_first(XLogReaderState *reader, XLogRecPtr from, bool *begun)
{
	ReadLocalXLogPageNoWaitPrivate *private = reader->private_data;

	*begun = !XLogRecPtrIsInvalid(XLogFindNextRecord(reader, from));
	/* no error at the end of WAL: no record begins at or after from yet */
	if (*begun || private->end_of_wal)
		return WIDE_OK;
	snprintf(failure, sizeof(failure), "could not read WAL from %X/%X", LSN_FORMAT_ARGS(from));
	return WIDE_IO;
}

/* Returns: a reader with its private data; NULL: no memory. */
static XLogReaderState *
make_reader(void)
{
	return XLogReaderAllocate(wal_segment_size, NULL,
							  XL_ROUTINE(.page_read = &read_page, .segment_open = &wal_segment_open,
										 .segment_close = &wal_segment_close),
							  palloc0(sizeof(ReadLocalXLogPageNoWaitPrivate)));
}

/* Replays WAL from there to its end, or to the promotion of a standby. */
static wide_status
read_wal(wide_db *db, XLogRecPtr from, wide_replay_fn fn, void *arg)
{
	ReadLocalXLogPageNoWaitPrivate *private;
	XLogReaderState *reader = make_reader();
	bool begun = false;
	wide_status st = WIDE_OK;

	if (reader == NULL)
		return WIDE_NOMEM;
	private = reader->private_data;
	for (;;)
	{
		/* before readable_end(): what the end of recovery adds needs one more pass */
		bool follow = RecoveryInProgress();
		XLogRecPtr end;

		if (!follow)
			wt_replication_slot_end_keep();
		/* the last pass: it reads the seal, so that the next replay does as this one */
		if (!follow && !wide_replay_sealed(db))
			(void) wt_log_record_seal();
		end = readable_end();
		wt_recovery_target_get(from, &target);
		private->end_of_wal = false;
		if (!begun && from < end)
			st = find_first(reader, from, &begun);
		if (st == WIDE_OK && begun)
			st = read_up_to(db, reader, end, fn, arg);
		if (st == WIDE_OK && follow)
			wt_health_replayed(end, true);
		if (st == WIDE_OK && follow)
			st = work_or_wait(db, true);
		if (st != WIDE_OK || !follow)
			break;
	}
	/* what was left out is not replayed again, whatever target is configured then */
	if (st == WIDE_OK && left_out)
		st = wide_replay_work(db, true);
	XLogReaderFree(reader);
	pfree(private);
	return st;
}

/*
 * For widetable.ignore_missing_wal.
 * Returns: from, or the start of the first segment after it from which WAL is there.
 */
static XLogRecPtr
skip_missing(XLogRecPtr from)
{
	XLogSegNo segno, last;

	XLByteToSeg(from, segno, wal_segment_size);
	XLByteToSeg(GetFlushRecPtr(NULL), last, wal_segment_size);
	for (; segno < last && !wt_wal_history_has_segment(segno); segno++)
		XLogSegNoOffsetToRecPtr(segno + 1, 0, wal_segment_size, from);
	return from;
}

/*
 * Returns: from, or a later position, if the state file says that WAL up to there has no record
 * of the store.  WAL that is there is read nevertheless: it is the surer way.
 */
static XLogRecPtr
skip_closed(XLogRecPtr from)
{
	WtStateFile s;
	XLogSegNo segno;

	wt_state_file_read(&s);
	XLByteToSeg(from, segno, wal_segment_size);
	if (s.complete == 0 || from < s.complete || from >= s.resume ||
		wt_wal_history_has_segment(segno))
		return from;
	return s.resume;
}

void
wt_wal_begin_at(XLogRecPtr lsn)
{
	beginning = lsn;
}

XLogRecPtr
wt_wal_begun_again(void)
{
	return begun_again;
}

/*
 * Reads WAL up to the first beginning of a store.  *other: set if a record of a store precedes it.
 * Returns: the end of that record; invalid: it is not there yet.
 */
static XLogRecPtr
find_beginning(XLogReaderState *reader, XLogRecPtr end, bool *other)
{
	char *err = NULL;

	while (reader->EndRecPtr < end && XLogReadRecord(reader, &err) != NULL)
	{
		WtLogRecord r;
		WtLogRecordKind kind = wt_log_record_read(reader, &r);

		CHECK_FOR_INTERRUPTS();
		if (kind == WT_LOG_RECORD_BEGIN &&
			!wt_recovery_target_excludes(&target, reader->ReadRecPtr, r.time))
			return reader->EndRecPtr;
		*other |= kind == WT_LOG_RECORD_PAYLOAD && !r.forgeable;
	}
	if (err != NULL && reader->EndRecPtr < end)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not read WAL at %X/%X: %s",
						LSN_FORMAT_ARGS(reader->EndRecPtr),
						err)));
	return InvalidXLogRecPtr;
}

/*
 * While there is no store: keeps WAL from lsn on, and waits for more of it.  Another worker would
 * go on from there, where WAL before lsn may be gone.
 */
static void
wait_for_more(XLogRecPtr lsn)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();

	wt_background_process_check_interrupts();
	/* each move is a write */
	if (TimestampDifferenceExceeds(last, now, 10 * SLOT_MS))
	{
		wt_anchor()->recovery_start = lsn;
		wt_replication_slot_keep(lsn);
		last = now;
	}
	wt_host_wait(SLOT_MS);
}

XLogRecPtr
wt_wal_await_beginning(XLogRecPtr from, void (*on_other)(void))
{
	XLogReaderState *reader = make_reader();
	XLogRecPtr found = InvalidXLogRecPtr;
	bool begun = false, other = false, follow;

	if (reader == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	target = (WtRecoveryTarget) {0};
	do
	{
		XLogRecPtr end;
		bool before = other;

		follow = RecoveryInProgress();
		end = readable_end();
		wt_recovery_target_get(from, &target);
		((ReadLocalXLogPageNoWaitPrivate *) reader->private_data)->end_of_wal = false;
		if (!begun && from < end && find_first(reader, from, &begun) != WIDE_OK)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("%s", failure)));
		if (begun)
			found = find_beginning(reader, end, &other);
		if (other && !before)
			on_other();
		if (XLogRecPtrIsInvalid(found) && follow)
			wait_for_more(begun ? reader->ReadRecPtr : from);
	} while (XLogRecPtrIsInvalid(found) && follow);
	wt_replication_slot_end_keep();
	pfree(reader->private_data);
	XLogReaderFree(reader);
	return found;
}

/* The engine's log: replays WAL from there on.  WIDE_IO leaves the reason in failure. */
static wide_status
wal_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	WtErrorPoint before = wt_error_point();
	volatile XLogRecPtr start = from;
	volatile wide_status st = WIDE_OK;

	failure[0] = '\0';
	skipped = left_out = false;
	target = (WtRecoveryTarget) {0};
	flushed_for = begun_again = InvalidXLogRecPtr;
	PG_TRY();
	{
		start = skip_closed(from);
		wt_replication_slot_reserve(start);
		if (wt_settings_ignore_missing_wal && !RecoveryInProgress() && skip_missing(start) != start)
		{
			wide_replay_event ev = {.kind = WIDE_REPLAY_GAP};

			start = skip_missing(start);
			ev.start = ev.lsn = start;
			ereport(WARNING,
					(errmsg("widetable: WAL from %X/%X to %X/%X is missing, and changes of wide "
							"tables that are only there are lost",
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
		st = swallow_error(&before);
	}
	PG_END_TRY();
	replaying = InvalidXLogRecPtr;
	wt_replay_watch_end();
	if (st == WIDE_IO && failure[0] != '\0')
	{
		char what[sizeof(failure)];

		strlcpy(what, failure, sizeof(what));
		snprintf(failure, sizeof(failure), "the store needs WAL from %X/%X on: %.400s",
				 LSN_FORMAT_ARGS((XLogRecPtr) from), what);
	}
	return st;
}

/* --------------------------------------------------------------- identity */

static void
wal_identity(void *ctx, uint64_t *id, uint32_t *branch)
{
	*id = GetSystemIdentifier();
	*branch = wt_wal_history_timeline();
}

static bool
wal_contains(void *ctx, uint32_t branch, uint64_t lsn)
{
	WtErrorPoint before = wt_error_point();
	volatile bool yes = false;

	failure[0] = '\0';
	PG_TRY();
	{
		yes = wt_wal_history_contains((TimeLineID) branch, (XLogRecPtr) lsn,
									  record_end((XLogRecPtr) lsn), failure, sizeof(failure));
	}
	PG_CATCH();
	{
		(void) swallow_error(&before);
	}
	PG_END_TRY();
	return yes;
}

/* The callback for a store that pg_upgrade left behind; failure says why it is none. */
static uint64_t
wal_predecessor(void *ctx)
{
	WtErrorPoint before = wt_error_point();
	volatile uint64_t id = 0;

	failure[0] = '\0';
	PG_TRY();
	{
		id = wt_upgrade_predecessor();
	}
	PG_CATCH();
	{
		(void) swallow_error(&before);
	}
	PG_END_TRY();
	return id;
}

/* The engine asks for WAL from a position on that may be older than what is kept: says whether its
 * segments are there up to the end.  Raises no error. */
static bool
wal_reaches(void *ctx, uint64_t lsn)
{
	XLogRecPtr end = readable_end();
	TimeLineID now = wt_wal_history_timeline();
	XLogSegNo segno, last;

	if (lsn >= end)
		return true;
	XLByteToSeg((XLogRecPtr) lsn, segno, wal_segment_size);
	XLByteToPrevSeg(end, last, wal_segment_size);
	for (; segno <= last; segno++)
	{
		char path[MAXPGPATH];
		bool there = false;

		for (TimeLineID tli = now; tli > 0 && !there; tli--)
		{
			struct stat st;

			XLogFilePath(path, tli, segno, wal_segment_size);
			there = stat(path, &st) == 0;
		}
		if (!there)
			return false;
	}
	return true;
}

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

/* The store needs no WAL before lsn any more. */
static void
wal_release(void *ctx, uint64_t lsn)
{
	wt_replication_slot_advance((XLogRecPtr) lsn);
	/* if the keeper holds the slot, it advances it */
	wt_background_process_wake(&wt_anchor()->keeper);
}

wide_log
wt_wal_log(wide_db **db)
{
	return (wide_log) {.ctx = db,
					   .append = wal_append,
					   .sync = wal_sync,
					   .end = wal_end,
					   .replay = wal_replay,
					   .release = wal_release,
					   .identity = wal_identity,
					   .contains = wal_contains,
					   .predecessor = wal_predecessor,
					   .reaches = wal_reaches};
}
