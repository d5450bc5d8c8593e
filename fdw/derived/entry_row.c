/*
 * entry_row.c
 *		From an entry of an index to its row in the indexed table.
 */
#include "postgres.h"

#include "fdw/derived/entry_row.h"

#include "fdw/derived/base_reader.h"
#include "fdw/derived/entry.h"
#include "fdw/store/bytes.h"
#include "fdw/table/rowkey.h"

void
wt_entry_row_key(const WtIndex *x, wide_bytes key, StringInfo out)
{
	WtTable *p = x->projection;
	int natts = p->natts;
	Datum *parts = palloc(sizeof(Datum) * p->nkeys), *values = palloc0(sizeof(Datum) * natts);
	bool *part_nulls = palloc(sizeof(bool) * p->nkeys), *nulls = palloc(sizeof(bool) * natts);

	(void) wt_rowkey_decode(p, key, NULL, parts, part_nulls);
	memset(nulls, true, sizeof(bool) * natts);
	for (int part = 0; part < p->nkeys; part++)
	{
		values[p->keys[part]] = parts[part];
		nulls[p->keys[part]] = part_nulls[part];
	}
	wt_rowkey_from_slot(x->base, values, nulls, out);
}

bool
wt_entry_row_has(const WtIndex *x, wide_bytes key)
{
	WtBaseReader *r = wt_base_reader_open(x->base, x->read, NULL);
	StringInfoData of;
	bool has = false;

	initStringInfo(&of);
	wt_entry_row_key(x, key, &of);
	if (wt_base_reader_get(r, wt_bytes_of(&of)))
	{
		WtEntries e = wt_entry_make(x, r->values, r->nulls, r->stamps, r->ttls);

		for (int i = 0; i < e.n && !has; i++)
			has = wt_bytes_cmp(e.list[i].key, key) == 0;
	}
	wt_base_reader_close(r);
	return has;
}
