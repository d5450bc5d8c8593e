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
 *	  opening the store in that cluster again removes the file.
 *	- It is taken over only by a cluster that can have been made from that one: not of an older
 *	  version, its WAL and transaction ids go on behind those of the file, and it has the databases
 *	  of the stored tables.
 *	- The edit of the manifest that names the new log is the one step by which the store changes
 *	  hands.  A crash before it repeats everything, the file is removed after it.
 *	- While pg_upgrade runs the servers, no process opens a store.
 *
 *	- prepare_upgrade() sets the flag, then waits until anchor->committing is 0; a transaction
 *	  counts itself there, then looks at the flag.  So each one either fails or is in the store
 *	  before the last flush.  PostgreSQL's own list of transactions does not serve: a transaction
 *	  without an xid is not on it any more when it writes its record.
 *
 * Locking: the anchor's mutex for the flag.  The file is written by the session that has set it.
 */
#include "postgres.h"

#include "fdw/store/upgrade.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/pg_tablespace_d.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

#include "fdw/store/anchor.h"
#include "fdw/store/compat.h"
#include "fdw/store/host.h"

#define UPGRADE_FILE   WT_DIRECTORY "/upgrade"
#define UPGRADE_MAGIC  0x55505457
#define UPGRADE_FORMAT 1

/* The file: this, and the oids of the databases. */
typedef struct UpgradeFile
{
	uint32 magic;
	uint32 format;
	uint64 system;	/* identifier of the cluster */
	uint64 lsn;		/* the files have everything up to there */
	uint64 xid;		/* next transaction id, with its epoch */
	uint32 version; /* major version of the server */
	uint32 ndatabases;
	pg_crc32c crc; /* of the members before it, and of the oids */
	uint32 zero;
} UpgradeFile;

static pg_crc32c
checksum(const UpgradeFile *f, const Oid *databases)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, f, offsetof(UpgradeFile, crc));
	COMP_CRC32C(crc, databases, f->ndatabases * sizeof(Oid));
	FIN_CRC32C(crc);
	return crc;
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

void
wt_upgrade_check_commit(void)
{
	WtAnchor *a = wt_anchor();
	bool prepared;

	SpinLockAcquire(&a->mutex);
	prepared = a->upgrade_prepared;
	SpinLockRelease(&a->mutex);
	if (prepared)
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
					 .ndatabases = (uint32) list_length(databases)};
	Oid *oids = palloc(sizeof(Oid) * (f.ndatabases + 1));
	int fd, i = 0;
	ListCell *lc;

	foreach(lc, databases)
		oids[i++] = lfirst_oid(lc);
	f.crc = checksum(&f, oids);
	/* what has that name is left over from a crash */
	(void) unlink(tmp);
	fd = OpenTransientFile(tmp, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not create file \"%s\": %m", tmp)));
	write_bytes(fd, &f, sizeof(f));
	write_bytes(fd, oids, sizeof(Oid) * f.ndatabases);
	if (pg_fsync(fd) != 0 || CloseTransientFile(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not write file \"%s\": %m", tmp)));
	(void) durable_rename(tmp, UPGRADE_FILE, ERROR);
}

/* ----------------------------------------------------------- taking over */

/* Returns: the databases of the file, palloc'd; NULL: there is no file. */
static Oid *
read_file(UpgradeFile *f)
{
	int fd = OpenTransientFile(UPGRADE_FILE, O_RDONLY | O_NOFOLLOW | PG_BINARY);
	struct stat st;
	Oid *oids = NULL;
	size_t len = 0;

	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read file \"%s\": %m",
												   UPGRADE_FILE)));
	if (st.st_size >= (off_t) sizeof(*f) && st.st_size < 64 * 1024 * 1024)
	{
		len = (size_t) st.st_size - sizeof(*f);
		oids = palloc(len + sizeof(Oid));
	}
	if (oids == NULL || read(fd, f, sizeof(*f)) != (ssize_t) sizeof(*f) ||
		read(fd, oids, len) != (ssize_t) len || f->magic != UPGRADE_MAGIC ||
		f->format != UPGRADE_FORMAT || len != f->ndatabases * sizeof(Oid) ||
		f->crc != checksum(f, oids))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is damaged, or of another release", UPGRADE_FILE)));
	(void) CloseTransientFile(fd);
	return oids;
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

uint64
wt_upgrade_predecessor(void)
{
	UpgradeFile f;
	Oid *databases = read_file(&f);

	if (databases == NULL || f.system == GetSystemIdentifier() || RecoveryInProgress())
		return 0;
	if (f.version > PG_VERSION_NUM / 10000)
		refuse(psprintf("that is of version %u", f.version));
	if (f.lsn >= GetXLogInsertRecPtr())
		refuse(psprintf("its WAL ended behind %X/%X, this one's ends at %X/%X",
						LSN_FORMAT_ARGS(f.lsn), LSN_FORMAT_ARGS(GetXLogInsertRecPtr())));
	if (f.xid > U64FromFullTransactionId(ReadNextFullTransactionId()))
		refuse("its transaction ids are ahead of those here");
	for (uint32 i = 0; i < f.ndatabases; i++)
		if (!has_database(databases[i]))
			refuse(psprintf("there is no database with OID %u here", databases[i]));
	pfree(databases);
	return f.system;
}

void
wt_upgrade_forget(void)
{
	(void) remove_file(LOG);
}
