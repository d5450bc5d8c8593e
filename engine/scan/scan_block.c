/*
 * scan_block.c - rows that are taken from blocks as they are.
 *
 * scan_run.c says which rows of a block these are.  Here the runs of all sources of all families
 * are put together by row: scan_block.order has the runs of the leading families by the key of
 * their next row, and runs that follow go to a row when it is read.
 *
 * Why the answer is the same as that of scan_row.c.  The merges stand at the first entry of a row.
 * No row behind `stop` is taken, the least row of the sources that are no runs (memtables, the
 * transaction's batch, blocks that are not plain), so that the runs have all entries of the rows
 * that are taken.  If two runs of one family have the row, it is read entry by entry too.  So of
 * each family one run at most has the row, and all of its entries are shown.  A row of a block has
 * an entry, so it exists, except where existence is that of the wanted columns.
 *
 * Everything else goes entry by entry, row by row: blocks with deletes, with times to live, of an
 * excluded or a later transaction, and rows that are also in a memtable.  scan_back.c does the same
 * for reverse scans.
 *
 * The row filter is asked about each row, as it is otherwise; the key to which it leads is searched
 * in the blocks first.  Predicates are evaluated before anything else of a row is looked at.
 *
 * Some rows are read ahead, one at first and up to SCAN_BLOCK_ROWS, and handed out one by one.
 * Their values lie in the pinned blocks, their keys in the arena.  A source moves only when the
 * rows that were read from its block are handed out.
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_block.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/sst/block.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_block_row.h"
#include "engine/scan/scan_range.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_run.h"
#include "engine/scan/scan_span.h"
#include "engine/scan/scan_state.h"

void
scan_block_count(scan_state *s)
{
	scan_block *sb = &s->block;

	if (sb->span.on)
	{
		scan_span_count(s, sb->ahead.counted, s->door.given);
		sb->ahead.counted = s->door.given;
	}
	for (; sb->ahead.counted < s->door.given; sb->ahead.counted++)
	{
		uint64_t n = (uint64_t) s->door.ahead[sb->ahead.counted].ncells;

		s->stats.rows_returned++;
		s->stats.cells_returned += n;
		s->stats.cells_scanned += n > 0 ? n : 1;
	}
}

void
scan_block_forget(scan_state *s)
{
	scan_block_count(s);
	s->block.ahead.counted = 0;
	s->door.nahead = s->door.given = 0;
}

void
scan_block_restart(scan_state *s)
{
	scan_block_forget(s);
	s->block.open = false;
	s->block.next = BLOCK_GOES_ON;
	for (int i = 0; i < s->nfamilies; i++)
		scan_run_forget(&s->families[i]);
	/* a cursor from which rows are fetched one by one rests after each */
	s->block.ahead.limit = 1;
	s->block.back.singly = s->block.back.penalty = 0;
	s->block.cells = 0;
}

void
scan_block_free(scan_state *s)
{
	buffer_free(&s->block.first);
	buffer_free(&s->block.passed);
	buffer_free(&s->block.back.from);
	buffer_free(&s->block.back.bound);
	buffer_free(&s->block.back.row);
	free(s->block.order);
	free(s->block.ahead.rows);
	scan_span_free(s);
}

/* ---------------------------------------------------------------- the runs */

/* Adds a run that has a row to order. */
static wide_status
order_add(scan_block *sb, scan_run *run)
{
	int i = 0;

	run->same = false;
	if (sb->norder == 0)
	{
		/* its key is made when it is wanted */
		sb->order[sb->norder++] = run;
		return WIDE_OK;
	}
	TRY(scan_run_key(run, run->row));
	if (sb->norder == 1)
		TRY(scan_run_key(sb->order[0], sb->order[0]->row));
	for (; i < sb->norder; i++)
	{
		int c = scan_compare(scan_bytes(&run->key.encoded), scan_bytes(&sb->order[i]->key.encoded));

		if (c < 0)
			break;
		run->same = c == 0;
	}
	memmove(sb->order + i + 1, sb->order + i, (size_t) (sb->norder - i) * sizeof(sb->order[0]));
	sb->order[i] = run;
	sb->norder++;
	return WIDE_OK;
}

/* Lowers stop to a row of a source that is no run. */
static void
lower_stop(scan_block *sb, const entry *e)
{
	wide_bytes row = {e->ukey, e->rowlen};

	if (sb->stop.len == 0 || scan_compare(row, sb->stop) < 0)
		sb->stop = row;
}

/* Cuts all runs at the end of the range and at stop, and puts those that have rows in order. */
static wide_status
arrange(scan_state *s)
{
	scan_block *sb = &s->block;
	const scan_range *r = s->ranges.cur;
	int n = 0;

	sb->norder = sb->cells = 0;
	sb->empty = sb->together = false;
	for (int i = 0; i < s->nfamilies; i++)
		n += s->families[i].nruns;
	while (sb->order_cap < n)
		TRY(array_grow((void **) &sb->order, sb->order_cap, &sb->order_cap, sizeof(*sb->order)));
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];
		int cells = 0;

		for (int k = 0; k < f->nruns; k++)
		{
			scan_run *run = &f->runs[k];

			if (!run->plain)
				continue;
			if (run->columns.nwanted > cells)
				cells = run->columns.nwanted;
			if (r->point && run->end > run->row + 1)
			{
				run->end = run->row + 1;
				run->why = RUN_ENDS_RANGE;
			}
			TRY(scan_run_cut(run, sb->end, RUN_ENDS_RANGE));
			TRY(scan_run_cut(run, sb->stop, RUN_ENDS_STOP));
			if (f->leads && run->row < run->end)
				TRY(order_add(sb, run));
		}
		sb->cells += cells;
	}
	return WIDE_OK;
}

/* Returns true if two runs of one family have the next row. */
static bool
row_twice(const scan_block *sb)
{
	for (int i = 1; i < sb->norder && sb->order[i]->same; i++)
		for (int k = 0; k < i; k++)
			if (sb->order[i]->family == sb->order[k]->family)
				return true;
	return false;
}

static bool
too_many_cells(const scan_state *s)
{
	return s->block.cells > SCAN_BLOCK_CELLS || (uint32_t) s->block.cells > s->row_cells;
}

wide_status
scan_block_runs_open(scan_state *s, const entry *first, wide_bytes end)
{
	scan_block *sb = &s->block;
	const scan_range *r = s->ranges.cur;

	sb->stop.len = 0;
	sb->end = end;
	sb->open = false;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		f->nruns = 0;
		/* a family that follows goes to its first row by itself */
		if (!f->leads && !f->follow.placed)
			continue;
		if (merge_waits(f->m))
			return WIDE_OK;
		TRY(scan_run_open(f));
		for (int k = 0; k < f->nruns; k++)
		{
			scan_run *run = &f->runs[k];
			const entry *e = run->src->e;

			bool out = r->point &&
					   (e->rowlen != r->lo.len || memcmp(e->ukey, r->lo.data, e->rowlen) != 0);

			/* it has other rows, but not this one */
			if (out && run->plain)
				run->end = run->row;
			else if (!out && !run->plain && f->leads)
			{
				if (e->rowlen == first->rowlen && memcmp(e->ukey, first->ukey, e->rowlen) == 0)
					return WIDE_OK;
				lower_stop(sb, e);
			}
		}
	}
	TRY(arrange(s));
	TRY(buffer_set(&sb->first, first->ukey, first->rowlen));
	sb->passed.len = 0;
	sb->open = sb->norder > 0 && !row_twice(sb) && !too_many_cells(s);
	if (!sb->open)
		return WIDE_OK;
	sb->next = BLOCK_GOES_ON;
	for (int i = 0; i < sb->norder; i++)
		scan_run_prefetch(sb->order[i]);
	return WIDE_OK;
}

/* The run leaves its block: takes note of the last row that it has passed. */
static wide_status
note_passed(scan_block *sb, scan_run *run)
{
	if (!run->family->leads || run->row <= run->block->row)
		return WIDE_OK;
	TRY(scan_run_key(run, run->row - 1));
	if (scan_compare(scan_bytes(&run->key.encoded), scan_bytes(&sb->passed)) <= 0)
		return WIDE_OK;
	return buffer_set(&sb->passed, run->key.encoded.data, run->key.encoded.len);
}

/*
 * The scan stands behind the last row that the runs have passed.  In a damaged block that may be
 * below the first, and a search would lead back to it.
 */
static wide_status
stand_behind(scan_state *s)
{
	scan_block *sb = &s->block;

	for (int i = 0; i < s->nfamilies; i++)
		for (int k = 0; k < s->families[i].nruns; k++)
			if (s->families[i].runs[k].plain)
				TRY(note_passed(sb, &s->families[i].runs[k]));
	if (sb->passed.len == 0 || s->ranges.cur->point)
		return WIDE_OK;
	if (scan_compare(scan_bytes(&sb->passed), scan_bytes(&sb->first)) < 0)
		return status_fail(WIDE_CORRUPT, "rows are not in order");
	if (sb->passed.len < 2 || sb->passed.data[sb->passed.len - 1] != 1)
		return status_fail(WIDE_CORRUPT, "a row's key does not end");
	TRY(buffer_set(&s->row.after, sb->passed.data, sb->passed.len));
	s->row.after.data[s->row.after.len - 1]++; /* terminator 00 01 -> 00 02 */
	s->ranges.state = RANGE_ENTERED;
	return WIDE_OK;
}

/* Gives the merges the position of the runs; seek: sources that would leave their blocks are moved
 * to filter.seek instead. */
static wide_status
runs_leave(scan_state *s, bool seek)
{
	const buffer *to = &s->filter.seek;

	s->block.open = false;
	TRY(stand_behind(s));
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		for (int k = 0; k < f->nruns; k++)
		{
			scan_run *run = &f->runs[k];

			if (!run->plain)
				continue;
			/* a family that follows goes on to some row, perhaps not to the next block */
			if (!f->leads && run->row == run->block->rows)
				run->row--;
			if (seek && f->leads && run->row == run->end && run->why == RUN_ENDS_BLOCK)
				TRY(source_seek(run->src, to->data, (uint32_t) to->len, INT64_MAX, SEQ_MAX));
			else
				TRY(scan_run_leave(run));
		}
		merge_settle(f->m);
	}
	return WIDE_OK;
}

/* Moves the sources of runs that have no more rows on to their next blocks. */
static wide_status
runs_go_on(scan_state *s)
{
	scan_block *sb = &s->block;

	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		for (int k = 0; k < f->nruns && f->leads; k++)
		{
			scan_run *run = &f->runs[k];

			if (!run->plain || run->row < run->end || run->why != RUN_ENDS_BLOCK)
				continue;
			TRY(note_passed(sb, run));
			TRY(scan_run_leave(run));
			TRY(scan_run_renew(run));
			if (run->plain)
				scan_run_prefetch(run);
			else if (run->src->e != NULL)
				lower_stop(sb, run->src->e);
		}
	}
	return arrange(s);
}

/* -------------------------------------------------------------------- rows */

/* Room for n rows with all wanted columns, which a span has elsewhere. */
static wide_status
reserve_rows(scan_state *s, int n)
{
	scan_block *sb = &s->block;

	if (sb->ahead.cap < n)
	{
		int cap = n < SCAN_BLOCK_ROWS / 8 ? SCAN_BLOCK_ROWS / 8 : SCAN_BLOCK_ROWS;
		wide_row *rows = malloc((size_t) cap * sizeof(*rows));

		if (rows == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		free(sb->ahead.rows);
		sb->ahead.rows = rows;
		sb->ahead.cap = cap;
	}
	return scan_row_reserve(s, sb->span.on ? 0 : (uint32_t) n * (uint32_t) sb->cells);
}

/*
 * All runs have the same row: moves them on if they have the next row together, too, so that
 * nothing changes in order, and sets together.
 */
static wide_status
pass_together(scan_block *sb)
{
	scan_run *first = sb->order[0];

	for (int i = 0; i < sb->norder; i++)
		if (sb->order[i]->row + 1 >= sb->order[i]->end)
			return WIDE_OK;
	if (sb->norder > 1)
		TRY(scan_run_key(first, first->row + 1));
	for (int i = 1; i < sb->norder; i++)
	{
		bool equal = false;

		TRY(scan_run_equals(sb->order[i], sb->order[i]->row + 1, &first->key.encoded, &equal));
		if (!equal)
			return WIDE_OK;
	}
	for (int i = 0; i < sb->norder; i++)
		sb->order[i]->row++;
	sb->together = true;
	return WIDE_OK;
}

/* Moves the first `same` runs behind their row. */
static wide_status
pass_row(scan_block *sb, int same)
{
	scan_run *few[8], **passed = few;

	sb->together = false;
	if (same == sb->norder)
		TRY(pass_together(sb));
	if (likely(sb->together))
		return WIDE_OK;
	if (same > (int) (sizeof(few) / sizeof(few[0])))
	{
		passed = malloc((size_t) same * sizeof(*passed));
		if (passed == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
	}
	memcpy(passed, sb->order, (size_t) same * sizeof(*passed));
	sb->norder -= same;
	memmove(sb->order, sb->order + same, (size_t) sb->norder * sizeof(*sb->order));
	for (int i = 0; i < same; i++)
	{
		wide_status st = WIDE_OK;

		if (++passed[i]->row < passed[i]->end)
			st = order_add(sb, passed[i]);
		else if (passed[i]->why == RUN_ENDS_BLOCK)
			sb->empty = true;
		if (st != WIDE_OK)
		{
			if (passed != few)
				free(passed);
			return st;
		}
	}
	if (passed != few)
		free(passed);
	return WIDE_OK;
}

/* ------------------------------------------------------------ reading ahead */

/* The filter leads to filter.seek: moves all runs there, or has all sources move. */
static wide_status
runs_seek(scan_state *s)
{
	scan_block *sb = &s->block;
	bool beyond = sb->stop.len > 0 && scan_compare(sb->stop, scan_bytes(&s->filter.seek)) < 0;

	for (int i = 0; i < s->nfamilies; i++)
		for (int k = 0; k < s->families[i].nruns; k++)
		{
			scan_run *run = &s->families[i].runs[k];
			uint32_t row;

			if (!run->plain || !s->families[i].leads || run->row >= run->end)
				continue;
			TRY(block_row_at(run->block, run->row, s->filter.seek.data,
							 (uint32_t) s->filter.seek.len, &row));
			/* the order of keys in a block is not checked: never go back, so that there is an end
			 */
			if (row > run->row)
				run->row = row < run->end ? row : run->end;
			beyond = beyond || (run->row == run->end && run->why == RUN_ENDS_BLOCK);
		}
	if (beyond)
	{
		sb->next = BLOCK_SEEKS;
		return WIDE_OK;
	}
	return arrange(s);
}

/*
 * Asks the filter about the row of the first `same` runs.  *in: it is accepted; else the runs have
 * passed it.
 */
static wide_status
ask_filter(scan_state *s, int same, wide_bytes key, bool *in)
{
	scan_block *sb = &s->block;
	wide_row_verdict verdict;

	TRY(scan_range_ask_row_filter(s, &sb->order[0]->key.encoded, key, &verdict));
	*in = verdict == WIDE_ROW_ACCEPT;
	if (*in)
		return WIDE_OK;
	TRY(pass_row(sb, same));
	/* what is left to do is done when the rows that were read ahead are handed out */
	if (verdict == WIDE_ROW_END)
		sb->next = BLOCK_ENDS_SCAN;
	else if (verdict == WIDE_ROW_SEEK && scan_range_passed(s))
		sb->next = BLOCK_ENDS_RANGE;
	else if (verdict == WIDE_ROW_SEEK && sb->empty)
		sb->next = BLOCK_SEEKS;
	else if (verdict == WIDE_ROW_SEEK)
		return runs_seek(s);
	return WIDE_OK;
}

/* How many runs at the beginning of order have the next row. */
static inline int
count_same(const scan_block *sb)
{
	int n = 1;

	while (n < sb->norder && sb->order[n]->same)
		n++;
	return n;
}

int
scan_block_rows(const scan_state *s, int limit)
{
	if (s->block.cells > 0 && limit > SCAN_BLOCK_CELLS / s->block.cells)
		limit = SCAN_BLOCK_CELLS / s->block.cells;
	return limit;
}

/* As scan_block_row_take; the row may become number `count` of a span. */
static inline wide_status
take_row(scan_state *s, int same, int at, int count, int *n, bool *in, bool *lost)
{
	if (s->block.together && scan_span_extend(s))
	{
		*n = 0;
		*in = true;
		return WIDE_OK;
	}
	if (s->nfamilies == 1)
		TRY(scan_block_row_take_single(s, s->block.order[0], at, n, in));
	else
		TRY(scan_block_row_take(s, same, at, n, in, lost));
	if (s->block.span.on && *in && !*lost)
		scan_span_took(s, count);
	return WIDE_OK;
}

wide_status
scan_block_read(scan_state *s, int expected, int limit)
{
	scan_block *sb = &s->block;
	int count = 0, at = 0;

	TRY(scan_span_begin(s, expected));
	TRY(reserve_rows(s, limit));
	if (host_interrupted(s->db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	while (count < limit && sb->next == BLOCK_GOES_ON && sb->norder > 0 && !sb->empty)
	{
		wide_row *row = &sb->ahead.rows[count];
		int n = 0, same = sb->together ? sb->norder : count_same(sb);
		bool in = true, lost = same > 1 && !sb->together && row_twice(sb);

		if (!lost && s->filter.fn != NULL)
		{
			TRY(scan_block_row_key(s, sb->order[0], &row->key));
			TRY(ask_filter(s, same, row->key, &in));
			if (!in)
			{
				/* nobody keeps its key */
				sb->memory.at -= row->key.len;
				sb->memory.left += row->key.len;
				continue;
			}
		}
		if (!lost)
			TRY(take_row(s, same, at, count, &n, &in, &lost));
		if (lost)
		{
			sb->next = BLOCK_ROW;
			break;
		}
		if (in)
		{
			if (s->filter.fn == NULL)
				TRY(scan_block_row_key(s, sb->order[0], &row->key));
			row->cells = sb->span.on ? NULL : &s->out.cells[at];
			row->ncells = n;
			row->more = false;
			row->unsure = s->ntesting > 0 && s->pred.unsure;
			row->span = NULL;
			count++;
			at += n;
		}
		TRY(pass_row(sb, same));
	}
	s->out.n = at;
	if (sb->span.on)
		TRY(scan_span_fill(s, sb->ahead.rows, count));
	for (int i = 0; i < s->nfamilies && at > 0; i++)
		for (int k = 0; k < s->families[i].nruns; k++)
			source_use(s->families[i].runs[k].src);
	s->door.ahead = sb->ahead.rows;
	s->door.nahead = count;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- position */

wide_status
scan_block_given(scan_state *s)
{
	if (s->door.given > 0 && s->reverse && !s->ranges.cur->point)
	{
		if (s->door.given == s->door.nahead)
			TRY(buffer_set(&s->row.bound, s->block.back.from.data, s->block.back.from.len));
		else
			TRY(key_make_row(&s->row.bound, s->door.ahead[s->door.given - 1].key));
		/* in a damaged block a row may lie anywhere, and there would be no end */
		if (scan_compare(scan_bytes(&s->row.bound), scan_bytes(&s->block.back.bound)) >= 0)
			return status_fail(WIDE_CORRUPT, "rows are not in order");
	}
	else if (s->door.given > 0)
	{
		if (!s->ranges.cur->point)
		{
			TRY(key_make_row(&s->row.key, s->door.ahead[s->door.given - 1].key));
			TRY(buffer_set(&s->row.after, s->row.key.data, s->row.key.len));
			s->row.after.data[s->row.after.len - 1]++; /* terminator 00 01 -> 00 02 */
		}
		s->ranges.state = RANGE_ENTERED;
	}
	scan_block_forget(s);
	return WIDE_OK;
}

/* The range is read, or the filter wants nothing more of it, or of any range. */
static void
close_range(scan_state *s, block_onward next)
{
	s->ranges.state = RANGE_CLOSED;
	if (next == BLOCK_ENDS_SCAN)
		s->ranges.next = s->ranges.n;
}

wide_status
scan_block_drop(scan_state *s)
{
	scan_block *sb = &s->block;
	block_onward next = s->door.given == s->door.nahead ? sb->next : BLOCK_GOES_ON;
	bool open = sb->open, all = s->door.given == s->door.nahead;

	TRY(scan_block_given(s));
	if (open && all)
		TRY(stand_behind(s));
	scan_block_restart(s);
	if (!open)
		return WIDE_OK;
	if (next == BLOCK_ENDS_RANGE || next == BLOCK_ENDS_SCAN)
		close_range(s, next);
	else if (next == BLOCK_SEEKS && !s->ranges.cur->point)
	{
		TRY(buffer_set(&s->row.after, s->filter.seek.data, s->filter.seek.len));
		s->ranges.state = RANGE_ENTERED;
	}
	return WIDE_OK;
}

/* Returns true if nothing of the range lies behind the rows of the runs. */
static bool
range_is_read(const scan_state *s)
{
	const scan_block *sb = &s->block;

	/* other sources begin at stop, or behind it */
	if (sb->end.len == 0 || (sb->stop.len > 0 && scan_compare(sb->stop, sb->end) < 0))
		return false;
	for (int i = 0; i < s->nfamilies; i++)
		for (int k = 0; k < s->families[i].nruns; k++)
		{
			const scan_run *run = &s->families[i].runs[k];

			if (s->families[i].leads && run->plain &&
				(run->row < run->end || run->why != RUN_ENDS_RANGE))
				return false;
		}
	return true;
}

/* The runs have no row to read ahead: moves on to where there are more.  *row: the next one has to
 * be read entry by entry. */
static wide_status
go_on(scan_state *s, bool *row)
{
	scan_block *sb = &s->block;
	block_onward next = sb->next;

	sb->next = BLOCK_GOES_ON;
	*row = next == BLOCK_ROW;
	if (!*row && (next == BLOCK_ENDS_RANGE || next == BLOCK_ENDS_SCAN || s->ranges.cur->point ||
				  (next == BLOCK_GOES_ON && range_is_read(s))))
	{
		close_range(s, next);
		sb->open = false;
		return WIDE_OK;
	}
	if (sb->empty && next == BLOCK_GOES_ON)
	{
		TRY(runs_go_on(s));
		if (!too_many_cells(s))
			return WIDE_OK;
		*row = true;
	}
	TRY(runs_leave(s, next == BLOCK_SEEKS));
	return next == BLOCK_SEEKS ? scan_range_follow_filter(s) : WIDE_OK;
}

/* How many rows to read ahead. */
static int
rows_ahead(const scan_state *s)
{
	const scan_block_ahead *ahead = &s->block.ahead;
	int rows = ahead->limit;

	if (s->filter.follows || s->ranges.cur->point)
		return 1;
	if (ahead->expected > 0)
		rows = ahead->expected < SCAN_BLOCK_ROWS ? (int) ahead->expected : SCAN_BLOCK_ROWS;
	return scan_block_rows(s, rows);
}

/* Rows were read ahead, as many as rows_ahead has said or fewer. */
static void
note_ahead(scan_state *s, int rows)
{
	scan_block_ahead *ahead = &s->block.ahead;
	uint64_t n = (uint64_t) s->door.nahead;

	if (ahead->expected > 0)
		ahead->expected -= n < ahead->expected ? n : ahead->expected;
	else if (s->door.nahead == rows)
		scan_block_more(&s->block);
}

/* scan_block_next; after an interruption the runs may be open. */
static wide_status
next_rows(scan_state *s)
{
	scan_block *sb = &s->block;

	for (;;)
	{
		const entry *first;
		bool row = false;

		if (sb->open)
		{
			int rows = rows_ahead(s);

			TRY(scan_block_read(s, rows, rows));
			note_ahead(s, rows);
			if (s->door.nahead > 0)
				return WIDE_OK;
			TRY(go_on(s, &row));
			if (row)
				return WIDE_OK;
			if (sb->open)
				continue;
		}
		if (!scan_range_is_open(s))
			TRY(scan_range_open(s));
		if (s->reverse && !s->ranges.cur->point)
			return WIDE_OK;
		first = scan_range_first(s);
		if (scan_range_over(s, first))
		{
			s->ranges.state = RANGE_CLOSED;
			continue;
		}
		if (s->ranges.state == RANGE_ENTERED && !s->ranges.cur->point &&
			ukey_compare(first->ukey, first->rowlen, s->row.after.data, s->row.after.len) < 0)
			return status_fail(WIDE_CORRUPT, "rows are not in order");
		TRY(scan_block_runs_open(s, first, s->ranges.cur->hi));
		if (!sb->open)
			return WIDE_OK;
	}
}

wide_status
scan_block_next(scan_state *s)
{
	wide_status st = next_rows(s);

	if (st == WIDE_INTERRUPTED)
		TRY(scan_block_drop(s));
	return st;
}
