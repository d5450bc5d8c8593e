/* sst_file.c - names, sizes and the durability of sorted files */
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
	snprintf(path, size, "%s/%08llx.sst", db->dir, (unsigned long long) number);
}

wide_status
sst_file_sync_dir(wide_db *db)
{
	int r = db->os->syncdir(db->os, db->dir);

	return r < 0 ? os_fail(r, "sync directory", db->dir) : WIDE_OK;
}

wide_status
sst_file_sync(wide_db *db, uint64_t number)
{
	char path[1100];
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
	/* a second sync would say yes to bytes that are lost; the log has them */
	wide_poison(db, "a file of a large transaction could not be synced");
	return os_fail(rc, "sync file", path);
}
