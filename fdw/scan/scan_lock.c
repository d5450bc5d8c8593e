/*
 * scan_lock.c
 *		Scans that lock their rows: UPDATE, DELETE, SELECT FOR UPDATE.
 *
 * The scan finds a row in the statement's snapshot, locks it and reads it again in its newest
 * state.  The statement works on that version, after its quals have been tested again.  If
 * nothing has been committed since the snapshot was taken, the row is not read again.  In
 * REPEATABLE READ a row that has changed is an error.  A row that the same command has changed
 * already is not changed again.
 *
 * Locking: a row lock (fdw/store/row_lock.c) is taken before the row is read again, and held
 * until the transaction ends or the subtransaction that took it is rolled back.
 */
#include "postgres.h"

#include "fdw/scan/scan_lock.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

#include "engine/wide.h"
#include "fdw/plan/plan_private.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/reader.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/bytes.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"
#include "fdw/xact/engine_scan.h"

static void
raise_changed(WtScanState *st)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update"),
			 errdetail("A row of \"%s\" was changed by another transaction.",
					   get_rel_name(st->t->relid))));
}

/* Positions the reader of the newest state at one row. */
static void
read_again(WtScanState *st, wide_bytes key)
{
	WtNewest *n = &st->newest;
	MemoryContext old = MemoryContextSwitchTo(st->open.cxt);
	wide_range range;

	if (n->reader == NULL)
	{
		initStringInfo(&n->limit);
		memset(&n->spec, 0, sizeof(n->spec));
		n->reader = wt_scan_reader(st, &n->spec);
	}
	range = wt_cell_read_row_range(key, &n->limit);
	if (n->scan == NULL)
	{
		n->spec.ranges = &range;
		n->spec.nranges = 1;
		n->spec.own_mark = wt_batch_own_mark(st->ps->state->es_snapshot);
		if (n->spec.own_mark == 0)
			n->spec.own_mark = WT_OWN_NONE;
		n->scan = wt_engine_scan_open(NULL, &n->spec);
	}
	else
		wt_engine_scan_restart(n->scan, &range, 1);
	n->reader->row_scan = NULL;
	MemoryContextSwitchTo(old);
}

/* Layout cells: compares the columns at which two readers of one row stand. */
static int
column_cmp(const WtRowReader *a, const WtRowReader *b)
{
	/* by name: the families' numbers may differ, because the readers were opened at two times */
	int c = strcmp(a->families[a->cell->family].name, b->families[b->cell->family].name);

	return c != 0 ? c : wt_bytes_cmp(wt_reader_qual(a, a->cell), wt_reader_qual(b, b->cell));
}

/* Layout cells: returns true if two readers stand at the same version of a cell. */
static bool
same_cell(WtRowReader *a, WtRowReader *b)
{
	const wide_cell *x = a->cell, *y = b->cell;

	/* both see the same writes of this transaction, with their provisional timestamps */
	return column_cmp(a, b) == 0 && x->ts == y->ts;
}

/*
 * Layout cells: reads the newest state of the cell that the scan has returned.  Returns false
 * if it does not exist any more.
 *
 * No other transaction changes a locked row, so the reader of the newest state goes on along
 * the row as the scan does: a row of a million cells is read once more, not once for each
 * cell.  It starts again for another row, for another version of a column that it has already
 * passed, and if the lock may have been released in between, with the subtransaction that
 * took it.
 */
static bool
cell_again(WtScanState *st, Datum *values, bool *nulls)
{
	WtNewest *n = &st->newest;
	WtRowReader *r = st->open.reader;
	wide_bytes key = wt_bytes_of(&r->key);
	wide_bytes qual = wt_reader_qual(r, r->cell);

	if (n->key.data == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(st->cxt);

		initStringInfo(&n->key);
		initStringInfo(&n->missed_qual);
		MemoryContextSwitchTo(old);
	}
	if (n->subid != GetCurrentSubTransactionId() || wt_bytes_cmp(key, wt_bytes_of(&n->key)) != 0 ||
		(n->missed && n->missed_family == r->cell->family &&
		 wt_bytes_cmp(wt_bytes_of(&n->missed_qual), qual) == 0))
	{
		read_again(st, key);
		n->subid = GetCurrentSubTransactionId();
		n->end = false;
		resetStringInfo(&n->key);
		appendBinaryStringInfo(&n->key, (const char *) key.data, key.len);
	}
	n->missed = false;
	while (!n->end)
	{
		int c;

		if (!wt_reader_next_of_scan(n->reader, n->scan, values, nulls))
		{
			n->end = true;
			break;
		}
		if (same_cell(r, n->reader))
			return true;
		c = column_cmp(r, n->reader);
		if (c < 0)
		{
			/* the reader has passed the cell; the scan will come to the reader's cell later */
			n->reader->next_cell--;
			break;
		}
	}
	n->missed = true;
	n->missed_family = r->cell->family;
	resetStringInfo(&n->missed_qual);
	appendBinaryStringInfo(&n->missed_qual, (const char *) qual.data, qual.len);
	return false;
}

bool
wt_scan_lock_row(WtScanState *st, Datum *values, bool *nulls)
{
	wide_bytes key = wt_bytes_of(&st->open.reader->key);
	bool found;

	if (!wt_change_lock_row(st->e.table, key, st->lock != WT_LOCK_WAIT))
	{
		if (st->lock == WT_LOCK_SKIP)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on row in relation \"%s\"",
						get_rel_name(st->t->relid))));
	}
	st->newest.reread = !wt_engine_scan_is_newest(st->held);
	if (!st->newest.reread)
		return true;
	if (st->t->cells_layout)
		found = cell_again(st, values, nulls);
	else
	{
		read_again(st, key);
		found = wt_reader_next_of_scan(st->newest.reader, st->newest.scan, values, nulls);
	}
	if (!found)
	{
		/* another transaction has deleted it, or this command has, if the scan was restarted */
		if (IsolationUsesXactSnapshot() && !st->restarted)
			raise_changed(st);
		return false;
	}
	if (st->newest.reader->fingerprint == st->open.reader->fingerprint)
		return true;
	/* this command has changed the row already: it is not changed twice */
	if (st->newest.reader->own_cells > st->open.reader->own_cells)
		return false;
	if (IsolationUsesXactSnapshot())
		raise_changed(st);
	return true;
}
