/*
 * output.c - the files that a flush, a compaction or a large batch writes.
 *
 * Locking: none.  Until an edit lists or a batch links the files only this process knows
 * them; if it dies they are orphans, which recovery removes.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/compaction/output.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"
#include "engine/sst/sst_writer.h"
#include "engine/set/file_set.h"

wide_status
output_check(wide_db *db)
{
	TRY(segment_check(db));
	return host_interrupted(db) ? status_fail(WIDE_INTERRUPTED, "interrupted") : WIDE_OK;
}

/* Completes the open file. */
static wide_status
finish_file(output *o)
{
	sst_writer *w = o->w;
	file_meta meta;

	if (w == NULL)
		return WIDE_OK;
	memset(&meta, 0, sizeof meta);
	TRY(buffer_reserve(&o->files, sizeof meta));
	o->w = NULL;
	TRY(sst_writer_finish(w, &meta));
	o->bytes += meta.bytes;
	return buffer_append(&o->files, &meta, sizeof meta);
}

wide_status
output_finish(output *o)
{
	for (int i = 0; i < o->nlanes; i++)
	{
		output *l = &o->lanes[i];

		TRY(finish_file(l));
		TRY(buffer_append(&o->files, l->files.data, l->files.len));
		o->bytes += l->bytes;
		buffer_free(&l->files);
	}
	free(o->lanes);
	o->lanes = NULL;
	o->nlanes = 0;
	return finish_file(o);
}

uint64_t
output_bytes(const output *o)
{
	uint64_t bytes = o->bytes + (o->w != NULL ? sst_writer_bytes(o->w) : 0);

	for (int i = 0; i < o->nlanes; i++)
		bytes += output_bytes(&o->lanes[i]);
	return bytes;
}

/* Returns the lane for a timestamp. */
static wide_status
find_lane(output *o, int64_t ts, output **lane)
{
	int64_t window = window_number(ts, o->family.opt.window_us);
	int i = o->lane;

	if (o->lanes == NULL && (o->lanes = calloc(OUTPUT_LANES, sizeof *o->lanes)) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	if (i >= o->nlanes || o->lanes[i].window != window)
		for (i = 0; i < o->nlanes && o->lanes[i].window != window;)
			i++;
	if (i == o->nlanes && i < OUTPUT_LANES)
		o->lanes[o->nlanes++] = (output) {.db = o->db,
										  .family = o->family,
										  .level = o->level,
										  .global = o->global,
										  .unsynced = o->unsynced,
										  .helper = o->helper,
										  .cut = o->cut,
										  .window = window};
	o->lane = i < OUTPUT_LANES ? i : OUTPUT_LANES - 1;
	*lane = &o->lanes[o->lane];
	return WIDE_OK;
}

/* Returns true if the file can end before the entry: it begins another row, or another column when
 * the file is far too long already. */
static bool
may_cut(const output *o, const entry *e)
{
	bool column;

	return sst_writer_may_end(o->w, e, &column) || (column && sst_writer_bytes(o->w) >= 2 * o->cut);
}

wide_status
output_emit(void *arg, const entry *e)
{
	output *o = arg;

	/* below level 0 there are no lanes, because files are disjoint there */
	if (o->family.opt.compaction == WIDE_COMPACT_WINDOW && o->level == 0 && !o->join_windows &&
		(o->lanes != NULL ||
		 (o->w == NULL && file_set_family_files(o->db, o->family.id) < FILE_SET_WINDOW_FILES)))
		TRY(find_lane(o, e->ts, &o));
	if (o->w != NULL && sst_writer_bytes(o->w) >= o->cut && may_cut(o, e))
		TRY(finish_file(o));
	if (o->w == NULL)
	{
		TRY(sst_writer_open(o->db, file_set_new_number(o->db), o->family.id, o->level,
							&o->family.opt, o->global, &o->w));
		if (o->unsynced)
			sst_writer_unsynced(o->w);
		sst_writer_use_helper(o->w, o->helper);
	}
	return sst_writer_add(o->w, e);
}

void
output_discard(output *o)
{
	char path[1100];

	for (int i = 0; i < o->nlanes; i++)
		output_discard(&o->lanes[i]);
	free(o->lanes);
	o->lanes = NULL;
	o->nlanes = 0;
	if (o->w != NULL)
		sst_writer_abandon(o->w);
	o->w = NULL;
	for (int i = 0; i < output_count(o) && segment_check(o->db) == WIDE_OK; i++)
	{
		sst_file_path(o->db, output_files(o)[i].number, path, sizeof path);
		o->db->os->unlink(o->db->os, path);
		sst_reader_forget(o->db, output_files(o)[i].number);
	}
	buffer_free(&o->files);
}
