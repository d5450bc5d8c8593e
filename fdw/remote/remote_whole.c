/*
 * remote_whole.c
 *		Rows of HBase that are read whole, because that costs its servers less than a filter.
 *
 * A row exists by any cell of its families, so a scan of some columns needs a filter that also lets
 * one other cell of a row through (remote_filter.c).  For that a server spends twice the time that
 * it needs for a small row without a filter.  (Measured with HBase 2.6.4, families with
 * NEW_VERSION_BEHAVIOR, microseconds a row: 1.1 and 0.36 for each cell without a filter; 4.3 with
 * one and one wanted column, 5.4 with two.)  And a get that names four columns costs a third more
 * than one that names none.
 *
 * How large rows are is known when some were read.  Before that a scan tries it, and gets do with
 * their first keys if all columns are wanted that the foreign table shows.  A row may have millions
 * of cells, so their number is limited: a row that reaches the limit is read again with the filter.
 */
#include "postgres.h"

#include "fdw/remote/remote_whole.h"

#include "fdw/table/table.h"

#define ENOUGH_ROWS		 64	   /* that tell how large rows are; of fewer the sum may be as much */
#define CELLS			 4	   /* that a row may have on average, */
#define CELLS_FOR_WANTED 2	   /* and so many more for each wanted column */
#define BYTES			 1024  /* that it may have on average */
#define FORGET_ROWS		 65536 /* what was seen before so many counts less */

/* Returns: true if rows that are read whole need a filter of what the limit may leave out: a server
 * takes a cell that it has not read for one that is not there. */
static bool
tests_values(const wide_scan_spec *spec)
{
	for (int i = 0; i < spec->npredicates; i++)
		if (spec->predicates[i].op != WIDE_OP_IS_NULL)
			return true;
	return false;
}

/* Returns: true if a filter would be needed otherwise, and rows of no more cells than the limit may
 * have all that is wanted; *wanted is the number of wanted columns. */
static bool
needs_filter(const wide_scan_spec *spec, int *wanted)
{
	bool exists = false;

	*wanted = 0;
	for (int i = 0; i < spec->nfamilies; i++)
	{
		const wide_scan_family *f = &spec->families[i];

		if (f->want == WIDE_WANT_ALL || f->want == WIDE_WANT_RANGE || f->max_versions > 1 ||
			f->nquals >= WT_REMOTE_WHOLE_CELLS)
			return false;
		exists |= f->want == WIDE_WANT_EXISTS || f->any_exists;
		*wanted += f->want == WIDE_WANT_COLUMNS ? f->nquals : 0;
	}
	return exists && *wanted > 0;
}

/* Returns: true if the foreign table shows no more cells than so many. */
static bool
shows_no_more(const WtRemoteTable *r, int wanted)
{
	const WtTable *t = wt_table_unlocked(r->relid);
	int n = 0;

	for (int i = 0; t != NULL && i < t->natts; i++)
	{
		if (t->columns[i].role == WT_MAP)
			return false;
		n += t->columns[i].role == WT_CELL;
	}
	return t != NULL && n <= wanted;
}

bool
wt_remote_whole_pays(const WtRemoteTable *r, const wide_scan_spec *spec, bool points)
{
	int wanted;
	uint64 n = Max(r->seen.rows, ENOUGH_ROWS);

	if (!needs_filter(spec, &wanted) || tests_values(spec))
		return false;
	if (r->seen.cells > n * (CELLS + CELLS_FOR_WANTED * wanted) || r->seen.bytes > n * BYTES)
		return false;
	return !points || shows_no_more(r, wanted);
}

bool
wt_remote_whole_known(const WtRemoteTable *r)
{
	return r->seen.rows >= WT_REMOTE_WHOLE_TRY;
}

bool
wt_remote_whole_note(WtRemoteTable *r, const hb_row *row)
{
	int same = 0;
	bool whole = true;

	if (r->seen.rows >= FORGET_ROWS)
	{
		r->seen.rows /= 2;
		r->seen.cells /= 2;
		r->seen.bytes /= 2;
	}
	r->seen.rows++;
	r->seen.cells += row->n_cells;
	for (int i = 0; i < row->n_cells; i++)
	{
		const hb_cell *c = &row->cells[i];

		/* families come one after the other */
		same = i > 0 && c->family.len == c[-1].family.len &&
					   memcmp(c->family.data, c[-1].family.data, c->family.len) == 0
				   ? same + 1
				   : 1;
		whole &= same < WT_REMOTE_WHOLE_CELLS;
		r->seen.bytes += c->qualifier.len + c->value.len;
	}
	return whole;
}
