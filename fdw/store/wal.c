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
 * wal_replay.c replays it.
 *
 * No function here longjmps into the engine: what may raise an error runs in PG_TRY,
 * or in a critical section, where an error is a PANIC.
 *
 * Locking: none of its own.
 */
#include "postgres.h"

#include "fdw/store/wal.h"

#include <sys/stat.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/log_record.h"
#include "fdw/store/replication_slot.h"
#include "fdw/store/upgrade.h"
#include "fdw/store/wal_failure.h"
#include "fdw/store/wal_history.h"
#include "fdw/store/wal_reader.h"
#include "fdw/store/wal_replay.h"

static XLogRecPtr beginning = InvalidXLogRecPtr; /* of the store that is being made */

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
		(void) wt_wal_failure_swallow(&before);
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
		st = wt_wal_failure_swallow(&before);
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
	if (!XLogRecPtrIsInvalid(beginning))
		return (uint64_t) beginning;
	return (uint64_t) GetXLogInsertRecPtr();
}

void
wt_wal_begin_at(XLogRecPtr lsn)
{
	beginning = lsn;
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

	wt_wal_failure_clear();
	PG_TRY();
	{
		char why[400] = "";

		yes = wt_wal_history_contains((TimeLineID) branch, (XLogRecPtr) lsn,
									  record_end((XLogRecPtr) lsn), why, sizeof(why));
		if (!yes)
			wt_wal_failure_set("%s", why);
	}
	PG_CATCH();
	{
		(void) wt_wal_failure_swallow(&before);
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

	wt_wal_failure_clear();
	PG_TRY();
	{
		id = wt_upgrade_predecessor();
	}
	PG_CATCH();
	{
		(void) wt_wal_failure_swallow(&before);
	}
	PG_END_TRY();
	return id;
}

/* The engine asks for WAL from a position on that may be older than what is kept: says whether its
 * segments are there up to the end.  Raises no error. */
static bool
wal_reaches(void *ctx, uint64_t lsn)
{
	XLogRecPtr end = wt_wal_reader_limit();
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

/* The store needs no WAL before lsn any more. */
static void
wal_release(void *ctx, uint64_t lsn)
{
	/* on a standby the keeper alone moves it */
	if (!RecoveryInProgress())
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
					   .replay = wt_wal_replay,
					   .release = wal_release,
					   .identity = wal_identity,
					   .contains = wal_contains,
					   .predecessor = wal_predecessor,
					   .reaches = wal_reaches,
					   .read = wt_wal_replay_read};
}
