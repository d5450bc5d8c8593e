/*
 * row_change.c
 *		What follows from changes of rows: entries of indexes.
 *
 * Several foreign tables may show a stored table, and each may have indexes.  A change through any
 * of them changes the entries of all: each foreign table with indexes reads the row as it shows it.
 *
 * Locking: the row of the indexed table, before it is read; of a unique index also the values,
 * under their bytes as a key of the index, before an entry with them is put or deleted.
 */
#include "postgres.h"

#include "fdw/derived/row_change.h"

#include "lib/stringinfo.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "fdw/ddl/binding.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/derived/base_reader.h"
#include "fdw/derived/entry.h"
#include "fdw/derived/index.h"
#include "fdw/derived/unique.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/row_lock.h"
#include "fdw/table/key_text.h"
#include "fdw/table/lookup.h"
#include "fdw/table/table.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"

/* A foreign table that has indexes. */
typedef struct Base
{
	WtTable *t;
	int n; /* indexes */
	WtIndex **x;
	WtEngineTable *xe; /* of each */
	WtEntries *before; /* of the row under change, by index */

	bool *read;		   /* by column: some index has it */
	WtBaseReader *row; /* reads the newest state of a row */
} Base;

/* What follows from the rows of a stored table. */
typedef struct Followers
{
	wide_table_id id;
	uint64 invalidations; /* when this was made */
	int n;
	Base *bases;
	MemoryContext cxt;
	struct Followers *next;
} Followers;

static Followers *all = NULL; /* of this transaction, in TopTransactionContext */

/* The row under change. */
static struct
{
	Followers *of; /* NULL: there is none */
	bool blind;	   /* nothing was read */
	StringInfoData key;
	MemoryContext cxt; /* of what is known of it; reset with the next row */
} row;

/* -------------------------------------------------------------- followers */

static void
make_base(Base *b, WtTable *t, List *indexes)
{
	ListCell *lc;

	b->t = t;
	b->read = palloc0(sizeof(bool) * Max(1, t->natts));
	b->x = palloc(sizeof(WtIndex *) * list_length(indexes));
	b->xe = palloc(sizeof(WtEngineTable) * list_length(indexes));
	b->before = palloc0(sizeof(WtEntries) * list_length(indexes));
	foreach(lc, indexes)
	{
		WtIndex *x = lfirst(lc);

		if (!wt_engine_table(x->table, false, &b->xe[b->n]))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index \"%s\" is not stored", get_rel_name(x->relid)),
					 errhint("Drop it, and create it again.")));
		for (int a = 0; a < t->natts; a++)
			b->read[a] |= x->read[a];
		b->x[b->n++] = x;
	}
	b->row = wt_base_reader_open(t, b->read, NULL);
}

static void
close_scans(Followers *f)
{
	for (int i = 0; i < f->n; i++)
		wt_base_reader_close(f->bases[i].row);
}

/* Returns: what follows from the rows of the stored table. */
static Followers *
followers_of(wide_table_id id)
{
	Followers *f = all;
	MemoryContext cxt, old;
	List *tables;
	ListCell *lc;

	while (f != NULL && f->id != id)
		f = f->next;
	if (f != NULL && f->invalidations == wt_table_invalidations())
		return f;
	if (f == NULL)
	{
		f = MemoryContextAllocZero(TopTransactionContext, sizeof(Followers));
		f->id = id;
		f->next = all;
		all = f;
	}
	close_scans(f);
	f->n = 0;
	cxt = AllocSetContextCreate(TopTransactionContext, "widetable followers", ALLOCSET_SMALL_SIZES);
	if (f->cxt != NULL)
		MemoryContextDelete(f->cxt);
	f->cxt = cxt;
	old = MemoryContextSwitchTo(cxt);
	do
	{
		/* locks are taken, and so others may change the definitions, while this is made */
		f->invalidations = wt_table_invalidations();
		f->n = 0;
		tables = wt_binding_others(id, InvalidOid);
		f->bases = palloc0(sizeof(Base) * Max(1, list_length(tables)));
		foreach(lc, tables)
		{
			WtTable *t = wt_table_unlocked(lfirst_oid(lc));
			/* as a statement that changes them: waits for commands that define or drop one */
			List *indexes = t != NULL ? wt_index_list_locked(t, RowExclusiveLock) : NIL;

			if (indexes != NIL)
				make_base(&f->bases[f->n++], t, indexes);
		}
	} while (f->invalidations != wt_table_invalidations());
	MemoryContextSwitchTo(old);
	return f;
}

/* Finds out whether something follows from the rows of a table, and sets t->derived. */
static wide_table_id
find_derived(WtTable *t)
{
	WtEngineTable e;

	if (!wt_engine_table(t, false, &e))
		return 0;
	if (t->derived == WT_DERIVED_UNKNOWN)
		t->derived = wt_index_list_stored(e.table) != NIL ? WT_DERIVED_SOME : WT_DERIVED_NONE;
	return e.table;
}

/* ------------------------------------------------------------------- rows */

/* Sets out[] to the entries that the row last read has in each index; none unless it exists. */
static void
make_entries(Base *b, bool exists, WtEntries *out)
{
	for (int i = 0; i < b->n; i++)
		out[i] = exists ? wt_entry_make(b->x[i], b->row->values, b->row->nulls, b->row->stamps)
						: (WtEntries) {0};
}

static void
lock_values(const WtIndex *x, const WtEngineTable *e, const WtEntry *entry)
{
	if (entry->distinct)
		wt_unique_lock(x, e, entry->key);
}

/* Deletes the entries that the row has no longer, and then puts the others that it has. */
static void
replace_entries(Base *b, int i, const WtEntries *before, const WtEntries *after)
{
	const WtIndex *x = b->x[i];
	const WtEngineTable *e = &b->xe[i];
	bool *put = palloc0(sizeof(bool) * Max(1, after->n));
	int k = 0;

	for (int o = 0; o < before->n; o++)
	{
		const WtEntry *old = &before->list[o], *same;

		while (k < after->n && wt_bytes_cmp(after->list[k].key, old->key) < 0)
			put[k++] = true;
		same = k < after->n && wt_bytes_cmp(after->list[k].key, old->key) == 0 ? &after->list[k]
																			   : NULL;
		/* an entry that expires is put again, because the value may be younger */
		if (same != NULL)
			put[k] = x->timed || !wt_entry_same_cells(old, same);
		if (same != NULL && !put[k++])
			continue;
		if (same == NULL)
			lock_values(x, e, old);
		wt_entry_delete(x, e, old->key);
	}
	while (k < after->n)
		put[k++] = true;
	for (k = 0; k < after->n; k++)
		if (put[k])
		{
			const WtEntry *entry = &after->list[k];

			if (entry->distinct)
			{
				lock_values(x, e, entry);
				wt_unique_check(x, e, entry->key);
			}
			wt_entry_put(x, e, entry);
		}
}

static void
begin_row(Followers *f, wide_bytes key, bool blind)
{
	MemoryContext old;

	if (row.cxt == NULL)
		row.cxt = AllocSetContextCreate(TopMemoryContext, "widetable changed row",
										ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(row.cxt);
	old = MemoryContextSwitchTo(row.cxt);
	initStringInfo(&row.key);
	appendBinaryStringInfo(&row.key, (const char *) key.data, (int) key.len);
	row.blind = blind;
	if (!blind)
	{
		wt_row_lock(f->id, key, false);
		for (int i = 0; i < f->n; i++)
		{
			Base *b = &f->bases[i];

			make_entries(b, wt_base_reader_get(b->row, key), b->before);
		}
	}
	/* from here on there is a row under change */
	row.of = f;
	MemoryContextSwitchTo(old);
}

static void
before(WtTable *t, wide_bytes key)
{
	wide_table_id id = find_derived(t);
	Followers *f;

	if (t->derived != WT_DERIVED_SOME)
		return;
	if (row.of != NULL && row.of->id == id && wt_bytes_cmp(wt_bytes_of(&row.key), key) == 0)
		return;
	wt_derive_settle();
	f = followers_of(id);
	if (f->n > 0)
		begin_row(f, key, false);
}

static void
settle(void)
{
	Followers *f = row.of;
	MemoryContext old;

	row.of = NULL;
	if (f == NULL)
		return;
	old = MemoryContextSwitchTo(row.cxt);
	for (int k = 0; k < f->n; k++)
	{
		Base *b = &f->bases[k];
		WtEntries *after = palloc(sizeof(WtEntries) * b->n);

		make_entries(b, wt_base_reader_get(b->row, wt_bytes_of(&row.key)), after);
		for (int i = 0; i < b->n; i++)
			replace_entries(b, i, &b->before[i], &after[i]);
	}
	MemoryContextSwitchTo(old);
}

/* ------------------------------------------------------------------- puts */

/* Returns the column of the foreign table that an index reads and that shows the cell, or the map
 * that shows it; -1: there is none. */
static int
indexed_column(const Base *b, wide_family_id family, wide_bytes qual)
{
	for (int i = 0; i < b->t->natts; i++)
	{
		const WtColumn *c = &b->t->columns[i];

		if (!b->read[i] || c->family < 0 || b->row->e.families[c->family] != family)
			continue;
		if (c->role == WT_MAP ? wt_lookup_map_shows(b->t, c, qual)
							  : wt_bytes_equal(c->qual, c->qual_len, qual.data, qual.len))
			return i;
	}
	return -1;
}

/* Returns true if the row has an entry as long as it has any cell. */
static bool
follows_existence(const Base *b)
{
	for (int i = 0; i < b->n; i++)
		if (b->x[i]->map < 0 && !wt_key_column(b->x[i]->table, 0)->optional)
			return true;
	return false;
}

/* The cell expires by itself, and nobody would delete its entry, or put that of an older one. */
static void
refuse_ttl(const Base *b, const WtColumn *c, wide_bytes key)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a cell of an indexed column has no time to live of its own"),
			 c != NULL ? errdetail("Column \"%s\" of table \"%s\", key %s.", c->name,
								   get_rel_name(b->t->relid), wt_key_text(b->t, key))
					   : errdetail("Table \"%s\", key %s: an index has all rows.",
								   get_rel_name(b->t->relid), wt_key_text(b->t, key)),
			 errhint("Option \"ttl\" of the family is possible.")));
}

/* Returns the timestamp of the newest version of an indexed cell if it is ahead of the clock. */
static int64
ahead(Base *b, int col, wide_family_id family, wide_bytes key, wide_bytes qual)
{
	WtCellRef ref = wt_cell_read_ref(family, qual);

	if (b->t->columns[col].role != WT_MAP)
		return b->row->stamps[col];
	wt_cell_read_newest(NULL, key, &ref, 1);
	return ref.found && ref.floor_ts > wt_clock_now() ? ref.floor_ts : PG_INT64_MIN;
}

static int64
before_put(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
		   int64 floor_ts, int64 ttl_us)
{
	Followers *f = row.of;

	for (int i = 0; f != NULL && i < f->n; i++)
	{
		Base *b = &f->bases[i];
		int col = indexed_column(b, family, qual);

		if (ttl_us > 0 && (col >= 0 || follows_existence(b)))
			refuse_ttl(b, col >= 0 ? &b->t->columns[col] : NULL, key);
		if (col < 0 || row.blind)
			continue;
		if (ts != WIDE_TS_AUTO)
			b->row->stamps[col] = Max(b->row->stamps[col], ts > wt_clock_now() ? ts : PG_INT64_MIN);
		else if (floor_ts == PG_INT64_MIN && ahead(b, col, family, key, qual) != PG_INT64_MIN)
			ts = wt_clock_now();
	}
	return ts;
}

/* ---------------------------------------------------------------- inserts */

bool
wt_row_change_begin_insert(WtTable *t, wide_bytes key)
{
	wide_table_id id;
	Followers *f;

	if (t->derived == WT_DERIVED_NONE)
		return false;
	id = find_derived(t);
	if (t->derived != WT_DERIVED_SOME)
		return false;
	wt_derive_settle();
	f = followers_of(id);
	for (int k = 0; k < f->n; k++)
		for (int i = 0; i < f->bases[k].n; i++)
			if (!f->bases[k].x[i]->immutable || f->bases[k].x[i]->map >= 0 ||
				f->bases[k].t->relid != t->relid)
				return false;
	if (f->n == 0)
		return false;
	begin_row(f, key, true);
	return true;
}

void
wt_row_change_inserted(WtTable *t, const Datum *values, const bool *nulls)
{
	Followers *f = row.of;
	MemoryContext old;
	WtEntries none = {0};

	row.of = NULL;
	if (f == NULL)
		return;
	old = MemoryContextSwitchTo(row.cxt);
	for (int k = 0; k < f->n; k++)
		for (int i = 0; i < f->bases[k].n; i++)
		{
			WtEntries after = wt_entry_make(f->bases[k].x[i], values, nulls, NULL);

			replace_entries(&f->bases[k], i, &none, &after);
		}
	MemoryContextSwitchTo(old);
}

/* -------------------------------------------------------------------- end */

static void
rest(void)
{
	for (Followers *f = all; f != NULL; f = f->next)
		close_scans(f);
}

/*
 * A subtransaction, or the transaction, is rolled back or ends: the scans are closed by the end of
 * their owner.  What is known of tables may be void, with the subtransaction's commands.
 */
static void
forget(void)
{
	row.of = NULL;
	all = NULL;
}

void
wt_row_change_init(void)
{
	static const WtDerive derive = {before, before_put, settle, rest, forget};

	wt_derive_register(&derive);
}
