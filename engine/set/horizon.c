/*
 * horizon.c - what the snapshots of all processes still need, and from where the log
 * is needed.
 *
 * The horizon is the minimum of visible_seq, of what each process has published in
 * its slot (slot->snapshot), and of what snapshots of the host may still need that
 * become snapshots of the engine later: such a snapshot regards an external
 * transaction as running whose batch is published already, so it needs what was
 * there before that batch.  host->oldest_external bounds these transactions.
 *
 * Invariant: visible_seq is read before the slots.  A snapshot publishes its needs
 * before it reads visible_seq (snapshot.c), so one that is not found in the slots
 * sees at least the visible_seq that was read here.
 *
 * Locking: slots are read without a lock; LOCK_COMMIT for the rings of external
 * commits and of marks, and for memtables.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/set/horizon.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/log_end.h"
#include "engine/shared/segment.h"
#include "engine/set/marks.h"

/* Snapshots that need what is visible at seq may still be taken. */
static void
lower_to(horizon_ranges *h, uint64_t seq)
{
	if (seq < h->oldest)
		h->oldest = seq;
	if (seq < h->fresh)
		h->fresh = seq;
}

/* Lowers the horizon to what snapshots of the host may need that regard external transactions from
 * `oldest` on as running. */
static wide_status
lower_to_external(wide_db *db, horizon_ranges *h, uint64_t oldest)
{
	commit_state *commit = &db->seg->commit;
	uint64_t i, mark;

	TRY(segment_lock(db, LOCK_COMMIT));
	/* a host in recovery: its snapshot stands for a place before the commits that it does not see
	 */
	mark = marks_first_from(db, oldest);
	if (mark != UINT64_MAX)
		lower_to(h, mark - 1);
	i = commit->external_head > EXTERNAL_RING ? commit->external_head - EXTERNAL_RING : 0;
	for (; i < commit->external_head; i++)
	{
		const external_commit *e = &commit->external[i % EXTERNAL_RING];

		if (e->xid < oldest)
			continue;
		if (e->seq != 0)
			lower_to(h, e->seq - 1);
		break;
	}
	/* while latest >= oldest, a snapshot of the host may not know the ends that the mark counts */
	i = commit->ended_head > ENDED_RING ? commit->ended_head - ENDED_RING : 0;
	for (; i < commit->ended_head; i++)
	{
		const ended_mark *e = &commit->ended[i % ENDED_RING];

		if (e->latest < oldest)
			continue;
		lower_to(h, e->seq - 1);
		break;
	}
	segment_unlock(db, LOCK_COMMIT);
	return WIDE_OK;
}

/*
 * Reads the horizon; with held, which has room for all processes, the ranges too.
 * While this reads, a process may take over a snapshot from another one: if this
 * reads the taker's slot before that and the giver's slot after the release, it
 * misses the snapshot.  Then snapshot_moves has changed and it reads again.
 */
static wide_status
read_ranges(wide_db *db, horizon_ranges *h, snapshot_range *held)
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
	return oldest == 0 ? WIDE_OK : lower_to_external(db, h, oldest);
}

uint64_t
horizon_oldest(wide_db *db)
{
	horizon_ranges h;

	/* it fails only if the store is poisoned: then nothing that uses the result can become durable
	 */
	(void) read_ranges(db, &h, NULL);
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
	st = read_ranges(db, h, h->held);
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

		/* all of them: a newer memtable may have the cells of a batch whose first log record is
		 * older */
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
	if (atomic_load(&db->seg->prepared.used) > 0)
		for (uint32_t i = 0; i < atomic_load(&db->seg->prepared.high); i++)
		{
			const prepared_entry *e = &db->seg->prepared.entry[i];

			if (atomic_load(&e->xid) != 0 && e->start < lsn)
				lsn = e->start;
		}
	if (log_is_replayed(db))
	{
		uint64_t parked = atomic_load(&db->seg->follow.parked);

		if (parked != 0 && parked < lsn)
			lsn = parked;
	}
	segment_unlock(db, LOCK_COMMIT);
	return lsn == UINT64_MAX || lsn < db->seg->set.restart_lsn ? db->seg->set.restart_lsn : lsn;
}
