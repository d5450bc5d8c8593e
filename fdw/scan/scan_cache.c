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
	WtEngineScan *scan; /* NULL: this entry is free */
	uint64 serial;		/* of the table's definition */
	uint64 generation;	/* of the engine's catalog */
	bool reverse;
	int strict;
	double limit; /* layout cells: this, and what the conditions on cells said */
	StringInfoData asked;
	MemoryContext cxt; /* of the reader and of what the specification points to */
	WtRowReader *reader;
	wide_scan_spec spec;
} KeptScan;

static KeptScan kept[KEPT_SCANS];
static int oldest = 0;

bool
wt_scan_cache_possible(WtScanState *st)
{
	return st->exists && st->t->salt_buckets == 0 && st->lock == WT_LOCK_NONE && st->nleaves == 0 &&
		   st->as_of == PG_INT64_MAX && !st->ps->plan->parallel_aware && wt_batch(false) == NULL &&
		   !st->filters;
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
	for (int i = 0; i < st->ntests; i++)
	{
		const WtTest *test = &st->tests[i];
		int head[] = {test->part, test->kind, test->n, test->clause, test->arm};

		if (test->part < st->t->nkeys)
			continue;
		appendBinaryStringInfo(out, (const char *) head, sizeof(head));
		for (int k = 0; k < test->n; k++)
		{
			const WtArg *arg = &st->args[test->first + k];

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
	now.data = MemoryContextAlloc(st->rangecxt, now.maxlen);
	same = wt_scan_cache_print_cells(st, &now) && now.len == asked->len &&
		   memcmp(now.data, asked->data, now.len) == 0;
	pfree(now.data);
	return same;
}

/* Is it what the statement is about to open? */
static bool
fits(const KeptScan *k, WtScanState *st)
{
	return k->scan != NULL && k->serial == st->t->serial && k->generation == st->e.generation &&
		   k->reverse == st->reverse && k->strict == st->strict &&
		   memcmp(k->reader->wanted, st->columns, sizeof(bool) * st->t->natts) == 0 &&
		   (!st->t->cells_layout ||
			(k->limit == st->limit && wt_scan_cache_same_cells(st, &k->asked)));
}

void
wt_scan_cache_take(WtScanState *st)
{
	for (int i = 0; i < KEPT_SCANS; i++)
	{
		KeptScan *k = &kept[i];

		if (!fits(k, st))
			continue;
		wt_engine_scan_reuse(k->scan, st->ps->state->es_snapshot);
		if (st->opencxt != NULL)
			MemoryContextDelete(st->opencxt);
		MemoryContextSetParent(k->cxt, st->cxt);
		st->reused = k->scan;
		st->opencxt = k->cxt;
		st->reader = k->reader;
		st->spec = k->spec;
		st->cells_asked = k->asked;
		k->scan = NULL;
		return;
	}
}

bool
wt_scan_cache_leave(WtScanState *st)
{
	WtEngineScan *scan = st->reused;
	KeptScan *k = &kept[oldest];

	if (scan == NULL && st->opened && st->source.n == 1 && !st->source.merge)
		scan = st->source.scans[0];
	if (scan == NULL || MemoryContextMemAllocated(st->opencxt, true) > KEPT_BYTES ||
		!wt_engine_scan_set_aside(scan))
		return false;
	for (int i = 0; i < KEPT_SCANS && k->scan != NULL; i++)
		if (kept[i].scan == NULL)
			k = &kept[i];
	if (k->scan != NULL)
	{
		wt_engine_scan_forget(k->scan);
		MemoryContextDelete(k->cxt);
		oldest = (oldest + 1) % KEPT_SCANS;
	}
	MemoryContextSetParent(st->opencxt, TopMemoryContext);
	st->reader->bad_keys = 0;
	*k = (KeptScan) {.scan = scan,
					 .serial = st->t->serial,
					 .generation = st->e.generation,
					 .reverse = st->reverse,
					 .strict = st->strict,
					 .limit = st->limit,
					 .asked = st->cells_asked,
					 .cxt = st->opencxt,
					 .reader = st->reader,
					 .spec = st->spec};
	st->source.n = 0;
	st->opened = false;
	st->reused = NULL;
	st->reader = NULL;
	st->opencxt = NULL;
	return true;
}
