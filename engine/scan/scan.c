/*
 * scan.c - rows in key order, assembled from the merged entries of the families.
 *
 * Each family has its own merge of sources (the transaction's batch, memtables, files) and its own
 * visibility.  The next row is the smallest row key at which any family stands (forward), or the
 * largest one below the last row (reverse: found source by source, then read forward).
 * read/visibility.h decides which entries of it are shown.
 *
 * A range of exactly one row (row, row 00) is a get: the filters of files are asked, and the merges
 * are not moved on afterwards.
 *
 * Predicates.  If one clause of them can only be true of an existing cell, rows are looked for in
 * the families of that clause alone: these lead.  The others follow: they go to a row when
 * something of it is to be read, and not at all to rows that a predicate has rejected.
 *
 * scan_row.c reads the cells of a row and says how long their bytes live; scan_block.c takes rows
 * straight from a block where that gives the same answer.
 *
 * Pins.  A scan pins the memtables and files of the version in which it began.  A long scan would
 * keep memtables from being reused, so between two rows it moves to the current version as soon as
 * one of its memtables has been flushed.  The answer does not change: the snapshot is the same.
 *
 * Interruption.  Before the first part of a row is returned, a call can be repeated: step_back puts
 * the scan where the call began.  The later parts of a long row are read without interruption,
 * because the scan cannot go back to the middle of a row.
 *
 * Locking: none; the pin protects what is read.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/snapshot.h"
#include "engine/read/merge.h"
#include "engine/read/visibility.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_back.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_count.h"
#include "engine/scan/scan_open.h"
#include "engine/scan/scan_range.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_run.h"
#include "engine/scan/scan_span.h"
#include "engine/scan/scan_sources.h"
#include "engine/scan/scan_state.h"

#define ROW_CELLS 4096 /* of one wide_row, where the spec does not say it */

/* -------------------------------------------------------------------- rows */

/* Begins the row row.key.  WIDE_CORRUPT: it has no terminator, and nothing would be behind it. */
static wide_status
begin_row(scan_state *s)
{
	if (s->row.key.len < 2 || s->row.key.data[s->row.key.len - 1] != 1)
		return status_fail(WIDE_CORRUPT, "a row's key has no end");
	s->ranges.state = RANGE_ENTERED;
	s->row.phase = ROW_READING;
	s->row.verdict = ROW_UNKNOWN;
	s->row.shown = 0;
	s->row.number++;
	TRY(buffer_set(&s->row.after, s->row.key.data, s->row.key.len));
	s->row.after.data[s->row.after.len - 1]++; /* terminator 00 01 -> 00 02 */
	for (int i = 0; i < s->nfamilies; i++)
		s->families[i].row.state = FAMILY_UNREAD;
	if (s->ntesting > 0)
	{
		predicate_row(&s->pred);
		s->row.untested = s->pred.ncolumns;
	}
	return WIDE_OK;
}

/* Moves a family that follows to the current row, or behind it if it has no such row. */
static wide_status
follow(scan_state *s, scan_family *f)
{
	const entry *e;
	bool next = f->follow.placed && f->follow.last_row + 1 == s->row.number;

	f->follow.last_row = s->row.number;
	if (s->ranges.cur->point || s->reverse || !f->follow.placed)
	{
		if (!s->ranges.cur->point && s->reverse)
		{
			f->limits.hi = s->row.after.data;
			f->limits.hilen = (uint32_t) s->row.after.len;
		}
		else
			f->follow.placed = !s->ranges.cur->point;
		return scan_seek(f, scan_bytes(&s->row.key));
	}
	e = merge_entry(f->m);
	if (e == NULL || ukey_compare(e->ukey, e->klen, s->row.key.data, s->row.key.len) >= 0)
		return WIDE_OK;
	if (next)
		return merge_pass(f->m, s->row.key.data, (uint32_t) s->row.key.len);
	return merge_skip(f->m, s->row.key.data, (uint32_t) s->row.key.len, INT64_MAX, SEQ_MAX);
}

/* Prepares the family for the current row. */
static wide_status
family_begin(scan_state *s, scan_family *f)
{
	if (!f->leads)
		TRY(follow(s, f));
	f->row.state = FAMILY_DONE;
	if (scan_row_has(s, merge_entry(f->m)))
	{
		f->row.state = FAMILY_BETWEEN;
		visibility_row(&f->view);
	}
	f->row.passed_over = false;
	f->row.at = f->row.steps = 0;
	f->row.tested = s->row.untested > 0 ? 0 : f->columns.n;
	f->row.show = true;
	f->row.test = NULL;
	return WIDE_OK;
}

/* Begins the smallest row at which a leading family stands.  WIDE_END: the range has no more. */
static wide_status
row_forward(scan_state *s)
{
	const entry *first = scan_range_first(s);

	if (scan_range_over(s, first))
		return WIDE_END;
	/* in a damaged block a search may lead back, and there would be no end */
	if (s->ranges.state == RANGE_ENTERED && !s->ranges.cur->point &&
		ukey_compare(first->ukey, first->rowlen, s->row.after.data, s->row.after.len) < 0)
		return status_fail(WIDE_CORRUPT, "rows are not in order");
	TRY(buffer_set(&s->row.key, first->ukey, first->rowlen));
	return begin_row(s);
}

/* Begins the largest row below row.bound.  WIDE_END: the range has no more. */
static wide_status
row_reverse(scan_state *s)
{
	scan_family *last = NULL;

	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		if (!f->leads)
			continue;
		if (f->before.state == BEFORE_UNKNOWN ||
			(f->before.state == BEFORE_FOUND &&
			 scan_compare(scan_bytes(&f->before.row), scan_bytes(&s->row.bound)) >= 0))
		{
			wide_status st = merge_row_before(f->m, s->row.bound.data, (uint32_t) s->row.bound.len,
											  &f->before.row);

			if (st != WIDE_END)
				TRY(st);
			f->before.state = st == WIDE_END ? BEFORE_NONE : BEFORE_FOUND;
		}
		if (f->before.state == BEFORE_FOUND &&
			(last == NULL ||
			 scan_compare(scan_bytes(&f->before.row), scan_bytes(&last->before.row)) > 0))
			last = f;
	}
	if (last == NULL || scan_compare(scan_bytes(&last->before.row), s->ranges.cur->lo) < 0)
		return WIDE_END;
	TRY(buffer_set(&s->row.key, last->before.row.data, last->before.row.len));
	TRY(buffer_set(&s->row.after, s->row.key.data, s->row.key.len));
	s->row.after.data[s->row.after.len - 1]++;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		/* of all families: row.after may have moved */
		f->limits.hi = s->row.after.data;
		f->limits.hilen = (uint32_t) s->row.after.len;
		if (!f->leads || f->before.state != BEFORE_FOUND ||
			scan_compare(scan_bytes(&f->before.row), scan_bytes(&s->row.key)) != 0)
			continue;
		TRY(scan_seek(f, scan_bytes(&s->row.key)));
		f->before.state = BEFORE_UNKNOWN;
	}
	/* last, so that the call can be repeated after an interruption */
	TRY(buffer_set(&s->row.bound, s->row.key.data, s->row.key.len));
	return begin_row(s);
}

/* Moves the leading families behind the current row.  Families that follow are moved when they are
 * read next. */
static wide_status
leave_row(scan_state *s)
{
	s->row.phase = ROW_NONE;
	if (s->ranges.cur->point || s->reverse)
		return WIDE_OK;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		if (f->leads && scan_row_has(s, merge_entry(f->m)))
			TRY(merge_pass(f->m, s->row.after.data, (uint32_t) s->row.after.len));
	}
	return WIDE_OK;
}

/* Asks the filter about the current row; if it is not accepted, moves on as far as the filter says.
 */
static wide_status
filter_row(scan_state *s, bool *accepted)
{
	wide_bytes key;
	wide_row_verdict verdict;

	s->out.key.len = 0;
	TRY(key_decode_part(s->row.key.data, s->row.key.len, &s->out.key, &key));
	TRY(scan_range_ask_row_filter(s, &s->row.key, key, &verdict));
	*accepted = verdict == WIDE_ROW_ACCEPT;
	if (*accepted)
		return WIDE_OK;
	s->row.phase = ROW_NONE;
	if (verdict == WIDE_ROW_END)
	{
		s->ranges.next = s->ranges.n;
		s->ranges.state = RANGE_CLOSED;
		return WIDE_OK;
	}
	return verdict == WIDE_ROW_SEEK ? scan_range_follow_filter(s) : leave_row(s);
}

/* Begins the next row of any range that the filter accepts.  WIDE_END: there is none. */
static wide_status
next_row(scan_state *s)
{
	bool accepted;

	for (;;)
	{
		wide_status st;

		if (!scan_range_is_open(s))
			TRY(scan_range_open(s));
		st = s->reverse && !s->ranges.cur->point ? row_reverse(s) : row_forward(s);
		if (st == WIDE_END)
			s->ranges.state = RANGE_CLOSED;
		else if (st != WIDE_OK || s->filter.fn == NULL)
			return st;
		else
		{
			TRY(filter_row(s, &accepted));
			if (accepted)
				return WIDE_OK;
		}
	}
}

/* None of the wanted columns is visible: finds out whether the row has another visible cell. */
static wide_status
other_cells(scan_state *s, scan_family *f)
{
	wide_want want = f->want;
	bool full = false;
	wide_status st;

	TRY(scan_seek(f, scan_bytes(&s->row.key)));
	f->row.state = FAMILY_BETWEEN;
	f->row.steps = 0;
	visibility_row(&f->view);
	f->want = WIDE_WANT_EXISTS;
	st = scan_row_family(s, f, &full);
	f->want = want;
	return st;
}

/* Drops the cells that were collected of the current row. */
static void
drop_cells(scan_state *s)
{
	s->stats.cells_returned -= (uint64_t) s->out.n;
	scan_row_release(s);
}

/* The row has passed, but not all of its wanted cells were kept (ROW_TESTING): reads it again,
 * without tests. */
static wide_status
read_again(scan_state *s)
{
	drop_cells(s);
	s->row.phase = ROW_READING;
	s->row.shown = 0;
	for (int i = 0; i < s->ntesting; i++)
	{
		scan_family *f = s->order[i];

		TRY(scan_seek(f, scan_bytes(&s->row.key)));
		f->row.state = FAMILY_UNREAD;
	}
	return WIDE_OK;
}

/* Reads the current row or its next part in a family, which may be unread. */
static wide_status
read_family(scan_state *s, scan_family *f, bool *full)
{
	if (f->row.state == FAMILY_UNREAD)
		TRY(family_begin(s, f));
	if (f->row.state == FAMILY_DONE && f->row.tested >= f->columns.n)
		return WIDE_OK;
	return scan_row_family(s, f, full);
}

/* Reads the families of which cells are wanted or tested. */
static wide_status
read_cells(scan_state *s, bool *full)
{
	for (int i = 0; i < s->nfamilies && !*full; i++)
	{
		scan_family *f = s->order[i];

		if (f->want == WIDE_WANT_EXISTS)
			continue;
		if (i >= s->ntesting && s->row.shown >= s->row_limit)
			break;
		TRY(read_family(s, f, full));
		if (s->row.verdict == ROW_REJECTED)
			return WIDE_OK;
		if (s->row.phase == ROW_TESTING && i + 1 == s->ntesting)
		{
			TRY(read_again(s));
			i = -1;
		}
	}
	return WIDE_OK;
}

/* Reads the current row or its next part.  *full: the wide_row is full, and the row goes on. */
static wide_status
read_row(scan_state *s, bool *full)
{
	*full = false;
	TRY(read_cells(s, full));
	if (*full)
		return WIDE_OK;
	if (s->row.verdict == ROW_REJECTED)
	{
		s->stats.rows_rejected++;
		if (s->out.n > 0)
			drop_cells(s);
		return leave_row(s);
	}
	for (int i = 0; i < s->nfamilies && s->row.verdict != ROW_EXISTS; i++)
		if (s->families[i].want == WIDE_WANT_EXISTS)
			TRY(read_family(s, &s->families[i], full));
	for (int i = 0; i < s->nfamilies && s->row.verdict != ROW_EXISTS; i++)
		if (s->families[i].any_exists && s->families[i].row.passed_over)
			TRY(other_cells(s, &s->families[i]));
	return leave_row(s);
}

/* ------------------------------------------------------------------ public */

wide_status
wide_scan_open(wide_db *db, const wide_snapshot *snap, const wide_scan_spec *spec, wide_scan **out)
{
	scan_state *s;
	wide_status st;

	*out = NULL;
	TRY(segment_check(db));
	s = pool_alloc(sizeof(*s));
	if (s == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	s->db = db;
	s->snap = snap;
	s->reverse = spec->reverse;
	s->time.ts_min = spec->ts_min;
	s->time.ts_max = spec->ts_max;
	s->time.show_min = spec->show_min;
	s->time.show_max = spec->show_max;
	s->time.filtered = s->time.show_min != 0 || s->time.show_max != 0;
	s->time.now_given = spec->now != 0;
	s->time.now = s->time.now_given ? spec->now : snapshot_now(snap);
	s->seq = wide_snapshot_lsn(snap);
	s->generation = wide_catalog_generation(db);
	s->batch = spec->own;
	s->batch_mark = spec->own_mark;
	s->row_cells = spec->row_cells != 0 ? spec->row_cells : ROW_CELLS;
	s->row_limit = spec->row_limit != 0 ? spec->row_limit : UINT32_MAX;
	s->row_hint = s->block.ahead.expected = spec->row_hint;
	s->operands = spec->operands;
	s->filter.fn = spec->row_filter;
	s->filter.arg = spec->filter_arg;
	s->filter.follows = spec->filter_follows;
	s->out.call = 1;
	TRY_GOTO(predicate_init(&s->pred, spec->predicates, spec->npredicates, spec->nfamilies));
	TRY_GOTO(scan_open_families(s, spec));
	TRY_GOTO(scan_range_set(s, spec->ranges, spec->nranges));
	TRY_GOTO(scan_sources_make(s));
	scan_span_init(s, spec);
	s->block.possible = !scan_block_off;
	s->block.ahead.limit = 1;
	*out = &s->door;
	return WIDE_OK;
done:
	wide_scan_close(&s->door);
	return st;
}

/* Between two rows: makes the sources again if they were dropped, or if one of them is a memtable
 * that could be reused. */
static wide_status
refresh(scan_state *s)
{
	if (s->sources.pinned && !scan_sources_stale(s))
		return WIDE_OK;
	TRY(scan_block_drop(s));
	scan_sources_drop(s);
	TRY(scan_sources_make(s));
	if (!scan_range_is_open(s) || (s->ranges.cur->point && s->ranges.state == RANGE_ENTERED))
		return WIDE_OK;
	return scan_range_seek(s);
}

static wide_status
scan_step(scan_state *s, wide_row *row)
{
	bool full;

	if (s->row.phase == ROW_NONE)
	{
		s->row.verdict = ROW_UNKNOWN;
		TRY(refresh(s));
	}
	for (;;)
	{
		bool first = s->row.phase == ROW_NONE;

		if (first && s->block.possible)
		{
			TRY(scan_block_next(s));
			if (s->door.nahead == 0)
				TRY(scan_back_next(s));
			if (wide_scan_ready(&s->door, row))
				return WIDE_OK;
		}
		if (first)
			TRY(next_row(s));
		TRY(read_row(s, &full));
		TRY(s->failed);
		if (s->row.verdict != ROW_EXISTS)
			continue;
		s->stats.rows_returned += first;
		s->out.key.len = 0;
		TRY(key_decode_part(s->row.key.data, s->row.key.len, &s->out.key, &row->key));
		row->cells = s->out.cells;
		row->ncells = s->out.n;
		row->more = full;
		row->unsure = s->pred.unsure;
		return WIDE_OK;
	}
}

/*
 * Puts an interrupted call back before the row that it was reading, so that it can be repeated.
 * The sources are dropped.
 */
static wide_status
step_back(scan_state *s)
{
	scan_row_release(s);
	scan_sources_drop(s);
	if (s->row.phase == ROW_NONE && s->row.verdict != ROW_EXISTS)
		return WIDE_OK;
	s->row.phase = ROW_NONE;
	s->row.verdict = ROW_UNKNOWN;
	if (s->ranges.cur->point)
		s->ranges.state = RANGE_AT_START;
	else if (s->reverse)
		return buffer_set(&s->row.bound, s->row.after.data, s->row.after.len);
	else
		return buffer_set(&s->row.after, s->row.key.data, s->row.key.len);
	return WIDE_OK;
}

wide_status
wide_scan_next(wide_scan *scan, wide_row *row)
{
	scan_state *s = scan_state_of(scan);
	bool (*ask)(void *) = s->db->host.interrupted;
	wide_status st;

	if (wide_scan_ready(scan, row))
		return WIDE_OK;
	memset(row, 0, sizeof(*row));
	TRY(s->failed);
	s->failed = scan_block_given(s);
	scan_row_release(s);
	TRY(s->failed);
	TRY(segment_check(s->db));
	/* there is no way back to the beginning of a part of a row */
	if (s->row.phase != ROW_NONE)
		s->db->host.interrupted = NULL;
	st = scan_step(s, row);
	s->db->host.interrupted = ask;
	/* after any other failure the positions are lost */
	if (st == WIDE_INTERRUPTED)
		s->failed = step_back(s);
	else if (st != WIDE_OK && st != WIDE_END)
		s->failed = st;
	return st;
}

void
wide_scan_park(wide_scan *scan)
{
	scan_state *s = scan_state_of(scan);

	if (s->row.phase != ROW_NONE || !s->sources.pinned || s->failed != WIDE_OK)
		return;
	s->failed = scan_block_drop(s);
	s->block.ahead.expected = 0;
	scan_row_release(s);
	scan_sources_drop(s);
}

void
wide_scan_close(wide_scan *scan)
{
	scan_state *s = scan_state_of(scan);

	if (scan == NULL)
		return;
	scan_row_release(s);
	scan_sources_drop(s);
	scan_count(s);
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		visibility_free(&f->view);
		buffer_free(&f->columns.encoded);
		buffer_free(&f->one_column);
		buffer_free(&f->row.ukey);
		free(f->row.folded.v);
		free(f->row.folded.registers);
		append_free(&f->row.appended);
		buffer_free(&f->target);
		buffer_free(&f->before.row);
		free(f->columns.list);
		scan_run_free(f);
	}
	free(s->out.arena);
	free(s->out.cells);
	scan_block_free(s);
	buffer_free(&s->ranges.bounds);
	buffer_free(&s->row.key);
	buffer_free(&s->row.bound);
	buffer_free(&s->filter.seek);
	buffer_free(&s->row.after);
	buffer_free(&s->out.key);
	predicate_free(&s->pred);
	pool_free(s->families, s->families_bytes);
	free(s->ranges.list);
	pool_free(s, sizeof(*s));
}
