/*
 * location.c
 *		Where the sorted files of the store are: in its directory, or in a tablespace.
 *
 * Setting widetable.directory names the location of a tablespace.  The sorted files are
 * then in a subdirectory of that tablespace's directory, beside those of databases.  A
 * tablespace, and not any directory, because PostgreSQL knows tablespaces: CREATE
 * TABLESPACE checks the path, its owner and mode; base backups and pg_rewind copy it,
 * pg_basebackup --tablespace-mapping moves it, standbys have it, DROP TABLESPACE refuses
 * while files are in it.  What is outside of tablespaces no backup contains.
 *
 * The manifest stays in the store's directory, with file LOCATION, which has the
 * tablespace's oid and the setting's value from when the store was made:
 *
 *		tablespace 16384 /fast/disk
 *
 * Invariants
 *	- The location is fixed when the store is made.  A store without LOCATION has its
 *	  files in its own directory.
 *	- The setting must agree when the store is opened: with the path in LOCATION, or with
 *	  where the tablespace is now (a backup may have been restored to another place).
 *	- LOCATION is durable before the manifest is, so no store is without one that needs it.
 *	- The directory of files has a file that is never removed, so DROP TABLESPACE refuses
 *	  from the beginning on.  Like all names there it has an extension that is no number:
 *	  programs that take files of a tablespace for tables stop at such a name instead of
 *	  changing the file (pg_checksums).
 *
 * Locking: none; wt_location_prepare() runs in the opener alone (store.c).
 */
#include "postgres.h"

#include "fdw/store/location.h"

#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "common/file_perm.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/guc.h"

#include "fdw/store/anchor.h"
#include "fdw/store/compat.h"

#define LOCATION_FILE WT_DIRECTORY "/LOCATION"
#define TABLESPACES	  "pg_tblspc"
#define KEEP_FILE	  "README.txt"
#define KEEP_TEXT                                                                                 \
	"Sorted files of wide tables. They belong to the store in directory \"" WT_DIRECTORY "\" of " \
	"the data directory.\n"

static char *setting = NULL; /* widetable.directory; "": the data directory */

/* What LOCATION says. */
typedef struct Location
{
	Oid tablespace; /* InvalidOid: there is no such file */
	char path[MAXPGPATH];
} Location;

/* ---------------------------------------------------------------- setting */

static bool
check_setting(char **newval, void **extra, GucSource source)
{
	if (*newval == NULL || (*newval)[0] == '\0')
		return true;
	if (!is_absolute_path(*newval) || strchr(*newval, '\n') != NULL || strlen(*newval) > 900)
	{
		GUC_check_errdetail("It must be the location of a tablespace: an absolute path.");
		return false;
	}
	canonicalize_path(*newval);
	return true;
}

void
wt_location_define(void)
{
	DefineCustomStringVariable("widetable.directory",
							   "The location of a tablespace, for the files of wide tables.",
							   "Fixed when the store is made. Empty: the data directory.", &setting,
							   "",
							   process_shared_preload_libraries_in_progress ? PGC_POSTMASTER
																			: PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY, check_setting, NULL, NULL);
}

/* ------------------------------------------------------------- tablespaces */

/* Returns: false if the tablespace has no location that can be read.  path has MAXPGPATH bytes. */
static bool
tablespace_location(Oid oid, char *path)
{
	char link[MAXPGPATH];
	ssize_t len;

	snprintf(link, sizeof(link), TABLESPACES "/%u", oid);
	len = readlink(link, path, MAXPGPATH - 1);
	if (len <= 0)
		return false;
	path[len] = '\0';
	canonicalize_path(path);
	return true;
}

/* Returns: the tablespace at that location, or InvalidOid.  Without the catalog, which cannot be
 * read on a standby that is not consistent yet. */
static Oid
tablespace_at(const char *path)
{
	DIR *dir = AllocateDir(TABLESPACES);
	struct dirent *de;
	Oid found = InvalidOid;

	while (found == InvalidOid && (de = ReadDir(dir, TABLESPACES)) != NULL)
	{
		char at[MAXPGPATH];
		Oid oid = (Oid) strtoul(de->d_name, NULL, 10);

		if (oid != InvalidOid && tablespace_location(oid, at) && strcmp(at, path) == 0)
			found = oid;
	}
	FreeDir(dir);
	return found;
}

static void
files_path(Oid tablespace, char *path)
{
	snprintf(path, MAXPGPATH, TABLESPACES "/%u/%s/" WT_DIRECTORY, tablespace,
			 TABLESPACE_VERSION_DIRECTORY);
}

/* ---------------------------------------------------------------- LOCATION */

/* Reads the file.  Errors: XX001 if it is damaged; those of the file system. */
static void
read_location(Location *l)
{
	FILE *f = AllocateFile(LOCATION_FILE, "r");
	char line[MAXPGPATH + 64] = "";
	int at = 0;

	memset(l, 0, sizeof(*l));
	if (f == NULL && errno == ENOENT)
		return;
	if (f == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", LOCATION_FILE)));
	if (fgets(line, sizeof(line), f) == NULL ||
		sscanf(line, "tablespace %u %n", &l->tablespace, &at) != 1 || at == 0 ||
		l->tablespace == InvalidOid)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is damaged", LOCATION_FILE),
				 errdetail("It says in which tablespace the files of wide tables are."),
				 errhint("Write \"tablespace OID PATH\" into it, with the oid and the location of "
						 "that tablespace.")));
	FreeFile(f);
	line[strcspn(line, "\n")] = '\0';
	strlcpy(l->path, line + at, sizeof(l->path));
}

/* Writes a file and makes it durable. */
static void
write_file(const char *path, const char *text)
{
	int fd = OpenTransientFile(path, O_CREAT | O_TRUNC | O_WRONLY | PG_BINARY);
	int len = (int) strlen(text);

	if (fd < 0 || write(fd, text, len) != len || pg_fsync(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not write file \"%s\": %m", path)));
	CloseTransientFile(fd);
}

static void
make_directory(const char *path)
{
	if (MakePGDirectory(path) != 0 && errno != EEXIST)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not create directory \"%s\": %m", path)));
}

/* ----------------------------------------------------------------- opening */

/* Returns: true if the place is chosen: there is a store already, or LOCATION of one whose making a
 * crash has interrupted. */
static bool
is_chosen(void)
{
	struct stat st;

	return stat(WT_DIRECTORY "/CURRENT", &st) == 0 || stat(LOCATION_FILE, &st) == 0;
}

/* The store is new: chooses its place. */
static void
choose(void)
{
	Oid tablespace = tablespace_at(setting);
	char files[MAXPGPATH], text[MAXPGPATH + 64];

	if (tablespace == InvalidOid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("widetable.directory \"%s\" is not the location of a tablespace", setting),
				 errdetail("Base backups and standbys have tablespaces, and no other directories "
						   "outside of the data directory."),
				 errhint("CREATE TABLESPACE wide LOCATION '%s' first.", setting)));
	files_path(tablespace, files);
	make_directory(files);
	files[strlen(files) - strlen("/" WT_DIRECTORY)] = '\0';
	fsync_fname(files, true);

	make_directory(WT_DIRECTORY);
	snprintf(text, sizeof(text), "tablespace %u %s\n", tablespace, setting);
	write_file(LOCATION_FILE ".tmp", text);
	durable_rename(LOCATION_FILE ".tmp", LOCATION_FILE, ERROR);
	fsync_fname(".", true);
	if (wt_backup_checks_all_files && DataChecksumsEnabled())
		ereport(WARNING,
				(errmsg("widetable: pg_basebackup needs --no-verify-checksums on this server"),
				 errdetail("Before PostgreSQL 17 it takes all files of a tablespace for tables "
						   "with checksums. The files of wide tables have their own.")));
}

/* The setting is not where the store is. */
static void
report_changed(const Location *l)
{
	char now[MAXPGPATH];

	if (l->tablespace == InvalidOid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("widetable.directory was set after the store was made"),
				 errdetail("The files of wide tables are in \"%s/%s\"; the setting is \"%s\".",
						   DataDir, WT_DIRECTORY, setting),
				 errhint("Remove widetable.directory from the configuration. doc/backup.md says "
						 "how to move the files.")));
	if (!tablespace_location(l->tablespace, now))
		strlcpy(now, l->path, sizeof(now));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("widetable.directory was changed after the store was made"),
			 errdetail("The files of wide tables are in \"%s\"; the setting is \"%s\".", now,
					   setting),
			 errhint("Set widetable.directory = '%s' again. doc/backup.md says how to move the "
					 "files.",
					 now)));
}

/* The store's directory of files must be there: a store without its files is not an empty one.
 * Makes the file that is never removed, if it is not there. */
static void
check_files(const Location *l)
{
	char files[MAXPGPATH], keep[MAXPGPATH + 32];
	struct stat st;

	files_path(l->tablespace, files);
	snprintf(keep, sizeof(keep), "%s/" KEEP_FILE, files);
	if (stat(files, &st) == 0 && S_ISDIR(st.st_mode))
	{
		if (stat(keep, &st) != 0)
		{
			write_file(keep, KEEP_TEXT);
			fsync_fname(files, true);
		}
		return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the files of wide tables are missing"),
			 errdetail("They were in tablespace %u at \"%s\": directory \"%s\" in the data "
					   "directory does not exist.",
					   l->tablespace, l->path, files),
			 errhint("Mount the disk, or restore the tablespace from a backup.")));
}

void
wt_location_check_link(void)
{
	struct stat st;

	if (lstat(WT_DIRECTORY, &st) == 0 && S_ISLNK(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("directory \"%s\" in the data directory is a symbolic link", WT_DIRECTORY),
				 errdetail("Base backups would leave it out, and restore a server without it."),
				 errhint("Stop the server and move what it points to to \"%s/%s\". To have the "
						 "files of wide tables on another disk, use widetable.directory or a "
						 "mount.",
						 DataDir, WT_DIRECTORY)));
}

void
wt_location_prepare(void)
{
	Location l;
	char now[MAXPGPATH];

	read_location(&l);
	if (!is_chosen() && setting[0] != '\0')
	{
		choose();
		read_location(&l);
	}
	else if (l.tablespace == InvalidOid
				 ? setting[0] != '\0'
				 : strcmp(setting, l.path) != 0 &&
					   !(tablespace_location(l.tablespace, now) && strcmp(setting, now) == 0))
		report_changed(&l);
	if (l.tablespace != InvalidOid)
		check_files(&l);
	wt_anchor()->files_tablespace = l.tablespace;
}

void
wt_location_find(void)
{
	Location l;

	read_location(&l);
	if (l.tablespace == InvalidOid && setting[0] != '\0')
		l.tablespace = tablespace_at(setting);
	wt_anchor()->files_tablespace = l.tablespace;
}

const char *
wt_location_files(void)
{
	static char files[MAXPGPATH];

	if (wt_anchor()->files_tablespace == InvalidOid)
		return NULL;
	files_path(wt_anchor()->files_tablespace, files);
	return files;
}

void
wt_location_remove(const char *files)
{
	char path[MAXPGPATH];

	snprintf(path, sizeof(path), "%s/" KEEP_FILE, files);
	(void) unlink(path);
	if (rmdir(files) != 0 && errno != ENOENT)
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not remove directory \"%s\": %m", files)));
	(void) unlink(LOCATION_FILE);
}
