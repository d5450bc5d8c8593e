/*
 * unique.c
 *		Unique indexes: no two rows have the same values in the declared columns.
 */
#include "postgres.h"

#include "fdw/derived/unique.h"

#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

#include "fdw/derived/entry.h"
#include "fdw/derived/entry_row.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/row_lock.h"
#include "fdw/table/key_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/xact/engine_scan.h"

/* Returns the bytes of the declared columns' values, a prefix of the entry's key. */
static wide_bytes
values_of(const WtIndex *x, wide_bytes key)
{
	return (wide_bytes) {key.data, wt_rowkey_prefix_length(x->table, key, x->table->declared)};
}

void
wt_unique_lock(const WtIndex *x, const WtEngineTable *e, wide_bytes key)
{
	/* the prefix of a key is no key, so this is the lock of no entry */
	(void) wt_row_lock(e->table, values_of(x, key), false);
}

static void
raise_duplicate(const WtIndex *x, wide_bytes other)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique index \"%s\"", get_rel_name(x->relid)),
			 wt_rowkey_is_visible(x->table) ? errdetail("A row has the entry %s already.",
														wt_key_text(x->table, other))
											: 0));
}

bool
wt_unique_is_taken(const WtIndex *x, const WtEngineTable *e, wide_bytes key, wide_bytes *other)
{
	wide_bytes values = values_of(x, key);
	wide_scan_family fam = {.id = e->all[0], .want = WIDE_WANT_EXISTS};
	wide_range range = {.lo = values};
	wide_scan_spec spec = {.families = &fam, .nfamilies = 1, .ranges = &range, .nranges = 1};
	StringInfoData end;
	WtEngineScan *scan;
	wide_row row;
	bool found = false;

	initStringInfo(&end);
	if (wt_rowkey_prefix_end(values.data, values.len, &end))
		range.hi = wt_bytes_of(&end);
	scan = wt_engine_scan_open(NULL, &spec);
	while (!found && wt_engine_scan_next(scan, &row))
		/* the entry of a value that has expired is none */
		found = wt_bytes_cmp(row.key, key) != 0 && (!x->timed || wt_entry_row_has(x, row.key));
	if (found)
		*other = wt_cell_read_copy_bytes(CurrentMemoryContext, row.key);
	wt_engine_scan_close(scan);
	return found;
}

void
wt_unique_check(const WtIndex *x, const WtEngineTable *e, wide_bytes key)
{
	wide_bytes other;

	if (wt_unique_is_taken(x, e, key, &other))
		raise_duplicate(x, other);
}
