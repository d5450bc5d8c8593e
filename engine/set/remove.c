/*
 * remove.c - removes files and memtables that no reader needs any more.
 *
 * A dead file (file_set.c) is unlinked when a durable edit has removed it
 * (pending == 0), no pin is older than its removal, the host holds no files, and
 * the store is not poisoned.  A flushed memtable is freed when no pin has it.
 *
 * Locking: LOCK_SET to find dead files and to free their slots; files are unlinked
 * without a lock, by the process in set.remover.  LOCK_COMMIT for memtables.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "engine/set/remove.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/pin.h"

#define REMOVE_BATCH 64 /* most files of one call */

/* Frees the flushed memtables that no pin has. */
static wide_status
remove_memtables(wide_db *db, bool *did)
{
	bool some = false, freed = false;

	for (int i = 0; i < WIDE_MEMTABLES; i++)
		some |= atomic_load(&db->seg->memtables[i].state) == MEMTABLE_FLUSHED;
	if (!some)
		return WIDE_OK;
	TRY(segment_lock(db, LOCK_COMMIT));
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &db->seg->memtables[i];

		if (atomic_load(&t->state) == MEMTABLE_FLUSHED && !pin_has_memtable(db, t))
		{
			atomic_store(&t->state, MEMTABLE_FREE);
			freed = true;
		}
	}
	segment_unlock(db, LOCK_COMMIT);
	if (freed)
	{
		*did = true;
		segment_wake(db, &db->seg->commit.space_word);
	}
	return WIDE_OK;
}

/* Returns true if this process may unlink: it is the only one, or takes over from a dead one
 * (unlinking a file again does no harm). */
static bool
become_remover(wide_db *db)
{
	_Atomic uint32_t *word = &db->seg->set.remover;
	uint32_t me = (uint32_t) getpid(), holder = 0;

	if (atomic_compare_exchange_strong(word, &holder, me))
		return true;
	return holder != me && kill((pid_t) holder, 0) != 0 && errno == ESRCH &&
		   atomic_compare_exchange_strong(word, &holder, me);
}

/* Finds up to REMOVE_BATCH dead slots that no pin needs: their indexes + 1, the numbers of their
 * files, and whether the file goes too (it has not moved to another slot). */
static wide_status
find_dead(wide_db *db, uint32_t *index, uint64_t *number, bool *unlink_it, int *n)
{
	file_slot *files = layout_files(db);
	uint64_t oldest;

	*n = 0;
	TRY(segment_lock(db, LOCK_SET));
	oldest = pin_oldest(db); /* read after the removals have raised the version: see file_set.c */
	for (uint32_t i = db->seg->set.dead_files; i != 0 && *n < REMOVE_BATCH; i = files[i - 1].next)
	{
		file_slot *f = &files[i - 1];

		if (f->pending || f->removed_version > oldest)
			continue;
		index[*n] = i;
		number[*n] = f->meta.number;
		unlink_it[(*n)++] = !f->moved;
	}
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/* Moves these slots from the dead list to the free list. */
static wide_status
free_slots(wide_db *db, const uint32_t *index, int n)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db);

	TRY(segment_lock(db, LOCK_SET));
	for (uint32_t *link = &set->dead_files; *link != 0;)
	{
		file_slot *f = &files[*link - 1];
		uint32_t at = *link;
		bool mine = false;

		for (int k = 0; k < n && !mine; k++)
			mine = index[k] == at;
		if (!mine)
		{
			link = &f->next;
			continue;
		}
		*link = f->next;
		f->in_use = 0;
		f->next = set->free_files;
		set->free_files = at;
		set->ndead--;
	}
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/*
 * Unlinks the file and cuts it to length 0.  Other processes keep files open for
 * later reads, an idle one for as long as it lives, and an open file keeps its disk
 * space.  No process has a pin, so no process will read it.  The truncation comes
 * after the unlink, so that no name ever leads to a truncated file.
 */
static int
unlink_and_truncate(wide_db *db, const char *path)
{
	int fd = db->os->open(db->os, path, O_RDWR);
	int rc = db->os->unlink(db->os, path);

	if (fd >= 0)
	{
		if (rc == 0)
			(void) db->os->truncate(db->os, fd, 0);
		db->os->close(db->os, fd);
	}
	return rc;
}

wide_status
remove_unneeded(wide_db *db, bool *did)
{
	uint32_t index[REMOVE_BATCH];
	uint64_t number[REMOVE_BATCH];
	bool unlink_it[REMOVE_BATCH];
	char path[1100];
	int n, done = 0;
	wide_status st;

	*did = false;
	TRY(segment_check(db));
	TRY(remove_memtables(db, did));
	if (db->seg->set.ndead == db->seg->set.npending || host_files_held(db) || !become_remover(db))
		return WIDE_OK;
	TRY_GOTO(find_dead(db, index, number, unlink_it, &n));
	for (; done < n && st == WIDE_OK; done += st == WIDE_OK)
	{
		int rc;

		if ((st = segment_check(db)) != WIDE_OK)
			break;
		if (!unlink_it[done])
			continue;
		sst_reader_forget(db, number[done]);
		cache_forget_file(db, number[done]);
		sst_file_path(db, number[done], path, sizeof path);
		injection_point("remove-unlink");
		rc = unlink_and_truncate(db, path);
		if (rc < 0 && rc != -ENOENT)
			st = status_fail(WIDE_IO, "could not remove %s: %s", path, strerror(-rc));
		else
			counter_add(db, COUNTER_FILES_DELETED, 1);
	}
	if (done > 0)
	{
		wide_status freed = free_slots(db, index, done);

		*did = true;
		st = st == WIDE_OK ? freed : st;
	}
done:
	atomic_store(&db->seg->set.remover, 0);
	return st;
}
