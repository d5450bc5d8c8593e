/*
 * state_file.c
 *		The state file: what this cluster knows about its store without opening it.
 *
 * It answers two questions that the store's directory cannot answer:
 *
 *	- Was there a store?  A directory that is missing or empty (removed, a mount that did
 *	  not come, a link that a base backup left out) is an error then, and no reason to begin
 *	  with empty tables.
 *	- Does the store need WAL?  A store that was closed has everything in its files, and
 *	  needs none, however much was written and removed since by others.
 *
 * Invariants
 *	- OPEN is durable before a process can write a record of the store.
 *	- CLOSED and RESTING are written when the files have everything and no process writes
 *	  (rest.c).
 *	- The file is replaced as a whole, so a base backup copies it in one state.
 *
 * The directory decides which file set and which log the store has (engine/set/); this file
 * only adds to that.  If it is removed, a store that is there opens as before.
 *
 * Locking: none; see wt_state_file_write().
 */
#include "postgres.h"

#include "fdw/store/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "fdw/store/anchor.h"

#define STATE_MAGIC	 0x53545457
#define STATE_FORMAT 1

/* The file, in the byte order of the machine; mirrored in doc/format.md. */
typedef struct Stored
{
	uint32 magic;
	uint32 format;
	uint32 state;
	TimeLineID timeline;
	XLogRecPtr begun;
	XLogRecPtr complete;
	XLogRecPtr resume;
	pg_crc32c crc; /* of what is before it */
} Stored;

static pg_crc32c
crc_of(const Stored *f)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, f, offsetof(Stored, crc));
	FIN_CRC32C(crc);
	return crc;
}

void
wt_state_file_read(WtStateFile *s)
{
	Stored f;
	int fd = OpenTransientFile(WT_STATE_FILE, O_RDONLY | PG_BINARY);
	int n = -1;

	*s = (WtStateFile) {.state = WT_STATE_NONE};
	if (fd < 0 && errno == ENOENT)
		return;
	s->state = WT_STATE_OPEN;
	if (fd >= 0)
	{
		n = read(fd, &f, sizeof(f));
		CloseTransientFile(fd);
	}
	if (n != sizeof(f) || f.magic != STATE_MAGIC || f.format != STATE_FORMAT ||
		f.crc != crc_of(&f) || f.state > WT_STATE_RESTING)
	{
		ereport(LOG, (errmsg("widetable: file \"%s\" cannot be read or is damaged", WT_STATE_FILE),
					  errdetail("The store needs its WAL, as after a crash.")));
		return;
	}
	*s = (WtStateFile) {.state = (WtStoreState) f.state,
						.timeline = f.timeline,
						.begun = f.begun,
						.complete = f.complete,
						.resume = f.resume};
	if (s->state == WT_STATE_BEGINNING && XLogRecPtrIsInvalid(s->begun))
	{
		s->state = WT_STATE_NONE;
		s->intended = true;
	}
}

bool
wt_state_file_exists(void)
{
	WtStateFile s;

	wt_state_file_read(&s);
	return s.state != WT_STATE_NONE;
}

static void
fail(const char *what, const char *name)
{
	ereport(ERROR,
			(errcode_for_file_access(), errmsg("could not %s file \"%s\": %m", what, name)));
}

void
wt_state_file_write(const WtStateFile *s)
{
	static const char tmp[] = WT_STATE_FILE ".tmp";
	Stored f;
	int fd;

	memset(&f, 0, sizeof(f));
	f.magic = STATE_MAGIC;
	f.format = STATE_FORMAT;
	f.state = s->intended ? WT_STATE_BEGINNING : s->state;
	f.timeline = s->timeline;
	f.begun = s->begun;
	f.complete = s->complete;
	f.resume = s->resume;
	f.crc = crc_of(&f);
	/* what has that name is left over from a crash */
	(void) unlink(tmp);
	fd = OpenTransientFile(tmp, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
	if (fd < 0)
		fail("create", tmp);
	errno = ENOSPC; /* if the write is short */
	if (write(fd, &f, sizeof(f)) != sizeof(f))
		fail("write", tmp);
	if (pg_fsync(fd) != 0)
		fail("fsync", tmp);
	if (CloseTransientFile(fd) != 0)
		fail("close", tmp);
	(void) durable_rename(tmp, WT_STATE_FILE, ERROR);
}

void
wt_state_file_remove(void)
{
	struct stat st;

	if (stat(WT_STATE_FILE, &st) == 0)
		(void) durable_unlink(WT_STATE_FILE, ERROR);
}

/* ----------------------------------------------------- the store's directory */

static bool
ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* Returns: true if only a store has a file of that name. */
static bool
is_of_store(const char *name)
{
	return strcmp(name, "CURRENT") == 0 || strncmp(name, "manifest-", 9) == 0 ||
		   ends_with(name, ".sst");
}

bool
wt_state_file_has_store(void)
{
	DIR *dir = AllocateDir(WT_DIRECTORY);
	struct dirent *e;
	bool found = false;

	if (dir == NULL && errno == ENOENT)
		return false;
	while (!found && (e = ReadDir(dir, WT_DIRECTORY)) != NULL)
		found = is_of_store(e->d_name);
	FreeDir(dir);
	return found;
}

void
wt_state_file_clear(const char *directory)
{
	DIR *dir = AllocateDir(directory);
	struct dirent *e;

	if (dir == NULL && errno == ENOENT)
		return;
	while ((e = ReadDir(dir, directory)) != NULL)
	{
		char path[MAXPGPATH];

		/* "upgrade" belongs to the store that goes */
		if (!is_of_store(e->d_name) && !ends_with(e->d_name, ".tmp") &&
			strcmp(e->d_name, "upgrade") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
		if (unlink(path) != 0 && errno != ENOENT)
			fail("remove", path);
	}
	FreeDir(dir);
	fsync_fname(directory, true);
}
