/*
 * timestamps.c - the newest timestamp that the store has assigned, and how it is lowered.
 *
 * A commit gets a timestamp above all that were assigned before, whatever the clock does.  So a
 * clock that was ahead leaves last_ts ahead, until the clock has passed it.
 *
 * Invariant: no cell that a new snapshot may see has a timestamp above last_ts that was assigned.
 * wide_timestamp_lower keeps it by looking at all cells: it lowers last_ts to a time above which
 * there is none in a live file or a memtable.
 *
 * Locking: LOCK_COMMIT, with LOCK_SET inside.
 */
#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/edit.h"

int64_t
wide_timestamp_newest(wide_db *db)
{
	return __atomic_load_n(&db->seg->commit.last_ts, __ATOMIC_RELAXED);
}

/* Returns true if a batch is between prepare and finish, or writes files: it may have chosen its
 * timestamps.  Requires: LOCK_COMMIT and LOCK_SET. */
static bool
batches_under_way(wide_db *db)
{
	const commit_state *commit = &db->seg->commit;
	bool busy = commit->reserved > 0 || commit->ring_head != commit->ring_tail ||
				db->seg->set.reserved_files > 0 || atomic_load(&db->seg->set.loading) > 0;

	for (uint32_t i = 0; i < layout_processes_used(db); i++)
		busy |= atomic_load(&layout_processes(db)[i].external) != 0;
	return busy;
}

/* Returns a family with a cell above ts in a live file; 0: there is none.  Requires: LOCK_SET. */
static wide_family_id
family_above(wide_db *db, int64_t ts)
{
	const file_slot *files = layout_files(db);

	for (uint32_t i = 0; i < db->seg->set.used_files; i++)
		if (files[i].in_use && files[i].removed_version == 0 && files[i].meta.ts_max > ts)
			return files[i].meta.family;
	return 0;
}

static bool
memtable_above(wide_db *db, int64_t ts)
{
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		const memtable *t = &db->seg->memtables[i];
		uint32_t state = atomic_load(&t->state);

		if ((state == MEMTABLE_ACTIVE || state == MEMTABLE_IMMUTABLE) &&
			atomic_load(&t->cells) > 0 && atomic_load(&t->ts_max) > ts)
			return true;
	}
	return false;
}

wide_status
wide_timestamp_lower(wide_db *db, int64_t ts, wide_family_id *family)
{
	wide_status st = WIDE_OK;

	*family = 0;
	TRY(wide_flush(db));
	TRY(segment_lock(db, LOCK_COMMIT));
	st = segment_lock(db, LOCK_SET);
	if (st == WIDE_OK)
	{
		if (batches_under_way(db))
			st = status_fail(WIDE_BUSY, "transactions are committing");
		else if (memtable_above(db, ts))
			st = status_fail(WIDE_BUSY, "transactions have committed meanwhile");
		else if ((*family = family_above(db, ts)) != 0)
			st = status_fail(WIDE_CONFLICT, "family %u has cells with later timestamps", *family);
		else if (db->seg->commit.last_ts > ts)
			db->seg->commit.last_ts = ts;
		segment_unlock(db, LOCK_SET);
	}
	segment_unlock(db, LOCK_COMMIT);
	TRY(st);
	/* a crash before this is durable brings the former value back, which does no harm */
	return edit_apply(db, &(version_edit) {.memtable = -1});
}
