/*
 * scan_cache.c
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
 * In the layout 'cells' conditions on cells decide what is read: their values
 * have to be the same.
 *
 * Not left are scans whose engine's part depends on other values or on the
 * transaction: with conditions for the engine, with salt, under widetable.as_of,
 * that lock rows, and all in a transaction that has written.  What an error leaves
 * open is closed as ever.
 */
#include "postgres.h"

#include "fdw/scan/scan_cache.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "engine/wide.h"
#include "fdw/key/key_test.h"
#include "fdw/key/part.h"
#include "fdw/plan/plan_private.h"
#include "fdw/row/reader.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/compat.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"

#define KEPT_SCANS 8
/* more of what is looked for (long lists of qualifiers) is not kept */
#define KEPT_BYTES ((Size) 256 * 1024)

typedef struct KeptScan
{
	uint64 serial;	   /* of the table's definition */
	uint64 generation; /* of the engine's catalog */
	bool reverse;
	int strict;
	double limit;	 /* layout cells */
	WtOpenScan open; /* state WT_OPEN_NONE: this entry is free */
} KeptScan;

static KeptScan kept[KEPT_SCANS];
static int oldest = 0;

bool
wt_scan_cache_possible(WtScanState *st)
{
	return st->exists && st->t->salt_buckets == 0 && st->lock == WT_LOCK_NONE &&
		   st->cond.nleaves == 0 && st->as_of == PG_INT64_MAX && !st->ps->plan->parallel_aware &&
		   wt_batch(false) == NULL && !st->cond.key_filter;
}

/* The bytes of a value; false: not known for its type, or it means something else in another
 * time zone. */
static bool
print_value(WtScanState *st, const WtTest *test, const WtArg *arg, StringInfo out)
{
	struct varlena *v;

	if (test->part == WT_PART_TS(st->t) && wt_part_column(st->t, test->part)->typid != arg->type)
		return false;
	switch (test->kind == WT_COND_ANY ? ANYARRAYOID : arg->type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case TIMESTAMPTZOID:
			appendBinaryStringInfo(out, (const char *) &arg->value, sizeof(Datum));
			return true;
		case ANYARRAYOID:
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
			v = PG_DETOAST_DATUM_PACKED(arg->value);
			appendBinaryStringInfo(out, (const char *) &(int) {(int) VARSIZE_ANY_EXHDR(v)},
								   sizeof(int));
			appendBinaryStringInfo(out, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
			return true;
		default:
			return false;
	}
}

bool
wt_scan_cache_print_cells(WtScanState *st, StringInfo out)
{
	for (int i = 0; i < st->cond.ntests; i++)
	{
		const WtTest *test = &st->cond.tests[i];
		int head[] = {test->part, test->kind, test->n, test->clause, test->arm};

		if (test->part < st->t->nkeys)
			continue;
		appendBinaryStringInfo(out, (const char *) head, sizeof(head));
		for (int k = 0; k < test->n; k++)
		{
			const WtArg *arg = &st->cond.args[test->first + k];

			appendBinaryStringInfo(out, (const char *) &arg->type, sizeof(Oid));
			appendStringInfoChar(out, (char) arg->isnull);
			if (!arg->isnull && !print_value(st, test, arg, out))
				return false;
		}
	}
	return true;
}

bool
wt_scan_cache_same_cells(WtScanState *st, const StringInfoData *asked)
{
	StringInfoData now = {.maxlen = 256};
	bool same;

	if (asked->data == NULL)
		return false;
	now.data = MemoryContextAlloc(st->range.cxt, now.maxlen);
	same = wt_scan_cache_print_cells(st, &now) && now.len == asked->len &&
		   memcmp(now.data, asked->data, now.len) == 0;
	pfree(now.data);
	return same;
}

/* Is it what the statement is about to open? */
static bool
fits(const KeptScan *k, WtScanState *st)
{
	return k->open.state != WT_OPEN_NONE && k->serial == st->t->serial &&
		   k->generation == st->e.generation && k->reverse == st->reverse &&
		   k->strict == st->strict &&
		   memcmp(k->open.reader->wanted, st->columns, sizeof(bool) * st->t->natts) == 0 &&
		   (!st->t->cells_layout ||
			(k->limit == st->limit && wt_scan_cache_same_cells(st, &k->open.cells)));
}

void
wt_scan_cache_take(WtScanState *st)
{
	for (int i = 0; i < KEPT_SCANS; i++)
	{
		KeptScan *k = &kept[i];

		if (!fits(k, st))
			continue;
		wt_engine_scan_reuse(k->open.set.scans[0], st->ps->state->es_snapshot);
		if (st->open.cxt != NULL)
			MemoryContextDelete(st->open.cxt);
		st->open = k->open;
		k->open.state = WT_OPEN_NONE;
		MemoryContextSetParent(st->open.cxt, st->cxt);
		return;
	}
}

bool
wt_scan_cache_leave(WtScanState *st)
{
	KeptScan *k = &kept[oldest];

	if (st->open.state == WT_OPEN_NONE || st->open.set.n != 1 ||
		MemoryContextMemAllocated(st->open.cxt, true) > KEPT_BYTES ||
		!wt_engine_scan_set_aside(st->open.set.scans[0]))
		return false;
	for (int i = 0; i < KEPT_SCANS && k->open.state != WT_OPEN_NONE; i++)
		if (kept[i].open.state == WT_OPEN_NONE)
			k = &kept[i];
	if (k->open.state != WT_OPEN_NONE)
	{
		wt_engine_scan_forget(k->open.set.scans[0]);
		MemoryContextDelete(k->open.cxt);
		oldest = (oldest + 1) % KEPT_SCANS;
	}
	*k = (KeptScan) {.serial = st->t->serial,
					 .generation = st->e.generation,
					 .reverse = st->reverse,
					 .strict = st->strict,
					 .limit = st->limit,
					 .open = st->open};
	k->open.state = WT_OPEN_CACHED;
	k->open.reader->bad_keys = 0;
	MemoryContextSetParent(k->open.cxt, TopMemoryContext);
	memset(&st->open, 0, sizeof(st->open));
	return true;
}
