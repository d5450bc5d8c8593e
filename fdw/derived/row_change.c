/*
 * row_change.c
 *		What follows from changes of rows: entries of indexes, and what rows add to roll-ups.
 *
 * Several foreign tables may show a stored table, and each may have indexes and roll-ups.  A change
 * through any of them changes what follows from all: each such table reads the row as it shows it.
 *
 * Locking: the row of the indexed table, before it is read; of a unique index also the values,
 * under their bytes as a key of the index, before an entry with them is put or deleted.
 */
#include "postgres.h"

#include "fdw/derived/row_change.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "fdw/ddl/binding.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/derived/base_reader.h"
#include "fdw/derived/entry.h"
#include "fdw/derived/index.h"
#include "fdw/derived/portion.h"
#include "fdw/derived/unique.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/row_lock.h"
#include "fdw/table/key_text.h"
#include "fdw/table/lookup.h"
#include "fdw/table/table.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"

/* A foreign table that has indexes or roll-ups. */
typedef struct Base
{
	WtTable *t;
	int n; /* indexes */
	WtIndex **x;
	WtEngineTable *xe; /* of each */
	WtEntries *before; /* of the row under change, by index */
	int nrollups;
	WtRollup **r;
	WtEngineTable *re;	/* of each */
	WtPortion *portion; /* what the row under change has added, by roll-up */

	bool *read;		   /* by column: an index or a roll-up has it */
	WtBaseReader *row; /* reads the newest state of a row */

	/* REPEATABLE READ: what the transaction itself sees of it; else NULL */
	WtBaseReader *seen;
	SnapshotData snapshot;
} Base;

/* What follows from the rows of a stored table. */
typedef struct Followers
{
	wide_table_id id;
	uint64 invalidations; /* when this was made */
	int n;
	Base *bases;
	bool all_locked; /* the transaction has locked all rows that it has changed */
	MemoryContext cxt;
	struct Followers *next;
} Followers;

static Followers *all = NULL; /* of this transaction, in TopTransactionContext */

/* The row under change. */
static struct
{
	Followers *of; /* NULL: there is none */
	bool blind;	   /* nothing was read */
	uint64 serial; /* of the definition through which it was changed last */
	StringInfoData key;
	MemoryContext cxt; /* of what is known of it; reset with the next row */
} row;

/* -------------------------------------------------------------- followers */

/*
 * Finds the stored table of an index or a roll-up.  Returns false if definitions have changed since
 * there were `began` invalidations: it may be gone.
 */
static bool
find_table(Oid relid, WtTable *t, uint64 began, WtEngineTable *e)
{
	/* as a statement that changes it: waits for commands that define it, or drop it */
	LockRelationOid(relid, RowExclusiveLock);
	if (wt_table_invalidations() != began)
		return false;
	if (!wt_engine_table(t, false, e))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" is not stored", get_rel_name(relid)),
				 errhint("Drop it, and create it again.")));
	return true;
}

static void
add_columns(Base *b, const bool *read)
{
	for (int a = 0; a < b->t->natts; a++)
		b->read[a] |= read[a];
}

/* Returns false if definitions have changed meanwhile: an index may be gone. */
static bool
make_base(Base *b, WtTable *t, List *indexes, List *rollups)
{
	uint64 began = wt_table_invalidations();
	ListCell *lc;

	b->t = t;
	b->r = palloc(sizeof(WtRollup *) * Max(1, list_length(rollups)));
	b->re = palloc(sizeof(WtEngineTable) * Max(1, list_length(rollups)));
	b->portion = palloc0(sizeof(WtPortion) * Max(1, list_length(rollups)));
	b->read = palloc0(sizeof(bool) * Max(1, t->natts));
	b->x = palloc(sizeof(WtIndex *) * Max(1, list_length(indexes)));
	b->xe = palloc(sizeof(WtEngineTable) * Max(1, list_length(indexes)));
	b->before = palloc0(sizeof(WtEntries) * Max(1, list_length(indexes)));
	foreach(lc, indexes)
	{
		WtIndex *x = lfirst(lc);

		if (!find_table(x->relid, x->table, began, &b->xe[b->n]))
			return false;
		add_columns(b, x->read);
		b->x[b->n++] = x;
	}
	foreach(lc, rollups)
	{
		WtRollup *r = lfirst(lc);

		if (!find_table(r->relid, r->table, began, &b->re[b->nrollups]))
			return false;
		add_columns(b, r->read);
		b->r[b->nrollups++] = r;
	}
	b->row = wt_base_reader_open(t, b->read, NULL);
	if (!IsolationUsesXactSnapshot())
		return true;
	b->snapshot = *GetTransactionSnapshot();
	/* and all that the transaction has changed */
	b->snapshot.curcid = PG_UINT32_MAX;
	b->seen = wt_base_reader_open(t, b->read, &b->snapshot);
	return true;
}

static void
close_scans(Followers *f)
{
	for (int i = 0; i < f->n; i++)
	{
		wt_base_reader_close(f->bases[i].row);
		if (f->bases[i].seen != NULL)
			wt_base_reader_close(f->bases[i].seen);
	}
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
	/* what was changed before may have been changed without a lock: the table had no indexes, or
	 * its rows were declared to be written once */
	f->all_locked = wt_batch(false) == NULL || wide_batch_mark(wt_batch(false)) == 0;
	close_scans(f);
	f->n = 0;
	cxt = AllocSetContextCreate(TopTransactionContext, "widetable followers",
								ALLOCSET_DEFAULT_SIZES);
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
			List *indexes = t != NULL ? wt_index_list(t) : NIL,
				 *rollups = t != NULL ? wt_index_rollups(t) : NIL;

			if (indexes == NIL && rollups == NIL)
				continue;
			if (!make_base(&f->bases[f->n], t, indexes, rollups))
				break;
			f->n++;
		}
	} while (f->invalidations != wt_table_invalidations());
	MemoryContextSwitchTo(old);
	return f;
}

/* Finds out whether something follows from the rows of a table, and sets t->derived.  A command
 * that has dropped an index may have been rolled back since. */
static wide_table_id
find_derived(WtTable *t)
{
	WtEngineTable e;
	uint64 now = wt_table_invalidations();

	if (!wt_engine_table(t, false, &e))
		return 0;
	if (t->derived == WT_DERIVED_UNKNOWN || t->derived_at != now)
	{
		t->derived = wt_index_list_stored(e.table) != NIL || wt_index_rollups_stored(e.table) != NIL
						 ? WT_DERIVED_SOME
						 : WT_DERIVED_NONE;
		t->derived_at = now;
	}
	return e.table;
}

/* ------------------------------------------------------------------- rows */

/* Errors: 40001 if the transaction does not see the row as it was last read. */
static void
check_seen(Base *b, wide_bytes key)
{
	bool same;

	if (b->seen == NULL)
		return;
	(void) wt_base_reader_get(b->seen, key);
	same = wt_base_reader_same(b->row, b->seen);
	/* what an open scan sees of the transaction's changes does not grow */
	wt_base_reader_close(b->seen);
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update"),
				 errdetail("A row of \"%s\", from which others follow, was changed by another "
						   "transaction, or a value of it has expired.",
						   get_rel_name(b->t->relid))));
}

/*
 * Reads the row, and sets entries[] to those that it has in each index, and portions[] to what it
 * adds to each roll-up; none, if there is no row.
 */
static void
read_row(Base *b, wide_bytes key, WtEntries *entries, WtPortion *portions)
{
	bool exists = wt_base_reader_get(b->row, key);
	const WtBaseReader *r = b->row;

	check_seen(b, key);
	for (int i = 0; i < b->n; i++)
		entries[i] = exists ? wt_entry_make(b->x[i], r->values, r->nulls, r->stamps)
							: (WtEntries) {0};
	for (int i = 0; i < b->nrollups; i++)
		portions[i] = exists ? wt_portion_make(b->r[i], r->values, r->nulls) : (WtPortion) {0};
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
begin_row(Followers *f, const WtTable *t, wide_bytes key, bool blind)
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
	row.serial = t->serial;
	if (!blind)
	{
		wt_row_lock(f->id, key, false);
		for (int i = 0; i < f->n; i++)
			read_row(&f->bases[i], key, f->bases[i].before, f->bases[i].portion);
	}
	/* from here on there is a row under change */
	row.of = f;
	MemoryContextSwitchTo(old);
}

static void
before(WtTable *t, wide_bytes key)
{
	bool same = row.of != NULL && wt_bytes_cmp(wt_bytes_of(&row.key), key) == 0;
	wide_table_id id;
	Followers *f;

	if (same && row.serial == t->serial)
		return;
	id = find_derived(t);
	if (t->derived != WT_DERIVED_SOME)
		return;
	if (same && row.of->id == id)
	{
		row.serial = t->serial;
		return;
	}
	wt_derive_settle();
	f = followers_of(id);
	if (f->n > 0)
		begin_row(f, t, key, false);
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
		WtEntries *after = palloc(sizeof(WtEntries) * Max(1, b->n));
		WtPortion *portion = palloc(sizeof(WtPortion) * Max(1, b->nrollups));

		read_row(b, wt_bytes_of(&row.key), after, portion);
		wt_base_reader_check_ttl(b->row);
		for (int i = 0; i < b->n; i++)
			replace_entries(b, i, &b->before[i], &after[i]);
		for (int i = 0; i < b->nrollups; i++)
			wt_portion_replace(b->r[i], &b->re[i], &b->portion[i], &portion[i]);
	}
	MemoryContextSwitchTo(old);
}

static bool
any_unique(const Followers *f)
{
	for (int k = 0; k < f->n; k++)
		for (int i = 0; i < f->bases[k].n; i++)
			if (f->bases[k].x[i]->table->unique)
				return true;
	return false;
}

/* The deletion of the row, which follows, deletes its entries once more. */
static void
leave(WtTable *t, wide_bytes key)
{
	wide_table_id id = find_derived(t);
	WtEntries none = {0};
	MemoryContext old;
	Followers *f;

	if (t->derived != WT_DERIVED_SOME)
		return;
	wt_derive_settle();
	f = followers_of(id);
	if (!any_unique(f))
		return;
	begin_row(f, t, key, false);
	row.of = NULL;
	old = MemoryContextSwitchTo(row.cxt);
	for (int k = 0; k < f->n; k++)
		for (int i = 0; i < f->bases[k].n; i++)
			replace_entries(&f->bases[k], i, &f->bases[k].before[i], &none);
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

/* Returns true if the row has an entry, or is counted, as long as it has any cell. */
static bool
follows_existence(const Base *b)
{
	if (b->nrollups > 0)
		return true;
	for (int i = 0; i < b->n; i++)
		if (b->x[i]->map < 0 && !wt_key_column(b->x[i]->table, 0)->optional)
			return true;
	return false;
}

/*
 * A version ahead of the clock is about to be put into an indexed cell.  If the cell shows one
 * whose timestamp the commit would assign, that one gets its provisional timestamp for good: the
 * commit might be later than the other version.
 */
static void
fix_timestamp(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual)
{
	WtCellRef ref = wt_cell_read_ref(family, qual);

	wt_cell_read_newest(NULL, key, &ref, 1);
	if (!ref.found || !ref.provisional)
		return;
	wt_change_delete(t, WIDE_DELETE_VERSION, family, key, qual, ref.ts);
	wt_change_put(t, family, key, qual, ref.ts, PG_INT64_MIN, 0, ref.value);
}

/* Returns the timestamp of the newest version of an indexed cell if the commit would assign one
 * that may be below; else PG_INT64_MIN. */
static int64
ahead(Base *b, int col, wide_family_id family, wide_bytes key, wide_bytes qual)
{
	WtCellRef ref = wt_cell_read_ref(family, qual);

	if (b->t->columns[col].role != WT_MAP)
		return b->row->stamps[col];
	wt_cell_read_newest(NULL, key, &ref, 1);
	return ref.found && ref.floor_ts > wt_base_reader_present() ? ref.floor_ts : PG_INT64_MIN;
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
			wt_base_reader_refuse_ttl(b->t, col >= 0 ? &b->t->columns[col] : NULL, key);
		if (col < 0 || row.blind)
			continue;
		if (ts == WIDE_TS_AUTO)
		{
			if (floor_ts == PG_INT64_MIN && ahead(b, col, family, key, qual) != PG_INT64_MIN)
				ts = wt_base_reader_present();
		}
		else if (ts > wt_base_reader_present())
		{
			fix_timestamp(t, family, key, qual);
			b->row->stamps[col] = Max(b->row->stamps[col], ts);
		}
	}
	return ts;
}

/* ---------------------------------------------------------------- inserts */

/* Returns true if no row is written twice, as the definition of the table says. */
static bool
is_written_once(const Base *b)
{
	for (int i = 0; i < b->n; i++)
		if (!b->x[i]->immutable)
			return false;
	for (int i = 0; i < b->nrollups; i++)
		if (!b->r[i]->immutable)
			return false;
	return true;
}

/* Returns true if all columns that something is derived of show what INSERT and COPY write. */
static bool
is_exact(const Base *b)
{
	for (int i = 0; i < b->n; i++)
		if (!b->x[i]->exact)
			return false;
	for (int i = 0; i < b->nrollups; i++)
		if (!b->r[i]->exact)
			return false;
	return true;
}

/* Locks the row.  Returns true if there is nothing of it, and so nothing either that would hide
 * what is put now. */
static bool
is_new(Followers *f, wide_bytes key)
{
	size_t locks = wt_row_lock_held();

	wt_row_lock(f->id, key, false);
	return f->all_locked && wt_row_lock_held() > locks &&
		   wt_base_reader_is_untouched(f->bases[0].row, key);
}

bool
wt_row_change_begin_insert(WtTable *t, wide_bytes key)
{
	wide_table_id id;
	Followers *f;

	if (wt_table_is_followed_by_none(t))
		return false;
	id = find_derived(t);
	if (t->derived != WT_DERIVED_SOME)
		return false;
	wt_derive_settle();
	f = followers_of(id);
	/* another foreign table shows the row in its own way */
	if (f->n != 1 || f->bases[0].t->relid != t->relid)
		return false;
	for (int i = 0; i < f->bases[0].n; i++)
		if (f->bases[0].x[i]->map >= 0)
			return false;
	if (!is_written_once(&f->bases[0]) && (!is_exact(&f->bases[0]) || !is_new(f, key)))
		return false;
	begin_row(f, t, key, true);
	return true;
}

bool
wt_row_change_conflicts(WtTable *t, const Datum *values, const bool *nulls)
{
	wide_table_id id = wt_table_is_followed_by_none(t) ? 0 : find_derived(t);
	Followers *f;

	if (id == 0 || t->derived != WT_DERIVED_SOME)
		return false;
	wt_derive_settle();
	f = followers_of(id);
	for (int k = 0; k < f->n; k++)
		for (int i = 0; f->bases[k].t->relid == t->relid && i < f->bases[k].n; i++)
		{
			const WtIndex *x = f->bases[k].x[i];
			const WtEngineTable *e = &f->bases[k].xe[i];
			WtEntries all = x->table->unique ? wt_entry_make(x, values, nulls, NULL)
											 : (WtEntries) {0};

			for (int o = 0; o < all.n; o++)
			{
				lock_values(x, e, &all.list[o]);
				if (all.list[o].distinct && wt_unique_is_taken(x, e, all.list[o].key))
					return true;
			}
		}
	return false;
}

void
wt_row_change_inserted(WtTable *t, const Datum *values, const bool *nulls)
{
	Followers *f = row.of;
	MemoryContext old;
	WtEntries none = {0};
	WtPortion no_portion = {0};

	row.of = NULL;
	if (f == NULL)
		return;
	old = MemoryContextSwitchTo(row.cxt);
	for (int i = 0; i < f->bases[0].n; i++)
	{
		WtEntries after = wt_entry_make(f->bases[0].x[i], values, nulls, NULL);

		replace_entries(&f->bases[0], i, &none, &after);
	}
	for (int i = 0; i < f->bases[0].nrollups; i++)
	{
		WtPortion portion = wt_portion_make(f->bases[0].r[i], values, nulls);

		wt_portion_replace(f->bases[0].r[i], &f->bases[0].re[i], &no_portion, &portion);
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
 * A subtransaction, or the transaction, is rolled back or ends: the scans are closed, by rest() or
 * by the end of the transaction.  What is known of tables may be void, with the subtransaction's
 * commands.
 */
static void
forget(void)
{
	Followers *f, *next;

	row.of = NULL;
	for (f = all; f != NULL; f = next)
	{
		next = f->next;
		if (f->cxt != NULL)
			MemoryContextDelete(f->cxt);
		pfree(f);
	}
	all = NULL;
}

void
wt_row_change_init(void)
{
	static const WtDerive derive = {before, before_put, leave, settle, rest, forget};

	wt_derive_register(&derive);
}
