/*
 * index_build.c
 *		Makes the entries of all rows, and compares them with the rows.
 */
#include "postgres.h"

#include "fdw/derived/index_build.h"

#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "fdw/derived/base_reader.h"
#include "fdw/derived/entry.h"
#include "fdw/derived/entry_row.h"
#include "fdw/derived/unique.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/key_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/engine_scan.h"

static WtEntries
entries_of(const WtIndex *x, const WtBaseReader *r)
{
	return wt_entry_make(x, r->values, r->nulls, r->stamps, r->ttls);
}

void
wt_index_build(const WtIndex *x)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable index row",
											  ALLOCSET_DEFAULT_SIZES),
				  old;
	WtBaseReader *r;
	WtEngineTable e, base;

	wt_batch_command_ddl();
	if (!wt_engine_table(x->table, false, &e))
		elog(ERROR, "index \"%s\" is not stored", get_rel_name(x->relid));
	wt_error_check(wide_batch_truncate_table(wt_batch(true), e.table), "could not empty an index");
	/* its families have new ids */
	(void) wt_engine_table(x->table, false, &e);
	wt_derive_rest();
	wt_derive_forget();
	if (!wt_engine_table(x->base, false, &base))
		return;
	wt_base_reader_begin_progress(x->table, x->base);
	r = wt_base_reader_open(x->base, x->read, NULL);
	wt_base_reader_start(r);
	for (;;)
	{
		WtEntries all;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(cxt);
		old = MemoryContextSwitchTo(cxt);
		if (!wt_base_reader_next(r))
			break;
		wide_progress_add(wt_store_db(), 1);
		wt_base_reader_check_ttl(r, x->read, x->table->cell_ttl);
		all = entries_of(x, r);
		for (int i = 0; i < all.n; i++)
		{
			if (all.list[i].distinct)
				wt_unique_check(x, &e, all.list[i].key);
			wt_entry_put(x, &e, &all.list[i]);
		}
		MemoryContextSwitchTo(old);
	}
	MemoryContextSwitchTo(old);
	wide_progress_end(wt_store_db());
	wt_base_reader_close(r);
	MemoryContextDelete(cxt);
}

/* -------------------------------------------------------------- comparison */

/* Opens a scan of the index that returns cells. */
static WtEngineScan *
open_index(const WtEngineTable *e, const wide_range *range, wide_scan_family *fam)
{
	wide_scan_spec spec = {.families = fam, .nfamilies = 1, .ranges = range, .nranges = 1};

	*fam = (wide_scan_family) {.id = e->all[0], .want = WIDE_WANT_ALL, .max_versions = 1};
	return wt_engine_scan_open(GetActiveSnapshot(), &spec);
}

/* Returns true if the row of the index has the cells of the entry. */
static bool
has_cells(const WtEntry *entry, const wide_row *row)
{
	int n = 0;

	for (int i = 0; i < row->ncells; i++)
		/* a marker may be left of a time when there were no cells */
		n += row->cells[i].qualifier.len > 0 || row->cells[i].value.len > 0;
	for (int k = 0; k < entry->ncells; k++)
	{
		const WtColumn *c = entry->cells[k].column;
		bool found = false;

		for (int i = 0; i < row->ncells && !found; i++)
			found = wt_bytes_equal(row->cells[i].qualifier.data, row->cells[i].qualifier.len,
								   c->qual, c->qual_len) &&
					wt_bytes_cmp(row->cells[i].value, entry->cells[k].value) == 0;
		if (!found)
			return false;
	}
	return n == entry->ncells;
}

/*
 * Returns true if the row has another entry with the same first value: of a timed index, one whose
 * other columns had values that have expired since.
 */
static bool
has_older(const WtIndex *x, WtEngineScan *index, wide_bytes key)
{
	wide_range range = {{key.data, wt_rowkey_prefix_length(x->table, key, 1)}, {NULL, 0}};
	StringInfoData end, mine, other;
	wide_row row;
	bool found = false;

	initStringInfo(&end);
	initStringInfo(&mine);
	initStringInfo(&other);
	if (wt_rowkey_prefix_end(range.lo.data, range.lo.len, &end))
		range.hi = wt_bytes_of(&end);
	wt_entry_row_key(x, key, &mine);
	wt_engine_scan_restart(index, &range, 1);
	while (!found && wt_engine_scan_next(index, &row))
	{
		resetStringInfo(&other);
		wt_entry_row_key(x, row.key, &other);
		found = wt_bytes_cmp(wt_bytes_of(&mine), wt_bytes_of(&other)) == 0;
	}
	return found;
}

/* Looks for an entry that a row has. */
static void
compare_entry(const WtIndex *x, WtEngineScan *index, const WtEntry *entry, WtIndexProblem report,
			  void *arg)
{
	StringInfoData buf;
	wide_range range;
	wide_row row;

	initStringInfo(&buf);
	range = wt_cell_read_row_range(entry->key, &buf);
	wt_engine_scan_restart(index, &range, 1);
	if (wt_engine_scan_next(index, &row))
	{
		if (!x->timed && !has_cells(entry, &row))
			report(arg, x,
				   psprintf("entry %s has other values than its row",
							wt_key_text(x->table, entry->key)));
	}
	else if (!x->timed || !has_older(x, index, entry->key))
		report(arg, x, psprintf("a row has no entry %s", wt_key_text(x->table, entry->key)));
}

/* Looks for the entries of each row. */
static void
compare_rows(const WtIndex *x, const WtEngineTable *e, WtIndexProblem report, void *arg)
{
	static const wide_range nothing = {{(const uint8 *) "", 0}, {(const uint8 *) "", 0}};
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable index row",
											  ALLOCSET_DEFAULT_SIZES),
				  old;
	wide_scan_family fam;
	WtEngineScan *index = open_index(e, &nothing, &fam);
	WtBaseReader *r = wt_base_reader_open(x->base, x->read, GetActiveSnapshot());

	wt_base_reader_start(r);
	for (;;)
	{
		WtEntries all;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(cxt);
		old = MemoryContextSwitchTo(cxt);
		if (!wt_base_reader_next(r))
			break;
		all = entries_of(x, r);
		for (int i = 0; i < all.n; i++)
			compare_entry(x, index, &all.list[i], report, arg);
		MemoryContextSwitchTo(old);
	}
	MemoryContextSwitchTo(old);
	wt_base_reader_close(r);
	wt_engine_scan_close(index);
	MemoryContextDelete(cxt);
}

/* Looks for the row of each entry. */
static void
compare_entries(const WtIndex *x, const WtEngineTable *e, WtIndexProblem report, void *arg)
{
	static const wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable index row",
											  ALLOCSET_DEFAULT_SIZES),
				  old;
	wide_scan_family fam;
	WtEngineScan *index = open_index(e, &whole, &fam);
	WtBaseReader *r = wt_base_reader_open(x->base, x->read, GetActiveSnapshot());
	wide_row row;

	while (wt_engine_scan_next(index, &row))
	{
		StringInfoData of;
		WtEntries all = {0};
		bool found = false;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(cxt);
		old = MemoryContextSwitchTo(cxt);
		initStringInfo(&of);
		wt_entry_row_key(x, row.key, &of);
		if (wt_base_reader_get(r, wt_bytes_of(&of)))
			all = entries_of(x, r);
		for (int i = 0; i < all.n && !found; i++)
			found = wt_bytes_cmp(all.list[i].key, row.key) == 0;
		MemoryContextSwitchTo(old);
		if (!found)
			report(arg, x, psprintf("entry %s has no row", wt_key_text(x->table, row.key)));
	}
	wt_base_reader_close(r);
	wt_engine_scan_close(index);
	MemoryContextDelete(cxt);
}

void
wt_index_build_verify(const WtIndex *x, WtIndexProblem report, void *arg)
{
	WtEngineTable e, base;

	/* the snapshot sees the table as it was when there was no such index */
	if (!wt_index_is_visible(x->made, GetActiveSnapshot()))
		return;
	if (!wt_engine_table(x->table, false, &e) || !wt_engine_table(x->base, false, &base))
		return;
	/* while it is built, entries are missing */
	if (!x->building)
		compare_rows(x, &e, report, arg);
	/* entries of a timed index outlive what they were made of */
	if (!x->timed)
		compare_entries(x, &e, report, arg);
}
