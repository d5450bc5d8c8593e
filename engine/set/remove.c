/*
 * remove.c - removes files and memtables that no reader needs any more.
 *
 * A dead file (file_set.c) is unlinked when a durable edit has removed it
 * (pending == 0), it belongs to no version that is pinned, no job holds it, the host holds no
 * files, the store is not poisoned, and no other slot, live or dead, refers to its container.
 * Until then only its slot is freed, also while the host holds files: that keeps files of the
 * directory, not slots, of which a long base backup would use up all.  A flushed memtable is freed
 * when no pin has it.
 *
 * Locking: LOCK_SET to find dead files and to free their slots; files are unlinked
 * without a lock, by the process in set.remover.  LOCK_COMMIT for memtables.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/set/remove.h"
#include "engine/base/hash.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/file_set.h"
#include "engine/set/pin.h"

#define REMOVE_BATCH 64	  /* most files of the directory that one call unlinks */
#define SLOTS_BATCH	 4096 /* most slots that it frees */

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

/* What one call removes. */
typedef struct removal
{
	uint32_t slots[REMOVE_BATCH]; /* indexes of dead slots, the last ones in their containers */
	uint64_t containers[REMOVE_BATCH]; /* the numbers of these */
	int n;
	uint64_t gone[SLOTS_BATCH]; /* numbers of the sorted files that no slot has any more */
	int ngone;
} removal;

/* Returns what decides which dead slots can be freed, as one number.  Requires: LOCK_SET. */
static uint64_t
state_hash(wide_db *db, bool files_held, const pin_ranges *pins)
{
	const set_state *set = &db->seg->set;
	uint64_t h[3] = {atomic_load(&set->version), set->npending, files_held};

	h[0] = hash_xxh3(h, sizeof h, pins->oldest);
	h[0] = hash_xxh3(pins->first, (size_t) pins->n * sizeof pins->first[0], h[0]);
	return hash_xxh3(pins->last, (size_t) pins->n * sizeof pins->last[0], h[0]) | 1;
}

/*
 * Goes through the dead slots, in the order in which they died.  Of those that no pin needs it
 * frees the ones whose container has others, and finds up to REMOVE_BATCH of the ones that are the
 * last, which are freed when their containers are unlinked; if files are held, none of these.
 * Nothing but a slot can lead to another slot of the container: an edit that moves a file to
 * another slot has a pin from before the death.
 */
static wide_status
find_dead(wide_db *db, bool files_held, removal *r, bool *did)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db);
	pin_ranges pins;
	uint64_t state;
	uint32_t next;
	bool freed = false;

	r->n = r->ngone = 0;
	TRY(segment_lock(db, LOCK_SET));
	pin_read(db, &pins); /* after the removals have raised the version: see file_set.c */
	/* with many dead files that are in use, going through them takes long */
	state = state_hash(db, files_held, &pins);
	for (uint32_t i = set->nothing_dead == state ? 0 : set->dead_first;
		 i != 0 && r->n < REMOVE_BATCH && r->n + r->ngone < SLOTS_BATCH; i = next)
	{
		file_slot *f = &files[i - 1];
		container_slot *c = &layout_containers(db)[f->container - 1];
		uint64_t number = f->meta.number;

		next = f->dead_next;
		if (f->pending || f->held || pin_ranges_need(&pins, f->added_version, f->removed_version))
			continue;
		if (c->slots == 1)
		{
			if (files_held)
				continue;
			r->slots[r->n] = i - 1;
			r->containers[r->n++] = c->number;
			continue;
		}
		file_set_slot_free(db, f);
		if (file_set_slot_by_number(db, number) == NULL)
			r->gone[r->ngone++] = number;
		freed = true;
	}
	set->nothing_dead = freed || r->n > 0 ? 0 : state;
	*did |= freed;
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/* Frees the first `done` of the slots. */
static wide_status
free_slots(wide_db *db, removal *r, int done)
{
	file_slot *files = layout_files(db);

	TRY(segment_lock(db, LOCK_SET));
	for (int i = 0; i < done; i++)
	{
		r->gone[r->ngone++] = files[r->slots[i]].meta.number;
		file_set_slot_free(db, &files[r->slots[i]]);
	}
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/*
 * Unlinks the file and cuts it to length 0.  Other processes keep files open for
 * later reads, an idle one for as long as it lives, and an open file keeps its disk
 * space.  No process has a pin, so no process will read it.  The truncation comes
 * after the unlink, so that no name ever leads to a truncated file.  A file that has
 * another name (a hard link in a backup, or in a cluster before pg_upgrade) stays whole.
 */
static wide_status
remove_file(wide_db *db, uint64_t number)
{
	char path[1100];
	int fd, rc;

	sst_file_path(db, number, path, sizeof path);
	injection_point("remove-unlink");
	fd = db->os->open(db->os, path, O_RDWR);
	rc = db->os->unlink(db->os, path);
	if (fd >= 0 && rc == 0 && db->os->links(db->os, fd) == 0)
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
	removal r;
	int done = 0;
	wide_status st;

	*did = false;
	TRY(segment_check(db));
	TRY(remove_memtables(db, did));
	if (db->seg->set.ndead == db->seg->set.npending || !become_remover(db))
		return WIDE_OK;
	TRY_GOTO(find_dead(db, host_files_held(db), &r, did));
	for (; done < r.n && st == WIDE_OK; done += st == WIDE_OK)
	{
		st = segment_check(db);
		if (st == WIDE_OK)
			st = remove_file(db, r.containers[done]);
	}
	if (done > 0)
	{
		wide_status freed = free_slots(db, &r, done);

		st = st == WIDE_OK ? freed : st;
	}
	*did |= r.ngone > 0;
	for (int i = 0; i < r.ngone; i++)
		sst_reader_forget(db, r.gone[i]);
	qsort(r.gone, (size_t) r.ngone, sizeof r.gone[0], compare_numbers);
	cache_forget_files(db, r.gone, r.ngone);
done:
	atomic_store(&db->seg->set.remover, 0);
	segment_leave_critical(db);
	return st;
}
