/*
 * base_reader.c
 *		Reads rows of an indexed table to make entries of them.
 */
#include "postgres.h"

#include "fdw/derived/base_reader.h"

#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/key_text.h"

int64
wt_base_reader_present(void)
{
	return Max(wt_clock_now(), wide_timestamp_newest(wt_store_db()));
}

/* Sets r->all, which has no ranges yet. */
static void
plan_all_cells(WtBaseReader *r)
{
	wide_scan_family *f = palloc0(sizeof(wide_scan_family) * Max(1, r->e.nall));

	for (int i = 0; i < r->e.nall; i++)
		f[i] = (wide_scan_family) {.id = r->e.all[i], .want = WIDE_WANT_ALL, .max_versions = 1};
	r->all = (wide_scan_spec) {.families = f, .nfamilies = r->e.nall, .own_mark = r->spec.own_mark};
}

WtBaseReader *
wt_base_reader_open(WtTable *t, const bool *read, Snapshot snapshot)
{
	WtBaseReader *r = palloc0(sizeof(WtBaseReader));

	r->t = t;
	r->read = read;
	r->snapshot = snapshot;
	r->cxt = CurrentMemoryContext;
	if (!wt_engine_table(t, false, &r->e))
		elog(ERROR, "table \"%s\" is not stored", get_rel_name(t->relid));
	return r;
}

/* Makes the row reader: INSERT of new rows reads none. */
static void
make_reader(WtBaseReader *r)
{
	MemoryContext old = MemoryContextSwitchTo(r->cxt);
	int natts = Max(1, r->t->natts);

	r->values = palloc0(sizeof(Datum) * natts);
	r->nulls = palloc0(sizeof(bool) * natts);
	r->stamps = palloc0(sizeof(int64) * natts);
	initStringInfo(&r->range);
	r->reader = wt_reader_make(r->t, &r->e, r->read, -1, NULL, 0, NULL, &r->spec);
	r->reader->floors = r->stamps;
	r->reader->track = true;
	r->ttls = r->reader->own_ttl = palloc0(sizeof(int64) * natts);
	r->reader->floor_only = palloc0(sizeof(bool) * natts);
	plan_all_cells(r);
	MemoryContextSwitchTo(old);
}

/* Opens the scan, or moves it, to a range of keys. */
static void
go_to(const WtBaseReader *r, wide_scan_spec *spec, WtEngineScan **scan, const wide_range *range)
{
	ResourceOwner owner = CurrentResourceOwner;

	if (*scan != NULL)
	{
		wt_engine_scan_restart(*scan, range, 1);
		return;
	}
	CurrentResourceOwner = CurTransactionResourceOwner;
	spec->ranges = range;
	spec->nranges = 1;
	*scan = wt_engine_scan_open(r->snapshot, spec);
	CurrentResourceOwner = owner;
}

static void
go_to_rows(WtBaseReader *r, const wide_range *range)
{
	r->reader->row_scan = NULL;
	go_to(r, &r->spec, &r->scan, range);
}

bool
wt_base_reader_get(WtBaseReader *r, wide_bytes key)
{
	wide_range range;

	if (r->reader == NULL)
		make_reader(r);
	resetStringInfo(&r->range);
	range = wt_cell_read_row_range(key, &r->range);
	go_to_rows(r, &range);
	return wt_base_reader_next(r);
}

bool
wt_base_reader_is_untouched(const WtBaseReader *r, wide_bytes key)
{
	bool untouched;
	wide_status st;

	while ((st = wide_row_untouched(wt_store_db(), r->e.all, r->e.nall, key, &untouched)) ==
		   WIDE_INTERRUPTED)
		CHECK_FOR_INTERRUPTS();
	wt_error_check(st, "could not read");
	return untouched;
}

/* Errors: 0A000: the cells of the row last read do not expire together. */
static _Noreturn void
raise_several_timestamps(const WtBaseReader *r)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the cells of a row of table \"%s\" must have one timestamp",
					get_rel_name(r->t->relid)),
			 errdetail("They have to expire together, because a roll-up follows the time to live. "
					   "Key %s.",
					   wt_key_text(r->t, wt_bytes_of(&r->reader->key))),
			 errhint("INSERT the row with a value for each of its cells, or DELETE it first.")));
}

bool
wt_base_reader_timestamp(WtBaseReader *r, int64 *ts)
{
	StringInfoData buf;
	wide_range range;
	wide_row row;
	bool found = false;

	initStringInfo(&buf);
	range = wt_cell_read_row_range(wt_bytes_of(&r->reader->key), &buf);
	go_to(r, &r->all, &r->all_cells, &range);
	while (wt_engine_scan_next(r->all_cells, &row))
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];
			int64 own = c->provisional ? WIDE_TS_AUTO : c->ts;

			if (c->ttl_us > 0)
				wt_base_reader_refuse_ttl(r->t, NULL, wt_bytes_of(&r->reader->key));
			/* above a version that is ahead of the clock a cell will not get the commit's time */
			if ((found && own != *ts) || (c->provisional && c->floor_ts > wt_base_reader_present()))
				raise_several_timestamps(r);
			*ts = own;
			found = true;
		}
	return found;
}

bool
wt_base_reader_same(const WtBaseReader *a, const WtBaseReader *b)
{
	return a->found == b->found && (!a->found || a->reader->fingerprint == b->reader->fingerprint);
}

void
wt_base_reader_start(WtBaseReader *r)
{
	static const wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};

	plan_all_cells(r);
	if (r->reader == NULL)
		make_reader(r);
	go_to_rows(r, &whole);
}

bool
wt_base_reader_next(WtBaseReader *r)
{
	int64 now = wt_base_reader_present();

	r->found = wt_reader_next_of_scan(r->reader, r->scan, r->values, r->nulls);
	for (int i = 0; i < r->t->natts; i++)
	{
		/* without a row there are those of the row before */
		if (!r->found || r->stamps[i] <= now)
			r->stamps[i] = PG_INT64_MIN;
		if (!r->found)
			r->ttls[i] = 0;
	}
	return r->found;
}

void
wt_base_reader_check_ttl(const WtBaseReader *r, const bool *columns, bool allowed)
{
	for (int i = 0; r->found && i < r->t->natts; i++)
		if (columns[i] && r->ttls[i] > 0 && (!allowed || r->stamps[i] != PG_INT64_MIN))
			wt_base_reader_refuse_ttl(r->t, &r->t->columns[i], wt_bytes_of(&r->reader->key));
}

void
wt_base_reader_refuse_ttl(WtTable *t, const WtColumn *c, wide_bytes key)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a cell of an indexed column has no time to live of its own"),
			 c != NULL ? errdetail("Column \"%s\" of table \"%s\", key %s.", c->name,
								   get_rel_name(t->relid), wt_key_text(t, key))
					   : errdetail("Table \"%s\", key %s: an index has, or a roll-up counts, "
							   "all rows.",
							   get_rel_name(t->relid), wt_key_text(t, key)),
			 errhint("Put the cell without one, or declare all indexes that have the column with "
					 "option \"cell_ttl\". Option \"ttl\" of the family is possible, too.")));
}

void
wt_base_reader_close(WtBaseReader *r)
{
	if (r->scan != NULL)
		wt_engine_scan_close(r->scan);
	if (r->all_cells != NULL)
		wt_engine_scan_close(r->all_cells);
	r->scan = r->all_cells = NULL;
}

void
wt_base_reader_begin_progress(WtTable *derived, WtTable *base)
{
	static const wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
	WtEngineTable e, b;
	double rows = 0;

	if (!wt_engine_table(derived, false, &e) || !wt_engine_table(base, false, &b))
		return;
	for (int i = 0; i < b.nall; i++)
	{
		wide_estimate est;

		if (wide_estimate_range(wt_store_db(), b.all[i], &whole, &est) == WIDE_OK)
			rows = Max(rows, est.rows);
	}
	wide_progress_begin(wt_store_db(), WIDE_PROGRESS_INDEX, e.table, (uint64) rows);
}
