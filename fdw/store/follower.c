/*
 * follower.c
 *		Reads on a standby: they wait until the store has what the server has replayed.
 *
 * The keeper follows the log (wal_replay.c).  A statement sees at least what the startup
 * process had replayed when its snapshot was taken: it asks for the present position of
 * the replay, which is not below that, and waits until the store shows the log up to there.
 * The keeper sleeps for some milliseconds at a time when nobody waits, so it is woken.  If the
 * server is promoted meanwhile, the statement waits until the keeper has read the rest of the log.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/store/follower.h"

#include "access/xlog.h"
#include "miscadmin.h"

#include "fdw/store/anchor.h"
#include "fdw/store/background_process.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/store/wal_reader.h"

#define WAIT_MS 100 /* between looks at what else may have happened */

void
wt_follower_wait(wide_db *db)
{
	XLogRecPtr lsn = RecoveryInProgress() ? wt_wal_reader_limit() : InvalidXLogRecPtr;

	while (wide_follow_shown(db) < lsn && RecoveryInProgress())
	{
		wide_status st;

		CHECK_FOR_INTERRUPTS();
		/* ends this session if the log is not followed in this segment any more */
		(void) wt_store_db();
		wt_store_check_followed();
		wt_background_process_wake(&wt_anchor()->keeper);
		st = wide_follow_wait(db, lsn, WAIT_MS);
		if (st != WIDE_INTERRUPTED)
			wt_error_check(st, "could not read");
	}
	if (!RecoveryInProgress())
		(void) wt_store_db();
}

wide_db *
wt_follower_db(void)
{
	wide_db *db = wt_store_db();

	wt_follower_wait(db);
	return db;
}
