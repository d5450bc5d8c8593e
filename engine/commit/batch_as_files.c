/*
 * batch_as_files.c - the cells of a batch become sorted files, where there is no memory for them.
 *
 * They are inserted into a private memtable first, which sorts them.
 *
 * Locking: none; the files belong to the caller until they are linked.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/commit/batch_as_files.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/set/memtable.h"
#include "engine/batch/bulk.h"

#define MEM_HEAD_ROOM 65536 /* for the head of the memtable */

/* The entry at the cursor, which goes on: for bulk_write. */
static wide_status
next_listed(void *arg, wide_family_id *family, entry *e)
{
	memtable_cursor *c = arg;

	if (!memtable_valid(c))
		return WIDE_END;
	*family = c->family;
	*e = c->e;
	e->seq = 0; /* the file's */
	memtable_next(c);
	return WIDE_OK;
}

/* Inserts the cells into a private memtable in the given memory, and writes files from it. */
static wide_status
list_to_files(wide_db *db, const payload *p, int64_t commit_ts, void *memory, uint64_t bytes,
			  buffer *key, file_meta **files, int *n)
{
	memtable t = {0};
	memtable_handle m;
	memtable_cursor c;
	uint64_t end;

	memtable_init(&m, &t, memory, bytes);
	/* the files get the batch's number when they are linked */
	TRY(payload_apply(p, &m, atomic_load(&t.used), 1, commit_ts, key, &end));
	memtable_cursor_open(&c, &m);
	memtable_first(&c);
	return bulk_write(db, next_listed, &c, true, INT64_MAX, INT64_MIN, NULL, files, n);
}

wide_status
batch_as_files(wide_db *db, const payload *p, int64_t commit_ts, buffer *key, file_meta **files,
			   int *n)
{
	uint64_t bytes = p->need + MEM_HEAD_ROOM;
	void *memory;
	wide_status st;

	/* so that as much memory is allocated as there are cells for */
	TRY(payload_check(p, key));
	memory = malloc(bytes);
	if (memory == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a batch");
	st = list_to_files(db, p, commit_ts, memory, bytes, key, files, n);
	free(memory);
	return st;
}
