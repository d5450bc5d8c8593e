/*
 * marks.c - where external transactions have committed in a log that is followed.
 *
 * A host in recovery replays the same log.  Its snapshot is taken between two records of the log
 * and sees all commits before that place and none after it.  So the marks that it regards as
 * running are the newest ones, without a gap, and the first of them tells the place well enough:
 * between it and the commit before it only batches without an external transaction can be.
 *
 * Locking: LOCK_COMMIT for the ring; the host's callback runs without a lock.
 */
#include "engine/set/marks.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"

#define COPY_MAX 64 /* marks copied under one lock */

wide_status
marks_add(wide_db *db, uint64_t lsn, uint64_t xid)
{
	follow_state *f = &db->seg->follow;

	TRY(segment_lock(db, LOCK_COMMIT));
	f->marks[f->marks_head++ % FOLLOW_MARKS] = (follow_mark) {lsn, xid};
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

wide_status
marks_find(wide_db *db, const wide_moment *at, uint64_t *lsn)
{
	follow_state *f = &db->seg->follow;
	uint64_t end = UINT64_MAX; /* marks from here on are looked at */

	*lsn = UINT64_MAX;
	for (;;)
	{
		follow_mark copy[COPY_MAX];
		uint64_t first;
		int n = 0;

		TRY(segment_lock(db, LOCK_COMMIT));
		end = end < f->marks_head ? end : f->marks_head;
		first = f->marks_head > FOLLOW_MARKS ? f->marks_head - FOLLOW_MARKS : 0;
		for (; n < COPY_MAX && end > first; n++)
			copy[n] = f->marks[--end % FOLLOW_MARKS];
		segment_unlock(db, LOCK_COMMIT);
		for (int i = 0; i < n; i++)
		{
			if (!at->running(at->ctx, copy[i].xid))
				return WIDE_OK;
			*lsn = copy[i].lsn;
		}
		if (n < COPY_MAX && first == 0)
			return WIDE_OK;
		if (n < COPY_MAX)
			return status_fail(
				WIDE_CONFLICT,
				"the snapshot is too old: more than %d transactions have committed since",
				FOLLOW_MARKS);
	}
}

uint64_t
marks_first_from(const wide_db *db, uint64_t oldest)
{
	const follow_state *f = &db->seg->follow;
	uint64_t i = f->marks_head > FOLLOW_MARKS ? f->marks_head - FOLLOW_MARKS : 0;

	for (; i < f->marks_head; i++)
		if (f->marks[i % FOLLOW_MARKS].xid >= oldest)
			return f->marks[i % FOLLOW_MARKS].lsn;
	return UINT64_MAX;
}
