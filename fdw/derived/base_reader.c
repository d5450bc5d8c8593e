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
	r->reader->floor_only = palloc0(sizeof(bool) * natts);
	MemoryContextSwitchTo(old);
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

	if (r->reader == NULL)
		make_reader(r);
	resetStringInfo(&r->range);
	range = wt_cell_read_row_range(key, &r->range);
	go_to(r, &range);
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

bool
wt_base_reader_same(const WtBaseReader *a, const WtBaseReader *b)
{
	return a->found == b->found && (!a->found || a->reader->fingerprint == b->reader->fingerprint);
}

void
wt_base_reader_start(WtBaseReader *r)
{
	static const wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};

	if (r->reader == NULL)
		make_reader(r);
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
