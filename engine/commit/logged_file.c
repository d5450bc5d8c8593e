/*
 * logged_file.c - the sorted files of large batches, written again from the log.
 *
 * FILE records have the bytes.  They are written to the directory as they come, whatever it holds:
 * a file of that number that the set does not list may never have been synced.  The batch that
 * links the file comes later; without it the file is an orphan.  The bytes of a file that the set
 * lists already are skipped.  File numbers seen in the log are not given out again.  A record
 * without bytes says that the file will never be linked: the file is removed, and the log is not
 * kept for it.
 *
 * Locking: as in replay.c.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include "engine/commit/logged_file.h"
#include "engine/base/bytes.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_file.h"
#include "engine/set/file_set.h"
#include "engine/batch/payload.h"
#include "engine/commit/parked.h"

/* Writes the next bytes of a file, which has a temporary name until it is complete. */
static wide_status
restore_write(wide_db *db, parked *r, wide_bytes bytes)
{
	wide_os *os = db->os;
	char path[1100], tmp[1104];
	int64_t e;
	int fd;

	sst_file_path(db, r->id, path, sizeof path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	fd = r->done == 0 ? os_create(os, tmp) : os->open(os, tmp, O_RDWR);
	if (fd < 0)
		return os_fail(fd, "open file", tmp);
	e = os->pwrite(os, fd, bytes.data, bytes.len, r->done);
	/* a newer state of the manifest may list the file, and the next recovery takes that state
	 * because the file is there */
	if (e >= 0 && db->seg->set.older && r->done + bytes.len == r->total)
		e = os->sync(os, fd);
	os->close(os, fd);
	if (e < 0)
		return os_fail(e, "write file", tmp);
	if (r->done + bytes.len == r->total && (e = os->rename(os, tmp, path)) < 0)
		return os_fail(e, "rename file", tmp);
	/* last: after a failure the record may come again */
	r->done += bytes.len;
	injection_point("recover-file");
	return WIDE_OK;
}

void
logged_file_drop(wide_db *db, parked *r)
{
	char path[1100], tmp[1104];

	sst_file_path(db, r->id, path, sizeof path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	/* what cannot be removed now is removed with the orphans */
	db->os->unlink(db->os, r->done == r->total ? path : tmp);
	parked_remove(db, r);
}

wide_status
logged_file_record(wide_db *db, const wide_replay_event *ev)
{
	uint64_t number = get_u64le(ev->payload.data + 8), off = get_u64le(ev->payload.data + 16),
			 total = get_u64le(ev->payload.data + 24);
	wide_bytes bytes = {ev->payload.data + RECORD_FILE_HEAD, ev->payload.len - RECORD_FILE_HEAD};
	parked *r = parked_find(db, true, number);

	if (bytes.len == 0 && off == 0 && total == 0)
	{
		if (r != NULL)
			logged_file_drop(db, r);
		return WIDE_OK;
	}
	if (number == 0 || number >= FILE_REPLAYED || off > total || bytes.len > total - off ||
		bytes.len == 0)
		return parked_damaged(ev->lsn, "its range of a file is not valid");
	if (file_set_has_file(db, number))
		return WIDE_OK;
	if (off == 0)
	{
		/* a file of that number that was begun before a restart is written anew */
		if (r != NULL)
			parked_remove(db, r);
		TRY(parked_begin(db, true, number, ev, &r));
		r->total = total;
		if (number >= atomic_load(&db->seg->set.next_file))
			atomic_store(&db->seg->set.next_file, number + 1);
	}
	/* the file begins before the log that is needed: its batch ended before */
	if (r == NULL)
		return WIDE_OK;
	if (r->done != off || r->total != total)
		return parked_damaged(ev->lsn, "a part of a file is missing before it");
	return restore_write(db, r, bytes);
}
