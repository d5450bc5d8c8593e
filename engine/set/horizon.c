/* horizon.c - which versions snapshots still need, and from where the log is needed */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/set/horizon.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"

/* Snapshots may yet be taken that need what is visible at seq. */
static void
lower_horizons(horizon_ranges *h, uint64_t seq)
{
	if (seq < h->oldest)
		h->oldest = seq;
	if (seq < h->fresh)
		h->fresh = seq;
}

/*
 * visible_seq is read first, then the slots: a snapshot that is published later
 * sees at least this much.  A snapshot may go from one process to another while
 * this looks: had we looked at the second too early and at the first too late,
 * the number of moves tells.  held: room for the ranges of all processes, or NULL.
 */
static wide_status
read_horizons(wide_db *db, horizon_ranges *h, snapshot_range *held)
{
	commit_state *commit = &db->seg->commit;
	process_slot *slots = layout_processes(db);
	uint64_t oldest;
	uint64_t moves;

	h->fresh = atomic_load(&commit->visible_seq);
	oldest = db->host.oldest_external != NULL ? db->host.oldest_external(db->host.ctx) : 0;
	do
	{
		moves = atomic_load(&commit->snapshot_moves);
		h->oldest = h->fresh;
		h->nheld = 0;
		for (uint32_t i = 0; i < layout_processes_used(db); i++)
		{
			uint64_t first = atomic_load(&slots[i].snapshot);

			if (first == 0 || first >= h->fresh)
				continue;
			if (first < h->oldest)
				h->oldest = first;
			if (held != NULL)
				held[h->nheld++] = (snapshot_range) {first, atomic_load(&slots[i].snapshot_last)};
		}
	} while (atomic_load(&commit->snapshot_moves) != moves);
	if (oldest == 0)
		return WIDE_OK;
	TRY(segment_lock(db, LOCK_COMMIT));
	for (uint64_t i = commit->external_head > EXTERNAL_RING ? commit->external_head - EXTERNAL_RING
															: 0;
		 i < commit->external_head; i++)
	{
		const external_commit *e = &commit->external[i % EXTERNAL_RING];

		if (e->xid >= oldest)
		{
			if (e->seq != 0)
				lower_horizons(h, e->seq - 1);
			break;
		}
	}
	/* a snapshot of the host's that shows an end of these as not happened yet is no newer than
	 * `latest` */
	for (uint64_t i = commit->ended_head > ENDED_RING ? commit->ended_head - ENDED_RING : 0;
		 i < commit->ended_head; i++)
	{
		const ended_mark *e = &commit->ended[i % ENDED_RING];

		if (e->latest >= oldest)
		{
			lower_horizons(h, e->seq - 1);
			break;
		}
	}
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

uint64_t
horizon_oldest(wide_db *db)
{
	horizon_ranges h;

	/* a failure is poison: what is decided with this comes to nothing */
	(void) read_horizons(db, &h, NULL);
	return h.oldest;
}

wide_status
horizon_read(wide_db *db, horizon_ranges *h)
{
	wide_status st;

	h->nheld = 0;
	h->held = malloc(db->seg->config.max_processes * sizeof *h->held);
	if (h->held == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	st = read_horizons(db, h, h->held);
	if (st != WIDE_OK)
		horizon_free(h);
	return st;
}

void
horizon_free(horizon_ranges *h)
{
	free(h->held);
	h->held = NULL;
	h->nheld = 0;
}

uint64_t
horizon_restart_lsn(wide_db *db, uint32_t flushed_memtable)
{
	process_slot *slots = layout_processes(db);
	uint64_t lsn = UINT64_MAX;

	if (segment_lock(db, LOCK_COMMIT) != WIDE_OK)
		return db->seg->set.restart_lsn;
	for (uint32_t i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &db->seg->memtables[i];
		uint32_t state = atomic_load(&t->state);

		/* not only the oldest: a newer one may have the finish of an external batch that was
		 * logged long ago */
		if (i != flushed_memtable && (state == MEMTABLE_ACTIVE || state == MEMTABLE_IMMUTABLE) &&
			t->start_lsn < lsn)
			lsn = t->start_lsn;
	}
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		uint64_t prepared = atomic_load(&slots[i].prepare_lsn);

		if (prepared != 0 && prepared < lsn)
			lsn = prepared;
	}
	segment_unlock(db, LOCK_COMMIT);
	return lsn == UINT64_MAX || lsn < db->seg->set.restart_lsn ? db->seg->set.restart_lsn : lsn;
}
