/*
 * keep.c
 *		Scans that outlive their statement.
 *
 * Opening a scan costs more than reading a row with it: the row reader is put
 * together from the table's columns, the engine makes lists of what to look for
 * and of what is visible.  All that follows from the table's definition, the
 * engine's catalog and the columns that are read.  So a session leaves a few scans
 * that have ended to the next statements that read the same.
 *
 * A scan that is left here holds memory only: no snapshot, no memtables, no
 * files, no locks (wide_scan_set_aside).  It is found by the serial number of
 * the parsed definition and the generation of the catalog, either of which
 * changes with anything that the reader was made of.
 *
 * Not left are scans whose engine's part depends on values or on the
 * transaction: with conditions for the engine, of the layout 'cells', with
 * salt, under widetable.as_of, that lock rows, and all in a transaction that has
 * written.  What an error leaves open is closed as ever.
 */
#include "scan.h"

#include "utils/memutils.h"

#define KEPT_SCANS	8

typedef struct KeptScan
{
	WtScan	   *scan;			/* NULL: this entry is free */
	uint64		serial;			/* of the table's definition */
	uint64		generation;		/* of the engine's catalog */
	bool		reverse;
	int			strict;
	MemoryContext cxt;			/* of the reader and of what the specification points to */
	WtRowReader *reader;
	wide_scan_spec spec;
} KeptScan;

static KeptScan kept[KEPT_SCANS];
static int	oldest = 0;

static bool
can_keep(WtScanState *st)
{
	return st->exists && !st->t->cells_layout && st->t->salt_buckets == 0 && st->lock == WT_LOCK_NONE &&
		st->nleaves == 0 && st->as_of == PG_INT64_MAX && !st->ps->plan->parallel_aware && wt_batch(false) == NULL &&
		!st->filters;
}

void
wt_keep_take(WtScanState *st)
{
	st->keeps = can_keep(st);
	for (int i = 0; i < KEPT_SCANS && st->keeps; i++)
	{
		KeptScan   *k = &kept[i];

		if (k->scan == NULL || k->serial != st->t->serial || k->generation != st->e.generation ||
			k->reverse != st->reverse || k->strict != st->strict ||
			memcmp(k->reader->wanted, st->columns, sizeof(bool) * st->t->natts) != 0)
			continue;
		wt_scan_reuse(k->scan, st->ps->state->es_snapshot);
		MemoryContextSetParent(k->cxt, st->cxt);
		st->reused = k->scan;
		st->opencxt = k->cxt;
		st->reader = k->reader;
		st->spec = k->spec;
		k->scan = NULL;
		return;
	}
}

bool
wt_keep_leave(WtScanState *st)
{
	WtScan	   *scan = st->reused;
	KeptScan   *k = &kept[oldest];

	if (scan == NULL && st->opened && st->source.n == 1 && !st->source.merge)
		scan = st->source.scans[0];
	if (scan == NULL || !wt_scan_set_aside(scan))
		return false;
	for (int i = 0; i < KEPT_SCANS && k->scan != NULL; i++)
		if (kept[i].scan == NULL)
			k = &kept[i];
	if (k->scan != NULL)
	{
		wt_scan_forget(k->scan);
		MemoryContextDelete(k->cxt);
		oldest = (oldest + 1) % KEPT_SCANS;
	}
	MemoryContextSetParent(st->opencxt, TopMemoryContext);
	st->reader->bad_keys = 0;
	*k = (KeptScan) {.scan = scan, .serial = st->t->serial, .generation = st->e.generation, .reverse = st->reverse,
		.strict = st->strict, .cxt = st->opencxt, .reader = st->reader, .spec = st->spec};
	st->source.n = 0;
	st->opened = false;
	st->reused = NULL;
	st->reader = NULL;
	st->opencxt = NULL;
	return true;
}
