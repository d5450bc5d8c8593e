/*
 * entry.c
 *		The entries that a row of the indexed table has in an index.
 *
 * An entry is a row of the index: its key columns are in the key, the others (covered columns) are
 * cells of the index's only family.  An entry without cells has a marker, as other rows have.
 */
#include "postgres.h"

#include "fdw/derived/entry.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/rowkey.h"
#include "fdw/xact/change.h"

/* An entry under construction: values by column of the index. */
typedef struct Draft
{
	Datum *values;
	bool *nulls;
} Draft;

static wide_bytes
copy_buffer(StringInfo s)
{
	return wt_cell_read_copy_bytes(CurrentMemoryContext, wt_bytes_of(s));
}

/* Makes the cells of an entry: of all columns that are not in the key. */
static void
make_cells(const WtIndex *x, const Draft *d, WtEntry *out)
{
	WtTable *t = x->table;
	StringInfoData buf;

	initStringInfo(&buf);
	out->cells = palloc(sizeof(WtEntryCell) * Max(1, t->natts));
	for (int i = 0; i < t->natts; i++)
	{
		const WtColumn *c = &t->columns[i];

		if (c->role != WT_CELL || d->nulls[i])
			continue;
		resetStringInfo(&buf);
		wt_cell_value_encode(c, d->values[i], &buf);
		out->cells[out->ncells++] = (WtEntryCell) {c, copy_buffer(&buf)};
	}
}

/* Sets *out to the entry.  Returns false if there is none, because the first column has no value.
 */
static bool
finish_entry(const WtIndex *x, const Draft *d, WtEntry *out)
{
	WtTable *t = x->table;
	StringInfoData key;

	if (d->nulls[t->keys[0]])
		return false;
	/* with the key of the row among the declared columns, no other row has the same values; and
	 * then the last part has no end by which it differs from a longer one */
	*out = (WtEntry) {.ts = WIDE_TS_AUTO, .distinct = t->unique && t->declared < t->nkeys};
	for (int part = 0; part < t->declared; part++)
		out->distinct = out->distinct && !d->nulls[t->keys[part]];
	initStringInfo(&key);
	wt_rowkey_from_slot(t, d->values, d->nulls, &key);
	out->key = wt_bytes_of(&key);
	make_cells(x, d, out);
	return true;
}

static int
entry_cmp(const void *a, const void *b)
{
	return wt_bytes_cmp(((const WtEntry *) a)->key, ((const WtEntry *) b)->key);
}

/* Sets when the row's entries expire: with the value of the first column, or later. */
static void
set_expiry(const WtIndex *x, const int64 *stamps, const int64 *ttls, WtEntry *out)
{
	int first = x->source[x->table->keys[0]];

	/* entries of a map or of a key do not expire */
	if (!x->timed || x->map >= 0 || stamps == NULL || x->base->columns[first].role != WT_CELL)
		return;
	/* that of the value, if it is ahead of the time of the commit */
	out->ts = stamps[first];
	out->ttl_us = ttls[first];
}

WtEntries
wt_entry_make(const WtIndex *x, const Datum *values, const bool *nulls, const int64 *stamps,
			  const int64 *ttls)
{
	WtTable *t = x->table;
	WtEntries out = {0};
	Draft d = {palloc(sizeof(Datum) * Max(1, t->natts)), palloc(sizeof(bool) * Max(1, t->natts))};
	Jsonb *map;
	WtMapWalk w;
	int n = 0;

	for (int i = 0; i < t->natts; i++)
	{
		d.nulls[i] = x->source[i] < 0 || nulls[x->source[i]];
		d.values[i] = d.nulls[i] ? (Datum) 0 : values[x->source[i]];
	}
	if (x->map < 0)
	{
		out.list = palloc(sizeof(WtEntry));
		out.n = finish_entry(x, &d, out.list);
		set_expiry(x, stamps, ttls, out.list);
		return out;
	}
	if (nulls[x->map])
		return out;
	map = DatumGetJsonbP(values[x->map]);
	out.list = palloc(sizeof(WtEntry) * Max(1, JsonContainerSize(&map->root)));
	wt_map_walk(&w, &map->root);
	while (wt_map_walk_next(&w))
	{
		StringInfoData text;

		initStringInfo(&text);
		if (!wt_map_json_text(&w.value, &text))
			continue;
		for (int i = 0; i < t->natts; i++)
		{
			WtSource is = t->columns[i].source_is;

			if (x->source[i] < 0 || is == WT_SOURCE_VALUE)
				continue;
			d.nulls[i] = false;
			d.values[i] = PointerGetDatum(is == WT_SOURCE_QUALIFIER
											  ? cstring_to_text_with_len(w.key.val.string.val,
																		 w.key.val.string.len)
											  : cstring_to_text_with_len(text.data, text.len));
		}
		n += finish_entry(x, &d, &out.list[n]);
	}
	out.n = n;
	qsort(out.list, n, sizeof(WtEntry), entry_cmp);
	return out;
}

bool
wt_entry_same_cells(const WtEntry *a, const WtEntry *b)
{
	if (a->ncells != b->ncells)
		return false;
	for (int i = 0; i < a->ncells; i++)
		if (a->cells[i].column != b->cells[i].column ||
			wt_bytes_cmp(a->cells[i].value, b->cells[i].value) != 0)
			return false;
	return true;
}

void
wt_entry_put(const WtIndex *x, const WtEngineTable *e, const WtEntry *entry)
{
	const wide_bytes none = {(const uint8 *) "", 0};

	if (entry->ncells == 0)
		wt_change_put(x->table, e->families[0], entry->key, none, entry->ts, PG_INT64_MIN,
					  entry->ttl_us, none);
	for (int i = 0; i < entry->ncells; i++)
	{
		const WtColumn *c = entry->cells[i].column;

		wt_change_put(x->table, e->families[c->family], entry->key,
					  (wide_bytes) {c->qual, c->qual_len}, entry->ts, PG_INT64_MIN, entry->ttl_us,
					  entry->cells[i].value);
	}
}

void
wt_entry_delete(const WtIndex *x, const WtEngineTable *e, wide_bytes key)
{
	for (int i = 0; i < e->nall; i++)
		wt_change_delete(x->table, WIDE_DELETE_FAMILY, e->all[i], key, (wide_bytes) {NULL, 0},
						 WIDE_TS_MAX);
}
