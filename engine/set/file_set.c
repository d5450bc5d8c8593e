/*
 * file_set.c - which sorted files each family has: versions, how files come and go.
 *
 * The live files of a family are a list of file slots.  A removed file moves to
 * the list of dead files, with the version in which it was removed.  Every change
 * raises set.version.  Invariants:
 *
 *  - A file belongs to version v if added_version <= v, and it is live or
 *    removed_version > v.  Dead slots stay until no pin needs them, so the list of
 *    any pinned version can be put together under LOCK_SET at any time.
 *  - A process publishes its oldest and newest pins (slot->pin, pin_last) *before* it reads
 *    the version again; a process that removes files reads the pins after the version has risen.
 *    Both are seq_cst, so one of them sees the other.
 *  - A flush makes its files part of version v, then marks the memtable
 *    MEMTABLE_FLUSHED, then goes on to v + 1 and records that as freed_version.
 *    No reader misses both, because it finds the version changed and starts over.  A
 *    reader that pins v may find the memtable not marked yet, and leaves it out
 *    because of its files_version: an operand (engine/read/fold.h) in both would count
 *    twice.
 *  - A change takes place under LOCK_SET in this order: files_version of the family
 *    becomes set.version + 1, its list changes, set.version rises.  So a process that
 *    has pinned a version finds in files_version, without a lock, every change of the
 *    list up to that version.  It reads the list under LOCK_SET, hence not a half of
 *    a change.
 *
 * When dead files are unlinked is at the top of remove.c, how files get into the
 * manifest at the top of edit.c.
 *
 * Locking: lists, versions of files and slots under LOCK_SET.  Nothing is allocated
 * under it.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "engine/set/file_set.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/log_end.h"
#include "engine/shared/segment.h"
#include "engine/set/family.h"

uint32_t
file_set_free_slots(const set_state *set)
{
	uint32_t used = set->nfiles + set->ndead + set->reserved_files;

	return used < set->max_files ? set->max_files - used : 0;
}

/* ------------------------------------------------------------ containers */

static uint32_t *
container_bucket(wide_db *db, uint64_t number)
{
	return layout_bucket(db, db->seg->container_index, db->seg->file_bits, number);
}

container_slot *
file_set_container(wide_db *db, uint64_t number)
{
	container_slot *c = layout_containers(db);

	for (uint32_t i = *container_bucket(db, number); i != 0; i = c[i - 1].next)
		if (c[i - 1].number == number)
			return &c[i - 1];
	return NULL;
}

/* Returns the container of a file that a slot has got; makes it if the file is its first one.
 * There is room: each container has a file slot. */
static container_slot *
container_join(wide_db *db, const file_meta *meta)
{
	set_state *set = &db->seg->set;
	container_slot *c = file_set_container(db, file_container(meta)), *all = layout_containers(db);
	uint32_t *first;

	if (c == NULL)
	{
		c = &all[set->free_containers != 0 ? set->free_containers - 1 : set->used_containers++];
		if (set->free_containers != 0)
			set->free_containers = c->next;
		first = container_bucket(db, file_container(meta));
		*c = (container_slot) {.number = file_container(meta), .next = *first};
		*first = (uint32_t) (c - all) + 1;
		set->ncontainers++;
	}
	if (c->bytes < meta->offset + meta->bytes)
		c->bytes = meta->offset + meta->bytes;
	c->slots++;
	c->live++;
	c->damaged += (meta->flags & FILE_DAMAGED) != 0;
	c->live_bytes += meta->bytes;
	return c;
}

/* A file slot that referred to the container is freed. */
static void
container_leave(wide_db *db, container_slot *c)
{
	set_state *set = &db->seg->set;
	container_slot *all = layout_containers(db);
	uint32_t *link = container_bucket(db, c->number), at = (uint32_t) (c - all) + 1;

	if (--c->slots > 0)
		return;
	while (*link != at)
		link = &all[*link - 1].next;
	*link = c->next;
	*c = (container_slot) {.next = set->free_containers};
	set->free_containers = at;
	set->ncontainers--;
}

/* ----------------------------------------------------------------- slots */

static uint32_t *
slot_bucket(wide_db *db, uint64_t number)
{
	return layout_bucket(db, db->seg->file_index, db->seg->file_bits, number);
}

/* Takes a free slot.  Under LOCK_SET. */
static file_slot *
slot_take(wide_db *db, const file_meta *meta, uint64_t version)
{
	set_state *set = &db->seg->set;
	file_slot *all = layout_files(db);
	uint32_t i = set->free_files != 0 ? set->free_files - 1 : set->used_files++;
	uint32_t *first = slot_bucket(db, meta->number);
	file_slot *f = &all[i];

	if (set->free_files != 0)
		set->free_files = f->next;
	*f = (file_slot) {.meta = *meta, .in_use = 1, .added_version = version, .hash_next = *first};
	*first = i + 1;
	if (meta->global_seq != 0)
		f->meta.seq_min = f->meta.seq_max = meta->global_seq;
	f->container = (uint32_t) (container_join(db, meta) - layout_containers(db)) + 1;
	set->file_bytes += meta->bytes;
	return f;
}

void
file_set_slot_free(wide_db *db, file_slot *f)
{
	set_state *set = &db->seg->set;
	file_slot *all = layout_files(db);
	uint32_t at = (uint32_t) (f - all) + 1, *link = slot_bucket(db, f->meta.number);
	family_slot *fam = family_find(db, f->meta.family);

	while (*link != at)
		link = &all[*link - 1].hash_next;
	*link = f->hash_next;
	for (link = fam != NULL ? &fam->dead_files : NULL; link != NULL && *link != 0;
		 link = &all[*link - 1].next)
		if (*link == at)
		{
			*link = f->next;
			break;
		}
	*(f->dead_before != 0 ? &all[f->dead_before - 1].dead_next : &set->dead_first) = f->dead_next;
	*(f->dead_next != 0 ? &all[f->dead_next - 1].dead_before : &set->dead_last) = f->dead_before;
	set->ndead--;
	container_leave(db, &layout_containers(db)[f->container - 1]);
	*f = (file_slot) {.next = set->free_files};
	set->free_files = at;
}

void
file_set_slot_die(wide_db *db, file_slot *f, family_slot *fam, uint64_t version, bool pending)
{
	set_state *set = &db->seg->set;
	file_slot *all = layout_files(db);
	container_slot *c = &layout_containers(db)[f->container - 1];
	uint32_t at = (uint32_t) (f - all) + 1;

	f->removed_version = version;
	f->pending = pending;
	set->npending += pending;
	set->nunlisted -= !f->listed;
	f->next = 0;
	if (fam != NULL)
	{
		f->next = fam->dead_files;
		fam->dead_files = at;
	}
	f->dead_next = 0;
	f->dead_before = set->dead_last;
	*(set->dead_last != 0 ? &all[set->dead_last - 1].dead_next : &set->dead_first) = at;
	set->dead_last = at;
	set->ndead++;
	set->nfiles--;
	set->file_bytes -= f->meta.bytes;
	c->live--;
	c->damaged -= (f->meta.flags & FILE_DAMAGED) != 0;
	c->live_bytes -= f->meta.bytes;
}

void
file_set_link_slot(wide_db *db, const file_meta *meta, uint64_t version, bool listed)
{
	set_state *set = &db->seg->set;
	family_slot *fam = family_find(db, meta->family);
	file_slot *f = slot_take(db, meta, version);

	set->nfiles++;
	f->listed = listed;
	set->nunlisted += !listed;
	if (fam == NULL)
	{
		file_set_slot_die(db, f, NULL, version, true);
		return;
	}
	atomic_store(&fam->files_version, version);
	f->next = fam->files;
	fam->files = (uint32_t) (f - layout_files(db)) + 1;
	fam->nfiles++;
}

uint32_t *
file_set_slot_find(wide_db *db, family_slot *fam, uint64_t number)
{
	file_slot *files = layout_files(db);

	for (uint32_t *link = &fam->files; *link != 0; link = &files[*link - 1].next)
		if (files[*link - 1].meta.number == number)
			return link;
	return NULL;
}

file_slot *
file_set_slot_by_number(wide_db *db, uint64_t number)
{
	file_slot *files = layout_files(db), *found = NULL;

	for (uint32_t i = *slot_bucket(db, number); i != 0; i = files[i - 1].hash_next)
		if (files[i - 1].meta.number == number)
		{
			if (files[i - 1].removed_version == 0)
				return &files[i - 1];
			if (found == NULL || found->removed_version < files[i - 1].removed_version)
				found = &files[i - 1];
		}
	return found;
}

bool
file_set_has_file(wide_db *db, uint64_t number)
{
	bool has;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return true;
	has = file_set_slot_by_number(db, number) != NULL;
	segment_unlock(db, LOCK_SET);
	return has;
}

bool
file_set_has_container(wide_db *db, uint64_t number)
{
	bool has;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return true;
	has = file_set_container(db, number) != NULL;
	segment_unlock(db, LOCK_SET);
	return has;
}

void
file_set_drop_family(wide_db *db, family_slot *fam)
{
	file_slot *files = layout_files(db);
	uint64_t version = atomic_load(&db->seg->set.version) + 1;

	atomic_store(&fam->files_version, version);
	while (fam->files != 0)
	{
		file_slot *f = &files[fam->files - 1];

		fam->files = f->next;
		file_set_slot_die(db, f, NULL, version, true);
	}
	/* readers of older versions find the dead ones in the list of all */
	fam->dead_files = 0;
	fam->nfiles = 0;
	atomic_store(&db->seg->set.version, version);
}

/*
 * next_file is for numbers that the log may name: those of a large batch's files.
 * While the log is replayed, any of them may still come.  So the files that recovery
 * itself writes get numbers from another range, in which each recovery has a part of
 * its own.
 */
uint64_t
file_set_new_number(wide_db *db)
{
	set_state *set = &db->seg->set;
	_Atomic uint64_t *next = log_is_replayed(db) ? &set->replay_file : &set->next_file;
	uint64_t number;

	/* never overwrites a file of the set, whatever the counters say */
	do
		number = atomic_fetch_add(next, 1);
	while ((file_set_has_file(db, number) || file_set_has_container(db, number)) &&
		   segment_check(db) == WIDE_OK);
	return number;
}

/*
 * Returns how many slots large batches leave free.  Their files can be merged only when a flush has
 * passed them, so if they took the slots that the next flushes need, nothing would make room any
 * more: an eighth, and for each family two flushes, but no more than half of the table.  Requires:
 * LOCK_SET.
 */
static uint32_t
left_by_batches(const wide_db *db)
{
	uint64_t leave = db->seg->set.max_files / 8,
			 flushes = 2 * (uint64_t) db->seg->catalog.nfamilies;

	leave = flushes > leave ? flushes : leave;
	return leave < db->seg->set.max_files / 2 ? (uint32_t) leave : db->seg->set.max_files / 2;
}

wide_status
file_set_reserve(wide_db *db, int n)
{
	wide_status st = WIDE_OK;

	if (n == 0)
		return WIDE_OK;
	TRY(segment_lock(db, LOCK_SET));
	if (file_set_free_slots(&db->seg->set) < (uint32_t) n + left_by_batches(db))
		st = file_set_full(db);
	else
		db->seg->set.reserved_files += (uint32_t) n;
	segment_unlock(db, LOCK_SET);
	file_set_warn(db);
	return st;
}

bool
file_set_crowded(wide_db *db)
{
	bool crowded;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return true;
	crowded = file_set_free_slots(&db->seg->set) <
			  left_by_batches(db) + (db->seg->set.max_files - left_by_batches(db)) / 2;
	segment_unlock(db, LOCK_SET);
	return crowded;
}

wide_status
file_set_full(const wide_db *db)
{
	const set_state *set = &db->seg->set;

	return status_fail(WIDE_FULL,
					   "the table of files is full: %u of max_files %u are in use, %u of them by "
					   "files that are removed when no statement reads them",
					   set->nfiles + set->ndead + set->reserved_files, set->max_files, set->ndead);
}

wide_status
file_set_hold(wide_db *db, const uint64_t *numbers, int n, bool hold)
{
	TRY(segment_lock(db, LOCK_SET));
	for (int i = 0; i < n; i++)
	{
		file_slot *f = file_set_slot_by_number(db, numbers[i]);

		if (f != NULL)
			f->held = hold;
	}
	if (!hold)
		db->seg->set.nothing_dead = 0;
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

uint32_t
file_set_room(wide_db *db, bool all)
{
	const set_state *set = &db->seg->set;
	uint32_t room, leave;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	leave = all ? 0 : set->max_files / 16;
	room = file_set_free_slots(set);
	segment_unlock(db, LOCK_SET);
	return room > leave ? room - leave : 0;
}

void
file_set_warn(wide_db *db)
{
	set_state *set = &db->seg->set;
	uint32_t used, max;
	bool warn;
	char text[250];

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	max = set->max_files;
	used = max - file_set_free_slots(set);
	warn = !set->warned && used >= max - max / 5;
	/* again only after it has become emptier */
	set->warned = warn || (set->warned && used >= max - max / 3);
	segment_unlock(db, LOCK_SET);
	if (!warn || db->host.report == NULL)
		return;
	snprintf(text, sizeof text,
			 "the table of files is %u %% full (%u of max_files %u): it grows with max_tables, and "
			 "with the shared memory if that was short",
			 (unsigned) (100 * (uint64_t) used / max), used, max);
	db->host.report(db->host.ctx, 1, text);
}

void
file_set_unreserve(wide_db *db, int n)
{
	set_state *set = &db->seg->set;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	set->reserved_files -= (uint32_t) n < set->reserved_files ? (uint32_t) n : set->reserved_files;
	segment_unlock(db, LOCK_SET);
}

wide_status
file_set_reserve_in_replay(wide_db *db, int n)
{
	set_state *set = &db->seg->set;
	wide_status st = WIDE_OK;

	if (n == 0 || atomic_load(&db->seg->state) != WIDE_FOLLOWING)
		return WIDE_OK;
	TRY(segment_lock(db, LOCK_SET));
	if (file_set_free_slots(set) < (uint32_t) n + left_by_batches(db) / 2)
		st = file_set_full(db);
	else
		set->reserved_files += (uint32_t) n;
	segment_unlock(db, LOCK_SET);
	return st;
}

/*
 * In replay the manifest may list the file already, its family may be gone, and no
 * slot is reserved (a slot that was free at the commit is free now, because the set
 * can only have shrunk).
 */
void
file_set_link(wide_db *db, const file_meta *metas, int n)
{
	set_state *set = &db->seg->set;
	uint64_t version, next;
	bool full = false;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	version = atomic_load(&set->version) + 1;
	for (int i = 0; i < n; i++)
	{
		bool known = atomic_load(&db->seg->state) != WIDE_RUNNING &&
					 (metas[i].global_seq <= set->flushed_seq ||
					  file_set_slot_by_number(db, metas[i].number) != NULL);

		if (!known && set->nfiles + set->ndead >= set->max_files)
			full = true;
		else if (!known)
		{
			file_set_link_slot(db, &metas[i], version, false);
			/* what is reserved during a replay is an edit's, of a process that flushes meanwhile */
			if (atomic_load(&db->seg->state) == WIDE_RUNNING)
				set->reserved_files -= set->reserved_files > 0;
		}
		/* written by recovery (a batch larger than the present memtables): the other range */
		if (metas[i].number >= FILE_REPLAYED)
			continue;
		for (next = atomic_load(&set->next_file); next <= metas[i].number;)
			if (atomic_compare_exchange_weak(&set->next_file, &next, metas[i].number + 1))
				break;
	}
	atomic_store(&set->version, version);
	segment_unlock(db, LOCK_SET);
	if (full)
		wide_poison(db,
					"the table of files is full (max_files): a committed file cannot be linked");
	/* replay links files that no process has loaded */
	if (atomic_load(&set->loading) > 0)
		atomic_fetch_sub(&set->loading, 1);
	atomic_store(&set->grown, host_now(db));
	atomic_fetch_add(&set->work_word, 1);
}

bool
file_set_dirty(wide_db *db)
{
	set_state *set = &db->seg->set;
	bool dirty;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return false;
	dirty = set->catalog_dirty || set->nunlisted > 0 || set->npending > 0;
	segment_unlock(db, LOCK_SET);
	return dirty;
}

/* Returns true if more than half of the table of files is in use, which all families share.
 * Under LOCK_SET. */
static bool
crowded(const set_state *set)
{
	return set->nfiles + set->ndead + set->reserved_files > set->max_files / 2;
}

uint32_t
file_set_family_files(wide_db *db, wide_family_id family)
{
	family_slot *fam;
	uint32_t n;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	fam = family_find(db, family);
	n = fam != NULL ? fam->nfiles : 0;
	if (crowded(&db->seg->set))
		n = UINT32_MAX;
	segment_unlock(db, LOCK_SET);
	return n;
}

/* What a windowed family may have if more than half of the table of files is in use.  Under
 * LOCK_SET. */
static uint32_t
window_files_crowded(wide_db *db)
{
	uint32_t most, sharing = 0;

	for (uint32_t i = 0; i < db->seg->catalog.nfamilies; i++)
	{
		const family_slot *fs = &layout_families(db)[i];

		sharing += fs->f.id != 0 && fs->nfiles > 0 && fs->f.opt.compaction == WIDE_COMPACT_WINDOW;
	}
	most = db->seg->set.max_files / 4 / (sharing > 0 ? sharing : 1);
	return most < FILE_SET_WINDOW_FILES_LEAST ? FILE_SET_WINDOW_FILES_LEAST
		   : most > FILE_SET_WINDOW_FILES	  ? FILE_SET_WINDOW_FILES
											  : most;
}

/* file_set_window_files_most under LOCK_SET */
static uint32_t
window_files_most(wide_db *db)
{
	return crowded(&db->seg->set) ? window_files_crowded(db) : FILE_SET_WINDOW_FILES;
}

uint32_t
file_set_window_files_most(wide_db *db)
{
	uint32_t most;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return FILE_SET_WINDOW_FILES;
	most = window_files_most(db);
	segment_unlock(db, LOCK_SET);
	return most;
}

uint32_t
file_set_split_most(wide_db *db)
{
	return crowded(&db->seg->set) ? 0 : window_files_crowded(db) / 2;
}

uint32_t
file_set_level0_files(wide_db *db, wide_family_id family)
{
	file_slot *files = layout_files(db);
	family_slot *fam;
	uint32_t n = 0;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	/* files of a windowed family stay on level 0 when they are merged: only too many count */
	fam = family_find(db, family);
	if (fam != NULL && fam->f.opt.compaction == WIDE_COMPACT_WINDOW)
	{
		uint32_t most = window_files_most(db);

		n = fam->nfiles > most ? fam->nfiles - most : 0;
	}
	else if (fam != NULL)
		for (uint32_t i = fam->files; i != 0; i = files[i - 1].next)
			n += files[i - 1].meta.level == 0 && !(files[i - 1].meta.flags & FILE_DAMAGED);
	segment_unlock(db, LOCK_SET);
	return n;
}
