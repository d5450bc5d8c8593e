/*
 * wal_replay.c
 *		The engine's log: replays WAL into the store.
 *
 * On a standby and during archive recovery, replay does not stop at the end of WAL: it
 * follows WAL until the server is promoted.  Recovery of the store takes that long.  The
 * process that does it is the keeper; sessions read meanwhile (follower.c), the worker
 * flushes and compacts.
 *
 * The replay goes as far as the record that the startup process replays, or has replayed
 * last, and no further.  So what a snapshot of PostgreSQL sees was read when that position
 * was read, and the state of the store is the one that belongs to the snapshot, plus what
 * the engine takes off again (engine/set/marks.c).
 *
 * PostgreSQL stops recovery to a point in time, and delays a standby, at commit records.  A
 * record that belongs to no external transaction therefore has its time.  Replay leaves out
 * the commits after the target (recovery_target.c), and waits before a record that
 * recovery_min_apply_delay holds back.  While it has left out something, nothing is flushed:
 * the server may be started again with a later target, and the store then has to replay from
 * that record on (WtAnchor.left_out).
 *
 * A failure while others read does not end the replay: the record is tried again each second,
 * and readers get the reason (health.c).
 *
 * No function here longjmps into the engine: what may raise an error runs in PG_TRY.
 *
 * Locking: none of its own.
 */
#include "postgres.h"

#include "fdw/store/wal_replay.h"

#include <sched.h>

#include "access/timeline.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "replication/slot.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/checkpoint_watch.h"
#include "fdw/store/clock.h"
#include "fdw/store/error.h"
#include "fdw/store/health.h"
#include "fdw/store/host.h"
#include "fdw/store/log_record.h"
#include "fdw/store/recovery_target.h"
#include "fdw/store/replay_watch.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/restartpoint.h"
#include "fdw/store/settings.h"
#include "fdw/store/state_file.h"
#include "fdw/store/wait_event.h"
#include "fdw/store/wal_failure.h"
#include "fdw/store/wal_history.h"
#include "fdw/store/wal_reader.h"

#define SLOT_MS			 1000 /* between looks at the replication slot */
#define RETRY_MS		 1000 /* between attempts after a failure */
#define PROGRESS_RECORDS 256  /* WAL records between notes of the progress */
#define BUSY_MS			 5	  /* between looks for WAL while there was some lately */
#define BUSY_ROUNDS		 400  /* looks without any after which it is quiet */
#define HOT_US			 500  /* looks without sleep after a reader has waited */
#define YIELD_US		 20	  /* a look takes longer if another process had the processor */

static void (*on_follow)(void) = NULL;
static XLogRecPtr redo = InvalidXLogRecPtr;		   /* of the last restartpoint that was looked at */
static bool skipped = false;					   /* the last replay skipped missing WAL */
static WtRecoveryTarget target;					   /* of the recovery */
static XLogRecPtr begun_again = InvalidXLogRecPtr; /* where the replay has met another store */

/* ----------------------------------------------------------------- events */

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

/* For the end of a transaction with an xid, and for one that is prepared.  Returns: false for other
 * records. */
static bool
transaction_event(XLogReaderState *reader, wide_replay_event *ev)
{
	uint8 info = XLogRecGetInfo(reader);
	uint8 op = info & XLOG_XACT_OPMASK;
	TransactionId xid = XLogRecGetXid(reader);

	if (op == XLOG_XACT_COMMIT || op == XLOG_XACT_COMMIT_PREPARED)
	{
		xl_xact_parsed_commit parsed;

		ParseCommitRecord(info, (xl_xact_commit *) XLogRecGetData(reader), &parsed);
		ev->kind = WIDE_REPLAY_COMMIT;
		ev->time = parsed.xact_time + WT_EPOCH_DIFF;
		if (op == XLOG_XACT_COMMIT_PREPARED)
			xid = parsed.twophase_xid;
	}
	else if (op == XLOG_XACT_ABORT || op == XLOG_XACT_ABORT_PREPARED)
	{
		xl_xact_parsed_abort parsed;

		ParseAbortRecord(info, (xl_xact_abort *) XLogRecGetData(reader), &parsed);
		ev->kind = WIDE_REPLAY_ABORT;
		if (op == XLOG_XACT_ABORT_PREPARED)
			xid = parsed.twophase_xid;
	}
	else if (op == XLOG_XACT_PREPARE)
	{
		ev->kind = WIDE_REPLAY_PREPARED;
		xid = ((xl_xact_prepare *) XLogRecGetData(reader))->xid;
	}
	else
		return false;
	if (!TransactionIdIsValid(xid))
		return false;
	ev->xid = wt_host_full_xid(xid);
	return true;
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
	uint8 op = XLogRecGetInfo(reader) & ~XLR_INFO_MASK;

	if (engine_event(reader, ev, time, begins))
		return true;
	switch (XLogRecGetRmid(reader))
	{
		case RM_XLOG_ID:
			ev->kind = WIDE_REPLAY_RESTART;
			return op == XLOG_CHECKPOINT_SHUTDOWN || op == XLOG_END_OF_RECOVERY;
		case RM_XACT_ID:
			return transaction_event(reader, ev);
		default:
			return false;
	}
}

/* ----------------------------------------------------------------- waiting */

/* On a standby the keeper holds the slot from the start, as on the primary. */
static void
keep_slot(wide_db *db)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(last, now, SLOT_MS))
		return;
	last = now;
	/* the slot may be made again */
	if (strcmp(wt_replication_slot_state(), "held") != 0)
		wt_restartpoint_release();
	if (!wt_restartpoint_is_held())
		wt_replication_slot_keep(wt_replication_slot_needed(db));
}

/* Returns: true if the slot keeps WAL that the store does not need. */
static bool
slot_is_behind(wide_db *db)
{
	return MyReplicationSlot != NULL &&
		   MyReplicationSlot->data.restart_lsn < wt_replication_slot_needed(db);
}

/* What has to be done from time to time.  Returns: WIDE_INTERRUPTED if the process is to end. */
static wide_status
look_around(wide_db *db)
{
	/* the worker flushes for each restartpoint */
	if (GetRedoRecPtr() != redo)
	{
		redo = GetRedoRecPtr();
		wt_background_process_ring();
		wt_background_process_wake(&wt_anchor()->worker);
	}
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	keep_slot(db);
	wt_restartpoint_look(db);
	if (wt_host_interrupted())
	{
		wt_wal_failure_set("the process was told to end");
		return WIDE_INTERRUPTED;
	}
	return WIDE_OK;
}

/*
 * All that is replayed was read, up to end.  Waits for more: a process that waits for it has set
 * the latch, and as long as there were such lately this does not sleep, because the next one comes
 * soon. rounds: how often nothing came before.
 */
static void
wait_for_more(wide_db *db, XLogRecPtr end, int rounds)
{
	static TimestampTz hot_until = 0;

	if (wide_follow_awaited(db))
		hot_until = GetCurrentTimestamp() + HOT_US;
	if (hot_until != 0)
	{
		TimestampTz before, now = GetCurrentTimestamp();

		do
		{
			if (wt_wal_reader_limit() != end)
				return;
			before = now;
			sched_yield();
			now = GetCurrentTimestamp();
			/* not while others need the processor */
		} while (now < hot_until && now - before <= YIELD_US);
		hot_until = 0;
	}
	/* without a worker this process does its work */
	if (!wt_background_process_worker_responds() && !wt_anchor()->left_out &&
		wide_work(db) != WIDE_END)
		return;
	/* first of all: a restartpoint that begins behind the looks below wakes this process */
	wt_checkpoint_watch_begin();
	if (rounds < BUSY_ROUNDS || wt_restartpoint_is_held() ||
		(wt_checkpoint_watch_under_way() && GetRedoRecPtr() == redo))
		wt_host_wait_event(BUSY_MS, wt_wait_event(WT_WAIT_WAL));
	else
		wt_replay_watch_wait(slot_is_behind(db) ? SLOT_MS * 1000 : wide_work_due(db));
	wt_checkpoint_watch_end();
}

/* Returns: true if a transaction with an xid commits in WAL between the two positions. */
static bool
some_commit(XLogRecPtr from, XLogRecPtr end)
{
	WtWalReader *r = wt_wal_reader_new(from);
	XLogReaderState *record;
	bool found = false;

	while (!found && wt_wal_reader_next(r, end, &record) == WIDE_OK && record != NULL)
	{
		wide_replay_event ev = {0};

		found = XLogRecGetRmid(record) == RM_XACT_ID && transaction_event(record, &ev) &&
				ev.kind == WIDE_REPLAY_COMMIT;
	}
	wt_wal_reader_free(r);
	return found;
}

/*
 * The record belongs to a commit of that time, of wide tables alone, for which PostgreSQL does not
 * wait.  Waits until the standby's delay has passed, or the server is promoted.  A commit record
 * that PostgreSQL has replayed behind it ends the wait, too: readers see what that commits, and so
 * all that is before it.
 */
static wide_status
wait_for_delay(wide_db *db, XLogReaderState *record, TimestampTz time)
{
	XLogRecPtr looked = record->EndRecPtr;

	while (recovery_min_apply_delay > 0 && RecoveryInProgress() && !PromoteIsTriggered() &&
		   GetCurrentTimestamp() < TimestampTzPlusMilliseconds(time, recovery_min_apply_delay))
	{
		XLogRecPtr end = wt_wal_reader_limit();
		wide_status st = look_around(db);

		if (st != WIDE_OK)
			return st;
		if (end > looked)
		{
			if (some_commit(looked, end))
				break;
			looked = end;
		}
		/* for readers the record has not come yet */
		if ((st = wide_follow_show(db, looked, record->ReadRecPtr)) != WIDE_OK)
			return st;
		wt_health_replayed(looked, true);
		wait_for_more(db, end, BUSY_ROUNDS);
	}
	return WIDE_OK;
}

/* ------------------------------------------------------------------ replay */

/* Replays the record that was read, if it concerns the store. */
static wide_status
replay_record(wide_db *db, XLogReaderState *record, wide_replay_fn fn, void *arg)
{
	wide_replay_event ev = {.start = record->ReadRecPtr, .lsn = record->EndRecPtr};
	TimestampTz time = 0;
	bool begins = false;

	if (!record_event(record, &ev, &time, &begins))
		return WIDE_OK;
	if (time != 0)
	{
		wide_status st = wait_for_delay(db, record, time);

		if (st != WIDE_OK)
			return st;
		ev.beyond = wt_recovery_target_excludes(&target, ev.start, time);
		wt_anchor()->left_out |= ev.beyond;
	}
	if (begins)
	{
		if (ev.beyond)
			return WIDE_OK;
		begun_again = ev.lsn;
		wt_wal_failure_set("another store begins at %X/%X", LSN_FORMAT_ARGS(begun_again));
		return WIDE_CONFLICT;
	}
	if (!ev.beyond)
		wt_clock_replayed(time != 0						  ? time
						  : ev.kind == WIDE_REPLAY_COMMIT ? ev.time - WT_EPOCH_DIFF
														  : 0);
	return fn(arg, &ev);
}

/* A restartpoint may be made of the checkpoint whose record was read. */
static void
look_at_checkpoint(wide_db *db, XLogReaderState *record)
{
	uint8 op = XLogRecGetInfo(record) & ~XLR_INFO_MASK;

	if (XLogRecGetRmid(record) == RM_XLOG_ID && RecoveryInProgress() &&
		(op == XLOG_CHECKPOINT_ONLINE || op == XLOG_CHECKPOINT_SHUTDOWN))
		wt_restartpoint_may_come(db, ((CheckPoint *) XLogRecGetData(record))->redo);
}

/* Reads and replays all records up to end.  *moved: there was one. */
static wide_status
replay_up_to(wide_db *db, WtWalReader *reader, XLogRecPtr end, wide_replay_fn fn, void *arg,
			 bool *moved)
{
	XLogReaderState *record;
	uint32 n = 0;

	for (;;)
	{
		wide_status st = wt_wal_reader_next(reader, end, &record);

		if (st != WIDE_OK || record == NULL)
			return st;
		*moved = true;
		st = replay_record(db, record, fn, arg);
		look_at_checkpoint(db, record);
		if (st != WIDE_OK)
		{
			/* nothing of it is applied */
			wt_wal_reader_again(reader);
			return st;
		}
		if (++n % PROGRESS_RECORDS == 0)
		{
			wt_health_replayed(record->EndRecPtr, false);
			if (RecoveryInProgress())
			{
				keep_slot(db);
				wt_restartpoint_look(db);
			}
		}
	}
}

/* One pass of a replay that follows WAL: up to the end of what is replayed.  Raises no error. */
static wide_status
follow_pass(wide_db *db, WtWalReader *reader, wide_replay_fn fn, void *arg, XLogRecPtr *end,
			bool *moved)
{
	WtErrorPoint before = wt_error_point();
	volatile wide_status st = WIDE_OK;

	wt_wal_failure_clear();
	PG_TRY();
	{
		*end = wt_wal_reader_limit();
		wt_recovery_target_get(wt_wal_reader_position(reader), &target);
		st = replay_up_to(db, reader, *end, fn, arg, moved);
		if (st == WIDE_OK)
			st = wide_follow_show(db, *end, *end);
		if (st != WIDE_OK && wt_wal_failure_text()[0] == '\0')
			wt_wal_failure_set("%s", wide_error_text());
	}
	PG_CATCH();
	{
		st = wt_wal_failure_swallow(&before);
	}
	PG_END_TRY();
	return st;
}

/* The replay has failed, and is tried again: others read what there is, and are told why there is
 * no more. */
static void
report_failure(wide_db *db, wide_status st)
{
	static bool failing = false;

	if (st == WIDE_OK)
	{
		if (failing)
			ereport(LOG, (errmsg("widetable: the log is followed again")));
		/* also a failure of the opening before, or of an earlier keeper */
		if (wt_anchor()->health.failing)
			wt_health_recovered();
		failing = false;
		return;
	}
	wt_health_failed(wt_wal_failure_text());
	if (!failing)
		ereport(WARNING,
				(errmsg("widetable: the log cannot be followed: %s", wt_wal_failure_text()),
				 errdetail("Each second it is tried again. Until then reads fail.")));
	failing = true;
}

/*
 * Follows WAL that the server replays, until it is promoted.  From the first look on others may
 * read. A failure is repeated until it is none; one that means that this store cannot be it ends
 * the replay.
 */
static wide_status
follow(wide_db *db, WtWalReader *reader, wide_replay_fn fn, void *arg)
{
	XLogRecPtr position = wt_wal_reader_position(reader);
	int rounds = 0, failures = 0;
	wide_status st = wide_follow_show(db, position, position);

	if (st == WIDE_OK)
		on_follow();
	while (st == WIDE_OK && RecoveryInProgress())
	{
		XLogRecPtr end = InvalidXLogRecPtr;
		bool moved = false;

		st = follow_pass(db, reader, fn, arg, &end, &moved);
		if (st == WIDE_INTERRUPTED || st == WIDE_POISONED || st == WIDE_CONFLICT)
			break;
		failures = st == WIDE_OK ? 0 : failures + 1;
		/* a segment that was restored from an archive takes the place of the file that is open */
		if (st != WIDE_OK)
			wt_wal_reader_reopen(reader);
		if (failures != 1)
			report_failure(db, st);
		if (st == WIDE_OK)
		{
			wt_health_replayed(end, true);
			rounds = moved ? 0 : rounds + 1;
			wait_for_more(db, end, rounds);
		}
		else
			wt_host_wait_event(failures == 1 ? 1 : RETRY_MS, wt_wait_event(WT_WAIT_WAL));
		st = look_around(db);
	}
	return st;
}

/* Replays WAL from there to its end, or to the promotion of a standby. */
static wide_status
replay_wal(wide_db *db, XLogRecPtr from, wide_replay_fn fn, void *arg)
{
	WtWalReader *reader = wt_wal_reader_new(from);
	wide_status st = WIDE_OK;
	bool moved = false;

	if (RecoveryInProgress())
		st = follow(db, reader, fn, arg);
	if (st == WIDE_OK)
	{
		/* the last pass: it reads what the end of recovery has added, and the seal, so that the
		 * next replay does as this one */
		wt_restartpoint_release();
		wt_replication_slot_end_keep();
		if (!wide_replay_sealed(db))
			(void) wt_log_record_seal();
		wt_recovery_target_get(from, &target);
		st = replay_up_to(db, reader, wt_wal_reader_limit(), fn, arg, &moved);
	}
	/* what was left out is not replayed again, whatever target is configured then */
	if (st == WIDE_OK && wt_anchor()->left_out)
	{
		XLogRecPtr end = wt_wal_reader_limit();

		st = wide_follow_show(db, end, end);
		if (st == WIDE_OK)
			st = wide_flush(db);
		if (st == WIDE_OK)
			wt_anchor()->left_out = false;
	}
	wt_wal_reader_free(reader);
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
 * of the store.  WAL that is there is read nevertheless: it is the surer way.  PostgreSQL removes
 * segments in any order.
 */
static XLogRecPtr
skip_closed(XLogRecPtr from)
{
	WtStateFile s;
	XLogSegNo segno, last;

	wt_state_file_read(&s);
	if (s.complete == 0 || from < s.complete || from >= s.resume)
		return from;
	XLByteToSeg(from, segno, wal_segment_size);
	XLByteToPrevSeg(s.resume, last, wal_segment_size);
	while (segno <= last && wt_wal_history_has_segment(segno))
		segno++;
	return segno > last ? from : s.resume;
}

void
wt_wal_replay_on_follow(void (*fn)(void))
{
	on_follow = fn;
}

XLogRecPtr
wt_wal_replay_begun_again(void)
{
	return begun_again;
}

bool
wt_wal_replay_skipped(void)
{
	return skipped;
}

/*
 * Replays WAL from start on; the store needs it from `from` on.  Raises no error.  WIDE_IO leaves
 * the reason in wt_wal_failure_text().
 */
static wide_status
replay_from(wide_db *db, XLogRecPtr from, volatile XLogRecPtr start, wide_replay_fn fn, void *arg)
{
	WtErrorPoint before = wt_error_point();
	volatile wide_status st = WIDE_OK;

	wt_wal_failure_clear();
	PG_TRY();
	{
		wt_replication_slot_reserve(start);
		if (wt_settings_ignore_missing_wal && !RecoveryInProgress() && skip_missing(start) != start)
		{
			wide_replay_event ev = {.kind = WIDE_REPLAY_GAP};

			start = skip_missing(start);
			ev.start = ev.lsn = start;
			ereport(WARNING,
					(errmsg("widetable: WAL from %X/%X to %X/%X is missing, and changes of wide "
							"tables that are only there are lost",
							LSN_FORMAT_ARGS(from), LSN_FORMAT_ARGS(start))));
			st = fn(arg, &ev);
			skipped = true;
		}
		if (st == WIDE_OK)
			st = replay_wal(db, start, fn, arg);
	}
	PG_CATCH();
	{
		st = wt_wal_failure_swallow(&before);
	}
	PG_END_TRY();
	return st;
}

/* The engine's log: replays WAL from there on.  WIDE_IO leaves the reason in
 * wt_wal_failure_text(). */
wide_status
wt_wal_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg)
{
	wide_db *db = *(wide_db **) ctx;
	XLogRecPtr start = skip_closed(from);
	wide_status st;

	skipped = false;
	wt_anchor()->left_out = false;
	target = (WtRecoveryTarget) {0};
	begun_again = InvalidXLogRecPtr;
	st = replay_from(db, from, start, fn, arg);
	/* PostgreSQL may have begun to remove WAL meanwhile, which has nothing of the store */
	if (st == WIDE_IO && start == from && !skipped && skip_closed(from) != from)
		st = replay_from(db, from, skip_closed(from), fn, arg);
	wt_restartpoint_release();
	wt_replay_watch_end();
	if (st == WIDE_IO && wt_wal_failure_text()[0] != '\0')
		wt_wal_failure_set("the store needs WAL from %X/%X on: %.400s",
						   LSN_FORMAT_ARGS((XLogRecPtr) from), wt_wal_failure_text());
	return st;
}

/* The engine's log: reports the records of a part of WAL. */
wide_status
wt_wal_replay_read(void *ctx, uint64_t from, uint64_t to, wide_replay_fn fn, void *arg)
{
	WtErrorPoint before = wt_error_point();
	WtWalReader *volatile reader = NULL;
	volatile wide_status st = WIDE_OK;

	wt_wal_failure_clear();
	PG_TRY();
	{
		XLogReaderState *record;

		reader = wt_wal_reader_new(from);
		while (st == WIDE_OK && (st = wt_wal_reader_next(reader, to, &record)) == WIDE_OK &&
			   record != NULL)
		{
			wide_replay_event ev = {.start = record->ReadRecPtr, .lsn = record->EndRecPtr};
			TimestampTz time;
			bool begins;

			if (engine_event(record, &ev, &time, &begins) && ev.kind == WIDE_REPLAY_RECORD)
				st = fn(arg, &ev);
			/* other records may lie between the first one and the last, many of them */
			if (st == WIDE_OK && wt_host_interrupted())
				st = WIDE_INTERRUPTED;
		}
	}
	PG_CATCH();
	{
		st = wt_wal_failure_swallow(&before);
	}
	PG_END_TRY();
	/* also after an error: it has a file open */
	if (reader != NULL)
		wt_wal_reader_free(reader);
	return st;
}

/* ------------------------------------------------- the beginning of a store */

/*
 * Reads WAL up to the first beginning of a store.  *other: set if a record of a store precedes it.
 * Returns: the end of that record; invalid: it is not there yet.  Raises an error.
 */
static XLogRecPtr
find_beginning(WtWalReader *reader, XLogRecPtr end, bool *other)
{
	for (;;)
	{
		XLogReaderState *record;
		WtLogRecord r;
		WtLogRecordKind kind;

		if (wt_wal_reader_next(reader, end, &record) != WIDE_OK)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("%s", wt_wal_failure_text())));
		if (record == NULL)
			return InvalidXLogRecPtr;
		kind = wt_log_record_read(record, &r);
		CHECK_FOR_INTERRUPTS();
		if (kind == WT_LOG_RECORD_BEGIN &&
			!wt_recovery_target_excludes(&target, record->ReadRecPtr, r.time))
			return record->EndRecPtr;
		*other |= kind == WT_LOG_RECORD_PAYLOAD && !r.forgeable;
	}
}

/*
 * While there is no store: keeps WAL from lsn on, and waits for more of it.  Another process would
 * go on from there, where WAL before lsn may be gone.
 */
static void
wait_for_beginning(XLogRecPtr lsn)
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
wt_wal_replay_await_beginning(XLogRecPtr from, void (*on_other)(void))
{
	WtWalReader *reader = wt_wal_reader_new(from);
	XLogRecPtr found = InvalidXLogRecPtr;
	bool other = false, follow;

	target = (WtRecoveryTarget) {0};
	do
	{
		XLogRecPtr end;
		bool before = other;

		follow = RecoveryInProgress();
		end = wt_wal_reader_limit();
		wt_recovery_target_get(from, &target);
		found = find_beginning(reader, end, &other);
		if (other && !before)
			on_other();
		if (XLogRecPtrIsInvalid(found) && follow)
		{
			pg_atomic_write_u64(&wt_anchor()->no_store_upto, end);
			wait_for_beginning(wt_wal_reader_position(reader));
		}
	} while (XLogRecPtrIsInvalid(found) && follow);
	wt_replication_slot_end_keep();
	wt_wal_reader_free(reader);
	return found;
}
