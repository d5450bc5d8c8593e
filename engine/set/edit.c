/*
 * edit.c - changes of the set of files, made durable in the manifest and then shown.
 *
 * The rules of versions and slots are at the top of file_set.c.  Invariants:
 *
 *  - The manifest lists files only after the log is durable up to their newest seq,
 *    likewise the catalog.  edit_apply syncs the log itself, and also those linked
 *    files that only the log is certain to have (FILE_UNSYNCED).
 *  - It syncs the log up to flushed_seq and restart_lsn too, which may be ahead of
 *    that: if the log ended before them after a crash, new records would get LSNs
 *    that the manifest calls flushed, and replay would skip them.
 *  - The segment shows the edit only when it is durable.
 *
 * Locking: LOCK_MANIFEST from the first to the last step; LOCK_SET for lists and
 * slots, LOCK_COMMIT for the state of a memtable.  Nothing is allocated under
 * LOCK_SET.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/set/edit.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/log_end.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/set/catalog.h"
#include "engine/set/family.h"
#include "engine/set/file_set.h"
#include "engine/set/manifest.h"

#define MANIFEST_SWITCH_BYTES ((uint64_t) 1 << 20) /* a smaller manifest is not replaced */

/* What one edit writes, in private memory. */
typedef struct gathered
{
	buffer add;				 /* file_meta: the caller's files, then linked ones */
	buffer remove;			 /* numbers: the caller's files, then pending ones */
	uint32_t ncaller_remove; /* the caller's */
	buffer live;			 /* file_meta: all listed files, for a new manifest */
	buffer removed;			 /* for a new manifest: remove, ascending */
	buffer catalog;			 /* a dump, if `dump` or for a new manifest */
	bool reserved;			 /* slots are reserved for the caller's files */
	bool dump;				 /* the catalog has changed */
	uint64_t sync;			 /* the log must be durable up to here */
} gathered;

static void
raise_to(uint64_t *number, uint64_t to)
{
	if (*number < to)
		*number = to;
}

static void
gathered_free(gathered *g)
{
	buffer_free(&g->add);
	buffer_free(&g->remove);
	buffer_free(&g->live);
	buffer_free(&g->removed);
	buffer_free(&g->catalog);
}

/*
 * Reserves slots for the caller's files and gathers unlisted files and pending
 * removals.  *again: the buffers are too small, nothing was done.  Under LOCK_SET.
 */
static wide_status
gather_locked(wide_db *db, const version_edit *edit, gathered *g, bool *again)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db);

	*again = (g->add.cap - g->add.len) / sizeof(file_meta) < set->nunlisted ||
			 (g->remove.cap - g->remove.len) / sizeof(uint64_t) < set->npending;
	if (*again)
		return WIDE_OK;
	if (file_set_free_slots(set) < (uint32_t) edit->nadd)
		return file_set_full(db);
	for (int i = 0; i < edit->nremove; i++)
	{
		const file_slot *f = file_set_slot_by_number(db, edit->remove[i]);

		/* the caller has not claimed the family: what it adds would bring back what is gone */
		if (f == NULL || (f->removed_version != 0 && family_find(db, f->meta.family) != NULL))
			return status_fail(WIDE_BUSY, "another job has removed file %llx",
							   (unsigned long long) edit->remove[i]);
	}
	set->reserved_files += (uint32_t) edit->nadd;
	g->reserved = true;
	if (set->nunlisted > 0 || set->npending > 0)
		for (uint32_t i = 0; i < set->used_files; i++)
		{
			file_slot *f = &files[i];

			if (!f->in_use)
				continue;
			/* there is room: nothing is allocated */
			if (f->removed_version == 0 && !f->listed)
				(void) buffer_append(&g->add, &f->meta, sizeof f->meta);
			else if (f->removed_version != 0 && f->pending)
				(void) buffer_append(&g->remove, &f->meta.number, sizeof f->meta.number);
		}
	g->dump = set->catalog_dirty != 0;
	set->catalog_dirty = 0;
	return WIDE_OK;
}

/* The log must be durable up to the newest change in a dump that was made. */
static void
sync_catalog(const wide_db *db, gathered *g)
{
	raise_to(&g->sync, db->seg->catalog.seq);
	raise_to(&g->sync, db->seg->catalog.early_seq);
}

static wide_status
gather(wide_db *db, const version_edit *edit, gathered *g)
{
	wide_status st;
	bool again = true;

	TRY(buffer_append(&g->add, edit->add, (size_t) edit->nadd * sizeof(file_meta)));
	TRY(buffer_append(&g->remove, edit->remove, (size_t) edit->nremove * sizeof(uint64_t)));
	g->ncaller_remove = (uint32_t) edit->nremove;
	while (again)
	{
		TRY(buffer_reserve(&g->add, (db->seg->set.nunlisted + 8) * sizeof(file_meta)));
		TRY(buffer_reserve(&g->remove, (db->seg->set.npending + 8) * sizeof(uint64_t)));
		TRY(segment_lock(db, LOCK_SET));
		st = gather_locked(db, edit, g, &again);
		segment_unlock(db, LOCK_SET);
		if (st != WIDE_OK)
			return st;
	}
	for (size_t i = 0; i < g->add.len / sizeof(file_meta); i++)
		raise_to(&g->sync, ((const file_meta *) g->add.data)[i].seq_max);
	raise_to(&g->sync, edit->flushed_seq);
	raise_to(&g->sync, edit->restart_lsn);
	/* after the lists: if a family is dropped in between, the dump has that, and its files stay
	 * pending until the next edit */
	if (g->dump)
	{
		TRY(catalog_dump(db, &g->catalog));
		sync_catalog(db, g);
	}
	return WIDE_OK;
}

/* Syncs the linked files that are not synced yet (FILE_UNSYNCED).  The caller's files are. */
static wide_status
sync_gathered(wide_db *db, const version_edit *edit, gathered *g)
{
	file_meta *add = (file_meta *) g->add.data;
	size_t n = g->add.len / sizeof *add;
	wide_status st = WIDE_OK;
	int rc;

	if (n == (size_t) edit->nadd)
		return WIDE_OK;
	for (size_t i = (size_t) edit->nadd; i < n && st == WIDE_OK; i++)
		if (add[i].flags & FILE_UNSYNCED)
		{
			st = sst_file_sync(db, add[i].number);
			add[i].flags &= (uint8_t) ~FILE_UNSYNCED;
		}
	if (st == WIDE_OK && (rc = db->os->syncdir(db->os, db->files_dir)) < 0)
	{
		st = os_fail(rc, "sync directory", db->files_dir);
		/* a directory that could not even be opened: another try may succeed */
		if (st == WIDE_IO)
			wide_poison(db, "the directory could not be synced for a file of a large transaction");
	}
	/* (if the sync of a file fails sst_file_sync poisons; if its open fails nothing is lost) */
	if (st == WIDE_NOTFOUND)
		wide_poison(db, "a file of a large transaction is lost before it was listed");
	return st;
}

/*
 * Syncs linked files before the edit takes LOCK_MANIFEST, so that no process has to
 * wait for the disk.  Each file once, in the order of numbers.
 */
static wide_status
sync_linked(wide_db *db)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db), *f;
	uint64_t done = 0, last = 0;

	for (;;)
	{
		uint64_t next = UINT64_MAX;
		wide_status st;

		TRY(segment_lock(db, LOCK_SET));
		if (done != 0 && (f = file_set_slot_by_number(db, done)) != NULL)
			f->meta.flags &= (uint8_t) ~FILE_UNSYNCED;
		for (uint32_t i = 0; i < set->used_files && set->nunlisted > 0; i++)
			if (files[i].in_use && files[i].removed_version == 0 &&
				(files[i].meta.flags & FILE_UNSYNCED) && files[i].meta.number > last &&
				files[i].meta.number < next)
				next = files[i].meta.number;
		segment_unlock(db, LOCK_SET);
		if (next == UINT64_MAX)
			return WIDE_OK;
		last = next;
		st = sst_file_sync(db, next);
		done = st == WIDE_OK ? next : 0;
		/* NOTFOUND: dropped since */
		if (st != WIDE_NOTFOUND)
			TRY(st);
	}
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Gathers in g->live the files that the manifest lists after the edit.  Sorts g->removed. */
static wide_status
gather_live(wide_db *db, gathered *g)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db);
	size_t nremove = g->remove.len / sizeof(uint64_t);

	TRY(buffer_set(&g->removed, g->remove.data, g->remove.len));
	qsort(g->removed.data, nremove, sizeof(uint64_t), compare_numbers);
	TRY(buffer_reserve(&g->live, (set->nfiles + set->ndead + 64) * sizeof(file_meta) + g->add.len));
	TRY(segment_lock(db, LOCK_SET));
	for (uint32_t i = 0; i < set->used_files; i++)
	{
		file_slot *f = &files[i];

		/* there is room: no file becomes listed without LOCK_MANIFEST */
		if (!f->in_use || !f->listed || (f->removed_version != 0 && !f->pending) ||
			g->live.cap - g->live.len < sizeof f->meta)
			continue;
		if (nremove > 0 && bsearch(&f->meta.number, g->removed.data, nremove, sizeof(uint64_t),
								   compare_numbers) != NULL)
			continue;
		(void) buffer_append(&g->live, &f->meta, sizeof f->meta);
	}
	segment_unlock(db, LOCK_SET);
	return buffer_append(&g->live, g->add.data, g->add.len);
}

/* Returns true if the edit has to, or should, begin a new manifest. */
static bool
needs_new_manifest(wide_db *db)
{
	const set_state *set = &db->seg->set;

	return set->manifest_number == 0 || set->manifest_size == UINT64_MAX ||
		   (set->manifest_size > MANIFEST_SWITCH_BYTES &&
			set->manifest_size > 4 * set->manifest_snapshot && !host_files_held(db));
}

/* Makes the edit durable: appends a record, or writes a new manifest. */
static wide_status
apply_write(wide_db *db, const version_edit *edit, gathered *g)
{
	set_state *set = &db->seg->set;
	buffer payload = {0};
	manifest_edit m = {.add = (const file_meta *) g->add.data,
					   .nadd = (int) (g->add.len / sizeof(file_meta)),
					   .remove = (const uint64_t *) g->remove.data,
					   .nremove = (int) (g->remove.len / sizeof(uint64_t)),
					   .flushed_seq = edit->flushed_seq,
					   .restart_lsn = edit->restart_lsn,
					   .sealed_lsn = set->sealed_lsn,
					   .next_file = atomic_load(&set->next_file),
					   .catalog = {g->catalog.data, g->catalog.len}};
	wide_status st;

	TRY(segment_lock(db, LOCK_COMMIT));
	m.last_ts = db->seg->commit.last_ts;
	/* makes the batches with timestamps up to last_ts durable, so that recovery gives none of them
	 * a newer timestamp (finish_now) */
	if (!log_is_replayed(db))
		raise_to(&g->sync, db->seg->commit.logged_seq);
	segment_unlock(db, LOCK_COMMIT);
	if (db->log.identity != NULL)
		db->log.identity(db->log.ctx, &m.log_id, &m.log_branch);
	if (needs_new_manifest(db))
	{
		TRY_GOTO(gather_live(db, g));
		if (!g->dump)
			TRY_GOTO(catalog_dump(db, &g->catalog));
		sync_catalog(db, g);
		m.snapshot = true;
		m.add = (const file_meta *) g->live.data;
		m.nadd = (int) (g->live.len / sizeof(file_meta));
		m.nremove = 0;
		m.catalog = (wide_bytes) {g->catalog.data, g->catalog.len};
		if (m.flushed_seq == 0)
			m.flushed_seq = set->flushed_seq;
		if (m.restart_lsn == 0)
			m.restart_lsn = set->restart_lsn;
	}
	TRY_GOTO(manifest_encode(&m, &payload));
	if (g->sync != 0)
		TRY_GOTO(db->log.sync(db->log.ctx, g->sync));
	if (m.snapshot)
	{
		TRY_GOTO(manifest_switch(db, (wide_bytes) {payload.data, payload.len}));
		set->manifest_snapshot = payload.len;
	}
	else
		TRY_GOTO(manifest_append(db, (wide_bytes) {payload.data, payload.len}));
done:
	buffer_free(&payload);
	return st;
}

/* Marks the gathered linked files as listed, the gathered removals as durable.  Under LOCK_SET. */
static void
switch_gathered(wide_db *db, const version_edit *edit, gathered *g)
{
	set_state *set = &db->seg->set;
	const file_meta *add = (const file_meta *) g->add.data;
	const uint64_t *remove = (const uint64_t *) g->remove.data;
	size_t nadd = g->add.len / sizeof *add, nremove = g->remove.len / sizeof *remove;

	for (size_t i = (size_t) edit->nadd; i < nadd; i++)
	{
		file_slot *f = file_set_slot_by_number(db, add[i].number);

		if (f == NULL)
			continue;
		set->nunlisted -= !f->listed && f->removed_version == 0;
		f->listed = 1;
		f->meta.flags &= (uint8_t) ~FILE_UNSYNCED;
	}
	for (size_t i = g->ncaller_remove; i < nremove; i++)
	{
		file_slot *f = file_set_slot_by_number(db, remove[i]);

		if (f == NULL || f->removed_version == 0)
			continue;
		set->npending -= f->pending;
		f->pending = 0;
		f->listed = 0;
	}
}

/* Shows the caller's removals and additions.  Under LOCK_SET. */
static void
switch_caller(wide_db *db, const version_edit *edit, uint64_t version)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db);

	for (int i = 0; i < edit->nremove; i++)
	{
		file_slot *f = file_set_slot_by_number(db, edit->remove[i]);
		family_slot *fam = f != NULL ? family_find(db, f->meta.family) : NULL;
		uint32_t *link = fam != NULL ? file_set_slot_find(db, fam, edit->remove[i]) : NULL;

		if (f == NULL)
			continue;
		if (link != NULL)
		{
			f = &files[*link - 1];
			atomic_store(&fam->files_version, version);
			*link = f->next;
			fam->nfiles--;
			file_set_slot_die(db, f, fam, version, false);
		}
		else if (f->pending)
		{
			set->npending--; /* dropped with its family since; this edit has made that durable */
			f->pending = 0;
		}
		f->listed = 0;
	}
	for (int i = 0; i < edit->nadd; i++)
		file_set_link_slot(db, &edit->add[i], version, true);
	set->reserved_files -= (uint32_t) edit->nadd;
}

/* Shows the edit in the segment. */
static wide_status
apply_switch(wide_db *db, const version_edit *edit, gathered *g)
{
	set_state *set = &db->seg->set;
	uint64_t version;

	if (edit->memtable >= 0)
		TRY(segment_lock(db, LOCK_COMMIT));
	TRY(segment_lock(db, LOCK_SET));
	version = atomic_load(&set->version) + 1;
	if (edit->memtable >= 0)
		atomic_store(&db->seg->memtables[edit->memtable].files_version, version);
	switch_gathered(db, edit, g);
	switch_caller(db, edit, version);
	atomic_store(&set->version, version);
	raise_to(&set->flushed_seq, edit->flushed_seq);
	raise_to(&set->restart_lsn, edit->restart_lsn);
	if (edit->memtable >= 0)
	{
		memtable *t = &db->seg->memtables[edit->memtable];

		/* files first, then the state, then another version: see file_set.c */
		atomic_store(&t->state, MEMTABLE_FLUSHED);
		t->freed_version = atomic_fetch_add(&set->version, 1) + 1;
	}
	segment_unlock(db, LOCK_SET);
	if (edit->memtable >= 0)
		segment_unlock(db, LOCK_COMMIT);
	segment_wake(db, &set->work_word);
	return WIDE_OK;
}

wide_status
edit_apply(wide_db *db, const version_edit *edit)
{
	gathered g = {0};
	wide_status st;

	TRY(sync_linked(db));
	TRY(segment_lock(db, LOCK_MANIFEST));
	segment_enter_critical(db);
	TRY_GOTO(gather(db, edit, &g));
	TRY_GOTO(sync_gathered(db, edit, &g));
	TRY_GOTO(apply_write(db, edit, &g));
	st = apply_switch(db, edit, &g);
done:
	if (st != WIDE_OK && g.reserved && segment_lock(db, LOCK_SET) == WIDE_OK)
	{
		/* the edit is not in force: if that were not certain, the store would be poisoned and the
		 * lock refused */
		db->seg->set.reserved_files -= (uint32_t) edit->nadd;
		db->seg->set.catalog_dirty |= g.dump;
		segment_unlock(db, LOCK_SET);
	}
	segment_leave_critical(db);
	segment_unlock(db, LOCK_MANIFEST);
	gathered_free(&g);
	return st;
}
