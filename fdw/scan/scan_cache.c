/*
 * scan_cache.c
 *		Scans that a session keeps for its next statements.
 *
 * Opening a scan costs more than reading a row with it: the row reader is made from the
 * table's columns, and the engine makes lists of what to look for and of what is visible.  All
 * of that follows from the table's definition, the engine's catalog and the columns that are
 * read.  So a session keeps a few scans that have ended for the next statements that read the
 * same.
 *
 * Invariants
 *	- A kept scan holds memory only: no snapshot, no memtables, no files, no locks
 *	  (wide_scan_set_aside).
 *	- It is found by the serial number of the parsed table definition and the generation of
 *	  the catalog.  Whatever the reader was made from changes one of them.
 *	- In the layout 'cells' conditions on cells decide what is read, so their values must be
 *	  the same, too.
 *	- Not kept are scans whose specification depends on other values or on the transaction:
 *	  with predicates or a key filter, with salt, under widetable.as_of, parallel ones, those
 *	  that lock rows, and all scans of a transaction that has written.  Scans that an error
 *	  leaves open are closed by the end of their transaction or resource owner.
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
/* The most memory of a kept scan; long lists of qualifiers exceed it. */
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
static int oldest = 0; /* the entry to drop next if all are in use */

bool
wt_scan_cache_possible(WtScanState *st)
{
	return st->exists && st->t->salt_buckets == 0 && st->lock == WT_LOCK_NONE &&
		   st->cond.nleaves == 0 && st->as_of == PG_INT64_MAX && !st->ps->plan->parallel_aware &&
		   wt_batch(false) == NULL && !st->cond.key_filter;
}

/*
 * Appends the bytes of a value.  Returns false if bytes do not tell the values of its type
 * apart, or if the time zone decides what the value means.
 */
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
wt_scan_cache_same_cells(WtScanState *st, const StringInfoData *printed)
{
	StringInfoData now = {.maxlen = 256};
	bool same;

	if (printed->data == NULL)
		return false;
	now.data = MemoryContextAlloc(st->range.cxt, now.maxlen);
	same = wt_scan_cache_print_cells(st, &now) && now.len == printed->len &&
		   memcmp(now.data, printed->data, now.len) == 0;
	pfree(now.data);
	return same;
}

/* Returns true if the kept scan is what the statement would open. */
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
		!wt_engine_scan_keep(st->open.set.scans[0]))
		return false;
	for (int i = 0; i < KEPT_SCANS && k->open.state != WT_OPEN_NONE; i++)
		if (kept[i].open.state == WT_OPEN_NONE)
			k = &kept[i];
	if (k->open.state != WT_OPEN_NONE)
	{
		wt_engine_scan_free_kept(k->open.set.scans[0]);
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
