/*
 * scan_span.c - the values of the rows that a scan has read ahead, by column.
 *
 * While rows are taken from runs (scan_block.c), each family notes where it has them; rows that the
 * same runs have one behind the other are a stretch, which is noted once.  Then the values of one
 * column after the other are put into its array: what is known of a column stays in registers, and
 * no wide_cell is made of a value.
 *
 * A span is an answer of the same rows as those of cells: what cells have besides their values
 * (timestamps, versions, qualifiers) must not be wanted, which the caller says (by_column).
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_span.h"
#include "engine/base/status.h"
#include "engine/scan/scan_run.h"
#include "engine/scan/scan_state.h"

void
scan_span_init(scan_state *s, const wide_scan_spec *spec)
{
	scan_span *span = &s->block.span;

	span->possible = spec->by_column && s->row_limit == UINT32_MAX && !s->time.filtered;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		f->span_column = span->ncolumns;
		if (spec->families[i].want == WIDE_WANT_COLUMNS)
			span->ncolumns += spec->families[i].nquals;
		else if (spec->families[i].want != WIDE_WANT_EXISTS)
			span->possible = false;
		if (f->max_versions > 1)
			span->possible = false;
		span->follows = span->follows || (!f->leads && f->want == WIDE_WANT_COLUMNS);
	}
}

wide_status
scan_span_begin(scan_state *s, int rows)
{
	scan_span *span = &s->block.span;
	size_t columns = (size_t) span->ncolumns * sizeof(*span->columns);

	span->on = span->possible && rows >= scan_span_least;
	span->nstretches = 0;
	if (!span->on || span->columns != NULL)
		return WIDE_OK;
	span->columns = malloc(columns + (size_t) s->nfamilies * sizeof(*span->places));
	if (span->columns == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	span->places = (span_place(*)[SCAN_BLOCK_ROWS])(span->columns + span->ncolumns);
	return WIDE_OK;
}

void
scan_span_took(scan_state *s, int at)
{
	scan_span *span = &s->block.span;
	bool exist = false;

	for (int i = 0; i < s->nfamilies; i++)
	{
		const scan_run *run = s->families[i].run;

		exist = exist || (run != NULL && (run->all_exist || run->one_full));
	}
	span->sure = exist && s->ntesting == 0 && !span->follows;
	span->first = s->block.order[0];
	span->next = span->first->row + 1;
	span->starts[span->nstretches++] = at;
}

/* Puts the values of one family into its columns. */
static wide_status
fill_family(const scan_span *span, const scan_family *f, const span_place *place, int rows)
{
	wide_span_column *columns = span->columns + f->span_column;

	for (int i = 0, next; i < span->nstretches; i = next)
	{
		const span_place *p = &place[i];
		int at = span->starts[i], to = rows;

		/* stretches that follow each other in one block are one */
		for (next = i + 1; next < span->nstretches; next++)
		{
			to = span->starts[next];
			if (place[next].run != p->run || place[next].row != p->row + (uint32_t) (to - at))
				break;
			to = rows;
		}
		if (p->run != NULL)
			TRY(scan_run_fill(p->run, p->row, to - at, columns, at));
	}
	return WIDE_OK;
}

wide_status
scan_span_fill(scan_state *s, wide_row *rows, int n)
{
	scan_span *span = &s->block.span;

	for (int i = 0; i < span->ncolumns; i++)
		span->columns[i].there = 0;
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].want == WIDE_WANT_COLUMNS)
			TRY(fill_family(span, &s->families[i], span->places[i], n));
	for (int i = 0; i < n; i++)
	{
		rows[i].span = span->columns;
		rows[i].span_row = i;
		rows[i].span_end = i == n - 1;
	}
	return WIDE_OK;
}

void
scan_span_count(scan_state *s, int from, int to)
{
	const scan_span *span = &s->block.span;
	uint64_t rows = 0, some = 0;

	if (from >= to)
		return;
	for (int i = from; i < to; i++)
		rows |= UINT64_C(1) << s->door.ahead[i].span_row;
	for (int i = 0; i < span->ncolumns; i++)
	{
		uint64_t there = span->columns[i].there & rows;
		uint64_t n = (uint64_t) __builtin_popcountll(there);

		s->stats.cells_returned += n;
		s->stats.cells_scanned += n;
		some |= there;
	}
	s->stats.rows_returned += (uint64_t) (to - from);
	/* rows without cells */
	s->stats.cells_scanned += (uint64_t) __builtin_popcountll(rows & ~some);
}

void
scan_span_free(scan_state *s)
{
	free(s->block.span.columns);
	s->block.span.columns = NULL;
	s->block.span.on = false;
}
