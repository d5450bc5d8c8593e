/*
 * analyze.c
 *		Sampling for ANALYZE.
 *
 * A table of some size is sampled by seeks: the engine names keys that cut the
 * largest family in parts of equal size, and a short run of rows is read behind
 * each (short, for neighbours are alike).  In the layout 'cells' the cells of a
 * row are what lies behind a key: so that not only its first ones are seen,
 * more are read and every so-manieth is kept.  A small table is read as a whole
 * through a reservoir.  The number of rows is the engine's.
 */
#include "postgres.h"

#include "fdw/scan/analyze.h"

#include <math.h>

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "foreign/fdwapi.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/row/reader.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* Below so many rows for each row of the sample all are read. */
#define WHOLE_FACTOR 4

/* Rows read behind each seek. */
#define RUN_ROWS 10

/* Layout cells: read for each one that is kept, at most. */
#define MAX_STEP 10

typedef struct Sampler
{
	Relation rel;
	WtTable *t;
	WtEngineTable e;
	WtRowReader *reader;
	WtEngineScan *scan;
	wide_scan_spec spec;
	Datum *values;
	bool *nulls;
	MemoryContext rowcxt;
	HeapTuple *rows;
	int max;
	int n;
	double seen;
	int step;	/* one of so many is kept */
	List *keys; /* StringInfos */
} Sampler;

/* Rows (layout cells: cells), bytes and the largest family; per_row: cells for each row of the
 * engine. */
static double
table_size(WtTable *t, WtEngineTable *e, double *bytes, wide_family_id *largest, double *per_row)
{
	double rows = 0, engine_rows = 0, most = -1;

	*bytes = 0;
	*largest = 0;
	for (int i = 0; i < e->nall; i++)
	{
		wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
		wide_estimate est = {0};
		double n;

		wt_error_check(wide_estimate_range(wt_store_db(), e->all[i], &whole, &est),
					   "could not estimate");
		n = t->cells_layout ? est.cells : est.rows;
		rows = t->cells_layout ? rows + n : Max(rows, n);
		engine_rows = Max(engine_rows, est.rows);
		*bytes += est.bytes;
		if (n > most)
		{
			most = n;
			*largest = e->all[i];
		}
	}
	*per_row = engine_rows > 0 ? rows / engine_rows : 1;
	return rows;
}

/* The next row as a tuple of the caller's context; NULL at the end. */
static HeapTuple
next_tuple(Sampler *s)
{
	MemoryContext old;
	HeapTuple tuple = NULL;
	uint64_t seq;

	wt_vacuum_delay();
	MemoryContextReset(s->rowcxt);
	old = MemoryContextSwitchTo(s->rowcxt);
	if (wt_reader_next_of_scan(s->reader, s->scan, s->values, s->nulls, &seq))
	{
		MemoryContextSwitchTo(old);
		tuple = heap_form_tuple(RelationGetDescr(s->rel), s->values, s->nulls);
	}
	MemoryContextSwitchTo(old);
	return tuple;
}

/* Which tuple of the scan this is, where a heap's has its place: the order of the sample. */
static void
set_place(HeapTuple tuple, double n)
{
	double block = floor(n / MaxOffsetNumber);

	ItemPointerSet(&tuple->t_self, (BlockNumber) block,
				   (OffsetNumber) (n - block * MaxOffsetNumber) + 1);
}

static int
compare_places(const void *a, const void *b)
{
	return ItemPointerCompare(&(*(const HeapTuple *) a)->t_self, &(*(const HeapTuple *) b)->t_self);
}

static void
sample_all(Sampler *s)
{
	ReservoirStateData rs;
	double skip = -1;
	HeapTuple tuple;

	reservoir_init_selection_state(&rs, s->max);
	while ((tuple = next_tuple(s)) != NULL)
	{
		set_place(tuple, s->seen++);
		if (s->n < s->max)
		{
			s->rows[s->n++] = tuple;
			continue;
		}
		if (skip < 0)
			skip = reservoir_get_next_S(&rs, s->seen - 1, s->max);
		if (skip <= 0)
		{
			int k = (int) (s->max * sampler_random_fract(&rs.randstate));

			heap_freetuple(s->rows[k]);
			s->rows[k] = tuple;
		}
		else
			heap_freetuple(tuple);
		skip--;
	}
	/* replaced at random places; for the correlation the order counts */
	qsort(s->rows, s->n, sizeof(HeapTuple), compare_places);
}

static wide_status
keep_split(void *arg, wide_bytes key)
{
	Sampler *s = arg;
	StringInfo copy = makeStringInfo();

	appendBinaryStringInfo(copy, (const char *) key.data, key.len);
	s->keys = lappend(s->keys, copy);
	return WIDE_OK;
}

/* A run of rows behind each of the keys. */
static void
sample_runs(Sampler *s)
{
	ListCell *lc;
	int run = Max(1, s->max / list_length(s->keys));

	foreach(lc, s->keys)
	{
		StringInfo key = lfirst(lc);
		wide_range range = {{(const uint8 *) key->data, key->len}, {NULL, 0}};
		HeapTuple tuple;

		/* not beyond the next key: no row twice */
		if (lnext(s->keys, lc))
		{
			StringInfo next = lfirst(lnext(s->keys, lc));

			range.hi.data = (const uint8 *) next->data;
			range.hi.len = next->len;
		}
		wt_engine_scan_restart(s->scan, &range, 1);
		for (int i = 0; i < run * s->step && s->n < s->max; i++)
		{
			if ((tuple = next_tuple(s)) == NULL)
				break;
			if (i % s->step == 0)
				s->rows[s->n++] = tuple;
			else
				heap_freetuple(tuple);
		}
	}
}

static int
acquire_sample_rows(Relation rel, int elevel, HeapTuple *rows, int targrows, double *totalrows,
					double *totaldeadrows)
{
	Sampler s = {.rel = rel, .rows = rows, .max = targrows};
	wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
	wide_family_id largest;
	double bytes, per_row, total;

	*totalrows = 0;
	*totaldeadrows = 0;
	s.t = wt_table(RelationGetRelid(rel));
	if (!wt_engine_table(s.t, false, &s.e) || s.e.nall == 0)
		return 0;
	total = table_size(s.t, &s.e, &bytes, &largest, &per_row);
	s.reader = wt_reader_for_columns(s.t, &s.e, NULL, -1, &s.spec);
	s.values = palloc(sizeof(Datum) * Max(1, s.t->natts));
	s.nulls = palloc(sizeof(bool) * Max(1, s.t->natts));
	s.rowcxt = AllocSetContextCreate(CurrentMemoryContext, "widetable sample",
									 ALLOCSET_DEFAULT_SIZES);
	s.spec.ranges = &whole;
	s.spec.nranges = 1;
	s.step = s.t->cells_layout ? (int) Min(MAX_STEP, ceil(2 * per_row / RUN_ROWS)) : 1;
	s.step = Max(1, s.step);
	if (total > (double) targrows * WHOLE_FACTOR * s.step)
	{
		/* the first run begins with the first row */
		s.keys = list_make1(makeStringInfo());
		wt_error_check(wide_split_keys(wt_store_db(), largest, targrows / RUN_ROWS + 1, false,
									   keep_split, &s),
					   "could not sample");
	}
	s.scan = wt_engine_scan_open(ActiveSnapshotSet() ? GetActiveSnapshot()
													 : GetTransactionSnapshot(),
								 &s.spec);
	if (list_length(s.keys) >= 10)
	{
		sample_runs(&s);
		*totalrows = Max(total, s.n);
	}
	else
	{
		sample_all(&s);
		*totalrows = s.seen;
	}
	wt_engine_scan_close(s.scan);
	MemoryContextDelete(s.rowcxt);
	ereport(elevel,
			(errmsg("\"%s\": about %.0f rows, %d rows in sample",
					RelationGetRelationName(rel),
					*totalrows,
					s.n)));
	return s.n;
}

bool
wt_analyze_foreign_table(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages)
{
	WtTable *t = wt_table(RelationGetRelid(relation));
	WtEngineTable e;
	wide_family_id largest;
	double bytes = 0, per_row;

	if (wt_engine_table(t, false, &e))
		(void) table_size(t, &e, &bytes, &largest, &per_row);
	*func = acquire_sample_rows;
	*totalpages = (BlockNumber) Min(bytes / BLCKSZ + 1, (double) MaxBlockNumber);
	return true;
}
