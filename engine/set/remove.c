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

/* Returns true if this process may unlink, because no other one does.  It is in a critical section
 * then, as in a job: if it exited, no process could remove files any more. */
static bool
become_remover(wide_db *db)
{
	uint32_t holder = 0;

	segment_enter_critical(db);
	if (atomic_compare_exchange_strong(&db->seg->set.remover, &holder, (uint32_t) getpid()))
		return true;
	segment_leave_critical(db);
	return false;
}

/* A dead slot that no pin needs. */
typedef struct dead
{
	uint32_t index; /* + 1 */
	bool moved;		/* its file lives on in another slot */
	uint64_t number;
} dead;

/* Finds up to REMOVE_BATCH dead slots that no pin needs, in the order of the list. */
static wide_status
find_dead(wide_db *db, dead *found, int *n)
{
	file_slot *files = layout_files(db);
	uint64_t oldest;

	*n = 0;
	TRY(segment_lock(db, LOCK_SET));
	oldest = pin_oldest(db); /* read after the removals have raised the version: see file_set.c */
	for (uint32_t i = db->seg->set.dead_files; i != 0 && *n < REMOVE_BATCH; i = files[i - 1].next)
	{
		const file_slot *f = &files[i - 1];

		if (!f->pending && f->removed_version <= oldest)
			found[(*n)++] = (dead) {i, f->moved != 0, f->meta.number};
	}
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/* Moves these slots from the dead list to the free list.  They are in the order of the list, to
 * which others may have been added in front. */
static wide_status
free_slots(wide_db *db, const dead *found, int n)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db);

	TRY(segment_lock(db, LOCK_SET));
	for (uint32_t *link = &set->dead_files; n > 0 && *link != 0;)
	{
		uint32_t at = *link;
		file_slot *f = &files[at - 1];

		if (at != found->index)
		{
			link = &f->next;
			continue;
		}
		found++;
		n--;
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
static wide_status
remove_file(wide_db *db, uint64_t number)
{
	char path[1100];
	int fd, rc;

	sst_reader_forget(db, number);
	cache_forget_file(db, number);
	sst_file_path(db, number, path, sizeof path);
	injection_point("remove-unlink");
	fd = db->os->open(db->os, path, O_RDWR);
	rc = db->os->unlink(db->os, path);
	if (fd >= 0 && rc == 0)
		(void) db->os->truncate(db->os, fd, 0);
	if (fd >= 0)
		db->os->close(db->os, fd);
	if (rc < 0 && rc != -ENOENT)
		return status_fail(WIDE_IO, "could not remove %s: %s", path, strerror(-rc));
	counter_add(db, COUNTER_FILES_DELETED, 1);
	return WIDE_OK;
}

wide_status
remove_unneeded(wide_db *db, bool *did)
{
	dead found[REMOVE_BATCH];
	int n, done = 0;
	wide_status st;

	*did = false;
	TRY(segment_check(db));
	TRY(remove_memtables(db, did));
	if (db->seg->set.ndead == db->seg->set.npending || host_files_held(db) || !become_remover(db))
		return WIDE_OK;
	TRY_GOTO(find_dead(db, found, &n));
	for (; done < n && st == WIDE_OK; done += st == WIDE_OK)
	{
		st = segment_check(db);
		if (st == WIDE_OK && !found[done].moved)
			st = remove_file(db, found[done].number);
	}
	if (done > 0)
	{
		wide_status freed = free_slots(db, found, done);

		*did = true;
		st = st == WIDE_OK ? freed : st;
	}
done:
	atomic_store(&db->seg->set.remover, 0);
	segment_leave_critical(db);
	return st;
}
