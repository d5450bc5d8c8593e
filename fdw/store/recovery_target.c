/*
 * recovery_target.c
 *		The target of recovery to a point in time.
 *
 * The startup process knows the target exactly and keeps it in the anchor, if the
 * library is preloaded.  Otherwise the setting says it, as long as recovery lasts; a
 * replay that begins later leaves nothing out.  It then includes commits to wide tables
 * alone up to the commit record at which recovery stopped, the first one beyond the
 * target.
 *
 * Targets of the other kinds (name, LSN, xid, immediate) are positions of the log.
 * Replay of the store ends at the same position without doing anything for it.
 *
 * Locking: none.  Only the startup process writes these members of the anchor, before
 * another process looks at them.
 */
#include "postgres.h"

#include "fdw/store/recovery_target.h"

#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"

void
wt_recovery_target_note(void)
{
	WtAnchor *a = wt_anchor();

	a->target_known = true;
	a->target_by_time = ArchiveRecoveryRequested && recoveryTarget == RECOVERY_TARGET_TIME;
	a->target_time = recoveryTargetTime;
}

static TimestampTz
parse_time(const char *text)
{
	return DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in, CStringGetDatum(text),
												   ObjectIdGetDatum(InvalidOid),
												   Int32GetDatum(-1)));
}

void
wt_recovery_target_get(XLogRecPtr from, WtRecoveryTarget *target)
{
	WtAnchor *a = wt_anchor();
	List *history;
	bool known = a->target_known;

	*target = (WtRecoveryTarget) {.by_time = known && a->target_by_time,
								  .time = a->target_time,
								  .inclusive = recoveryTargetInclusive,
								  .until = PG_UINT64_MAX};
	if (RecoveryInProgress())
	{
		if (!known && recoveryTarget == RECOVERY_TARGET_TIME)
		{
			target->by_time = true;
			target->time = parse_time(GetConfigOption("recovery_target_time", false, false));
		}
		return;
	}
	/* the newest entry of the history is about the present timeline */
	history = readTimeLineHistory(GetWALInsertionTimeLine());
	target->until = ((TimeLineHistoryEntry *) linitial(history))->begin;
	target->by_time = target->by_time && from < target->until;
	list_free_deep(history);
}

bool
wt_recovery_target_excludes(const WtRecoveryTarget *target, XLogRecPtr start, TimestampTz time)
{
	if (!target->by_time || start >= target->until)
		return false;
	return target->inclusive ? time > target->time : time >= target->time;
}
