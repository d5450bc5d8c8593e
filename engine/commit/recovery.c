/*
 * recovery.c - opens a store: manifest, log, orphans.
 *
 * Nothing of an old segment is used.  The file set comes from the manifest, the memtables from
 * replaying the log from restart_lsn.  Files that neither lists belong to work that did not finish.
 * They are removed after the replay, which links the files of committed large batches.
 *
 * Invariants: one process runs this, on a segment in state EMPTY; the host keeps the others away
 * until it is RUNNING.  A failure leaves the state EMPTY, or DEAD if the store was poisoned on the
 * way; then the segment has to be formatted again.
 *
 * Locking: none needed; no other process works in the store before RUNNING.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/file_set.h"
#include "engine/set/file_set_load.h"
#include "engine/commit/replay.h"

/* --------------------------------------------------------------- orphans */

typedef struct orphans
{
	wide_db *db;
	bool no_files; /* sorted files are left alone */
	buffer names;  /* one after the other, each with its terminating zero */
	wide_status st;
} orphans;

/* Adds the name to the list if it is an orphan; for wide_os.list: stops at a value other than 0. */
static int
orphan_name(void *arg, const char *name)
{
	orphans *o = arg;
	size_t n = strlen(name);
	unsigned long long number = 0;
	char end = 0, manifest[40];
	bool remove = n > 4 && strcmp(name + n - 4, ".tmp") == 0;

	if (n > 4 && strcmp(name + n - 4, ".sst") == 0 &&
		sscanf(name, "%llx.ss%c", &number, &end) == 2 && end == 't')
		remove = !o->no_files && !file_set_has_container(o->db, number);
	else if (strncmp(name, "manifest-", 9) == 0)
	{
		int len = snprintf(manifest, sizeof manifest, "manifest-%08llx",
						   (unsigned long long) o->db->seg->set.manifest_number);

		remove = strncmp(name, manifest, (size_t) len) != 0 ||
				 (name[len] != 0 && strcmp(name + len, ".copy") != 0);
	}
	/* with them and more of the log an older state could be opened: see file_set_load.c */
	if (o->db->seg->set.lost > 0 && (n < 4 || strcmp(name + n - 4, ".tmp") != 0))
		remove = false;
	if (remove)
		o->st = buffer_append(&o->names, name, n + 1);
	return o->st != WIDE_OK;
}

/* Removes the orphans of one directory. */
static wide_status
remove_orphans_of(wide_db *db, const char *dir)
{
	orphans o = {.db = db, .no_files = strcmp(dir, db->files_dir) != 0};
	int rc;
	char path[1400];

	rc = db->os->list(db->os, dir, orphan_name, &o);
	if (rc < 0)
		o.st = status_fail(WIDE_IO, "could not list %s: %s", dir, strerror(-rc));
	for (size_t at = 0; at < o.names.len && o.st == WIDE_OK;
		 at += strlen((char *) o.names.data + at) + 1)
	{
		snprintf(path, sizeof path, "%s/%s", dir, (char *) o.names.data + at);
		rc = db->os->unlink(db->os, path);
		if (rc < 0 && rc != -ENOENT)
			o.st = status_fail(WIDE_IO, "could not remove %s: %s", path, strerror(-rc));
	}
	buffer_free(&o.names);
	return o.st;
}

/*
 * Removes the files of the directories that the set does not list: sorted files, manifests,
 * temporary files.  Does nothing while the host copies them (host->files_held).  Sorted files in
 * the store's directory are left alone if they belong into another one: they are no orphans of this
 * store, but what an administrator may be about to move.
 */
static wide_status
remove_orphans(wide_db *db)
{
	/* a copy of an older state of the directory may need them; the next recovery removes them */
	if (host_files_held(db))
		return WIDE_OK;
	TRY(remove_orphans_of(db, db->files_dir));
	return strcmp(db->dir, db->files_dir) == 0 ? WIDE_OK : remove_orphans_of(db, db->dir);
}

/* ----------------------------------------------------------------- recovery */

static wide_status
recover_steps(wide_db *db)
{
	int rc = db->os->mkdir(db->os, db->dir);

	if (rc < 0 && rc != -EEXIST)
		return status_fail(WIDE_IO, "could not make %s: %s", db->dir, strerror(-rc));
	TRY(file_set_load(db));
	TRY(replay_begin(db));
	TRY(db->log.replay(db->log.ctx, db->seg->set.restart_lsn, replay_event, db));
	TRY(replay_end(db));
	injection_point("recover-replayed");
	return remove_orphans(db);
}

wide_status
wide_recover(wide_db *db)
{
	uint32_t empty = WIDE_EMPTY;
	wide_status st;

	TRY(segment_check(db));
	if (!atomic_compare_exchange_strong(&db->seg->state, &empty, WIDE_RECOVERING))
		return status_fail(WIDE_INVALID, "the segment is not empty");
	st = recover_steps(db);
	replay_free(db);
	if (atomic_load(&db->seg->state) == WIDE_DEAD)
		return st != WIDE_OK ? st : segment_check(db);
	atomic_store(&db->seg->state, st == WIDE_OK ? WIDE_RUNNING : WIDE_EMPTY);
	return st;
}
