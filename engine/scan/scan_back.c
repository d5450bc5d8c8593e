/*
 * scan_back.c - rows that a reverse scan takes straight from blocks.
 *
 * A reverse scan finds one row after the other, source by source, and then reads it forward, which
 * takes ten times as long as the next row forward.  Here it reads a piece [from, bound) of the
 * range, the last one that is not handed out, forward as scan_block.c does, and hands the rows out
 * backwards.
 *
 * `from` is chosen so that each source has the rows of the piece in one block, that there are not
 * more than can be read ahead, and that no source that is not one of files has any.  If they
 * cannot all be taken as they are, nothing of the piece is, and the last row is read entry by
 * entry.
 *
 * Not with a row filter, which is asked in the order of the scan and may lead on.
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <string.h>
#include "engine/scan/scan_back.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/sst/block.h"
#include "engine/sst/block_key.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/source_file.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_range.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_state.h"

#define LEAST_ROWS	4  /* fewer are read one by one */
#define MOST_SINGLY 64 /* rows read one by one before a piece is tried again */

/* What the sources of the leading families have before bound. */
static wide_status
find_last_rows(scan_state *s, bool *some)
{
	scan_back *b = &s->block.back;

	*some = false;
	TRY(buffer_set(&b->bound, s->row.bound.data, s->row.bound.len));
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];
		wide_status st;

		f->limits.hi = b->bound.data;
		f->limits.hilen = (uint32_t) b->bound.len;
		if (!f->leads)
			continue;
		st = merge_row_before(f->m, b->bound.data, (uint32_t) b->bound.len, &b->row);
		if (st == WIDE_END)
			continue;
		TRY(st);
		*some = true;
	}
	return WIDE_OK;
}

/* Raises from to a key, if that is greater. */
static wide_status
raise_from(scan_back *b, const uint8_t *key, size_t len)
{
	if (scan_compare((wide_bytes) {key, len}, scan_bytes(&b->from)) <= 0)
		return WIDE_OK;
	return buffer_set(&b->from, key, len);
}

/*
 * Raises from so that it is not below what the source has in one block up to its last row, `rows`
 * rows at most.  *possible: false if the last row of the piece cannot be in a block.
 */
static wide_status
limit_by_source(scan_back *b, source *src, uint32_t rows, bool *possible)
{
	const file_source *f = source_file_of(src);
	const block_cursor *c;
	uint32_t row;

	if (src->before_none || scan_compare(scan_bytes(&src->before), scan_bytes(&b->from)) < 0)
		return WIDE_OK;
	if (f == NULL)
	{
		/* behind that row */
		TRY(buffer_set(&b->row, src->before.data, src->before.len));
		b->row.data[b->row.len - 1]++; /* terminator 00 01 -> 00 02 */
		return raise_from(b, b->row.data, b->row.len);
	}
	TRY(source_seek(src, src->before.data, (uint32_t) src->before.len, INT64_MAX, SEQ_MAX));
	c = &f->cursor.block;
	if (src->e == NULL || src->e->rowlen != src->before.len ||
		memcmp(src->e->ukey, src->before.data, src->before.len) != 0)
	{
		/* entries that it need not return */
		*possible = false;
		return WIDE_OK;
	}
	/* the block's first row may have begun in the block before */
	row = c->row >= rows ? c->row - rows + 1 : c->row > 0 ? 1 : 0;
	TRY(block_key(&c->row_keys, row, false, &b->row));
	return raise_from(b, b->row.data, b->row.len);
}

/* Chooses from; *possible: rows of the piece may be taken as they are. */
static wide_status
choose_from(scan_state *s, uint32_t rows, bool *possible)
{
	scan_back *b = &s->block.back;
	uint32_t most = 1;

	*possible = true;
	TRY(buffer_set(&b->from, s->ranges.cur->lo.data, s->ranges.cur->lo.len));
	for (int i = 0; i < s->nfamilies; i++)
	{
		uint32_t files = 0;

		for (int k = 0; k < s->families[i].m->n && s->families[i].leads; k++)
		{
			source *src = s->families[i].m->sources[k];

			files += source_file_of(src) != NULL && !src->before_none;
		}
		most = files > most ? files : most;
	}
	rows = rows / most > 0 ? rows / most : 1;
	for (int i = 0; i < s->nfamilies; i++)
		for (int k = 0; k < s->families[i].m->n && s->families[i].leads && *possible; k++)
			TRY(limit_by_source(b, s->families[i].m->sources[k], rows, possible));
	return WIDE_OK;
}

/* Moves the leading families to from.  The others stay, so that nothing is read of them where no
 * row passes; a row of which they have to be read is not taken from runs. */
static wide_status
move_to_from(scan_state *s)
{
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].leads)
			TRY(scan_seek(&s->families[i], scan_bytes(&s->block.back.from)));
	return WIDE_OK;
}

/* The rows that were read ahead come in the opposite order. */
static void
turn_round(scan_state *s)
{
	wide_row *rows = s->block.ahead.rows;
	int n = s->door.nahead;

	for (int i = 0; i < n / 2; i++)
	{
		wide_row row = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = row;
	}
	for (int i = 0; i < n; i++)
		rows[i].span_end = rows[i].span != NULL && i == n - 1;
}

/*
 * Opens the runs of the piece.  None of them goes on behind its block: what the source has there
 * lies behind the piece (limit_by_source).  A row that goes on in the next block is in no run.
 */
static wide_status
open_runs(scan_state *s, const entry *first)
{
	TRY(scan_block_runs_open(s, first, scan_bytes(&s->block.back.bound)));
	for (int i = 0; i < s->nfamilies && s->block.open; i++)
		for (int k = 0; k < s->families[i].nruns; k++)
		{
			scan_run *run = &s->families[i].runs[k];

			if (run->plain && run->end == run->block->rows)
				run->why = RUN_ENDS_RANGE;
		}
	return WIDE_OK;
}

/* Reads the piece, for which `rows` rows were asked for.  *all: all of its rows could be taken as
 * they are. */
static wide_status
read_piece(scan_state *s, int rows, bool *all)
{
	scan_block *sb = &s->block;
	wide_bytes bound = scan_bytes(&sb->back.bound);
	const entry *first;

	*all = false;
	TRY(move_to_from(s));
	first = scan_range_first(s);
	if (first == NULL)
		return WIDE_OK;
	TRY(open_runs(s, first));
	if (!sb->open)
		return WIDE_OK;
	sb->open = false;
	TRY(scan_block_read(s, rows, scan_block_rows(s, SCAN_BLOCK_ROWS)));
	*all = sb->norder == 0 && !sb->empty && sb->next == BLOCK_GOES_ON &&
		   (sb->stop.len == 0 || scan_compare(sb->stop, bound) >= 0);
	if (*all)
		turn_round(s);
	return WIDE_OK;
}

/* There is no such piece, or it was read in vain: reads single rows before the next one, more of
 * them each time, and then small pieces. */
static void
give_up(scan_state *s)
{
	scan_back *b = &s->block.back;

	scan_block_forget(s);
	scan_row_release(s);
	b->penalty = b->penalty == 0 ? 1 : 2 * b->penalty;
	if (b->penalty > MOST_SINGLY)
		b->penalty = MOST_SINGLY;
	b->singly = b->penalty;
	s->block.ahead.limit = LEAST_ROWS;
}

/* As scan_back_next.  *again: no row of the piece exists, or passes. */
static wide_status
next_piece(scan_state *s, bool *again)
{
	scan_block *sb = &s->block;
	uint64_t rejected = s->stats.rows_rejected;
	bool some, possible, all;
	int rows;

	*again = false;
	if (sb->back.singly > 0)
	{
		sb->back.singly--;
		return WIDE_OK;
	}
	if (sb->ahead.limit < LEAST_ROWS)
	{
		sb->ahead.limit *= 2;
		return WIDE_OK;
	}
	rows = scan_block_rows(s, sb->ahead.limit);
	if (rows < LEAST_ROWS || scan_compare(scan_bytes(&s->row.bound), s->ranges.cur->lo) <= 0)
		return WIDE_OK;
	TRY(find_last_rows(s, &some));
	if (!some)
		return WIDE_OK;
	TRY(choose_from(s, (uint32_t) rows, &possible));
	all = possible && scan_compare(scan_bytes(&sb->back.from), scan_bytes(&sb->back.bound)) < 0;
	if (all)
		TRY(read_piece(s, rows, &all));
	if (!all)
	{
		/* they are read again */
		s->stats.rows_rejected = rejected;
		give_up(s);
		return WIDE_OK;
	}
	sb->back.penalty = 0;
	scan_block_more(sb);
	if (s->door.nahead > 0)
		return WIDE_OK;
	*again = true;
	return buffer_set(&s->row.bound, sb->back.from.data, sb->back.from.len);
}

wide_status
scan_back_next(scan_state *s)
{
	bool again = true;
	wide_status st = WIDE_OK;

	if (!s->reverse || s->filter.fn != NULL || !scan_range_is_open(s) || s->ranges.cur->point)
		return WIDE_OK;
	while (st == WIDE_OK && again)
		st = next_piece(s, &again);
	if (st != WIDE_OK)
	{
		scan_block_forget(s);
		scan_row_release(s);
	}
	return st;
}
