/*
 * analyze.c
 *		Sampling for ANALYZE.
 *
 * A large table is sampled by seeks: the engine proposes keys that cut the largest family into
 * parts of equal size, and a few rows are read behind each key (few, because neighbours are
 * alike).  In the layout 'cells' the rows behind a key are the cells of one row; so that the
 * sample does not have the first cells of a row only, more are read and one in so many (step)
 * is taken.  The number of rows is the engine's estimate.
 *
 * A small table is read as a whole, through a reservoir.
 */
#include "postgres.h"

#include "fdw/scan/analyze.h"

#include <math.h>

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "foreign/fdwapi.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/plan/scan_size.h"
#include "fdw/row/reader.h"
#include "fdw/store/compat.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* The table is read as a whole if it has at most this many times the rows of the sample. */
#define WHOLE_FACTOR 4

/* Rows taken behind each key. */
#define ROWS_PER_KEY 10

/* Layout cells: the most cells read for each one taken. */
#define MAX_STEP 10

/* Keys for a table of another engine, where each is a call of a server. */
#define OTHER_KEYS 300

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
	HeapTuple *rows; /* the sample: the caller's array */
	int max;
	int n;
	double seen; /* rows read */
	int step;	 /* one row in so many is taken */
} Sampler;

/* Returns the next row as a tuple in CurrentMemoryContext, NULL at the end. */
static HeapTuple
next_tuple(Sampler *s)
{
	MemoryContext old;
	HeapTuple tuple = NULL;

	wt_vacuum_delay();
	MemoryContextReset(s->rowcxt);
	old = MemoryContextSwitchTo(s->rowcxt);
	if (wt_reader_next_of_scan(s->reader, s->scan, s->values, s->nulls))
	{
		MemoryContextSwitchTo(old);
		tuple = heap_form_tuple(RelationGetDescr(s->rel), s->values, s->nulls);
	}
	MemoryContextSwitchTo(old);
	return tuple;
}

/*
 * Numbers a tuple by its position in the scan, in place of a heap tuple's position: the order of
 * the sample.
 */
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

/* Reads the whole table and takes rows at random. */
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
	/* rows were replaced at random; the correlation is computed from their order */
	qsort(s->rows, s->n, sizeof(HeapTuple), compare_places);
}

/* Takes a few rows behind each key, and from the beginning of the table. */
static void
sample_keys(Sampler *s, const wide_bytes *keys, int n)
{
	int rows = Max(1, s->max / (n + 1));

	for (int k = 0; k <= n; k++)
	{
		/* up to the next key, so that no row comes twice */
		wide_range range = {.lo = k > 0 ? keys[k - 1] : (wide_bytes) {(const uint8 *) "", 0}};
		HeapTuple tuple;

		if (k < n)
			range.hi = keys[k];
		wt_engine_scan_restart(s->scan, &range, 1);
		for (int i = 0; i < rows * s->step && s->n < s->max; i++)
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

/* ANALYZE's callback: fills rows with at most targrows rows and estimates *totalrows. */
static int
acquire_sample_rows(Relation rel, int elevel, HeapTuple *rows, int targrows, double *totalrows,
					double *totaldeadrows)
{
	Sampler s = {.rel = rel, .rows = rows, .max = targrows};
	wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
	WtTableSize size;
	wide_bytes *keys = NULL;
	double per_row;
	int nkeys = 0;

	*totalrows = 0;
	*totaldeadrows = 0;
	s.t = wt_table(RelationGetRelid(rel));
	if (!wt_engine_table(s.t, false, &s.e) || s.e.nall == 0)
		return 0;
	wt_scan_size_table(s.t, &s.e, &size);
	s.reader = wt_reader_make(s.t, &s.e, NULL, -1, NULL, 0, NULL, &s.spec);
	s.values = palloc(sizeof(Datum) * Max(1, s.t->natts));
	s.nulls = palloc(sizeof(bool) * Max(1, s.t->natts));
	s.rowcxt = AllocSetContextCreate(CurrentMemoryContext, "widetable sample",
									 ALLOCSET_DEFAULT_SIZES);
	s.spec.ranges = &whole;
	s.spec.nranges = 1;
	/* rows for each row of the engine */
	per_row = size.rows > 0 ? Max(1, size.tuples / size.rows) : 1;
	s.step = s.t->cells_layout ? (int) Min(MAX_STEP, ceil(2 * per_row / ROWS_PER_KEY)) : 1;
	if (s.t->engine != NULL)
	{
		double n = 0, cells = 0;

		keys = s.t->engine->sample(s.t, OTHER_KEYS, &nkeys, &n, &cells);
		size.tuples = s.t->cells_layout ? cells : n;
		if (size.tuples <= (double) targrows * WHOLE_FACTOR * s.step)
			nkeys = 0;
		else
			s.spec.row_hint = (uint64) (targrows / (nkeys + 1) + 1) * s.step;
	}
	else if (size.tuples > (double) targrows * WHOLE_FACTOR * s.step)
		keys = wt_scan_size_split_keys(size.largest, targrows / ROWS_PER_KEY + 1, false, &nkeys);
	s.scan = wt_engine_scan_open(ActiveSnapshotSet() ? GetActiveSnapshot()
													 : GetTransactionSnapshot(),
								 &s.spec);
	if (nkeys >= 9)
	{
		sample_keys(&s, keys, nkeys);
		*totalrows = Max(size.tuples, s.n);
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
	WtTableSize size = {0};

	if (wt_engine_table(t, false, &e))
		wt_scan_size_table(t, &e, &size);
	*func = acquire_sample_rows;
	*totalpages = (BlockNumber) Min(size.bytes / BLCKSZ + 1, (double) MaxBlockNumber);
	return true;
}
