/*
 * wal_history.c
 *		Timelines of PostgreSQL's WAL.
 */
#include "postgres.h"

#include "fdw/store/wal_history.h"

#include <sys/stat.h>

#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"

#include "fdw/store/compat.h"

XLogRecPtr
wt_wal_history_end(TimeLineID tli, List *history)
{
	XLogRecPtr end = tliSwitchPoint(tli, history, NULL);
	ListCell *lc;

	foreach(lc, history)
	{
		const TimeLineHistoryEntry *e = lfirst(lc);

		if (e->tli > tli && e->begin < end)
			end = e->begin;
	}
	return end;
}

TimeLineID
wt_wal_history_timeline(void)
{
	TimeLineID tli;

	if (!RecoveryInProgress())
		return GetWALInsertionTimeLine();
	(void) GetXLogReplayRecPtr(&tli);
	return tli;
}

bool
wt_wal_history_contains(TimeLineID tli, XLogRecPtr lsn, XLogRecPtr end, char *why, size_t size)
{
	TimeLineID now;
	XLogRecPtr wal_end = RecoveryInProgress() ? GetXLogReplayRecPtr(&now) : GetXLogInsertRecPtr();
	List *history;

	if (end > wal_end)
	{
		snprintf(why, size, "The store has changes up to %X/%X, but WAL ends at %X/%X.",
				 LSN_FORMAT_ARGS(lsn), LSN_FORMAT_ARGS(wal_end));
		return false;
	}
	now = wt_wal_history_timeline();
	if (tli == 0 || tli == now)
		return true;
	history = readTimeLineHistory(now);
	if (tliInHistory(tli, history) && end <= wt_wal_history_end(tli, history))
		return true;
	snprintf(why, size,
			 "The store has changes up to %X/%X of timeline %u, which are not in the history of "
			 "this server's timeline %u.",
			 LSN_FORMAT_ARGS(lsn), tli, now);
	return false;
}

bool
wt_wal_history_has_segment(XLogSegNo segno)
{
	for (TimeLineID tli = wt_wal_history_timeline(); tli > 0; tli--)
	{
		struct stat st;
		char path[MAXPGPATH];

		XLogFilePath(path, tli, segno, wal_segment_size);
		if (stat(path, &st) == 0)
			return true;
	}
	return false;
}

bool
wt_wal_history_has(XLogRecPtr from)
{
	XLogRecPtr end = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetFlushRecPtr(NULL);
	XLogSegNo segno, last;

	XLByteToSeg(from, segno, wal_segment_size);
	XLByteToPrevSeg(end, last, wal_segment_size);
	while (segno < last && wt_wal_history_has_segment(segno))
		segno++;
	return segno >= last && wt_wal_history_has_segment(segno);
}
