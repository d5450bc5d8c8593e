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

uint64_t
output_cut(wide_db *db)
{
	uint64_t cut = db->seg->set.file_bytes / (db->seg->set.max_files / 4 + 1);

	return cut > output_file_bytes ? cut : output_file_bytes;
}

/* --------------------------------------------------------------- containers */

/* Completes the open container. */
static wide_status
finish_container(output_share *s)
{
	sst_container *c = s->container;
	uint64_t number;

	if (c == NULL)
		return WIDE_OK;
	number = sst_container_number(c);
	TRY(buffer_reserve(&s->containers, sizeof number));
	s->container = NULL;
	TRY(sst_container_finish(c));
	return buffer_append(&s->containers, &number, sizeof number);
}

/* Takes over the small file that was finished last.  *meta: its facts. */
static wide_status
share_add(output_share *s, file_meta *meta)
{
	uint64_t offset;

	if (s->first_number == 0)
	{
		s->first_number = meta->number;
		return buffer_set(&s->first, s->small.data, s->small.len);
	}
	if (s->container == NULL)
		TRY(sst_container_open(s->db, file_set_new_number(s->db), &s->container));
	if (s->first_container == 0)
	{
		s->first_container = sst_container_number(s->container);
		TRY(sst_container_add(s->container, (wide_bytes) {s->first.data, s->first.len}, &offset));
	}
	meta->container = sst_container_number(s->container);
	TRY(sst_container_add(s->container, (wide_bytes) {s->small.data, s->small.len}, &meta->offset));
	return sst_container_bytes(s->container) >= output_file_bytes ? finish_container(s) : WIDE_OK;
}

/* The files of a family are discarded: the first one of the containers may be among them. */
static void
share_forget(output_share *s, const file_meta *files, int n)
{
	for (int i = 0; i < n && s->first_number != 0 && s->first_container == 0; i++)
		if (files[i].number == s->first_number)
			s->first_number = 0;
}

wide_status
output_share_finish(output_share *s, file_meta *files, int n)
{
	uint64_t offset;

	if (s->first_number != 0 && s->first_container == 0)
	{
		/* the only one */
		TRY(sst_container_open(s->db, s->first_number, &s->container));
		TRY(sst_container_add(s->container, (wide_bytes) {s->first.data, s->first.len}, &offset));
		return finish_container(s);
	}
	TRY(finish_container(s));
	for (int i = 0; i < n && s->first_number != 0; i++)
		if (files[i].number == s->first_number)
		{
			files[i].container = s->first_container;
			files[i].offset = 0;
		}
	return WIDE_OK;
}

void
output_share_discard(output_share *s)
{
	const uint64_t *numbers = (const uint64_t *) s->containers.data;
	char path[1100];

	if (s->container != NULL)
		sst_container_abandon(s->container);
	s->container = NULL;
	for (size_t i = 0; i < s->containers.len / sizeof *numbers; i++)
	{
		if (segment_check(s->db) != WIDE_OK)
			break;
		sst_file_path(s->db, numbers[i], path, sizeof path);
		s->db->os->unlink(s->db->os, path);
	}
	output_share_free(s);
}

void
output_share_free(output_share *s)
{
	buffer_free(&s->containers);
	buffer_free(&s->small);
	buffer_free(&s->first);
}

/* -------------------------------------------------------------------- files */

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
	TRY(sst_writer_finish(w, &meta, o->share != NULL ? &o->share->small : NULL));
	if (o->share != NULL && o->share->small.len > 0)
		TRY(share_add(o->share, &meta));
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

void
output_windows(output *o, int64_t ts_min, int64_t ts_max)
{
	int64_t first, last;

	o->window_bits = 0;
	if (o->family.opt.compaction != WIDE_COMPACT_WINDOW || ts_min > ts_max)
		return;
	first = window_number(ts_min, o->family.opt.window_us);
	last = window_number(ts_max, o->family.opt.window_us);
	/* one lane is for deletes without a timestamp */
	while ((uint64_t) (last >> o->window_bits) - (uint64_t) (first >> o->window_bits) >=
		   OUTPUT_LANES - 1)
		o->window_bits++;
}

/* Returns the lane for a timestamp. */
static wide_status
find_lane(output *o, int64_t ts, output **lane)
{
	int64_t window = window_number(ts, o->family.opt.window_us) >> o->window_bits;
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
										  .share = o->share,
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
	if (o->share != NULL)
		share_forget(o->share, output_files(o), output_count(o));
	for (int i = 0; i < output_count(o) && segment_check(o->db) == WIDE_OK; i++)
	{
		if (output_files(o)[i].container != 0)
			continue;
		sst_file_path(o->db, output_files(o)[i].number, path, sizeof path);
		o->db->os->unlink(o->db->os, path);
		sst_reader_forget(o->db, output_files(o)[i].number);
	}
	buffer_free(&o->files);
}
