/*
 * replay_watch.c
 *		Waits for WAL that the server replays, without polling an idle standby.
 *
 * The startup process does not tell other processes what it has replayed (PostgreSQL 15
 * has nothing for that).  But before WAL can be replayed it is written to a file of
 * pg_wal: by the walreceiver, or by restore_command.  So while the standby is quiet this
 * process waits for changes in that directory (inotify); after a change it looks every
 * POLL_MS, until the standby has been quiet for QUIET_MS again.
 *
 * Quiet is a standby that replays nothing and has nothing to replay: all that was received
 * is replayed, replay is not paused, no promotion was requested.  Changes that come after
 * these looks are in the queue of inotify, which is emptied before them.
 *
 * Where inotify cannot be had, the process goes on polling.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/store/replay_watch.h"

#ifdef __linux__
#include <sys/inotify.h>
#include <unistd.h>
#endif

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "replication/walreceiver.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "fdw/store/host.h"
#include "fdw/store/wait_event.h"

#define POLL_MS	 100   /* between looks while there may be WAL to replay */
#define QUIET_MS 2000  /* without replay for so long the standby is quiet */
#define REST_MS	 30000 /* a wait ends after so long anyway */

static int watch = PGINVALID_SOCKET; /* the descriptor of inotify */
static bool watch_failed = false;	 /* there is none to be had */

static XLogRecPtr last_replayed = InvalidXLogRecPtr;
static TimestampTz last_change = 0; /* when something was replayed, or pg_wal changed */

#ifdef __linux__

/* Opens the watch.  Returns: false if that is not possible. */
static bool
open_watch(void)
{
	if (watch != PGINVALID_SOCKET)
		return true;
	if (watch_failed || !AcquireExternalFD())
		return false;
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch >= 0 && inotify_add_watch(watch, XLOGDIR, IN_MODIFY | IN_CREATE | IN_MOVED_TO) >= 0)
		return true;
	ereport(LOG,
			(errmsg("widetable: could not watch directory \"%s\", looking for WAL 10 times a "
					"second: %m",
					XLOGDIR)));
	watch_failed = true;
	if (watch >= 0)
		close(watch);
	watch = PGINVALID_SOCKET;
	ReleaseExternalFD();
	return false;
}

/* Empties the queue.  Returns: true if there was something in it. */
static bool
drain_watch(void)
{
	char events[4096];
	bool some = false;

	while (read(watch, events, sizeof(events)) > 0)
		some = true;
	return some;
}

void
wt_replay_watch_end(void)
{
	if (watch != PGINVALID_SOCKET)
	{
		close(watch);
		ReleaseExternalFD();
	}
	watch = PGINVALID_SOCKET;
	watch_failed = false;
	last_replayed = InvalidXLogRecPtr;
}

#else

static bool
open_watch(void)
{
	return false;
}

static bool
drain_watch(void)
{
	return false;
}

void
wt_replay_watch_end(void)
{
	last_replayed = InvalidXLogRecPtr;
}

#endif

/* Returns: true if nothing is replayed, and nothing will be before pg_wal changes. */
static bool
is_quiet(void)
{
	TimestampTz now = GetCurrentTimestamp();
	XLogRecPtr replayed;

	/* in this order: what is written later ends the wait */
	if (drain_watch())
		last_change = now;
	replayed = GetXLogReplayRecPtr(NULL);
	if (replayed != last_replayed)
		last_change = now;
	last_replayed = replayed;
	return RecoveryInProgress() && !PromoteIsTriggered() &&
		   GetRecoveryPauseState() == RECOVERY_NOT_PAUSED &&
		   GetWalRcvFlushRecPtr(NULL, NULL) <= replayed &&
		   TimestampDifferenceExceeds(last_change, now, QUIET_MS);
}

void
wt_replay_watch_wait(int64 due)
{
	long ms = (long) Min(due / 1000, REST_MS);

	if (ms <= POLL_MS || !open_watch() || !is_quiet())
	{
		wt_host_wait_event(POLL_MS, wt_wait_event(WT_WAIT_WAL));
		return;
	}
	(void) WaitLatchOrSocket(MyLatch,
							 WL_LATCH_SET | WL_SOCKET_READABLE | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 watch, ms, wt_wait_event(WT_WAIT_WAL));
	ResetLatch(MyLatch);
}
