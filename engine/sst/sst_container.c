/*
 * sst_container.c - a file of the directory that several sorted files are written to.
 *
 * A container has no format of its own: it is whole sorted files, one behind the other.  The
 * manifest says where each begins.  Checksums count offsets from there, so the same bytes are valid
 * in any container.
 *
 * Invariant: as for a sorted file of its own, a container has its final name only when it is
 * complete and synced.
 *
 * Locking: none, everything is private to the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include "engine/sst/sst_container.h"
#include "engine/base/buffer.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_file.h"

#define WRITE_BUFFER (256 * 1024)

struct sst_container
{
	wide_db *db;
	uint64_t number;
	wide_status failed;
	int fd;
	buffer out;	  /* what is not yet written */
	uint64_t off; /* of out in the file */
	char path[SST_PATH];
	char tmp[SST_PATH + 4];
};

wide_status
sst_container_open(wide_db *db, uint64_t number, sst_container **out)
{
	sst_container *c = calloc(1, sizeof(*c));
	wide_status st;

	*out = NULL;
	if (c == NULL)
		return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", sizeof(*c));
	c->db = db;
	c->number = number;
	sst_file_path(db, number, c->path, sizeof(c->path));
	snprintf(c->tmp, sizeof(c->tmp), "%s.tmp", c->path);
	c->fd = os_create(db->os, c->tmp);
	if (c->fd < 0)
	{
		st = os_fail(c->fd, "create file", c->tmp);
		free(c);
		return st;
	}
	*out = c;
	return WIDE_OK;
}

static wide_status
write_out(sst_container *c)
{
	int64_t r;

	if (c->out.len == 0)
		return WIDE_OK;
	r = c->db->os->pwrite(c->db->os, c->fd, c->out.data, c->out.len, c->off);
	if (r < 0)
		return os_fail(r, "write file", c->tmp);
	c->off += c->out.len;
	c->out.len = 0;
	return WIDE_OK;
}

wide_status
sst_container_add(sst_container *c, wide_bytes file, uint64_t *offset)
{
	*offset = c->off + c->out.len;
	if (c->failed == WIDE_OK)
		c->failed = buffer_append(&c->out, file.data, file.len);
	if (c->failed == WIDE_OK && c->out.len >= WRITE_BUFFER)
		c->failed = write_out(c);
	injection_point("container-added");
	return c->failed;
}

uint64_t
sst_container_bytes(const sst_container *c)
{
	return c->off + c->out.len;
}

uint64_t
sst_container_number(const sst_container *c)
{
	return c->number;
}

static void
container_free(sst_container *c)
{
	buffer_free(&c->out);
	free(c);
}

wide_status
sst_container_finish(sst_container *c)
{
	wide_os *os = c->db->os;
	wide_status st;
	int r;

	TRY_GOTO(c->failed);
	TRY_GOTO(write_out(c));
	injection_point("sst-written");
	host_waits(c->db, WIDE_WAIT_SYNC);
	r = os->sync(os, c->fd);
	host_waits(c->db, WIDE_WAIT_NONE);
	if (r < 0)
		TRY_GOTO(os_fail(r, "sync file", c->tmp));
	r = os->close(os, c->fd);
	c->fd = -1;
	if (r < 0)
		TRY_GOTO(os_fail(r, "close file", c->tmp));
	injection_point("sst-synced");
	if ((r = os->rename(os, c->tmp, c->path)) < 0)
		TRY_GOTO(os_fail(r, "rename file", c->tmp));
	injection_point("sst-renamed");
	container_free(c);
	return WIDE_OK;
done:
	sst_container_abandon(c);
	return st;
}

void
sst_container_abandon(sst_container *c)
{
	wide_os *os = c->db->os;

	if (c->fd >= 0)
		os->close(os, c->fd);
	/* if this fails, recovery removes the file with the other orphans */
	os->unlink(os, c->tmp);
	container_free(c);
}
