/*
 * recovery_target.c
 *		The target of recovery to a point in time.
 *
 * The startup process knows the target exactly and keeps it in the anchor, if the
 * library is preloaded.  Otherwise the setting says it, as long as recovery lasts: to a
 * replay that began by then also afterwards, so that it leaves out the rest too.  A
 * replay that begins later leaves nothing out.  It then includes commits to wide tables
 * alone up to the commit record at which recovery stopped, the first one beyond the
 * target.
 *
 * The store may be opened long after the end of recovery, after restarts of the server
 * even, and with other settings.  When recovery ends, the startup process therefore
 * writes the target to a file of the store's directory, with the position at which the
 * new timeline begins.  The file counts for the timeline that begins there and for no
 * other, so a file that was left by an earlier recovery, or copied, does no harm.
 *
 * Targets of the other kinds (name, LSN, xid, immediate) are positions of the log.
 * Replay of the store ends at the same position without doing anything for it.
 *
 * Locking: none.  Only the startup process writes these members of the anchor, before
 * another process looks at them.
 */
#include "postgres.h"

#include "fdw/store/recovery_target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"

#define TARGET_FILE	 WT_DIRECTORY "/recovery_target"
#define TARGET_MAGIC 0x54525457

/* The file. */
typedef struct KeptTarget
{
	uint32 magic;
	uint32 inclusive; /* 1: a commit at exactly that time counts */
	TimestampTz time;
	XLogRecPtr until;  /* end of recovery: the new timeline begins there */
	TimeLineID parent; /* and branches off this one */
	pg_crc32c crc;	   /* of what is before it */
} KeptTarget;

static pg_crc32c
kept_crc(const KeptTarget *k)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, k, offsetof(KeptTarget, crc));
	FIN_CRC32C(crc);
	return crc;
}

void
wt_recovery_target_note(void)
{
	WtAnchor *a = wt_anchor();

	a->target_known = true;
	a->target_by_time = ArchiveRecoveryRequested && recoveryTarget == RECOVERY_TARGET_TIME;
	a->target_time = recoveryTargetTime;
}

/* Writes the file.  Returns: false, with errno set, if that failed. */
static bool
write_kept(const KeptTarget *k)
{
	static const char tmp[] = TARGET_FILE ".tmp";
	int fd, e = 0;

	/* what has that name is left over from a crash, or is not ours */
	(void) unlink(tmp);
	fd = OpenTransientFile(tmp, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
	if (fd < 0)
		return false;
	errno = ENOSPC; /* if the write is short */
	if (write(fd, k, sizeof(*k)) != sizeof(*k) || pg_fsync(fd) != 0)
		e = errno;
	if (CloseTransientFile(fd) != 0 && e == 0)
		e = errno;
	errno = e;
	return e == 0 && durable_rename(tmp, TARGET_FILE, LOG) == 0;
}

void
wt_recovery_target_keep(void)
{
	KeptTarget k;
	struct stat st;

	if (!wt_anchor()->target_by_time || stat(WT_DIRECTORY, &st) != 0)
		return;
	memset(&k, 0, sizeof(k));
	k.magic = TARGET_MAGIC;
	k.inclusive = recoveryTargetInclusive;
	k.time = recoveryTargetTime;
	k.until = GetXLogReplayRecPtr(&k.parent);
	k.crc = kept_crc(&k);
	if (!write_kept(&k))
		ereport(WARNING,
				(errmsg("widetable: could not write file \"%s\": %m", TARGET_FILE),
				 errdetail("If the server is restarted before the store has been opened, commits "
						   "to wide tables after the recovery target may be included.")));
}

/* Fills *target from the file, if that is about the newest timeline of the history. */
static void
read_kept(const List *history, WtRecoveryTarget *target)
{
	KeptTarget k;
	int fd, n;

	if (list_length(history) < 2)
		return;
	fd = OpenTransientFile(TARGET_FILE, O_RDONLY | PG_BINARY);
	if (fd < 0)
		return;
	n = read(fd, &k, sizeof(k));
	CloseTransientFile(fd);
	if (n != sizeof(k) || k.magic != TARGET_MAGIC || k.crc != kept_crc(&k) ||
		k.until != ((TimeLineHistoryEntry *) linitial(history))->begin ||
		k.parent != ((TimeLineHistoryEntry *) lsecond(history))->tli)
		return;
	target->by_time = true;
	target->time = k.time;
	target->inclusive = k.inclusive != 0;
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
	WtRecoveryTarget before = *target;

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
	if (!known && before.by_time)
	{
		target->by_time = true;
		target->time = before.time;
	}
	if (!target->by_time)
		read_kept(history, target);
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
