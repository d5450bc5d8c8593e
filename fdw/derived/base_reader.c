/*
 * base_reader.c
 *		Reads rows of an indexed table to make entries of them.
 */
#include "postgres.h"

#include "fdw/derived/base_reader.h"

#include "utils/lsyscache.h"
#include "utils/resowner.h"

#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/store.h"
#include "fdw/table/key_text.h"
#include "fdw/xact/batch.h"

int64
wt_base_reader_present(void)
{
	return Max(wt_clock_now(), wide_timestamp_newest(wt_store_db()));
}

WtBaseReader *
wt_base_reader_open(WtTable *t, const bool *read, Snapshot snapshot)
{
	WtBaseReader *r = palloc0(sizeof(WtBaseReader));
	int natts = Max(1, t->natts);

	r->t = t;
	r->snapshot = snapshot;
	if (!wt_engine_table(t, false, &r->e))
		elog(ERROR, "table \"%s\" is not stored", get_rel_name(t->relid));
	r->values = palloc0(sizeof(Datum) * natts);
	r->nulls = palloc0(sizeof(bool) * natts);
	r->stamps = palloc0(sizeof(int64) * natts);
	initStringInfo(&r->range);
	r->reader = wt_reader_make(t, &r->e, read, -1, NULL, 0, NULL, &r->spec);
	r->reader->floors = r->stamps;
	r->reader->track = true;
	r->reader->floor_only = palloc0(sizeof(bool) * natts);
	return r;
}

WtBaseReader *
wt_base_reader_open_committed(WtTable *t, const bool *read)
{
	WtBaseReader *r = wt_base_reader_open(t, read, NULL);

	r->spec.own_mark = WT_OWN_NONE;
	return r;
}

/* Goes to a range of keys. */
static void
go_to(WtBaseReader *r, const wide_range *range)
{
	ResourceOwner owner = CurrentResourceOwner;

	r->reader->row_scan = NULL;
	if (r->scan != NULL)
	{
		wt_engine_scan_restart(r->scan, range, 1);
		return;
	}
	CurrentResourceOwner = CurTransactionResourceOwner;
	r->spec.ranges = range;
	r->spec.nranges = 1;
	r->scan = wt_engine_scan_open(r->snapshot, &r->spec);
	CurrentResourceOwner = owner;
}

bool
wt_base_reader_get(WtBaseReader *r, wide_bytes key)
{
	wide_range range;

	resetStringInfo(&r->range);
	range = wt_cell_read_row_range(key, &r->range);
	go_to(r, &range);
	return wt_base_reader_next(r);
}

bool
wt_base_reader_is_untouched(WtBaseReader *r, wide_bytes key)
{
	uint64 before;
	wide_scan_stats stats;
	WtEngineWork other;
	bool found;

	/* the scan would be opened again, and count from zero */
	if (r->batch != wt_batch(false))
		wt_base_reader_close(r);
	r->batch = wt_batch(false);
	before = r->scan != NULL ? r->scanned : 0;
	found = wt_base_reader_get(r, key);
	wt_engine_scan_work(r->scan, &stats, &other);
	r->scanned = stats.cells_scanned;
	return !found && stats.cells_scanned == before;
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

	go_to(r, &whole);
}

bool
wt_base_reader_next(WtBaseReader *r)
{
	int64 now = wt_base_reader_present();

	r->found = wt_reader_next_of_scan(r->reader, r->scan, r->values, r->nulls);
	for (int i = 0; i < r->t->natts; i++)
		/* without a row there are those of the row before */
		if (!r->found || r->stamps[i] <= now)
			r->stamps[i] = PG_INT64_MIN;
	return r->found;
}

void
wt_base_reader_check_ttl(const WtBaseReader *r)
{
	if (r->found && r->reader->own_ttl)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a cell of an indexed column has no time to live of its own"),
				 errdetail("Table \"%s\", key %s.", get_rel_name(r->t->relid),
						   wt_key_text(r->t, wt_bytes_of(&r->reader->key))),
				 errhint("Put the cell again without one, or wait until it has expired.")));
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
			 errhint("Option \"ttl\" of the family is possible.")));
}

void
wt_base_reader_close(WtBaseReader *r)
{
	if (r->scan != NULL)
		wt_engine_scan_close(r->scan);
	r->scan = NULL;
}
