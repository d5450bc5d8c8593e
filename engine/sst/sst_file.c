/* sst_file.c - names and durability of sorted files; for their bytes see sst_writer.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "engine/sst/sst_file.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"

void
sst_file_path(wide_db *db, uint64_t number, char *path, size_t size)
{
	snprintf(path, size, "%s/%08llx.sst", db->files_dir, (unsigned long long) number);
}

wide_status
sst_file_sync_dir(wide_db *db)
{
	int r = db->os->syncdir(db->os, db->files_dir);

	return r < 0 ? os_fail(r, "sync directory", db->files_dir) : WIDE_OK;
}

wide_status
sst_file_sync(wide_db *db, uint64_t number)
{
	char path[SST_PATH];
	int fd, rc;

	sst_file_path(db, number, path, sizeof path);
	fd = db->os->open(db->os, path, O_RDWR);
	if (fd == -ENOENT)
		return status_fail(WIDE_NOTFOUND, "file %s is missing", path);
	if (fd < 0)
		return os_fail(fd, "open file", path);
	rc = db->os->sync(db->os, fd);
	db->os->close(db->os, fd);
	if (rc == 0)
		return WIDE_OK;
	/* the system may have dropped the bytes, and a second sync would succeed; recovery has them
	 * from the log */
	wide_poison(db, "a file of a large transaction could not be synced");
	return os_fail(rc, "sync file", path);
}
