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
#include "storage/ipc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/derived/base_reader.h"
#include "fdw/derived/entry.h"
#include "fdw/derived/entry_row.h"
#include "fdw/derived/followers.h"
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

/* The row under change. */
static struct
{
	WtFollowers *of; /* NULL: there is none */
	int level;		 /* of the subtransaction that changes it */
	bool blind;		 /* nothing was read */
	uint64 serial;	 /* of the definition through which it was changed last */
	StringInfoData key;
	MemoryContext cxt; /* of what is known of it; reset with the next row */
} row;

/* The level of the subtransaction that makes entries or portions; 0: none does.  That may call
 * functions of users, which must not change rows meanwhile. */
static int making = 0;

/* Errors: 0A000 in a function that is called while entries or portions are made. */
static void
refuse_nested(void)
{
	if (making > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a function that an index or a roll-up calls cannot change tables that "
						"have some")));
}

static WtFollowers *
followers_of(wide_table_id id)
{
	refuse_nested();
	return wt_followers_of(id);
}

/* ------------------------------------------------------------------- rows */

/* Errors: 40001 if the transaction does not see the row as it was last read. */
static void
check_seen(WtFollowedTable *b, wide_bytes key)
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

/* Returns what the row that was read adds to the roll-up. */
static WtPortion
portion_of(const WtFollowedTable *b, const WtRollup *r)
{
	int64 ts = WIDE_TS_AUTO;

	if (r->ttl_us > 0 && !wt_base_reader_timestamp(b->row, &ts))
		return (WtPortion) {0};
	return wt_portion_make(r, b->row->values, b->row->nulls, ts);
}

/*
 * Reads the row, and sets entries[] to those that it has in each index, and portions[] to what it
 * adds to each roll-up; none, if there is no row.
 */
static void
read_row(WtFollowedTable *b, wide_bytes key, WtEntries *entries, WtPortion *portions)
{
	bool exists = wt_base_reader_get(b->row, key);
	const WtBaseReader *r = b->row;

	check_seen(b, key);
	for (int i = 0; i < b->n; i++)
		entries[i] = exists ? wt_entry_make(b->x[i], r->values, r->nulls, r->stamps, r->ttls)
							: (WtEntries) {0};
	for (int i = 0; i < b->nrollups; i++)
		portions[i] = exists ? portion_of(b, b->r[i]) : (WtPortion) {0};
}

static void
lock_values(const WtIndex *x, const WtEngineTable *e, const WtEntry *entry)
{
	if (entry->distinct)
		wt_unique_lock(x, e, entry->key);
}

/* Deletes the entries that the row has no longer, and then puts the others that it has. */
static void
replace_entries(WtFollowedTable *b, int i, const WtEntries *before, const WtEntries *after)
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
begin_row(WtFollowers *f, const WtTable *t, wide_bytes key, bool blind)
{
	MemoryContext old;

	if (row.cxt == NULL)
		row.cxt = AllocSetContextCreate(TopMemoryContext, "widetable changed row",
										ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(row.cxt);
	old = MemoryContextSwitchTo(row.cxt);
	initStringInfo(&row.key);
	appendBinaryStringInfo(&row.key, (const char *) key.data, (int) key.len);
	row.level = GetCurrentTransactionNestLevel();
	row.blind = blind;
	row.serial = t->serial;
	if (!blind)
	{
		wt_row_lock(f->id, key, false);
		making = GetCurrentTransactionNestLevel();
		for (int i = 0; i < f->n; i++)
		{
			read_row(&f->bases[i], key, f->bases[i].before, f->bases[i].portion);
			f->bases[i].stored = -1;
		}
		making = 0;
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
	WtFollowers *f;

	if (same && row.serial == t->serial)
		return;
	id = wt_followers_find(t);
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
	WtFollowers *f = row.of;
	MemoryContext old;

	row.of = NULL;
	if (f == NULL)
		return;
	old = MemoryContextSwitchTo(row.cxt);
	making = GetCurrentTransactionNestLevel();
	for (int k = 0; k < f->n; k++)
	{
		WtFollowedTable *b = &f->bases[k];
		WtEntries *after = palloc(sizeof(WtEntries) * Max(1, b->n));
		WtPortion *portion = palloc(sizeof(WtPortion) * Max(1, b->nrollups));

		read_row(b, wt_bytes_of(&row.key), after, portion);
		wt_base_reader_check_ttl(b->row, b->no_ttl, false);
		for (int i = 0; i < b->n; i++)
			replace_entries(b, i, &b->before[i], &after[i]);
		for (int i = 0; i < b->nrollups; i++)
			wt_portion_replace(b->r[i], &b->re[i], &b->portion[i], &portion[i]);
	}
	making = 0;
	MemoryContextSwitchTo(old);
}

static bool
any_unique(const WtFollowers *f)
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
	wide_table_id id = wt_followers_find(t);
	WtEntries none = {0};
	MemoryContext old;
	WtFollowers *f;

	if (t->derived != WT_DERIVED_SOME)
		return;
	wt_derive_settle();
	f = followers_of(id);
	if (!any_unique(f))
		return;
	begin_row(f, t, key, false);
	row.of = NULL;
	old = MemoryContextSwitchTo(row.cxt);
	making = GetCurrentTransactionNestLevel();
	for (int k = 0; k < f->n; k++)
		for (int i = 0; i < f->bases[k].n; i++)
			replace_entries(&f->bases[k], i, &f->bases[k].before[i], &none);
	making = 0;
	MemoryContextSwitchTo(old);
}

/* ------------------------------------------------------------------- puts */

/* Returns the column of the foreign table that an index reads and that shows the cell, or the map
 * that shows it; -1: there is none. */
static int
indexed_column(const WtFollowedTable *b, wide_family_id family, wide_bytes qual)
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
ahead(WtFollowedTable *b, int col, wide_family_id family, wide_bytes key, wide_bytes qual)
{
	WtCellRef ref = wt_cell_read_ref(family, qual);

	if (b->t->columns[col].role != WT_MAP)
		return b->row->stamps[col];
	wt_cell_read_newest(NULL, key, &ref, 1);
	return ref.found && ref.floor_ts > wt_base_reader_present() ? ref.floor_ts : PG_INT64_MIN;
}

/*
 * A cell that an index with option cell_ttl follows gets a stated timestamp.  An earlier version of
 * it that has expired by itself is not seen, but displaces what is put below it until a compaction
 * drops it: then that would show, and have no entry.  Both may come in one transaction: they have
 * one sequence number and stay in one sorted run, so what drops the one drops the other.
 * Errors: 0A000.
 */
static void
check_stated(WtFollowedTable *b, wide_bytes key, int64 ts, int64 ttl_us)
{
	bool above = ts > wt_base_reader_present();

	if (b->stored < 0)
		b->stored = !wt_base_reader_is_untouched(b->row, key);
	if (above ? ttl_us == 0 : !b->stored)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 above ? errmsg("a cell with a time to live of its own cannot lie ahead of the clock")
				   : errmsg("a timestamp can only be stated for cells of new rows"),
			 errdetail("An index of table \"%s\" has option \"cell_ttl\". Key %s.",
					   get_rel_name(b->t->relid), wt_key_text(b->t, key))));
}

static int64
before_put(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
		   int64 floor_ts, int64 ttl_us)
{
	WtFollowers *f = row.of;

	for (int i = 0; f != NULL && i < f->n; i++)
	{
		WtFollowedTable *b = &f->bases[i];
		int col = indexed_column(b, family, qual);

		if (ttl_us > 0 && (b->row_no_ttl || (col >= 0 && b->no_ttl[col])))
			wt_base_reader_refuse_ttl(b->t, col >= 0 ? &b->t->columns[col] : NULL, key);
		if (row.blind)
			continue;
		if (ts != WIDE_TS_AUTO && (b->row_cell_ttl || (col >= 0 && b->cell_ttl[col])))
			check_stated(b, key, ts, ttl_us);
		if (col < 0)
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
is_written_once(const WtFollowedTable *b)
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
is_exact(const WtFollowedTable *b)
{
	for (int i = 0; i < b->n; i++)
		if (!b->x[i]->exact)
			return false;
	for (int i = 0; i < b->nrollups; i++)
		if (!b->r[i]->exact)
			return false;
	return true;
}

/* Locks the row, unless the caller has just done that.  Returns true if there is nothing of it, and
 * so nothing either that would hide what is put now. */
static bool
is_new(WtFollowers *f, wide_bytes key, bool locked)
{
	size_t locks = wt_row_lock_held();

	if (!locked)
		wt_row_lock(f->id, key, false);
	return f->all_locked && (locked || wt_row_lock_held() > locks) &&
		   wt_base_reader_is_untouched(f->bases[0].row, key);
}

bool
wt_row_change_begin_insert(WtTable *t, wide_bytes key, bool locked)
{
	wide_table_id id;
	WtFollowers *f;

	if (wt_table_is_followed_by_none(t))
		return false;
	id = wt_followers_find(t);
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
	if (!is_written_once(&f->bases[0]) && (!is_exact(&f->bases[0]) || !is_new(f, key, locked)))
		return false;
	begin_row(f, t, key, true);
	return true;
}

/*
 * Returns true if another row has values of this one that an index allows once.  Locks them.
 * Errors: 40001 if the transaction does not see the other row as it is.
 */
static bool
is_taken(WtFollowedTable *b, int i, const Datum *values, const bool *nulls)
{
	const WtIndex *x = b->x[i];
	WtEntries entries = x->table->unique ? wt_entry_make(x, values, nulls, NULL, NULL)
										 : (WtEntries) {0};
	StringInfoData key;
	wide_bytes other;

	for (int o = 0; o < entries.n; o++)
	{
		lock_values(x, &b->xe[i], &entries.list[o]);
		if (!entries.list[o].distinct ||
			!wt_unique_is_taken(x, &b->xe[i], entries.list[o].key, &other))
			continue;
		if (b->seen == NULL)
			return true;
		initStringInfo(&key);
		wt_entry_row_key(x, other, &key);
		(void) wt_base_reader_get(b->row, wt_bytes_of(&key));
		check_seen(b, wt_bytes_of(&key));
		return true;
	}
	return false;
}

bool
wt_row_change_conflicts(WtTable *t, const Datum *values, const bool *nulls)
{
	wide_table_id id = wt_table_is_followed_by_none(t) ? 0 : wt_followers_find(t);
	WtFollowers *f;
	bool taken = false;

	if (id == 0 || t->derived != WT_DERIVED_SOME)
		return false;
	wt_derive_settle();
	f = followers_of(id);
	making = GetCurrentTransactionNestLevel();
	for (int k = 0; k < f->n; k++)
		for (int i = 0; f->bases[k].t->relid == t->relid && i < f->bases[k].n && !taken; i++)
			taken = is_taken(&f->bases[k], i, values, nulls);
	making = 0;
	return taken;
}

void
wt_row_change_inserted(WtTable *t, const Datum *values, const bool *nulls)
{
	WtFollowers *f = row.of;
	MemoryContext old;
	WtEntries none = {0};
	WtPortion no_portion = {0};

	row.of = NULL;
	if (f == NULL)
		return;
	old = MemoryContextSwitchTo(row.cxt);
	making = GetCurrentTransactionNestLevel();
	for (int i = 0; i < f->bases[0].n; i++)
	{
		WtEntries after = wt_entry_make(f->bases[0].x[i], values, nulls, NULL, NULL);

		replace_entries(&f->bases[0], i, &none, &after);
	}
	for (int i = 0; i < f->bases[0].nrollups; i++)
	{
		WtPortion portion = wt_portion_make(f->bases[0].r[i], values, nulls, WIDE_TS_AUTO);

		wt_portion_replace(f->bases[0].r[i], &f->bases[0].re[i], &no_portion, &portion);
	}
	making = 0;
	MemoryContextSwitchTo(old);
}

/* -------------------------------------------------------------------- end */

/*
 * What subtransactions of this level or deeper know of the row under change is void, and what they
 * have found out of tables.  The rest stays, and may be in use: a function of a user, called
 * between two changes of a row or while its entries are made, may roll back a subtransaction of its
 * own.
 */
static void
forget(int level)
{
	/* by a command, and not at the end of a transaction, a subtransaction or the process */
	if (IsTransactionState() && !proc_exit_inprogress)
		refuse_nested();
	if (making >= level)
		making = 0;
	if (row.level >= level)
		row.of = NULL;
	wt_followers_forget(level);
}

void
wt_row_change_init(void)
{
	static const WtDerive derive = {before, before_put, leave, settle, wt_followers_rest, forget};

	wt_derive_register(&derive);
}
