/*
 * orphans.c - files of the store's directories that belong to nothing: of work that did not finish.
 *
 * A recovery removes them after the replay, which links the files of committed large batches. While
 * a log is followed other processes write files, so they are removed before that begins: the replay
 * writes the files of large batches whose records it reads anew, whatever is there.
 *
 * Locking: none needed; no other process works in the store.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "engine/commit/orphans.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/set/file_set.h"

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
remove_of(wide_db *db, const char *dir)
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

wide_status
orphans_remove(wide_db *db)
{
	/* a copy of an older state of the directory may need them; the next recovery removes them */
	if (host_files_held(db))
		return WIDE_OK;
	TRY(remove_of(db, db->files_dir));
	return strcmp(db->dir, db->files_dir) == 0 ? WIDE_OK : remove_of(db, db->dir);
}
