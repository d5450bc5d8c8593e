/*
 * recovery.c - opens a store: manifest, log, orphans.
 *
 * Nothing of an old segment is used.  The file set comes from the manifest, the memtables from
 * replaying the log from restart_lsn.  Files that neither lists belong to work that did not finish.
 * They are removed after the replay, which links the files of committed large batches.
 *
 * Invariants: one process runs this, on a segment in state EMPTY; the host keeps the others away
 * until it is RUNNING, or the log is followed (follow.c).  A failure leaves the state EMPTY, or
 * DEAD if the store was poisoned on the way; then the segment has to be formatted again.
 *
 * Locking: none needed; no other process works in the store before that.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/file_set.h"
#include "engine/set/file_set_load.h"
#include "engine/commit/follow.h"
#include "engine/commit/orphans.h"
#include "engine/commit/replay.h"

/* ----------------------------------------------------------------- recovery */

static wide_status
recover_steps(wide_db *db)
{
	int rc = db->os->mkdir(db->os, db->dir);

	if (rc < 0 && rc != -EEXIST)
		return status_fail(WIDE_IO, "could not make %s: %s", db->dir, strerror(-rc));
	TRY(file_set_load(db));
	TRY(replay_begin(db));
	follow_begin(db);
	TRY(db->log.replay(db->log.ctx, db->seg->set.restart_lsn, replay_event, db));
	TRY(replay_end(db));
	follow_end(db);
	injection_point("recover-replayed");
	/* other processes are at work on files: follow.c */
	return atomic_load(&db->seg->state) == WIDE_FOLLOWING ? WIDE_OK : orphans_remove(db);
}

wide_status
wide_recover(wide_db *db)
{
	uint32_t empty = WIDE_EMPTY;
	wide_status st;

	TRY(segment_check(db));
	if (!atomic_compare_exchange_strong(&db->seg->state, &empty, WIDE_RECOVERING))
		return status_fail(WIDE_INVALID, "the segment is not empty");
	st = recover_steps(db);
	replay_free(db);
	if (atomic_load(&db->seg->state) == WIDE_DEAD)
		return st != WIDE_OK ? st : segment_check(db);
	/* others read: the host calls wide_follow_close */
	if (st != WIDE_OK && atomic_load(&db->seg->state) == WIDE_FOLLOWING)
		return st;
	atomic_store(&db->seg->state, st == WIDE_OK ? WIDE_RUNNING : WIDE_EMPTY);
	if (st == WIDE_OK)
		follow_wake(db);
	return st;
}
