/*
 * upgrade.c
 *		A store that pg_upgrade leaves behind, and that the new cluster takes over
 *		(doc/upgrade.md).
 *
 * pg_upgrade carries over the catalogs with the oids of databases and foreign tables, the
 * transaction ids, and the position in WAL: the new cluster begins it behind the end of the old
 * one.  So everything in the store's files stays right, and only the log is another one.  It does
 * not carry over WAL, so the files must have everything.
 *
 * Invariants
 *	- A store is taken over only if its own cluster has said, in the file "upgrade" of the
 *	  directory, that its files have everything, and nothing was added afterwards: from before the
 *	  last flush to the end of that server no transaction commits changes of wide tables, and
 *	  that cluster does not open the store again without removing the file first.
 *	- A copy of the directory that was made before that has the file, and lacks what came later.
 *	  The file has the path of its cluster's data directory.  If that is still there, and has a
 *	  store, this must have the same file.
 *	- It is taken over only by a cluster that can have been made from that one: not of an older
 *	  version, its WAL and transaction ids go on behind those of the file, and it has the databases
 *	  of the stored tables.
 *	- The edit of the manifest that names the new log is the one step by which the store changes
 *	  hands.  A crash before it repeats everything, the file is removed after it.
 *	- While pg_upgrade runs the servers, no process opens a store.
 *	- prepare_upgrade() sets the flag, then waits until anchor->committing is 0; a transaction
 *	  counts itself there, then looks at the flag.  So each one either fails or is in the store
 *	  before the last flush.  PostgreSQL's own list of transactions does not serve: a transaction
 *	  without an xid is not on it any more when it writes its record.
 *
 * Locking: the anchor's mutex for the flag.  wt_upgrade_lock() for the sessions that set and reset
 * the flag and write the file: one that reset it while another one waits would let transactions
 * commit behind the last flush.
 */
#include "postgres.h"

#include "fdw/store/upgrade.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_tablespace_d.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "storage/lock.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

#include "fdw/store/anchor.h"
#include "fdw/store/compat.h"
#include "fdw/store/host.h"

#define UPGRADE_FILE   WT_DIRECTORY "/upgrade"
#define UPGRADE_MAGIC  0x55505457
#define UPGRADE_FORMAT 1
#define UPGRADE_LOCK   0x7775			  /* PostgreSQL locks foreign-data wrappers with 0 here */
#define UPGRADE_MOST   (64 * 1024 * 1024) /* bytes of the file */

/* The file: this, the oids of the databases, and the path of the data directory. */
typedef struct UpgradeFile
{
	uint32 magic;
	uint32 format;
	uint64 system;	/* identifier of the cluster */
	uint64 lsn;		/* the files have everything up to there */
	uint64 xid;		/* next transaction id, with its epoch */
	uint32 version; /* major version of the server */
	uint32 ndatabases;
	uint32 path_len; /* bytes, without an end */
	pg_crc32c crc;	 /* of the members before it, the oids and the path */
} UpgradeFile;

/* Returns: the file's checksum.  rest: what follows the struct. */
static pg_crc32c
checksum(const UpgradeFile *f, const char *rest)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, f, offsetof(UpgradeFile, crc));
	COMP_CRC32C(crc, rest, f->ndatabases * sizeof(Oid) + f->path_len);
	FIN_CRC32C(crc);
	return crc;
}

/* ------------------------------------------------------------------ lock */

static LOCKTAG
lock_tag(void)
{
	LOCKTAG tag;

	/* of no database: it is one for the cluster */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, ForeignDataWrapperRelationId, InvalidOid, UPGRADE_LOCK);
	return tag;
}

void
wt_upgrade_lock(void)
{
	LOCKTAG tag = lock_tag();

	/* the holder may wait for the transaction of this session */
	if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another session runs prepare_upgrade()")));
}

void
wt_upgrade_unlock(void)
{
	LOCKTAG tag = lock_tag();

	(void) LockRelease(&tag, ExclusiveLock, false);
}

/* ------------------------------------------------------------- preparing */

/* Returns: true if there is no such file any more. */
static bool
remove_file(int elevel)
{
	if (unlink(UPGRADE_FILE) == 0)
		return fsync_fname_ext(WT_DIRECTORY, true, true, elevel) == 0;
	if (errno == ENOENT)
		return true;
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not remove file \"%s\": %m", UPGRADE_FILE)));
	return false;
}

static void
set_prepared(bool prepared)
{
	WtAnchor *a = wt_anchor();

	SpinLockAcquire(&a->mutex);
	a->upgrade_prepared = prepared;
	SpinLockRelease(&a->mutex);
}

void
wt_upgrade_prepare(void)
{
	set_prepared(true);
	/* the look at committing comes after it */
	pg_memory_barrier();
}

void
wt_upgrade_wait_for_commits(void)
{
	while (pg_atomic_read_u32(&wt_anchor()->committing) != 0)
	{
		(void) wt_host_wait_event(20, PG_WAIT_EXTENSION);
		CHECK_FOR_INTERRUPTS();
	}
}

void
wt_upgrade_cancel(int elevel)
{
	if (remove_file(elevel))
		set_prepared(false);
}

bool
wt_upgrade_is_prepared(void)
{
	WtAnchor *a = wt_anchor();
	bool prepared;

	SpinLockAcquire(&a->mutex);
	prepared = a->upgrade_prepared;
	SpinLockRelease(&a->mutex);
	return prepared;
}

void
wt_upgrade_check_unprepared(void)
{
	if (wt_upgrade_is_prepared())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("wide tables cannot be changed: they are prepared for pg_upgrade"),
				 errhint("A restart of the server, or SELECT widetable.prepare_upgrade(false), "
						 "ends that.")));
}

static void
write_bytes(int fd, const void *data, size_t len)
{
	errno = ENOSPC; /* if the write is short */
	if (write(fd, data, len) != (ssize_t) len)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not write file \"%s\": %m",
												   UPGRADE_FILE ".tmp")));
}

void
wt_upgrade_write(XLogRecPtr lsn, List *databases)
{
	static const char tmp[] = UPGRADE_FILE ".tmp";
	UpgradeFile f = {.magic = UPGRADE_MAGIC,
					 .format = UPGRADE_FORMAT,
					 .system = GetSystemIdentifier(),
					 .lsn = lsn,
					 .xid = U64FromFullTransactionId(ReadNextFullTransactionId()),
					 .version = PG_VERSION_NUM / 10000,
					 .ndatabases = (uint32) list_length(databases),
					 .path_len = (uint32) strlen(DataDir)};
	size_t len = sizeof(Oid) * f.ndatabases + f.path_len;
	char *rest = palloc(len), *at = rest;
	int fd;
	ListCell *lc;

	foreach(lc, databases)
	{
		memcpy(at, &lfirst_oid(lc), sizeof(Oid));
		at += sizeof(Oid);
	}
	memcpy(at, DataDir, f.path_len);
	f.crc = checksum(&f, rest);
	/* what has that name is left over from a crash */
	(void) unlink(tmp);
	fd = OpenTransientFile(tmp, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not create file \"%s\": %m", tmp)));
	write_bytes(fd, &f, sizeof(f));
	write_bytes(fd, rest, len);
	if (pg_fsync(fd) != 0 || CloseTransientFile(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not write file \"%s\": %m", tmp)));
	(void) durable_rename(tmp, UPGRADE_FILE, ERROR);
}

/* ----------------------------------------------------------- taking over */

typedef enum FileState
{
	FILE_NONE,
	FILE_DAMAGED, /* or of another release */
	FILE_GOOD
} FileState;

/*
 * Reads the file of that name.  rest: becomes what follows the struct, palloc'd, with a zero byte
 * at the end.  Errors: those of the file system.
 */
static FileState
read_file(const char *name, UpgradeFile *f, char **rest)
{
	int fd = OpenTransientFile(name, O_RDONLY | O_NOFOLLOW | PG_BINARY);
	struct stat st;
	ssize_t n, want;
	size_t len;
	bool good;

	if (fd < 0 && errno == ENOENT)
		return FILE_NONE;
	if (fd < 0 || fstat(fd, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read file \"%s\": %m", name)));
	good = st.st_size >= (off_t) sizeof(*f) && st.st_size < UPGRADE_MOST;
	len = good ? (size_t) st.st_size - sizeof(*f) : 0;
	*rest = palloc0(len + 1);
	n = good ? read(fd, f, sizeof(*f)) : 0;
	want = good ? (ssize_t) sizeof(*f) : 0;
	if (n == want)
	{
		n = read(fd, *rest, len);
		want = (ssize_t) len;
	}
	if (n < 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read file \"%s\": %m", name)));
	(void) CloseTransientFile(fd);
	good = good && n == want && f->magic == UPGRADE_MAGIC && f->format == UPGRADE_FORMAT &&
		   len == (size_t) f->ndatabases * sizeof(Oid) + f->path_len &&
		   f->crc == checksum(f, *rest);
	return good ? FILE_GOOD : FILE_DAMAGED;
}

/* Returns: true if the cluster has a directory of the database, in any tablespace. */
static bool
has_database(Oid database)
{
	char path[MAXPGPATH];
	struct stat st;
	struct dirent *de;
	DIR *dir;
	bool found;

	snprintf(path, sizeof(path), "base/%u", database);
	if (stat(path, &st) == 0)
		return true;
	dir = AllocateDir("pg_tblspc");
	for (found = false; !found && (de = ReadDir(dir, "pg_tblspc")) != NULL;)
	{
		snprintf(path, sizeof(path), "pg_tblspc/%s/%s/%u", de->d_name, TABLESPACE_VERSION_DIRECTORY,
				 database);
		found = de->d_name[0] != '.' && stat(path, &st) == 0;
	}
	FreeDir(dir);
	return found;
}

static void
refuse(const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("The store was prepared for pg_upgrade in another cluster, and this one was "
					"not made from it: %s.",
					why)));
}

/* Returns: true if the data directory is there and can be read, and is of that cluster. */
static bool
is_cluster(const char *directory, uint64 system)
{
	/* pg_upgrade with links renames the file; the identifier comes first in it, in all versions */
	static const char *const names[] = {"global/pg_control", "global/pg_control.old"};
	bool found = false;

	for (int i = 0; i < (int) lengthof(names) && !found; i++)
	{
		char *name = psprintf("%s/%s", directory, names[i]);
		int fd = OpenTransientFile(name, O_RDONLY | PG_BINARY);
		uint64 id;

		if (fd < 0)
			continue;
		found = read(fd, &id, sizeof(id)) == sizeof(id) && id == system;
		(void) CloseTransientFile(fd);
	}
	return found;
}

/*
 * Refuses a copy of the store that is older than the store in the cluster that it is of.  That can
 * be seen only if the directory of that cluster is still in its place; a store that was moved from
 * there is no copy.
 */
static void
check_copy(const UpgradeFile *f, const char *rest)
{
	const char *old = rest + f->ndatabases * sizeof(Oid);
	UpgradeFile there;
	struct stat st;
	char *theirs;

	if (!is_cluster(old, f->system) || stat(psprintf("%s/" WT_DIRECTORY "/CURRENT", old), &st) != 0)
		return;
	if (read_file(psprintf("%s/" UPGRADE_FILE, old), &there, &theirs) == FILE_GOOD &&
		there.crc == f->crc && there.lsn == f->lsn && there.xid == f->xid)
		return;
	refuse(psprintf("the store in \"%s\" was opened or prepared again after this copy of it was "
					"made.  If that was after pg_upgrade, rename that directory",
					old));
}

uint64
wt_upgrade_predecessor(void)
{
	UpgradeFile f;
	char *rest;
	FileState state;

	if (RecoveryInProgress())
		return 0;
	state = read_file(UPGRADE_FILE, &f, &rest);
	if (state == FILE_DAMAGED)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is damaged, or of another release", UPGRADE_FILE)));
	if (state == FILE_NONE || f.system == GetSystemIdentifier())
		return 0;
	if (f.version > PG_VERSION_NUM / 10000)
		refuse(psprintf("that is of version %u", f.version));
	if (f.lsn >= GetXLogInsertRecPtr())
		refuse(psprintf("its WAL ended behind %X/%X, this one's ends at %X/%X",
						LSN_FORMAT_ARGS(f.lsn), LSN_FORMAT_ARGS(GetXLogInsertRecPtr())));
	if (f.xid > U64FromFullTransactionId(ReadNextFullTransactionId()))
		refuse("its transaction ids are ahead of those here");
	check_copy(&f, rest);
	for (uint32 i = 0; i < f.ndatabases; i++)
	{
		Oid database;

		memcpy(&database, rest + i * sizeof(Oid), sizeof(Oid));
		if (!has_database(database))
			refuse(psprintf("there is no database with OID %u here", database));
	}
	pfree(rest);
	return f.system;
}

/* -------------------------------------------------------------- forgetting */

void
wt_upgrade_forget_own(void)
{
	UpgradeFile f;
	char *rest;

	if (read_file(UPGRADE_FILE, &f, &rest) == FILE_GOOD && f.system == GetSystemIdentifier())
		(void) remove_file(ERROR);
}

void
wt_upgrade_forget(void)
{
	(void) remove_file(LOG);
}
