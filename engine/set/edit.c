/*
 * file_set.c - the set of sorted files: who sees which of them, how it changes,
 * when they go.
 *
 * The live files of a family are a list of file slots; a removed file moves to
 * the dead list with the version it was removed in.  Every change raises
 * set.version.  Invariants:
 *
 *  - A file belongs to version v when added_version <= v and it is live or
 *    removed_version > v.  Dead slots stay until no pin needs them, so the
 *    list of any pinned version can be put together under LOCK_SET at any time.
 *  - A process publishes its oldest pin in slot->pin *before* it reads the
 *    version again; a collector raises the version before it looks at the
 *    pins.  Both are seq_cst, so one of them sees the other.
 *  - A flush makes its files part of version v, then marks the memtable
 *    MEMTABLE_FLUSHED, then goes on to v + 1 and notes that as freed_version.  A
 *    reader that pinned v may therefore use files and memtable together (the
 *    merge drops equal entries); one that missed both is impossible, because it
 *    finds the version changed and starts over.
 *  - family_slot.files_version is UINT64_MAX while a list changes, so the
 *    unlocked test "is my private copy still the list" never says yes too long.
 *  - A dead file is unlinked only when a durable edit has removed it
 *    (pending == 0), no pin is older than its removal, nothing holds deletion,
 *    and the store is not poisoned.
 *  - Files with entries are listed only after the log is durable up to their
 *    newest seq, likewise the catalog: edit_apply syncs the log itself, and those
 *    linked files that only the log has for sure (FILE_UNSYNCED).  It
 *    syncs up to flushed_seq and restart_lsn too, which may be ahead of that:
 *    were the log to end before them after a crash, new records would get LSNs
 *    that the manifest calls flushed, and replay would skip them.
 *
 * Locking: lists, versions of files and slots under LOCK_SET; memtable states
 * under LOCK_COMMIT; an edit holds LOCK_MANIFEST from its first to its last
 * step.  Nothing is allocated under LOCK_SET.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "engine/set/edit.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/process.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/set/catalog.h"
#include "engine/set/family.h"
#include "engine/set/file_set.h"
#include "engine/set/manifest.h"

#define MANIFEST_SWITCH_BYTES ((uint64_t) 1 << 20)

/* ----------------------------------------------------------------- slots */

/* ------------------------------------------------------------ bulk files */

/* ----------------------------------------------------------------- apply */

/* What edit_apply gathers: arrays in private memory. */
typedef struct gathered
{
	buffer add;	   /* file_meta: the caller's and the unlisted ones */
	buffer remove; /* numbers: the caller's and the pending ones */
	buffer live;   /* file_meta: all listed ones, for a new manifest */
	buffer catalog;
	uint32_t ncaller_remove;
	uint64_t sync; /* the log must be durable up to here */
	bool dump;
} gathered;

static void
gathered_free(gathered *g)
{
	buffer_free(&g->add);
	buffer_free(&g->remove);
	buffer_free(&g->live);
	buffer_free(&g->catalog);
}

/* Under LOCK_SET: reserve slots for the caller's files, note unlisted and pending ones. Rooms
 * were made before. */
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
		return status_fail(WIDE_FULL, "the table of files is full (max_files %u)", set->max_files);
	set->reserved_files += (uint32_t) edit->nadd;
	if (set->nunlisted > 0 || set->npending > 0)
		for (uint32_t i = 0; i < set->max_files; i++)
		{
			file_slot *f = &files[i];

			if (!f->in_use)
				continue;
			if (f->removed_version == 0 && (f->meta.flags & FILE_UNLISTED))
			{
				memcpy(g->add.data + g->add.len, &f->meta, sizeof f->meta);
				g->add.len += sizeof f->meta;
			}
			else if (f->removed_version != 0 && f->pending)
			{
				memcpy(g->remove.data + g->remove.len, &f->meta.number, sizeof f->meta.number);
				g->remove.len += sizeof f->meta.number;
			}
		}
	g->dump = set->catalog_dirty != 0;
	set->catalog_dirty = 0;
	return WIDE_OK;
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
	{
		const file_meta *f = &((const file_meta *) g->add.data)[i];
		uint64_t seq = f->global_seq != 0 ? f->global_seq : f->seq_max;

		if (seq > g->sync)
			g->sync = seq;
	}
	if (edit->flushed_seq > g->sync)
		g->sync = edit->flushed_seq;
	if (edit->restart_lsn > g->sync)
		g->sync = edit->restart_lsn;
	/* after the lists: a family dropped in between is in the dump, its files are only pending a
	 * bit longer */
	if (g->dump)
	{
		st = catalog_dump(db, &g->catalog);
		if (st == WIDE_OK && db->seg->catalog.seq > g->sync)
			g->sync = db->seg->catalog.seq;
	}
	else
		st = WIDE_OK;
	return st;
}

/*
 * Files linked by batches whose bytes are in the log are synced now at the
 * latest.  What the caller adds is synced already.
 */
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
	if (st == WIDE_OK && (rc = db->os->syncdir(db->os, db->dir)) < 0)
	{
		st = os_fail(rc, "sync directory", db->dir);
		/* it was not even opened: that can be tried again */
		if (st == WIDE_IO && rc != -EMFILE && rc != -ENFILE)
			wide_poison(db, "the directory could not be synced for a file of a large transaction");
	}
	/* nor has a file that could not be opened lost anything; if its sync fails sst_file_sync
	 * poisons */
	if (st == WIDE_NOTFOUND)
		wide_poison(db, "a file of a large transaction is lost before it was listed");
	return st;
}

/*
 * The same before an edit begins, when the disk keeps nobody waiting.  In the
 * order of numbers, each file once.
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
		for (uint32_t i = 0; i < set->max_files && set->nunlisted > 0; i++)
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
		/* dropped meanwhile */
		if (st != WIDE_NOTFOUND)
			TRY(st);
	}
}

/* Files that the manifest lists now and after the edit, into g->live. */
static wide_status
gather_live(wide_db *db, gathered *g)
{
	set_state *set = &db->seg->set;
	file_slot *files = layout_files(db);
	const uint64_t *remove = (const uint64_t *) g->remove.data;
	size_t nremove = g->remove.len / sizeof *remove;

	TRY(buffer_reserve(&g->live, (set->nfiles + set->ndead + 64) * sizeof(file_meta) + g->add.len));
	TRY(segment_lock(db, LOCK_SET));
	for (uint32_t i = 0; i < set->max_files; i++)
	{
		file_slot *f = &files[i];
		bool gone = !f->in_use || !f->listed || (f->removed_version != 0 && !f->pending);

		for (size_t k = 0; k < nremove && !gone; k++)
			gone = remove[k] == f->meta.number;
		/* LOCK_MANIFEST: the listed ones cannot have become more */
		if (gone || g->live.cap - g->live.len < sizeof f->meta)
			continue;
		memcpy(g->live.data + g->live.len, &f->meta, sizeof f->meta);
		g->live.len += sizeof f->meta;
	}
	segment_unlock(db, LOCK_SET);
	return buffer_append(&g->live, g->add.data, g->add.len);
}

/* Make it durable: one record, or a new manifest. */
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
					   .next_file = atomic_load(&set->next_file),
					   .has_last_ts = true,
					   .catalog = {g->catalog.data, g->catalog.len}};
	wide_status st;

	TRY(segment_lock(db, LOCK_COMMIT));
	m.last_ts = db->seg->commit.last_ts;
	/* what has these timestamps is durable: recovery gives nobody a later one for his
	 * (finish_now) */
	if (db->replay == NULL && db->seg->commit.logged_seq > g->sync)
		g->sync = db->seg->commit.logged_seq;
	segment_unlock(db, LOCK_COMMIT);
	if (db->log.identity != NULL)
		db->log.identity(db->log.ctx, &m.log_id, &m.log_branch);
	if (set->manifest_number == 0 || set->manifest_size == UINT64_MAX ||
		(set->manifest_size > MANIFEST_SWITCH_BYTES &&
		 set->manifest_size > 4 * set->manifest_snapshot && !host_files_held(db)))
	{
		TRY_GOTO(gather_live(db, g));
		if (!g->dump)
			TRY_GOTO(catalog_dump(db, &g->catalog));
		if (db->seg->catalog.seq > g->sync)
			g->sync = db->seg->catalog.seq;
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

/* Under LOCK_SET: unlisted files are listed now, pending removals are durable. */
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
		f->listed = 1;
		if (f->meta.flags & FILE_UNLISTED)
			set->nunlisted--;
		f->meta.flags &= (uint8_t) ~(FILE_UNLISTED | FILE_UNSYNCED);
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

/* Under LOCK_SET: the caller's removals and additions. */
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
			*link = f->next;
			fam->nfiles--;
			file_set_slot_die(db, f, version, false);
		}
		else if (f->pending)
		{
			set->npending--; /* dropped with its family meanwhile; this edit has removed it */
			f->pending = 0;
		}
		f->listed = 0;
		for (int k = 0; k < edit->nadd; k++)
			if (edit->add[k].number == edit->remove[i])
				f->moved = 1;
	}
	for (int i = 0; i < edit->nadd; i++)
		file_set_link_slot(db, &edit->add[i], version, true);
	set->reserved_files -= (uint32_t) edit->nadd;
}

static void
mark_families(wide_db *db, const version_edit *edit, uint64_t version)
{
	family_slot *fam;
	file_slot *f;

	for (int i = 0; i < edit->nadd; i++)
		if ((fam = family_find(db, edit->add[i].family)) != NULL)
			atomic_store(&fam->files_version, version);
	for (int i = 0; i < edit->nremove; i++)
		if ((f = file_set_slot_by_number(db, edit->remove[i])) != NULL &&
			(fam = family_find(db, f->meta.family)) != NULL)
			atomic_store(&fam->files_version, version);
}

/* Show the edit in the segment. */
static wide_status
apply_switch(wide_db *db, const version_edit *edit, gathered *g)
{
	set_state *set = &db->seg->set;
	uint64_t version;

	if (edit->memtable >= 0)
		TRY(segment_lock(db, LOCK_COMMIT));
	TRY(segment_lock(db, LOCK_SET));
	mark_families(db, edit, UINT64_MAX);
	version = atomic_fetch_add(&set->version, 1) + 1;
	switch_gathered(db, edit, g);
	switch_caller(db, edit, version);
	mark_families(db, edit, version);
	if (edit->flushed_seq > set->flushed_seq)
		set->flushed_seq = edit->flushed_seq;
	if (edit->restart_lsn > set->restart_lsn)
		set->restart_lsn = edit->restart_lsn;
	if (edit->memtable >= 0)
	{
		memtable *t = &db->seg->memtables[edit->memtable];

		/* see the head comment: files first, then the state, then another version */
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
	set_state *set = &db->seg->set;
	gathered g = {0};
	wide_status st;
	bool reserved = false;

	TRY(sync_linked(db));
	TRY(segment_lock(db, LOCK_MANIFEST));
	process_enter(db);
	st = gather(db, edit, &g);
	reserved = g.dump || st == WIDE_OK;
	if (st == WIDE_OK)
		st = sync_gathered(db, edit, &g);
	if (st == WIDE_OK)
		st = apply_write(db, edit, &g);
	if (st == WIDE_OK)
		st = apply_switch(db, edit, &g);
	else if (reserved && segment_lock(db, LOCK_SET) == WIDE_OK)
	{
		/* it is not in force, else the store is poisoned and the lock refused */
		set->reserved_files -= (uint32_t) edit->nadd;
		set->catalog_dirty |= g.dump;
		segment_unlock(db, LOCK_SET);
	}
	process_leave(db);
	segment_unlock(db, LOCK_MANIFEST);
	gathered_free(&g);
	return st;
}

/* --------------------------------------------------------------- collect */
