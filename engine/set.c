/*
 * set.c - the set of sorted files: who sees which of them, how it changes,
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
 *    MEM_FLUSHED, then goes on to v + 1 and notes that as freed_version.  A
 *    reader that pinned v may therefore use files and memtable together (the
 *    merge drops equal entries); one that missed both is impossible, because it
 *    finds the version changed and starts over.
 *  - family_slot.files_version is UINT64_MAX while a list changes, so the
 *    unlocked test "is my private copy still the list" never says yes too long.
 *  - A dead file is unlinked only when a durable edit has removed it
 *    (pending == 0), no pin is older than its removal, nothing holds deletion,
 *    and the store is not poisoned.
 *  - Files with entries are listed only after the log is durable up to their
 *    newest seq, likewise the catalog: set_apply syncs the log itself, and those
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
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tree.h"

#define MANIFEST_SWITCH_BYTES ((uint64_t) 1 << 20)

/* ----------------------------------------------------------------- slots */

static uint32_t
free_slots(const set_state *set)
{
	uint32_t	used = set->nfiles + set->ndead + set->reserved_files;

	return used < set->max_files ? set->max_files - used : 0;
}

/* Under LOCK_SET; the slot was reserved. */
static file_slot *
slot_take(wide_db *db, const file_meta *meta, uint64_t version)
{
	set_state  *set = &db->seg->set;
	file_slot  *fs = &shm_files(db)[set->free_files - 1];
	uint32_t	next = fs->next;

	memset(fs, 0, sizeof *fs);
	fs->meta = *meta;
	fs->meta.flags &= (uint8_t) ~FILE_BUSY;
	if (meta->global_seq != 0)
		fs->meta.seq_min = fs->meta.seq_max = meta->global_seq;
	fs->in_use = 1;
	fs->added_version = version;
	set->free_files = next;
	return fs;
}

static void
slot_die(wide_db *db, file_slot *f, uint64_t version, bool pending)
{
	set_state  *set = &db->seg->set;

	f->removed_version = version;
	f->pending = pending;
	set->npending += pending;
	if (f->meta.flags & FILE_UNLISTED)
		set->nunlisted--;
	f->meta.flags &= (uint8_t) ~FILE_UNLISTED;
	f->next = set->dead_files;
	set->dead_files = (uint32_t) (f - shm_files(db)) + 1;
	set->ndead++;
	set->nfiles--;
}

/* Put a file into its family's list; when the family has been dropped meanwhile it is born dead. */
void
set_link_slot(wide_db *db, const file_meta *meta, uint64_t version, bool listed)
{
	set_state  *set = &db->seg->set;
	family_slot *fam = catalog_family_slot(db, meta->family);
	file_slot  *f = slot_take(db, meta, version);

	set->nfiles++;
	f->listed = listed;
	f->meta.flags = (uint8_t) ((f->meta.flags & ~FILE_UNLISTED) | (listed ? 0 : FILE_UNLISTED));
	set->nunlisted += !listed;
	if (fam == NULL)
	{
		slot_die(db, f, version, true);
		return;
	}
	f->next = fam->files;
	fam->files = (uint32_t) (f - shm_files(db)) + 1;
	fam->nfiles++;
}

/* The link that leads to the family's live file of that number; NULL none. */
static uint32_t *
slot_find(wide_db *db, family_slot *fam, uint64_t number)
{
	file_slot  *files = shm_files(db);

	for (uint32_t *link = &fam->files; *link != 0; link = &files[*link - 1].next)
		if (files[*link - 1].meta.number == number)
			return link;
	return NULL;
}

/* A slot in use with that number: live first, else the newest dead one. */
static file_slot *
slot_by_number(wide_db *db, uint64_t number)
{
	file_slot  *files = shm_files(db),
			   *found = NULL;

	for (uint32_t i = 0; i < db->seg->set.max_files; i++)
		if (files[i].in_use && files[i].meta.number == number)
		{
			if (files[i].removed_version == 0)
				return &files[i];
			if (found == NULL || found->removed_version < files[i].removed_version)
				found = &files[i];
		}
	return found;
}

bool
set_has_file(wide_db *db, uint64_t number)
{
	bool		has;

	if (shm_lock(db, LOCK_SET) != WIDE_OK)
		return true;
	has = slot_by_number(db, number) != NULL;
	shm_unlock(db, LOCK_SET);
	return has;
}

void
set_drop_family(wide_db *db, family_slot *fam)
{
	file_slot  *files = shm_files(db);
	uint64_t	version;

	atomic_store(&fam->files_version, UINT64_MAX);
	version = atomic_fetch_add(&db->seg->set.version, 1) + 1;
	while (fam->files != 0)
	{
		file_slot  *f = &files[fam->files - 1];

		fam->files = f->next;
		slot_die(db, f, version, true);
	}
	fam->nfiles = 0;
	atomic_store(&fam->files_version, version);
}

/*
 * next_file is for numbers that the log may name: those of a large batch's
 * files.  While a log is replayed it may name any of them later on, so what
 * recovery itself writes gets numbers from another range, of which every
 * recovery has its own part.
 */
uint64_t
set_new_file_number(wide_db *db)
{
	set_state  *set = &db->seg->set;
	_Atomic uint64_t *next = atomic_load(&db->seg->state) == WIDE_RECOVERING ? &set->replay_file : &set->next_file;
	uint64_t	number;

	/* a listed file is never written over, whatever went wrong with the counting */
	do
		number = atomic_fetch_add(next, 1);
	while (set_has_file(db, number) && shm_check(db) == WIDE_OK);
	return number;
}

/* ------------------------------------------------------------ bulk files */

wide_status
set_reserve(wide_db *db, int n)
{
	wide_status st = WIDE_OK;

	TRY(shm_lock(db, LOCK_SET));
	if (free_slots(&db->seg->set) < (uint32_t) n)
		st = wide_fail(WIDE_FULL, "the table of files is full (max_files %u)", db->seg->set.max_files);
	else
		db->seg->set.reserved_files += (uint32_t) n;
	shm_unlock(db, LOCK_SET);
	return st;
}

void
set_unreserve(wide_db *db, int n)
{
	set_state  *set = &db->seg->set;

	if (shm_lock(db, LOCK_SET) != WIDE_OK)
		return;
	set->reserved_files -= (uint32_t) n < set->reserved_files ? (uint32_t) n : set->reserved_files;
	shm_unlock(db, LOCK_SET);
}

/*
 * Also called by replay, where the manifest may list the file already, where
 * its family may be gone, and where nothing was reserved (the slots that were
 * free then are free now: the set can only have shrunk).
 */
void
set_link(wide_db *db, const file_meta *metas, int n)
{
	set_state  *set = &db->seg->set;
	family_slot *fam;
	uint64_t	version,
				next;
	uint32_t	loading = atomic_load(&set->loading);
	bool		full = false;

	if (shm_lock(db, LOCK_SET) != WIDE_OK)
		return;
	for (int i = 0; i < n; i++)
		if ((fam = catalog_family_slot(db, metas[i].family)) != NULL)
			atomic_store(&fam->files_version, UINT64_MAX);
	version = atomic_fetch_add(&set->version, 1) + 1;
	for (int i = 0; i < n; i++)
	{
		bool		known = atomic_load(&db->seg->state) != WIDE_RUNNING &&
			(metas[i].global_seq <= set->flushed_seq || slot_by_number(db, metas[i].number) != NULL);

		if (!known && set->free_files == 0)
			full = true;
		else if (!known)
		{
			set_link_slot(db, &metas[i], version, false);
			set->reserved_files -= set->reserved_files > 0;
		}
		/* recovery's own are from the other range (a batch larger than today's memtables) */
		if (metas[i].number >= FILE_REPLAYED)
			continue;
		for (next = atomic_load(&set->next_file); next <= metas[i].number;)
			if (atomic_compare_exchange_weak(&set->next_file, &next, metas[i].number + 1))
				break;
	}
	for (int i = 0; i < n; i++)
		if ((fam = catalog_family_slot(db, metas[i].family)) != NULL)
			atomic_store(&fam->files_version, version);
	shm_unlock(db, LOCK_SET);
	if (full)
		wide_poison(db, "a committed file finds no slot (max_files)");
	while (loading > 0 && !atomic_compare_exchange_weak(&set->loading, &loading, loading - 1))
		;
	atomic_store(&set->grown, now_us(db));
	atomic_fetch_add(&set->work_word, 1);
}

/* ----------------------------------------------------------------- apply */

bool
set_dirty(wide_db *db)
{
	set_state  *set = &db->seg->set;
	bool		dirty;

	if (shm_lock(db, LOCK_SET) != WIDE_OK)
		return false;
	dirty = set->catalog_dirty || set->nunlisted > 0 || set->npending > 0;
	shm_unlock(db, LOCK_SET);
	return dirty;
}

/* What set_apply gathers: arrays in private memory. */
typedef struct gathered
{
	buffer		add;			/* file_meta: the caller's and the unlisted ones */
	buffer		remove;			/* numbers: the caller's and the pending ones */
	buffer		live;			/* file_meta: all listed ones, for a new manifest */
	buffer		catalog;
	uint32_t	ncaller_remove;
	uint64_t	sync;			/* the log must be durable up to here */
	bool		dump;
} gathered;

static void
gathered_free(gathered *g)
{
	buffer_free(&g->add);
	buffer_free(&g->remove);
	buffer_free(&g->live);
	buffer_free(&g->catalog);
}

/* Under LOCK_SET: reserve slots for the caller's files, note unlisted and pending ones. Rooms were made before. */
static wide_status
gather_locked(wide_db *db, const set_edit *edit, gathered *g, bool *again)
{
	set_state  *set = &db->seg->set;
	file_slot  *files = shm_files(db);

	*again = (g->add.cap - g->add.len) / sizeof(file_meta) < set->nunlisted ||
		(g->remove.cap - g->remove.len) / sizeof(uint64_t) < set->npending;
	if (*again)
		return WIDE_OK;
	if (free_slots(set) < (uint32_t) edit->nadd)
		return wide_fail(WIDE_FULL, "the table of files is full (max_files %u)", set->max_files);
	set->reserved_files += (uint32_t) edit->nadd;
	if (set->nunlisted > 0 || set->npending > 0)
		for (uint32_t i = 0; i < set->max_files; i++)
		{
			file_slot  *f = &files[i];

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
gather(wide_db *db, const set_edit *edit, gathered *g)
{
	wide_status st;
	bool		again = true;

	TRY(buffer_append(&g->add, edit->add, (size_t) edit->nadd * sizeof(file_meta)));
	TRY(buffer_append(&g->remove, edit->remove, (size_t) edit->nremove * sizeof(uint64_t)));
	g->ncaller_remove = (uint32_t) edit->nremove;
	while (again)
	{
		TRY(buffer_reserve(&g->add, (db->seg->set.nunlisted + 8) * sizeof(file_meta)));
		TRY(buffer_reserve(&g->remove, (db->seg->set.npending + 8) * sizeof(uint64_t)));
		TRY(shm_lock(db, LOCK_SET));
		st = gather_locked(db, edit, g, &again);
		shm_unlock(db, LOCK_SET);
		if (st != WIDE_OK)
			return st;
	}
	for (size_t i = 0; i < g->add.len / sizeof(file_meta); i++)
	{
		const file_meta *f = &((const file_meta *) g->add.data)[i];
		uint64_t	seq = f->global_seq != 0 ? f->global_seq : f->seq_max;

		if (seq > g->sync)
			g->sync = seq;
	}
	if (edit->flushed_seq > g->sync)
		g->sync = edit->flushed_seq;
	if (edit->restart_lsn > g->sync)
		g->sync = edit->restart_lsn;
	/* after the lists: a family dropped in between is in the dump, its files are only pending a bit longer */
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
sync_gathered(wide_db *db, const set_edit *edit, gathered *g)
{
	file_meta  *add = (file_meta *) g->add.data;
	size_t		n = g->add.len / sizeof *add;
	wide_status st = WIDE_OK;
	int			rc;

	if (n == (size_t) edit->nadd)
		return WIDE_OK;
	for (size_t i = (size_t) edit->nadd; i < n && st == WIDE_OK; i++)
		if (add[i].flags & FILE_UNSYNCED)
		{
			st = load_sync(db, add[i].number);
			add[i].flags &= (uint8_t) ~FILE_UNSYNCED;
		}
	if (st == WIDE_OK && (rc = db->os->syncdir(db->os, db->dir)) < 0)
	{
		st = os_fail(rc, "sync directory", db->dir);
		/* it was not even opened: that can be tried again */
		if (st == WIDE_IO && rc != -EMFILE && rc != -ENFILE)
			wide_poison(db, "the directory could not be synced for a file of a large transaction");
	}
	/* nor has a file that could not be opened lost anything; if its sync fails load_sync poisons */
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
	set_state  *set = &db->seg->set;
	file_slot  *files = shm_files(db),
			   *f;
	uint64_t	done = 0,
				last = 0;

	for (;;)
	{
		uint64_t	next = UINT64_MAX;
		wide_status st;

		TRY(shm_lock(db, LOCK_SET));
		if (done != 0 && (f = slot_by_number(db, done)) != NULL)
			f->meta.flags &= (uint8_t) ~FILE_UNSYNCED;
		for (uint32_t i = 0; i < set->max_files && set->nunlisted > 0; i++)
			if (files[i].in_use && files[i].removed_version == 0 && (files[i].meta.flags & FILE_UNSYNCED) &&
				files[i].meta.number > last && files[i].meta.number < next)
				next = files[i].meta.number;
		shm_unlock(db, LOCK_SET);
		if (next == UINT64_MAX)
			return WIDE_OK;
		last = next;
		st = load_sync(db, next);
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
	set_state  *set = &db->seg->set;
	file_slot  *files = shm_files(db);
	const uint64_t *remove = (const uint64_t *) g->remove.data;
	size_t		nremove = g->remove.len / sizeof *remove;

	TRY(buffer_reserve(&g->live, (set->nfiles + set->ndead + 64) * sizeof(file_meta) + g->add.len));
	TRY(shm_lock(db, LOCK_SET));
	for (uint32_t i = 0; i < set->max_files; i++)
	{
		file_slot  *f = &files[i];
		bool		gone = !f->in_use || !f->listed || (f->removed_version != 0 && !f->pending);

		for (size_t k = 0; k < nremove && !gone; k++)
			gone = remove[k] == f->meta.number;
		/* LOCK_MANIFEST: the listed ones cannot have become more */
		if (gone || g->live.cap - g->live.len < sizeof f->meta)
			continue;
		memcpy(g->live.data + g->live.len, &f->meta, sizeof f->meta);
		g->live.len += sizeof f->meta;
	}
	shm_unlock(db, LOCK_SET);
	return buffer_append(&g->live, g->add.data, g->add.len);
}

/* Make it durable: one record, or a new manifest. */
static wide_status
apply_write(wide_db *db, const set_edit *edit, gathered *g)
{
	set_state  *set = &db->seg->set;
	buffer		payload = {0};
	manifest_edit m = {
		.add = (const file_meta *) g->add.data, .nadd = (int) (g->add.len / sizeof(file_meta)),
		.remove = (const uint64_t *) g->remove.data, .nremove = (int) (g->remove.len / sizeof(uint64_t)),
		.flushed_seq = edit->flushed_seq, .restart_lsn = edit->restart_lsn,
		.next_file = atomic_load(&set->next_file), .has_last_ts = true,
		.catalog = {g->catalog.data, g->catalog.len}
	};
	wide_status st;

	TRY(shm_lock(db, LOCK_COMMIT));
	m.last_ts = db->seg->commit.last_ts;
	/* what has these timestamps is durable: recovery gives nobody a later one for his (finish_now) */
	if (db->replay == NULL && db->seg->commit.logged_seq > g->sync)
		g->sync = db->seg->commit.logged_seq;
	shm_unlock(db, LOCK_COMMIT);
	if (db->log.identity != NULL)
		db->log.identity(db->log.ctx, &m.log_id, &m.log_branch);
	if (set->manifest_number == 0 || set->manifest_size == UINT64_MAX ||
		(set->manifest_size > MANIFEST_SWITCH_BYTES && set->manifest_size > 4 * set->manifest_snapshot && !files_held(db)))
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
switch_gathered(wide_db *db, const set_edit *edit, gathered *g)
{
	set_state  *set = &db->seg->set;
	const file_meta *add = (const file_meta *) g->add.data;
	const uint64_t *remove = (const uint64_t *) g->remove.data;
	size_t		nadd = g->add.len / sizeof *add,
				nremove = g->remove.len / sizeof *remove;

	for (size_t i = (size_t) edit->nadd; i < nadd; i++)
	{
		file_slot  *f = slot_by_number(db, add[i].number);

		if (f == NULL)
			continue;
		f->listed = 1;
		if (f->meta.flags & FILE_UNLISTED)
			set->nunlisted--;
		f->meta.flags &= (uint8_t) ~(FILE_UNLISTED | FILE_UNSYNCED);
	}
	for (size_t i = g->ncaller_remove; i < nremove; i++)
	{
		file_slot  *f = slot_by_number(db, remove[i]);

		if (f == NULL || f->removed_version == 0)
			continue;
		set->npending -= f->pending;
		f->pending = 0;
		f->listed = 0;
	}
}

/* Under LOCK_SET: the caller's removals and additions. */
static void
switch_caller(wide_db *db, const set_edit *edit, uint64_t version)
{
	set_state  *set = &db->seg->set;
	file_slot  *files = shm_files(db);

	for (int i = 0; i < edit->nremove; i++)
	{
		file_slot  *f = slot_by_number(db, edit->remove[i]);
		family_slot *fam = f != NULL ? catalog_family_slot(db, f->meta.family) : NULL;
		uint32_t   *link = fam != NULL ? slot_find(db, fam, edit->remove[i]) : NULL;

		if (f == NULL)
			continue;
		if (link != NULL)
		{
			f = &files[*link - 1];
			*link = f->next;
			fam->nfiles--;
			slot_die(db, f, version, false);
		}
		else if (f->pending)
		{
			set->npending--;	/* dropped with its family meanwhile; this edit has removed it */
			f->pending = 0;
		}
		f->listed = 0;
		for (int k = 0; k < edit->nadd; k++)
			if (edit->add[k].number == edit->remove[i])
				f->moved = 1;
	}
	for (int i = 0; i < edit->nadd; i++)
		set_link_slot(db, &edit->add[i], version, true);
	set->reserved_files -= (uint32_t) edit->nadd;
}

static void
mark_families(wide_db *db, const set_edit *edit, uint64_t version)
{
	family_slot *fam;
	file_slot  *f;

	for (int i = 0; i < edit->nadd; i++)
		if ((fam = catalog_family_slot(db, edit->add[i].family)) != NULL)
			atomic_store(&fam->files_version, version);
	for (int i = 0; i < edit->nremove; i++)
		if ((f = slot_by_number(db, edit->remove[i])) != NULL &&
			(fam = catalog_family_slot(db, f->meta.family)) != NULL)
			atomic_store(&fam->files_version, version);
}

/* Show the edit in the segment. */
static wide_status
apply_switch(wide_db *db, const set_edit *edit, gathered *g)
{
	set_state  *set = &db->seg->set;
	uint64_t	version;

	if (edit->memtable >= 0)
		TRY(shm_lock(db, LOCK_COMMIT));
	TRY(shm_lock(db, LOCK_SET));
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
		memtable   *t = &db->seg->memtables[edit->memtable];

		/* see the head comment: files first, then the state, then another version */
		atomic_store(&t->state, MEM_FLUSHED);
		t->freed_version = atomic_fetch_add(&set->version, 1) + 1;
	}
	shm_unlock(db, LOCK_SET);
	if (edit->memtable >= 0)
		shm_unlock(db, LOCK_COMMIT);
	shm_wake(db, &set->work_word);
	return WIDE_OK;
}

wide_status
set_apply(wide_db *db, const set_edit *edit)
{
	set_state  *set = &db->seg->set;
	gathered	g = {0};
	wide_status st;
	bool		reserved = false;

	TRY(sync_linked(db));
	TRY(shm_lock(db, LOCK_MANIFEST));
	shm_enter(db);
	st = gather(db, edit, &g);
	reserved = g.dump || st == WIDE_OK;
	if (st == WIDE_OK)
		st = sync_gathered(db, edit, &g);
	if (st == WIDE_OK)
		st = apply_write(db, edit, &g);
	if (st == WIDE_OK)
		st = apply_switch(db, edit, &g);
	else if (reserved && shm_lock(db, LOCK_SET) == WIDE_OK)
	{
		/* it is not in force, else the store is poisoned and the lock refused */
		set->reserved_files -= (uint32_t) edit->nadd;
		set->catalog_dirty |= g.dump;
		shm_unlock(db, LOCK_SET);
	}
	shm_leave(db);
	shm_unlock(db, LOCK_MANIFEST);
	gathered_free(&g);
	return st;
}

/* --------------------------------------------------------------- collect */

#define COLLECT_BATCH 64

/* MEM_FLUSHED -> MEM_FREE for those that no pin needs. */
static wide_status
collect_memtables(wide_db *db, bool *did)
{
	bool		some = false,
				freed = false;

	for (int i = 0; i < WIDE_MEMTABLES; i++)
		some |= atomic_load(&db->seg->memtables[i].state) == MEM_FLUSHED;
	if (!some)
		return WIDE_OK;
	TRY(shm_lock(db, LOCK_COMMIT));
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable   *t = &db->seg->memtables[i];

		if (atomic_load(&t->state) == MEM_FLUSHED && !set_memtable_pinned(db, t))
		{
			atomic_store(&t->state, MEM_FREE);
			freed = true;
		}
	}
	shm_unlock(db, LOCK_COMMIT);
	if (freed)
	{
		*did = true;
		shm_wake(db, &db->seg->commit.space_word);
	}
	return WIDE_OK;
}

/* One process unlinks at a time; the duty of a dead one is taken over (unlinking again is harmless). */
static bool
collect_duty(wide_db *db)
{
	_Atomic uint32_t *word = &db->seg->set.collector;
	uint32_t	me = (uint32_t) getpid(),
				holder = 0;

	if (atomic_compare_exchange_strong(word, &holder, me))
		return true;
	return holder != me && kill((pid_t) holder, 0) != 0 && errno == ESRCH &&
		atomic_compare_exchange_strong(word, &holder, me);
}

/* Dead slots that nobody needs any more. */
static wide_status
collect_find(wide_db *db, uint32_t *index, uint64_t *number, bool *unlink_it, int *n)
{
	file_slot  *files = shm_files(db);
	uint64_t	oldest;

	*n = 0;
	TRY(shm_lock(db, LOCK_SET));
	oldest = set_oldest_pin(db);	/* after the removals: see the head comment */
	for (uint32_t i = db->seg->set.dead_files; i != 0 && *n < COLLECT_BATCH; i = files[i - 1].next)
	{
		file_slot  *f = &files[i - 1];

		if (f->pending || f->removed_version > oldest)
			continue;
		index[*n] = i;
		number[*n] = f->meta.number;
		unlink_it[(*n)++] = !f->moved;
	}
	shm_unlock(db, LOCK_SET);
	return WIDE_OK;
}

static wide_status
collect_free(wide_db *db, const uint32_t *index, int n)
{
	set_state  *set = &db->seg->set;
	file_slot  *files = shm_files(db);

	TRY(shm_lock(db, LOCK_SET));
	for (uint32_t *link = &set->dead_files; *link != 0;)
	{
		file_slot  *f = &files[*link - 1];
		uint32_t	at = *link;
		bool		mine = false;

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
	shm_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/*
 * Other processes keep files open for later reads, an idle one for as long as it
 * lives, and what is open keeps its disk.  So that is given back here: nobody
 * has a pin, nobody will read.  After the unlink, so that no name ever leads to
 * a file cut short.
 */
static int
unlink_and_free(wide_db *db, const char *path)
{
	int			fd = db->os->open(db->os, path, O_RDWR);
	int			rc = db->os->unlink(db->os, path);

	if (fd >= 0)
	{
		if (rc == 0)
			(void) db->os->truncate(db->os, fd, 0);
		db->os->close(db->os, fd);
	}
	return rc;
}

wide_status
set_collect(wide_db *db, bool *did)
{
	uint32_t	index[COLLECT_BATCH];
	uint64_t	number[COLLECT_BATCH];
	bool		unlink_it[COLLECT_BATCH];
	char		path[1100];
	int			n,
				done = 0;
	wide_status st;

	*did = false;
	TRY(shm_check(db));
	TRY(collect_memtables(db, did));
	if (db->seg->set.ndead == db->seg->set.npending || files_held(db) || !collect_duty(db))
		return WIDE_OK;
	TRY_GOTO(collect_find(db, index, number, unlink_it, &n));
	for (; done < n && st == WIDE_OK; done += st == WIDE_OK)
	{
		int			rc;

		if ((st = shm_check(db)) != WIDE_OK)
			break;
		if (!unlink_it[done])
			continue;
		sst_forget(db, number[done]);
		cache_forget_file(db, number[done]);
		sst_path(db, number[done], path, sizeof path);
		kill_point("collect-unlink");
		rc = unlink_and_free(db, path);
		if (rc < 0 && rc != -ENOENT)
			st = wide_fail(WIDE_IO, "could not remove %s: %s", path, strerror(-rc));
		else
			stat_add(db, STAT_FILES_DELETED, 1);
	}
	if (done > 0)
	{
		wide_status freed = collect_free(db, index, done);

		*did = true;
		st = st == WIDE_OK ? freed : st;
	}
done:
	atomic_store(&db->seg->set.collector, 0);
	return st;
}
